//! How requests end, and what their slot does next.

use std::cmp::Reverse;

use loadcurve_plan::Nanos;
use loadcurve_record::{Agreement, Failure, Handshake, Origin};
use loadcurve_wire::{self as wire, CutOf, Exchange, Readiness, Tag};

use super::reading::Reading;
use super::{Worker, WorkerConfiguration};
use crate::connection::State;
use crate::io::{Carries, Event, Notify, Slot};
use crate::scheduler::Scheduler;
use crate::work::{CarrierOf, Work};

impl<I: Carries<CarrierOf<W>>, W: Work> Worker<I, W> {
    /// Handles the next event of this turn, of the kernel or of a protocol's timer; false when there is none.
    pub(super) fn handle_next_event(&mut self, scheduler: Option<&Scheduler>) -> bool {
        let (slot, event, division) = match self.io.next_divided() {
            Some(next) => next,
            None => match self.take_timed_out() {
                Some(slot) => (slot, Event::Received(&[]), CutOf::<W::Exchange>::default()),
                None => return false,
            },
        };
        let (bytes, is_end): (&[u8], bool) = match event {
            Event::Received(bytes) => (bytes, false),
            Event::Closed => (&[], true),
            Event::Connected => {
                self.connected(slot);
                return true;
            }
            Event::Written => {
                self.written(slot);
                return true;
            }
            Event::ConnectFailed(failure) => {
                self.connect_failed(slot, failure);
                return true;
            }
            Event::Broken(failure) => {
                self.broken(slot, failure);
                return true;
            }
        };
        self.reach.heard_if(!bytes.is_empty(), self.now);
        let connection = &mut self.connections[slot];
        connection.exchange.advance(self.now.into());
        connection.exchange.divided(division);
        let mut reading = Reading {
            slot,
            now: self.now,
            at_once: self.configuration.at_once,
            work: &*self.configuration.work,
            connection,
            answer_deadlines: &mut self.answer_deadlines,
            in_flight: &mut self.in_flight,
            moved: &mut self.moved,
            slow_requests: &mut self.slow_requests,
            recorder: &mut self.recorder,
            activity: &self.activity,
            patience: &mut self.patience,
            error_bodies: &mut self.error_bodies,
            events: self.events.as_deref_mut(),
            fan_out: self.fan_out.as_deref_mut(),
            has_ended: false,
            has_moved: false,
        };
        let useless = reading.read(bytes, is_end);
        let Reading { has_ended, has_moved, .. } = reading;
        self.after_reading(slot, useless, is_end);
        self.take_up(slot, has_ended, has_moved, scheduler);
        true
    }

    /// Gives a slot something to do after what has arrived on it, where that has made it free; of a fan-out also those of
    /// publishers.
    #[inline]
    fn take_up(&mut self, slot: Slot, has_ended: bool, has_moved: bool, scheduler: Option<&Scheduler>) {
        if W::Exchange::FANS_OUT {
            self.go_on_publishing(scheduler);
        }
        if has_ended || self.connections[slot].session.is_some() {
            self.reuse_slot(slot, scheduler);
        } else {
            self.list_again(slot);
            if has_moved {
                self.list_if_free(slot);
            }
        }
    }

    /// Continues with a connection on which all that had arrived was read, or leaves it where it is of no more use.
    fn after_reading(&mut self, slot: Slot, useless: Option<Failure>, is_end: bool) {
        self.keep_slow(slot);
        let Some(failure) = useless else {
            self.continue_exchange(slot);
            return;
        };
        // Who has answered a request that was sent early has ended the handshake before, perhaps in the same datagram.
        if self.connections[slot].has_answered() {
            self.note_handshake(slot);
        }
        self.leave(slot, failure, is_end);
    }

    /// Until when the request that waits longest to be sent once more may wait.
    pub(super) fn moved_deadline(&self) -> Option<Nanos> {
        self.moved.front()?.1.moved_at.map(|moved_at| moved_at + self.configuration.timeout)
    }

    /// The request that waits longest to be sent once more has found no connection in time.
    pub(super) fn give_up_moved(&mut self) {
        let Some((slot, request)) = self.moved.pop_front() else { return };
        let failed = self.connections[slot].failed(request, Failure::Timeout, self.now);
        self.slow_requests.extend(self.recorder.failed(&failed));
        self.keep_slow(slot);
        self.activity.failed(Failure::Timeout);
        self.in_flight -= 1;
    }

    /// Writes and records what received bytes have made possible, beside ends of requests.
    pub(super) fn continue_exchange(&mut self, slot: Slot) {
        let connection = &self.connections[slot];
        let goes_on = connection.requests.has_unwritten()
            && connection.state == State::Open
            && connection.exchange.readiness() == Readiness::Ready;
        if goes_on || connection.exchange.has_output() || connection.exchange.can_write_body() {
            self.will_write(slot);
        }
        self.note_timer(slot);
        self.note_handshake(slot);
    }

    /// Records how far the handshakes of a connection have come, where they were not over.
    fn note_handshake(&mut self, slot: Slot) {
        let connection = &mut self.connections[slot];
        if !connection.state.is_handshaking() {
            return;
        }
        let is_ready = connection.is_ready();
        let agreement = connection.exchange.agreement();
        if connection.state == State::Handshaking && (is_ready || agreement.is_some()) {
            connection.state = State::Protected;
            self.recorder.agreed(connection.connected, self.now, agreement.map(recorded));
        }
        if is_ready {
            self.opened(slot);
        }
    }

    /// A connection has taken what was written, and takes more.
    fn written(&mut self, slot: Slot) {
        self.connections[slot].writing_since = None;
        self.write(slot);
    }

    /// A connection has broken.
    fn broken(&mut self, slot: Slot, failure: Failure) {
        // Whatever this completes ends with the connection.
        let _ = self.connections[slot].exchange.end_of_input();
        self.leave(slot, failure, true);
    }

    /// Leaves a connection that is of no more use; the requests that are still under way have failed.
    ///
    /// What was not sent waits for the next connection where the server has said that this one ends, has said so of a
    /// request before it closed, or has answered on this one: each connection that is tried then gets on.
    fn leave(&mut self, slot: Slot, failure: Failure, is_end: bool) {
        if W::Exchange::FANS_OUT {
            self.subscriber_closed(slot, failure);
        }
        if failure.is_fault() {
            self.send_goodbye(slot);
        } else if failure.is_broken_off() {
            self.record_end(slot);
            // What answers the peer's own goodbye.
            if !is_end && self.connections[slot].exchange.has_output() {
                self.send_goodbye(slot);
            }
        }
        let is_broken_off = failure.is_broken_off();
        let connection = &self.connections[slot];
        if is_broken_off && let Some(end) = connection.pipeline_closed(self.configuration.at_once) {
            self.recorder.disruptions.add_pipeline(end);
        }
        let (requests, is_open) = (&connection.requests, connection.state == State::Open);
        let may_go_on = !is_end || connection.has_answered();
        let goes_on = requests.unwritten().any(|tag| may_go_on || requests.was_moved(tag));
        if goes_on && is_open && is_broken_off {
            self.replace(slot, failure);
        } else if connection.requests.is_empty() && is_open {
            self.leave_idle(slot);
            self.connections[slot].spoiled_by = Some(failure).filter(|failure| failure.is_fault());
        } else {
            self.fail(slot, failure);
        }
    }

    /// Leaves a connection on which nothing is under way, because the server has ended it, or has begun to say so.
    pub(super) fn leave_idle(&mut self, slot: Slot) {
        if let Some(status) = self.connections[slot].exchange.ended_with() {
            self.recorder.idle_ends.add(status);
        }
        self.disconnect(slot);
        self.list_if_free(slot);
    }

    /// Tells the peer why it is left, where the protocol has words for it and the connection takes them at once.
    fn send_goodbye(&mut self, slot: Slot) {
        self.scratch.clear();
        self.connections[slot].exchange.write_output(&mut self.scratch);
        // It is left either way.
        let _ = self.hand_over(slot, Notify::Never);
    }

    /// Ends what the protocol has to end before a connection is closed from here, where the server has not ended it.
    pub(super) fn say_goodbye(&mut self, slot: Slot) {
        let connection = &mut self.connections[slot];
        if connection.state != State::Open || connection.exchange.readiness() == Readiness::Closed {
            return;
        }
        self.scratch.clear();
        connection.exchange.end(&mut self.scratch);
        if !self.scratch.is_empty() {
            // It is left either way.
            let _ = self.io.write(slot, &self.scratch, CutOf::<W::Exchange>::default(), Notify::Never);
        }
    }

    /// Leaves a connection whose server has announced its end, and opens another one for what waits to be sent once more.
    fn replace(&mut self, slot: Slot, failure: Failure) {
        let first_place = slot * self.configuration.at_once;
        for tag in 0..self.configuration.at_once {
            let request = self.connections[slot].requests.get_mut(tag);
            if request.is_some_and(|request| request.sent.is_some()) {
                self.end_request(slot, tag, failure);
            }
            self.answer_deadlines.clear(first_place + tag);
        }
        self.keep_slow(slot);
        self.disconnect(slot);
        let connection = &mut self.connections[slot];
        connection.calls = connection.requests.len() as u64;
        connection.requests.see_anew();
        self.connect(slot);
    }

    /// The answer to a request is overdue.
    pub(super) fn overdue(&mut self, slot: Slot, tag: Tag, scheduler: Option<&Scheduler>) {
        self.reach.overdue();
        let connection = &mut self.connections[slot];
        let is_unsent = connection.requests.get_mut(tag).is_some_and(|request| request.sent.is_none());
        let is_upload = connection.exchange.is_writing_body(tag);
        // Nothing was taken for as long as an answer may take: the peer reads no more.
        let is_stuck =
            connection.writing_since.is_some_and(|since| since + self.configuration.timeout <= self.now);
        let ends_alone = if is_stuck {
            false
        } else if is_unsent && !is_upload {
            // It waited for a server that took no more at once, and may still answer what it has taken.
            connection.requests.give_up_writing_one(tag);
            true
        } else {
            !is_unsent && connection.exchange.cancel(tag)
        };
        if !ends_alone {
            let WorkerConfiguration { at_once, timeout, .. } = self.configuration;
            if let Some(end) = self.connections[slot].pipeline_overdue(at_once, self.now, timeout) {
                self.recorder.disruptions.add_pipeline(end);
            }
            self.fail(slot, Failure::Timeout);
            return;
        }
        // How long one of several kinds would have been is not known.
        if self.configuration.work.tallies() == 1 && self.connections[slot].is_starved(tag) {
            self.recorder.multiplexing.answers_starved += 1;
        }
        self.end_request(slot, tag, Failure::Timeout);
        self.keep_slow(slot);
        let connection = &self.connections[slot];
        let takes_no_more = matches!(connection.exchange.readiness(), Readiness::Busy | Readiness::Closed);
        if takes_no_more && connection.requests.is_empty() {
            self.leave(slot, Failure::ClosedEarly, false);
        } else {
            self.continue_exchange(slot);
        }
        self.reuse_slot(slot, scheduler);
    }

    /// Gives a slot its next request, pause or connection after an answer, or after the peer has closed it.
    pub(super) fn reuse_slot(&mut self, slot: Slot, scheduler: Option<&Scheduler>) {
        let calls = self.configuration.calls;
        let connection = &mut self.connections[slot];
        // A slot that could take a request before is not free only now.
        if !connection.is_listed || connection.free_since.is_none() {
            connection.free_since = Some(self.now);
        }
        if !connection.requests.is_empty() {
            self.list_if_free(slot);
            return;
        }
        // A session ends with a connection that the server has closed, but not where nothing of it was under way.
        let is_closed = connection.state == State::Closed && connection.exchange.ended_with().is_none();
        let ends = match connection.session {
            Some(left) => {
                left == 0 || is_closed || scheduler.is_none_or(|scheduler| scheduler.is_over(self.now))
            }
            None => false,
        };
        if connection.rests_until.is_some() {
            // The server has ended the connection of a client that thinks, who continues with another one.
            return;
        }
        if ends {
            self.say_goodbye(slot);
            self.end_session(slot);
            return;
        }
        if connection.calls >= calls {
            self.say_goodbye(slot);
            self.disconnect(slot);
        }
        let pause = self.reopens_after(slot).unwrap_or(self.configuration.think);
        if pause > Nanos::ZERO {
            self.rest(slot, self.now + pause);
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

    fn rest(&mut self, slot: Slot, end: Nanos) {
        self.connections[slot].rests_until = Some(end);
        self.resting.push(Reverse((end, slot)));
    }

    /// A rest is over: the slot continues, unless what it rested for has ended meanwhile.
    pub(super) fn wake(&mut self, slot: Slot, end: Nanos, scheduler: Option<&Scheduler>) {
        let connection = &mut self.connections[slot];
        if connection.rests_until != Some(end) {
            return;
        }
        connection.rests_until = None;
        connection.free_since = Some(end);
        if connection.session.is_some() && scheduler.is_none_or(|scheduler| scheduler.is_over(self.now)) {
            self.say_goodbye(slot);
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
        if I::HEARS_ON_CONNECT {
            self.reach.reached(self.now);
        }
        let syn_retransmits = self.syn_retransmits(slot, self.now - connection.since);
        let connection = &mut self.connections[slot];
        connection.state = State::Handshaking;
        connection.connected = self.now;
        connection.syn_retransmits = syn_retransmits;
        connection.exchange.advance(self.now.into());
        connection.exchange.open();
        if connection.is_ready() {
            self.opened(slot);
        } else {
            self.connect_deadlines.set(slot, self.now + self.configuration.timeout);
            self.will_write(slot);
        }
        self.note_timer(slot);
    }

    /// Connection and handshake are complete: what has waited for them can be written.
    fn opened(&mut self, slot: Slot) {
        if W::Exchange::FANS_OUT {
            self.subscriber_opened(slot);
        }
        let connection = &mut self.connections[slot];
        let length = connection.connected - connection.since;
        connection.state = State::Open;
        connection.back_off.reached();
        self.connecting -= 1;
        self.connect_deadlines.clear(slot);
        self.recorder.connected(length);
        if !connection.requests.is_empty() {
            for request in connection.requests.iter_mut() {
                request.connect = Some(length);
            }
        }
        if !connection.requests.is_empty() || connection.exchange.has_output() {
            self.will_write(slot);
        }
        if self.connections[slot].requests.is_empty() {
            // It was opened for no request, but because a level of the load uses it.
            self.connections[slot].free_since = Some(self.now);
            self.list_if_free(slot);
        }
    }

    /// The slot's attempt to connect failed, or its handshake: it rests, so that a server that is down is not flooded.
    pub(super) fn connect_failed(&mut self, slot: Slot, failure: Failure) {
        let complaint = self.connections[slot].exchange.complaint();
        self.recorder.connect_failed_by(failure, complaint.as_deref().unwrap_or_default());
        if W::Exchange::FANS_OUT {
            self.subscriber_refused(slot, failure);
        }
        if failure.row().origin == Origin::Server {
            self.reach.failed();
        }
        self.connecting -= 1;
        self.record_counts(slot);
        self.end_requests(slot, failure);
        self.io.close(slot);
        self.connect_deadlines.clear(slot);
        let connection = &mut self.connections[slot];
        connection.reset();
        let end = connection.back_off.failed(self.now);
        self.sessions -= usize::from(connection.session.take().is_some());
        self.rest(slot, end);
    }

    /// The requests under way failed, and their connection is replaced when the next request needs it.
    pub(super) fn fail(&mut self, slot: Slot, failure: Failure) {
        if self.connections[slot].state.is_handshaking() {
            self.connect_failed(slot, failure);
            return;
        }
        if W::Exchange::FANS_OUT {
            self.subscriber_closed(slot, failure);
        }
        self.end_requests(slot, failure);
        if self.connections[slot].session.is_some() {
            self.end_session(slot);
        } else {
            self.disconnect(slot);
            self.connections[slot].free_since = Some(self.now);
            match self.reopens_after(slot) {
                Some(pause) if pause > Nanos::ZERO => self.rest(slot, self.now + pause),
                _ => self.list_if_free(slot),
            }
        }
    }

    /// Records the failure of every request that a slot carries.
    fn end_requests(&mut self, slot: Slot, failure: Failure) {
        self.connections[slot].requests.give_up_writing();
        for tag in 0..self.configuration.at_once {
            self.end_request(slot, tag, failure);
        }
        self.keep_slow(slot);
    }

    /// Records the failure of a request, if there is one under this tag.
    fn end_request(&mut self, slot: Slot, tag: Tag, failure: Failure) {
        self.error_bodies.ended(slot, tag);
        let connection = &mut self.connections[slot];
        let unsent = connection.requests.get_mut(tag).filter(|request| request.sent.is_none());
        let limited_since = unsent.and_then(|request| request.limited_since);
        let Some(failed) = connection.take_failed(tag, failure, self.now) else { return };
        if let Some(since) = limited_since {
            self.recorder.waited_for_stream(failed.due, self.now - since);
        }
        let of_handshake =
            matches!(failure, Failure::TlsFailed | Failure::UpgradeRefused | Failure::ConnectTimeout);
        let is_explained = failure.is_fault() || of_handshake;
        if (is_explained || failure.has_ended_quic())
            && let Some(text) = connection.exchange.complaint()
        {
            let example = connection.exchange.example();
            self.recorder.explained(failed.due, failure, failed.operation, &text, example);
        }
        self.recorder.broken_off(failed.due, connection.broken_off(&failed));
        self.slow_requests.extend(self.recorder.failed(&failed));
        let place = slot * self.configuration.at_once + tag;
        self.answer_deadlines.clear(place);
        if let Some(events) = &mut self.events {
            events.ended(place);
        }
        self.activity.failed(failure);
        self.in_flight -= 1;
    }

    /// Records that the server has ended a slot's connection.
    pub(super) fn record_end(&mut self, slot: Slot) {
        let connection = &self.connections[slot];
        if connection.state == State::Open {
            self.recorder.endings.add(connection.answers);
        }
    }

    /// Records what was counted of a slot's connection, and what was seen on it.
    pub(super) fn record_counts(&mut self, slot: Slot) {
        let connection = &mut self.connections[slot];
        let is_established = connection.is_established();
        W::record_connection(&mut connection.exchange, is_established, &mut self.recorder);
    }

    pub(super) fn disconnect(&mut self, slot: Slot) {
        self.record_counts(slot);
        let connection = &mut self.connections[slot];
        if connection.state == State::Open {
            self.recorder.disconnected(Some(self.now - connection.since));
        }
        for tag in connection.uploading() {
            self.answer_deadlines.clear(slot * self.configuration.at_once + tag);
        }
        connection.reset();
        self.io.close(slot);
    }

    /// Lists a slot none of whose requests has ended, but whose peer takes more at once than before.
    fn list_again(&mut self, slot: Slot) {
        if self.connections[slot].state == State::Open && !self.connections[slot].is_listed {
            self.list_if_free(slot);
            let connection = &mut self.connections[slot];
            if connection.is_listed {
                connection.free_since = Some(self.now);
            }
        }
    }

    /// Lists a slot that can take a request; a slot is in the list at most once.
    pub(super) fn list_if_free(&mut self, slot: Slot) {
        if W::Exchange::FANS_OUT && !self.may_publish(slot) {
            return;
        }
        let connection = &mut self.connections[slot];
        let has_room =
            connection.has_room(self.configuration.room()) && connection.calls < self.configuration.calls;
        let is_bound = connection.session.is_some() || connection.rests_until.is_some();
        if has_room && !is_bound && !connection.is_listed {
            connection.is_listed = true;
            self.free.push_back(slot);
        }
    }
}

/// An agreement as results count it.
fn recorded(agreement: wire::Agreement) -> Handshake {
    let wire::Agreement { version, suite, group, is_offered, is_resumed } = agreement;
    Handshake {
        agreement: Agreement { version, suite, group, is_resumed },
        is_refused: is_offered && !is_resumed,
    }
}
