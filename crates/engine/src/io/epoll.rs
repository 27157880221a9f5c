//! Readiness by epoll, edge-triggered: one registration for each connection's life, then only reads and writes.

use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};

use loadcurve_plan::Nanos;
use loadcurve_record::Failure;
use rustix::event::epoll;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, ipproto, sockopt};

use crate::clock;
use crate::io::{EVENTS_PER_TURN, Event, Io, Slot, broken_failure, connect_failure, tcp_info};

/// Large enough that one read empties the socket of every answer but long ones.
const RECEIVE_BUFFER_BYTES: usize = 64 * 1024;

#[derive(Default)]
struct Socket {
    descriptor: Option<OwnedFd>,
    /// Counts the connections of this slot, so that a late event of an earlier one is recognised.
    generation: u32,
    connecting: bool,
    /// What the kernel has not taken yet of the bytes to send.
    unsent: Vec<u8>,
}

/// An event as the kernel gave it, told apart before its bytes are borrowed.
enum Step {
    Connected,
    ConnectFailed(Failure),
    Received(usize),
    Closed,
    Broken(Failure),
}

/// The epoll backend.
pub(crate) struct Epoll {
    address: SocketAddr,
    set: OwnedFd,
    sockets: Vec<Socket>,
    /// What the last wait found: the token of the connection and its readiness.
    ready: Vec<(u64, EventFlags)>,
    /// The event of `ready` that is delivered next.
    cursor: usize,
    /// Events whose sockets may hold more bytes, for the next turn.
    unfinished: Vec<(u64, EventFlags)>,
    buffer: Vec<u8>,
}

impl Epoll {
    /// A set of `slots` unconnected connections to `address`.
    pub(crate) fn new(address: SocketAddr, slots: usize) -> Result<Self, Errno> {
        Ok(Self {
            address,
            set: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            sockets: (0..slots).map(|_| Socket::default()).collect(),
            ready: Vec::with_capacity(EVENTS_PER_TURN),
            cursor: 0,
            unfinished: Vec::with_capacity(EVENTS_PER_TURN),
            buffer: vec![0; RECEIVE_BUFFER_BYTES],
        })
    }

    fn begin_connect(&mut self, slot: Slot) -> Result<(), Errno> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let family = if self.address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let descriptor = rustix::net::socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
        sockopt::set_tcp_nodelay(&descriptor, true)?;
        match rustix::net::connect(&descriptor, &self.address) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(errno) => return Err(errno),
        }
        let socket = &mut self.sockets[slot];
        socket.generation = socket.generation.wrapping_add(1);
        let interest = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        let token = epoll::EventData::new_u64(token(slot, socket.generation));
        epoll::add(&self.set, &descriptor, token, interest)?;
        socket.descriptor = Some(descriptor);
        socket.connecting = true;
        Ok(())
    }

    /// What the event under the cursor still has to tell, or none when it is used up.
    fn step(&mut self, slot: Slot, flags: EventFlags) -> Option<Step> {
        let socket = &mut self.sockets[slot];
        let descriptor = socket.descriptor.as_ref()?;
        if socket.connecting {
            return match sockopt::socket_error(descriptor) {
                Ok(Ok(())) if flags.contains(EventFlags::OUT) => {
                    socket.connecting = false;
                    Some(Step::Connected)
                }
                Ok(Ok(())) => None,
                Ok(Err(errno)) | Err(errno) => {
                    self.cursor += 1;
                    Some(Step::ConnectFailed(connect_failure(errno)))
                }
            };
        }
        if flags.contains(EventFlags::OUT) && !socket.unsent.is_empty() {
            match send_some(descriptor, &socket.unsent) {
                Ok(taken) => drop(socket.unsent.drain(..taken)),
                Err(errno) => {
                    self.cursor += 1;
                    return Some(Step::Broken(broken_failure(errno)));
                }
            }
        }
        let hang_up = EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR;
        if !flags.intersects(EventFlags::IN | hang_up) {
            return None;
        }
        match receive(descriptor, &mut self.buffer) {
            Ok(0) => {
                self.cursor += 1;
                Some(Step::Closed)
            }
            Ok(received) => {
                if received == self.buffer.len() {
                    self.unfinished.push(self.ready[self.cursor]);
                    self.cursor += 1;
                } else if !flags.intersects(hang_up) {
                    // A short read has emptied the socket; only a hang-up still waits behind it.
                    self.cursor += 1;
                }
                Some(Step::Received(received))
            }
            Err(Errno::AGAIN) => None,
            Err(errno) => {
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

    fn send(&mut self, slot: Slot, bytes: &[u8]) -> Result<(), Failure> {
        let socket = &mut self.sockets[slot];
        let Some(descriptor) = &socket.descriptor else { return Err(Failure::ClosedEarly) };
        // An answer may come before its request is written whole; the next request then waits behind the rest of it.
        let taken =
            if socket.unsent.is_empty() { send_some(descriptor, bytes).map_err(broken_failure)? } else { 0 };
        socket.unsent.extend_from_slice(&bytes[taken..]);
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
        socket.unsent.clear();
    }

    fn wait(&mut self, until: Nanos) -> Nanos {
        self.cursor = 0;
        self.ready.clear();
        self.ready.append(&mut self.unfinished);
        let carried = self.ready.len();
        let longest = if carried == 0 { until - clock::now() } else { Nanos::ZERO };
        let mut events = [MaybeUninit::uninit(); EVENTS_PER_TURN];
        let room = &mut events[carried..];
        // An interrupted wait, or one that has no room, is a turn without new events.
        if let Ok((events, _)) = epoll::wait(&self.set, room, Some(&clock::timespec(longest))) {
            for event in events {
                let (token, flags) = (event.data.u64(), event.flags);
                match self.ready[..carried].iter_mut().find(|(unfinished, _)| *unfinished == token) {
                    Some((_, unfinished)) => *unfinished |= flags,
                    None => self.ready.push((token, flags)),
                }
            }
        }
        clock::now()
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
            Step::Closed => Event::Closed,
            Step::Broken(failure) => Event::Broken(failure),
        };
        Some((slot, event))
    }
}

/// Sends what the kernel takes at once; a full send buffer takes nothing.
fn send_some(descriptor: &OwnedFd, bytes: &[u8]) -> Result<usize, Errno> {
    match rustix::io::retry_on_intr(|| rustix::net::send(descriptor, bytes, SendFlags::NOSIGNAL)) {
        Err(Errno::AGAIN) => Ok(0),
        result => result,
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
