//! The connections of all clients.

use std::collections::VecDeque;
use std::io;
use std::net::TcpListener;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{SendFlags, SocketFlags, sockopt};

use super::tls::Tls;

/// Goes on with a connection, or breaks off because it is to be closed.
pub(super) type Step<T = ()> = ControlFlow<(), T>;

/// The token of the listening socket; connections have their slot's number.
pub(super) const LISTENER: u64 = u64::MAX;

/// One client, also after its slot has gone to another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ClientId {
    slot: usize,
    serial: u64,
}

/// How a connection ends after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Close,
    /// It is reset instead of the answer.
    Reset,
}

/// An answer that waits for its time.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) due: Duration,
    pub(super) bytes: Vec<u8>,
    pub(super) end: Option<End>,
}

/// One client's connection.
pub(super) struct Connection {
    pub(super) descriptor: OwnedFd,
    pub(super) id: ClientId,
    /// The beginning of a request whose end has not arrived.
    pub(super) partial: Vec<u8>,
    pub(super) tls: Option<Tls>,
    /// What the kernel has not taken yet of the answers, encrypted where they are.
    pub(super) unsent: Vec<u8>,
    pub(super) close_when_sent: bool,
    /// Used by scripts alone, as is what follows: the answers that wait for their time, in order.
    pub(super) held: VecDeque<Held>,
    /// How many answers the connection was given.
    pub(super) answers: u64,
    /// When the client was last heard or answered.
    pub(super) last_active: Duration,
    /// Memory that is only to be in use as long as the connection is.
    pub(super) ballast: Vec<u8>,
}

impl Connection {
    pub(super) fn new(descriptor: OwnedFd, id: ClientId) -> Self {
        Self {
            descriptor,
            id,
            tls: None,
            partial: Vec::new(),
            unsent: Vec::new(),
            close_when_sent: false,
            held: VecDeque::new(),
            answers: 0,
            last_active: Duration::ZERO,
            ballast: Vec::new(),
        }
    }

    /// Whether its last answer is made, so that nothing more is read.
    pub(super) fn is_ending(&self) -> bool {
        self.close_when_sent || self.held.back().is_some_and(|held| held.end.is_some())
    }

    /// Whether a client that is silent waits for nothing.
    pub(super) fn is_idle(&self) -> bool {
        self.held.is_empty() && self.unsent.is_empty()
    }

    /// The client sends nothing more: it still gets the answers that wait for their time.
    pub(super) fn end_of_requests(&mut self) -> Step {
        let Some(last) = self.held.back_mut() else { return Step::Break(()) };
        last.end.get_or_insert(End::Close);
        Step::Continue(())
    }

    /// Writes an answer behind whatever the connection still has to send.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Step {
        match &mut self.tls {
            None => self.send(bytes),
            Some(tls) => {
                let sealed = tls.sealed(bytes, self.close_when_sent);
                if sealed.is_empty() { Step::Continue(()) } else { self.send(&sealed) }
            }
        }
    }

    /// Sends bytes as they are.
    pub(super) fn send(&mut self, bytes: &[u8]) -> Step {
        let taken = if self.unsent.is_empty() {
            match rustix::net::send(&self.descriptor, bytes, SendFlags::NOSIGNAL) {
                Ok(taken) => taken,
                Err(Errno::AGAIN | Errno::INTR) => 0,
                Err(_) => return Step::Break(()),
            }
        } else {
            0
        };
        self.unsent.extend_from_slice(&bytes[taken..]);
        let is_done = self.close_when_sent && self.unsent.is_empty();
        if is_done { Step::Break(()) } else { Step::Continue(()) }
    }

    /// Sends the answers whose time has come, in order.
    pub(super) fn release(&mut self, now: Duration) -> Step {
        while let Some(held) = self.next_due(now) {
            self.last_active = now;
            if held.end == Some(End::Reset) {
                // Closing then sends a reset, and drops what the kernel has not sent.
                let _ = sockopt::set_socket_linger(&self.descriptor, Some(Duration::ZERO));
                return Step::Break(());
            }
            self.close_when_sent = held.end.is_some();
            self.write(&held.bytes)?;
        }
        Step::Continue(())
    }

    fn next_due(&mut self, now: Duration) -> Option<Held> {
        self.held.front().filter(|held| held.due <= now)?;
        self.held.pop_front()
    }
}

/// All connections, and the socket that they come from.
pub(super) struct Clients {
    pub(super) set: OwnedFd,
    listener: TcpListener,
    slots: Vec<Option<Connection>>,
    vacant: Vec<usize>,
    accepted: u64,
}

impl Clients {
    /// No connection yet.
    ///
    /// # Errors
    /// When the kernel has no place for another set of events.
    pub(super) fn new(listener: TcpListener) -> io::Result<Self> {
        let set = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        Ok(Self { set, listener, slots: Vec::new(), vacant: Vec::new(), accepted: 0 })
    }

    /// Has the set of events tell of clients that wait in the listen queue, under [`LISTENER`].
    ///
    /// # Errors
    /// When the kernel has no place for another event.
    pub(super) fn watch_listener(&self) -> io::Result<()> {
        Ok(epoll::add(&self.set, &self.listener, EventData::new_u64(LISTENER), EventFlags::IN)?)
    }

    /// Takes the next client from the listen queue.
    ///
    /// Any error, a lack of descriptors included, leaves the rest there for later.
    pub(super) fn accept(&mut self) -> Option<&mut Connection> {
        loop {
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            let descriptor = rustix::net::accept_with(&self.listener, flags).ok()?;
            let slot = self.vacant.pop().unwrap_or_else(|| {
                self.slots.push(None);
                self.slots.len() - 1
            });
            // Edge-triggered for both directions, so that no connection is ever registered again.
            let interest = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
            let added = sockopt::set_tcp_nodelay(&descriptor, true)
                .and_then(|()| epoll::add(&self.set, &descriptor, EventData::new_u64(slot as u64), interest));
            if added.is_err() {
                self.vacant.push(slot);
                continue;
            }
            self.accepted += 1;
            let id = ClientId { slot, serial: self.accepted };
            return Some(self.slots[slot].insert(Connection::new(descriptor, id)));
        }
    }

    /// Does something with the connection that an event is about, and closes it where that says so.
    pub(super) fn with_token(&mut self, token: u64, act: impl FnOnce(&mut Connection) -> Step) {
        let Ok(slot) = usize::try_from(token) else { return };
        let Some(connection) = &mut self.slots[slot] else { return };
        if act(connection).is_break() {
            self.slots[slot] = None;
            self.vacant.push(slot);
        }
    }

    /// The same with a client's connection, where it is still there.
    pub(super) fn with_client(&mut self, client: ClientId, act: impl FnOnce(&mut Connection) -> Step) {
        self.with_token(client.slot as u64, |connection| {
            if connection.id == client { act(connection) } else { Step::Continue(()) }
        });
    }

    /// How many connections there are.
    pub(super) fn open(&self) -> usize {
        self.slots.len() - self.vacant.len()
    }
}
