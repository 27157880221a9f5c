//! A server that becomes faster after a while is told apart from one that had settled.

use std::sync::OnceLock;

use loadcurve_plan::{LoadPlan, Nanos, Stop};

use crate::support::{Comparison, Measured, Reply, Server, closed, compare_rates, ok};

/// How long the server takes to warm up, from its first request on.
const WARMING_UP: Nanos = Nanos::from_millis(3_000);
/// The fewest seconds that are judged.
const LOAD_S: f64 = 8.0;

/// Loads a server whose answers take twice as long while it warms up.
fn measure_after(warmup_s: f64, comparison: &mut Comparison) -> Measured {
    let first = OnceLock::new();
    let server = Server::scripted(move |asked| {
        let is_warm = asked.arrived >= *first.get_or_init(|| asked.arrived) + WARMING_UP;
        // So long that what the machine adds does not matter.
        let service_time = Nanos::from_millis(if is_warm { 40 } else { 80 });
        Reply::answer(ok("hello")).at(asked.arrived + service_time)
    });
    let plan = LoadPlan { stop: Stop::DurationS(LOAD_S), warmup_s, ..closed(server.address, 8, u64::MAX) };
    comparison.measure(plan, server).0
}

/// Whether a verdict tells of three seconds of eight in which about half as many requests were answered.
fn tells_of_the_warm_up(text: &str) -> bool {
    let Some((seen, to_do)) = text.split_once(" % fewer requests per second") else { return false };
    let Some((when, percent)) = seen.rsplit_once(' ') else { return false };
    when == "the first 3 of 8 s answered"
        // 8 connections of 80 and 40 ms make 100 and 200 requests per second.
        && percent.parse().is_ok_and(|percent: u32| (45..=55).contains(&percent))
        // The moment of the change may lie a little after the third second.
        && (to_do.contains("`--warmup 3s`") || to_do.contains("`--warmup 4s`"))
}

#[test]
fn a_server_that_warms_up_in_the_window_is_told_with_what_it_needs() {
    compare_rates(|comparison| {
        let measured = measure_after(0.0, comparison);
        let text = measured.reason("unsettled");
        comparison.require(text.is_some_and(tells_of_the_warm_up), || format!("{text:?}"));
    });
}

#[test]
fn a_server_that_warms_up_before_the_window_had_settled() {
    compare_rates(|comparison| {
        let measured = measure_after(3.5, comparison);
        let text = measured.reason("unsettled");
        comparison.require(text.is_none(), || format!("{text:?}"));
    });
}
