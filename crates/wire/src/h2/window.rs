//! What a peer may still send: as it was given, and as far as the peer knows.

use super::frame::LARGEST_WINDOW_BYTES;
use crate::error::Http2Error;

/// A window for what the peer sends. The part of it that is not written yet is unknown to the peer.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ReceiveWindow {
    known_bytes: i32,
    unwritten_bytes: i32,
    /// How often anything had been written when the unwritten ones were given.
    writes: u32,
}

impl ReceiveWindow {
    /// A window that the peer knows, of at most [`LARGEST_WINDOW_BYTES`].
    pub(super) fn known(bytes: i64) -> Self {
        Self { known_bytes: clamped(bytes), ..Self::default() }
    }

    /// What the peer may send, once it knows all of it.
    #[inline]
    pub(super) fn bytes(&self) -> i64 {
        i64::from(self.known_bytes) + i64::from(self.unwritten_bytes)
    }

    /// Gives this much more with what is written next, after a number of writes; together it is at most
    /// [`LARGEST_WINDOW_BYTES`].
    pub(super) fn give(&mut self, bytes: i64, writes: u32) {
        self.settle(writes);
        self.unwritten_bytes = clamped(i64::from(self.unwritten_bytes) + bytes);
        self.writes = writes;
        debug_assert!(self.bytes() <= LARGEST_WINDOW_BYTES, "a window of {} bytes was given", self.bytes());
    }

    /// Takes what the peer has sent, after a number of writes; says whether it could send no more than that.
    ///
    /// # Errors
    /// It has sent more than it may.
    #[inline]
    pub(super) fn take(&mut self, bytes: usize, writes: u32) -> Result<bool, Http2Error> {
        self.settle(writes);
        // A frame has less than 2^24 bytes.
        let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
        if i64::from(bytes) > self.bytes() {
            return Err(Http2Error::FlowControl);
        }
        let was_open = self.known_bytes > 0;
        // Less than zero where it has used what the client has not written: it is nearly as far below as it may be above.
        self.known_bytes -= bytes;
        Ok(was_open && self.known_bytes <= 0)
    }

    #[inline]
    fn settle(&mut self, writes: u32) {
        if self.writes != writes {
            self.known_bytes += std::mem::take(&mut self.unwritten_bytes);
            self.writes = writes;
        }
    }
}

fn clamped(bytes: i64) -> i32 {
    i32::try_from(bytes.clamp(0, LARGEST_WINDOW_BYTES)).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::ReceiveWindow;

    #[test]
    fn a_peer_that_has_sent_what_it_knows_of_a_window_has_used_it_up_once() {
        let mut window = ReceiveWindow::known(10);
        assert!(!window.take(9, 0).unwrap());
        window.give(5, 0);
        assert!(window.take(1, 0).unwrap());
        assert!(!window.take(1, 0).unwrap());
        assert_eq!(window.bytes(), 4);
        // What was given has been written: the peer is at minus one of it and five more.
        assert!(!window.take(3, 1).unwrap());
        assert!(window.take(1, 1).unwrap());
        window.take(1, 1).unwrap_err();
    }
}
