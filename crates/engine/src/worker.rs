//! One thread's loop, in which plan, I/O, protocol and recording meet.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

use loadcurve_plan::Nanos;
use loadcurve_record::{Failure, Recorder};

use crate::connection::{Connection, EncodedRequest, InFlight, Reading, State};
use crate::deadlines::Deadlines;
use crate::io::{Event, Io, Slot};
use crate::pacing::Pacing;

/// The longest sleep, so that being told to stop is noticed soon.
const LONGEST_WAIT: Nanos = Nanos::from_millis(20);
/// How long a thread waits between two looks whether the others are ready.
const MOMENT: Nanos = Nanos::from_millis(1);
/// Connections begun on one reading of the clock, so that their connect times do not count each other's.
const CONNECTS_PER_TURN: usize = 8;
/// The rest after a first failed attempt to connect; it doubles with each further one.
const FIRST_REST: Nanos = Nanos::from_millis(10);
/// Rests do not grow beyond this many doublings: 1.28 s.
const MOST_DOUBLINGS: u32 = 7;

/// What a worker shows of itself while it runs, warm-up included.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Activity {
    pub(crate) answered: u64,
    pub(crate) failed: u64,
}

/// One thread's connections and everything that happens on them.
pub(crate) struct Worker<I> {
    io: I,
    requests: Arc<[EncodedRequest]>,
    next_operation: usize,
    connections: Vec<Connection>,
    connecting: usize,
    in_flight: usize,
    /// Slots that can take a request, the longest free one first, so that requests spread over all connections.
    free: VecDeque<Slot>,
    /// Slots that rest after a failed attempt to connect, by the end of their rest.
    resting: BinaryHeap<Reverse<(Nanos, Slot)>>,
    deadlines: Deadlines,
    timeout: Nanos,
    now: Nanos,
    activity: Activity,
    recorder: Recorder,
}

impl<I: Io> Worker<I> {
    /// A worker with one unconnected connection for each of `numbers`, which are its share of the load's connections;
    /// it takes the requests in turn from `first_operation` on.
    pub(crate) fn new(
        io: I,
        numbers: impl ExactSizeIterator<Item = usize>,
        requests: Arc<[EncodedRequest]>,
        first_operation: usize,
        timeout: Nanos,
    ) -> Self {
        let slots = numbers.len();
        Self {
            io,
            next_operation: first_operation % requests.len(),
            recorder: Recorder::new(requests.len()),
            requests,
            connections: numbers.map(Connection::new).collect(),
            connecting: 0,
            in_flight: 0,
            free: VecDeque::with_capacity(slots),
            resting: BinaryHeap::with_capacity(slots),
            deadlines: Deadlines::new(slots),
            timeout,
            now: Nanos::ZERO,
            activity: Activity::default(),
        }
    }

    /// Opens every connection, before the load begins. One that fails is tried again when a request needs it.
    pub(crate) fn open_all(&mut self, should_stop: impl Fn() -> bool) {
        self.now = self.io.wait(Nanos::ZERO);
        for slot in 0..self.connections.len() {
            self.connect(slot);
            if slot % CONNECTS_PER_TURN == CONNECTS_PER_TURN - 1 {
                self.turn(None, self.now);
            }
        }
        while self.connecting > 0 && !should_stop() {
            self.turn(None, self.now + LONGEST_WAIT);
        }
        self.free.clear();
        self.free.extend(0..self.connections.len());
        self.resting.clear();
    }

    /// Lets a moment pass in which nothing begins, while other threads open their connections.
    pub(crate) fn wait_a_moment(&mut self) {
        self.turn(None, self.now + MOMENT);
    }

    /// Runs the load to its end, or until told to stop; calls `observe` with the time of every turn.
    pub(crate) fn run(
        &mut self,
        pacing: &mut Pacing,
        should_stop: impl Fn() -> bool,
        mut observe: impl FnMut(Nanos, Activity),
    ) {
        self.recorder.open_window(pacing.window());
        // The first request is due at the epoch at the earliest, so the turn's clock must have passed it.
        self.turn(None, Nanos::ZERO);
        for connection in &mut self.connections {
            connection.free_since = self.now;
        }
        // Told to stop while it connected, it begins nothing: its slots are not ready for a request.
        while !should_stop() {
            self.begin_due(pacing);
            if pacing.next_due(self.now).is_none() && self.in_flight == 0 {
                break;
            }
            let wake = self.next_wake(pacing);
            self.turn(Some(pacing), wake);
            observe(self.now, self.activity);
        }
    }

    /// Ends the recording: what is still in flight is unanswered, what was due and never begun is never sent.
    pub(crate) fn finish(mut self, pacing: &Pacing) -> (Recorder, Nanos) {
        for connection in &self.connections {
            if let Some(in_flight) = &connection.in_flight {
                self.recorder.unanswered(in_flight.due);
            }
        }
        self.recorder.never_sent(pacing.never_begun(self.now));
        (self.recorder, self.now)
    }

    /// One turn of the loop: one wait, one reading of the clock, everything that happened by then.
    fn turn(&mut self, mut pacing: Option<&mut Pacing>, until: Nanos) {
        self.now = self.io.wait(until);
        while self.handle_next_event() {
            if let Some(pacing) = pacing.as_deref_mut() {
                self.begin_due(pacing);
            }
        }
        while let Some(slot) = self.deadlines.take_passed(self.now) {
            match self.connections[slot].state {
                State::Connecting { .. } => self.connect_failed(slot, Failure::ConnectTimeout),
                State::Open | State::Closed => self.fail(slot, Failure::Timeout),
            }
        }
        while let Some(Reverse((end, slot))) = self.resting.peek().copied() {
            if end > self.now {
                break;
            }
            self.resting.pop();
            self.set_free(slot);
        }
    }

    /// When the loop has to turn again even if nothing happens.
    fn next_wake(&self, pacing: &Pacing) -> Nanos {
        let due = if self.free.is_empty() { None } else { pacing.next_due(self.now) };
        let rest = self.resting.peek().map(|Reverse((end, _))| *end);
        [due, self.deadlines.earliest(), rest].into_iter().flatten().fold(self.now + LONGEST_WAIT, Nanos::min)
    }

    /// Begins requests while one is due and a slot is free.
    fn begin_due(&mut self, pacing: &mut Pacing) {
        while let Some(due) = pacing.next_due(self.now) {
            if due > self.now {
                break;
            }
            let Some(slot) = self.free.pop_front() else { break };
            pacing.take(due);
            self.recorder.begun(due);
            self.begin(slot, due, pacing.is_scheduled());
        }
    }

    fn begin(&mut self, slot: Slot, due: Nanos, scheduled: bool) {
        let operation = self.next_operation;
        self.next_operation = (operation + 1) % self.requests.len();
        self.in_flight += 1;
        let connection = &mut self.connections[slot];
        connection.in_flight = Some(InFlight { operation, due, sent: None, first_byte: None, connect: None });
        if connection.state == State::Open {
            if scheduled {
                self.recorder.late_by(due, self.now - due.max(connection.free_since));
            }
            self.send(slot, true);
        } else {
            self.connect(slot);
        }
    }

    fn connect(&mut self, slot: Slot) {
        self.connections[slot].state = State::Connecting { since: self.now };
        self.connecting += 1;
        self.deadlines.set(slot, self.now + self.timeout);
        if let Err(failure) = self.io.connect(slot) {
            self.connect_failed(slot, failure);
        }
    }

    fn send(&mut self, slot: Slot, reused: bool) {
        let Some(in_flight) = &mut self.connections[slot].in_flight else { return };
        in_flight.sent = Some(self.now);
        let bytes = &self.requests[in_flight.operation].bytes;
        self.recorder.sent(in_flight.due, self.now, bytes.len(), reused);
        self.deadlines.set(slot, self.now + self.timeout);
        if let Err(failure) = self.io.send(slot, bytes) {
            self.fail(slot, failure);
        }
    }

    /// Handles the next event of this turn; false when there is none.
    fn handle_next_event(&mut self) -> bool {
        let Some((slot, event)) = self.io.next() else { return false };
        let connection = &mut self.connections[slot];
        let reading = match event {
            Event::Connected => {
                self.connected(slot);
                return true;
            }
            Event::ConnectFailed(failure) => {
                self.connect_failed(slot, failure);
                return true;
            }
            Event::Received(bytes) => connection.receive(bytes, &self.requests, self.now),
            Event::Closed => connection.end_of_input(&self.requests, self.now),
            Event::Broken(failure) => Reading::Failed(failure),
        };
        match reading {
            Reading::Unfinished => {}
            Reading::Answered { answer, keep_alive } => {
                self.recorder.answered(&answer);
                self.activity.answered += 1;
                self.deadlines.clear(slot);
                self.connections[slot].in_flight = None;
                self.in_flight -= 1;
                if !keep_alive {
                    self.disconnect(slot);
                }
                self.set_free(slot);
            }
            Reading::Failed(failure) => self.fail(slot, failure),
            Reading::Ended => self.disconnect(slot),
        }
        true
    }

    fn connected(&mut self, slot: Slot) {
        let connection = &mut self.connections[slot];
        let State::Connecting { since } = connection.state else { return };
        let length = self.now - since;
        connection.state = State::Open;
        connection.failed_attempts = 0;
        self.connecting -= 1;
        self.deadlines.clear(slot);
        self.recorder.connected(length);
        if let Some(in_flight) = &mut connection.in_flight {
            in_flight.connect = Some(length);
            self.send(slot, false);
        }
    }

    /// The slot's attempt to connect failed: it rests, so that a server that is down is not flooded.
    fn connect_failed(&mut self, slot: Slot, failure: Failure) {
        self.recorder.connect_failed();
        self.connecting -= 1;
        self.end_request(slot, failure);
        self.io.close(slot);
        self.deadlines.clear(slot);
        let connection = &mut self.connections[slot];
        connection.reset();
        let doublings = connection.failed_attempts.min(MOST_DOUBLINGS);
        connection.failed_attempts += 1;
        self.resting.push(Reverse((self.now + Nanos(FIRST_REST.0 << doublings), slot)));
    }

    /// The request in flight failed, and its connection is replaced when the next request needs it.
    fn fail(&mut self, slot: Slot, failure: Failure) {
        let carried = self.end_request(slot, failure);
        self.disconnect(slot);
        if carried {
            self.set_free(slot);
        }
    }

    /// Records the failure of the request in flight, if there is one.
    fn end_request(&mut self, slot: Slot, failure: Failure) -> bool {
        let Some(in_flight) = self.connections[slot].in_flight.take() else { return false };
        self.recorder.failed(in_flight.operation, failure, in_flight.due, self.now);
        self.activity.failed += 1;
        self.in_flight -= 1;
        true
    }

    fn disconnect(&mut self, slot: Slot) {
        if self.connections[slot].state == State::Open {
            self.recorder.disconnected();
        }
        self.io.close(slot);
        self.deadlines.clear(slot);
        self.connections[slot].reset();
    }

    fn set_free(&mut self, slot: Slot) {
        self.connections[slot].free_since = self.now;
        self.free.push_back(slot);
    }
}
