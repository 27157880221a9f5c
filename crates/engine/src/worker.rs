//! One thread's loop, in which plan, I/O, protocol and recording meet.
//!
//! This file holds the loop; `begin` is how requests start, `reading` is which of them end, `end` is what their slot does
//! next, `events` is what answers are that are streams, `fan_out` is which messages have reached which subscribers, `slow` is what is asked about the slowest of them, `timers` is what protocols do when time passes, `levels` is how
//! one level of a load goes over into the next, and `waiting` is how the thread sleeps or polls.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use loadcurve_plan::{Conversation, Events, Load, Model, Nanos, Share, Unit};
use loadcurve_record::{Failure, Recorder, SlowCandidate};
use loadcurve_wire::Exchange;

use crate::activity::Activity;
use crate::connection::{Connection, Room, State};
use crate::deadlines::Deadlines;
use crate::io::{Carries, Slot};
use crate::part::Polling;
use crate::places::{InFlight, Places};
use crate::reach::{Heard, Reach};
use crate::scheduler::Scheduler;
use crate::work::{CarrierOf, SettingsOf, Work};

mod begin;
mod end;
mod error_bodies;
mod events;
mod fan_out;
mod levels;
mod patience;
mod reading;
mod slow;
mod timers;
mod waiting;

use error_bodies::ErrorBodies;
use events::EventStreams;
use fan_out::FanOut;
use patience::Patience;

pub(crate) use fan_out::FanOutConfiguration;
pub(crate) use levels::WorkerLevel;
pub(crate) use waiting::Waiting;

/// The longest sleep, so that being asked to stop is noticed soon.
const LONGEST_WAIT: Nanos = Nanos::from_millis(20);
/// How long a thread waits between two looks whether the others are ready.
const MOMENT: Nanos = Nanos::from_millis(1);
/// Connections begun on one reading of the clock, so that their connect times do not count each other's.
const CONNECTS_PER_TURN: usize = 8;

/// What a worker takes from the plan, for its own share.
pub(crate) struct WorkerConfiguration<W: Work> {
    work: Arc<W>,
    /// How the protocol is spoken on all connections.
    settings: SettingsOf<W>,
    share: Share,
    /// How many requests a connection carries at once.
    at_once: usize,
    /// Whether a connection keeps that many under way.
    keeps_up: bool,
    /// After how many requests a connection is closed.
    calls: u64,
    think: Nanos,
    timeout: Nanos,
    unit: Unit,
    waiting: Waiting,
    /// How answers are divided into events; `None` where each is a whole.
    events: Option<Events>,
    /// Who receives what is published; `None` where messages are answered.
    fan_out: Option<FanOutConfiguration>,
}

impl<W: Work> WorkerConfiguration<W> {
    /// The configuration of `plan`, whose clients converse in this way, for the worker of `share`.
    pub(crate) fn new<P>(
        plan: &Load<P>,
        conversation: &Conversation,
        share: Share,
        work: Arc<W>,
        settings: SettingsOf<W>,
        waiting: Waiting,
    ) -> Self {
        Self {
            work,
            settings,
            share,
            at_once: conversation.requests_at_once(),
            keeps_up: matches!(plan.model, Model::Closed { .. }),
            calls: conversation.calls.unwrap_or(u64::MAX),
            think: Nanos::from_secs_f64(conversation.think_s),
            timeout: plan.timeout(),
            unit: plan.model.unit(),
            waiting,
            events: None,
            fan_out: None,
        }
    }

    /// The same for answers that are streams of events, if they are.
    pub(crate) fn streaming(self, events: Option<Events>) -> Self {
        Self { events, ..self }
    }

    /// The same for messages that go to subscribers, if they do.
    pub(crate) fn fanning_out(self, fan_out: Option<FanOutConfiguration>) -> Self {
        Self { fan_out, ..self }
    }

    /// How many requests its slots carry.
    fn room(&self) -> Room {
        Room { at_once: self.at_once, is_kept: self.keeps_up }
    }
}

/// One thread's connections and everything that happens on them.
pub(crate) struct Worker<I, W: Work> {
    io: I,
    configuration: WorkerConfiguration<W>,
    reader: W::Reader,
    connections: Vec<Connection<W>>,
    /// How many of them the load uses: the first ones, and all unless it goes from one level to the next.
    used: usize,
    /// Slots that the level does not use any more, and that close their connections after their answers.
    surplus: Vec<Slot>,
    /// When the next level of the load begins, on which the loop hands over; never for most loads.
    handover: Nanos,
    /// When the load ends, where time ends it: from then on, an upload that continues is given no more of it.
    ends: Nanos,
    /// Requests begun by this worker.
    begun: u64,
    /// Connections on their way to be open, handshakes included.
    connecting: usize,
    in_flight: usize,
    sessions: usize,
    /// What fell due during the last wait of the window and was not begun, although a slot was free.
    held_up: u64,
    /// Requests that servers have not looked at, and the slots that carried them, the one that waits longest first; they go
    /// to the next free slot, whichever that is.
    moved: VecDeque<(Slot, InFlight<W::Expected>)>,
    /// Slots that can take a request, the longest free one first, so that requests spread over all connections.
    free: VecDeque<Slot>,
    /// Slots that rest, after a failed attempt to connect or to think, by the end of their rest.
    resting: BinaryHeap<Reverse<(Nanos, Slot)>>,
    /// Slots whose protocol wants to be woken, by the moment for which it last did; nothing for one without timers.
    timers: BinaryHeap<Reverse<(Nanos, Slot)>>,
    /// One for each slot: of connecting, and then of its handshake.
    connect_deadlines: Deadlines,
    /// One for each place of each slot.
    answer_deadlines: Deadlines,
    /// Slots with something that is not written yet: requests, or what their protocol sends.
    unwritten: Vec<Slot>,
    /// Where what goes out in one write is put together: requests, or a part of a long one.
    scratch: Vec<u8>,
    /// Requests that have just ended and are among the slowest, of the slot whose event is handled.
    slow_requests: Vec<SlowCandidate>,
    now: Nanos,
    /// What anybody can see of what became of the requests.
    activity: Arc<Activity>,
    patience: Patience,
    error_bodies: ErrorBodies,
    events: Option<Box<EventStreams>>,
    /// Only where the exchange fans out.
    fan_out: Option<Box<FanOut>>,
    polling: Polling,
    reach: Reach,
    recorder: Recorder,
}

impl<I: Carries<CarrierOf<W>>, W: Work> Worker<I, W> {
    /// A worker with one unconnected connection for each of `numbers`, which are its share of the load's connections.
    pub(crate) fn new(
        io: I,
        numbers: impl ExactSizeIterator<Item = usize>,
        configuration: WorkerConfiguration<W>,
    ) -> Self {
        let used = numbers.len();
        let at_once = configuration.at_once;
        let listening = configuration.fan_out.map_or(0, |fan_out| fan_out.subscribers);
        let (slots, of_publishers) = (used + listening, numbers.map(|number| (number, at_once)));
        // They send nothing.
        let of_subscribers = (used..slots).map(|number| (number, 1));
        Self {
            io,
            recorder: Recorder::new(configuration.work.tallies()),
            reader: configuration.work.reader(),
            connections: (of_publishers.chain(of_subscribers))
                .map(|(number, at_once)| Connection::new(number, at_once, &configuration.settings))
                .collect(),
            used,
            surplus: Vec::new(),
            handover: Nanos::NEVER,
            ends: Nanos::NEVER,
            begun: 0,
            connecting: 0,
            in_flight: 0,
            sessions: 0,
            held_up: 0,
            moved: VecDeque::new(),
            free: VecDeque::with_capacity(slots),
            resting: BinaryHeap::with_capacity(slots),
            timers: BinaryHeap::new(),
            connect_deadlines: Deadlines::new(slots),
            answer_deadlines: Deadlines::new(slots * at_once),
            unwritten: Vec::with_capacity(slots),
            scratch: Vec::new(),
            slow_requests: Vec::with_capacity(at_once),
            now: Nanos::ZERO,
            activity: Arc::default(),
            patience: Patience::new(configuration.waiting.polls()),
            error_bodies: ErrorBodies::default(),
            events: configuration.events.map(|settings| {
                Box::new(EventStreams::new(settings, configuration.timeout, slots * at_once))
            }),
            fan_out: configuration.fan_out.map(|fan_out| {
                let most = configuration.keeps_up.then_some(at_once);
                Box::new(FanOut::new(fan_out, used, most, configuration.timeout))
            }),
            polling: Polling::default(),
            reach: Reach::new(Arc::default(), configuration.timeout),
            configuration,
        }
    }

    /// Learns from now on what other threads of the load hear of the server, too.
    pub(crate) fn share_what_is_heard(&mut self, heard: Arc<Heard>) {
        self.reach = Reach::new(heard, self.configuration.timeout);
    }

    /// Opens every connection before the load begins, unless connections are what arrives. One that fails is tried
    /// again when a request needs it.
    pub(crate) fn open_all(&mut self, should_stop: impl Fn() -> bool) {
        self.now = self.io.wait(Nanos::ZERO);
        if self.configuration.unit == Unit::Request {
            let subscribers = self.fan_out.as_ref().map(|fan_out| fan_out.subscribers());
            self.open_each(subscribers.unwrap_or_default(), &should_stop);
            self.open_each(0..self.used, &should_stop);
        }
        self.resting.clear();
        self.free.clear();
        self.free.extend(0..self.used);
        for connection in &mut self.connections[..self.used] {
            connection.is_listed = true;
            connection.rests_until = None;
        }
    }

    /// Opens the connections of these slots, and waits until each is open or has failed.
    fn open_each(&mut self, slots: Range<Slot>, should_stop: impl Fn() -> bool) {
        for slot in slots {
            if should_stop() {
                return;
            }
            self.connect(slot);
            if slot % CONNECTS_PER_TURN == CONNECTS_PER_TURN - 1 {
                self.turn(None, self.now);
            }
        }
        while self.connecting > 0 && !should_stop() {
            self.turn(None, self.now + LONGEST_WAIT);
        }
    }

    /// Lets time pass in which nothing begins, until the load does: while other threads open their connections, its
    /// start is not known yet.
    pub(crate) fn wait_for_begin(
        &mut self,
        begins_at: impl Fn() -> Option<Nanos>,
        should_stop: impl Fn() -> bool,
    ) {
        while !should_stop() {
            match begins_at() {
                Some(epoch) if epoch <= self.now => break,
                Some(epoch) => self.turn(None, epoch.min(self.now + LONGEST_WAIT)),
                None => self.turn(None, self.now + MOMENT),
            };
        }
    }

    /// Runs the load to its end, or until asked to stop; calls `observe` after every turn. Returns when it began.
    pub(crate) fn run(
        &mut self,
        scheduler: &mut Scheduler,
        should_stop: impl Fn() -> bool,
        observe: impl FnMut(&mut Self),
    ) -> Nanos {
        self.recorder.open_window(scheduler.window());
        // The first request is due at the epoch at the earliest, so the turn's clock must have passed it.
        self.turn(None, Nanos::ZERO);
        for connection in &mut self.connections {
            connection.free_since = Some(self.now);
        }
        self.await_endings();
        let started = self.now;
        self.reach.heard(started);
        self.go_through(scheduler, should_stop, observe);
        started
    }

    /// Turns until the last answer, until the next level of the load begins, or until asked to stop.
    fn go_through(
        &mut self,
        scheduler: &mut Scheduler,
        should_stop: impl Fn() -> bool,
        mut observe: impl FnMut(&mut Self),
    ) {
        self.ends = scheduler.window().end;
        while !should_stop() {
            self.begin_due(scheduler);
            if scheduler.next_due(self.now).is_none() && self.is_done(scheduler) {
                break;
            }
            let could_begin = !self.free.is_empty() && !scheduler.is_over(self.now);
            self.wait_for_work(scheduler);
            if could_begin && scheduler.is_over(self.now) {
                self.held_up = scheduler.never_begun(self.now);
            }
            self.show_oldest();
            self.note_window_end();
            if scheduler.may_be_given_up() {
                self.give_up_if_lost(scheduler);
            }
            observe(self);
        }
        self.note_window_end();
        self.reach.show(self.now);
        self.activity.under_way_since(Nanos::NEVER);
    }

    /// Shows since when the oldest request waits for its answer, or for its connection.
    fn show_oldest(&self) {
        let deadlines = [self.answer_deadlines.earliest(), self.connect_deadlines.earliest()];
        let earliest = deadlines.into_iter().chain([self.published_deadline()]).flatten().min();
        self.activity
            .under_way_since(earliest.map_or(Nanos::NEVER, |deadline| deadline - self.configuration.timeout));
    }

    /// Ends a load by number whose server is lost: it would go on for hours.
    fn give_up_if_lost(&mut self, scheduler: &mut Scheduler) {
        if let Some(lost) = self.reach.lost(self.now) {
            scheduler.give_up();
            self.recorder.lost_server(lost);
        }
    }

    /// Records what is under way at the end of the window, when that has come.
    fn note_window_end(&mut self) {
        if !self.recorder.has_window_to_end(self.now) {
            return;
        }
        let Self { connections, moved, recorder, fan_out, .. } = self;
        let carried = connections.iter().flat_map(Connection::under_way);
        let moved = moved.iter().map(|(slot, request)| connections[*slot].carried(request));
        let published = fan_out.iter().flat_map(|fan_out| fan_out.under_way());
        recorder.window_ended(carried.chain(moved).chain(published));
    }

    /// Whether nothing is to be waited for, where no more is due.
    fn is_done(&self, scheduler: &Scheduler) -> bool {
        let is_over = scheduler.is_over(self.now);
        if self.handover == Nanos::NEVER {
            self.in_flight == 0 && (self.sessions == 0 || is_over)
        } else {
            is_over
        }
    }

    /// What the worker shows of itself.
    pub(crate) fn activity(&self) -> Arc<Activity> {
        Arc::clone(&self.activity)
    }

    /// The time of the last turn.
    pub(crate) fn now(&self) -> Nanos {
        self.now
    }

    /// Ends the recording: what is still under way is unanswered, what was due and never begun is never sent.
    pub(crate) fn finish(mut self, scheduler: &Scheduler) -> (Recorder, Nanos) {
        for slot in 0..self.connections.len() {
            self.say_goodbye(slot);
        }
        self.give_up_waiting();
        self.record_unsent(scheduler);
        self.record_all_counts();
        (self.recorder, self.now)
    }

    /// The connections that are open now may last until the end of the load, or of this level of it.
    fn await_endings(&mut self) {
        for connection in &mut self.connections[..self.used] {
            connection.answers_at_begin = (connection.state == State::Open).then_some(connection.answers);
        }
    }

    /// Records what was counted of the connections that are open, and which have lasted.
    fn record_all_counts(&mut self) {
        let used = &self.connections[..self.used];
        self.recorder.endings.lasting = used.iter().filter(|one| one.has_lasted()).count() as u64;
        for slot in 0..self.connections.len() {
            self.record_counts(slot);
        }
        self.recorder.quic.datagrams.merge(&self.io.take_datagram_counts());
    }

    /// What is still under way is unanswered, and under way no more.
    fn give_up_waiting(&mut self) {
        let Self { connections, moved, recorder, now, fan_out, .. } = self;
        if let Some(fan_out) = fan_out {
            fan_out.under_way().for_each(|(number, due)| recorder.unanswered(number, due, *now));
            recorder.deliveries.step = fan_out.step();
            fan_out.forget_all();
        }
        for (slot, request) in moved.drain(..) {
            let (connection, due) = connections[slot].carried(&request);
            recorder.unanswered(connection, due, *now);
        }
        for connection in connections {
            connection.under_way().for_each(|(number, due)| recorder.unanswered(number, due, *now));
            connection.requests = Places::new(self.configuration.at_once);
        }
    }

    /// What was due and never begun is never sent.
    fn record_unsent(&mut self, scheduler: &Scheduler) {
        let requests_each = match self.configuration.unit {
            Unit::Request => 1,
            // Of a session that never began, the first burst was due.
            Unit::Session => self.configuration.calls.min(self.configuration.at_once as u64),
        };
        self.recorder.never_sent(scheduler.never_begun(self.now) * requests_each);
        self.recorder.never_sent_while_free = self.held_up * requests_each;
    }

    /// One turn of the loop: one wait, one reading of the clock, everything that happened by then; says whether
    /// anything did.
    fn turn(&mut self, scheduler: Option<&Scheduler>, until: Nanos) -> bool {
        self.now = self.io.wait(until);
        self.go_on_with_turn(scheduler)
    }

    /// What a turn does after its wait; says whether anything happened.
    fn go_on_with_turn(&mut self, scheduler: Option<&Scheduler>) -> bool {
        let mut happened = false;
        // Nothing begins before all events are read: the end of a connection may come right behind its last answer.
        while self.handle_next_event(scheduler) {
            happened = true;
        }
        while let Some(slot) = self.connect_deadlines.take_passed(self.now) {
            self.connect_failed(slot, Failure::ConnectTimeout);
        }
        while let Some(place) = self.answer_deadlines.take_passed(self.now) {
            self.overdue(place / self.configuration.at_once, place % self.configuration.at_once, scheduler);
        }
        if self.events.is_some() {
            self.end_streams(scheduler);
        }
        if W::Exchange::FANS_OUT {
            self.give_up_published(scheduler);
        }
        while self.moved_deadline().is_some_and(|deadline| deadline <= self.now) {
            self.give_up_moved();
        }
        while let Some(Reverse((end, slot))) = self.resting.peek().copied() {
            if end > self.now {
                break;
            }
            self.resting.pop();
            self.wake(slot, end, scheduler);
        }
        // During the load, what begins now is written with it (`begin_due`).
        if scheduler.is_none() {
            self.write_begun();
        }
        happened
    }

    /// When the loop has to turn again even if nothing happens.
    fn next_wake(&self, scheduler: &Scheduler) -> Nanos {
        let due = if self.free.is_empty() { None } else { scheduler.next_due(self.now) };
        let rest = self.resting.peek().map(|Reverse((end, _))| *end);
        let deadlines =
            [self.connect_deadlines.earliest(), self.answer_deadlines.earliest(), self.moved_deadline()];
        let timer = self.timers.peek().map(|Reverse((end, _))| *end);
        let stream = self.events.as_ref().and_then(|events| events.earliest());
        let streams_end = self.streams_end().filter(|end| *end > self.now);
        let published = self.published_deadline();
        let wakes = [due, rest, timer, stream, streams_end, published].into_iter().chain(deadlines);
        wakes.flatten().fold((self.now + LONGEST_WAIT).min(self.handover), Nanos::min)
    }
}
