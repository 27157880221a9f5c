//! A load that two processes divide, as two machines will: they begin at one moment, and what they record is one result.

use loadcurve_engine::{
    Finished, Gathered, NotBegun, PartFigures, RunningLoad, StartError, result_of, start_part,
};
use loadcurve_plan::{HttpLoad, Nanos, Requests, Share, Stop};

use crate::support::clock::{now, sleep_until};
use crate::support::{Reply, Server, closed, get, ok, open};

const MOMENT: Nanos = Nanos::from_millis(1);

/// The shares of a plan that two machines have, with their connections open.
fn two_ready_parts(plan: &HttpLoad) -> Vec<RunningLoad<Finished>> {
    let parts: Vec<_> =
        (0..2).map(|index| start_part(plan, Share::new(index, 2), &|| false).unwrap()).collect();
    while !parts.iter().all(RunningLoad::is_ready) {
        sleep_until(now() + MOMENT);
    }
    parts
}

#[test]
fn two_parts_that_travel_are_one_load_that_begins_at_one_moment() {
    let server = Server::replying(Reply::answer(ok("hello")));
    let targets: Vec<String> = (0..50).map(|number| format!("/{number}")).collect();
    let requests = Requests::Given(targets.iter().map(|target| get(target)).collect());
    let plan = open(server.address, 6, 500.0, Stop::RequestsTotal(50)).with(|http| http.requests = requests);
    let mut parts = two_ready_parts(&plan);
    let at = now() + Nanos::from_millis(200);
    for part in &mut parts {
        assert_eq!(part.progress().elapsed_s, None, "it waits for its start");
        assert_eq!(part.begin(at), Ok(()));
    }
    let travelled: Gathered = parts
        .into_iter()
        .map(|part| {
            let finished = part.finish();
            assert!(finished.part.window.start == at && finished.part.began >= at);
            assert_eq!(finished.part.recorder.requests.answered, 25);
            // The other machine's clock is behind by a second.
            Finished::decode(&finished.encode(at), at - Nanos::from_millis(1_000)).unwrap()
        })
        .collect();
    let result = result_of(&plan, travelled).unwrap();
    assert_eq!((result.requests.due, result.requests.answered), (50, 50));
    assert_eq!((result.connections.opened, result.generator.threads), (6, 2));
    assert_eq!(result.operations.iter().map(|operation| operation.answered).collect::<Vec<_>>(), [1; 50]);
    let mut seen = server.finish().requests;
    let mut expected: Vec<String> = targets.iter().map(|target| format!("GET {target}")).collect();
    seen.sort_unstable();
    expected.sort_unstable();
    assert_eq!(seen, expected);
}

#[test]
fn a_moment_that_has_passed_is_an_error_and_nothing_is_sent_until_another_is_given() {
    let server = Server::replying(Reply::answer(ok("hello")));
    let plan = closed(server.address, 2, 10);
    let parts = two_ready_parts(&plan);
    let [first, second] = &parts[..] else { panic!("there are two") };
    assert!(matches!(first.begin(now() - Nanos(1)), Err(NotBegun::Passed(_))));
    assert_eq!(first.begin(now() + Nanos::from_millis(50)), Ok(()));
    assert_eq!(first.begin(now() + Nanos::from_millis(90)), Err(NotBegun::Begun));
    // The second one is asked to end before it has begun.
    second.stop();
    let finished: Vec<Finished> = parts.into_iter().map(RunningLoad::finish).collect();
    let answered: Vec<u64> =
        finished.iter().map(|finished| finished.part.recorder.requests.answered).collect();
    assert_eq!((answered, server.finish().answered), (vec![5, 0], 5));
    assert!(finished[1].interrupted);
}

#[test]
fn a_share_has_a_connection_for_each_of_its_threads() {
    let plan = HttpLoad { threads: 3, ..closed("127.0.0.1:1".parse().unwrap(), 5, 10) };
    let Err(StartError::Plan(problem)) = start_part(&plan, Share::new(1, 2), &|| false) else {
        panic!("it has two")
    };
    assert_eq!(
        problem,
        "3 threads require at least as many connections, but a share of this load has 2: \
        use fewer threads or more connections"
    );
}

#[test]
fn the_row_of_a_part_is_its_own_share_of_the_figures_of_all() {
    let server = Server::replying(Reply::answer(ok("hello")));
    let plan = open(server.address, 6, 500.0, Stop::RequestsTotal(51));
    let parts = two_ready_parts(&plan);
    let at = now() + Nanos::from_millis(50);
    for part in &parts {
        part.begin(at).unwrap();
    }
    let finished: Vec<Finished> = parts.into_iter().map(RunningLoad::finish).collect();
    let figures = [0, 1].map(|index: usize| PartFigures::of(&plan.pace(), &finished[index]));
    let result = result_of(&plan, Gathered::from_iter(finished)).unwrap();
    let rows = figures.map(|figures| figures.beside(&result));
    assert_eq!(rows.each_ref().map(|row| row.requests.answered), [26, 25]);
    assert_eq!(rows.each_ref().map(|row| row.connections_opened), [3, 3]);
    let sum: f64 = rows.iter().filter_map(|row| row.answered_rps).sum();
    assert!((sum - result.rate_rps.answered.unwrap()).abs() < 1e-9 * sum, "the rates of the parts add up");
    let cpu_s: f64 = rows.iter().map(|row| row.generator.cpu_user_s + row.generator.cpu_system_s).sum();
    assert!((cpu_s - result.generator.cpu_user_s - result.generator.cpu_system_s).abs() < 1e-9);
    assert!(rows.iter().all(|row| row.began_ms >= 0.0 && !row.interrupted));
    let sent_again: Option<u64> = rows.iter().map(|row| row.kernel.retransmits).sum();
    assert_eq!(sent_again, result.kernel.retransmits);
}
