//! Where the tickets wait with which sessions go on.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;

thread_local! {
    /// Whether this thread was given a session since [`offering`] began.
    static GIVEN: Cell<bool> = const { Cell::new(false) };
    /// How large a ticket can be that this thread is about to read, in bytes.
    static COMING: Cell<usize> = const { Cell::new(0) };
}

/// What is kept of all tickets at most, in bytes; with those of most servers, tens of thousands.
const BYTES_MAX: usize = 128 * 1024 * 1024;

/// Says how large a ticket can be, with what is kept beside it, that is read next: the library does not say how large one is.
pub(crate) fn coming(bytes: usize) {
    COMING.set(bytes);
}

/// Begins a connection, and says whether it offers an earlier session. The library looks for one when the connection is made,
/// and does not say what it has found.
pub(crate) fn offering<T>(begin: impl FnOnce() -> T) -> (T, bool) {
    GIVEN.set(false);
    let connection = begin();
    (connection, GIVEN.get())
}

/// A session that is handed out.
fn given<T>(session: Option<T>) -> Option<T> {
    GIVEN.set(GIVEN.get() || session.is_some());
    session
}

/// The tickets of one server, for all connections of a load. One of version 1.3 is used once, the newest first, as other
/// clients do: a server that keeps its sessions in a bounded store has dropped the oldest. One of version 1.2 is used again
/// and again. However large a server makes its tickets, what is kept of them is bounded.
///
/// One lock serves all threads: a handshake takes it five times for some 60 ns each, and itself takes 100 µs of a processor or
/// more, so it would take hundreds of threads to make one wait.
#[derive(Debug)]
pub(crate) struct Tickets {
    kept: Mutex<Kept>,
}

#[derive(Debug)]
struct Kept {
    group: Option<NamedGroup>,
    session: Option<Tls12ClientSessionValue>,
    tickets: Newest<Tls13ClientSessionValue>,
}

/// The newest of things, as many as there is room for.
#[derive(Debug)]
struct Newest<T> {
    most: usize,
    /// The newest last, each with how large it can be.
    kept: VecDeque<(T, usize)>,
    /// How large all of them can be.
    bytes: usize,
}

impl<T> Newest<T> {
    fn push(&mut self, one: T, bytes: usize) {
        while self.kept.len() == self.most || (self.bytes + bytes > BYTES_MAX && !self.kept.is_empty()) {
            self.bytes -= self.kept.pop_front().map_or(0, |(_, oldest)| oldest);
        }
        self.bytes += bytes;
        self.kept.push_back((one, bytes));
    }

    fn pop(&mut self) -> Option<T> {
        let (newest, bytes) = self.kept.pop_back()?;
        self.bytes -= bytes;
        Some(newest)
    }
}

impl Tickets {
    /// None yet, of a load with this number of connections at once: more tickets than these would only grow old, and that all of
    /// them need one at once is the most that can happen.
    pub(crate) fn for_connections(connections: usize) -> Self {
        let tickets = Newest { most: connections.max(1), kept: VecDeque::new(), bytes: 0 };
        Self { kept: Mutex::new(Kept { group: None, session: None, tickets }) }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientSessionStore for Tickets {
    fn set_kx_hint(&self, _: ServerName<'static>, group: NamedGroup) {
        self.kept().group = Some(group);
    }

    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        self.kept().group
    }

    fn set_tls12_session(&self, _: ServerName<'static>, session: Tls12ClientSessionValue) {
        self.kept().session = Some(session);
    }

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        given(self.kept().session.clone())
    }

    fn remove_tls12_session(&self, _: &ServerName<'static>) {
        self.kept().session = None;
    }

    fn insert_tls13_ticket(&self, _: ServerName<'static>, ticket: Tls13ClientSessionValue) {
        self.kept().tickets.push(ticket, COMING.get());
    }

    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        given(self.kept().tickets.pop())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::{BYTES_MAX, Newest};

    #[test]
    fn the_newest_are_kept_as_many_as_there_is_room_for() {
        let mut few = Newest { most: 2, kept: VecDeque::new(), bytes: 0 };
        for number in 1..=3 {
            few.push(number, 1);
        }
        assert_eq!((few.pop(), few.pop(), few.pop(), few.bytes), (Some(3), Some(2), None, 0));
        // Four of a quarter fill the room, whatever their number may be.
        let mut large = Newest { most: 16_384, kept: VecDeque::new(), bytes: 0 };
        for number in 1..=10 {
            large.push(number, BYTES_MAX / 4);
            assert!(large.bytes <= BYTES_MAX);
        }
        assert_eq!(std::iter::from_fn(|| large.pop()).collect::<Vec<_>>(), [10, 9, 8, 7]);
    }
}
