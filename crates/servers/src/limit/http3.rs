//! HTTP/3: the datagrams of all clients come on one socket, and QUIC tells them apart.
//!
//! What has come is taken in as far as the kernel has it; then each client that was heard is served once, so that answers to
//! requests that came together leave together.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use loadcurve_datagrams::Received;
use loadcurve_quic::connection::{Arrival, Incoming, Socket, Welcome, Windows};
use loadcurve_wire::DatagramBytes;
use rustix::event::Timespec;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::sockopt;

use crate::clock;

use super::Admission;
use super::http2::Replies;
use super::script::Script;
use super::tls::Identity;

use client::{Client, Turn};

mod client;

/// The token of the socket among the events.
pub(super) const DATAGRAMS: u64 = u64::MAX - 1;

/// How often the kernel is asked for datagrams before those that have come are answered.
const RECEIVES_PER_TURN: usize = 32;
/// All datagrams that the kernel hands over at once.
const RECEIVE_BUFFER_BYTES: usize = 64 * 1024;
/// What the socket is asked to hold for this side; the kernel grants less where `net.core.rmem_max` is lower.
const SOCKET_BUFFER_BYTES: usize = 8 * 1024 * 1024;

/// Of requests next to nothing waits; what is sent are references to bodies.
const WINDOWS: Windows = Windows {
    stream_bytes: 1 << 20,
    connection_bytes: 1 << 24,
    unacknowledged_bytes: 1 << 24,
    requests: 1000,
    // A client that leaves without a word would otherwise be kept.
    idle: Some(Duration::from_secs(120)),
};

/// Datagrams that the kernel has not taken.
struct Unsent {
    to: SocketAddr,
    bytes: Vec<u8>,
    cut: DatagramBytes,
}

/// On which connections requests are taken before the handshake is over: a share of all, spread evenly and without a
/// rhythm. A session that begins on another connection allows no early data on the next one: if every second connection
/// took requests early, a client of one connection at a time would never send any.
struct EarlyData {
    share: f64,
    accepted: u64,
    /// How the others are taken; `None` where all are taken one way.
    without: Option<Welcome>,
}

impl EarlyData {
    /// How the next connection is taken, if not as the socket takes it.
    fn next(&mut self) -> Option<&Welcome> {
        let taken = is_taken(self.accepted, self.share);
        self.accepted += 1;
        self.without.as_ref().filter(|_| !taken)
    }
}

/// Whether the connection with this number, from 0, is in the share: multiples of the golden ratio are spread evenly
/// between 0 and 1 and never repeat (Weyl's equidistribution).
fn is_taken(number: u64, share: f64) -> bool {
    const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
    (number.wrapping_mul(GOLDEN) as f64) < share * u64::MAX as f64 || share >= 1.0
}

/// All clients of HTTP/3.
pub(super) struct Datagrams {
    socket: UdpSocket,
    quic: Socket,
    retries: bool,
    early: EarlyData,
    /// By the number that QUIC has for each.
    clients: Vec<Option<Box<Client>>>,
    open: usize,
    /// Those that were heard and not served yet.
    heard: Vec<usize>,
    /// When to look after which.
    wakes: BinaryHeap<Reverse<(Duration, usize)>>,
    /// Clients that wait to be accepted, where that goes slowly, and how many may.
    queue: VecDeque<Incoming>,
    longest_queue: usize,
    unsent: VecDeque<Unsent>,
    /// Whether the kernel is to say when it takes datagrams again.
    watches_room: bool,
    buffer: Vec<u8>,
    output: Vec<u8>,
}

impl Datagrams {
    /// Binds the port at this address.
    ///
    /// # Errors
    /// It is in use, or the settings of TLS lack what QUIC requires.
    pub(super) fn listen(
        at: SocketAddr,
        backlog: i32,
        identity: Option<&Identity>,
        admission: Admission,
    ) -> io::Result<Self> {
        let identity = identity.ok_or_else(|| io::Error::other("HTTP/3 is always encrypted"))?;
        let socket = UdpSocket::bind(at)?;
        socket.set_nonblocking(true)?;
        let _ = sockopt::set_socket_recv_buffer_size(&socket, SOCKET_BUFFER_BYTES);
        let _ = sockopt::set_socket_send_buffer_size(&socket, SOCKET_BUFFER_BYTES);
        let _ = loadcurve_datagrams::prepare(socket.as_fd());
        let welcome = |tls| Welcome::new(tls, &WINDOWS).map_err(io::Error::other);
        let share = admission.early_data_share;
        let (usual, without) = if share > 0.0 {
            let [with, without] = identity.of_quic_with_early_data();
            (welcome(with)?, Some(welcome(without)?))
        } else {
            (welcome(identity.of_quic())?, None)
        };
        Ok(Self {
            socket,
            quic: Socket::server(&usual, clock::zero()),
            retries: admission.retries,
            early: EarlyData { share, accepted: 0, without },
            clients: Vec::new(),
            open: 0,
            heard: Vec::new(),
            wakes: BinaryHeap::new(),
            queue: VecDeque::new(),
            longest_queue: usize::try_from(backlog).unwrap_or(0),
            unsent: VecDeque::new(),
            watches_room: false,
            buffer: vec![0; RECEIVE_BUFFER_BYTES],
            output: Vec::new(),
        })
    }

    /// Has a set of events report datagrams, under [`DATAGRAMS`].
    ///
    /// # Errors
    /// When the kernel has no place for another event.
    pub(super) fn watch(&self, set: BorrowedFd<'_>) -> io::Result<()> {
        Ok(epoll::add(set, &self.socket, EventData::new_u64(DATAGRAMS), EventFlags::IN)?)
    }

    /// How many clients there are.
    pub(super) fn open(&self) -> usize {
        self.open
    }

    /// How long nothing has to be done unless something comes.
    pub(super) fn timeout(&self) -> Option<Timespec> {
        let Reverse((at, _)) = self.wakes.peek()?;
        Timespec::try_from(at.saturating_sub(clock::monotonic())).ok()
    }

    /// Takes in what has come, and serves its senders.
    pub(super) fn hear(&mut self, replies: Replies<'_>, script: Option<&mut Script>) {
        let now = now(script.as_deref());
        let mut buffer = std::mem::take(&mut self.buffer);
        for _ in 0..RECEIVES_PER_TURN {
            let received = loadcurve_datagrams::receive_from(self.socket.as_fd(), &mut buffer);
            let Ok(Received { length, each, from: Some(from) }) = received else { break };
            let each = each.map_or(length, usize::from).max(1);
            for datagram in buffer[..length].chunks(each) {
                self.datagram(now, from, datagram, script.as_deref());
            }
        }
        self.buffer = buffer;
        self.serve_heard(now, replies, script);
    }

    fn datagram(&mut self, now: Duration, from: SocketAddr, bytes: &[u8], script: Option<&Script>) {
        match self.quic.datagram(now, from, bytes) {
            Arrival::New(incoming) => self.welcome(now, incoming, script),
            Arrival::Of(handle, event) => {
                let Some(client) = self.clients.get_mut(handle.0).and_then(Option::as_mut) else { return };
                client.quic.arrived(&mut self.quic, event);
                self.has_heard(handle.0);
            }
            Arrival::Answered => self.reply(from),
            Arrival::Dropped => {}
        }
    }

    /// A client begins: it is accepted now or later, or has to begin again.
    fn welcome(&mut self, now: Duration, incoming: Incoming, script: Option<&Script>) {
        let from = incoming.remote_address();
        let incoming = if self.retries { self.quic.retry(incoming) } else { Some(incoming) };
        let Some(incoming) = incoming else { return self.reply(from) };
        if !script.is_some_and(Script::accepts_slowly) {
            self.accept(now, incoming, script);
        } else if self.queue.len() < self.longest_queue {
            self.queue.push_back(incoming);
        } else {
            self.quic.ignore(incoming);
        }
    }

    /// Sends what is said without a connection; if it is lost, the client asks again.
    fn reply(&self, to: SocketAddr) {
        let _ = loadcurve_datagrams::send(self.socket.as_fd(), Some(to), self.quic.reply(), None);
    }

    fn accept(&mut self, now: Duration, incoming: Incoming, script: Option<&Script>) {
        let from = incoming.remote_address();
        let otherwise = self.early.next();
        let Some(quic) = self.quic.accept(now, incoming, otherwise) else { return self.reply(from) };
        let number = quic.handle().0;
        if self.clients.len() <= number {
            self.clients.resize_with(number + 1, || None);
        }
        let ballast_bytes = script.map_or(0, |script| script.faults().connection_memory_bytes);
        self.clients[number] = Some(Box::new(Client::new(quic, now, ballast_bytes)));
        self.open += 1;
        self.has_heard(number);
    }

    /// Accepts the client that has waited for longest; false when none waits.
    pub(super) fn accept_waiting(&mut self, replies: Replies<'_>, script: Option<&mut Script>) -> bool {
        let Some(incoming) = self.queue.pop_front() else { return false };
        let now = now(script.as_deref());
        self.accept(now, incoming, script.as_deref());
        self.serve_heard(now, replies, script);
        true
    }

    fn has_heard(&mut self, number: usize) {
        let Some(client) = &mut self.clients[number] else { return };
        if !std::mem::replace(&mut client.is_heard, true) {
            self.heard.push(number);
        }
    }

    fn serve_heard(&mut self, now: Duration, replies: Replies<'_>, mut script: Option<&mut Script>) {
        let mut heard = std::mem::take(&mut self.heard);
        let mut is_full = false;
        heard.retain(|&number| {
            is_full = is_full || !self.unsent.is_empty();
            if !is_full {
                self.serve(number, now, replies, script.as_deref_mut());
            }
            // Those that are left are served when the kernel takes datagrams again.
            is_full
        });
        self.heard = heard;
    }

    fn serve(&mut self, number: usize, now: Duration, replies: Replies<'_>, script: Option<&mut Script>) {
        let Some(client) = &mut self.clients[number] else { return };
        client.is_heard = false;
        client.serve(&mut Turn { now, replies, script });
        let to = client.quic.peer();
        while self.unsent.is_empty()
            && let Some(cut) = client.quic.transmit(now, &mut self.output)
        {
            let sent = loadcurve_datagrams::send(self.socket.as_fd(), Some(to), &self.output, cut.0);
            if matches!(sent, Err(Errno::AGAIN | Errno::NOBUFS)) {
                self.unsent.push_back(Unsent { to, bytes: std::mem::take(&mut self.output), cut });
            }
            // What else is not sent is lost, which QUIC notices.
            self.output.clear();
        }
        if client.quic.is_over() {
            self.clients[number] = None;
            self.open -= 1;
            return;
        }
        let wake_at = client.next_wake();
        if wake_at < client.wake_at.unwrap_or(Duration::MAX) {
            client.wake_at = Some(wake_at);
            self.wakes.push(Reverse((wake_at, number)));
        }
    }

    /// Looks after the clients whose time has come.
    pub(super) fn keep_time(&mut self, replies: Replies<'_>, script: Option<&mut Script>) {
        let mut time = None;
        while let Some(Reverse((at, number))) = self.wakes.peek().copied() {
            let now = *time.get_or_insert_with(|| now(script.as_deref()));
            if at > now {
                break;
            }
            self.wakes.pop();
            let Some(client) = self.clients.get_mut(number).and_then(Option::as_mut) else { continue };
            // An earlier one, or that of the client who had the number before.
            if client.wake_at != Some(at) {
                continue;
            }
            client.wake_at = None;
            if client.quic.deadline().is_some_and(|deadline| deadline <= now) {
                client.quic.timeout(&mut self.quic, now);
            }
            self.has_heard(number);
        }
        if let Some(now) = time {
            self.serve_heard(now, replies, script);
        }
    }

    /// The kernel takes datagrams again: sends those that wait, and serves those that have waited for it.
    pub(super) fn go_on(&mut self, replies: Replies<'_>, script: Option<&mut Script>) {
        while let Some(Unsent { to, bytes, cut }) = self.unsent.front() {
            let sent = loadcurve_datagrams::send(self.socket.as_fd(), Some(*to), bytes, cut.0);
            if matches!(sent, Err(Errno::AGAIN | Errno::NOBUFS)) {
                return;
            }
            self.unsent.pop_front();
        }
        let now = now(script.as_deref());
        self.serve_heard(now, replies, script);
    }

    /// Has the set of events report room while something waits for it.
    ///
    /// # Errors
    /// When the kernel has no place for that.
    pub(super) fn watch_room(&mut self, set: BorrowedFd<'_>) -> io::Result<()> {
        let waits = !self.unsent.is_empty();
        if waits != self.watches_room {
            self.watches_room = waits;
            let interest = if waits { EventFlags::IN | EventFlags::OUT } else { EventFlags::IN };
            epoll::modify(set, &self.socket, EventData::new_u64(DATAGRAMS), interest)?;
        }
        Ok(())
    }
}

/// The time, after a stall that may be under way.
fn now(script: Option<&Script>) -> Duration {
    script.map_or_else(clock::monotonic, Script::time_after_stall)
}

#[cfg(test)]
mod tests {
    use super::is_taken;

    #[test]
    fn a_share_of_connections_is_spread_evenly_and_in_no_rhythm() {
        for share in [0.0, 0.1, 0.5, 1.0] {
            let taken = (0..1000).filter(|number| is_taken(*number, share)).count();
            assert!((taken as f64 - share * 1000.0).abs() <= 3.0, "{taken} of 1000 at {share}");
        }
        let both_of_two =
            (0..1000).filter(|number| is_taken(*number, 0.5) && is_taken(number + 1, 0.5)).count();
        assert!(both_of_two > 50, "{both_of_two}");
    }
}
