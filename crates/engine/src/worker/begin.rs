//! How requests and sessions begin, and how they are written.

use loadcurve_plan::{Nanos, Unit};
use loadcurve_record::Failure;
use loadcurve_wire::{Exchange, Readiness};

use super::Worker;
use crate::connection::{State, Upload};
use crate::io::{Io, Notify, Slot};
use crate::places::InFlight;
use crate::scheduler::Scheduler;

/// How much of a long request is written at once. The next part is read from its file when the connection has taken this
/// one, so a body takes no more memory than this on each connection, however long it is.
const PART_BYTES: usize = 64 * 1024;

impl<I: Io, E: Exchange> Worker<I, E> {
    /// Begins requests or sessions while one is due and a slot is free.
    pub(super) fn begin_due(&mut self, scheduler: &mut Scheduler) {
        while let Some(due) = scheduler.next_due(self.now) {
            if due > self.now {
                break;
            }
            let Some(slot) = self.next_free() else { break };
            self.free.pop_front();
            self.connections[slot].is_listed = false;
            scheduler.take(due);
            match self.configuration.unit {
                Unit::Request => {
                    self.note_lateness(slot, due, scheduler);
                    self.begin(slot, due);
                    self.list_if_free(slot);
                }
                Unit::Session => {
                    self.sessions += 1;
                    self.connections[slot].session = Some(self.configuration.calls);
                    self.note_lateness(slot, due, scheduler);
                    self.begin_burst(slot, due);
                }
            }
        }
        self.write_begun();
        self.next_free();
    }

    /// The slot that has been free for longest; those in front of it that are not any more are taken off the list.
    fn next_free(&mut self) -> Option<Slot> {
        loop {
            let slot = *self.free.front()?;
            let connection = &mut self.connections[slot];
            // Since the slot came free, a server may have announced the end of the connection, or take no more at once.
            if connection.rests_until.is_none() && connection.has_room(self.configuration.at_once) {
                return Some(slot);
            }
            connection.is_listed = false;
            self.free.pop_front();
        }
    }

    fn note_lateness(&mut self, slot: Slot, due: Nanos, scheduler: &Scheduler) {
        let connection = &self.connections[slot];
        // A request that opens its connection is written when the server lets it.
        let can_be_late = connection.state == State::Open || self.configuration.unit == Unit::Session;
        if scheduler.is_scheduled() && can_be_late {
            self.recorder.late_by(due, self.now - due.max(connection.free_since.unwrap_or(self.now)));
        }
    }

    /// Begins one request on a slot; it is written with the others that begin now, or when the slot is connected.
    fn begin(&mut self, slot: Slot, due: Nanos) {
        let number = self.configuration.share.position(self.begun);
        let operation = self.configuration.requests.operation(number);
        self.begun += 1;
        self.in_flight += 1;
        self.recorder.begun(due);
        let connection = &mut self.connections[slot];
        connection.calls += 1;
        let limited_since = connection.limited_since(due);
        connection.requests.insert(InFlight {
            number,
            operation,
            due,
            sent: None,
            first_byte: None,
            connect: None,
            reused: connection.state == State::Open,
            is_moved: false,
            limited_since,
        });
        match connection.state {
            State::Closed if std::mem::take(&mut connection.is_spoiled) => {
                self.fail(slot, Failure::Malformed);
            }
            State::Closed => self.connect(slot),
            State::Connecting | State::Handshaking | State::Protected => {}
            State::Open => self.will_write(slot),
        }
    }

    /// Notes that a slot has something to be written when all that begins now has begun.
    pub(super) fn will_write(&mut self, slot: Slot) {
        let connection = &mut self.connections[slot];
        if !connection.is_unwritten {
            connection.is_unwritten = true;
            self.unwritten.push(slot);
        }
    }

    /// Begins as many requests of a session as go together.
    pub(super) fn begin_burst(&mut self, slot: Slot, due: Nanos) {
        let Some(left) = self.connections[slot].session else { return };
        let burst = left.min(self.configuration.at_once as u64);
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
        self.connect_deadlines.set(slot, self.now + self.configuration.timeout);
        if let Err(failure) = self.io.connect(slot) {
            self.connect_failed(slot, failure);
        }
    }

    /// Writes what was begun, one write for each slot. What begins behind a body under way waits for its end.
    pub(super) fn write_begun(&mut self) {
        while let Some(slot) = self.unwritten.pop() {
            let connection = &mut self.connections[slot];
            connection.is_unwritten = false;
            let is_established = connection.state.is_handshaking() || connection.state == State::Open;
            if is_established && connection.upload.is_none() {
                self.write(slot);
            }
            let connection = &mut self.connections[slot];
            if !connection.has_room(self.configuration.at_once) {
                connection.free_since = None;
            }
        }
    }

    /// Writes what the protocol sends, the next part of the body under way, if there is one, and all requests that
    /// can follow.
    pub(super) fn write(&mut self, slot: Slot) {
        self.scratch.clear();
        let written = self.gather(slot).and_then(|notify| {
            self.connections[slot].exchange.protect(&mut self.scratch);
            if self.scratch.is_empty() { Ok(()) } else { self.io.send(slot, &self.scratch, notify) }
        });
        if let Err(failure) = written {
            self.fail(slot, failure);
        }
    }

    /// Puts together what is written next; more of it follows where the end of a body was not reached.
    fn gather(&mut self, slot: Slot) -> Result<Notify, Failure> {
        let connection = &mut self.connections[slot];
        connection.exchange.write_output(&mut self.scratch);
        if connection.state != State::Open {
            return Ok(Notify::Never);
        }
        loop {
            if self.connections[slot].upload.is_some() && !self.gather_upload(slot)? {
                return Ok(Notify::WhenWritten);
            }
            if !self.gather_request(slot)? {
                return Ok(Notify::Never);
            }
        }
    }

    /// Adds the next request to what is written, if there is one; a body of its own file is then under way.
    fn gather_request(&mut self, slot: Slot) -> Result<bool, Failure> {
        let connection = &mut self.connections[slot];
        if connection.exchange.readiness() != Readiness::Ready {
            self.limit_waits(slot);
            return Ok(false);
        }
        let Some((tag, request)) = connection.requests.next_unwritten() else { return Ok(false) };
        let InFlight { number, operation, due, reused, is_moved, limited_since, .. } = *request;
        let (before, template) = (self.scratch.len(), self.configuration.requests.template(operation));
        let target = self.targets.target(number)?;
        connection.exchange.begin(tag, &template.request, target, &mut self.scratch);
        request.sent = Some(self.now);
        if let Some(since) = limited_since {
            self.recorder.waited_for_stream(due, self.now - since);
        }
        let bytes = self.scratch.len() - before;
        if is_moved {
            self.recorder.sent_more(due, bytes);
        } else {
            self.recorder.sent(due, self.now, bytes, reused);
        }
        if template.body.is_some() {
            connection.upload = Some(Upload { operation, offset: 0, due, tag });
        }
        self.answer_deadlines
            .set(slot * self.configuration.at_once + tag, self.now + self.configuration.timeout);
        Ok(true)
    }

    /// Gives what cannot be written yet, because the peer takes no more at once, the time that an answer has.
    fn limit_waits(&mut self, slot: Slot) {
        let first_place = slot * self.configuration.at_once;
        let connection = &mut self.connections[slot];
        if connection.exchange.is_limited() {
            connection.requests.limit_unwritten(self.now);
        }
        for tag in connection.requests.unwritten() {
            if !self.answer_deadlines.is_set(first_place + tag) {
                self.answer_deadlines.set(first_place + tag, self.now + self.configuration.timeout);
            }
        }
    }

    /// Adds the next part of the body under way to what is written; says whether that was the last one.
    ///
    /// The timeout begins anew with each part: it bounds how long the server may take nothing, not how long it takes
    /// all.
    fn gather_upload(&mut self, slot: Slot) -> Result<bool, Failure> {
        let connection = &mut self.connections[slot];
        let Some(upload) = &mut connection.upload else { return Ok(true) };
        let Some(body) = &self.configuration.requests.template(upload.operation).body else {
            return Ok(true);
        };
        let room = PART_BYTES.saturating_sub(self.scratch.len());
        let added = body.append(upload.offset, room, &mut self.scratch)?;
        upload.offset += added as u64;
        self.recorder.sent_more(upload.due, added);
        let Upload { offset, tag, .. } = *upload;
        let deadline = slot * self.configuration.at_once + tag;
        self.answer_deadlines.set(deadline, self.now + self.configuration.timeout);
        if offset < body.length() {
            return Ok(false);
        }
        connection.upload = None;
        if connection.requests.get_mut(tag).is_none_or(|request| request.sent.is_none()) {
            self.answer_deadlines.clear(deadline);
        }
        Ok(true)
    }
}
