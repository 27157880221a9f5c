//! One connection slot and the requests that it carries.

use std::collections::VecDeque;

use loadcurve_plan::Nanos;
use loadcurve_record::{Answer, FailedRequest, Failure, HttpAnswer};
use loadcurve_wire::{Limits, Response, ResponseParser};

use crate::requests::{EncodedRequest, RequestSource};

/// Where a slot's connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Closed,
    Connecting,
    Open,
}

/// A request that a slot carries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InFlight {
    /// Which request of the load it is, in the order of the whole plan.
    pub(crate) number: u64,
    pub(crate) operation: usize,
    pub(crate) due: Nanos,
    /// When it was written; until then it waits for its connection.
    pub(crate) sent: Option<Nanos>,
    pub(crate) first_byte: Option<Nanos>,
    /// How long connecting took, where the request had to wait for it.
    pub(crate) connect: Option<Nanos>,
    /// Whether it found its connection open.
    pub(crate) reused: bool,
    /// Its place among the requests under way on this slot: free again when it is answered.
    pub(crate) place: usize,
}

/// A body on its way from its file to the connection. It outlives its request where that is answered early.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Upload {
    pub(crate) operation: usize,
    /// How much of the body has been written.
    pub(crate) offset: u64,
    /// When its request was due.
    pub(crate) due: Nanos,
    /// The place of its request, whose deadline is that of the upload until all is written.
    pub(crate) place: usize,
}

/// What bytes, or their end, meant for the oldest request under way.
#[derive(Debug)]
pub(crate) enum Reading {
    /// Its answer is not complete yet.
    Unfinished,
    /// It was answered, with a body of the verified length or another one; so many of the bytes belong to the answer,
    /// and the connection can be used again or not.
    Answered { answer: Answer, is_mismatched: bool, place: usize, consumed: usize, keep_alive: bool },
    /// It failed, and the connection with it.
    Failed(Failure),
    /// No request was under way; the connection is of no more use.
    Ended,
}

/// One connection slot.
pub(crate) struct Connection {
    /// Its number among the connections of the whole load.
    number: usize,
    pub(crate) state: State,
    /// When connecting began.
    pub(crate) since: Nanos,
    /// How often the SYN of the open connection was sent again; none where the kernel does not tell.
    pub(crate) syn_retransmits: Option<u32>,
    /// The requests under way, the oldest first.
    pub(crate) in_flight: VecDeque<InFlight>,
    /// Requests begun on this connection.
    pub(crate) calls: u64,
    /// Calls that a session has still to make; none outside a session.
    pub(crate) session: Option<u64>,
    /// The body under way; requests behind it wait for its end.
    pub(crate) upload: Option<Upload>,
    /// Whether requests of this slot wait to be written.
    pub(crate) is_unwritten: bool,
    /// Until when the slot rests, after a failed attempt to connect or to think.
    pub(crate) rests_until: Option<Nanos>,
    /// Whether the slot stands in the list of those that can take a request.
    pub(crate) is_listed: bool,
    /// Since when the slot can take a request.
    pub(crate) free_since: Nanos,
    /// Attempts to connect that failed since the last one that did not.
    pub(crate) failed_attempts: u32,
    parser: ResponseParser,
}

impl Connection {
    /// A closed connection for at most `pipeline` requests at once.
    pub(crate) fn new(number: usize, pipeline: usize) -> Self {
        Self {
            number,
            state: State::Closed,
            since: Nanos::ZERO,
            syn_retransmits: None,
            in_flight: VecDeque::with_capacity(pipeline),
            calls: 0,
            session: None,
            upload: None,
            is_unwritten: false,
            rests_until: None,
            is_listed: false,
            free_since: Nanos::ZERO,
            failed_attempts: 0,
            parser: ResponseParser::new(Limits::default()),
        }
    }

    /// Makes the slot ready for a new connection.
    pub(crate) fn reset(&mut self) {
        self.state = State::Closed;
        self.calls = 0;
        self.upload = None;
        self.parser.reset();
    }

    /// Reads bytes that arrived, up to the end of one answer.
    pub(crate) fn receive(&mut self, bytes: &[u8], requests: &RequestSource, now: Nanos) -> Reading {
        let Some(oldest) = self.in_flight.front_mut() else { return Reading::Ended };
        let Some(sent) = oldest.sent else { return Reading::Failed(Failure::Malformed) };
        oldest.first_byte.get_or_insert(now);
        let oldest = *oldest;
        let request = requests.encoded(oldest.operation);
        match self.parser.feed(bytes, request.kind) {
            Err(_) => Reading::Failed(Failure::Malformed),
            Ok(progress) => match progress.response {
                None => Reading::Unfinished,
                Some(response) => self.complete(oldest, sent, &response, request, progress.consumed, now),
            },
        }
    }

    /// The peer sends no more bytes: that may complete an answer.
    pub(crate) fn end_of_input(&mut self, requests: &RequestSource, now: Nanos) -> Reading {
        let Some(oldest) = self.in_flight.front().copied() else { return Reading::Ended };
        match (self.parser.end_of_input(), oldest.sent) {
            (Ok(Some(response)), Some(sent)) => {
                self.complete(oldest, sent, &response, requests.encoded(oldest.operation), 0, now)
            }
            _ => Reading::Failed(Failure::ClosedEarly),
        }
    }

    /// Takes the oldest request under way, which has failed, with its place.
    pub(crate) fn fail_oldest(&mut self, failure: Failure, now: Nanos) -> Option<(FailedRequest, usize)> {
        let oldest = self.in_flight.pop_front()?;
        let failed = FailedRequest {
            number: oldest.number,
            operation: oldest.operation,
            connection: self.number,
            due: oldest.due,
            sent: oldest.sent,
            first_byte: oldest.first_byte,
            failed: now,
            connect: oldest.connect,
            failure,
        };
        Some((failed, oldest.place))
    }

    fn complete(
        &mut self,
        oldest: InFlight,
        sent: Nanos,
        response: &Response,
        request: &EncodedRequest,
        consumed: usize,
        now: Nanos,
    ) -> Reading {
        self.in_flight.pop_front();
        let answer = Answer {
            number: oldest.number,
            operation: oldest.operation,
            connection: self.number,
            due: oldest.due,
            sent,
            done: now,
            connect: oldest.connect,
            http: Some(HttpAnswer {
                first_byte: oldest.first_byte.unwrap_or(now),
                status: response.status,
                header_bytes: response.header_bytes,
                body_bytes: response.body_bytes,
                framing_bytes: response.framing_bytes,
            }),
        };
        Reading::Answered {
            answer,
            is_mismatched: request.is_mismatched_by(response),
            place: oldest.place,
            consumed,
            keep_alive: response.keep_alive,
        }
    }
}
