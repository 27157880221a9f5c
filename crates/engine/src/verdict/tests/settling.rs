//! Whether the server had settled when the window began, by how the window's parts differ.

use loadcurve_plan::Stop;

use super::super::{Code, Evidence, KeptUp, PeriodMeans, Status, TimeSeries};
use super::{PERIOD, assert_says, closed, open, verdict};

/// The time series of a load whose first three seconds answered less, and took longer, by a fifth.
fn warming_up() -> TimeSeries {
    let slow = PeriodMeans { answered: 8_000, mean_latency_ms: Some(6.0), ..PERIOD };
    let mut periods = vec![PERIOD; 10];
    periods[..3].fill(slow);
    TimeSeries { periods, ..closed().time_series }
}

#[test]
fn a_server_that_had_not_settled_is_reported_with_the_warm_up_that_it_needs() {
    let evidence = Evidence { time_series: warming_up(), ..closed() };
    assert_eq!(verdict(&evidence), (Status::Suspect, vec![Code::Unsettled]));
    // Two seconds were given already.
    let parts = ["the first 3 of 10 s answered 20 % fewer requests per second", "`--warmup 5s`"];
    assert_says(&evidence, Code::Unsettled, &parts);
}

#[test]
fn where_the_schedule_is_kept_the_latency_tells_whether_the_server_had_settled() {
    let evidence = Evidence { time_series: warming_up(), ..open() };
    assert_eq!(verdict(&evidence), (Status::Suspect, vec![Code::Unsettled]));
    assert_says(&evidence, Code::Unsettled, &["the first 3 of 10 s had a mean latency 20 % longer"]);
    let kept_up = Some(KeptUp { requests: 100, think_ms: 5.0 });
    let thinking = Evidence { time_series: warming_up(), kept_up, ..closed() };
    assert_says(&thinking, Code::Unsettled, &["a mean latency 20 % longer"]);
}

#[test]
fn a_part_that_differs_by_more_than_the_whole_is_reported_in_times() {
    let beginning_with = |first| {
        let mut periods = vec![PERIOD; 10];
        periods[..3].fill(first);
        TimeSeries { periods, ..closed().time_series }
    };
    let more = beginning_with(PeriodMeans { answered: 25_000, ..PERIOD });
    assert_says(
        &Evidence { time_series: more, ..closed() },
        Code::Unsettled,
        &["answered 2.5 times as many requests"],
    );
    let longer = beginning_with(PeriodMeans { mean_latency_ms: Some(60.0), ..PERIOD });
    assert_says(
        &Evidence { time_series: longer, ..open() },
        Code::Unsettled,
        &["a mean latency 12.0 times as long"],
    );
}

#[test]
fn where_the_schedule_is_not_kept_a_queue_that_grows_is_no_want_of_a_warm_up() {
    let waiting = |second: u64| PeriodMeans {
        answered: 9_000,
        mean_latency_ms: Some(50.0 + 100.0 * second as f64),
        ..PERIOD
    };
    let time_series = TimeSeries { periods: (0..10).map(waiting).collect(), ..closed().time_series };
    let behind = Evidence { answered_rps: Some(9_000.0), time_series, ..open() };
    assert_eq!(verdict(&behind).1, [Code::RateNotReached]);
}

#[test]
fn a_longer_load_is_advised_for_a_server_that_slows_down_until_the_end() {
    let slower = |second: u64| PeriodMeans { answered: 10_000 - 300 * second, ..PERIOD };
    let time_series = TimeSeries { periods: (0..10).map(slower).collect(), ..closed().time_series };
    let evidence = Evidence { time_series, ..closed() };
    assert_eq!(verdict(&evidence), (Status::Suspect, vec![Code::Unsettled]));
    assert_says(&evidence, Code::Unsettled, &["had not settled by the end", "`--duration 30s`"]);
    let of_requests = Evidence { stop: Stop::RequestsTotal(100_000), ..evidence };
    assert_says(&of_requests, Code::Unsettled, &["three times as many requests"]);
}

#[test]
fn a_latency_at_the_start_of_an_empty_window_is_no_warm_up_of_the_server() {
    // Of 50 ms each, in the first second 950 ms have answers.
    let first = PeriodMeans { answered: 9_500, ..PERIOD };
    let mut periods = vec![PERIOD; 10];
    periods[0] = first;
    let time_series = |warmup_s| TimeSeries { warmup_s, periods: periods.clone(), ..closed().time_series };
    let kept_up = Some(KeptUp { requests: 500, think_ms: 0.0 });
    let evidence =
        Evidence { mean_latency_ms: Some(50.0), kept_up, time_series: time_series(0.0), ..closed() };
    assert_eq!(verdict(&evidence).0, Status::Valid);
    assert_eq!(verdict(&Evidence { time_series: time_series(1.0), ..evidence }).1, [Code::Unsettled]);
}

#[test]
fn a_rate_that_changes_on_purpose_and_a_load_of_a_few_seconds_are_not_judged() {
    let on_purpose = TimeSeries { rate_changes: true, ..warming_up() };
    assert_eq!(verdict(&Evidence { time_series: on_purpose, ..open() }).0, Status::Valid);
    let mut short = warming_up();
    short.periods.truncate(7);
    assert_eq!(verdict(&Evidence { time_series: short, ..closed() }).0, Status::Valid);
}
