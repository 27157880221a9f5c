//! Whole loads whose verdict follows from arithmetic.

use loadcurve_plan::{Arrivals, Conversation, HttpLoad, Model, Nanos, Rate, Stop};
use loadcurve_record::{Class, Failure};

use super::simulated::{START, Simulation};
use super::{closed, ms, open, plan, silent, taking};
use crate::result::LoadResult;
use crate::verdict::{Code, Status};

fn codes(result: &LoadResult) -> Vec<&str> {
    result.verdict.reasons.iter().map(|reason| reason.code.code()).collect()
}

#[test]
fn a_short_window_that_ends_before_its_last_answers_is_no_lack_of_rate() {
    // Ten requests are due 0.1 s apart and take 0.15 s, so the last one is answered after the window of 1 s.
    let result = Simulation::of(&open(3, 10.0, Stop::DurationS(1.0))).result(taking(ms(150)));
    assert_eq!((result.requests.answered, result.rate_rps.answered), (10, Some(9.0)));
    assert_eq!(codes(&result), [""; 0]);
}

#[test]
fn a_number_of_requests_at_the_rate_asked_for_is_sound() {
    let result = Simulation::of(&open(10, 100.0, Stop::RequestsTotal(100))).result(taking(ms(20)));
    assert_eq!(codes(&result), [""; 0]);
}

#[test]
fn a_number_of_requests_that_takes_twice_as_long_as_its_schedule_has_not_reached_the_rate() {
    // One connection of 20 ms serves 50 per second. The hundred requests fall due within 0.99 s and are done after 2 s.
    let result = Simulation::of(&open(1, 100.0, Stop::RequestsTotal(100))).result(taking(ms(20)));
    assert_eq!(result.requests.answered, 100);
    assert_eq!(codes(&result), ["rate_not_reached"]);
}

#[test]
fn sessions_that_find_no_connection_free_have_not_reached_the_rate() {
    let sessions = Model::Sessions {
        connection_rate_cps: Rate::Constant(100.0),
        arrivals: Arrivals::Constant,
        connections: 1,
    };
    let conversation = Conversation { calls: Some(1), ..Conversation::default() };
    let plan = plan(sessions, Stop::DurationS(1.0)).with(|http| http.conversation = conversation);
    assert_eq!(codes(&Simulation::of(&plan).result(taking(ms(5)))), [""; 0]);
    assert_eq!(codes(&Simulation::of(&plan).result(taking(ms(20)))), ["rate_not_reached"]);
}

#[test]
fn a_worker_that_begins_after_its_warm_up_leaves_out_a_part_of_its_window() {
    // 8 connections of 2 ms answer 4000 requests per second, for 1.85 of the 2 s, or for all of them.
    let plan = HttpLoad { warmup_s: 0.1, ..closed(8, Stop::DurationS(2.0)) };
    let begun = |begins_late| Simulation { begins_late, ..Simulation::of(&plan) }.result(taking(ms(2)));
    let late = begun(ms(250));
    assert_eq!((codes(&late), late.requests.answered), (vec!["began_late"], 7_400));
    let absorbed = begun(ms(100));
    assert_eq!((codes(&absorbed), absorbed.requests.answered), (vec![], 8_000));
}

#[test]
fn what_was_due_before_a_worker_began_waits_for_it_and_no_lateness_tells() {
    // Of 100 requests due in a second, those of the first 0.2 s are sent at its end: 200, 190 … 10 ms after they were due.
    let plan = open(30, 100.0, Stop::DurationS(1.0));
    let simulation = Simulation { begins_late: ms(200), ..Simulation::of(&plan) };
    let result = simulation.result(taking(ms(1)));
    assert_eq!((codes(&result), result.requests.answered), (vec!["began_late"], 100));
    assert_eq!((result.latency_ms.max, result.generator.lateness_ms.unwrap().max), (Some(201.0), Some(0.0)));
}

#[test]
fn what_falls_due_while_the_generator_is_held_up_at_the_end_is_its_own_doing() {
    // Of 1000 requests due in a second, those from 0.9 s on are not sent, although all connections are free.
    let plan = open(10, 1_000.0, Stop::DurationS(1.0));
    let simulation = Simulation { held_up: START + ms(900)..START + ms(1_050), ..Simulation::of(&plan) };
    let result = simulation.result(taking(Nanos(500_000)));
    assert_eq!((result.requests.due, result.requests.never_sent), (1_000, 100));
    assert_eq!(codes(&result), ["rate_not_sent", "rate_not_reached"]);
}

#[test]
fn what_falls_due_while_all_connections_are_busy_is_the_servers_doing() {
    let plan = open(1, 100.0, Stop::DurationS(1.0));
    let result = Simulation::of(&plan).result(taking(ms(20)));
    assert_eq!(result.requests.never_sent, 50);
    assert_eq!(codes(&result), ["rate_not_reached"]);
}

#[test]
fn a_load_that_is_interrupted_in_its_warm_up_says_what_was_sent_until_then() {
    let plan = HttpLoad { warmup_s: 60.0, ..open(1, 100.0, Stop::DurationS(60.0)) };
    let simulation = Simulation { stop_at: START + ms(500), ..Simulation::of(&plan) };
    let result = simulation.result(taking(ms(1)));
    assert_eq!(codes(&result), ["nothing_answered", "interrupted"]);
    // Due at 0, 10 … 490 ms; the turn at 500 ms is the last.
    assert!(
        result.verdict.reasons[1].text.contains("in its warm-up, after 50 requests"),
        "{:?}",
        result.verdict
    );
}

#[test]
fn failures_of_the_warm_up_are_noted() {
    // Four requests of the warm-up of 1 s time out, and so do the two of the window of 0.5 s.
    let plan = HttpLoad { warmup_s: 1.0, timeout_s: 0.25, ..closed(1, Stop::DurationS(0.5)) };
    let result = Simulation::of(&plan).result(silent());
    assert_eq!(result.errors[Failure::Timeout], 2);
    let notes: Vec<_> = result.verdict.notes.iter().map(|note| note.text.as_str()).collect();
    assert!(notes.iter().any(|text| text.contains("4 of 4 requests of the warm-up")), "{notes:?}");
}

/// A server that takes 10 ms for each request until it hangs, this time after the start.
fn hanging_from(hangs: Nanos) -> impl FnMut(Nanos) -> Option<Nanos> {
    move |arrival| (arrival < START + hangs).then(|| arrival + ms(10))
}

#[test]
fn a_server_that_hangs_halfway_gives_no_valid_result_although_few_requests_fail() {
    // 2 connections get 500 answers each in 5 s, and wait for one more in vain.
    let result = Simulation::of(&closed(2, Stop::DurationS(10.0))).result(hanging_from(ms(5_000)));
    assert_eq!((result.requests.answered, result.errors[Failure::Timeout]), (1_000, 2));
    assert_eq!(codes(&result), ["errors", "stopped_answering"]);
    assert_eq!(result.verdict.status, Status::Invalid);
    let text = &result.verdict.reasons[1].text;
    assert!(text.contains("the last 5.0 of 10.0 s (50.0 %)"), "{text}");
}

#[test]
fn a_server_that_hangs_on_a_schedule_is_reported_likewise() {
    let result = Simulation::of(&open(2, 100.0, Stop::DurationS(10.0))).result(hanging_from(ms(5_000)));
    assert_eq!(codes(&result), ["errors", "stopped_answering"]);
}

#[test]
fn a_slow_server_has_not_stopped_answering_while_its_last_requests_are_under_way() {
    // One request is lost; those of the last half of the window are answered after its end.
    let mut arrived = 0;
    let service = move |arrival| {
        arrived += 1;
        let took = if arrival < START + ms(5_000) { ms(10) } else { ms(6_000) };
        (arrived != 100).then(|| arrival + took)
    };
    let plan = HttpLoad { timeout_s: 8.0, ..closed(2, Stop::DurationS(10.0)) };
    let result = Simulation::of(&plan).result(service);
    assert_eq!(result.errors[Failure::Timeout], 1);
    assert!(!codes(&result).contains(&"stopped_answering"), "{:?}", result.verdict);
}

#[test]
fn a_load_that_is_interrupted_in_a_silence_without_a_failure_does_not_know_that_it_ended() {
    let plan = closed(2, Stop::DurationS(10.0));
    let simulation = Simulation { stop_at: START + ms(8_000), ..Simulation::of(&plan) };
    let result = simulation.result(hanging_from(ms(5_000)));
    assert_eq!(result.requests.unanswered, 2);
    assert!(!codes(&result).contains(&"stopped_answering"), "{:?}", result.verdict);
}

#[test]
fn a_warm_up_that_is_not_worked_off_by_the_end_is_reported_where_nothing_else_was_sent() {
    // 400 requests fall due in each of two seconds, and one connection of 10 ms makes 200 of the first in both.
    let plan = HttpLoad { warmup_s: 1.0, ..open(1, 400.0, Stop::DurationS(1.0)) };
    let result = Simulation::of(&plan).result(taking(ms(10)));
    assert_eq!((result.requests.due, result.requests.never_sent), (400, 400));
    let reason = &result.verdict.reasons[0];
    assert_eq!(reason.code, Code::NothingAnswered);
    assert!(
        reason.text.contains("those of the warm-up") && reason.text.contains("100 of them per second"),
        "{reason:?}"
    );
}

/// Three seconds in which answers take twice as long as later, seen by eight connections.
fn warming_up_over(warmup_s: f64) -> LoadResult {
    let plan = HttpLoad { warmup_s, ..closed(8, Stop::DurationS(8.0)) };
    let service = |arrival| if arrival < START + ms(3_000) { ms(80) } else { ms(40) };
    Simulation::of(&plan).result(move |arrival| Some(arrival + service(arrival)))
}

#[test]
fn a_server_that_warms_up_in_the_window_is_reported_with_what_it_needs() {
    let result = warming_up_over(0.0);
    assert_eq!(codes(&result), ["unsettled"]);
    // 8 connections of 80 and 40 ms make 100 and 200 requests per second.
    let text = &result.verdict.reasons[0].text;
    assert!(text.contains("the first 3 of 8 s answered 50 % fewer requests per second"), "{text}");
    assert!(text.contains("`--warmup 3s`"), "{text}");
}

#[test]
fn a_server_that_warms_up_before_the_window_had_settled() {
    assert_eq!(codes(&warming_up_over(3.5)), [""; 0]);
}
