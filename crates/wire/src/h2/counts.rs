//! What is counted of a connection beside its requests: what the peer has allowed, what it has ended, and what stood in the
//! way of answers and bodies.

use super::streams::Stream;

/// How much of one answer without a break is long: what comes behind it has waited for it. A connection of 1 Gbit/s takes 2 ms
/// for it.
const LONG_RUN_BYTES: u64 = 256 * 1024;

/// What was counted of one connection since it was opened, or since it was last asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Http2Counts {
    /// The least and the greatest number of streams at once that the peer has allowed, if it has set a limit.
    pub streams_allowed: Option<(u32, u32)>,
    /// Whether that was less than the connection was made for, at any time.
    pub was_limited: bool,
    /// Whether the peer has announced the end of the connection (GOAWAY).
    pub was_ended: bool,
    /// Whether it has given an error as the reason.
    pub was_ended_by_error: bool,
    /// Streams that the peer has refused without looking at them (`REFUSED_STREAM`).
    pub streams_refused: u64,
    /// Requests whose bodies had to wait for a window of the peer.
    pub bodies_delayed: u64,
    /// How often the peer had sent all that the client's windows let it, and more was to come.
    pub windows_used_up: u64,
    /// Short answers that ended behind a long run of data of another one, which began when they were under way.
    pub answers_behind_long: u64,
}

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
