//! What a server says of the end of a call of gRPC.

use std::borrow::Cow;

use super::Meaning;
use crate::grpc_status::in_words;

/// How much of what a server says of the end of a call is kept.
const MESSAGE_BYTES_MAX: usize = 1024;

/// What `grpc-message` of the last block says, encoded, up to a limit; empty without one.
#[derive(Debug, Default)]
pub(crate) struct EndMessage(Vec<u8>);

impl EndMessage {
    /// For the next block. The memory is kept.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Keeps the value of a field with this meaning, if it is the one.
    #[inline]
    pub(crate) fn take(&mut self, meaning: Meaning, value: &[u8]) {
        if meaning == Meaning::GrpcMessage {
            self.clear();
            self.0.extend_from_slice(&value[..value.len().min(MESSAGE_BYTES_MAX)]);
        }
    }

    pub(crate) fn in_words(&self) -> Option<Cow<'_, str>> {
        in_words(&self.0)
    }
}
