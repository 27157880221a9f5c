//! Open loops: latency counts from when operations fall due.

use std::time::Duration;

use loadcurve_plan::Stop;

use super::memory::{Reaction, Server};
use super::simulated::Simulation;
use super::{READS, codes, load_phase, open_loop};
use crate::plan::DatabaseLoad;

fn reacting(react: impl FnMut(&super::memory::Asked) -> Reaction + 'static) -> Server {
    let records = Simulation::of(load_phase(1, 100)).run(Server::taking(0)).server.records;
    Server::reacting(react).holding(records)
}

#[test]
fn operations_fall_due_at_the_rate_whatever_the_database_does() {
    let result = Simulation::of(open_loop(READS, 4, 100.0, Stop::DurationS(1.0)))
        .run(reacting(|_| Reaction::Answer(10)))
        .result;
    assert_eq!((result.requests.due, result.requests.answered), (100, 100));
    assert_eq!(result.rate_rps.asked, Some(100.0));
    assert_eq!((result.latency_ms.min, result.latency_ms.max), (Some(10.0), Some(10.0)));
    assert_eq!(result.generator.lateness_ms.and_then(|lateness| lateness.max), Some(0.0));
    assert_eq!(codes(&result), [""; 0]);
}

#[test]
fn a_database_that_stalls_cannot_hide_it() {
    // One client, due every 10 ms, 1 ms each; the one due at 100 ms takes 100 ms. So those due at 110 … 190 ms wait, and
    // the k-th of them ends at 200 + k ms: its latency is 200 + k − (100 + 10 k) = 100 − 9 k ms.
    let result = Simulation::of(open_loop(READS, 1, 100.0, Stop::DurationS(1.0)))
        .run(reacting(|asked| Reaction::Answer(if asked.number == 10 { 100 } else { 1 })))
        .result;
    assert_eq!(result.requests.answered, 100);
    let slowest: Vec<f64> = result.slowest.iter().map(|slow| slow.latency_ms).collect();
    assert_eq!(slowest, [100.0, 91.0, 82.0, 73.0, 64.0, 55.0, 46.0, 37.0, 28.0, 19.0]);
    // A closed loop would have shown one slow operation.
    let services: Vec<_> = result.slowest.iter().map(|slow| slow.service_time_ms).collect();
    assert_eq!(services[..3], [Some(100.0), Some(1.0), Some(1.0)]);
    assert_eq!(result.generator.lateness_ms.and_then(|lateness| lateness.max), Some(0.0));
}

#[test]
fn what_no_client_was_free_for_is_never_sent() {
    // One client of 20 ms makes 50 of the 100 that fall due in a second.
    let result = Simulation::of(open_loop(READS, 1, 100.0, Stop::DurationS(1.0)))
        .run(reacting(|_| Reaction::Answer(20)))
        .result;
    assert_eq!((result.requests.due, result.requests.answered, result.requests.never_sent), (100, 50, 50));
    assert_eq!(codes(&result), ["rate_not_reached"]);
    let text = &result.verdict.reasons[0].text;
    assert!(
        text.contains("100 operations per second fell due") && text.contains("for want of a free client"),
        "{text}"
    );
}

#[test]
fn what_falls_due_while_the_thread_does_not_run_is_the_generators_doing() {
    // Nothing is handed out for the whole of the window, although all clients are free.
    let simulation = Simulation {
        held_up_until: Duration::from_millis(1_500),
        ..Simulation::of(open_loop(READS, 4, 100.0, Stop::DurationS(1.0)))
    };
    let result = simulation.run(reacting(|_| Reaction::Answer(1))).result;
    assert_eq!(result.requests.due, 100);
    assert!(result.requests.never_sent > 90, "{:?}", result.requests);
    assert!(codes(&result).contains(&"rate_not_sent"), "{:?}", result.verdict);
}

#[test]
fn a_late_thread_is_late_and_not_its_database() {
    let simulation = Simulation {
        held_up_until: Duration::from_millis(55),
        ..Simulation::of(open_loop(READS, 10, 100.0, Stop::DurationS(1.0)))
    };
    let result = simulation.run(reacting(|_| Reaction::Answer(1))).result;
    // What is due at 10 ms is sent at 55 ms, 45 ms late.
    assert_eq!(result.generator.lateness_ms.and_then(|lateness| lateness.max), Some(45.0));
    assert_eq!(result.latency_ms.max, Some(46.0));
    assert_eq!(result.service_time_ms.max, Some(1.0));
}

#[test]
fn threads_share_one_schedule() {
    let plan = DatabaseLoad { threads: 4, ..open_loop(READS, 8, 100.0, Stop::RequestsTotal(50)) };
    let result = Simulation::of(plan).run(reacting(|_| Reaction::Answer(5))).result;
    assert_eq!((result.requests.due, result.requests.answered), (50, 50));
    // The last of 50 is due at 490 ms and takes 5 ms.
    assert!((result.duration_s - 0.495).abs() < 1e-9, "{}", result.duration_s);
}

#[test]
fn an_interrupted_open_loop_counts_what_was_due_until_then() {
    let simulation = Simulation {
        stop_at: Duration::from_millis(500),
        ..Simulation::of(open_loop(READS, 2, 100.0, Stop::DurationS(10.0)))
    };
    // One of the two is free at once, and the other waits for the second operation to fall due.
    let result = simulation.run(reacting(|_| Reaction::Never)).result;
    let requests = result.requests;
    assert_eq!((requests.due, requests.unanswered, requests.never_sent), (50, 2, 48));
}
