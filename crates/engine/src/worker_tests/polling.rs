//! How a thread waits changes what it costs, and no figure of the load.

use loadcurve_plan::{HttpLoad, Nanos, Stop};
use loadcurve_record::TimeHistogram;

use super::simulated::{START, Simulation};
use super::{closed, ms, open, taking};
use crate::part::Part;
use crate::worker::Waiting;

/// What a worker records that waits in this way, answers taking so long.
fn run(plan: &HttpLoad, waiting: Waiting, service_time: Nanos) -> Part {
    Simulation { waiting, ..Simulation::of(plan) }.run(taking(service_time)).0
}

#[test]
fn a_closed_loop_polls_for_answers_that_come_soon() {
    // 1,000 waits of 200 µs each.
    let part = run(&closed(1, Stop::RequestsTotal(1_000)), Waiting::Polling, Nanos(200_000));
    assert_eq!((part.cpu.polling.spent, part.cpu.polling.found), (ms(200), 1_000));
}

#[test]
fn a_closed_loop_sleeps_for_answers_that_take_long() {
    // Of waits of 50 ms the first four are polled for, 1 ms each.
    let part = run(&closed(1, Stop::RequestsTotal(100)), Waiting::Polling, ms(50));
    assert_eq!((part.cpu.polling.spent, part.cpu.polling.found), (ms(4), 0));
}

#[test]
fn an_open_loop_polls_only_while_an_answer_is_under_way_and_before_a_request_is_due() {
    // Every 10 ms a request falls due and is answered 300 µs later: 100 answers, and 80 µs before each of the other 99
    // requests that fall due behind the first.
    let part = run(&open(1, 100.0, Stop::RequestsTotal(100)), Waiting::Polling, Nanos(300_000));
    assert_eq!(part.cpu.polling.spent, Nanos(100 * 300_000 + 99 * 80_000));
}

#[test]
fn a_thread_that_may_not_poll_for_answers_is_punctual_all_the_same() {
    let part = run(&open(1, 100.0, Stop::RequestsTotal(100)), Waiting::Punctual, Nanos(300_000));
    assert_eq!(part.cpu.polling.spent, Nanos(99 * 80_000));
}

#[test]
fn requests_are_sent_and_answered_at_the_same_times_however_a_thread_waits() {
    for plan in [closed(7, Stop::RequestsTotal(500)), open(3, 4_000.0, Stop::RequestsTotal(500))] {
        let figures = |waiting| {
            let simulation = Simulation { waiting, ..Simulation::of(&plan) };
            let (part, _) = simulation.run(taking(Nanos(310_000)));
            let recorder = part.recorder;
            let times =
                [&recorder.latency(), &recorder.service_time, &recorder.lateness].map(TimeHistogram::encode);
            (simulation.sent_since_start(), recorder.requests, times, part.ended - START)
        };
        let sleeping = figures(Waiting::Sleeping);
        assert_eq!(figures(Waiting::Polling), sleeping);
        assert_eq!(figures(Waiting::Punctual), sleeping);
    }
}
