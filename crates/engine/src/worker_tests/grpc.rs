//! Calls of gRPC on the simulated clock: what each time is where answers are streams of messages.

use std::collections::{BTreeMap, BTreeSet};

use loadcurve_plan::{
    Call, Conversation, Grpc as Calls, HttpLoad, HttpVersion, Messages, Nanos, Requests, Stop,
};
use loadcurve_record::{Distribution, Failure, TimeHistogram};
use loadcurve_wire::{Grpc, GrpcAnswer, GrpcCalls, GrpcSettings};

use super::http2::{PREFACE, SETTINGS_ACKNOWLEDGED};
use super::http2_uploads::frames_of;
use super::peer::{self, Delays, Outcome, Peer};
use super::{Service, closed, ms, open, taking};
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

/// A server that answers each message when its service says, and ends a call with status 8 in place of the last of this many
/// answers.
pub(super) struct Answering {
    service: Service,
    per_call: u64,
    begun: BTreeSet<Slot>,
    came: BTreeMap<(Slot, [u8; 4]), u64>,
}

impl Answering {
    fn new(service_time: Nanos, per_call: u64) -> Self {
        Self { per_call, ..Self::serving(Box::new(taking(service_time))) }
    }

    pub(super) fn serving(service: Service) -> Self {
        Self { service, per_call: u64::MAX, begun: BTreeSet::new(), came: BTreeMap::new() }
    }
}

impl Peer for Answering {
    fn answers(&mut self, slot: Slot, now: Nanos, bytes: &[u8]) -> Vec<(Nanos, Vec<u8>)> {
        let mut answers = Vec::new();
        let frames = bytes.strip_prefix(PREFACE).unwrap_or(bytes);
        if self.begun.insert(slot) {
            answers.push((now, [&frame(4, 0, [0; 4], &[])[..], &SETTINGS_ACKNOWLEDGED].concat()));
        }
        for (kind, _, stream, payload) in frames_of(frames) {
            if kind != DATA || payload.is_empty() {
                continue;
            }
            let came = self.came.entry((slot, stream)).or_default();
            *came += 1;
            if *came == 1 {
                answers.push((now, frame(HEADERS, 4, stream, OK_HEAD)));
            }
            let answer = if *came == self.per_call {
                frame(HEADERS, 5, stream, &[STATUS, b"8"].concat())
            } else {
                frame(DATA, 0, stream, payload)
            };
            answers.extend((self.service)(now).map(|done| (done, answer)));
        }
        answers
    }
}

/// Runs a load of messages on calls that are kept.
pub(super) fn run_kept(plan: HttpLoad, streams: usize, peer: Answering) -> Outcome {
    let plan = plan.with(|http| {
        http.http = HttpVersion::Http2;
        http.conversation = Conversation { streams, ..Conversation::default() };
        http.messages = Some(Messages::Grpc(Calls { call: Call::Bidirectional, ..Calls::default() }));
        let Requests::Given(requests) = &mut http.requests else { panic!("they are given") };
        requests[0].method = "POST".into();
    });
    let settings = GrpcSettings {
        calls: GrpcCalls { answer: GrpcAnswer::Each, ..GrpcCalls::default() },
        ..GrpcSettings::default()
    };
    peer::run::<Grpc>(&plan, settings, Delays::default(), peer)
}

/// One connection that makes one call after the other, with a timeout of 100 ms.
fn run(stop: Stop, calls: Calls, peer: Streaming) -> Outcome {
    let plan = closed(1, stop).with(|http| {
        http.http = HttpVersion::Http2;
        http.messages = Some(Messages::Grpc(calls));
    });
    let plan = HttpLoad { timeout_s: 0.1, ..plan };
    let settings = GrpcSettings {
        calls: GrpcCalls { answer: GrpcAnswer::Stream, ..GrpcCalls::default() },
        ..GrpcSettings::default()
    };
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

#[test]
fn a_closed_loop_has_a_message_under_way_on_each_call_all_the_time() {
    // 2 connections of 4 calls, 5 ms each: 8 / 0.005 s = 1,600 messages in a second.
    let plan = HttpLoad { warmup_s: 0.1, ..closed(2, Stop::DurationS(1.0)) };
    let Outcome { recorder, .. } = run_kept(plan, 4, Answering::new(ms(5), u64::MAX));
    assert_eq!((recorder.answered_within, recorder.failures.total()), (1_600, 0));
    assert_eq!(recorder.latency().extremes(), Some((ms(5), ms(5))));
    assert_eq!(recorder.connections.opened, 2);
}

#[test]
fn messages_on_a_schedule_count_from_when_they_were_due_whatever_the_server_does() {
    // 100 are due in a second, and the two calls take 50 ms for each message: 40 are answered, and the others wait.
    let plan = HttpLoad { timeout_s: 10.0, ..open(1, 100.0, Stop::RequestsTotal(100)) };
    let Outcome { recorder, .. } = run_kept(plan, 2, Answering::new(ms(50), u64::MAX));
    let requests = &recorder.requests;
    assert_eq!((requests.due, requests.answered), (100, 100));
    assert_eq!(recorder.service_time.extremes(), Some((ms(50), ms(50))));
    // The last of fifty on a call is answered at 2,500 ms or a little later; it was due at 980 or 990 ms.
    let longest = recorder.latency().extremes().unwrap().1;
    assert!(longest >= ms(1_500) && longest <= ms(1_530), "{longest:?}");
}

#[test]
fn a_call_that_its_server_ends_fails_the_message_under_way_by_its_status_and_is_opened_anew() {
    let Outcome { recorder, .. } = run_kept(closed(1, Stop::RequestsTotal(10)), 1, Answering::new(ms(1), 3));
    // Of three messages in a row the third one fails.
    assert_eq!((recorder.requests.answered, recorder.failures[Failure::GrpcResourceExhausted]), (7, 3));
    assert_eq!((recorder.requests.due, recorder.connections.opened), (10, 1));
}
