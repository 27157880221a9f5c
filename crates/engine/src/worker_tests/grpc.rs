//! Calls of gRPC on the simulated clock: what each time is where answers are streams of messages.

use std::collections::BTreeSet;

use loadcurve_plan::{Call, Grpc as Calls, HttpLoad, HttpVersion, Messages, Nanos, Stop};
use loadcurve_record::{Distribution, Failure, TimeHistogram};
use loadcurve_wire::{Grpc, GrpcAnswer, GrpcSettings};

use super::http2::{PREFACE, SETTINGS_ACKNOWLEDGED};
use super::http2_uploads::frames_of;
use super::peer::{self, Delays, Outcome, Peer};
use super::{closed, ms};
use crate::io::Slot;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
/// The head of an answer, and its end with a status (a literal that goes into no table, RFC 7541, 6.2.2).
const OK_HEAD: &[u8] = &[0x88];
const STATUS: &[u8] = b"\x00\x0bgrpc-status\x01";

fn frame(kind: u8, flags: u8, stream: [u8; 4], payload: &[u8]) -> Vec<u8> {
    let [_, length @ ..] = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[..], &[kind, flags], &stream, payload].concat()
}

/// A server that answers each whole call with messages of three bytes so long after it, and then ends it with a status or
/// does not.
struct Streaming {
    messages: Vec<Nanos>,
    status: Option<u8>,
    begun: BTreeSet<Slot>,
}

impl Streaming {
    fn new(messages: Vec<Nanos>, status: Option<u8>) -> Self {
        Self { messages, status, begun: BTreeSet::new() }
    }
}

impl Peer for Streaming {
    fn answers(&mut self, slot: Slot, now: Nanos, bytes: &[u8]) -> Vec<(Nanos, Vec<u8>)> {
        let mut answers = Vec::new();
        let frames = bytes.strip_prefix(PREFACE).unwrap_or(bytes);
        if self.begun.insert(slot) {
            answers.push((now, [&frame(4, 0, [0; 4], &[])[..], &SETTINGS_ACKNOWLEDGED].concat()));
        }
        for (kind, flags, stream, _) in frames_of(frames) {
            if kind != DATA || flags & 1 == 0 {
                continue;
            }
            answers.push((now, frame(HEADERS, 4, stream, OK_HEAD)));
            let message = |after: &Nanos| (now + *after, frame(DATA, 0, stream, b"\0\0\0\0\x03abc"));
            answers.extend(self.messages.iter().map(message));
            if let Some(status) = self.status {
                let trailers = [STATUS, &[b'0' + status]].concat();
                answers.push((now + *self.messages.last().unwrap(), frame(HEADERS, 5, stream, &trailers)));
            }
        }
        answers
    }
}

/// One connection that makes one call after the other, with a timeout of 100 ms.
fn run(stop: Stop, calls: Calls, peer: Streaming) -> Outcome {
    let plan = closed(1, stop).with(|http| {
        http.http = HttpVersion::Http2;
        http.messages = Some(Messages::Grpc(calls));
    });
    let plan = HttpLoad { timeout_s: 0.1, ..plan };
    let settings = GrpcSettings { answer: GrpcAnswer::Stream, ..GrpcSettings::default() };
    peer::run::<Grpc>(&plan, settings, Delays::default(), peer)
}

fn streams() -> Calls {
    Calls { call: Call::ServerStream, events_expected: Some(10), ..Calls::default() }
}

fn every(milliseconds: u64, count: u64) -> Vec<Nanos> {
    (1..=count).map(|number| ms(number * milliseconds)).collect()
}

fn extremes(times: &TimeHistogram) -> (u64, Option<f64>, Option<f64>) {
    let Distribution { count, min, max, .. } = times.into();
    (count, min, max)
}

#[test]
fn a_streamed_answer_longer_than_the_timeout_shows_its_first_message_and_its_gaps() {
    // At 30, 60 … 300 ms, with the trailers behind the last one.
    let Outcome { recorder, .. } =
        run(Stop::RequestsTotal(2), streams(), Streaming::new(every(30, 10), Some(0)));
    assert_eq!((recorder.requests.answered, recorder.failures.total()), (2, 0));
    assert_eq!(recorder.latency().extremes(), Some((ms(300), ms(300))));
    let messages = &recorder.messages;
    assert_eq!(extremes(&messages.first_from_due), (2, Some(30.0), Some(30.0)));
    assert_eq!(extremes(&messages.gap), (18, Some(30.0), Some(30.0)));
    assert_eq!((messages.received, messages.delivered, messages.data_bytes), (20, 20, 60));
}

#[test]
fn a_stream_that_ends_with_an_error_has_failed_by_its_status_and_its_messages_came() {
    let Outcome { recorder, .. } =
        run(Stop::RequestsTotal(1), streams(), Streaming::new(every(30, 2), Some(8)));
    assert_eq!((recorder.requests.answered, recorder.failures[Failure::GrpcResourceExhausted]), (0, 1));
    assert_eq!((recorder.messages.received, recorder.messages.delivered), (2, 2));
}

#[test]
fn an_endless_stream_is_reset_after_its_time_and_the_next_call_goes_on_on_the_same_connection() {
    let calls = Calls { stream_for_s: Some(0.2), ..streams() };
    let Outcome { recorder, .. } = run(Stop::DurationS(1.0), calls, Streaming::new(every(50, 1000), None));
    // Due at 0, 200 … 800 ms; the last one ends with the load.
    assert_eq!((recorder.requests.due, recorder.requests.answered), (5, 5));
    assert_eq!((recorder.failures.total(), recorder.messages.ended_by_client), (0, 5));
    assert_eq!(recorder.connections.opened, 1);
}
