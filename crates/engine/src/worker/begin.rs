//! How requests and sessions begin, and how they are written.

use loadcurve_plan::{Nanos, Unit};
use loadcurve_record::Failure;
use loadcurve_wire::{BodyPart, Exchange, Readiness, WrittenBody};

use super::Worker;
use crate::connection::{Connection, State, Upload};
use crate::io::{Carries, Notify, Slot};
use crate::places::InFlight;
use crate::scheduler::Scheduler;
use crate::starving::AnsweredBodies;
use crate::work::{CarrierOf, Work};

/// How much of long requests is written at once. The next parts are read from their files when the connection has taken
/// these, so bodies take no more memory than this on each connection, however long and however many they are.
const PART_BYTES: usize = 64 * 1024;
/// Less room than this in a write is not used for a part of a body.
const LEAST_PART_BYTES: usize = 1024;

impl<I: Carries<CarrierOf<W>>, W: Work> Worker<I, W> {
    /// Begins requests or sessions while one is due and a slot is free, those that have moved first, and writes all that slots have
    /// to say: a request leaves with the acknowledgement of what was read before it.
    ///
    /// To write takes time, in which more falls due. That begins, too, before the next turn, which would read what has arrived
    /// first; but once, so that a load that cannot keep up reads its answers between its requests.
    pub(super) fn begin_due(&mut self, scheduler: &mut Scheduler) {
        self.note_time_if_due(scheduler);
        self.begin_moved();
        self.begin_due_by_now(scheduler);
        self.write_begun();
        if self.note_time_if_due(scheduler) {
            self.begin_due_by_now(scheduler);
            self.write_begun();
        }
        self.next_free();
    }

    /// Reads the clock anew, and takes this as the time of the turn if something has fallen due by now that can begin; says so.
    fn note_time_if_due(&mut self, scheduler: &Scheduler) -> bool {
        if !scheduler.is_scheduled() {
            return false;
        }
        let now = self.io.now();
        let has_fallen = scheduler.next_due(now).is_some_and(|due| due <= now) && self.next_free().is_some();
        if has_fallen {
            self.now = now;
        }
        has_fallen
    }

    fn begin_due_by_now(&mut self, scheduler: &mut Scheduler) {
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
    }

    /// Gives requests that were sent before, and not looked at, to slots that are free.
    fn begin_moved(&mut self) {
        while !self.moved.is_empty() {
            let Some(slot) = self.next_free() else { return };
            let Some((from, request)) = self.moved.pop_front() else { return };
            if let Some(events) = &mut self.events {
                events.exchange_clients(from * self.configuration.at_once, slot * self.configuration.at_once);
            }
            self.free.pop_front();
            self.connections[slot].is_listed = false;
            self.leave_if_leaving(slot);
            let connection = &mut self.connections[slot];
            connection.calls += 1;
            connection.requests.insert(request);
            self.carry(slot);
            self.list_if_free(slot);
        }
    }

    /// The slot that has been free for longest; those in front of it that are not any more are taken off the list.
    fn next_free(&mut self) -> Option<Slot> {
        loop {
            let slot = *self.free.front()?;
            let connection = &mut self.connections[slot];
            // Since the slot came free, a server may have announced the end of the connection, or take no more at once.
            if connection.rests_until.is_none() && connection.has_room(self.configuration.room()) {
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
        let operation = self.configuration.work.operation(number);
        self.begun += 1;
        self.in_flight += 1;
        self.recorder.begun(due);
        self.leave_if_leaving(slot);
        let connection = &mut self.connections[slot];
        connection.calls += 1;
        let limited_since = connection.limited_since(due);
        connection.requests.insert(InFlight {
            number,
            operation,
            tally: self.configuration.work.tally(operation),
            due,
            sent: None,
            first_byte: None,
            answered_before: AnsweredBodies::NOT_BEGUN,
            connect: None,
            reused: connection.state == State::Open,
            moved_at: None,
            limited_since,
            expected: None,
        });
        self.carry(slot);
    }

    /// Leaves a connection that the server is about to end, so that what begins now goes to a new one.
    fn leave_if_leaving(&mut self, slot: Slot) {
        let connection = &self.connections[slot];
        if connection.state == State::Open && connection.exchange.readiness() == Readiness::Leaving {
            self.record_end(slot);
            self.leave_idle(slot);
        }
    }

    /// Sees to it that a slot writes what it carries now, as soon as it can.
    fn carry(&mut self, slot: Slot) {
        let connection = &mut self.connections[slot];
        match connection.state {
            State::Closed => match connection.spoiled_by.take() {
                Some(failure) => self.fail(slot, failure),
                None => self.connect(slot),
            },
            State::Handshaking if connection.begins_early() => self.will_write(slot),
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

    /// Writes what was begun, one write for each slot. What begins behind a part of a body waits until that is taken.
    pub(super) fn write_begun(&mut self) {
        while let Some(slot) = self.unwritten.pop() {
            let connection = &mut self.connections[slot];
            connection.is_unwritten = false;
            let is_established = connection.state.is_handshaking() || connection.state == State::Open;
            if is_established && connection.writing_since.is_none() {
                self.write(slot);
            } else if is_established && !connection.exchange.holds_requests_back() {
                self.limit_waits(slot);
            }
            let connection = &mut self.connections[slot];
            if !connection.has_room(self.configuration.room()) {
                connection.free_since = None;
            }
        }
    }

    /// Writes what the protocol sends, all requests that can begin, and the next parts of bodies.
    pub(super) fn write(&mut self, slot: Slot) {
        self.scratch.clear();
        self.connections[slot].exchange.advance(self.now.into());
        let written = self.gather(slot).and_then(|notify| self.hand_over(slot, notify));
        if let Err(failure) = written {
            self.fail(slot, failure);
        } else {
            self.note_timer(slot);
        }
        if W::Exchange::FANS_OUT {
            self.list_if_free(slot);
        }
    }

    /// Hands over what was put together: in one write, or in as many as the protocol makes of it.
    #[inline]
    pub(super) fn hand_over(&mut self, slot: Slot, notify: Notify) -> Result<(), Failure> {
        loop {
            let exchange = &mut self.connections[slot].exchange;
            let cut = exchange.protect(&mut self.scratch);
            if self.scratch.is_empty() && notify == Notify::Never {
                return Ok(());
            }
            self.io.write(slot, &self.scratch, cut, notify)?;
            if !self.connections[slot].exchange.has_further_write() {
                return Ok(());
            }
            self.scratch.clear();
        }
    }

    /// Puts together what is written next. Nothing follows before it is taken where bodies can go on behind it, and where
    /// it has answers of the protocol to a peer that need not read any.
    fn gather(&mut self, slot: Slot) -> Result<Notify, Failure> {
        let connection = &mut self.connections[slot];
        connection.exchange.write_output(&mut self.scratch);
        let has_output = !self.scratch.is_empty();
        if connection.state != State::Open && !connection.begins_early() {
            return Ok(Notify::Never);
        }
        let is_full = self.gather_requests(slot)?;
        if has_output || is_full {
            self.connections[slot].writing_since = Some(self.now);
            return Ok(Notify::WhenWritten);
        }
        Ok(Notify::Never)
    }

    /// Adds all requests that can begin, and then the next parts of bodies; says whether more of these can follow.
    fn gather_requests(&mut self, slot: Slot) -> Result<bool, Failure> {
        loop {
            while !self.connections[slot].exchange.holds_requests_back() && self.gather_request(slot)? {}
            if !self.connections[slot].exchange.can_write_body() {
                return Ok(false);
            }
            let room = PART_BYTES.saturating_sub(self.scratch.len());
            if room < LEAST_PART_BYTES {
                return Ok(true);
            }
            self.gather_body(slot, room)?;
        }
    }

    /// Adds the next request to what is written, if there is one; its body is then under way, unless it is a part of it.
    fn gather_request(&mut self, slot: Slot) -> Result<bool, Failure> {
        if W::Exchange::FANS_OUT {
            return self.gather_published(slot);
        }
        let connection = &mut self.connections[slot];
        let is_early = connection.begins_early();
        if !is_early && connection.exchange.readiness() != Readiness::Ready {
            self.limit_waits(slot);
            return Ok(false);
        }
        let Some((tag, request)) = connection.requests.next_unwritten() else { return Ok(false) };
        if is_early {
            request.connect = Some(connection.connected - connection.since);
        }
        let InFlight { number, operation, due, reused, moved_at, limited_since, .. } = *request;
        let before = self.scratch.len();
        let asked = self.configuration.work.asked(&mut self.reader, number, operation)?;
        request.expected = asked.expected;
        let place = slot * self.configuration.at_once + tag;
        match self.events.as_ref().and_then(|events| events.reopened_behind(place)) {
            Some(last_id) => W::reopen(&mut connection.exchange, tag, &asked, last_id, &mut self.scratch),
            None => connection.exchange.begin(tag, asked.template, asked.target, &mut self.scratch),
        }
        request.sent = Some(self.now);
        if let Some(since) = limited_since {
            self.recorder.waited_for_stream(due, self.now - since);
        }
        let bytes = self.scratch.len() - before;
        if let Some(events) = &mut self.events {
            if moved_at.is_none() {
                events.note_reconnect(place, due, &mut self.recorder);
            }
            events.sent(place, due, self.now);
        }
        if let Some(moved_at) = moved_at {
            self.recorder.sent_again(due, self.now - moved_at, bytes);
        } else {
            self.recorder.sent(due, self.now, bytes, reused);
        }
        if connection.exchange.is_writing_body(tag) {
            connection.begin_upload(tag, Upload { operation, due });
        }
        self.answer_deadlines.set(place, self.now + self.configuration.timeout);
        Ok(true)
    }

    /// Gives what cannot be written yet, because the peer takes no more at once or does not read, the time that an answer
    /// has. What waits for a handshake has the time of that.
    fn limit_waits(&mut self, slot: Slot) {
        let first_place = slot * self.configuration.at_once;
        let connection = &mut self.connections[slot];
        if connection.state != State::Open {
            return;
        }
        let is_limited = connection.exchange.limit().is_some();
        while let Some((tag, request)) = connection.requests.next_unseen() {
            if is_limited {
                request.limited_since.get_or_insert(self.now);
            }
            if !self.answer_deadlines.is_set(first_place + tag) {
                self.answer_deadlines.set(first_place + tag, self.now + self.configuration.timeout);
            }
        }
    }

    /// Adds the next part of a body to what is written, of this many bytes at most.
    ///
    /// The timeout begins anew with each part as long as the load runs: it bounds how long the server may take
    /// nothing, not how long it takes all. After the end of the load it bounds all that is left, so that the load ends.
    fn gather_body(&mut self, slot: Slot, room: usize) -> Result<(), Failure> {
        let Connection { exchange, uploads, .. } = &mut self.connections[slot];
        let work = &self.configuration.work;
        let mut read =
            |part: BodyPart, to: &mut Vec<u8>| work.append_body(uploads[part.tag].operation, part, to);
        let Some(WrittenBody { tag, bytes }) = exchange.write_body(room, &mut read, &mut self.scratch)?
        else {
            return Ok(());
        };
        self.recorder.sent_more(uploads[tag].due, bytes);
        let deadline = slot * self.configuration.at_once + tag;
        let connection = &mut self.connections[slot];
        let is_awaited = connection.requests.get_mut(tag).is_some_and(|request| request.sent.is_some());
        if !is_awaited && !connection.exchange.is_writing_body(tag) {
            self.answer_deadlines.clear(deadline);
        } else if self.now < self.ends || !self.answer_deadlines.is_set(deadline) {
            self.answer_deadlines.set(deadline, self.now + self.configuration.timeout);
        }
        Ok(())
    }
}
