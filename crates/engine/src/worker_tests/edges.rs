//! Where requests belong that are under way when a window begins or ends.

use loadcurve_plan::{Arrivals, Conversation, HttpLoad, Model, Nanos, Rate, Share, Stop};

use super::simulated::{START, Simulation};
use super::{closed, ms, open, plan};
use crate::part::Part;
use crate::result::LoadResult;
use crate::verdict::{Code, Status};

/// A server that serves a number of connections, each after 10 ms, of those that all ask at once: the others' first
/// requests wait, and are not asked for again while they do.
fn serving(served: usize, of: usize) -> impl FnMut(Nanos) -> Option<Nanos> {
    let mut asked = 0;
    move |arrival| {
        asked += 1;
        let is_starved = (served + 1..=of).contains(&asked);
        (!is_starved).then(|| arrival + ms(10))
    }
}

fn codes(result: &LoadResult) -> Vec<Code> {
    result.verdict.reasons.iter().map(|reason| reason.code).collect()
}

/// Requests, connections, of how many, and the oldest in ms.
fn waited(result: &LoadResult) -> Option<(u64, u64, u64, f64)> {
    let waited = result.waited_through?;
    Some((waited.requests, waited.connections, waited.of_connections, waited.oldest_ms))
}

#[test]
fn connections_that_are_never_served_are_in_the_result() {
    // 5 connections of 10 ms give 500 per second for 4 s. The others' requests, due at the start of the warm-up, are 5 s old.
    let plan = HttpLoad { warmup_s: 1.0, ..closed(20, Stop::DurationS(4.0)) };
    let result = Simulation::of(&plan).result(serving(5, 20));
    assert_eq!((result.requests.due, result.requests.answered), (2_000, 2_000));
    assert_eq!(waited(&result), Some((15, 15, 20, 5_000.0)));
    assert_eq!((result.connections.asked, result.connections.served), (20, 5));
    assert_eq!((result.verdict.status, codes(&result)), (Status::Invalid, vec![Code::NeverServed]));
    let text = &result.verdict.reasons[0].text;
    let said = "15 requests, on 15 of 20 connections, waited through the whole window; the oldest 5.0 s: the latencies \
        and rates are those of the other 5;";
    assert!(text.starts_with(said), "{text}");
    assert!(result.verdict.notes.iter().all(|note| note.code != Code::WarmupErrors), "{:?}", result.verdict);
}

#[test]
fn they_make_the_same_story_without_a_warm_up() {
    let result = Simulation::of(&closed(20, Stop::DurationS(4.0))).result(serving(5, 20));
    assert_eq!((result.requests.due, result.requests.answered, result.requests.failed), (2_015, 2_000, 15));
    assert_eq!(waited(&result), Some((15, 15, 20, 4_000.0)));
    assert_eq!(
        (result.verdict.status, codes(&result)),
        (Status::Invalid, vec![Code::NeverServed, Code::Errors])
    );
}

#[test]
fn they_do_where_a_number_of_requests_ends_the_load() {
    // 5 connections make 1,000 requests after the 500 of the warm-up, 200 turns of 10 ms.
    let plan = HttpLoad { warmup_s: 1.0, ..closed(20, Stop::RequestsTotal(1_000)) };
    let result = Simulation::of(&plan).result(serving(5, 20));
    assert_eq!((result.requests.answered, result.duration_s), (1_000, 2.0));
    assert_eq!(waited(&result), Some((15, 15, 20, 3_000.0)));
    assert_eq!(codes(&result), [Code::NeverServed]);
    assert!(result.verdict.notes.iter().all(|note| note.code != Code::WarmupErrors), "{:?}", result.verdict);
}

#[test]
fn they_do_when_the_load_is_interrupted() {
    let plan = HttpLoad { warmup_s: 1.0, ..closed(20, Stop::DurationS(9.0)) };
    let result = Simulation { stop_at: START + ms(3_000), ..Simulation::of(&plan) }.result(serving(5, 20));
    assert_eq!(waited(&result), Some((15, 15, 20, 3_000.0)));
    assert_eq!(codes(&result), [Code::Interrupted, Code::NeverServed]);
}

/// Requests, or sessions of one request each, of which 100 are due per second; the slots take them in turn, and keep those of
/// the 6th to the 20th, due 50 to 190 ms after the start.
#[test]
fn they_do_on_a_schedule() {
    let sessions = Model::Sessions {
        connection_rate_cps: Rate::Constant(100.0),
        arrivals: Arrivals::Constant,
        connections: 20,
    };
    let once = Conversation { calls: Some(1), ..Conversation::default() };
    let sessions = plan(sessions, Stop::DurationS(4.0)).with(|http| http.conversation = once);
    for on_schedule in [open(20, 100.0, Stop::DurationS(4.0)), sessions] {
        let plan = HttpLoad { warmup_s: 1.0, ..on_schedule };
        let result = Simulation::of(&plan).result(serving(5, 20));
        assert_eq!((result.requests.due, result.requests.answered), (400, 400));
        assert_eq!(waited(&result), Some((15, 15, 20, 4_950.0)));
        assert_eq!(codes(&result), [Code::NeverServed]);
    }
}

#[test]
fn they_do_in_each_level_of_a_load() {
    let plans: Vec<HttpLoad> =
        [1.0, 0.0, 0.0].map(|warmup_s| HttpLoad { warmup_s, ..closed(20, Stop::DurationS(2.0)) }).into();
    let parts = Simulation::of(&plans[0]).run_levels(&plans, serving(5, 20));
    let waited = |part: &Part| {
        let unserved = part.recorder.unserved(part.window.end);
        (unserved.requests, unserved.oldest, unserved.asked, unserved.served)
    };
    let found: Vec<_> = parts.iter().map(waited).collect();
    assert_eq!(found, [3, 5, 7].map(|seconds| (15, ms(1_000 * seconds), 20, 5)));
    assert!(parts.iter().all(|part| part.recorder.balance().is_ok()));
    let failed: Vec<_> = parts.iter().map(|part| part.recorder.warm_up.failed).collect();
    assert_eq!(failed, [0, 0, 0], "the level in which they were due is over when they fail");
}

#[test]
fn a_request_that_takes_longer_than_the_window_has_waited_through_it() {
    let plan = HttpLoad { warmup_s: 0.5, ..closed(2, Stop::DurationS(1.0)) };
    let result = Simulation::of(&plan).result(|arrival| Some(arrival + ms(1_700)));
    assert_eq!(waited(&result), Some((2, 2, 2, 1_500.0)));
    assert_eq!(codes(&result), [Code::NothingAnswered, Code::NeverServed]);
    assert!(result.verdict.reasons[1].text.contains("whether the server is slow"), "{:?}", result.verdict);
}

#[test]
fn one_of_many_connections_casts_doubt_and_more_than_one_of_a_hundred_spoil_the_result() {
    let status = |served, of| {
        let plan = HttpLoad { warmup_s: 1.0, ..closed(of, Stop::DurationS(1.0)) };
        Simulation::of(&plan).result(serving(served, of)).verdict.status
    };
    assert_eq!(status(99, 100), Status::Suspect);
    assert_eq!(status(98, 100), Status::Invalid);
}

#[test]
fn what_is_under_way_at_an_edge_and_ends_within_a_window_waits_through_none() {
    let plan = HttpLoad { warmup_s: 1.0, ..closed(3, Stop::DurationS(1.0)) };
    let result = Simulation::of(&plan).result(|arrival| Some(arrival + ms(300)));
    assert_eq!((waited(&result), result.connections.asked, result.connections.served), (None, 3, 3));
    assert!(codes(&result).iter().all(|code| *code != Code::NeverServed));
}

#[test]
fn the_threads_of_a_load_tell_its_connections_apart() {
    let plan = HttpLoad { warmup_s: 1.0, threads: 2, ..closed(20, Stop::DurationS(1.0)) };
    let run = |index| Simulation::of(&plan).run_share(Share::new(index, 2), serving(5, 10)).0;
    let (mut both, second) = (run(0), run(1));
    both.merge(&second);
    let unserved = both.recorder.unserved(both.window.end);
    assert_eq!((unserved.requests, unserved.connections, unserved.asked, unserved.served), (10, 10, 20, 10));
}
