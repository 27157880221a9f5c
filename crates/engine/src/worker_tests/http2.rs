//! Loads over HTTP/2 against what arithmetic and the theory of queues give, as those over HTTP/1.x are.

use std::collections::BTreeSet;

use loadcurve_plan::{Arrivals, Conversation, HttpLoad, HttpVersion, Model, Nanos, Rate, Stop};
use loadcurve_record::TimeHistogram;
use loadcurve_wire::{Http2, Http2Settings};

use super::md1::{poisson_arrivals, waits};
use super::peer::{self, Outcome, Peer};
use super::simulated::START;
use super::{BETWEEN_STALLS, STALLS, assert_latency_shows, closed, ms, open, plan, stalling, taking};
use crate::io::Slot;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
const SETTINGS_ACKNOWLEDGED: [u8; 9] = [0, 0, 0, 4, 1, 0, 0, 0, 0];

/// A server of HTTP/2 that answers each request with status 200 and no body, when `service` says.
struct Server<S> {
    service: S,
    /// The slots whose connection has begun.
    begun: BTreeSet<Slot>,
}

impl<S: FnMut(Nanos) -> Option<Nanos>> Peer for Server<S> {
    fn answers(&mut self, slot: Slot, now: Nanos, bytes: &[u8]) -> Vec<(Nanos, Vec<u8>)> {
        let mut answers = Vec::new();
        let mut frames = bytes;
        if self.begun.insert(slot) {
            frames = bytes.strip_prefix(PREFACE).expect("a connection begins with the preface");
            answers.push((now, [SETTINGS, SETTINGS_ACKNOWLEDGED].concat()));
        }
        while let [l0, l1, l2, kind, _, s0, s1, s2, s3, behind @ ..] = frames {
            frames = &behind[u32::from_be_bytes([0, *l0, *l1, *l2]) as usize..];
            if *kind == 1
                && let Some(done) = (self.service)(now)
            {
                // One field of the static table, :status 200; flags end the header block and the stream.
                answers.push((done, vec![0, 0, 1, 1, 5, *s0, *s1, *s2, *s3, 0x88]));
            }
        }
        assert!(frames.is_empty(), "{frames:?} is no frame");
        answers
    }
}

fn over_http2(
    plan: HttpLoad,
    streams: usize,
    service: impl FnMut(Nanos) -> Option<Nanos> + 'static,
) -> Outcome {
    let plan = plan.with(|http| {
        http.http = HttpVersion::Http2;
        http.conversation = Conversation { streams, ..Conversation::default() };
    });
    let server = Server { service, begun: BTreeSet::new() };
    peer::run::<Http2>(&plan, Http2Settings::default(), Nanos::ZERO, server)
}

#[test]
fn a_closed_loop_of_connections_and_streams_keeps_their_product_of_requests_under_way() {
    // 4 connections of 8 streams, 2 ms each: 32 / 0.002 s = 16,000 requests in a second.
    let plan = HttpLoad { warmup_s: 0.1, ..closed(4, Stop::DurationS(1.0)) };
    let recorder = over_http2(plan, 8, taking(ms(2))).recorder;
    assert_eq!(recorder.requests.answered, 16_000);
    assert_eq!(recorder.latency().extremes(), Some((ms(2), ms(2))));
    assert_eq!(recorder.service_time.extremes(), Some((ms(2), ms(2))));
}

#[test]
fn stalls_show_in_the_latency_where_every_request_finds_a_stream() {
    // During the longer stall 0.3 s · 2000 per second = 600 requests wait, on 7 connections of 100 streams.
    for stalls in STALLS {
        let recorder = over_http2(open(7, 2_000.0, Stop::DurationS(10.0)), 100, stalling(stalls)).recorder;
        assert_eq!(recorder.requests.answered, 20_000);
        assert_latency_shows(stalls, &recorder.latency());
        assert_latency_shows(stalls, &recorder.service_time);
        assert_eq!(recorder.lateness.extremes(), Some((Nanos::ZERO, Nanos::ZERO)));
    }
}

#[test]
fn stalls_show_in_the_latency_even_where_requests_wait_unsent_for_a_stream() {
    for stalls in STALLS {
        let recorder = over_http2(open(2, 2_000.0, Stop::DurationS(10.0)), 5, stalling(stalls)).recorder;
        assert_eq!(recorder.requests.answered, 20_000);
        assert_latency_shows(stalls, &recorder.latency());
        // Ten requests are sent into each stall, which the others wait for unsent.
        assert_eq!(recorder.service_time.extremes(), Some((BETWEEN_STALLS, stalls.length + BETWEEN_STALLS)));
        // Waiting for a stream is the server's doing, not the generator's.
        assert_eq!(recorder.lateness.extremes(), Some((Nanos::ZERO, Nanos::ZERO)));
    }
}

#[test]
fn each_request_waits_for_those_before_it_whatever_connection_and_stream_it_has() {
    const RATE_RPS: f64 = 140.0;
    const SERVICE_TIME: Nanos = ms(5);
    const REQUESTS: u64 = 100_000;
    let mut expected = TimeHistogram::default();
    let due = poisson_arrivals(RATE_RPS, 1);
    for wait in waits(due, SERVICE_TIME).take(usize::try_from(REQUESTS).unwrap()) {
        expected.record(wait + SERVICE_TIME);
    }
    for (connections, streams) in [(1, 100), (10, 100), (100, 1)] {
        let model =
            Model::Open { connections, rate_rps: Rate::Constant(RATE_RPS), arrivals: Arrivals::Poisson };
        let plan = HttpLoad { seed: 1, ..plan(model, Stop::RequestsTotal(REQUESTS)) };
        let mut free_at = START;
        let one_after_the_other = move |arrival| {
            free_at = free_at.max(arrival) + SERVICE_TIME;
            Some(free_at)
        };
        let found = over_http2(plan, streams, one_after_the_other).recorder.latency();
        assert_eq!((found.count(), found.extremes()), (REQUESTS, expected.extremes()));
        assert_eq!(found.mean_ns(), expected.mean_ns());
        assert_eq!(found.standard_deviation_ns(), expected.standard_deviation_ns());
    }
}
