//! The connections of all clients.

use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::time::Duration;

use loadcurve_servers::http2;
use loadcurve_servers::websocket::Echo;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::net::{SocketFlags, sockopt};

use super::http1::Http1;
use super::step::Step;
use super::transport::Transport;

/// The token of the listening socket; connections have their slot's number.
pub(super) const LISTENER: u64 = u64::MAX;

/// One client, also after its slot has gone to another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ClientId {
    slot: usize,
    serial: u64,
}

/// What a client speaks.
pub(super) enum Protocol {
    /// The first bytes decide; these are a part of what HTTP/2 begins with.
    Undecided(Vec<u8>),
    Http1(Http1),
    /// Boxed so that a connection of HTTP/1.x has next to nothing of it.
    Http2(Box<http2::Connection>),
    WebSocket(Echo),
    /// What one of them sends goes to all others.
    Broadcast(Box<Echo>),
}

/// One client's connection.
pub(super) struct Connection {
    pub(super) id: ClientId,
    pub(super) transport: Transport,
    pub(super) protocol: Protocol,
    /// Whether more may be to be read than the client was asked for.
    pub(super) is_paused: bool,
    /// Used by scripts alone, as is what follows: how many answers the connection was given.
    pub(super) answers: u64,
    /// Whether somebody will look when its next answer is due.
    pub(super) is_awaited: bool,
    /// When the client was last heard or answered.
    pub(super) last_active: Duration,
    /// Memory that is only to be in use as long as the connection is.
    pub(super) ballast: Vec<u8>,
}

impl Connection {
    pub(super) fn new(descriptor: OwnedFd, id: ClientId) -> Self {
        Self {
            id,
            transport: Transport::new(descriptor),
            protocol: Protocol::Http1(Http1::default()),
            is_paused: false,
            answers: 0,
            is_awaited: false,
            last_active: Duration::ZERO,
            ballast: Vec::new(),
        }
    }

    /// Whether its last answer is made, so that nothing more is read.
    pub(super) fn is_ending(&self) -> bool {
        match &self.protocol {
            Protocol::Http1(http1) => http1.is_ending(&self.transport),
            // What still comes is read, so that the client can close without losing what it was sent.
            Protocol::Undecided(_) | Protocol::Http2(_) | Protocol::WebSocket(_) | Protocol::Broadcast(_) => {
                false
            }
        }
    }

    /// Whether a client that is silent waits for nothing.
    pub(super) fn is_idle(&self) -> bool {
        let waits_for_nothing = match &self.protocol {
            Protocol::Undecided(_) => true,
            Protocol::Http1(http1) => http1.is_idle(),
            Protocol::Http2(http2) => http2.is_idle(),
            Protocol::WebSocket(echo) => echo.is_idle(),
            Protocol::Broadcast(echo) => echo.is_idle(),
        };
        waits_for_nothing && self.transport.is_clear()
    }

    /// When the next answer is due of those that wait for their time.
    pub(super) fn next_due(&self) -> Option<Duration> {
        match &self.protocol {
            Protocol::Undecided(_) | Protocol::WebSocket(_) | Protocol::Broadcast(_) => None,
            Protocol::Http1(http1) => http1.next_due(),
            Protocol::Http2(http2) => http2.next_due(),
        }
    }

    /// The client sends nothing more: it still gets the answers that are under way.
    pub(super) fn end_of_requests(&mut self) -> Step {
        match &mut self.protocol {
            Protocol::Undecided(_) => Step::Break(()),
            Protocol::Http1(http1) => http1.end_of_requests(),
            Protocol::WebSocket(_) | Protocol::Broadcast(_) => {
                super::websocket::end_of_messages(&mut self.transport)
            }
            Protocol::Http2(http2) => super::http2::end_of_requests(http2, &mut self.transport),
        }
    }

    /// The socket takes more: sends what can be sent.
    pub(super) fn go_on(&mut self, batch: &mut Vec<u8>) -> Step {
        if !self.transport.is_clear() {
            self.transport.send_unsent()?;
        }
        match &mut self.protocol {
            Protocol::Undecided(_) | Protocol::Http1(_) | Protocol::WebSocket(_) | Protocol::Broadcast(_) => {
                Step::Continue(())
            }
            Protocol::Http2(http2) => super::http2::go_on(http2, &mut self.transport, batch),
        }
    }

    /// Sends the answers whose time has come.
    pub(super) fn release(&mut self, now: Duration, batch: &mut Vec<u8>) -> Step {
        self.last_active = now;
        match &mut self.protocol {
            Protocol::Undecided(_) | Protocol::WebSocket(_) | Protocol::Broadcast(_) => Step::Continue(()),
            Protocol::Http1(http1) => http1.release(now, &mut self.transport),
            Protocol::Http2(http2) => super::http2::release(http2, now, &mut self.transport, batch),
        }
    }

    /// Closes it, because nobody uses it.
    pub(super) fn close(&mut self, batch: &mut Vec<u8>) -> Step {
        match &mut self.protocol {
            Protocol::Undecided(_) | Protocol::Http1(_) | Protocol::WebSocket(_) | Protocol::Broadcast(_) => {
                Step::Break(())
            }
            Protocol::Http2(http2) => super::http2::close(http2, &mut self.transport, batch),
        }
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
    /// When the kernel has no place for another set of events, or cannot wait for a time in nanoseconds.
    pub(super) fn new(listener: TcpListener) -> io::Result<Self> {
        let set = loadcurve_epoll::new_set()
            .map_err(|errno| io::Error::other(loadcurve_epoll::unavailable(errno)))?;
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

    /// Sends messages to all clients of the broadcast but the one with this token. A client that does not take what it is sent is
    /// closed, so that the others need not wait and nothing is held for it.
    pub(super) fn broadcast(&mut self, from: u64, messages: &[u8]) {
        for slot in 0..self.slots.len() as u64 {
            self.with_token(slot, |connection| match &connection.protocol {
                Protocol::Broadcast(_) if connection.transport.is_congested() => Step::Break(()),
                Protocol::Broadcast(echo) if slot != from && !echo.is_over() => {
                    connection.transport.write(messages)
                }
                _ => Step::Continue(()),
            });
        }
    }

    /// How many connections there are.
    pub(super) fn open(&self) -> usize {
        self.slots.len() - self.vacant.len()
    }
}
