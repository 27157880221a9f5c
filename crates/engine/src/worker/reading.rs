//! What has arrived on a connection, and which of its requests that ends.

use std::collections::VecDeque;

use loadcurve_plan::Nanos;
use loadcurve_record::{FailedRequest, Failure, Recorder, SlowCandidate};
use loadcurve_wire::{Event, Exchange, Readiness, Received, Refusal, Tag};

use super::error_bodies::ErrorBodies;
use super::events::EventStreams;
use super::fan_out::{Books, FanOut};
use super::patience::Patience;
use crate::activity::Activity;
use crate::connection::{Connection, Unanswered, refused};
use crate::deadlines::Deadlines;
use crate::io::Slot;
use crate::places::InFlight;
use crate::requests::quic::{closed, reset_in_words};
use crate::work::{AnswerOf, Judged, Work};

/// A connection while what has arrived on it is read, with what a worker keeps of its requests.
pub(super) struct Reading<'a, W: Work> {
    pub(super) slot: Slot,
    pub(super) now: Nanos,
    pub(super) at_once: usize,
    pub(super) work: &'a W,
    pub(super) connection: &'a mut Connection<W>,
    pub(super) answer_deadlines: &'a mut Deadlines,
    pub(super) in_flight: &'a mut usize,
    pub(super) moved: &'a mut VecDeque<(Slot, InFlight<W::Expected>)>,
    pub(super) slow_requests: &'a mut Vec<SlowCandidate>,
    pub(super) recorder: &'a mut Recorder,
    pub(super) activity: &'a Activity,
    pub(super) patience: &'a mut Patience,
    pub(super) error_bodies: &'a mut ErrorBodies,
    pub(super) events: Option<&'a mut EventStreams>,
    /// Only where the exchange fans out.
    pub(super) fan_out: Option<&'a mut FanOut>,
    /// Whether a request has ended.
    pub(super) has_ended: bool,
    /// Whether a request goes to another connection.
    pub(super) has_moved: bool,
}

impl<W: Work> Reading<'_, W> {
    /// Reads all that has arrived, or the end of the connection; says why that is of no more use, where it is not.
    #[inline]
    pub(super) fn read(&mut self, mut rest: &[u8], is_end: bool) -> Option<Failure> {
        loop {
            let exchange = &mut self.connection.exchange;
            let received = if is_end {
                Ok(Received { consumed: 0, event: exchange.end_of_input() })
            } else if rest.is_empty() && !exchange.has_input() {
                Ok(Received { consumed: 0, event: None })
            } else {
                let (slot, bodies, recorder) = (self.slot, &mut *self.error_bodies, &mut *self.recorder);
                let (events, deadlines) = (&mut self.events, &mut *self.answer_deadlines);
                let (first_place, now) = (slot * self.at_once, self.now);
                let fan_out = &mut self.fan_out;
                exchange.receive_with(rest, &mut |tag, status, part| {
                    if W::Exchange::FANS_OUT {
                        if let Some(fan_out) = fan_out {
                            fan_out.came(slot, part);
                        }
                        return;
                    }
                    bodies.came(slot, tag, status, part, recorder);
                    if let Some(events) = events {
                        events.came(first_place + tag, status, part, now, deadlines, recorder);
                    }
                })
            };
            let Received { consumed, event } = match received {
                Ok(received) => received,
                Err(malformed) => return Some(refused(malformed)),
            };
            rest = &rest[consumed..];
            let is_of_request = match event {
                Some(Event::Begun(tag)) => {
                    self.connection.answer_begun(tag, self.now);
                    true
                }
                Some(Event::Answered(_, answer)) if W::Exchange::FANS_OUT => self.received(&answer),
                Some(Event::Refused(_, refusal)) if W::Exchange::FANS_OUT => {
                    self.fan_out.iter_mut().for_each(|fan_out| fan_out.closes(W::refused(&refusal)));
                    true
                }
                Some(Event::Answered(tag, answer)) => self.answered(tag, &answer),
                Some(event) => self.unanswered(&event),
                None if is_end => return Some(Failure::ClosedEarly),
                None => true,
            };
            if !is_of_request {
                return Some(Failure::Malformed);
            }
            let Connection { exchange, requests, .. } = &*self.connection;
            match exchange.readiness() {
                // The peer answers none of the requests that are left.
                Readiness::Closed if !is_end => return Some(closed(exchange.ended_by())),
                Readiness::Busy if requests.is_empty() => return Some(Failure::ClosedEarly),
                _ if rest.is_empty() && !is_end && !exchange.has_input() => return None,
                _ => {}
            }
        }
    }

    /// Records a message that was published on another connection.
    #[inline]
    fn received(&mut self, answer: &AnswerOf<W>) -> bool {
        let Some(fan_out) = &mut self.fan_out else { return false };
        self.connection.received(self.now);
        let (body_bytes, framing_bytes) = W::lengths(answer);
        let mut books = Books {
            now: self.now,
            recorder: self.recorder,
            activity: self.activity,
            in_flight: self.in_flight,
        };
        fan_out.received(self.slot, body_bytes, framing_bytes, &mut books);
        true
    }

    /// Records an answer; false where no request was sent under its tag.
    #[inline]
    fn answered(&mut self, tag: Tag, answer: &AnswerOf<W>) -> bool {
        let Some((request, sent)) = self.connection.take_answered(tag, self.now) else { return false };
        if self.connection.answered_bodies.add(request.answered_before, W::lengths(answer).0) {
            self.recorder.multiplexing.answers_starved += 1;
        }
        self.has_ended = true;
        let Judged { failure, shown } = self.work.judge(&request, answer, self.now);
        if let Some(events) = &mut self.events {
            let status = shown.map(|shown| shown.status);
            events.answered(self.slot * self.at_once + tag, status, self.now, self.recorder);
        }
        let answer = self.connection.answer(&request, sent, self.now, shown);
        self.patience.answered(answer.done - answer.sent);
        if let Some(failure) = failure {
            if let Some(text) = self.connection.exchange.said() {
                self.recorder.explained(answer.due, failure, answer.operation, &text, None);
            }
            self.slow_requests.extend(self.recorder.wrong(&answer, failure));
            self.activity.failed(failure);
            self.error_bodies.ended(self.slot, tag);
        } else {
            self.slow_requests.extend(self.recorder.answered(&answer));
            self.activity.answered(answer.done - answer.due);
            self.error_bodies.answered(self.slot, tag, answer.due, answer.shown.as_ref(), self.recorder);
        }
        *self.in_flight -= 1;
        // The deadline of an upload stays: the next request waits for the rest of it.
        if !self.connection.exchange.is_writing_body(tag) {
            self.answer_deadlines.clear(self.slot * self.at_once + tag);
        }
        true
    }

    /// Records what became of a request that its connection does not answer; false where there is none under its tag.
    fn unanswered(&mut self, event: &Event<AnswerOf<W>>) -> bool {
        let tag = event.tag();
        self.error_bodies.ended(self.slot, tag);
        self.answer_deadlines.clear(self.slot * self.at_once + tag);
        if let Some(events) = &mut self.events {
            events.ended(self.slot * self.at_once + tag);
        }
        match self.connection.take_unanswered(tag, event, self.now) {
            Some(Unanswered::Failed(failed)) => {
                self.has_ended = true;
                self.explain(event, &failed);
                self.recorder.broken_off(failed.due, self.connection.broken_off(&failed));
                self.slow_requests.extend(self.recorder.failed(&failed));
                self.activity.failed(failed.failure);
                *self.in_flight -= 1;
            }
            Some(Unanswered::Moved(request)) => {
                self.has_moved = true;
                self.recorder.will_be_sent_again(request.due);
                self.moved.push_back((self.slot, request));
            }
            Some(Unanswered::Kept { due }) => self.recorder.will_be_sent_again(due),
            None => return false,
        }
        true
    }

    /// Records why a request alone has failed, where more can be said than its class.
    fn explain(&mut self, event: &Event<AnswerOf<W>>, failed: &FailedRequest) {
        let Event::Refused(_, refusal) = event else { return };
        let exchange = &self.connection.exchange;
        let (text, example) = match refusal {
            Refusal::ResetHttp3(code) => (Some(reset_in_words(*code).into()), None),
            Refusal::Malformed(malformed) => (Some(malformed.to_string().into()), exchange.example()),
            Refusal::Closed(_) => (exchange.complaint(), exchange.example()),
            Refusal::Ended(_) => (exchange.said(), None),
            Refusal::Reset(_) => (None, None),
        };
        if let Some(text) = text {
            self.recorder.explained(failed.due, failed.failure, failed.operation, &text, example);
        }
    }
}
