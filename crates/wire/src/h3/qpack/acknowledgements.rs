//! What a decoder says on its stream (RFC 9204 §4.4) to an encoder that puts nothing into its table.

use crate::compression::integer;
use crate::error::{HpackError, QpackError};

/// Reads the acknowledgements of a peer, from any split of the bytes. There is nothing that it could acknowledge; that it
/// gives a stream up is in order.
#[derive(Debug, Default)]
pub struct AcknowledgementReader {
    /// An instruction of which earlier slices brought a part: at most ten bytes.
    partial: Vec<u8>,
}

impl AcknowledgementReader {
    /// Makes ready for a new connection.
    pub fn reset(&mut self) {
        self.partial.clear();
    }

    /// Reads bytes; gives how many streams are given up in them.
    ///
    /// # Errors
    /// Something is acknowledged, or an integer is not one.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<usize, QpackError> {
        let mut streams = 0;
        for &byte in bytes {
            self.partial.push(byte);
            // Section Acknowledgment and Insert Count Increment.
            if !matches!(self.partial.first(), Some(0x40..0x80)) {
                return Err(QpackError::NothingSent);
            }
            match integer::decode_long(&self.partial, 6) {
                Ok(_) => {
                    streams += 1;
                    self.partial.clear();
                }
                Err(HpackError::Truncated) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(streams)
    }
}
