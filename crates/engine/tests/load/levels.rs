//! A load of several levels continues over the connections that are open.

use loadcurve_engine::{LoadResult, StartError, start_levels};
use loadcurve_plan::{HttpLoad, Model, Nanos, Stop};

use crate::support::clock::{now, sleep_until};
use crate::support::{
    Measured, Reply, Seen, Server, among_others, closed, compare_times, get, ok, open, sessions, start,
};

const SHORT_S: f64 = 0.25;
const SHORT: Stop = Stop::DurationS(SHORT_S);

/// Goes through levels to their end; ends the tests where this kernel does not offer the backend.
fn measured(plans: Vec<HttpLoad>) -> Vec<LoadResult> {
    let _among_others = among_others();
    results_of(plans)
}

/// The same while no other load of this program runs.
fn results_of(plans: Vec<HttpLoad>) -> Vec<LoadResult> {
    drop(start(HttpLoad { stop: Stop::RequestsTotal(1), ..plans[0].clone() }).finish());
    let results = start_levels(plans, &|| false).unwrap().finish();
    for result in &results {
        drop(Measured::from(result));
    }
    results
}

/// Closed loops on a server that answers everything, and what that has seen; the first request of all only found out
/// whether there is the backend.
fn closed_loops(connections: &[usize], threads: &[usize]) -> (Vec<LoadResult>, Seen) {
    let server = Server::replying(Reply::answer(ok("hello")));
    let level = |(connections, threads): (&usize, &usize)| HttpLoad {
        stop: SHORT,
        threads: *threads,
        ..closed(server.address, *connections, 1)
    };
    let results = measured(connections.iter().zip(threads).map(level).collect());
    (results, server.finish())
}

fn opened(results: &[LoadResult]) -> Vec<u64> {
    results.iter().map(|result| result.connections.opened).collect()
}

/// The requests of all levels are those that the server has answered, but for those of the first load.
fn assert_all_seen(results: &[LoadResult], seen: &Seen, of_first_load: u64) {
    let answered: u64 = results.iter().map(|result| result.requests.answered).sum();
    assert_eq!(answered + of_first_load, seen.answered);
    assert!(results.iter().all(|result| result.requests.answered > 0));
    assert!(results.iter().all(|result| result.requests.due == result.requests.answered));
}

#[test]
fn no_connection_is_closed_between_two_levels_and_both_levels_count_all_that_was_answered() {
    let (results, seen) = closed_loops(&[4, 4], &[1, 1]);
    assert_eq!((opened(&results), seen.accepted), (vec![4, 0], 4 + 4));
    assert_all_seen(&results, &seen, 1);
    let second = &results[1];
    assert_eq!((second.connections.reused, second.connections.concurrent_max), (second.requests.sent, 4));
    assert_eq!(second.connections.lifetime_ms.count, 0);
}

#[test]
fn a_window_begins_where_the_one_before_it_ends() {
    let (results, _) = closed_loops(&[1, 2, 1], &[1, 1, 1]);
    for neighbours in results.windows(2) {
        let between_s = neighbours[1].window_start_monotonic_s - neighbours[0].window_start_monotonic_s;
        assert!((between_s - SHORT_S).abs() < 1e-6, "{between_s}");
        assert!((neighbours[0].duration_s - SHORT_S).abs() < 1e-9);
    }
}

#[test]
fn a_level_with_more_connections_opens_only_those_that_it_lacks() {
    let (results, seen) = closed_loops(&[1, 3, 8, 2, 2], &[1, 2, 2, 2, 2]);
    assert_eq!((opened(&results), seen.accepted), (vec![1, 2, 5, 0, 0], 1 + 8));
    assert_all_seen(&results, &seen, 1);
    assert_eq!(results[4].connections.concurrent_max, 2);
    assert_eq!(results.iter().map(|result| result.generator.threads).collect::<Vec<_>>(), [1, 2, 2, 2, 2]);
    // Those that are too many close when they are answered, in the level that follows.
    assert_eq!(results[3].connections.lifetime_ms.count + results[2].connections.lifetime_ms.count, 6);
}

#[test]
fn requests_at_a_rate_are_due_without_a_pause_from_level_to_level() {
    compare_times(|comparison| {
        let server = Server::replying(Reply::answer(ok("hello")));
        let rates = [200.0, 400.0, 100.0];
        let results = results_of(rates.iter().map(|rate| open(server.address, 4, *rate, SHORT)).collect());
        let due: Vec<_> = results.iter().map(|result| result.requests.due).collect();
        // A quarter of a second at each rate.
        assert_eq!(due, [50, 100, 25]);
        // A machine that is late at the end of a level leaves its last requests without an answer.
        let answered: Vec<_> = results.iter().map(|result| result.requests.answered).collect();
        comparison.require(answered == due, || format!("{answered:?} of {due:?} were answered"));
        let seen = server.finish();
        comparison
            .require(seen.answered == 1 + 175, || format!("the server answered {} of 176", seen.answered));
    });
}

#[test]
fn a_closed_loop_goes_on_after_a_level_at_a_rate_as_after_a_warm_up() {
    let server = Server::replying(Reply::answer(ok("hello")));
    let plans =
        vec![open(server.address, 1, 40.0, SHORT), HttpLoad { stop: SHORT, ..closed(server.address, 3, 1) }];
    let results = measured(plans);
    assert_eq!((results[0].requests.due, opened(&results)), (10, vec![1, 2]));
    assert_all_seen(&results, &server.finish(), 1);
}

#[test]
fn the_result_of_a_level_is_there_while_the_next_one_is_measured() {
    let server = Server::replying(Reply::answer(ok("hello")));
    drop(start(closed(server.address, 1, 1)).finish());
    let plan = HttpLoad { stop: SHORT, ..closed(server.address, 1, 1) };
    let endless = HttpLoad { stop: Stop::DurationS(1_000.0), ..plan.clone() };
    let mut load = start_levels(vec![plan.clone(), plan, endless], &|| false).unwrap();
    let mut results = Vec::new();
    while results.len() < 2 {
        results.extend(load.take_result());
        sleep_until(now() + Nanos::from_millis(5));
    }
    assert!(!load.is_finished());
    load.stop();
    results.extend(load.finish());
    let interrupted: Vec<_> = results.iter().map(|result| result.interrupted).collect();
    assert_eq!(interrupted, [false, false, true]);
    assert_eq!(server.finish().accepted, 2);
}

#[test]
fn what_cannot_go_on_with_the_same_connections_is_refused() {
    let address = "127.0.0.1:9".parse().unwrap();
    let refusal = |plans: Vec<HttpLoad>| match start_levels(plans, &|| false) {
        Err(StartError::Plan(text)) => text,
        Err(StartError::Machine(text)) => panic!("not the machine's fault: {text}"),
        Ok(_) => panic!("it was started"),
    };
    let plan = HttpLoad { stop: SHORT, ..closed(address, 1, 1) };
    let other = HttpLoad { model: Model::Closed { connections: 2 }, ..plan.clone() };
    assert!(refusal(vec![]).contains("at least 1 level"));
    assert!(refusal(vec![HttpLoad { stop: SHORT, ..sessions(address, 1.0, 1) }]).contains("sessions"));
    assert!(refusal(vec![closed(address, 1, 10)]).contains("duration"));
    let differs = [
        other.clone().with(|http| http.requests = loadcurve_plan::Requests::Given(vec![get("/other")])),
        other.clone().with(|http| http.conversation.pipeline = 2),
        HttpLoad { timeout_s: 1.0, ..other.clone() },
    ];
    for level in differs {
        assert!(refusal(vec![plan.clone(), level]).contains("differ only in"));
    }
}
