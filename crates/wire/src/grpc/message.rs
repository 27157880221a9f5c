//! The messages of an answer, from any split of its body.

use crate::error::GrpcError;

/// What precedes each message: whether it is compressed, and its length.
pub(super) const PREFIX_BYTES: usize = 5;

/// The messages of one answer, counted as their bytes come.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Messages {
    /// Those whose prefix has come.
    begun: u64,
    /// The prefix under way, and how much of it has come.
    prefix: [u8; PREFIX_BYTES],
    prefix_bytes: usize,
    /// How much is missing of the message under way.
    missing_bytes: u32,
    is_compressed: bool,
}

impl Messages {
    /// Takes a part of the body.
    #[inline]
    pub(super) fn take(&mut self, mut part: &[u8]) {
        while !part.is_empty() {
            if self.missing_bytes > 0 {
                let skipped = part.len().min(self.missing_bytes as usize);
                // It is not longer than what is missing.
                self.missing_bytes -= u32::try_from(skipped).unwrap_or(self.missing_bytes);
                part = &part[skipped..];
                continue;
            }
            let taken = part.len().min(PREFIX_BYTES - self.prefix_bytes);
            self.prefix[self.prefix_bytes..][..taken].copy_from_slice(&part[..taken]);
            self.prefix_bytes += taken;
            part = &part[taken..];
            if self.prefix_bytes == PREFIX_BYTES {
                let [compressed, length @ ..] = self.prefix;
                self.is_compressed |= compressed != 0;
                self.missing_bytes = u32::from_be_bytes(length);
                self.prefix_bytes = 0;
                self.begun += 1;
            }
        }
    }

    /// Whether the body that has come is one message, which can be read.
    ///
    /// # Errors
    /// It is not.
    #[inline]
    pub(super) fn require_one(&self) -> Result<(), GrpcError> {
        if self.is_compressed {
            Err(GrpcError::Compressed)
        } else if self.missing_bytes > 0 || self.prefix_bytes > 0 {
            Err(GrpcError::CutOff)
        } else if self.begun != 1 {
            Err(GrpcError::Count { messages: self.begun })
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{GrpcError, Messages};

    fn judged(body: &[u8], at_once: usize) -> Result<(), GrpcError> {
        let mut messages = Messages::default();
        for part in body.chunks(at_once) {
            messages.take(part);
        }
        messages.require_one()
    }

    #[test]
    fn one_whole_message_is_right_and_anything_else_is_named_however_it_is_cut() {
        let cases: [(&[u8], Result<(), GrpcError>); 8] = [
            (b"\0\0\0\0\0", Ok(())),
            (b"\0\0\0\0\x03abc", Ok(())),
            (b"", Err(GrpcError::Count { messages: 0 })),
            (b"\0\0\0\0\0\0\0\0\0\0", Err(GrpcError::Count { messages: 2 })),
            (b"\0\0\0\0\x03ab", Err(GrpcError::CutOff)),
            (b"\0\0\0\0", Err(GrpcError::CutOff)),
            (b"\0\0\0\0\x01a\0", Err(GrpcError::CutOff)),
            (b"\x01\0\0\0\x03abc", Err(GrpcError::Compressed)),
        ];
        for (body, expected) in cases {
            for at_once in 1..=12 {
                assert_eq!(judged(body, at_once), expected, "{body:?} by {at_once}");
            }
        }
    }
}
