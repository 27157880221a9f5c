//! What the fields of a response say together (RFC 9113 §8.2 and §8.3).

use super::hpack::Decoder;
use super::meaning::Meaning;
use crate::error::{HpackError, Http2Error, Malformed, Section};

/// What the fields of one block say together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) status: Option<u16>,
    pub(crate) content_length: Option<u64>,
    /// The first thing that may be in no response.
    pub(crate) problem: Option<Malformed>,
    has_regular: bool,
}

impl Head {
    fn take(&mut self, meaning: Meaning) {
        let problem = match meaning {
            Meaning::Regular => {
                self.has_regular = true;
                return;
            }
            Meaning::Status(_) if self.has_regular => Some(Http2Error::LatePseudoField.into()),
            Meaning::Status(_) if self.status.is_some() => Some(Http2Error::Status.into()),
            Meaning::Status(status) => {
                self.status = Some(status);
                None
            }
            Meaning::ContentLength(length) => {
                self.has_regular = true;
                let is_other = self.content_length.is_some_and(|earlier| earlier != length);
                self.content_length = Some(length);
                is_other.then_some(Malformed::ContentLengthConflict)
            }
            Meaning::Forbidden(problem) => Some(problem),
        };
        self.problem = self.problem.or(problem);
    }
}

/// Reads the blocks of a connection. Many are equal to the one before; where that has changed no table, and nothing has
/// since, this one says the same.
#[derive(Debug)]
pub(crate) struct HeadReader {
    decoder: Decoder,
    limit_bytes: usize,
    last_block: Vec<u8>,
    last_head: Head,
    /// The state of the table in which the last block was read, if it is to be remembered.
    last_changes: Option<u64>,
}

/// A longer block is not remembered.
const LONGEST_REMEMBERED: usize = 1024;

/// What a field counts beside its name and value (RFC 9113 §6.5.2).
const FIELD_OVERHEAD_BYTES: usize = 32;

impl HeadReader {
    pub(crate) fn new(table_bytes: usize, limit_bytes: usize) -> Self {
        Self {
            decoder: Decoder::new(table_bytes),
            limit_bytes,
            last_block: Vec::new(),
            last_head: Head::default(),
            last_changes: None,
        }
    }

    pub(crate) fn reset(&mut self) {
        self.decoder.reset();
        self.last_changes = None;
    }

    /// What a complete block says. A block that is decoded and still says something wrong leaves the connection in order.
    pub(crate) fn read(&mut self, block: &[u8]) -> Result<Head, HpackError> {
        let changes = self.decoder.changes();
        if self.last_changes == Some(changes) && self.last_block == block {
            return Ok(self.last_head);
        }
        let (mut head, mut list_bytes) = (Head::default(), 0);
        self.decoder.decode_with_meaning(block, |decoded| {
            list_bytes += decoded.field.name.len() + decoded.field.value.len() + FIELD_OVERHEAD_BYTES;
            head.take(decoded.meaning);
        })?;
        if list_bytes > self.limit_bytes {
            let (section, limit_bytes) = (Section::HeaderBlock, self.limit_bytes);
            head.problem = Some(Malformed::TooLarge { section, limit_bytes });
        }
        self.last_changes = None;
        if self.decoder.changes() == changes && block.len() <= LONGEST_REMEMBERED {
            self.last_block.clear();
            self.last_block.extend_from_slice(block);
            self.last_head = head;
            self.last_changes = Some(changes);
        }
        Ok(head)
    }
}
