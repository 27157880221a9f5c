//! The header blocks of a connection.

use super::hpack::Decoder;
use crate::answer::{EndMessage, FirstLocation, Head, HeadUnderWay, LastHead, Meaning};
use crate::error::HpackError;
use crate::websocket_choice::Choice;

/// Reads the blocks of a connection.
#[derive(Debug)]
pub(crate) struct HeadReader {
    decoder: Decoder,
    limit_bytes: usize,
    last: LastHead,
    grpc_message: EndMessage,
    first_location: FirstLocation,
    choice: Choice,
}

impl HeadReader {
    pub(crate) fn new(table_bytes: usize, limit_bytes: usize) -> Self {
        Self {
            decoder: Decoder::new(table_bytes),
            limit_bytes,
            last: LastHead::default(),
            grpc_message: EndMessage::default(),
            first_location: FirstLocation::default(),
            choice: Choice::default(),
        }
    }

    pub(crate) fn reset(&mut self) {
        self.decoder.reset();
        self.last.forget();
        self.grpc_message.clear();
    }

    /// The first Location of all blocks of redirections, whatever connections they came on.
    pub(crate) fn first_location(&self) -> Option<&[u8]> {
        self.first_location.get()
    }

    /// What `grpc-message` of the last block says.
    pub(crate) fn grpc_message(&self) -> &EndMessage {
        &self.grpc_message
    }

    /// What the last block chooses for the WebSocket that it opens, if it does.
    pub(crate) fn choice(&self) -> Choice {
        self.choice
    }

    /// What a complete block says. A block that is decoded and still says something wrong leaves the connection in order.
    pub(crate) fn read(&mut self, block: &[u8]) -> Result<Head, HpackError> {
        let changes = self.decoder.changes();
        if let Some(head) = self.last.get(changes, block) {
            return Ok(head);
        }
        let mut under_way = HeadUnderWay::default();
        // A block that is not read again says what the last one that was read has said.
        self.grpc_message.clear();
        self.choice = Choice::default();
        let (message, choice) = (&mut self.grpc_message, &mut self.choice);
        let first_location = &mut self.first_location;
        self.decoder.decode_with_meaning(block, |decoded| {
            under_way.take(decoded.field.bytes(), decoded.meaning);
            message.take(decoded.meaning, decoded.field.value);
            first_location.take(under_way.status(), decoded.meaning, decoded.field.value);
            match decoded.meaning {
                Meaning::WebSocketExtensions(extensions) => choice.extensions(extensions),
                Meaning::WebSocketSubprotocol(subprotocol) => choice.subprotocol(subprotocol),
                _ => {}
            }
        })?;
        let head = under_way.end(self.limit_bytes);
        if self.decoder.changes() == changes {
            self.last.remember(changes, block, head);
        } else {
            self.last.forget();
        }
        Ok(head)
    }
}
