//! How requests end, and what their slot does next.

use std::cmp::Reverse;

use loadcurve_plan::Nanos;
use loadcurve_record::Failure;

use super::Worker;
use crate::connection::{Reading, State};
use crate::io::{Event, Io, Slot};
use crate::pacing::Pacing;

/// The rest after a first failed attempt to connect; it doubles with each further one.
const FIRST_REST: Nanos = Nanos::from_millis(10);
/// Rests do not grow beyond this many doublings: 1.28 s.
const MOST_DOUBLINGS: u32 = 7;

/// What becomes of a connection after its bytes were read.
enum After {
    Keep,
    Disconnect,
    Fail(Failure),
}

impl<I: Io> Worker<I> {
    /// Handles the next event of this turn; false when there is none.
    pub(super) fn handle_next_event(&mut self, pacing: Option<&Pacing>) -> bool {
        let Some((slot, event)) = self.io.next() else { return false };
        let connection = &mut self.connections[slot];
        let (mut rest, is_end): (&[u8], bool) = match event {
            Event::Received(bytes) => (bytes, false),
            Event::Closed => (&[], true),
            Event::Connected => {
                self.connected(slot);
                return true;
            }
            Event::Taken => {
                self.write(slot);
                return true;
            }
            Event::ConnectFailed(failure) => {
                self.connect_failed(slot, failure);
                return true;
            }
            Event::Broken(failure) => {
                self.fail(slot, failure);
                return true;
            }
        };
        let mut answered = false;
        let after = loop {
            let reading = if is_end {
                connection.end_of_input(&self.orders.requests, self.now)
            } else {
                connection.receive(rest, &self.orders.requests, self.now)
            };
            match reading {
                Reading::Unfinished => break After::Keep,
                Reading::Ended => break After::Disconnect,
                Reading::Failed(failure) => break After::Fail(failure),
                Reading::Answered { answer, is_mismatched, place, consumed, keep_alive } => {
                    answered = true;
                    if is_mismatched {
                        self.slow_requests.extend(self.recorder.mismatched(&answer));
                        self.activity.failed += 1;
                    } else {
                        self.slow_requests.extend(self.recorder.answered(&answer));
                        self.activity.answered += 1;
                    }
                    self.in_flight -= 1;
                    // The deadline of an upload stays: the next request waits for the rest of it.
                    if connection.upload.is_none_or(|upload| upload.place != place) {
                        self.answer_deadlines.clear(slot * self.orders.pipeline + place);
                    }
                    rest = &rest[consumed..];
                    if !keep_alive {
                        // The peer answers none of the requests behind this one.
                        let is_last = connection.in_flight.is_empty();
                        break if is_last { After::Disconnect } else { After::Fail(Failure::ClosedEarly) };
                    }
                    if rest.is_empty() {
                        break After::Keep;
                    }
                }
            }
        };
        self.keep_slow(slot);
        match after {
            After::Keep => {}
            After::Disconnect => self.disconnect(slot),
            After::Fail(failure) => self.fail(slot, failure),
        }
        let connection = &self.connections[slot];
        if answered || connection.session.is_some() {
            self.settle(slot, pacing);
        }
        true
    }

    /// Lets a slot go on after an answer, or after the peer has closed it.
    fn settle(&mut self, slot: Slot, pacing: Option<&Pacing>) {
        let calls = self.orders.calls;
        let connection = &mut self.connections[slot];
        connection.free_since = self.now;
        if !connection.in_flight.is_empty() {
            self.list_if_free(slot);
            return;
        }
        let is_closed = connection.state == State::Closed;
        let ends = match connection.session {
            Some(left) => left == 0 || is_closed || pacing.is_none_or(|pacing| pacing.is_over(self.now)),
            None => false,
        };
        if ends {
            self.end_session(slot);
            return;
        }
        if connection.calls >= calls {
            self.disconnect(slot);
        }
        if self.orders.think > Nanos::ZERO {
            self.rest(slot, self.orders.think);
        } else {
            self.go_on(slot, self.now);
        }
    }

    /// Takes a slot off its connection and out of its session.
    fn end_session(&mut self, slot: Slot) {
        self.sessions -= 1;
        let connection = &mut self.connections[slot];
        connection.session = None;
        connection.rests_until = None;
        self.disconnect(slot);
        self.list_if_free(slot);
    }

    fn rest(&mut self, slot: Slot, length: Nanos) {
        let end = self.now + length;
        self.connections[slot].rests_until = Some(end);
        self.resting.push(Reverse((end, slot)));
    }

    /// A rest is over: the slot goes on, unless what it rested for has ended meanwhile.
    pub(super) fn wake(&mut self, slot: Slot, end: Nanos, pacing: Option<&Pacing>) {
        let connection = &mut self.connections[slot];
        if connection.rests_until != Some(end) {
            return;
        }
        connection.rests_until = None;
        connection.free_since = end;
        if connection.session.is_some() && pacing.is_none_or(|pacing| pacing.is_over(self.now)) {
            self.end_session(slot);
        } else {
            self.go_on(slot, end);
        }
    }

    /// A session makes its next burst, due then; any other slot can take a request.
    fn go_on(&mut self, slot: Slot, due: Nanos) {
        if self.connections[slot].session.is_some() {
            self.begin_burst(slot, due);
        } else {
            self.list_if_free(slot);
        }
    }

    fn connected(&mut self, slot: Slot) {
        let connection = &self.connections[slot];
        if connection.state != State::Connecting {
            return;
        }
        let length = self.now - connection.since;
        let syn_retransmits = self.syn_retransmits(slot, length);
        let connection = &mut self.connections[slot];
        connection.state = State::Open;
        connection.syn_retransmits = syn_retransmits;
        connection.failed_attempts = 0;
        self.connecting -= 1;
        self.connect_deadlines.clear(slot);
        self.recorder.connected(length);
        if !connection.in_flight.is_empty() {
            for in_flight in &mut connection.in_flight {
                in_flight.connect = Some(length);
            }
            connection.is_unwritten = true;
            self.unwritten.push(slot);
        }
    }

    /// The slot's attempt to connect failed: it rests, so that a server that is down is not flooded.
    pub(super) fn connect_failed(&mut self, slot: Slot, failure: Failure) {
        self.recorder.connect_failed();
        self.connecting -= 1;
        self.end_requests(slot, failure);
        self.io.close(slot);
        self.connect_deadlines.clear(slot);
        let connection = &mut self.connections[slot];
        connection.reset();
        let doublings = connection.failed_attempts.min(MOST_DOUBLINGS);
        connection.failed_attempts += 1;
        self.sessions -= usize::from(connection.session.take().is_some());
        self.rest(slot, Nanos(FIRST_REST.0 << doublings));
    }

    /// The requests under way failed, and their connection is replaced when the next request needs it.
    pub(super) fn fail(&mut self, slot: Slot, failure: Failure) {
        self.end_requests(slot, failure);
        if self.connections[slot].session.is_some() {
            self.end_session(slot);
        } else {
            self.disconnect(slot);
            self.connections[slot].free_since = self.now;
            self.list_if_free(slot);
        }
    }

    /// Records the failure of every request under way on a slot.
    fn end_requests(&mut self, slot: Slot, failure: Failure) {
        while let Some((request, place)) = self.connections[slot].fail_oldest(failure, self.now) {
            self.slow_requests.extend(self.recorder.failed(&request));
            self.answer_deadlines.clear(slot * self.orders.pipeline + place);
            self.activity.failed += 1;
            self.in_flight -= 1;
        }
        self.keep_slow(slot);
    }

    fn disconnect(&mut self, slot: Slot) {
        let connection = &mut self.connections[slot];
        if connection.state == State::Open {
            self.recorder.disconnected(Some(self.now - connection.since));
        }
        if let Some(upload) = connection.upload {
            self.answer_deadlines.clear(slot * self.orders.pipeline + upload.place);
        }
        connection.reset();
        self.io.close(slot);
    }

    /// Lists a slot that can take a request; a slot stands in the list at most once.
    pub(super) fn list_if_free(&mut self, slot: Slot) {
        let connection = &mut self.connections[slot];
        let has_room =
            connection.in_flight.len() < self.orders.pipeline && connection.calls < self.orders.calls;
        let is_bound = connection.session.is_some() || connection.rests_until.is_some();
        if has_room && !is_bound && !connection.is_listed {
            connection.is_listed = true;
            self.free.push_back(slot);
        }
    }
}
