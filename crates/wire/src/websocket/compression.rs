//! The compression of one WebSocket: what was agreed on, what is sent by it, and what it spares.

use super::deflate::{Deflated, STORED_HEADER_BYTES, stored_header};
use super::frame::{Opcode, mask, write_compressed_header, write_header};
use super::incoming::Message;
use super::template::WebSocketTemplate;
use crate::compression_counts::CompressionCounts;
use crate::permessage_deflate::PermessageDeflate;

/// The state of a WebSocket.
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
        self.counts =
            offer.map(|_| CompressionCounts { agreed, websockets: 1, ..CompressionCounts::default() });
        self.window_bits = offer.zip(agreed).map(|(offer, agreed)| agreed.client_bits(offer));
    }

    /// Appends the frame of a message as both sides have agreed on it, with something put into it or not; of one that is read while
    /// it is sent the header, and what is kept of it. Gives how many bytes of the message there are.
    #[inline]
    pub(super) fn write_message(
        &mut self,
        template: &WebSocketTemplate,
        open: Option<&[u8]>,
        (opcode, key): (Opcode, [u8; 4]),
        to: &mut Vec<u8>,
    ) -> u64 {
        let (before, behind) = template.parts(open.is_some());
        let kept_bytes = (before.len() + behind.len()) as u64;
        if let Some(window_bits) = self.window_bits
            && let Some(deflated) = template.deflated(window_bits, open.is_some())
        {
            self.write(deflated, kept_bytes, (opcode, key), open.unwrap_or_default(), to);
            return kept_bytes;
        }
        let open = open.unwrap_or_default();
        let sent_bytes = kept_bytes + open.len() as u64;
        write_header(opcode, sent_bytes + template.following_bytes, key, to);
        let begin = to.len();
        for part in [before, open, behind] {
            to.extend_from_slice(part);
        }
        mask(&mut to[begin..], key, 0);
        sent_bytes
    }

    /// Appends the compressed frame of a message, with something put into it.
    fn write(
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

    /// Takes what was counted; nothing where no compression was offered, or before that was answered.
    pub(super) fn take(&mut self) -> Option<CompressionCounts> {
        let counts = self.counts.as_mut()?;
        let next = CompressionCounts { agreed: counts.agreed, ..CompressionCounts::default() };
        Some(std::mem::replace(counts, next))
    }
}
