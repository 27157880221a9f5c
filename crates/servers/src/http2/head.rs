//! What the header blocks of requests say (RFC 9113 §8.2 and §8.3).

use loadcurve_wire::h2::hpack::{DEFAULT_TABLE_BYTES, Decoder, HpackError};

use crate::fields::{Fields, UnknownVersion};
use crate::http::Status;
use crate::reply::Reply;
use crate::service::Service;

use super::answer::Answer;

/// A longer block is not remembered.
const LONGEST_REMEMBERED: usize = 1024;

/// A request as far as its header tells.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) answer: Answer,
    pub(super) content_length: Option<u64>,
    /// Whether a tunnel is refused, whose client waits for the answer before it says more.
    pub(super) refuses_tunnel: bool,
}

/// The header breaks the rules, which ends its stream and not the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

/// Reads the blocks of a connection. Many are equal to the one before; where that has changed no table, and nothing has
/// since, this one says the same.
#[derive(Debug)]
pub(super) struct HeadReader {
    decoder: Decoder,
    /// The request that was read last.
    pub(super) last: Head,
    last_block: Vec<u8>,
    /// The state of the table in which the last block was read, if it is to be remembered.
    last_changes: Option<u64>,
    fields: Fields,
}

impl Default for HeadReader {
    fn default() -> Self {
        Self {
            decoder: Decoder::new(DEFAULT_TABLE_BYTES),
            last: Head {
                answer: Answer::new(Reply::plain(Status::BadRequest)),
                content_length: None,
                refuses_tunnel: false,
            },
            last_block: Vec::new(),
            last_changes: None,
            fields: Fields::default(),
        }
    }
}

impl HeadReader {
    /// Makes [`Self::last`] the request of a complete block.
    #[inline]
    pub(super) fn read(
        &mut self,
        block: &[u8],
        service: &mut impl Service,
    ) -> Result<Result<(), Malformed>, HpackError> {
        let changes = self.decoder.changes();
        if self.last_changes == Some(changes) && self.last_block == block {
            return Ok(Ok(()));
        }
        self.last_changes = None;
        self.decode(block)?;
        if !self.fields.are_a_request() {
            return Ok(Err(Malformed));
        }
        let Fields { method, path, content_length, is_grpc, .. } = &self.fields;
        let reply = match self.fields.websocket() {
            Some(Ok(offers)) => service.reply_to_websocket(path, offers),
            Some(Err(UnknownVersion)) => Reply::plain(Status::BadRequest),
            None if *is_grpc => service.reply_to_call(),
            None => service.reply(method, path),
        };
        let refuses_tunnel = self.fields.ask_for_a_tunnel() && reply.echoes.is_none();
        self.last = Head { answer: Answer::new(reply), content_length: *content_length, refuses_tunnel };
        if self.decoder.changes() == changes && block.len() <= LONGEST_REMEMBERED {
            self.last_block.clear();
            self.last_block.extend_from_slice(block);
            self.last_changes = Some(changes);
        }
        Ok(Ok(()))
    }

    /// Reads what follows a body.
    pub(super) fn read_trailers(&mut self, block: &[u8]) -> Result<Result<(), Malformed>, HpackError> {
        self.decode(block)?;
        Ok(if self.fields.are_trailers() { Ok(()) } else { Err(Malformed) })
    }

    fn decode(&mut self, block: &[u8]) -> Result<(), HpackError> {
        self.fields.clear();
        self.decoder.decode(block, |field| self.fields.take(field))
    }
}
