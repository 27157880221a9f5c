//! Times of answers are those of the script, in each of their parts.

use loadcurve_plan::{HttpLoad, Nanos, Stop};
use loadcurve_record::TimeHistogram;

use crate::support::{Comparison, Reply, Server, closed, compare_times, measure, ok, open};

const fn ms(milliseconds: u64) -> Nanos {
    Nanos::from_millis(milliseconds)
}

#[test]
fn a_fixed_service_time_stands_at_every_percentile() {
    compare_times(|comparison| {
        // The load is short, so that a busy machine is punctual for its length now and then.
        let server = Server::scripted(|asked| Reply::answer(ok("hello")).at(asked.arrived + ms(10)));
        let plan = open(server.address, 40, 2_000.0, Stop::RequestsTotal(400));
        let (measured, _) = comparison.measure(plan, server);
        let figures = ["min", "mean", "p50", "p75", "p90", "p95", "p99"].map(|figure| (figure, 10.0));
        comparison.distribution(&measured, "latency_ms", &figures);
        comparison.distribution(&measured, "first_byte_ms", &figures);
    });
}

#[test]
fn two_service_times_stand_at_the_percentiles_of_their_shares() {
    compare_times(|comparison| {
        // Of every ten requests nine take 2 ms and one 20 ms, which makes 3.8 ms in the mean.
        let server = Server::scripted(|asked| {
            let service_time = if asked.number % 10 == 9 { ms(20) } else { ms(2) };
            Reply::answer(ok("hello")).at(asked.arrived + service_time)
        });
        let plan = open(server.address, 40, 2_000.0, Stop::RequestsTotal(400));
        let (measured, _) = comparison.measure(plan, server);
        let figures = [("mean", 3.8), ("p50", 2.0), ("p75", 2.0), ("p95", 20.0), ("p99", 20.0)];
        comparison.distribution(&measured, "latency_ms", &figures);
        let latency = TimeHistogram::decode(measured.value("/histograms/latency").as_str().unwrap()).unwrap();
        let (quick_percent, _) =
            latency.percentile_curve().into_iter().rfind(|(_, latency_ms)| *latency_ms < 11.0).unwrap();
        comparison.require((quick_percent - 90.0).abs() < 1e-9, || format!("{quick_percent} % took 2 ms"));
    });
}

/// Answers in pieces of `piece_bytes` bytes, the first after 5 ms and each of the others 2 ms behind the one
/// before it.
fn compare_trickle(comparison: &mut Comparison, answer: &str, piece_bytes: usize) {
    let (first_byte, pause) = (ms(5), ms(2));
    let trickle = Reply::answer(answer).in_pieces_of(piece_bytes).with_pauses_of(pause);
    let server = Server::scripted(move |asked| trickle.clone().at(asked.arrived + first_byte));
    let plan = HttpLoad { threads: 2, ..closed(server.address, 12, 36) };
    let (measured, seen) = comparison.measure(plan, server);
    assert_eq!((measured.requests("ok"), seen.answered), (36, 36));
    let first_byte_ms = first_byte.as_millis_f64();
    let transfer_ms = pause.as_millis_f64() * (answer.len().div_ceil(piece_bytes) - 1) as f64;
    for (name, expected_ms) in [
        ("first_byte_ms", first_byte_ms),
        ("transfer_ms", transfer_ms),
        ("latency_ms", first_byte_ms + transfer_ms),
    ] {
        comparison.distribution(
            &measured,
            name,
            &["mean", "p50", "p75", "p90"].map(|figure| (figure, expected_ms)),
        );
    }
}

#[test]
fn an_answer_that_comes_byte_by_byte_begins_with_its_first_and_ends_with_its_last() {
    compare_times(|comparison| compare_trickle(comparison, &ok("hello"), 1));
}

#[test]
fn a_header_in_pieces_counts_as_transfer_from_its_first_byte_on() {
    // The third piece is the first one with a byte of the body.
    let answer = ok("hello");
    let header_bytes = answer.len() - "hello".len();
    compare_times(|comparison| compare_trickle(comparison, &answer, header_bytes.div_ceil(2)));
}

#[test]
fn a_body_that_comes_slowly_behind_a_whole_header_is_transfer() {
    let body = "x".repeat(400);
    let answer = ok(&body);
    let header_bytes = answer.len() - body.len();
    compare_times(|comparison| compare_trickle(comparison, &answer, header_bytes));
}

#[test]
fn a_thread_that_waits_for_a_silent_server_sleeps() {
    // Quick answers make the thread poll; each of the ten silences then lasts two hundred times as long as it may.
    let server = Server::scripted(|asked| match asked.number % 100 {
        99 => Reply::silence(),
        _ => Reply::answer(ok("hello")),
    });
    let measured = measure(HttpLoad { timeout_s: 0.2, ..closed(server.address, 1, 1_000) });
    server.finish();
    // On a busy machine an answer may be late, too.
    let errors = measured.errors();
    assert!(matches!(errors[..], [("timeout", timeouts)] if timeouts >= 10), "{errors:?}");
    let used_s = measured.number("/generator/cpu_user_s") + measured.number("/generator/cpu_system_s");
    assert!(used_s < 0.5, "{used_s} s of CPU for 2 s of silence and 990 quick answers");
}
