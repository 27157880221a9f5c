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
/// and again.
///
/// One lock serves all threads: a handshake takes it five times for some 60 ns each, and itself takes 100 µs of a processor or
/// more, so it would take hundreds of threads to make one wait.
#[derive(Debug)]
pub(crate) struct Tickets {
    /// How many of version 1.3 are kept.
    most: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    group: Option<NamedGroup>,
    session: Option<Tls12ClientSessionValue>,
    /// The newest last.
    tickets: VecDeque<Tls13ClientSessionValue>,
}

impl Tickets {
    /// None yet, of a load with this number of connections at once: more tickets than these would only grow old, and that all of
    /// them need one at once is the most that can happen.
    pub(crate) fn for_connections(connections: usize) -> Self {
        Self { most: connections.max(1), kept: Mutex::default() }
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
        let tickets = &mut self.kept().tickets;
        if tickets.len() == self.most {
            tickets.pop_front();
        }
        tickets.push_back(ticket);
    }

    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        given(self.kept().tickets.pop_back())
    }
}
