//! One connection slot and the request that it carries.

use loadcurve_plan::Nanos;
use loadcurve_record::{Answer, Failure};
use loadcurve_wire::{Limits, RequestKind, Response, ResponseParser};

/// A request of the plan, encoded once.
pub(crate) struct EncodedRequest {
    pub(crate) bytes: Vec<u8>,
    pub(crate) kind: RequestKind,
    pub(crate) expected_body_bytes: Option<u64>,
}

impl EncodedRequest {
    /// Whether a successful answer has another body than the one that was verified.
    fn is_mismatched_by(&self, response: &Response) -> bool {
        let successful = (200..300).contains(&response.status);
        let has_body = self.kind != RequestKind::Head;
        successful
            && has_body
            && self.expected_body_bytes.is_some_and(|expected| expected != response.body_bytes)
    }
}

/// Where a slot's connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Closed,
    Connecting { since: Nanos },
    Open,
}

/// The request that a slot carries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InFlight {
    pub(crate) operation: usize,
    pub(crate) due: Nanos,
    /// When it was written; until then it waits for its connection.
    pub(crate) sent: Option<Nanos>,
    pub(crate) first_byte: Option<Nanos>,
    /// How long connecting took, where the request had to wait for it.
    pub(crate) connect: Option<Nanos>,
}

/// What bytes, or their end, meant.
#[derive(Debug)]
pub(crate) enum Reading {
    /// The answer is not complete yet.
    Unfinished,
    /// The request was answered, and the connection can be used again or not.
    Answered { answer: Answer, keep_alive: bool },
    /// The request failed, and the connection with it.
    Failed(Failure),
    /// No request was in flight; the connection is of no more use.
    Ended,
}

/// One connection slot.
pub(crate) struct Connection {
    /// Its number among the connections of the whole load.
    number: usize,
    pub(crate) state: State,
    pub(crate) in_flight: Option<InFlight>,
    /// Since when the slot can take a request.
    pub(crate) free_since: Nanos,
    /// Attempts to connect that failed since the last one that did not.
    pub(crate) failed_attempts: u32,
    parser: ResponseParser,
}

impl Connection {
    pub(crate) fn new(number: usize) -> Self {
        Self {
            number,
            state: State::Closed,
            in_flight: None,
            free_since: Nanos::ZERO,
            failed_attempts: 0,
            parser: ResponseParser::new(Limits::default()),
        }
    }

    /// Makes the slot ready for a new connection.
    pub(crate) fn reset(&mut self) {
        self.state = State::Closed;
        self.parser.reset();
    }

    /// Reads bytes that arrived.
    pub(crate) fn receive(&mut self, bytes: &[u8], requests: &[EncodedRequest], now: Nanos) -> Reading {
        let Some(in_flight) = &mut self.in_flight else { return Reading::Ended };
        let Some(sent) = in_flight.sent else { return Reading::Failed(Failure::Malformed) };
        in_flight.first_byte.get_or_insert(now);
        let request = &requests[in_flight.operation];
        match self.parser.feed(bytes, request.kind) {
            Err(_) => Reading::Failed(Failure::Malformed),
            Ok(progress) => match progress.response {
                None => Reading::Unfinished,
                Some(response) if request.is_mismatched_by(&response) => Reading::Failed(Failure::Mismatch),
                Some(response) => Reading::Answered {
                    answer: answer(self.number, *in_flight, sent, &response, now),
                    // Bytes that nobody asked for make the connection unfit for another request.
                    keep_alive: response.keep_alive && progress.consumed == bytes.len(),
                },
            },
        }
    }

    /// The peer sends no more bytes: that may complete an answer.
    pub(crate) fn end_of_input(&mut self, requests: &[EncodedRequest], now: Nanos) -> Reading {
        let Some(in_flight) = self.in_flight else { return Reading::Ended };
        match (self.parser.end_of_input(), in_flight.sent) {
            (Ok(Some(response)), Some(_)) if requests[in_flight.operation].is_mismatched_by(&response) => {
                Reading::Failed(Failure::Mismatch)
            }
            (Ok(Some(response)), Some(sent)) => Reading::Answered {
                answer: answer(self.number, in_flight, sent, &response, now),
                keep_alive: false,
            },
            _ => Reading::Failed(Failure::ClosedEarly),
        }
    }
}

fn answer(connection: usize, in_flight: InFlight, sent: Nanos, response: &Response, now: Nanos) -> Answer {
    Answer {
        operation: in_flight.operation,
        connection,
        due: in_flight.due,
        sent,
        first_byte: in_flight.first_byte.unwrap_or(now),
        done: now,
        connect: in_flight.connect,
        status: response.status,
        header_bytes: response.header_bytes,
        body_bytes: response.body_bytes,
        framing_bytes: response.framing_bytes,
    }
}
