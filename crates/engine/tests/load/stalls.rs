//! A server that stalls cannot hide it, whether requests wait on its connections or before them.

use loadcurve_plan::{Conversation, Nanos, Stop};

use crate::support::{Reply, Server, clock, compare_times, ok, open};

/// A whole number of the periods of these tests.
const LOAD_S: f64 = 3.0;
/// So many give the percentile 99.9, which needs 3,688.
const REQUESTS: u64 = 3_750;

/// A server that answers nothing during the first part of each period, and everything at once otherwise.
fn stalling(stall: Nanos, period: Nanos) -> Server {
    let began = clock::now();
    Server::scripted(move |asked| {
        let since_period = Nanos((asked.arrived - began).0 % period.0);
        Reply::answer(ok("hello")).at(asked.arrived + (stall - since_period))
    })
}

/// Stalls of S in every T show at every percentile, wherever requests wait.
///
/// Over whole periods due times are spread evenly over T. A request due t after a stall has begun waits S − t, if that
/// is above zero: P(latency > x) = (S − x) / T, so the quantile q is S − T(1 − q) where that is above zero, and the mean
/// is S² / 2T.
fn assert_stalls_show(stall: Nanos, period: Nanos, connections: usize) {
    let (stall_ms, period_ms) = (stall.as_millis_f64(), period.as_millis_f64());
    let quantile_ms = |q: f64| (stall_ms - period_ms * (1.0 - q)).max(0.0);
    let expected = [
        ("mean", stall_ms * stall_ms / (2.0 * period_ms)),
        ("p50", quantile_ms(0.5)),
        ("p75", quantile_ms(0.75)),
        ("p90", quantile_ms(0.9)),
        ("p95", quantile_ms(0.95)),
        ("p99", quantile_ms(0.99)),
        ("p99_9", quantile_ms(0.999)),
    ];
    compare_times(|comparison| {
        let server = stalling(stall, period);
        let plan = open(server.address, connections, REQUESTS as f64 / LOAD_S, Stop::RequestsTotal(REQUESTS))
            .with(|http| http.conversation = Conversation { pipeline: 64, ..Conversation::default() });
        let (measured, seen) = comparison.measure(plan, server);
        assert_eq!((measured.requests("answered"), seen.answered), (REQUESTS, REQUESTS));
        comparison.distribution(&measured, "latency_ms", &expected);
    });
}

#[test]
fn stalls_of_two_fifths_of_the_time_show_at_every_percentile() {
    // During a stall 500 requests fall due, and there are places for 1,024.
    assert_stalls_show(Nanos::from_millis(400), Nanos::from_millis(1_000), 16);
}

#[test]
fn stalls_of_three_quarters_of_the_time_show_even_where_most_requests_wait_unsent() {
    // During a stall 1,375 requests fall due, and there are places for 256.
    assert_stalls_show(Nanos::from_millis(1_100), Nanos::from_millis(1_500), 4);
}
