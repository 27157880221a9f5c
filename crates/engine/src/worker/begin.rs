//! How requests and sessions begin, and how they are written.

use loadcurve_plan::Nanos;

use super::Worker;
use crate::connection::{InFlight, State};
use crate::io::{Io, Slot};
use crate::pacing::{Pacing, Unit};

impl<I: Io> Worker<I> {
    /// Begins requests or sessions while one is due and a slot is free.
    pub(super) fn begin_due(&mut self, pacing: &mut Pacing) {
        while let Some(due) = pacing.next_due(self.now) {
            if due > self.now {
                break;
            }
            let Some(slot) = self.free.pop_front() else { break };
            let connection = &mut self.connections[slot];
            connection.is_listed = false;
            if connection.rests_until.is_some() {
                continue;
            }
            pacing.take(due);
            match self.orders.unit {
                Unit::Request => {
                    self.note_lateness(slot, due, pacing);
                    self.begin(slot, due);
                    self.list_if_free(slot);
                }
                Unit::Session => {
                    self.sessions += 1;
                    self.connections[slot].session = Some(self.orders.calls);
                    self.note_lateness(slot, due, pacing);
                    self.begin_burst(slot, due);
                }
            }
        }
        self.write_begun();
    }

    fn note_lateness(&mut self, slot: Slot, due: Nanos, pacing: &Pacing) {
        let connection = &self.connections[slot];
        // A request that opens its connection is written when the server lets it.
        let can_be_late = connection.state == State::Open || self.orders.unit == Unit::Session;
        if pacing.is_scheduled() && can_be_late {
            self.recorder.late_by(due, self.now - due.max(connection.free_since));
        }
    }

    /// Begins one request on a slot; it is written with the others that begin now, or when the slot is connected.
    fn begin(&mut self, slot: Slot, due: Nanos) {
        let operation = self.orders.picker.operation(self.orders.share.position(self.begun));
        self.begun += 1;
        self.in_flight += 1;
        self.recorder.begun(due);
        let connection = &mut self.connections[slot];
        let place = usize::try_from(connection.calls % self.orders.pipeline as u64).unwrap_or(0);
        connection.calls += 1;
        connection.in_flight.push_back(InFlight {
            operation,
            due,
            sent: None,
            first_byte: None,
            connect: None,
            reused: connection.state == State::Open,
            place,
        });
        match connection.state {
            State::Closed => self.connect(slot),
            State::Connecting => {}
            State::Open => {
                if !connection.is_unwritten {
                    connection.is_unwritten = true;
                    self.unwritten.push(slot);
                }
            }
        }
    }

    /// Begins as many requests of a session as go together.
    pub(super) fn begin_burst(&mut self, slot: Slot, due: Nanos) {
        let Some(left) = self.connections[slot].session else { return };
        let burst = left.min(self.orders.pipeline as u64);
        self.connections[slot].session = Some(left - burst);
        for _ in 0..burst {
            // A burst whose connection cannot be made ends with its session.
            if self.connections[slot].session.is_some() {
                self.begin(slot, due);
            }
        }
    }

    pub(super) fn connect(&mut self, slot: Slot) {
        self.connections[slot].state = State::Connecting;
        self.connections[slot].since = self.now;
        self.connecting += 1;
        self.connect_deadlines.set(slot, self.now + self.orders.timeout);
        if let Err(failure) = self.io.connect(slot) {
            self.connect_failed(slot, failure);
        }
    }

    /// Writes what was begun, one write for each slot.
    pub(super) fn write_begun(&mut self) {
        while let Some(slot) = self.unwritten.pop() {
            self.connections[slot].is_unwritten = false;
            if self.connections[slot].state == State::Open {
                self.write(slot);
            }
        }
    }

    fn write(&mut self, slot: Slot) {
        self.scratch.clear();
        let waiting = self.connections[slot].in_flight.iter_mut().filter(|request| request.sent.is_none());
        for in_flight in waiting {
            let bytes = &self.orders.requests[in_flight.operation].bytes;
            in_flight.sent = Some(self.now);
            self.recorder.sent(in_flight.due, self.now, bytes.len(), in_flight.reused);
            let place = slot * self.orders.pipeline + in_flight.place;
            self.answer_deadlines.set(place, self.now + self.orders.timeout);
            self.scratch.extend_from_slice(bytes);
        }
        if let Err(failure) = self.io.send(slot, &self.scratch) {
            self.fail(slot, failure);
        }
    }
}
