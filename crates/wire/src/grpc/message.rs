//! The messages of a body, from any split of it.

use crate::error::GrpcError;

/// What precedes each message: whether it is compressed, and its length.
pub(super) const PREFIX_BYTES: usize = 5;

/// Divides a body of gRPC into its messages, and keeps nothing of them but five bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct GrpcMessages {
    /// Those whose prefix has come.
    begun: u64,
    /// The prefix under way, and how much of it has come.
    prefix: [u8; PREFIX_BYTES],
    prefix_bytes: usize,
    /// How much is missing of the message under way.
    missing_bytes: u32,
    is_compressed: bool,
}

impl GrpcMessages {
    /// Reads the next part of the body.
    #[inline]
    pub(super) fn read(&mut self, mut part: &[u8]) {
        while !part.is_empty() {
            let (read, _) = self.read_one(part, &mut |_| ());
            part = &part[read..];
        }
    }

    /// Reads up to the end of a message, and gives what comes of it behind its prefix; says how many bytes that were, and whether
    /// the message has ended.
    #[inline]
    pub fn read_one(&mut self, part: &[u8], take: &mut impl FnMut(&[u8])) -> (usize, bool) {
        let mut read = 0;
        if self.missing_bytes == 0 {
            read = part.len().min(PREFIX_BYTES - self.prefix_bytes);
            self.prefix[self.prefix_bytes..][..read].copy_from_slice(&part[..read]);
            self.prefix_bytes += read;
            if self.prefix_bytes < PREFIX_BYTES {
                return (read, false);
            }
            let [compressed, length @ ..] = self.prefix;
            self.is_compressed |= compressed != 0;
            self.missing_bytes = u32::from_be_bytes(length);
            self.prefix_bytes = 0;
            self.begun += 1;
        }
        let data = &part[read..][..(part.len() - read).min(self.missing_bytes as usize)];
        // It is not longer than what is missing.
        self.missing_bytes -= u32::try_from(data.len()).unwrap_or(self.missing_bytes);
        if !data.is_empty() {
            take(data);
        }
        (read + data.len(), self.missing_bytes == 0)
    }

    /// Whether a message has begun, and has not ended.
    #[must_use]
    pub fn is_within(&self) -> bool {
        self.missing_bytes > 0 || self.prefix_bytes > 0
    }

    /// Whether the messages that have come can be read, by what compressed ones are.
    ///
    /// # Errors
    /// One cannot.
    #[inline]
    pub(super) fn require_readable(&self, compressed: Result<(), GrpcError>) -> Result<(), GrpcError> {
        if self.is_compressed { compressed } else { Ok(()) }
    }

    /// Whether the body that has come is messages that are whole and can be read.
    ///
    /// # Errors
    /// It is not.
    #[inline]
    pub(super) fn require_whole(&self, compressed: Result<(), GrpcError>) -> Result<(), GrpcError> {
        self.require_readable(compressed)?;
        if self.is_within() { Err(GrpcError::CutOff) } else { Ok(()) }
    }

    /// The same of one message.
    ///
    /// # Errors
    /// It is not.
    #[inline]
    pub(super) fn require_one(&self, compressed: Result<(), GrpcError>) -> Result<(), GrpcError> {
        self.require_whole(compressed)?;
        if self.begun == 1 { Ok(()) } else { Err(GrpcError::Count { messages: self.begun }) }
    }
}

#[cfg(test)]
mod tests {
    use super::{GrpcError, GrpcMessages};

    const UNASKED: Result<(), GrpcError> = Err(GrpcError::Compressed);

    fn read(body: &[u8], at_once: usize) -> (GrpcMessages, Vec<Vec<u8>>) {
        let (mut messages, mut found, mut under_way) = (GrpcMessages::default(), Vec::new(), Vec::new());
        for mut part in body.chunks(at_once) {
            while !part.is_empty() {
                let (read, is_whole) = messages.read_one(part, &mut |data| under_way.extend_from_slice(data));
                part = &part[read..];
                if is_whole {
                    found.push(std::mem::take(&mut under_way));
                }
            }
        }
        (messages, found)
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
                assert_eq!(read(body, at_once).0.require_one(UNASKED), expected, "{body:?} by {at_once}");
            }
        }
    }

    #[test]
    fn a_message_that_is_compressed_is_said_whatever_its_flag_is_and_whatever_comes_behind_it() {
        for body in [&b"\x02\0\0\0\x01a"[..], b"\xff\0\0\0\0", b"\x01\0\0\0\x01a\0\0\0\0\x01b"] {
            assert_eq!(read(body, 4).0.require_whole(UNASKED), Err(GrpcError::Compressed), "{body:?}");
        }
    }

    #[test]
    fn a_compressed_message_is_right_where_it_was_asked_for() {
        let (messages, found) = read(b"\x01\0\0\0\x03abc", 2);
        assert_eq!((messages.require_one(Ok(())), found.len()), (Ok(()), 1));
        assert_eq!(messages.require_one(Err(GrpcError::Encoding)), Err(GrpcError::Encoding));
    }

    #[test]
    fn messages_are_found_with_their_bytes_however_the_body_is_cut() {
        let body = b"\0\0\0\0\x03abc\0\0\0\0\0\0\0\0\0\x02de\0\0\0\0\x04f";
        for at_once in 1..=body.len() {
            let (messages, found) = read(body, at_once);
            assert_eq!(found, [&b"abc"[..], b"", b"de"], "by {at_once}");
            assert_eq!(messages.require_whole(UNASKED), Err(GrpcError::CutOff));
        }
        assert_eq!(read(&body[..20], 3).0.require_whole(UNASKED), Ok(()));
        assert_eq!(read(b"", 1).0.require_whole(UNASKED), Ok(()));
    }
}
