//! Servers that take fewer requests at once than a connection could carry: waiting for them is part of the latency, and no
//! lateness of the generator.

use loadcurve_plan::{Arrivals, Conversation, HttpLoad, Model, Nanos, Rate, Stop};
use loadcurve_record::{Endings, Extremes, Failure};

use super::exchanges::{Frame, ROUND_TRIP, run_welcomed, streams};
use super::peer::Outcome;
use super::simulated::{START, Simulation};
use super::{ms, open, taking};

/// A server that takes two requests at once and 10 ms for each.
fn run_two_at_once(plan: &HttpLoad) -> Outcome {
    let welcome = vec![(ROUND_TRIP, Frame::Limit(2)), (ROUND_TRIP, Frame::Hello)];
    run_welcomed(plan, welcome, |_, tag| vec![(ms(10), Frame::Answered(tag))])
}

/// Requests that fall due at a rate, for one connection that can carry ten of them.
fn at_a_rate(rate_rps: f64, stop: Stop) -> HttpLoad {
    let model =
        Model::Open { connections: 1, rate_rps: Rate::Constant(rate_rps), arrivals: Arrivals::Constant };
    HttpLoad { model, stop, ..streams(10, 1) }
}

#[test]
fn what_a_closed_loop_cannot_send_at_once_waits_and_is_timed_from_when_it_was_due() {
    // Ten requests are due at once; two are sent at 0, 10, 20, 30 and 40 ms.
    let outcome = run_two_at_once(&streams(10, 10));
    assert_eq!(outcome.latencies(), [10, 10, 20, 20, 30, 30, 40, 40, 50, 50].map(ms));
    let recorder = &outcome.recorder;
    assert_eq!(recorder.service_time.extremes(), Some((ms(10), ms(10))));
    let waits = &recorder.multiplexing.stream_wait;
    assert_eq!((waits.count(), waits.extremes()), (8, Some((ms(10), ms(40)))));
    assert_eq!(waits.mean_ns(), Some(25e6));
    assert_eq!(recorder.multiplexing.connections_limited, 1);
}

#[test]
fn waiting_for_a_server_that_takes_no_more_is_its_latency_and_not_the_generators_lateness() {
    // Request k is due at k ms. Of two places one comes free at 10, 20, 30 … and the other at 11, 21, 31 … ms, so that it
    // is sent at 5k ms where k is even, and else at 5(k − 1) + 1 ms: it waits 4k or 4k − 4 ms.
    let outcome = run_two_at_once(&at_a_rate(1_000.0, Stop::RequestsTotal(20)));
    let expected = [50, 50, 58, 58, 66, 66, 74, 74, 82, 82].map(ms);
    assert_eq!(outcome.latencies(), expected);
    let recorder = &outcome.recorder;
    assert_eq!(recorder.service_time.extremes(), Some((ms(10), ms(10))));
    let waits = &recorder.multiplexing.stream_wait;
    assert_eq!((waits.count(), waits.extremes()), (18, Some((ms(8), ms(72)))));
    assert_eq!((recorder.lateness.count(), recorder.lateness.extremes()), (20, Some((Nanos(0), Nanos(0)))));
}

#[test]
fn what_such_a_server_has_not_taken_by_the_end_was_not_left_unsent_by_the_generator() {
    // 200 of 1,000 requests per second are served; ten wait on the connection, the others for it.
    for duration_s in [0.1, 0.1005, 0.102, 0.1105] {
        let recorder = run_two_at_once(&at_a_rate(1_000.0, Stop::DurationS(duration_s))).recorder;
        assert!(recorder.requests.never_sent > 50, "{:?}", recorder.requests);
        assert_eq!(recorder.never_sent_while_free, 0, "{duration_s} s");
    }
}

#[test]
fn a_request_that_waits_too_long_for_a_server_that_takes_no_more_fails_alone() {
    // One at once and 80 ms for each, with a timeout of 100 ms: the second is sent at 80 ms and answered at 160 ms, while the
    // third has waited since 0 and is given up at 100 ms.
    let welcome = vec![(ROUND_TRIP, Frame::Limit(1)), (ROUND_TRIP, Frame::Hello)];
    let plan = HttpLoad { timeout_s: 0.1, ..streams(3, 3) };
    let outcome = run_welcomed(&plan, welcome, |_, tag| vec![(ms(80), Frame::Answered(tag))]);
    assert_eq!(outcome.latencies(), [80, 160, 100].map(ms));
    let recorder = &outcome.recorder;
    assert_eq!((recorder.requests.answered, recorder.connections.opened), (2, 1));
    let waits = &recorder.multiplexing.stream_wait;
    assert_eq!((waits.count(), waits.extremes()), (2, Some((ms(80), ms(100)))));
}

#[test]
fn what_waits_when_its_connection_ends_has_as_long_on_the_next_one() {
    // One at once. The first connection answers and ends after 1 ms; on the next one, 40 ms later, the second request is
    // never answered, and the third waits behind it.
    let welcome = vec![(ROUND_TRIP, Frame::Limit(1)), (ROUND_TRIP, Frame::Hello)];
    let plan = HttpLoad { timeout_s: 0.1, ..streams(3, 3) };
    let outcome = run_welcomed(&plan, welcome, |number, tag| match number {
        0 => vec![(ms(1), Frame::Answered(tag)), (ms(1), Frame::Gone)],
        _ => vec![],
    });
    assert_eq!(outcome.latencies(), [1, 141, 141].map(ms));
    assert_eq!((outcome.recorder.connections.opened, outcome.recorder.requests.sent), (2, 2));
}

#[test]
fn what_was_never_sent_does_not_fail_with_a_connection_on_which_others_were_answered() {
    // Two at once, of six. The first is answered after 1 ms; 1 ms later the connection ends with the second and the third
    // under way, and the other three go on the next one.
    let welcome = vec![(ROUND_TRIP, Frame::Limit(2)), (ROUND_TRIP, Frame::Hello)];
    let outcome = run_welcomed(&streams(6, 6), welcome, |number, tag| match number {
        0 => vec![(ms(1), Frame::Answered(tag)), (ms(2), Frame::End)],
        1 | 2 => vec![],
        _ => vec![(ms(1), Frame::Answered(tag))],
    });
    let recorder = &outcome.recorder;
    assert_eq!((recorder.requests.answered, recorder.failures[Failure::ClosedEarly]), (4, 2));
    assert_eq!((recorder.connections.opened, recorder.requests.sent), (2, 6));
    assert_eq!(
        recorder.endings,
        Endings { count: 1, answers: 1, extremes: Extremes(Some((1, 1))), lasting: 0 }
    );
}

#[test]
fn where_a_server_closes_before_any_answer_all_that_wait_on_the_connection_have_failed() {
    let welcome = vec![(ROUND_TRIP, Frame::Limit(2)), (ROUND_TRIP, Frame::Hello)];
    let outcome = run_welcomed(&streams(6, 6), welcome, |_, _| vec![(ms(1), Frame::End)]);
    let recorder = &outcome.recorder;
    assert_eq!((recorder.failures[Failure::ClosedEarly], recorder.connections.opened), (6, 1));
}

#[test]
fn a_server_that_takes_nothing_for_a_while_gets_what_fell_due_when_it_takes_more() {
    // After the first answer, at 1 ms, it takes nothing from 2 to 52 ms. Request k is due at 10k ms.
    let welcome = vec![(ROUND_TRIP, Frame::Hello)];
    let outcome = run_welcomed(&at_a_rate(100.0, Stop::RequestsTotal(8)), welcome, |number, tag| {
        let pause = [(ms(2), Frame::Limit(0)), (ms(52), Frame::Limit(20))];
        let answer = (ms(1), Frame::Answered(tag));
        if number == 0 { [&pause[..], &[answer]].concat() } else { vec![answer] }
    });
    assert_eq!(outcome.latencies(), [1, 43, 33, 23, 13, 3, 1, 1].map(ms));
    let lateness = &outcome.recorder.lateness;
    assert_eq!((lateness.count(), lateness.extremes()), (8, Some((Nanos(0), Nanos(0)))));
}

#[test]
fn a_generator_that_is_late_is_so_even_if_an_answer_has_come_meanwhile() {
    // Requests are due every 1 ms and take 3 ms, on a connection that carries a hundred. From 10.5 to 20 ms the thread does
    // not run: those due at 11 … 20 ms are 9 … 0 ms late, although answers to earlier ones are read first.
    let conversation = Conversation { pipeline: 100, ..Conversation::default() };
    let plan = open(1, 1_000.0, Stop::RequestsTotal(40)).with(|http| http.conversation = conversation);
    let held_up = START + Nanos(10_500_000)..START + ms(20);
    let (part, epoch) = Simulation { held_up, ..Simulation::of(&plan) }.run(taking(ms(3)));
    assert_eq!(epoch, START);
    assert_eq!(part.recorder.lateness.extremes(), Some((Nanos(0), ms(9))));
    assert_eq!(part.recorder.lateness.mean_ns(), Some(1e6 * 45.0 / 40.0));
}
