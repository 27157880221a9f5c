//! The compression of one connection: what was agreed on, and what it spares.

use super::deflate::{Deflated, STORED_HEADER_BYTES, stored_header};
use super::frame::{Opcode, mask, write_compressed_header};
use super::incoming::Message;
use crate::compression_counts::CompressionCounts;
use crate::permessage_deflate::PermessageDeflate;

/// The state of a connection.
#[derive(Debug, Default)]
pub(super) struct Compression {
    /// With what window the client compresses, as a power of two; nothing where it does not.
    pub(super) window_bits: Option<u8>,
    /// Nothing where no compression was offered, or the handshake is not over.
    counts: Option<CompressionCounts>,
}

impl Compression {
    /// The handshake is over, with an offer or without.
    pub(super) fn agree(&mut self, offer: Option<PermessageDeflate>, agreed: Option<PermessageDeflate>) {
        self.counts = offer.map(|_| CompressionCounts { agreed, ..CompressionCounts::default() });
        self.window_bits = offer.zip(agreed).map(|(offer, agreed)| agreed.client_bits(offer));
    }

    /// Appends the frame of a message, with something put into it.
    pub(super) fn write(
        &mut self,
        deflated: &Deflated,
        message_bytes: u64,
        (opcode, key): (Opcode, [u8; 4]),
        open: &[u8],
        to: &mut Vec<u8>,
    ) {
        let length = u16::try_from(open.len()).unwrap_or(u16::MAX);
        let open = &open[..usize::from(length)];
        let header = stored_header(length);
        let stored = if open.is_empty() { 0 } else { STORED_HEADER_BYTES };
        let compressed_bytes = (deflated.bytes.len() + stored + open.len()) as u64;
        write_compressed_header(opcode, compressed_bytes, key, to);
        let begin = to.len();
        let (before, behind) = deflated.bytes.split_at(deflated.open_at);
        for part in [before, &header[..stored], open, behind] {
            to.extend_from_slice(part);
        }
        mask(&mut to[begin..], key, 0);
        if let Some(counts) = &mut self.counts {
            counts.sent.add(message_bytes + open.len() as u64, compressed_bytes);
        }
    }

    /// A message has come.
    #[inline]
    pub(super) fn count(&mut self, message: &Message) {
        if let (Some(counts), Some(bytes)) = (&mut self.counts, message.inflated_bytes) {
            counts.received.add(bytes, message.body_bytes);
        }
    }

    /// Takes what was counted.
    pub(super) fn take(&mut self) -> Option<CompressionCounts> {
        let counts = self.counts.as_mut()?;
        let next = CompressionCounts { agreed: counts.agreed, ..CompressionCounts::default() };
        Some(std::mem::replace(counts, next))
    }
}
