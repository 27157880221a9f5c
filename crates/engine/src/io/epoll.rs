//! Readiness by epoll, edge-triggered: one registration for each connection's life, then only reads and writes.

use std::collections::VecDeque;
use std::mem::{self, MaybeUninit};
use std::os::fd::{AsFd, OwnedFd};

use loadcurve_plan::Nanos;
use loadcurve_record::Failure;
use loadcurve_wire::Tunnel;
use rustix::event::epoll;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, SocketFlags, sockopt};

use crate::clock;
use crate::io::local::Queued;
use crate::io::readiness;
use crate::io::route::Route;
use crate::io::{
    EVENTS_PER_TURN, Event, Io, Looked, Notify, Slot, broken_failure, connect_failure, is_end_by_peer,
    tcp_info,
};

/// Large enough that one read empties the socket of every answer but long ones.
const RECEIVE_BUFFER_BYTES: usize = 64 * 1024;
/// Connections that go on from an earlier turn take at most half of one, so that long answers and long requests do not
/// keep the others out.
const CARRIED_PER_TURN: usize = EVENTS_PER_TURN / 2;

struct Socket {
    descriptor: Option<OwnedFd>,
    /// Counts the connections of this slot, so that a late event of an earlier one is recognised.
    generation: u32,
    connecting: bool,
    /// Why it is not connected, where that is known before the kernel reports anything.
    refused: Option<Errno>,
    /// The tunnel that the connection has asked for and that is not open yet.
    tunnel: Option<Tunnel>,
    /// What the kernel has not taken yet of the bytes to send.
    unsent: Vec<u8>,
    /// Whether an event reports that all of them are taken.
    notifies: bool,
    /// Why no more can be sent, where reading will meet the end, too.
    send_failure: Option<Failure>,
    /// Its readiness that is handled in a later turn; it is then in the queue of those.
    carried: EventFlags,
}

impl Default for Socket {
    fn default() -> Self {
        Self {
            descriptor: None,
            generation: 0,
            connecting: false,
            refused: None,
            tunnel: None,
            unsent: Vec::new(),
            notifies: false,
            send_failure: None,
            carried: EventFlags::empty(),
        }
    }
}

/// An event as the kernel gave it, known before its bytes are borrowed.
enum Step {
    Connected,
    ConnectFailed(Failure),
    Received(usize),
    Taken,
    Closed,
    Broken(Failure),
}

/// The epoll backend.
pub(crate) struct Epoll {
    route: Route,
    set: OwnedFd,
    /// Connections that wait for room in the queue of a Unix socket.
    queued: Queued,
    /// What an HTTP proxy has said last that opens no tunnel.
    refusal: Option<String>,
    sockets: Vec<Socket>,
    /// What the last wait found: the token of the connection and its readiness.
    ready: Vec<(u64, EventFlags)>,
    /// The event of `ready` that is delivered next.
    cursor: usize,
    /// The tokens of connections that may go on without a further event of the kernel's.
    carried: VecDeque<u64>,
    buffer: Vec<u8>,
}

impl Epoll {
    /// A set of `slots` unconnected connections of a route.
    pub(crate) fn new(route: Route, slots: usize) -> Result<Self, Errno> {
        Ok(Self {
            route,
            set: readiness::new_set()?,
            queued: Queued::default(),
            refusal: None,
            sockets: (0..slots).map(|_| Socket::default()).collect(),
            ready: Vec::with_capacity(EVENTS_PER_TURN),
            cursor: 0,
            carried: VecDeque::new(),
            buffer: vec![0; RECEIVE_BUFFER_BYTES],
        })
    }

    fn begin_connect(&mut self, slot: Slot) -> Result<(), Errno> {
        let descriptor = self.route.socket(slot, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC)?;
        let begun = match rustix::net::connect(&descriptor, self.route.address(slot)) {
            Ok(()) | Err(Errno::INPROGRESS) => Ok(()),
            Err(errno) => Err(errno),
        };
        let socket = &mut self.sockets[slot];
        socket.generation = socket.generation.wrapping_add(1);
        let is_begun = if self.route.is_local() {
            self.queued.attempted(slot, socket.generation, begun)?
        } else {
            begun?;
            true
        };
        let descriptor = socket.descriptor.insert(descriptor);
        socket.connecting = true;
        if is_begun { watch(&self.set, slot, socket.generation, descriptor) } else { Ok(()) }
    }

    /// Tries once more what has waited for room in a queue.
    fn connect_queued(&mut self) {
        let Self { queued, sockets, set, route, .. } = self;
        let done = queued.try_again(|slot, generation| {
            let socket = sockets.get(slot).filter(|socket| socket.generation == generation)?;
            let descriptor = socket.descriptor.as_ref()?;
            let connected = rustix::net::connect(descriptor, route.address(slot));
            Some(connected.and_then(|()| watch(set, slot, generation, descriptor)))
        });
        for (slot, outcome) in done {
            if let Err(errno) = outcome {
                self.sockets[slot].refused = Some(errno);
                self.carry(slot, EventFlags::OUT);
            }
        }
    }

    /// What an HTTP proxy has said last that opens no tunnel.
    #[cfg_attr(not(feature = "tls"), expect(dead_code, reason = "only the look at TLS asks"))]
    pub(crate) fn refusal(&self) -> Option<&str> {
        self.refusal.as_deref()
    }

    /// Takes the connection of a slot out of the backend.
    #[cfg_attr(not(feature = "tls"), expect(dead_code, reason = "only the look at TLS asks"))]
    pub(crate) fn take(&mut self, slot: Slot) -> Option<OwnedFd> {
        let descriptor = self.sockets[slot].descriptor.take();
        self.close(slot);
        descriptor
    }

    /// What becomes of a connection that the kernel has made; none while something else is awaited.
    fn enter(&mut self, slot: Slot) -> Option<Step> {
        let socket = &mut self.sockets[slot];
        let descriptor = socket.descriptor.as_ref()?;
        if self.route.has_entrance() && socket.tunnel.is_none() {
            match self.route.enter(descriptor.as_fd()) {
                Ok(tunnel) => socket.tunnel = tunnel,
                Err(failure) => return Some(self.not_entered(failure)),
            }
        }
        while let Some(tunnel) = &mut socket.tunnel {
            let answer = match receive(descriptor, &mut self.buffer) {
                Err(Errno::AGAIN) => return None,
                Ok(0) | Err(_) => Err("it closed the connection instead of an answer to CONNECT".into()),
                Ok(length) => tunnel.receive(&self.buffer[..length]),
            };
            match answer {
                Ok(false) => {}
                Ok(true) => socket.tunnel = None,
                Err(text) => {
                    self.refusal = Some(text);
                    return Some(self.not_entered(Failure::ConnectRefused));
                }
            }
        }
        socket.connecting = false;
        Some(Step::Connected)
    }

    fn not_entered(&mut self, failure: Failure) -> Step {
        self.cursor += 1;
        Step::ConnectFailed(failure)
    }

    /// Lets a connection go on in a later turn as if the kernel had reported it again.
    fn carry(&mut self, slot: Slot, flags: EventFlags) {
        let socket = &mut self.sockets[slot];
        if socket.carried.is_empty() {
            self.carried.push_back(token(slot, socket.generation));
        }
        socket.carried |= flags;
    }

    /// What the event under the cursor still holds, or none when it is used up.
    fn step(&mut self, slot: Slot, flags: EventFlags) -> Option<Step> {
        let socket = &mut self.sockets[slot];
        let descriptor = socket.descriptor.as_ref()?;
        if socket.connecting {
            let outcome = match socket.refused.take() {
                Some(errno) => Err(errno),
                None => sockopt::socket_error(descriptor).and_then(|outcome| outcome),
            };
            return match outcome {
                Ok(()) if flags.contains(EventFlags::OUT) || socket.tunnel.is_some() => self.enter(slot),
                Ok(()) => None,
                Err(errno) => Some(self.not_entered(connect_failure(errno))),
            };
        }
        if flags.contains(EventFlags::OUT) {
            // Room is used once: the next bytes to send may come before this event is used up.
            self.ready[self.cursor].1.remove(EventFlags::OUT);
            if !socket.unsent.is_empty() && socket.send_failure.is_none() {
                match send_some(descriptor, &socket.unsent, &mut socket.send_failure) {
                    Ok(taken) => drop(socket.unsent.drain(..taken)),
                    Err(failure) => {
                        self.cursor += 1;
                        return Some(Step::Broken(failure));
                    }
                }
            }
            if socket.notifies && socket.unsent.is_empty() {
                socket.notifies = false;
                return Some(Step::Taken);
            }
        }
        let hang_up = EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR;
        if !flags.intersects(EventFlags::IN | hang_up) {
            return None;
        }
        match (receive(descriptor, &mut self.buffer), socket.send_failure) {
            (Err(Errno::AGAIN), _) => None,
            (Ok(0) | Err(_), Some(failure)) => {
                self.cursor += 1;
                Some(Step::Broken(failure))
            }
            (Ok(0), None) => {
                self.cursor += 1;
                Some(Step::Closed)
            }
            (Ok(received), _) => {
                if received == self.buffer.len() {
                    self.cursor += 1;
                    self.carry(slot, flags);
                } else if !flags.intersects(hang_up) {
                    // A short read has emptied the socket; only a hang-up still waits behind it.
                    self.cursor += 1;
                }
                Some(Step::Received(received))
            }
            (Err(errno), None) => {
                self.cursor += 1;
                Some(Step::Broken(broken_failure(errno)))
            }
        }
    }
}

impl Io for Epoll {
    const NAME: &'static str = "epoll";

    fn connect(&mut self, slot: Slot) -> Result<(), Failure> {
        self.begin_connect(slot).map_err(connect_failure)
    }

    fn send(&mut self, slot: Slot, bytes: &[u8], notify: Notify) -> Result<(), Failure> {
        let socket = &mut self.sockets[slot];
        let Some(descriptor) = &socket.descriptor else { return Err(Failure::ClosedEarly) };
        // An answer may come before its request is written whole; the next request then waits behind the rest of it.
        let taken = if socket.unsent.is_empty() {
            send_some(descriptor, bytes, &mut socket.send_failure)?
        } else {
            0
        };
        socket.unsent.extend_from_slice(&bytes[taken..]);
        socket.notifies = notify == Notify::WhenWritten;
        if socket.notifies && socket.unsent.is_empty() {
            // The kernel will not report that there is room, for there has been room all the time.
            self.carry(slot, EventFlags::OUT);
        }
        Ok(())
    }

    fn retransmits(&self, slot: Slot) -> Option<u32> {
        tcp_info::retransmits(self.sockets[slot].descriptor.as_ref()?.as_fd())
    }

    fn close(&mut self, slot: Slot) {
        let socket = &mut self.sockets[slot];
        // Closing the only descriptor of a socket takes it out of the epoll set, too.
        socket.descriptor = None;
        socket.connecting = false;
        socket.refused = None;
        socket.tunnel = None;
        socket.unsent.clear();
        socket.notifies = false;
        socket.send_failure = None;
        socket.carried = EventFlags::empty();
    }

    fn wait(&mut self, until: Nanos) -> Nanos {
        self.cursor = 0;
        self.ready.clear();
        self.connect_queued();
        for _ in 0..CARRIED_PER_TURN {
            let Some(token) = self.carried.pop_front() else { break };
            let (slot, generation) = slot_and_generation(token);
            let socket = &mut self.sockets[slot];
            if socket.generation == generation {
                self.ready.push((token, mem::replace(&mut socket.carried, EventFlags::empty())));
            }
        }
        let carried = self.ready.len();
        let longest = if carried == 0 { self.queued.wait_until(until) - clock::now() } else { Nanos::ZERO };
        let mut events = [MaybeUninit::uninit(); EVENTS_PER_TURN];
        let room = &mut events[carried..];
        // An interrupted wait is a turn without new events.
        if let Ok((events, _)) = epoll::wait(&self.set, room, Some(&clock::timespec(longest))) {
            for event in events {
                let (token, flags) = (event.data.u64(), event.flags);
                match self.ready[..carried].iter_mut().find(|(carried, _)| *carried == token) {
                    Some((_, carried)) => *carried |= flags,
                    None => self.ready.push((token, flags)),
                }
            }
        }
        clock::now()
    }

    fn look(&mut self, until: Nanos, pause: Nanos) -> Looked {
        Looked::by_waits(until, pause, || (self.wait(Nanos::ZERO), !self.ready.is_empty()))
    }

    fn next(&mut self) -> Option<(Slot, Event<'_>)> {
        let (slot, step) = loop {
            let (token, flags) = *self.ready.get(self.cursor)?;
            let (slot, generation) = slot_and_generation(token);
            let is_current = self.sockets[slot].generation == generation;
            match if is_current { self.step(slot, flags) } else { None } {
                Some(step) => break (slot, step),
                None => self.cursor += 1,
            }
        };
        let event = match step {
            Step::Connected => Event::Connected,
            Step::ConnectFailed(failure) => Event::ConnectFailed(failure),
            Step::Received(length) => Event::Received(&self.buffer[..length]),
            Step::Taken => Event::Written,
            Step::Closed => Event::Closed,
            Step::Broken(failure) => Event::Broken(failure),
        };
        Some((slot, event))
    }
}

/// Has the kernel report what happens on a connection.
fn watch(set: &OwnedFd, slot: Slot, generation: u32, descriptor: &OwnedFd) -> Result<(), Errno> {
    let interest = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
    epoll::add(set, descriptor, epoll::EventData::new_u64(token(slot, generation)), interest)
}

/// Sends what the kernel takes at once; a full send buffer takes nothing, and neither does a connection that the peer
/// has ended, which leaves its failure.
fn send_some(descriptor: &OwnedFd, bytes: &[u8], failure: &mut Option<Failure>) -> Result<usize, Failure> {
    match rustix::io::retry_on_intr(|| rustix::net::send(descriptor, bytes, SendFlags::NOSIGNAL)) {
        Ok(taken) => Ok(taken),
        Err(Errno::AGAIN) => Ok(0),
        Err(errno) if is_end_by_peer(errno) => {
            *failure = Some(broken_failure(errno));
            Ok(0)
        }
        Err(errno) => Err(broken_failure(errno)),
    }
}

fn receive(descriptor: &OwnedFd, buffer: &mut [u8]) -> Result<usize, Errno> {
    rustix::io::retry_on_intr(|| {
        rustix::net::recv(descriptor, &mut *buffer, RecvFlags::empty()).map(|(received, _)| received)
    })
}

/// Slot and generation as the one number that the kernel gives back with an event.
fn token(slot: Slot, generation: u32) -> u64 {
    u64::from(generation) << 32 | slot as u64
}

fn slot_and_generation(token: u64) -> (Slot, u32) {
    #[expect(clippy::cast_possible_truncation, reason = "the two halves of the token are cut apart here")]
    let (slot, generation) = (token as u32, (token >> 32) as u32);
    (slot as Slot, generation)
}
