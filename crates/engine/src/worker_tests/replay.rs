//! Requests that are sent when they were recorded.

use loadcurve_plan::{HttpLoad, Model, Nanos, Recording, Request, Requests, Stop};

use super::simulated::{Sent, Simulation};
use super::{get, ms, plan, taking};
use crate::requests::with_recording;
use crate::temporary_file::TemporaryFile;
use crate::verdict::{Code, Status};

/// A replay of requests that were recorded at these milliseconds, for ten paths in turn.
fn replay(connections: usize, speed: f64, recorded_ms: &[u64]) -> HttpLoad {
    let model = Model::Recorded { connections, speed, recording: Recording::default() };
    let request = |number| Request { target: format!("/{number}"), ..get() };
    let moments: Vec<Nanos> = recorded_ms.iter().copied().map(ms).collect();
    plan(model, Stop::Recording)
        .with(|http| http.requests = Requests::Given((0..10).map(request).collect()))
        .replaying(Recording::new(moments).unwrap())
}

/// What is sent, and when since the start, in order of time.
fn sent(plan: &HttpLoad) -> Vec<Sent> {
    let simulation = Simulation::of(plan);
    simulation.run(taking(Nanos(100)));
    simulation.sent_since_start()
}

#[test]
fn each_request_is_sent_at_its_recorded_moment() {
    let recorded_ms = [0, 3, 3, 250, 1_000, 1_001];
    let expected: Vec<Sent> = recorded_ms.into_iter().map(ms).zip(0..).collect();
    assert_eq!(sent(&replay(4, 1.0, &recorded_ms)), expected);
}

#[test]
fn at_four_times_the_speed_it_is_sent_after_a_quarter_of_the_time() {
    let expected: Vec<Sent> = [0, 20, 75, 1_000].into_iter().map(ms).zip(0..).collect();
    assert_eq!(sent(&replay(4, 4.0, &[0, 80, 300, 4_000])), expected);
}

#[test]
fn the_latency_of_a_replay_counts_from_the_recorded_moment_however_late_the_server_is() {
    // One connection, 10 ms each, three at once: answered after 10, 20 and 30 ms.
    let result = Simulation::of(&replay(1, 1.0, &[0, 0, 0])).result(taking(ms(10)));
    assert_eq!((result.latency_ms.min, result.latency_ms.max), (Some(10.0), Some(30.0)));
    assert_eq!(result.service_time_ms.max, Some(10.0));
    // The server is late, not the generator.
    assert_eq!(result.generator.lateness_ms.and_then(|lateness| lateness.max), Some(0.0));
}

#[test]
fn a_replay_ends_with_its_last_answer_and_asks_for_what_was_recorded() {
    let result = Simulation::of(&replay(4, 1.0, &[0, 100, 400, 990])).result(taking(ms(10)));
    assert!((result.duration_s - 1.0).abs() < 1e-9, "{}", result.duration_s);
    assert_eq!((result.requests.due, result.requests.answered), (4, 4));
    // The last request is due after 0.99 s, and the last answer comes after 1 s.
    assert_eq!((result.rate_rps.asked, result.rate_rps.answered), (Some(4.0 / 0.99), Some(4.0)));
}

#[test]
fn a_duration_ends_a_replay_and_a_note_says_what_it_left_out() {
    let cut = HttpLoad { stop: Stop::DurationS(0.5), ..replay(4, 1.0, &[0, 100, 400, 990]) };
    let result = Simulation::of(&cut).result(taking(ms(10)));
    assert!((result.duration_s - 0.5).abs() < 1e-9, "{}", result.duration_s);
    assert_eq!(result.requests.due, 3);
    let note = result.verdict.notes.iter().find(|note| note.code == Code::RecordingCut).unwrap();
    assert!(note.text.contains("1 of the recorded requests"), "{note:?}");
}

#[test]
fn what_was_recorded_before_the_end_of_the_warm_up_is_sent_and_not_measured() {
    let plan = HttpLoad { warmup_s: 0.2, ..replay(4, 1.0, &[0, 100, 200, 990]) };
    assert_eq!(sent(&plan).len(), 4);
    assert_eq!(Simulation::of(&plan).result(taking(ms(1))).requests.due, 2);
}

#[test]
fn a_load_that_rises_and_falls_as_recorded_has_no_level_to_settle_on() {
    // 100 requests in each of ten seconds, and then 1,000 in each of ten more.
    let recorded_ms: Vec<u64> = (0..1_000).map(|k| 10 * k).chain((0..10_000).map(|k| 10_000 + k)).collect();
    let result = Simulation::of(&replay(8, 1.0, &recorded_ms)).result(taking(ms(2)));
    assert_eq!(result.verdict.status, Status::Valid, "{:?}", result.verdict);
}

#[test]
fn a_server_that_is_slower_than_the_recording_does_not_reach_its_rate() {
    let recorded_ms: Vec<u64> = (0..1_000).collect();
    let result = Simulation::of(&replay(1, 1.0, &recorded_ms)).result(taking(ms(2)));
    let codes: Vec<Code> = result.verdict.reasons.iter().map(|reason| reason.code).collect();
    assert!(codes.contains(&Code::RateNotReached), "{:?}", result.verdict);
}

#[test]
fn the_moments_of_a_plan_are_those_of_its_list() {
    let list = TemporaryFile::holding(b"/0 @0\n/1 @0.04\n/2 @0.1\n");
    let listed = serde_json::json!({"listed": {"file": list.path(), "method": "GET"}});
    let model = Model::Recorded { connections: 2, speed: 2.0, recording: Recording::default() };
    let plan = plan(model, Stop::DurationS(60.0))
        .with(|http| http.requests = serde_json::from_value(listed).unwrap());
    let plan = with_recording(plan).unwrap();
    assert_eq!(plan.stop, Stop::Recording);
    assert_eq!(sent(&plan), [(ms(0), 0), (ms(20), 1), (ms(50), 2)]);
}

#[test]
fn a_list_without_times_cannot_be_replayed() {
    let list = TemporaryFile::holding(b"/0\n");
    let listed = serde_json::json!({"listed": {"file": list.path(), "method": "GET"}});
    let model = Model::Recorded { connections: 2, speed: 2.0, recording: Recording::default() };
    let plan =
        plan(model, Stop::Recording).with(|http| http.requests = serde_json::from_value(listed).unwrap());
    let refused = with_recording(plan).unwrap_err().to_string();
    assert!(refused.contains("no times"), "{refused}");
}
