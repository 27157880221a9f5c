//! Requests that leave before the handshake is over (0-RTT). The server may leave them unread, and they are sent again then.

use std::collections::VecDeque;

use loadcurve_wire::Tag;

/// Such requests as they were written, in their order: until the server has taken them, or each has another stream.
#[derive(Debug, Default)]
pub(super) struct Early {
    kept: VecDeque<(Tag, Vec<u8>)>,
    was_sent: bool,
}

impl Early {
    /// Forgets the last connection.
    pub(super) fn clear(&mut self) {
        self.were_taken();
        self.was_sent = false;
    }

    /// A request leaves now.
    pub(super) fn keep(&mut self, tag: Tag, bytes: &[u8]) {
        self.was_sent = true;
        self.kept.push_back((tag, bytes.to_vec()));
    }

    /// Whether there was one on this connection.
    pub(super) fn was_sent(&self) -> bool {
        self.was_sent
    }

    /// The server has taken all of them.
    pub(super) fn were_taken(&mut self) {
        self.kept.clear();
    }

    /// The next one to be sent again.
    pub(super) fn next(&mut self) -> Option<(Tag, Vec<u8>)> {
        self.kept.pop_front()
    }

    /// Nobody waits for the answer to a request any more; whether it was kept.
    #[inline]
    pub(super) fn forget(&mut self, tag: Tag) -> bool {
        let place = self.kept.iter().position(|(kept, _)| *kept == tag);
        place.and_then(|place| self.kept.remove(place)).is_some()
    }
}
