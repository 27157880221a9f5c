//! A server that is a function of what arrives, on a clock that jumps: for protocols with more than one answer under way.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use std::num::NonZeroUsize;
use std::rc::Rc;
use std::sync::Arc;

use loadcurve_plan::{Conversation, Events, HttpLoad, Load, Nanos, Share};
use loadcurve_record::{Failure, Recorder};
use loadcurve_wire::{DatagramBytes, Datagrams, HttpExchange, Stream};

use super::simulated::START;
use crate::io::{self, Carries, Io, Notify, Slot};
use crate::requests::RequestSource;
use crate::scheduler::Scheduler;
use crate::transport::numbers;
use crate::work::{CarrierOf, SettingsOf, Work};
use crate::worker::{FanOutConfiguration, Waiting, Worker, WorkerConfiguration};

/// The other end of all connections.
pub(super) trait Peer {
    /// What arrives at the client, and when, because these bytes have arrived on a slot's connection; no bytes are its end.
    fn answers(&mut self, slot: Slot, now: Nanos, bytes: &[u8]) -> Vec<(Nanos, Vec<u8>)>;

    /// The same because a slot is connected at that time.
    fn welcomes(&mut self, _: Slot, _at: Nanos) -> Vec<(Nanos, Vec<u8>)> {
        Vec::new()
    }

    /// When it has something to do although nothing arrives.
    fn wakes(&mut self) -> Option<Nanos> {
        None
    }

    /// That time has come: what arrives at which slot.
    fn woken(&mut self, _: Nanos) -> Vec<(Slot, Vec<u8>)> {
        Vec::new()
    }
}

/// When something was written, since the start, and what.
pub(super) type Written = (Nanos, Vec<u8>);

/// What happens to one connection. What comes at one time comes in order.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Coming {
    time: Nanos,
    position: u64,
    slot: Slot,
    connection: u32,
    what: What,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Connected,
    /// What was written last, with more to follow.
    Taken,
    Arrived(Vec<u8>),
}

/// How long connections take for what they do.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Delays {
    pub(super) connecting: Nanos,
    /// For a part of a body behind which more follows.
    pub(super) part: Nanos,
    /// For which a write keeps the client, and the reading of what has arrived.
    pub(super) writing: Nanos,
    pub(super) reading: Nanos,
}

/// Connections to a peer.
pub(super) struct PeerIo<P> {
    peer: P,
    clock: Rc<Cell<Nanos>>,
    delays: Delays,
    written: Rc<RefCell<Vec<Written>>>,
    /// The number of each slot's connection, if it is open.
    open: BTreeMap<Slot, u32>,
    /// Slots that have not taken the part that was written last.
    full: BTreeSet<Slot>,
    /// Connections on which something was written all the same, which is allowed before they are closed.
    last_words: Vec<(Slot, u32)>,
    connected: u32,
    position: u64,
    coming: BinaryHeap<Reverse<Coming>>,
    ready: VecDeque<Coming>,
    bytes: Vec<u8>,
}

impl<P> PeerIo<P> {
    fn come(&mut self, time: Nanos, slot: Slot, what: What) {
        self.position += 1;
        let (position, connection) = (self.position, self.open[&slot]);
        self.coming.push(Reverse(Coming { time, position, slot, connection, what }));
    }
}

impl<P: Peer> Io for PeerIo<P> {
    const NAME: &'static str = "simulated";

    fn connect(&mut self, slot: Slot) -> Result<(), Failure> {
        self.connected += 1;
        assert!(self.open.insert(slot, self.connected).is_none(), "slot {slot} is in use");
        let connected = self.clock.get() + self.delays.connecting;
        self.come(connected, slot, What::Connected);
        for (time, answer) in self.peer.welcomes(slot, connected) {
            self.come(time, slot, What::Arrived(answer));
        }
        Ok(())
    }

    fn send(&mut self, slot: Slot, bytes: &[u8], notify: Notify) -> Result<(), Failure> {
        let now = self.clock.get();
        if self.full.contains(&slot) {
            self.last_words.push((slot, self.open[&slot]));
        }
        if notify == Notify::WhenWritten {
            self.full.insert(slot);
            self.come(now + self.delays.part, slot, What::Taken);
        }
        self.written.borrow_mut().push((now - START, bytes.to_vec()));
        for (time, answer) in self.peer.answers(slot, now, bytes) {
            self.come(time, slot, What::Arrived(answer));
        }
        self.clock.set(now + self.delays.writing);
        Ok(())
    }

    fn retransmits(&self, _: Slot) -> Option<u32> {
        None
    }

    fn close(&mut self, slot: Slot) {
        self.open.remove(&slot);
        self.full.remove(&slot);
    }

    fn now(&self) -> Nanos {
        self.clock.get()
    }

    fn wait(&mut self, until: Nanos) -> Nanos {
        for (slot, connection) in self.last_words.drain(..) {
            let is_closed = self.open.get(&slot) != Some(&connection);
            assert!(is_closed, "slot {slot} had not taken what was written before");
        }
        let next = self.coming.peek().map_or(until, |Reverse(next)| until.min(next.time));
        let next = self.peer.wakes().map_or(next, |wakes| next.min(wakes));
        let now = self.clock.get().max(next);
        self.clock.set(now);
        if self.peer.wakes().is_some_and(|wakes| wakes <= now) {
            for (slot, answer) in self.peer.woken(now) {
                if self.open.contains_key(&slot) {
                    self.come(now, slot, What::Arrived(answer));
                }
            }
        }
        while self.coming.peek().is_some_and(|Reverse(next)| next.time <= now) {
            self.ready.extend(self.coming.pop().map(|Reverse(next)| next));
        }
        now
    }

    fn next(&mut self) -> Option<(Slot, io::Event<'_>)> {
        loop {
            let Coming { slot, connection, what, .. } = self.ready.pop_front()?;
            if self.open.get(&slot) == Some(&connection) {
                let event = match what {
                    What::Connected => io::Event::Connected,
                    What::Taken => {
                        self.full.remove(&slot);
                        io::Event::Written
                    }
                    What::Arrived(bytes) if bytes.is_empty() => io::Event::Closed,
                    What::Arrived(bytes) => {
                        self.clock.set(self.clock.get() + self.delays.reading);
                        self.bytes = bytes;
                        io::Event::Received(&self.bytes)
                    }
                };
                return Some((slot, event));
            }
        }
    }
}

impl<P: Peer> Carries<Datagrams> for PeerIo<P> {
    /// The batch is written at once; each datagram arrives alone.
    fn write(
        &mut self,
        slot: Slot,
        bytes: &[u8],
        DatagramBytes(each): DatagramBytes,
        _: Notify,
    ) -> Result<(), Failure> {
        let now = self.clock.get();
        self.written.borrow_mut().push((now - START, bytes.to_vec()));
        for datagram in bytes.chunks(each.map_or(bytes.len(), NonZeroUsize::get)) {
            for (time, answer) in self.peer.answers(slot, now, datagram) {
                self.come(time, slot, What::Arrived(answer));
            }
        }
        Ok(())
    }
}

/// What the messages of a fan-out are distinguished by.
pub(super) const RUN: u32 = 7;

/// What one load brings.
pub(super) struct Outcome {
    pub(super) recorder: Recorder,
    pub(super) written: Vec<Written>,
}

impl Outcome {
    /// The latencies of the slowest requests, in the order of the load.
    pub(super) fn latencies(&self) -> Vec<Nanos> {
        let mut slowest = self.recorder.slowest.in_order();
        slowest.sort_by_key(|request| request.number);
        slowest.iter().map(|request| request.latency).collect()
    }
}

/// Runs a load of requests of HTTP on a peer.
pub(super) fn run<E: HttpExchange<Carrier = Stream>>(
    plan: &HttpLoad,
    settings: E::Settings,
    delays: Delays,
    peer: impl Peer,
) -> Outcome {
    let requests = RequestSource::<E>::open(plan).unwrap();
    let events = plan.work.events();
    let fan_out = plan.work.subscribers().map(|subscribers| FanOutConfiguration { subscribers, run: RUN });
    run_streaming(plan, (&plan.work.conversation, events, fan_out), requests, settings, delays, peer)
}

/// Runs any work on a peer.
pub(super) fn run_work<P: Peer, W: Work>(
    plan: &Load<impl Sized>,
    conversation: &Conversation,
    work: Arc<W>,
    settings: SettingsOf<W>,
    delays: Delays,
    peer: P,
) -> Outcome
where
    PeerIo<P>: Carries<CarrierOf<W>>,
{
    run_streaming(plan, (conversation, None, None), work, settings, delays, peer)
}

/// The same where answers are streams of events, if they are.
fn run_streaming<P: Peer, W: Work>(
    plan: &Load<impl Sized>,
    (conversation, events, fan_out): (&Conversation, Option<Events>, Option<FanOutConfiguration>),
    work: Arc<W>,
    settings: SettingsOf<W>,
    delays: Delays,
    peer: P,
) -> Outcome
where
    PeerIo<P>: Carries<CarrierOf<W>>,
{
    let clock = Rc::new(Cell::new(START));
    let written = Rc::default();
    let io = PeerIo {
        peer,
        clock: Rc::clone(&clock),
        delays,
        written: Rc::clone(&written),
        open: BTreeMap::new(),
        full: BTreeSet::new(),
        last_words: Vec::new(),
        connected: 0,
        position: 0,
        coming: BinaryHeap::new(),
        ready: VecDeque::new(),
        bytes: Vec::new(),
    };
    let share = Share::whole();
    let configuration =
        WorkerConfiguration::new(plan, conversation, share, work, settings, Waiting::Sleeping)
            .streaming(events)
            .fanning_out(fan_out);
    let mut worker = Worker::new(io, numbers(plan, share), configuration);
    worker.open_all(|| false);
    let mut scheduler = Scheduler::new(&plan.pace(), share, clock.get()).unwrap();
    worker.run(&mut scheduler, || false, |_| {});
    let (recorder, _) = worker.finish(&scheduler);
    Outcome { recorder, written: written.take() }
}
