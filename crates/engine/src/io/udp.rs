//! Datagrams by epoll: connected sockets of UDP, one for each connection or one for all of a thread, each of which the kernel may take
//! and hand over several datagrams of at once.
//!
//! `socket` is one of these sockets, `sending` is how datagrams leave, and `arriving` is whose those are that come. What the connections
//! of a shared socket write in a turn is gathered, and leaves together.

use std::collections::VecDeque;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};

use loadcurve_datagrams::MESSAGES_MAX;
use loadcurve_plan::{HttpLoad, Nanos, Sockets};
use loadcurve_record::{DatagramCounts, Failure};
use loadcurve_wire::{DatagramBytes, Datagrams};
use rustix::event::epoll::{self, EventFlags};
use rustix::io::Errno;

use super::route::Route;
use super::{
    Carries, EVENTS_PER_TURN, Event, Io, Looked, Notify, Slot, broken_failure, connect_failure, readiness,
};
use crate::clock;

mod appetite;
mod arriving;
mod sending;
mod socket;

use arriving::{Assignment, Batch, Delivery, Owners};
use sending::{Taken, Way, send};
use socket::{Socket, number_and_generation};

/// The longest message: all datagrams that the kernel joins.
const MESSAGE_BYTES: usize = 64 * 1024;
/// Datagrams taken in one turn, but for those that are joined to the last one: all share the turn's clock reading, and at about
/// two microseconds for each this keeps it within about 0.1 ms.
const DATAGRAMS_PER_TURN: usize = 64;
/// What a socket is asked to hold for this side, so that an answer of many datagrams finds room; the kernel grants less
/// where `net.core.rmem_max` is lower.
pub(crate) const SOCKET_BUFFER_BYTES: usize = 4 * 1024 * 1024;

/// How far a slot's connection has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Closed,
    /// Nothing that arrives is for it yet.
    Connecting,
    Connected,
}

/// What is known of a slot beside its socket.
#[derive(Clone, Copy, Default)]
struct Place {
    socket: usize,
    stage: Stage,
    /// Counts its connections, so that a late event of an earlier one is recognised.
    generation: u32,
    /// Whether an event reports that all that it has written is taken.
    notifies: bool,
}

impl Place {
    fn is_open(&self) -> bool {
        self.stage != Stage::Closed
    }
}

/// What can happen to a slot without the kernel.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Own {
    Connected,
    Written,
    Broken(Failure),
}

/// The backend of datagrams.
pub(crate) struct Udp {
    route: Route,
    set: OwnedFd,
    sockets: Vec<Socket>,
    /// By slot.
    places: Vec<Place>,
    assignment: Assignment,
    ready: Vec<(u64, EventFlags)>,
    cursor: usize,
    /// What is delivered before the kernel's events, each with the slot and its generation.
    own: VecDeque<(Slot, u32, Own)>,
    /// Sockets for which something is gathered.
    gathering: Vec<usize>,
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
    /// A set of `slots` unconnected connections of a route, with their sockets.
    pub(crate) fn new(route: Route, slots: usize, sockets: Sockets) -> Result<Self, Errno> {
        let divides = !route.is_loopback();
        let (assignment, count) = match sockets {
            Sockets::Connection => (Assignment::Each, slots),
            // A connected socket has one address at each end.
            Sockets::Thread => (Assignment::Several(Owners::new(slots)), route.pairs()),
        };
        let socket_of = |slot| match sockets {
            Sockets::Connection => slot,
            Sockets::Thread => route.pair(slot),
        };
        Ok(Self {
            set: readiness::new_set()?,
            sockets: (0..count).map(|_| Socket::default()).collect(),
            places: (0..slots).map(|slot| Place { socket: socket_of(slot), ..Place::default() }).collect(),
            assignment,
            ready: Vec::with_capacity(EVENTS_PER_TURN),
            cursor: 0,
            own: VecDeque::new(),
            gathering: Vec::new(),
            batch: Batch::default(),
            // The kernel gives memory to what is written to alone.
            buffer: vec![0; MESSAGES_MAX * MESSAGE_BYTES],
            taken: 0,
            divides,
            counts: DatagramCounts::default(),
            route,
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
        let Self { sockets, places, set, route, counts, own, divides, .. } = self;
        let place = &mut places[slot];
        let socket = &mut sockets[place.socket];
        if socket.descriptor.is_none() {
            socket.open(place.socket, set, route, slot, counts)?;
            counts.sockets_dividing += u64::from(*divides);
        }
        *place = Place { generation: place.generation.wrapping_add(1), stage: Stage::Connecting, ..*place };
        own.push_back((slot, place.generation, Own::Connected));
        Ok(())
    }

    /// Sends what waits at a socket, as far as the kernel takes it.
    fn send_unsent(&mut self, number: usize) -> Result<(), Failure> {
        let Self { sockets, places, set, own, divides, counts, .. } = self;
        let socket = &mut sockets[number];
        let Some(descriptor) = &socket.descriptor else { return Ok(()) };
        let sent = socket.unsent.send(descriptor.as_fd(), Way { divides, counts });
        socket.watch(number, set).map_err(broken_failure)?;
        sent?;
        if socket.unsent.is_empty() {
            for slot in socket.notifying.drain(..) {
                let place = &mut places[slot];
                if std::mem::take(&mut place.notifies) {
                    own.push_back((slot, place.generation, Own::Written));
                }
            }
        }
        Ok(())
    }

    /// Sends what was gathered; what finds no room is sent when the kernel has some.
    fn send_gathered(&mut self) {
        while let Some(number) = self.gathering.pop() {
            self.sockets[number].is_gathering = false;
            if !self.sockets[number].watches_room()
                && let Err(failure) = self.send_unsent(number)
            {
                self.fail(number, failure);
            }
        }
    }

    /// Has something at a socket leave before the next wait, or now where there is as much as one call takes.
    fn gather(&mut self, number: usize) {
        let socket = &mut self.sockets[number];
        if !std::mem::replace(&mut socket.is_gathering, true) {
            self.gathering.push(number);
        }
        if socket.unsent.is_full() {
            self.send_gathered();
        }
    }

    /// A socket has failed, and with it all its connections. What has arrived before is read first.
    fn fail(&mut self, number: usize, failure: Failure) {
        let slots = match &self.assignment {
            Assignment::Each => number..number + 1,
            Assignment::Several(_) => 0..self.places.len(),
        };
        for slot in slots {
            let place = &self.places[slot];
            if place.socket == number && place.is_open() {
                self.own.push_back((slot, place.generation, Own::Broken(failure)));
            }
        }
    }

    /// The next event without the kernel.
    fn next_own(&mut self) -> Option<(Slot, Own)> {
        loop {
            let (slot, generation, own) = self.own.pop_front()?;
            let place = &mut self.places[slot];
            if place.generation == generation && place.is_open() {
                if own == Own::Connected {
                    place.stage = Stage::Connected;
                }
                return Some((slot, own));
            }
        }
    }

    /// Handles the kernel's next event; says whether something came of it: datagrams are then in the batch, or connections have failed.
    fn take_ready(&mut self) -> bool {
        while self.taken < DATAGRAMS_PER_TURN
            && let Some((data, flags)) = self.ready.get(self.cursor).copied()
        {
            self.cursor += 1;
            let (number, generation) = number_and_generation(data);
            if self.sockets[number].generation != generation {
                continue;
            }
            if flags.contains(EventFlags::OUT)
                && let Err(failure) = self.send_unsent(number)
            {
                self.fail(number, failure);
                return true;
            }
            if flags.intersects(EventFlags::IN | EventFlags::ERR) {
                match self.receive(number) {
                    Ok(0) | Err(Errno::AGAIN) => {}
                    Ok(_) => return true,
                    Err(errno) => {
                        self.fail(number, refused(errno));
                        return true;
                    }
                }
            }
        }
        false
    }

    /// Takes messages of a socket into the batch; gives how many. What is sent for them is sent when all are read, so that
    /// one acknowledgement is enough for them.
    fn receive(&mut self, number: usize) -> Result<usize, Errno> {
        let (count, may_be_more) = self.sockets[number].receive(&mut self.buffer, self.batch.room())?;
        let datagrams = self.batch.filled(number, count);
        self.counts.receives += count as u64;
        self.counts.received += datagrams as u64;
        self.taken += datagrams;
        if may_be_more && matches!(self.assignment, Assignment::Several(_)) {
            // A turn takes as much of one socket as it would of several.
            self.cursor -= 1;
        }
        Ok(count)
    }

    /// The next datagrams of the batch, by their connection.
    #[inline]
    fn next_delivery(&mut self) -> Option<Delivery> {
        let Self { assignment, batch, buffer, places, taken, .. } = self;
        match assignment {
            Assignment::Each => batch.next_message(),
            Assignment::Several(owners) => {
                let socket = batch.socket();
                let hears =
                    |slot: Slot| places[slot].socket == socket && places[slot].stage == Stage::Connected;
                batch.next_run(buffer, owners, hears, || {
                    *taken += 1;
                    *taken <= DATAGRAMS_PER_TURN
                })
            }
        }
    }

    /// Whether there is something that the kernel need not be asked for.
    fn has_left(&self) -> bool {
        self.cursor < self.ready.len() || self.batch.is_left()
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
        let place = &mut self.places[slot];
        place.stage = Stage::Closed;
        place.notifies = false;
        match &self.assignment {
            Assignment::Each => {
                self.sockets[slot].close(&mut self.counts);
                if self.batch.socket() == slot {
                    self.batch = Batch::default();
                }
            }
            // What it has said last leaves before.
            Assignment::Several(_) => self.send_gathered(),
        }
    }

    fn wait(&mut self, until: Nanos) -> Nanos {
        self.taken = 0;
        self.send_gathered();
        if self.has_left() {
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
        Looked::by_waits(until, pause, || (self.wait(Nanos::ZERO), self.has_left() || !self.own.is_empty()))
    }

    fn next(&mut self) -> Option<(Slot, Event<'_>)> {
        Carries::<Datagrams>::next_divided(self).map(|(slot, event, _)| (slot, event))
    }

    fn take_datagram_counts(&mut self) -> DatagramCounts {
        self.send_gathered();
        self.counts.unattributed += self.batch.take_unattributed();
        for socket in &mut self.sockets {
            socket.count_memory(&mut self.counts);
        }
        std::mem::take(&mut self.counts)
    }
}

impl Carries<Datagrams> for Udp {
    fn next_divided(&mut self) -> Option<(Slot, Event<'_>, DatagramBytes)> {
        loop {
            if let Some((slot, place, division)) = self.next_delivery() {
                return Some((slot, Event::Received(&self.buffer[place]), division));
            }
            if let Some((slot, own)) = self.next_own() {
                let event = match own {
                    Own::Connected => Event::Connected,
                    Own::Written => Event::Written,
                    Own::Broken(failure) => Event::Broken(failure),
                };
                return Some((slot, event, DatagramBytes::default()));
            }
            if !self.take_ready() {
                return None;
            }
        }
    }

    fn write(&mut self, slot: Slot, bytes: &[u8], cut: DatagramBytes, notify: Notify) -> Result<(), Failure> {
        let Self { sockets, places, assignment, divides, counts, .. } = self;
        let place = &mut places[slot];
        let number = place.socket;
        let socket = &mut sockets[number];
        let Some(descriptor) = &socket.descriptor else { return Err(Failure::ClosedEarly) };
        if notify == Notify::WhenWritten && !std::mem::replace(&mut place.notifies, true) {
            socket.notifying.push(slot);
        }
        match assignment {
            Assignment::Several(owners) => {
                if !bytes.is_empty() {
                    owners.learn(slot, bytes);
                    socket.unsent.add(bytes, cut);
                }
                self.gather(number);
                return Ok(());
            }
            Assignment::Each if bytes.is_empty() => {}
            Assignment::Each if socket.unsent.is_empty() => {
                match send(descriptor.as_fd(), bytes, cut, Way { divides, counts }) {
                    Taken::All => {}
                    Taken::Up(taken) => socket.unsent.add(&bytes[taken..], cut),
                    Taken::Refused(failure) => {
                        self.fail(number, failure);
                        return Ok(());
                    }
                }
            }
            Assignment::Each => {
                debug_assert!(
                    socket.watches_room(),
                    "datagrams of slot {slot} wait, and no event reports room for them"
                );
                socket.unsent.add(bytes, cut);
                return Ok(());
            }
        }
        if self.sockets[number].unsent.is_empty() && !self.places[slot].notifies {
            return Ok(());
        }
        self.send_unsent(number)
    }
}

/// What an error on a connected socket means: of datagrams sent before, too.
fn refused(errno: Errno) -> Failure {
    match errno {
        Errno::CONNREFUSED | Errno::HOSTUNREACH | Errno::NETUNREACH => Failure::ConnectRefused,
        errno => broken_failure(errno),
    }
}

#[cfg(test)]
mod tests;
