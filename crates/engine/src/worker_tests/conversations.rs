//! Pipelines, calls, thinking and sessions on the simulated clock.

use loadcurve_plan::{Arrivals, Conversation, HttpLoad, Model, Rate, Share, Stop};

use super::simulated::{START, Simulation};
use super::{assert_close, closed, ms, plan, taking};

fn conversation(pipeline: usize, calls: Option<u64>, think_s: f64) -> Conversation {
    Conversation { pipeline, calls, think_s, ..Conversation::default() }
}

/// `total` connections that arrive at a rate, with room for `connections` at once.
fn sessions(connections: usize, rate_cps: f64, total: u64, conversation: Conversation) -> HttpLoad {
    let model = Model::Sessions {
        connection_rate_cps: Rate::Constant(rate_cps),
        arrivals: Arrivals::Constant,
        connections,
    };
    plan(model, Stop::ConnectionsTotal(total)).with(|http| http.conversation = conversation)
}

#[test]
fn a_pipeline_keeps_its_depth_of_requests_under_way_on_each_connection() {
    // 2 connections of 4 requests each, 8 ms each: 8 / 0.008 s = 1000 requests per second.
    let plan = HttpLoad {
        warmup_s: 0.08,
        ..closed(2, Stop::DurationS(0.8)).with(|http| http.conversation = conversation(4, None, 0.0))
    };
    let result = Simulation::of(&plan).result(taking(ms(8)));
    assert_close(result.rate_rps.answered.unwrap(), 1000.0);
    assert_eq!((result.latency_ms.min, result.latency_ms.max), (Some(8.0), Some(8.0)));
    assert_eq!(result.connections.opened, 2);
    assert!(result.verdict.reasons.is_empty(), "{:?}", result.verdict);
}

#[test]
fn each_pipelined_request_is_timed_on_its_own() {
    // The server takes the requests of all connections one by one, 1 ms each: the four that are written together are
    // answered after 1, 2, 3 and 4 ms, and each next one has three before it.
    let plan = closed(1, Stop::RequestsTotal(6)).with(|http| http.conversation = conversation(4, None, 0.0));
    let mut free_at = START;
    let result = Simulation::of(&plan).result(move |arrival| {
        free_at = free_at.max(arrival) + ms(1);
        Some(free_at)
    });
    let latencies: Vec<f64> = result.slowest.iter().map(|slow| slow.latency_ms).collect();
    assert_eq!(latencies, [4.0, 4.0, 4.0, 3.0, 2.0, 1.0]);
}

#[test]
fn a_connection_is_closed_after_its_calls() {
    let plan =
        closed(1, Stop::RequestsTotal(9)).with(|http| http.conversation = conversation(1, Some(3), 0.0));
    let result = Simulation::of(&plan).result(taking(ms(1)));
    assert_eq!((result.requests.due, result.requests.answered), (9, 9));
    assert_eq!((result.connections.opened, result.connections.concurrent_max), (3, 1));
    assert_eq!(result.connections.replies_per_connection, Some(3.0));
    // Connecting takes no time here, so each of the three lives for its three answers.
    assert_eq!((result.connections.lifetime_ms.count, result.connections.lifetime_ms.max), (3, Some(3.0)));
}

#[test]
fn a_pipeline_ends_with_the_calls_of_its_connection() {
    let plan =
        closed(1, Stop::RequestsTotal(12)).with(|http| http.conversation = conversation(4, Some(6), 0.0));
    let result = Simulation::of(&plan).result(taking(ms(1)));
    assert_eq!((result.requests.answered, result.connections.opened), (12, 2));
}

#[test]
fn a_client_that_thinks_sends_its_next_request_after_its_thoughts() {
    // 2 clients, 10 ms for the answer and 90 ms of thought: 2 / 0.1 s = 20 requests per second.
    let plan = HttpLoad {
        warmup_s: 1.0,
        ..closed(2, Stop::DurationS(10.0)).with(|http| http.conversation = conversation(1, None, 0.09))
    };
    let result = Simulation::of(&plan).result(taking(ms(10)));
    assert_close(result.rate_rps.answered.unwrap(), 20.0);
    assert_eq!((result.latency_ms.min, result.latency_ms.max), (Some(10.0), Some(10.0)));
    assert!(result.verdict.reasons.is_empty(), "{:?}", result.verdict);
}

#[test]
fn sessions_arrive_at_their_rate_make_their_calls_and_close() {
    let plan = sessions(10, 10.0, 5, conversation(1, Some(4), 0.0));
    let result = Simulation::of(&plan).result(taking(ms(10)));
    assert_eq!((result.requests.due, result.requests.answered), (20, 20));
    assert_eq!((result.connections.opened, result.connections.concurrent_max), (5, 1));
    let lifetime = result.connections.lifetime_ms;
    assert_eq!((lifetime.count, lifetime.min, lifetime.max), (5, Some(40.0), Some(40.0)));
    // The last session arrives at 400 ms and ends 40 ms later.
    assert_close(result.duration_s, 0.44);
}

#[test]
fn a_session_writes_its_calls_in_bursts_and_thinks_between_them() {
    // Two bursts of two, 10 ms each, and 100 ms of thought between them.
    let plan = sessions(10, 1.0, 3, conversation(2, Some(4), 0.1));
    let result = Simulation::of(&plan).result(taking(ms(10)));
    assert_eq!(result.requests.answered, 12);
    assert_eq!((result.latency_ms.min, result.latency_ms.max), (Some(10.0), Some(10.0)));
    let lifetime = result.connections.lifetime_ms;
    assert_eq!((lifetime.count, lifetime.min, lifetime.max), (3, Some(120.0), Some(120.0)));
}

#[test]
fn a_session_that_finds_all_connections_busy_waits_and_its_wait_is_latency() {
    // Sessions of 40 ms arrive every 10 ms and only one fits: the third, due at 20 ms, begins at 80 ms.
    let plan = sessions(1, 100.0, 3, conversation(1, Some(1), 0.0));
    let result = Simulation::of(&plan).result(taking(ms(40)));
    let latencies: Vec<f64> = result.slowest.iter().map(|slow| slow.latency_ms).collect();
    assert_eq!(latencies, [100.0, 70.0, 40.0]);
    assert_eq!(result.generator.lateness_ms.unwrap().max, Some(0.0), "the generator itself was not late");
}

#[test]
fn sessions_of_three_workers_together_are_the_undivided_ones() {
    let plan = HttpLoad { threads: 3, ..sessions(9, 10.0, 7, conversation(1, Some(2), 0.0)) };
    let opened: Vec<u64> = (0..3)
        .map(|index| Simulation::of(&plan).run_share(Share::new(index, 3), taking(ms(1))).0)
        .map(|part| part.recorder.connections.opened)
        .collect();
    assert_eq!(opened, [3, 2, 2]);
}

#[test]
fn sessions_end_with_the_window_when_a_duration_is_given() {
    // One session arrives each second and would make a call every 100 ms forever; after 2 s nothing new begins.
    let plan =
        HttpLoad { stop: Stop::DurationS(2.0), ..sessions(10, 1.0, 1, conversation(1, Some(1_000), 0.09)) };
    let result = Simulation::of(&plan).result(taking(ms(10)));
    // The first session has calls at 0, 100 … 1900 ms, the second from 1000 ms on.
    assert_eq!((result.requests.due, result.requests.answered), (30, 30));
}

#[test]
fn of_each_session_that_never_begins_the_first_burst_is_never_sent() {
    // Of the hundred sessions due in a second, one connection has room for one every 20 ms.
    let bursts = conversation(2, Some(2), 0.0);
    let plan = HttpLoad { stop: Stop::DurationS(1.0), ..sessions(1, 100.0, 1, bursts) };
    let result = Simulation::of(&plan).result(taking(ms(20)));
    assert_eq!((result.requests.answered, result.requests.never_sent), (100, 100));
    assert_eq!(result.requests.due, 200);
}

#[test]
fn a_session_that_does_not_think_closes_at_the_end_of_the_window_too() {
    // Calls of 10 ms, one after the other: the first session would go on until 10 s, the second until 11 s.
    let endless = conversation(1, Some(1_000), 0.0);
    let plan = HttpLoad { stop: Stop::DurationS(2.0), ..sessions(10, 1.0, 1, endless) };
    let result = Simulation::of(&plan).result(taking(ms(10)));
    assert_eq!((result.requests.due, result.requests.answered), (300, 300));
    let lifetime = result.connections.lifetime_ms;
    assert_eq!((lifetime.count, lifetime.min, lifetime.max), (2, Some(1_000.0), Some(2_000.0)));
}
