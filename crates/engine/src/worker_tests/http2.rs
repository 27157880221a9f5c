//! Loads over HTTP/2 against what arithmetic and the theory of queues give, as those over HTTP/1.x are.

use std::collections::BTreeMap;

use loadcurve_plan::{Arrivals, Conversation, HttpLoad, HttpVersion, Model, Nanos, Rate, Stop};
use loadcurve_record::{Failure, TimeHistogram, Unserved};
use loadcurve_wire::{Http2, Http2Settings};

use super::md1::{poisson_arrivals, waits};
use super::peer::{self, Delays, Outcome, Peer};
use super::simulated::START;
use super::{
    STALLS, assert_latency_shows, assert_latency_shows_unsent, closed, ms, open, plan, stalling, taking,
};
use crate::io::Slot;

pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
pub(super) const SETTINGS_ACKNOWLEDGED: [u8; 9] = [0, 0, 0, 4, 1, 0, 0, 0, 0];

/// A server of HTTP/2 that answers each request with status 200 and no body, when `service` says.
struct Server<S> {
    service: S,
    /// How many streams of a connection it allows at once, if it has a limit.
    allowed: Option<u32>,
    /// The slots whose connection has begun, each with the times at which its requests are answered.
    begun: BTreeMap<Slot, Vec<Nanos>>,
}

impl<S> Server<S> {
    fn new(service: S) -> Self {
        Self { service, allowed: None, begun: BTreeMap::new() }
    }

    /// A request has come that is answered then: those that are under way on its connection are as many as are allowed.
    fn take(&mut self, slot: Slot, now: Nanos, done: Nanos) {
        let under_way = self.begun.entry(slot).or_default();
        under_way.retain(|done| *done > now);
        under_way.push(done);
        if let Some(allowed) = self.allowed {
            assert!(under_way.len() <= allowed as usize, "{} streams on a connection", under_way.len());
        }
    }
}

impl<S: FnMut(Nanos) -> Option<Nanos>> Peer for Server<S> {
    fn answers(&mut self, slot: Slot, now: Nanos, bytes: &[u8]) -> Vec<(Nanos, Vec<u8>)> {
        let mut answers = Vec::new();
        let mut frames = bytes;
        if let Some(behind) = bytes.strip_prefix(PREFACE) {
            self.begun.insert(slot, Vec::new());
            frames = behind;
            answers.push((now, [settings(self.allowed), SETTINGS_ACKNOWLEDGED.into()].concat()));
        }
        assert!(self.begun.contains_key(&slot), "a connection begins with the preface");
        while let [l0, l1, l2, kind, _, s0, s1, s2, s3, behind @ ..] = frames {
            frames = &behind[u32::from_be_bytes([0, *l0, *l1, *l2]) as usize..];
            if *kind == 1
                && let Some(done) = (self.service)(now)
            {
                self.take(slot, now, done);
                // One field of the static table, :status 200; flags end the header block and the stream.
                answers.push((done, vec![0, 0, 1, 1, 5, *s0, *s1, *s2, *s3, 0x88]));
            }
        }
        assert!(frames.is_empty(), "{frames:?} is no frame");
        answers
    }
}

/// The settings of a server that allows this many streams at once (setting 3).
fn settings(allowed: Option<u32>) -> Vec<u8> {
    let Some(allowed) = allowed else { return SETTINGS.into() };
    [&[0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3], allowed.to_be_bytes().as_slice()].concat()
}

fn over_http2(
    plan: HttpLoad,
    streams: usize,
    service: impl FnMut(Nanos) -> Option<Nanos> + 'static,
) -> Outcome {
    talking(plan, Conversation { streams, ..Conversation::default() }, service)
}

fn talking(
    plan: HttpLoad,
    conversation: Conversation,
    service: impl FnMut(Nanos) -> Option<Nanos> + 'static,
) -> Outcome {
    asking(plan, conversation, Server::new(service))
}

fn asking(plan: HttpLoad, conversation: Conversation, peer: impl Peer) -> Outcome {
    let plan = plan.with(|http| {
        http.http = HttpVersion::Http2;
        http.conversation = conversation;
    });
    peer::run::<Http2>(&plan, Http2Settings::default(), Delays::default(), peer)
}

/// Loads a server that allows fewer streams than the load asks for.
fn limited(
    plan: HttpLoad,
    streams: usize,
    allowed: u32,
    service: impl FnMut(Nanos) -> Option<Nanos> + 'static,
) -> Outcome {
    let server = Server { allowed: Some(allowed), ..Server::new(service) };
    asking(plan, Conversation { streams, ..Conversation::default() }, server)
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
fn a_closed_loop_keeps_the_streams_of_its_load_under_way_even_where_the_server_allows_fewer() {
    // Streams asked for and allowed, and what the slowest of the requests wait for: each answer lets the next one begin,
    // which all others queue before, so it is sent after as many round trips as they fill.
    for (streams, allowed, slowest_ms) in [(50, 8, 70), (50, 50, 10), (200, 100, 20), (1_000, 1, 10_000)] {
        let connections = 2;
        let plan = HttpLoad { warmup_s: 10.0, ..closed(connections, Stop::DurationS(30.0)) };
        let recorder = limited(plan, streams, allowed, taking(ms(10))).recorder;
        // The server ends `allowed` requests of each connection in 10 ms, 100 times a second.
        assert_eq!(recorder.answered_within, connections as u64 * 3_000 * u64::from(allowed));
        let (fastest, slowest) = recorder.latency().extremes().unwrap();
        assert_eq!(slowest, ms(slowest_ms));
        // Those that are answered together begin together, and differ by one round at most.
        assert!(slowest - fastest <= ms(10), "{fastest:?} to {slowest:?}");
        // Little's law: as many are under way as were asked for, and each of them counts from when it was due.
        let rate_rps = recorder.answered_within as f64 / 30.0;
        let under_way = rate_rps * recorder.latency().mean_ns().unwrap() / 1e9;
        assert!((under_way / (connections * streams) as f64 - 1.0).abs() < 0.01, "{under_way}");
        assert_eq!(recorder.service_time.extremes(), Some((ms(10), ms(10))));
        let waits = &recorder.multiplexing.stream_wait;
        if streams == allowed as usize {
            assert_eq!(waits.count(), 0);
        } else {
            assert_eq!(waits.count(), recorder.requests.sent);
            assert_eq!(waits.extremes().map(|(_, longest)| longest), Some(slowest - ms(10)));
        }
    }
}

#[test]
fn a_closed_loop_ends_all_the_same_where_the_last_of_its_requests_wait_for_a_stream() {
    // 1,000 requests of 50 streams through 8: 125 round trips.
    let outcome = limited(closed(1, Stop::RequestsTotal(1_000)), 50, 8, taking(ms(10)));
    assert_eq!(outcome.recorder.requests.answered, 1_000);
    assert_eq!(outcome.written.last().map(|(time, _)| *time), Some(ms(1_240)));
}

#[test]
fn requests_that_wait_for_a_stream_for_longer_than_an_answer_may_take_have_timed_out() {
    // One stream of 10 ms each, and 20 requests under way: the last would begin after 190 ms.
    let plan = HttpLoad { timeout_s: 0.1, ..closed(1, Stop::RequestsTotal(20)) };
    let recorder = limited(plan, 20, 1, taking(ms(10))).recorder;
    assert_eq!((recorder.requests.answered, recorder.failures[Failure::Timeout]), (10, 10));
}

#[test]
fn a_request_that_is_due_goes_to_the_first_stream_that_comes_free_and_not_into_the_queue_of_a_connection() {
    // Two connections of one stream each. While the first two requests take 20 ms, 18 more fall due; one of these takes
    // 500 ms, and the others go on the other connection, 1 ms each.
    let mut number = 0;
    let service = move |arrived: Nanos| {
        number += 1;
        let takes = if number <= 2 { 20 } else { 1 + 499 * u64::from(number == 3) };
        Some(arrived + ms(takes))
    };
    let recorder = limited(open(2, 1_000.0, Stop::RequestsTotal(100)), 10, 1, service).recorder;
    let latencies = recorder.latency();
    assert_eq!((latencies.count(), latencies.extremes().map(|(_, longest)| longest)), (100, Some(ms(518))));
    // From the second slowest on, all were answered before the long one.
    assert_eq!(recorder.slowest.in_order().iter().filter(|one| one.latency > ms(40)).count(), 1);
}

#[test]
fn streams_that_wait_through_the_window_are_counted_on_connections_that_are_served() {
    // Of 20 requests at once the last three wait on. A connection writes its ten together, so they are on one of them.
    let plan = HttpLoad { warmup_s: 1.0, ..closed(2, Stop::DurationS(2.0)) };
    let mut asked = 0;
    let service = move |arrival| {
        asked += 1;
        (!(18..=20).contains(&asked)).then(|| arrival + ms(10))
    };
    let recorder = over_http2(plan, 10, service).recorder;
    let unserved = Unserved { requests: 3, connections: 1, oldest: ms(3_000), asked: 2, served: 2 };
    assert_eq!(recorder.unserved(START + ms(3_000)), unserved);
    assert_eq!(recorder.balance(), Ok(()));
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
        assert_latency_shows_unsent(stalls, &recorder, 20_000);
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

/// Connections that arrive each second.
fn sessions(total: u64) -> HttpLoad {
    let model = Model::Sessions {
        connection_rate_cps: Rate::Constant(1.0),
        arrivals: Arrivals::Constant,
        connections: 10,
    };
    plan(model, Stop::ConnectionsTotal(total))
}

#[test]
fn a_session_opens_the_streams_of_a_burst_together_and_thinks_between_bursts() {
    // Eight calls in two bursts of four, 10 ms each, and 100 ms of thought between them.
    let conversation = Conversation { streams: 4, calls: Some(8), think_s: 0.1, ..Conversation::default() };
    let outcome = talking(sessions(3), conversation, taking(ms(10)));
    let recorder = &outcome.recorder;
    assert_eq!((recorder.requests.answered, recorder.connections.opened), (24, 3));
    assert_eq!(recorder.latency().extremes(), Some((ms(10), ms(10))));
    assert_eq!(recorder.lifetime.extremes(), Some((ms(120), ms(120))));
    // Bursts leave in one write each: at the start of a session and 110 ms later.
    let requests_in = |bytes: &[u8]| {
        let mut frames = bytes.strip_prefix(PREFACE).unwrap_or(bytes);
        let mut requests = 0;
        while let [l0, l1, l2, kind, _, _, _, _, _, behind @ ..] = frames {
            requests += usize::from(*kind == 1);
            frames = &behind[u32::from_be_bytes([0, *l0, *l1, *l2]) as usize..];
        }
        requests
    };
    let bursts = outcome.written.iter().map(|(time, bytes)| (*time, requests_in(bytes)));
    let bursts: Vec<_> = bursts.filter(|(_, requests)| *requests > 0).collect();
    assert_eq!(bursts, [0, 110, 1_000, 1_110, 2_000, 2_110].map(|time| (ms(time), 4)));
}

/// A server that reads nothing behind what arrives with the first request, and sends a response without end with pings.
struct Flooding;

impl Peer for Flooding {
    fn answers(&mut self, _: Slot, now: Nanos, bytes: &[u8]) -> Vec<(Nanos, Vec<u8>)> {
        if bytes.starts_with(PREFACE) {
            return vec![(now, [SETTINGS, SETTINGS_ACKNOWLEDGED].concat())];
        }
        let begun = vec![0, 0, 1, 1, 4, 0, 0, 0, 1, 0x88];
        let ping_and_data =
            [0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 1, 0, 0, 0, 0, 0, 1, b'x'];
        let floods = (1..=1_000).map(|at| (now + ms(at), ping_and_data.repeat(100)));
        [(now, begun)].into_iter().chain(floods).collect()
    }
}

fn not_reading(plan: HttpLoad, streams: usize, peer: impl Peer) -> Outcome {
    let conversation = Conversation { streams, calls: Some(2), ..Conversation::default() };
    let plan = HttpLoad { timeout_s: 0.5, ..plan }.with(|http| {
        http.http = HttpVersion::Http2;
        http.conversation = conversation;
    });
    let delays = Delays { part: Nanos::NEVER, ..Delays::default() };
    peer::run::<Http2>(&plan, Http2Settings::default(), delays, peer)
}

#[test]
fn a_server_that_floods_and_does_not_read_ends_as_malformed_and_is_answered_a_bounded_number_of_times() {
    let outcome = not_reading(sessions(1), 1, Flooding);
    assert_eq!(outcome.recorder.failures[Failure::Malformed], 1);
    let explanations = outcome.recorder.explanations.most_frequent(1);
    assert!(format!("{explanations:?}").contains("(a flood)"), "{explanations:?}");
    let answered_bytes: usize = outcome.written.iter().map(|(_, bytes)| bytes.len()).sum();
    assert!(answered_bytes < 300_000, "{answered_bytes}");
}

#[test]
fn requests_to_a_server_that_does_not_read_any_more_time_out_with_their_connection() {
    // It never takes the acknowledgement of its settings: two requests wait behind that, and the third leaves with the one
    // of the next connection.
    let server = Server::new(|_: Nanos| None::<Nanos>);
    let outcome = not_reading(closed(1, Stop::RequestsTotal(3)), 2, server);
    assert_eq!(outcome.recorder.failures[Failure::Timeout], 3);
    assert_eq!((outcome.recorder.connections.opened, outcome.recorder.requests.sent), (2, 1));
    assert_eq!(outcome.latencies(), [ms(500), ms(500), ms(500)]);
}

/// A server of HTTP/2 that sends the head of its first answer at once, and the rest only after `passing` others of 16 KiB.
struct Starving {
    passing: u64,
    first: Option<[u8; 4]>,
    answered: u64,
}

impl Peer for Starving {
    fn answers(&mut self, _: Slot, now: Nanos, bytes: &[u8]) -> Vec<(Nanos, Vec<u8>)> {
        let mut sent = Vec::new();
        let mut frames = bytes;
        if let Some(behind) = bytes.strip_prefix(PREFACE) {
            frames = behind;
            sent.extend([SETTINGS, SETTINGS_ACKNOWLEDGED].concat());
        }
        while let [l0, l1, l2, kind, _, s0, s1, s2, s3, behind @ ..] = frames {
            frames = &behind[u32::from_be_bytes([0, *l0, *l1, *l2]) as usize..];
            if *kind != 1 {
                continue;
            }
            let stream = [*s0, *s1, *s2, *s3];
            sent.extend([&[0, 0, 1, 1, 4][..], &stream, &[0x88]].concat());
            if self.first.is_none() {
                self.first = Some(stream);
                continue;
            }
            self.answered += 1;
            sent.extend([&[0, 0x40, 0, 0, 1][..], &stream, &[b'x'; 16 << 10]].concat());
            if self.answered == self.passing {
                let first = self.first.unwrap_or_default();
                sent.extend([&[0, 0x40, 0, 0, 1][..], &first, &[b'x'; 16 << 10]].concat());
            }
        }
        // Nothing at all would be the end of the connection.
        (!sent.is_empty()).then_some((now + ms(1), sent)).into_iter().collect()
    }
}

#[test]
fn an_answer_that_had_begun_and_that_many_others_passed_is_counted_as_starved_whether_it_ends_or_times_out() {
    let starved = |passing, requests| {
        let plan = closed(1, Stop::RequestsTotal(requests));
        let plan = HttpLoad { timeout_s: 0.5, ..plan }.with(|http| {
            http.http = HttpVersion::Http2;
            http.conversation = Conversation { streams: 4, ..Conversation::default() };
        });
        let server = Starving { passing, first: None, answered: 0 };
        let outcome = peer::run::<Http2>(&plan, Http2Settings::default(), Delays::default(), server);
        let recorder = outcome.recorder;
        (recorder.failures[Failure::Timeout], recorder.multiplexing.answers_starved)
    };
    // Eight times as many as there are streams are the least of which the first answer is starved.
    assert_eq!(starved(31, 200), (0, 0));
    assert_eq!(starved(32, 200), (0, 1));
    // In 500 ms three streams answer about a thousand others.
    assert_eq!(starved(u64::MAX, 900), (1, 1));
}
