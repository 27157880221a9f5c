//! Loads by number whose server goes away: one that stays away ends them, and one that comes back does not.

use loadcurve_plan::{Conversation, HttpLoad, Nanos, Stop};
use loadcurve_record::Failure;

use super::simulated::{Accepting, START, Simulation};
use super::{closed, ms, open, silent, taking};
use crate::result::LoadResult;
use crate::verdict::{Code, Reason};

/// Two connections, a new one for each request, which takes 10 ms; one that cannot be made is tried again after 10, 30, 70, 150,
/// 310, 630, 1,270, 2,550 ms and so on, each 1,280 ms.
fn reconnecting(stop: Stop) -> HttpLoad {
    let once = Conversation { calls: Some(1), ..Conversation::default() };
    closed(2, stop).with(|http| http.conversation = once)
}

/// The result where nobody can connect from 1 s on until then.
fn away_until(plan: &HttpLoad, back: Nanos) -> LoadResult {
    let accepting = Accepting::NotBetween(START + ms(1_000), back);
    Simulation { accepting, ..Simulation::of(plan) }.result(taking(ms(10)))
}

fn lost(result: &LoadResult) -> Option<&Reason> {
    result.verdict.reasons.iter().find(|reason| reason.code == Code::ServerLost)
}

#[test]
fn a_server_that_stays_away_for_the_timeout_ends_a_load_by_number() {
    // 200 answers in 1 s; then 14 attempts on each connection until 9.95 s, and at 11 s the timeout of 10 s has passed.
    let result = away_until(&reconnecting(Stop::RequestsTotal(1_000)), Nanos::NEVER);
    assert_eq!((result.requests.answered, result.errors[Failure::ConnectRefused]), (200, 28));
    assert_eq!((result.requests.due, result.requests.never_sent), (1_000, 772));
    assert!((result.duration_s - 9.95).abs() < 1e-9, "{}", result.duration_s);
    let text = &lost(&result).unwrap().text;
    let said = "it was last heard 1.00 s after the start of the measured part, every attempt to connect failed for 10.0 s \
        after that, and so the load ended there, with 772 of 1,000 requests never sent";
    assert!(text.contains(said), "{text}");
    assert!(result.verdict.reasons.iter().all(|reason| reason.code != Code::RateNotSent));
}

#[test]
fn one_that_is_back_within_the_timeout_costs_no_more_than_its_failures() {
    // Of the attempts on each connection 12 fail, the last 6.39 s after the first.
    let result = away_until(&reconnecting(Stop::RequestsTotal(1_000)), START + ms(8_000));
    assert_eq!((result.requests.answered, result.requests.failed, result.requests.never_sent), (976, 24, 0));
    assert!(lost(&result).is_none(), "{:?}", result.verdict);
}

#[test]
fn a_schedule_by_number_is_given_up_with_all_that_is_left_of_it() {
    // One request is due each 100 ms for 100 s.
    let once = Conversation { calls: Some(1), ..Conversation::default() };
    let plan = open(2, 10.0, Stop::RequestsTotal(1_000)).with(|http| http.conversation = once);
    let result = away_until(&plan, Nanos::NEVER);
    let requests = result.requests;
    assert_eq!((requests.due, requests.answered), (1_000, 10));
    assert_eq!(requests.never_sent, 1_000 - 10 - requests.failed);
    assert!(lost(&result).is_some(), "{:?}", result.verdict);
}

#[test]
fn a_load_of_a_duration_goes_on_to_its_end() {
    let result = away_until(&reconnecting(Stop::DurationS(30.0)), Nanos::NEVER);
    assert_eq!((result.duration_s, result.requests.never_sent), (30.0, 0));
    assert!(lost(&result).is_none(), "{:?}", result.verdict);
}

#[test]
fn a_server_that_was_never_there_ends_it_likewise() {
    // After the attempt before the load, rests begin with 20 ms: 13 attempts on each connection, the last after 8.94 s.
    let plan = closed(2, Stop::RequestsTotal(1_000));
    let result =
        Simulation { accepting: Accepting::Refusing, ..Simulation::of(&plan) }.result(taking(ms(10)));
    assert_eq!((result.requests.failed, result.requests.never_sent), (26, 974));
    assert!(lost(&result).unwrap().text.contains("last heard 0.00 s after"), "{:?}", result.verdict);
}

#[test]
fn a_server_that_accepts_and_sends_nothing_any_more_ends_it_after_three_timeouts() {
    // 200 answers in 1 s; then two requests fail each 10 s, the last of them 30 s after the last answer.
    let plan = closed(2, Stop::RequestsTotal(1_000));
    let stopped = |arrival: Nanos| (arrival < START + ms(1_000)).then_some(arrival + ms(10));
    let result = Simulation::of(&plan).result(stopped);
    assert_eq!((result.requests.answered, result.errors[Failure::Timeout]), (200, 6));
    assert_eq!((result.requests.due, result.requests.never_sent), (1_000, 794));
    let text = &lost(&result).unwrap().text;
    let said = "the server sent nothing any more: it was last heard 1.00 s after the start of the measured part, connections \
        were accepted, but nothing came on them for 30.0 s after that, and so the load ended there, with 794 of 1,000 requests \
        never sent";
    assert!(text.contains(said), "{text}");
}

#[test]
fn one_that_never_answers_in_time_ends_it_likewise_and_not_a_load_of_a_duration() {
    let by_number = Simulation::of(&closed(2, Stop::RequestsTotal(1_000))).result(silent());
    assert_eq!((by_number.requests.failed, by_number.requests.never_sent), (6, 994));
    assert!(lost(&by_number).is_some(), "{:?}", by_number.verdict);
    let by_time = Simulation::of(&closed(2, Stop::DurationS(60.0))).result(silent());
    assert_eq!((by_time.requests.never_sent, lost(&by_time)), (0, None));
}

#[test]
fn a_server_that_pauses_for_less_costs_no_more_than_its_failures() {
    // Two requests fail at 11 and at 21 s, and two more are answered at last.
    let plan = closed(2, Stop::RequestsTotal(1_000));
    let pausing = |arrival: Nanos| {
        Some(if arrival < START + ms(1_000) { arrival } else { arrival.max(START + ms(29_000)) } + ms(10))
    };
    let result = Simulation::of(&plan).result(pausing);
    assert_eq!((result.requests.answered, result.errors[Failure::Timeout]), (996, 4));
    assert!(lost(&result).is_none(), "{:?}", result.verdict);
}
