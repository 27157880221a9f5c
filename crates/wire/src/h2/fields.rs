//! The header blocks of a connection.

use super::hpack::Decoder;
use crate::answer::{Head, HeadUnderWay, LastHead};
use crate::error::HpackError;

/// Reads the blocks of a connection.
#[derive(Debug)]
pub(crate) struct HeadReader {
    decoder: Decoder,
    limit_bytes: usize,
    last: LastHead,
}

impl HeadReader {
    pub(crate) fn new(table_bytes: usize, limit_bytes: usize) -> Self {
        Self { decoder: Decoder::new(table_bytes), limit_bytes, last: LastHead::default() }
    }

    pub(crate) fn reset(&mut self) {
        self.decoder.reset();
        self.last.forget();
    }

    /// What a complete block says. A block that is decoded and still says something wrong leaves the connection in order.
    pub(crate) fn read(&mut self, block: &[u8]) -> Result<Head, HpackError> {
        let changes = self.decoder.changes();
        if let Some(head) = self.last.get(changes, block) {
            return Ok(head);
        }
        let mut under_way = HeadUnderWay::default();
        self.decoder
            .decode_with_meaning(block, |decoded| under_way.take(decoded.field.bytes(), decoded.meaning))?;
        let head = under_way.end(self.limit_bytes);
        if self.decoder.changes() == changes {
            self.last.remember(changes, block, head);
        } else {
            self.last.forget();
        }
        Ok(head)
    }
}
