//! Datagrams by epoll: a connected socket of UDP for each connection, each of which the kernel may take and hand over several
//! datagrams of at once.

use std::collections::VecDeque;
use std::mem::MaybeUninit;
use std::num::NonZeroUsize;
use std::os::fd::{AsFd as _, OwnedFd};

use loadcurve_datagrams::{MESSAGES_MAX, Received};
use loadcurve_plan::{HttpLoad, Nanos};
use loadcurve_record::{DatagramCounts, Failure};
use loadcurve_wire::{DatagramBytes, Datagrams};
use rustix::event::epoll::{self, EventFlags};
use rustix::io::Errno;

use super::route::Route;
use super::{
    Carries, EVENTS_PER_TURN, Event, Io, Looked, Notify, Slot, broken_failure, connect_failure, readiness,
};
use crate::clock;

mod sending;

use sending::{Taken, send};

/// The longest message: all datagrams that the kernel joins.
const MESSAGE_BYTES: usize = 64 * 1024;
/// Datagrams taken in one turn, but for those that are joined to the last one: all share the turn's clock reading, and at about
/// two microseconds for each this keeps it within about 0.1 ms.
const DATAGRAMS_PER_TURN: usize = 64;
/// What a socket is asked to hold for this side, so that an answer of many datagrams finds room; the kernel grants less
/// where `net.core.rmem_max` is lower.
pub(crate) const SOCKET_BUFFER_BYTES: usize = 4 * 1024 * 1024;

#[derive(Default)]
struct Socket {
    descriptor: Option<OwnedFd>,
    /// Counts the connections of this slot, so that a late event of an earlier one is recognised.
    generation: u32,
    /// Batches that the kernel has not taken yet, each with its division.
    unsent: VecDeque<(Vec<u8>, DatagramBytes)>,
    /// Whether an event reports that all of them are taken.
    notifies: bool,
    /// Whether the kernel is to say when it takes datagrams again.
    watches_room: bool,
    /// Datagrams that found no room, as far as they are counted.
    dropped: u32,
    appetite: Appetite,
}

/// How many messages the next call on a socket asks for: as many as there were, or twice as many where all that were asked for had
/// come. Asking for several costs more than a single one, so a socket on which one comes at a time is asked for two more and
/// more rarely.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Appetite {
    /// How many more than one.
    further: usize,
    /// How many calls ask for one before one asks for two again, and how many of these are left.
    singles: u8,
    singles_left: u8,
}

impl Appetite {
    const SINGLES_MAX: u8 = 63;

    fn asks(self) -> usize {
        1 + self.further
    }

    /// After a call that asked and got this many.
    fn fed(self, count: usize) -> Self {
        let asked = self.asks();
        if asked == 1 && self.singles_left > 0 {
            return Self { singles_left: self.singles_left - 1, ..self };
        }
        if count == asked {
            let singles = if asked == 1 { self.singles } else { 0 };
            return Self { further: (2 * asked).min(MESSAGES_MAX) - 1, singles, singles_left: 0 };
        }
        let further = count.max(1) - 1;
        let singles = if further == 0 { (2 * self.singles + 1).min(Self::SINGLES_MAX) } else { self.singles };
        Self { further, singles, singles_left: if further == 0 { singles } else { 0 } }
    }
}

/// What can happen to a slot without the kernel.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Own {
    Connected,
    Written,
    Broken(Failure),
}

/// Messages of one connection that were handed over together.
#[derive(Clone, Copy, Default)]
struct Batch {
    slot: Slot,
    messages: [Received; MESSAGES_MAX],
    /// How many of them there are, and how many were delivered.
    count: usize,
    delivered: usize,
}

impl Batch {
    /// The place of the message that is delivered next in the buffer, and how that is divided.
    fn next(&mut self) -> Option<(std::ops::Range<usize>, DatagramBytes)> {
        let message = self.messages[..self.count].get(self.delivered)?;
        let start = self.delivered * MESSAGE_BYTES;
        self.delivered += 1;
        let each = message.each.and_then(|each| NonZeroUsize::new(each.into()));
        Some((start..start + message.length, DatagramBytes(each)))
    }
}

/// The backend of datagrams.
pub(crate) struct Udp {
    route: Route,
    set: OwnedFd,
    sockets: Vec<Socket>,
    ready: Vec<(u64, EventFlags)>,
    cursor: usize,
    /// What is delivered before the kernel's events.
    own: VecDeque<(u64, Own)>,
    batch: Batch,
    buffer: Vec<u8>,
    /// Datagrams taken in this turn.
    taken: usize,
    /// Whether the kernel divides what it is given; on loopback it would hand the whole on, to receivers that may expect single
    /// datagrams.
    divides: bool,
    counts: DatagramCounts,
}

impl Udp {
    /// A set of `slots` unconnected sockets of a route.
    pub(crate) fn new(route: Route, slots: usize) -> Result<Self, Errno> {
        let divides = !route.is_loopback();
        Ok(Self {
            route,
            set: readiness::new_set()?,
            sockets: (0..slots).map(|_| Socket::default()).collect(),
            ready: Vec::with_capacity(EVENTS_PER_TURN),
            cursor: 0,
            own: VecDeque::new(),
            batch: Batch::default(),
            // The kernel gives memory to what is written to alone.
            buffer: vec![0; MESSAGES_MAX * MESSAGE_BYTES],
            taken: 0,
            divides,
            counts: DatagramCounts::default(),
        })
    }

    /// The longest packet that the link to the server of a plan takes, as far as the kernel knows.
    pub(crate) fn link_mtu_bytes(plan: &HttpLoad) -> Option<u32> {
        let route = Route::of(plan, 0, 1).ok()?;
        let descriptor = route.datagram_socket(0).ok()?;
        rustix::net::connect(&descriptor, route.address(0)).ok()?;
        loadcurve_datagrams::link_mtu_bytes(descriptor.as_fd())
    }

    fn begin(&mut self, slot: Slot) -> Result<(), Errno> {
        let descriptor = self.route.datagram_socket(slot)?;
        // Where the kernel grants less, more may be lost, and that is counted.
        let _ = rustix::net::sockopt::set_socket_recv_buffer_size(&descriptor, SOCKET_BUFFER_BYTES);
        let _ = rustix::net::sockopt::set_socket_send_buffer_size(&descriptor, SOCKET_BUFFER_BYTES);
        let joins = loadcurve_datagrams::prepare(descriptor.as_fd());
        rustix::net::connect(&descriptor, self.route.address(slot))?;
        self.counts.sockets += 1;
        self.counts.sockets_joining += u64::from(joins);
        self.counts.sockets_dividing += u64::from(self.divides);
        if let Some(mtu_bytes) = loadcurve_datagrams::link_mtu_bytes(descriptor.as_fd()) {
            self.counts.link_mtu_bytes.add(mtu_bytes.into());
        }
        let socket = &mut self.sockets[slot];
        socket.generation = socket.generation.wrapping_add(1);
        socket.dropped = 0;
        socket.appetite = Appetite::default();
        let token = token(slot, socket.generation);
        let data = epoll::EventData::new_u64(token);
        epoll::add(&self.set, &descriptor, data, EventFlags::IN)?;
        socket.descriptor = Some(descriptor);
        self.own.push_back((token, Own::Connected));
        Ok(())
    }

    /// Sends what waits, as far as the kernel takes it.
    fn send_unsent(&mut self, slot: Slot) -> Result<(), Failure> {
        let Self { sockets, set, own, divides, counts, .. } = self;
        let socket = &mut sockets[slot];
        let Some(descriptor) = &socket.descriptor else { return Ok(()) };
        while let Some((bytes, cut)) = socket.unsent.front_mut() {
            match send(descriptor.as_fd(), bytes, *cut, divides, counts) {
                Taken::All => {}
                Taken::Up(taken) => {
                    bytes.drain(..taken);
                    break;
                }
                Taken::Refused(failure) => return Err(failure),
            }
            socket.unsent.pop_front();
        }
        let waits = !socket.unsent.is_empty();
        let token = token(slot, socket.generation);
        if waits != socket.watches_room {
            socket.watches_room = waits;
            let interest = if waits { EventFlags::IN | EventFlags::OUT } else { EventFlags::IN };
            let data = epoll::EventData::new_u64(token);
            epoll::modify(set, descriptor, data, interest).map_err(broken_failure)?;
        }
        if !waits && std::mem::take(&mut socket.notifies) {
            own.push_back((token, Own::Written));
        }
        Ok(())
    }

    /// The next event without the kernel.
    fn next_own(&mut self) -> Option<(Slot, Own)> {
        loop {
            let (token, own) = self.own.pop_front()?;
            let (slot, generation) = slot_and_generation(token);
            let socket = &self.sockets[slot];
            if socket.generation == generation && socket.descriptor.is_some() {
                return Some((slot, own));
            }
        }
    }

    /// Handles the kernel's next event: datagrams are then in the batch, or a failure is what has happened.
    fn take_ready(&mut self) -> Option<(Slot, Option<Failure>)> {
        while self.taken < DATAGRAMS_PER_TURN
            && let Some((token, flags)) = self.ready.get(self.cursor).copied()
        {
            self.cursor += 1;
            let (slot, generation) = slot_and_generation(token);
            if self.sockets[slot].generation != generation {
                continue;
            }
            if flags.contains(EventFlags::OUT)
                && let Err(failure) = self.send_unsent(slot)
            {
                return Some((slot, Some(failure)));
            }
            if flags.intersects(EventFlags::IN | EventFlags::ERR) {
                match self.receive(slot) {
                    Ok(0) | Err(Errno::AGAIN) => {}
                    Ok(_) => return Some((slot, None)),
                    Err(errno) => return Some((slot, Some(refused(errno)))),
                }
            }
        }
        None
    }

    /// Takes messages of a connection into the batch; gives how many. What is sent for them is sent when all are read, so that
    /// one acknowledgement is enough for them.
    fn receive(&mut self, slot: Slot) -> Result<usize, Errno> {
        let Self { sockets, batch, buffer, counts, .. } = self;
        let Some(descriptor) = &sockets[slot].descriptor else { return Ok(0) };
        let asks = sockets[slot].appetite.asks();
        let to = &mut buffer[..asks * MESSAGE_BYTES];
        let count = if asks == 1 {
            batch.messages[0] = loadcurve_datagrams::receive(descriptor.as_fd(), to)?;
            1
        } else {
            loadcurve_datagrams::receive_several(descriptor.as_fd(), to, &mut batch.messages[..asks])?
        };
        sockets[slot].appetite = sockets[slot].appetite.fed(count);
        *batch = Batch { slot, count, delivered: 0, ..*batch };
        let datagrams = batch.messages[..count]
            .iter()
            .map(|one| one.length.div_ceil(one.each.map_or(one.length, usize::from).max(1)));
        let datagrams: usize = datagrams.sum();
        counts.receives += count as u64;
        counts.received += datagrams as u64;
        self.taken += datagrams;
        Ok(count)
    }
}

impl Io for Udp {
    const NAME: &'static str = "epoll";
    const HEARS_ON_CONNECT: bool = false;

    fn connect(&mut self, slot: Slot) -> Result<(), Failure> {
        self.begin(slot).map_err(connect_failure)
    }

    /// Sends one datagram.
    fn send(&mut self, slot: Slot, bytes: &[u8], notify: Notify) -> Result<(), Failure> {
        Carries::<Datagrams>::write(self, slot, bytes, DatagramBytes::default(), notify)
    }

    fn retransmits(&self, _: Slot) -> Option<u32> {
        None
    }

    fn close(&mut self, slot: Slot) {
        let socket = &mut self.sockets[slot];
        count_memory(socket, &mut self.counts);
        // Closing the only descriptor of a socket takes it out of the epoll set, too.
        socket.descriptor = None;
        socket.unsent.clear();
        socket.notifies = false;
        socket.watches_room = false;
        if self.batch.slot == slot {
            self.batch = Batch::default();
        }
    }

    fn wait(&mut self, until: Nanos) -> Nanos {
        self.taken = 0;
        if self.cursor < self.ready.len() {
            // What the last turn has left: the kernel would report its first ones first again, and others never.
            return clock::now();
        }
        self.cursor = 0;
        self.ready.clear();
        let longest = if self.own.is_empty() { until - clock::now() } else { Nanos::ZERO };
        let mut events = [MaybeUninit::uninit(); EVENTS_PER_TURN];
        // An interrupted wait is a turn without new events.
        if let Ok((events, _)) = epoll::wait(&self.set, &mut events[..], Some(&clock::timespec(longest))) {
            self.ready.extend(events.iter().map(|event| (event.data.u64(), event.flags)));
        }
        clock::now()
    }

    fn look(&mut self, until: Nanos, pause: Nanos) -> Looked {
        Looked::by_waits(until, pause, || {
            (self.wait(Nanos::ZERO), self.cursor < self.ready.len() || !self.own.is_empty())
        })
    }

    fn next(&mut self) -> Option<(Slot, Event<'_>)> {
        Carries::<Datagrams>::next_divided(self).map(|(slot, event, _)| (slot, event))
    }

    fn take_datagram_counts(&mut self) -> DatagramCounts {
        for socket in &mut self.sockets {
            count_memory(socket, &mut self.counts);
        }
        std::mem::take(&mut self.counts)
    }
}

/// Adds what the kernel grants a socket, and what it has dropped since that was counted last.
fn count_memory(socket: &mut Socket, counts: &mut DatagramCounts) {
    let Some(descriptor) = &socket.descriptor else { return };
    let Some(memory) = loadcurve_datagrams::memory(descriptor.as_fd()) else { return };
    counts.dropped += u64::from(memory.dropped.wrapping_sub(socket.dropped));
    socket.dropped = memory.dropped;
    counts.receive_buffer_bytes.add(memory.receive_buffer_bytes.into());
    counts.send_buffer_bytes.add(memory.send_buffer_bytes.into());
}

impl Carries<Datagrams> for Udp {
    fn next_divided(&mut self) -> Option<(Slot, Event<'_>, DatagramBytes)> {
        loop {
            if let Some((place, division)) = self.batch.next() {
                return Some((self.batch.slot, Event::Received(&self.buffer[place]), division));
            }
            if let Some((slot, own)) = self.next_own() {
                let event = match own {
                    Own::Connected => Event::Connected,
                    Own::Written => Event::Written,
                    Own::Broken(failure) => Event::Broken(failure),
                };
                return Some((slot, event, DatagramBytes::default()));
            }
            if let (slot, Some(failure)) = self.take_ready()? {
                return Some((slot, Event::Broken(failure), DatagramBytes::default()));
            }
        }
    }

    fn write(&mut self, slot: Slot, bytes: &[u8], cut: DatagramBytes, notify: Notify) -> Result<(), Failure> {
        let socket = &mut self.sockets[slot];
        let Some(descriptor) = &socket.descriptor else { return Err(Failure::ClosedEarly) };
        debug_assert!(
            socket.unsent.is_empty() || socket.watches_room,
            "datagrams of slot {slot} wait, and no event reports room for them"
        );
        socket.notifies |= notify == Notify::WhenWritten;
        if !bytes.is_empty() {
            if !socket.unsent.is_empty() {
                socket.unsent.push_back((bytes.to_vec(), cut));
                return Ok(());
            }
            match send(descriptor.as_fd(), bytes, cut, &mut self.divides, &mut self.counts) {
                Taken::All => {}
                Taken::Up(taken) => socket.unsent.push_back((bytes[taken..].to_vec(), cut)),
                Taken::Refused(failure) => {
                    // What has arrived before is read first.
                    let token = token(slot, socket.generation);
                    self.own.push_back((token, Own::Broken(failure)));
                    return Ok(());
                }
            }
        }
        if self.sockets[slot].unsent.is_empty() && !self.sockets[slot].notifies {
            return Ok(());
        }
        self.send_unsent(slot)
    }
}

/// What an error on a connected socket means: of datagrams sent before, too.
fn refused(errno: Errno) -> Failure {
    match errno {
        Errno::CONNREFUSED | Errno::HOSTUNREACH | Errno::NETUNREACH => Failure::ConnectRefused,
        errno => broken_failure(errno),
    }
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

#[cfg(test)]
mod tests;
