//! Loads of several levels: what continues from one level to the next, and what belongs to which.

use loadcurve_plan::{Conversation, HttpLoad, Nanos, Stop};
use loadcurve_record::{Distribution, RequestCounts, TimeHistogram};

use super::simulated::{Accepting, START, Simulation};
use super::{closed, ms, open, silent, taking};
use crate::part::Part;

const SECOND: Stop = Stop::DurationS(1.0);

/// What is recorded of each level on a server that is reached at once, and the moments at which requests were sent.
fn levels(
    plans: &[HttpLoad],
    service: impl FnMut(Nanos) -> Option<Nanos> + 'static,
) -> (Vec<Part>, Vec<Nanos>) {
    let widest = plans.iter().max_by_key(|plan| plan.model.connections()).unwrap();
    let simulation = Simulation::of(widest);
    let parts = simulation.run_levels(plans, service);
    let sent = simulation.sent.borrow().iter().map(|(sent, _)| *sent).collect();
    (parts, sent)
}

fn longest_ms(times: &TimeHistogram) -> Option<f64> {
    Distribution::from(times).max
}

fn answered_and_opened(parts: &[Part]) -> Vec<(u64, u64)> {
    parts.iter().map(|part| (part.recorder.requests.answered, part.recorder.connections.opened)).collect()
}

#[test]
fn each_level_begins_at_the_end_of_the_one_before() {
    let plans = [closed(1, SECOND), closed(1, Stop::DurationS(2.0)), closed(1, SECOND)];
    let (parts, _) = levels(&plans, taking(ms(3)));
    let windows: Vec<_> =
        parts.iter().map(|part| (part.window.start - START, part.window.end - START)).collect();
    assert_eq!(windows, [(ms(0), ms(1_000)), (ms(1_000), ms(3_000)), (ms(3_000), ms(4_000))]);
    assert!(parts.iter().all(|part| part.began == part.window.start), "there is no pause");
}

#[test]
fn a_closed_loop_gives_n_over_the_service_time_at_each_level_on_connections_that_stay_open() {
    // 2, 5 and 3 connections, 10 ms each, for 1 s: 200, 500 and 300 requests; three connections are added, none is made anew.
    let (parts, _) = levels(&[closed(2, SECOND), closed(5, SECOND), closed(3, SECOND)], taking(ms(10)));
    assert_eq!(answered_and_opened(&parts), [(200, 2), (500, 3), (300, 0)]);
    assert!(parts.iter().all(|part| part.recorder.requests.due == part.recorder.requests.sent));
}

#[test]
fn the_first_request_of_a_level_is_due_at_the_end_of_the_one_before() {
    // At 10 per second requests fall due at 0, 100 … 900 ms, and at 5 per second at 1000, 1200 … 1800 ms.
    let (parts, sent) = levels(&[open(1, 10.0, SECOND), open(1, 5.0, SECOND)], taking(ms(1)));
    let expected: Vec<_> = (0..10).map(|n| ms(100 * n)).chain((0..5).map(|n| ms(1_000 + 200 * n))).collect();
    assert_eq!(sent.iter().map(|sent| *sent - START).collect::<Vec<_>>(), expected);
    assert_eq!(answered_and_opened(&parts), [(10, 1), (5, 0)]);
    assert!(parts.iter().all(|part| longest_ms(&part.recorder.lateness) == Some(0.0)));
}

#[test]
fn a_request_that_is_under_way_at_the_end_belongs_to_its_own_level_and_its_answer_to_the_rate_of_the_next() {
    // Sent at 0, 300, 600 and 900 ms, the fourth of 300 ms each is answered at 1.2 s; then come 1.2, 1.5 and 1.8 s.
    let (parts, _) = levels(&[closed(1, SECOND), closed(1, SECOND)], taking(ms(300)));
    let counts: Vec<_> = parts
        .iter()
        .map(|part| (part.recorder.requests.answered, part.recorder.answered_within, part.recorder.replies))
        .collect();
    // Answers at 300, 600 and 900 ms, and at 1200, 1500 and 1800 ms; that at 2.1 s comes after the last window.
    assert_eq!(counts, [(4, 3, 3), (3, 3, 4)]);
    assert!(parts.iter().all(|part| longest_ms(&part.recorder.latency()) == Some(300.0)));
    let slowest: Vec<_> = parts.iter().map(|part| part.recorder.slowest.in_order().len()).collect();
    assert_eq!(slowest, [4, 3]);
}

#[test]
fn a_request_may_be_under_way_for_longer_than_a_level() {
    // Each takes 2.5 s: that of the first level is answered in the third, in which the next one begins.
    let (parts, _) = levels(&[closed(1, SECOND), closed(1, SECOND), closed(1, SECOND)], taking(ms(2_500)));
    let answered: Vec<_> = parts.iter().map(|part| part.recorder.requests.answered).collect();
    assert_eq!(answered, [1, 0, 1]);
    assert_eq!(parts.iter().map(|part| part.recorder.answered_within).collect::<Vec<_>>(), [0, 0, 1]);
}

#[test]
fn what_was_due_and_not_sent_when_its_level_ended_is_never_sent() {
    // One connection, 400 ms for each request, 10 requests due per second: three begin in the first second, at 0, 0.4 and
    // 0.8 s. Of the next second's five begin at 1.2 and 1.6 s two.
    let (parts, _) = levels(&[open(1, 10.0, SECOND), open(1, 5.0, SECOND)], taking(ms(400)));
    let counts = |due, sent| RequestCounts {
        due,
        sent,
        answered: sent,
        never_sent: due - sent,
        ..RequestCounts::default()
    };
    let found: Vec<_> = parts.iter().map(|part| part.recorder.requests).collect();
    assert_eq!(found, [counts(10, 3), counts(5, 2)]);
}

#[test]
fn a_surplus_connection_closes_after_its_answer_and_opens_again_when_it_is_used_again() {
    let (parts, _) = levels(&[closed(3, SECOND), closed(1, SECOND), closed(3, SECOND)], taking(ms(300)));
    // All three send at 0, 0.3, 0.6 and 0.9 s. The first continues at 1.2, 1.5 and 1.8 s and, in the third level, at 2.1,
    // 2.4 and 2.7 s; the others open anew at 2 s and send at 2, 2.3, 2.6 and 2.9 s.
    assert_eq!(answered_and_opened(&parts), [(12, 3), (3, 0), (3 + 2 * 4, 2)]);
    let lifetimes: Vec<_> = parts.iter().map(|part| part.recorder.lifetime.count()).collect();
    assert_eq!(lifetimes, [0, 2, 0]);
    assert_eq!(longest_ms(&parts[1].recorder.lifetime), Some(1_200.0));
}

#[test]
fn connections_that_take_time_to_open_do_not_hold_up_those_that_are_open() {
    let plans = [closed(1, SECOND), closed(20, SECOND)];
    let mut simulation = Simulation::of(&plans[1]);
    simulation.accepting = Accepting::After(ms(500));
    let parts = simulation.run_levels(&plans, taking(ms(10)));
    // The first connection sends a hundred in each second, and each of the nineteen others fifty in half of one.
    assert_eq!(answered_and_opened(&parts), [(100, 1), (100 + 19 * 50, 19)]);
    assert_eq!(longest_ms(&parts[1].recorder.latency()), Some(10.0), "opening is no part of a latency");
}

#[test]
fn a_connection_for_each_request_goes_on_from_level_to_level() {
    let once = Conversation { calls: Some(1), ..Conversation::default() };
    let plans =
        [2, 4, 1].map(|connections| closed(connections, SECOND).with(|http| http.conversation = once));
    let (parts, _) = levels(&plans, taking(ms(100)));
    let answered: Vec<_> = parts.iter().map(|part| part.recorder.requests.answered).collect();
    assert_eq!(answered, [20, 40, 10]);
}

#[test]
fn each_level_may_have_a_warm_up_at_its_own_rate() {
    let plans = [10.0, 20.0].map(|rate| HttpLoad { warmup_s: 1.0, ..open(1, rate, SECOND) });
    let (parts, _) = levels(&plans, taking(ms(1)));
    let counts: Vec<_> =
        parts.iter().map(|part| (part.recorder.warm_up.begun, part.recorder.requests.answered)).collect();
    assert_eq!(counts, [(10, 10), (20, 20)]);
    assert_eq!(parts[1].window.start - START, ms(3_000));
}

#[test]
fn a_request_that_nobody_answers_fails_in_the_level_in_which_it_was_due() {
    let plans = [closed(1, SECOND), closed(1, SECOND)].map(|plan| HttpLoad { timeout_s: 0.6, ..plan });
    let (parts, _) = levels(&plans, silent());
    // Due at 0 and 0.6 s; after the timeouts, at 1.2 s, and at 1.8 s, which fails at 2.4 s.
    assert_eq!(parts.iter().map(|part| part.recorder.requests.failed).collect::<Vec<_>>(), [2, 2]);
}

#[test]
fn a_load_that_is_stopped_brings_home_the_levels_until_then_with_what_is_unanswered() {
    let plans = [closed(1, SECOND), closed(1, SECOND), closed(1, SECOND)];
    let mut simulation = Simulation::of(&plans[0]);
    simulation.stop_at = START + ms(1_100);
    let parts = simulation.run_levels(&plans, taking(ms(400)));
    // Due at 0, 0.4 and 0.8 s, of which the last is under way at 1.1 s; nothing of the second level was begun.
    let found: Vec<_> = parts
        .iter()
        .map(|part| (part.recorder.requests.answered, part.recorder.requests.unanswered))
        .collect();
    assert_eq!(found, [(2, 1), (0, 0)]);
}
