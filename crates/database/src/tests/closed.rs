//! Closed loops, whose throughput follows from the time of an operation.

use std::time::Duration;

use loadcurve_plan::Stop;

use super::memory::{Reaction, Server};
use super::simulated::Simulation;
use super::{READS, codes, load_phase, run_phase};
use crate::plan::DatabaseLoad;

/// The records of the workload, on a server that takes this time for each request.
fn serving(milliseconds: u64) -> Server {
    let records = Simulation::of(load_phase(1, 100)).run(Server::taking(0)).server.records;
    Server::taking(milliseconds).holding(records)
}

#[test]
fn n_clients_make_n_operations_in_the_time_of_one() {
    // 8 clients of 10 ms each: 800 per second. The first of the window begin when it does, the last end with it.
    let plan = DatabaseLoad { warmup_s: 0.1, ..run_phase(READS, 8, Stop::DurationS(1.0)) };
    let result = Simulation::of(plan).run(serving(10)).result;
    assert_eq!(result.rate_rps.answered, Some(800.0));
    assert_eq!((result.requests.due, result.requests.answered), (800, 800));
    for times in [result.latency_ms, result.service_time_ms] {
        assert_eq!((times.count, times.min, times.max), (800, Some(10.0), Some(10.0)));
    }
    assert!(result.generator.lateness_ms.is_none(), "a closed loop has no time to be late against");
    assert_eq!(codes(&result), [""; 0]);
}

#[test]
fn a_number_of_operations_lasts_until_the_last_answer() {
    // 100 operations by 8 clients are 13 rounds, the last of 4 operations: 13 · 10 ms.
    let result = Simulation::of(run_phase(READS, 8, Stop::RequestsTotal(100))).run(serving(10)).result;
    assert!((result.duration_s - 0.13).abs() < 1e-9, "{}", result.duration_s);
    assert_eq!((result.requests.due, result.requests.answered), (100, 100));
}

#[test]
fn clients_are_divided_among_the_threads_of_the_generator() {
    let plan = DatabaseLoad { threads: 3, ..run_phase(READS, 8, Stop::DurationS(1.0)) };
    let result = Simulation::of(plan).run(serving(10)).result;
    assert_eq!(result.requests.answered, 800);
    assert_eq!(result.connections.opened, 8);
    assert_eq!(result.generator.threads, 3);
}

#[test]
fn connecting_of_the_client_that_opens_the_database_begins_with_that() {
    // One client takes 30 ms for the first contact and 5 ms more; the two that wait for it begin to connect after that.
    let server = serving(1).opening_in(30).accepting(|_| Reaction::Answer(5));
    let result = Simulation::of(run_phase(READS, 3, Stop::RequestsTotal(6))).run(server).result;
    let connecting = result.connect_ms;
    assert_eq!((connecting.count, connecting.min, connecting.max), (3, Some(5.0), Some(35.0)));
    assert_eq!(result.requests.answered, 6);
}

#[test]
fn what_a_driver_does_not_tell_is_absent() {
    let result = Simulation::of(run_phase(READS, 1, Stop::RequestsTotal(5))).run(serving(1)).result;
    assert!(result.status.is_none() && result.bytes.is_none());
    assert_eq!((result.first_byte_ms.count, result.transfer_ms.count), (0, 0));
    assert_eq!(result.requests.ok, 5);
}

#[test]
fn operations_that_began_in_the_window_are_followed_to_their_end() {
    // Two clients of 0.7 s begin at 0 and 0.7 s; the second operations end 0.4 s after the window.
    let result = Simulation::of(run_phase(READS, 2, Stop::DurationS(1.0))).run(serving(700)).result;
    assert_eq!((result.requests.due, result.requests.answered), (4, 4));
    assert_eq!(result.rate_rps.answered, Some(2.0));
}

#[test]
fn an_interrupted_load_keeps_what_was_measured() {
    // Four clients of 10 ms, stopped after 55 ms: five rounds are answered, one is under way.
    let plan = run_phase(READS, 4, Stop::DurationS(10.0));
    let simulation = Simulation { stop_at: Duration::from_millis(55), ..Simulation::of(plan) };
    let result = simulation.run(serving(10)).result;
    assert!(result.interrupted);
    // Whether to stop is looked at every 20 ms: at 60 ms the sixth round has just been answered.
    assert_eq!((result.requests.unanswered, result.requests.due - result.requests.answered), (4, 4));
    assert!((5..=6).contains(&(result.requests.answered / 4)), "{:?}", result.requests);
}

#[test]
fn the_slowest_operations_are_reported_by_their_kind() {
    let server = serving(0);
    let server = Server::reacting(|asked| Reaction::Answer(if asked.number == 7 { 400 } else { 10 }))
        .holding(server.records);
    let result = Simulation::of(run_phase(READS, 1, Stop::RequestsTotal(20))).run(server).result;
    let slowest = &result.slowest[0];
    assert_eq!((slowest.operation.as_str(), slowest.latency_ms, slowest.due_s), ("read", 400.0, 0.07));
}

#[test]
fn a_database_that_answers_at_once_does_not_keep_one_client_from_the_others() {
    let plan = run_phase(READS, 4, Stop::RequestsTotal(40));
    let asked = Simulation::of(plan).run(serving(0)).result;
    assert_eq!(asked.requests.answered, 40);
    let carriers: std::collections::BTreeSet<usize> =
        asked.slowest.iter().map(|slow| slow.connection).collect();
    assert!(carriers.len() > 1, "{carriers:?}");
}
