//! Whole loads against servers whose service times are known, on a clock that jumps: what is measured is compared
//! with what arithmetic gives.

mod conversations;
mod edges;
mod endings;
mod events;
mod exchanges;
mod fan_out;
mod grpc;
mod http2;
mod http2_uploads;
#[cfg(feature = "tls")]
mod http3;
mod levels;
mod limits;
mod lost;
mod md1;
mod peer;
mod polling;
mod queue;
mod replay;
mod shares;
mod simulated;
mod slowest;
mod stalled_messages;
mod timers;
mod turns;
mod uploads;
mod verdicts;
mod websocket_http2;
mod works;

use loadcurve_plan::{
    Arrivals, Body, Conversation, Http, Http2, HttpLoad, HttpVersion, IoChoice, Model, Nanos, Pick, Rate,
    Request, Requests, Sockets, Stop, Waiting,
};
use loadcurve_record::{CoarseHistogram, Failure, Recorder, RequestCounts, TimeHistogram};

use crate::part::{CpuUse, Polling, WaitedBy};
use simulated::{Accepting, START, Simulation};

const fn ms(milliseconds: u64) -> Nanos {
    Nanos::from_millis(milliseconds)
}

/// A plan of one request, over one thread, with nothing special.
pub(crate) fn plan(model: Model, stop: Stop) -> HttpLoad {
    HttpLoad {
        work: Http {
            address: "127.0.0.1:80".parse().unwrap(),
            way: Box::default(),
            source_addresses: vec![],
            authority: "localhost".into(),
            http: HttpVersion::Http11,
            tls: None,
            h2: Http2::default(),
            requests: Requests::Given(vec![get()]),
            conversation: Conversation::default(),
            pick: Pick::InOrder,
            messages: None,
            sockets: Sockets::Connection,
        },
        model,
        stop,
        warmup_s: 0.0,
        timeout_s: 10.0,
        seed: 0,
        threads: 1,
        cpus: vec![],
        io: IoChoice::Auto,
        waiting: Waiting::Auto,
    }
}

/// A request without anything special.
fn get() -> Request {
    Request {
        method: "GET".into(),
        target: "/".into(),
        headers: vec![],
        body: Body::Empty,
        chunked: false,
        expected_body_bytes: None,
        body_varies: false,
        expected: None,
        weight: 1.0,
        name: None,
    }
}

fn closed(connections: usize, stop: Stop) -> HttpLoad {
    plan(Model::Closed { connections }, stop)
}

fn open(connections: usize, rate_rps: f64, stop: Stop) -> HttpLoad {
    plan(Model::Open { connections, rate_rps: Rate::Constant(rate_rps), arrivals: Arrivals::Constant }, stop)
}

/// When a server answers what it has received, if it does.
type Service = Box<dyn FnMut(Nanos) -> Option<Nanos>>;

/// A server that takes this long for each request, whatever else it does.
fn taking(service_time: Nanos) -> impl FnMut(Nanos) -> Option<Nanos> {
    move |arrival| Some(arrival + service_time)
}

/// A server that never answers.
fn silent() -> impl FnMut(Nanos) -> Option<Nanos> {
    |_| None
}

fn assert_close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9 * expected.abs().max(1.0), "{found} instead of {expected}");
}

#[test]
fn a_closed_loop_of_n_connections_gives_n_over_the_service_time() {
    // 8 connections, 2 ms each: 8 / 0.002 s = 4000 requests per second. Answers fall on every even millisecond; the
    // one at the start of the window is of the warm-up, the one at its end is not within it, so the counts balance.
    let plan = HttpLoad { warmup_s: 0.1, ..closed(8, Stop::DurationS(1.0)) };
    let result = Simulation::of(&plan).result(taking(ms(2)));
    assert_close(result.duration_s, 1.0);
    assert_close(result.rate_rps.answered.unwrap(), 4000.0);
    assert_eq!((result.requests.due, result.requests.answered), (4000, 4000));
    for distribution in [result.latency_ms, result.service_time_ms, result.first_byte_ms] {
        assert_eq!((distribution.min, distribution.max, distribution.count), (Some(2.0), Some(2.0), 4000));
    }
    assert_eq!(result.connections.opened, 8);
    assert!(result.generator.lateness_ms.is_none(), "a closed loop has no time to be late against");
    assert!(result.verdict.reasons.is_empty(), "{:?}", result.verdict);
}

#[test]
fn a_closed_loop_of_n_requests_lasts_until_the_last_answer() {
    // 100 requests over 8 connections are 13 rounds, the last of 4 requests: 13 · 2 ms.
    let result = Simulation::of(&closed(8, Stop::RequestsTotal(100))).result(taking(ms(2)));
    assert_close(result.duration_s, 0.026);
    assert_eq!((result.requests.due, result.requests.answered), (100, 100));
}

#[test]
fn an_open_loop_lasts_its_whole_window_however_early_the_last_request_is_answered() {
    // Ten requests are due at 0, 0.1 … 0.9 s: 10 per second over 1 s, although the last answer comes at 0.901 s.
    let result = Simulation::of(&open(2, 10.0, Stop::DurationS(1.0))).result(taking(ms(1)));
    assert_close(result.duration_s, 1.0);
    assert_eq!(result.rate_rps.answered, Some(10.0));
    assert_eq!(result.rate_rps.sent, Some(10.0));
}

/// A stall of this length at the start of every period.
#[derive(Clone, Copy)]
struct Stalls {
    length: Nanos,
    period: Nanos,
}

/// Rare ones, which the median does not see, and ones that last longer than what is between them.
const STALLS: [Stalls; 2] =
    [Stalls { length: ms(100), period: ms(1000) }, Stalls { length: ms(300), period: ms(500) }];
/// How long a request takes otherwise.
const BETWEEN_STALLS: Nanos = Nanos(1_000);

/// A server that takes 1 µs for each request, and answers none during its stalls.
fn stalling(stalls: Stalls) -> impl FnMut(Nanos) -> Option<Nanos> {
    move |arrival| {
        let since_period = Nanos((arrival - START).0 % stalls.period.0);
        Some(arrival + (stalls.length - since_period) + BETWEEN_STALLS)
    }
}

/// Latencies from due are at every percentile what the stalls make them.
///
/// The shortest time that this share of all times does not exceed.
fn at_quantile(times: &TimeHistogram, quantile: f64) -> Nanos {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rank is a whole number")]
    let rank = (quantile * times.count() as f64).round() as u64;
    times.at_rank(rank).unwrap()
}

/// Due times are spread evenly over each period of T seconds, in whose first S seconds nothing is answered. A request
/// due at t < S waits S − t, one due later waits 0: P(latency > x) = (S − x) / T, so the quantile q is S − T(1 − q)
/// where that is above zero. The mean is S² / 2T. One interval of the schedule, 0.5 ms, is the resolution.
fn assert_latency_shows(stalls: Stalls, latency: &TimeHistogram) {
    let (length_s, period_s) = (stalls.length.as_secs_f64(), stalls.period.as_secs_f64());
    for quantile in [0.5, 0.75, 0.9, 0.92, 0.95, 0.98, 0.99, 0.999] {
        let expected_s = (length_s - period_s * (1.0 - quantile)).max(0.0);
        let found_s = at_quantile(latency, quantile).as_secs_f64();
        let tolerance_s = (0.02 * expected_s).max(0.001);
        assert!((found_s - expected_s).abs() <= tolerance_s, "{quantile}: {found_s} instead of {expected_s}");
    }
    let (mean_s, expected_s) = (latency.mean_ns().unwrap() / 1e9, length_s * length_s / (2.0 * period_s));
    assert!((mean_s - expected_s).abs() < 0.02 * expected_s, "mean {mean_s} instead of {expected_s}");
    assert_eq!(latency.extremes().unwrap().1, stalls.length + BETWEEN_STALLS);
}

/// The same where ten requests are sent into each stall, on two connections of five streams, and the others wait unsent.
fn assert_latency_shows_unsent(stalls: Stalls, recorder: &Recorder, answered: u64) {
    assert_eq!(recorder.requests.answered, answered);
    assert_latency_shows(stalls, &recorder.latency());
    assert_eq!(recorder.service_time.extremes(), Some((BETWEEN_STALLS, stalls.length + BETWEEN_STALLS)));
    // Waiting for a stream is the server's doing, not the generator's.
    assert_eq!(recorder.lateness.extremes(), Some((Nanos::ZERO, Nanos::ZERO)));
}

#[test]
fn stalls_show_in_the_latency_where_every_request_finds_a_connection() {
    // During the longer stall 0.3 s · 2000 per second = 600 requests wait, each on its own connection.
    let plan = open(700, 2_000.0, Stop::DurationS(10.0));
    for stalls in STALLS {
        let (part, _) = Simulation::of(&plan).run(stalling(stalls));
        assert_eq!(part.recorder.requests.answered, 20_000);
        assert_latency_shows(stalls, &part.recorder.latency());
        assert_latency_shows(stalls, &part.recorder.service_time);
    }
}

#[test]
fn stalls_show_in_the_latency_even_where_requests_wait_unsent_for_the_only_connection() {
    let plan = open(1, 2_000.0, Stop::DurationS(10.0));
    for stalls in STALLS {
        let (part, _) = Simulation::of(&plan).run(stalling(stalls));
        assert_eq!(part.recorder.requests.answered, 20_000);
        assert_latency_shows(stalls, &part.recorder.latency());
        // Only the first request of each stall is sent into it: 10 or 20 of 20,000. The server was hardly seen to stall
        // otherwise, which is what a generator reports that counts from sent.
        let service_time = &part.recorder.service_time;
        assert_eq!(service_time.extremes(), Some((BETWEEN_STALLS, stalls.length + BETWEEN_STALLS)));
        assert!(at_quantile(service_time, 0.999) <= Nanos(1_001));
        // Waiting for the only connection is the server's doing, not the generator's.
        assert_eq!(part.recorder.lateness.extremes(), Some((Nanos::ZERO, Nanos::ZERO)));
    }
}

#[test]
fn a_generator_that_is_woken_exactly_is_never_late() {
    let result = Simulation::of(&open(10, 1_000.0, Stop::DurationS(4.0))).result(taking(ms(3)));
    let lateness = result.generator.lateness_ms.unwrap();
    assert_eq!((lateness.p50, lateness.p99), (Some(0.0), Some(0.0)));
    assert_eq!((lateness.p99_9, lateness.max), (Some(0.0), Some(0.0)));
}

#[test]
fn two_service_times_stand_at_the_percentiles_of_their_shares() {
    // Of every ten requests nine take 2 ms and one 20 ms: 3.8 ms in the mean, and a mean square of 43.6 ms².
    let mut number = 0;
    let result = Simulation::of(&open(100, 1_000.0, Stop::RequestsTotal(40_000))).result(move |arrival| {
        number += 1;
        Some(arrival + if number % 10 == 0 { ms(20) } else { ms(2) })
    });
    for distribution in [result.latency_ms, result.service_time_ms, result.first_byte_ms] {
        let low = [distribution.min, distribution.p50, distribution.p75, distribution.p90];
        let high =
            [distribution.p95, distribution.p99, distribution.p99_9, distribution.p99_99, distribution.max];
        for (figures, expected_ms) in [(low.as_slice(), 2.0), (high.as_slice(), 20.0)] {
            for figure in figures {
                // The histogram gives a time to a thousandth.
                assert!((figure.unwrap() - expected_ms).abs() <= expected_ms / 1e3, "{distribution:?}");
            }
        }
        assert_close(distribution.mean.unwrap(), 3.8);
        let count = 40_000.0_f64;
        assert_close(distribution.stddev.unwrap(), ((43.6 - 3.8 * 3.8) * count / (count - 1.0)).sqrt());
    }
}

#[test]
fn overload_grows_with_the_backlog() {
    // One connection of 20 ms serves 50 per second; 100 are asked for. Request k is due at 10k ms and done at
    // 20(k + 1) ms, so its latency is 10k + 20 ms; in 1 s requests 0 to 49 begin, the other 50 never do.
    let (part, _) = Simulation::of(&open(1, 100.0, Stop::DurationS(1.0))).run(taking(ms(20)));
    let expected = RequestCounts {
        due: 100,
        sent: 50,
        answered: 50,
        failed: 0,
        unanswered: 0,
        never_sent: 50,
        moved: 0,
    };
    assert_eq!(part.recorder.requests, expected);
    assert_eq!(part.recorder.latency().extremes(), Some((ms(20), ms(510))));
}

#[test]
fn a_request_times_out_exactly_after_the_timeout() {
    // One connection waits four times for 0.25 s, each time with a new connection.
    let plan = HttpLoad { timeout_s: 0.25, ..closed(1, Stop::DurationS(1.0)) };
    let (part, epoch) = Simulation::of(&plan).run(silent());
    assert_eq!(part.recorder.failures[Failure::Timeout], 4);
    assert_eq!(part.recorder.last_outcome, Some(epoch + ms(1000)));
    assert_eq!((part.ended, part.recorder.connections.opened), (epoch + ms(1000), 4));
}

#[test]
fn an_answer_at_the_timeout_itself_is_still_in_time() {
    let plan = HttpLoad { timeout_s: 0.25, ..closed(1, Stop::RequestsTotal(2)) };
    let (in_time, _) = Simulation::of(&plan).run(taking(ms(250)));
    assert_eq!(in_time.recorder.requests.answered, 2);
    let (too_late, _) = Simulation::of(&plan).run(taking(ms(250) + Nanos(1)));
    assert_eq!(too_late.recorder.failures[Failure::Timeout], 2);
}

#[test]
fn a_connection_that_is_never_accepted_times_out() {
    // The attempt before the load lasts 0.1 s; then attempts of 0.1 s begin after rests of 20 and 40 ms: at 0, 120 and
    // 260 ms. The last one has failed at 360 ms, the load of 0.3 s notwithstanding.
    let plan = HttpLoad { timeout_s: 0.1, ..closed(1, Stop::DurationS(0.3)) };
    let simulation = Simulation { accepting: Accepting::Never, ..Simulation::of(&plan) };
    let (part, epoch) = simulation.run(silent());
    assert_eq!(epoch, START + ms(100));
    assert_eq!((part.recorder.failures[Failure::ConnectTimeout], part.recorder.connections.failed), (3, 4));
    assert_eq!(part.ended, epoch + ms(360));
    assert_eq!(part.recorder.requests.sent, 0);
}

#[test]
fn rests_after_refused_connections_double_up_to_1_28_seconds() {
    // After the attempt before the load: 0, then rests of 20, 40 … 1280 ms, which end at 2540 ms in sum; from there
    // on every 1280 ms: 3820, 5100, 6380, 7660, 8940 ms. That is 1 + 7 + 5 attempts in 10 s.
    let plan = closed(1, Stop::DurationS(10.0));
    let simulation = Simulation { accepting: Accepting::Refusing, ..Simulation::of(&plan) };
    let (part, epoch) = simulation.run(silent());
    assert_eq!((part.recorder.failures[Failure::ConnectRefused], part.recorder.connections.failed), (13, 14));
    assert_eq!(part.recorder.last_outcome, Some(epoch + ms(8940)));
}

#[test]
fn the_series_of_a_long_load_says_how_wide_its_periods_are() {
    // 1,001 s in seconds would be more than 600 periods, so they are of 2 s. One connection has its answers at 1, 2 …
    // 1,000 s: one in the first period, two in each of the 499 next, one in the last, which ends within its first half.
    let result = Simulation::of(&closed(1, Stop::DurationS(1_001.0))).result(taking(ms(1000)));
    let reported: Vec<_> =
        result.series.iter().map(|period| (period.t_s, period.width_s, period.answered)).collect();
    let mut expected: Vec<_> = (0..500).map(|index| (2.0 * f64::from(index), 2.0, 2)).collect();
    expected[0].2 = 1;
    expected.push((1_000.0, 1.0, 1));
    assert_eq!(reported, expected);
    for period in result.series {
        let histogram = CoarseHistogram::decode(&period.latency_histogram).unwrap();
        assert_eq!((histogram.count(), period.latency_ms.count), (period.answered, period.answered));
        assert_eq!(period.latency_ms.mean, Some(1000.0));
    }
}

#[test]
fn the_edges_of_the_window_belong_to_the_requests_by_their_due_times() {
    // Requests are due every 100 ms from 0 on and take 150 ms; the window is [1 s, 2 s). Due within it: 1.0 … 1.9 s,
    // all of them answered, the last after its end. Answered within it: those due at 0.9 … 1.8 s.
    let plan = HttpLoad { warmup_s: 1.0, ..open(3, 10.0, Stop::DurationS(1.0)) };
    let simulation = Simulation::of(&plan);
    let (part, epoch) = simulation.run(taking(ms(150)));
    assert_eq!(*simulation.sent.borrow(), (0..20).map(|k| (epoch + ms(100 * k), 0)).collect::<Vec<_>>());
    assert_eq!((part.recorder.requests.due, part.recorder.requests.answered), (10, 10));
    assert_eq!((part.recorder.answered_within, part.recorder.sent_within), (10, 10));
    assert_eq!(part.recorder.latency().extremes(), Some((ms(150), ms(150))));
    let periods = part.recorder.periods(ms(1000));
    assert_eq!(periods.iter().map(|period| period.answered).collect::<Vec<_>>(), [10]);
    assert_eq!(part.ended, epoch + ms(2050));
}

#[test]
fn a_request_costs_its_part_of_the_time_that_the_thread_has_worked() {
    // 2 ms in programs and 3 ms in the kernel, of which 1 ms was spent looking for work: 4 ms for 100 requests.
    let polling = Polling { spent: ms(1), found: 31, longest_pause: Nanos(4_500) };
    let cpu = CpuUse { user: ms(2), system: ms(3), polling, voluntary_switches: 30 };
    let plan = open(1, 100.0, Stop::RequestsTotal(100));
    let generator = Simulation { cpu, ..Simulation::of(&plan) }.result(taking(ms(1))).generator;
    assert_close(generator.cpu_per_request_us.unwrap(), 40.0);
    assert_close(generator.cpu_user_s, 0.002);
    assert_close(generator.cpu_system_s, 0.003);
    assert_close(generator.cpu_spun_s, 0.001);
    assert_close(generator.poll_pause_max_us, 4.5);
    assert_eq!((generator.polled_waits, generator.voluntary_context_switches), (31, 30));
    assert_eq!(generator.waiting, WaitedBy::Polling);
}

#[test]
fn an_interrupted_load_counts_what_was_due_until_then() {
    // Asked to stop at 0.5 s, before which requests 0 to 49 of 100 per second fell due: one is under way on the only
    // connection, 49 were never sent. An idle turn lasts 20 ms, so one of them ends at 0.5 s.
    let plan = open(1, 100.0, Stop::DurationS(60.0));
    let simulation = Simulation { stop_at: START + ms(500), ..Simulation::of(&plan) };
    let result = simulation.result(silent());
    assert_eq!((result.requests.due, result.requests.unanswered, result.requests.never_sent), (50, 1, 49));
    assert!(result.interrupted);
    assert_close(result.duration_s, 0.5);
}

#[test]
fn a_load_that_is_interrupted_while_it_connects_begins_no_request() {
    let plan = closed(4, Stop::DurationS(60.0));
    let simulation =
        Simulation { accepting: Accepting::Never, stop_at: START + ms(60), ..Simulation::of(&plan) };
    let (part, _) = simulation.run(silent());
    assert_eq!(part.recorder.requests, RequestCounts::default());
    assert_eq!(part.ended, START + ms(60));
}
