//! The field sections of a connection.

use super::qpack::{Decoder, QpackCounts, QpackError};
use crate::answer::{EndMessage, FirstLocation, Head, HeadUnderWay, LastHead};

/// What a field section says, or that it has to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SectionRead {
    Head(Head),
    /// Until this number of entries has been put into the table.
    Blocked {
        entries: u64,
    },
}

/// Reads the sections of a connection.
#[derive(Debug)]
pub(super) struct HeadReader {
    decoder: Decoder,
    limit_bytes: usize,
    last: LastHead,
    grpc_message: EndMessage,
    first_location: FirstLocation,
}

impl HeadReader {
    pub(super) fn new(table_bytes: usize, limit_bytes: usize) -> Self {
        Self {
            decoder: Decoder::new(table_bytes),
            limit_bytes,
            last: LastHead::default(),
            grpc_message: EndMessage::default(),
            first_location: FirstLocation::default(),
        }
    }

    pub(super) fn reset(&mut self) {
        self.decoder.reset();
        self.last.forget();
        self.grpc_message.clear();
    }

    /// The first Location of all sections of redirections, whatever connections they came on.
    pub(super) fn first_location(&self) -> Option<&[u8]> {
        self.first_location.get()
    }

    /// What `grpc-message` of the last section says.
    pub(super) fn grpc_message(&self) -> &EndMessage {
        &self.grpc_message
    }

    /// What a complete section of a stream says. One that is decoded and still says something wrong leaves the connection in
    /// order.
    #[inline]
    pub(super) fn read(&mut self, stream: u64, section: &[u8]) -> Result<SectionRead, QpackError> {
        let prefix = self.decoder.prefix(section)?;
        let entries = prefix.entries;
        if entries > self.decoder.entries() {
            return Ok(SectionRead::Blocked { entries });
        }
        // Without the dynamic table a section always says the same.
        let state = if entries == 0 { 0 } else { self.decoder.changes() + 1 };
        if let Some(head) = self.last.get(state, section) {
            self.decoder.acknowledge(stream, entries);
            return Ok(SectionRead::Head(head));
        }
        let mut under_way = HeadUnderWay::default();
        // A section that is not read again says what the last one that was read has said.
        self.grpc_message.clear();
        let (message, first_location) = (&mut self.grpc_message, &mut self.first_location);
        self.decoder.decode_lines(prefix, |decoded| {
            under_way.take(decoded.field.bytes(), decoded.meaning);
            message.take(decoded.meaning, decoded.field.value);
            first_location.take(under_way.status(), decoded.meaning, decoded.field.value);
        })?;
        self.decoder.acknowledge(stream, entries);
        let head = under_way.end(self.limit_bytes);
        self.last.remember(state, section, head);
        Ok(SectionRead::Head(head))
    }

    pub(super) fn decoder(&self) -> &Decoder {
        &self.decoder
    }

    pub(super) fn decoder_mut(&mut self) -> &mut Decoder {
        &mut self.decoder
    }

    pub(super) fn take_counts(&mut self) -> QpackCounts {
        self.decoder.take_counts()
    }
}
