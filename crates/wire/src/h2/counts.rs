//! Which answers of a connection had to wait behind a long one.

use super::streams::Stream;

/// How much of one answer without a break is long: what comes behind it has waited for it. A connection of 1 Gbit/s takes 2 ms
/// for it.
const LONG_RUN_BYTES: u64 = 256 * 1024;

/// Data of one answer between which nothing of another one has come.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Run {
    stream: u32,
    bytes: u64,
    /// The number of the first stream that was not open when it began.
    next_id: u32,
    /// That of the last long run; zero before the first one. An older stream that is under way has waited for it.
    long_next_id: u32,
}

impl Run {
    /// Data of a stream has come, when `next_id` was the number of the next stream to be opened.
    #[inline]
    pub(super) fn data(&mut self, stream: u32, bytes: usize, next_id: u32) {
        if stream != self.stream {
            *self = Self { stream, bytes: 0, next_id, ..*self };
        }
        self.bytes += bytes as u64;
        if self.bytes >= LONG_RUN_BYTES {
            self.long_next_id = self.next_id;
        }
    }

    /// The header of another answer has come.
    #[inline]
    pub(super) fn header(&mut self) {
        self.stream = 0;
    }

    /// Whether an answer that has ended is a short one that has waited for a long one.
    #[inline]
    pub(super) fn has_delayed(&self, stream: &Stream) -> bool {
        stream.id < self.long_next_id && stream.body_bytes < LONG_RUN_BYTES
    }
}
