//! What is known of the slowest requests, and what it takes to know it.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use loadcurve_plan::{Conversation, HttpLoad, Nanos, Stop};
use loadcurve_record::Failure;

use super::simulated::{Accepting, Simulation};
use super::{assert_close, closed, ms, silent, taking};

/// A kernel that answers each question with the next of these.
fn answering(answers: impl Into<VecDeque<Option<u32>>>) -> Rc<impl Fn(Nanos) -> Option<u32>> {
    let answers = RefCell::new(answers.into());
    Rc::new(move |_| answers.borrow_mut().pop_front().expect("the kernel was asked once more"))
}

/// A plan whose connections carry one request each: the first is opened before the load, the next one by its request.
fn one_request_each(requests: u64) -> HttpLoad {
    let conversation = Conversation { calls: Some(1), ..Conversation::default() };
    closed(1, Stop::RequestsTotal(requests)).with(|http| http.conversation = conversation)
}

#[test]
fn the_kernel_is_asked_about_no_request_that_is_not_among_the_slowest() {
    // After 50 requests of the warm-up the first ten measured ones are the slowest so far, whatever they take. Of those
    // that follow only the one that takes longer is; connections that are established at once are no reason to ask.
    let plan = HttpLoad { warmup_s: 0.1, ..one_request_each(1_000) };
    let questions = Rc::new(Cell::new(0));
    let counted = Rc::clone(&questions);
    let retransmits = Rc::new(move |_| {
        counted.set(counted.get() + 1);
        Some(0)
    });
    let mut arrivals = 0;
    let result = Simulation { retransmits, ..Simulation::of(&plan) }.result(move |arrival| {
        arrivals += 1;
        Some(arrival + ms(if arrivals == 700 { 3 } else { 2 }))
    });
    assert_eq!(result.requests.answered, 1_000);
    assert_close(result.slowest.iter().map(|slow| slow.latency_ms).sum(), 9.0 * 2.0 + 3.0);
    assert_eq!(questions.get(), 11);
}

#[test]
fn what_was_sent_again_before_a_connection_was_established_is_told_apart_from_the_rest() {
    // Either connection takes three seconds. The kernel is asked when it is established and when its answer is there.
    let plan = one_request_each(2);
    let accepting = Accepting::After(ms(3_000));
    let retransmits = answering([Some(2), Some(2), Some(1), Some(5)]);
    let result = Simulation { accepting, retransmits, ..Simulation::of(&plan) }.result(taking(ms(10)));
    let [waited, found_it_open] = &result.slowest[..] else { panic!("{:?}", result.slowest) };
    assert_eq!((waited.connect_ms, waited.latency_ms), (Some(3_000.0), 3_010.0));
    assert_eq!((waited.syn_retransmits, waited.retransmits), (Some(1), Some(4)));
    assert_eq!((found_it_open.connect_ms, found_it_open.latency_ms), (None, 10.0));
    assert_eq!((found_it_open.syn_retransmits, found_it_open.retransmits), (Some(2), Some(0)));
}

#[test]
fn a_connection_that_was_established_sooner_than_a_syn_is_sent_again_has_sent_none_again() {
    let plan = closed(1, Stop::RequestsTotal(1));
    let (accepting, retransmits) = (Accepting::After(ms(150)), answering([Some(3)]));
    let result = Simulation { accepting, retransmits, ..Simulation::of(&plan) }.result(taking(ms(10)));
    assert_eq!((result.slowest[0].syn_retransmits, result.slowest[0].retransmits), (Some(0), Some(3)));
}

#[test]
fn what_the_kernel_does_not_tell_is_none_even_where_it_tells_a_part() {
    let plan = closed(1, Stop::RequestsTotal(1));
    for (answers, connecting) in
        [(vec![None], ms(0)), (vec![None, Some(2)], ms(1_000)), (vec![Some(2), None], ms(1_000))]
    {
        let (accepting, retransmits) = (Accepting::After(connecting), answering(answers));
        let result = Simulation { accepting, retransmits, ..Simulation::of(&plan) }.result(taking(ms(10)));
        assert_eq!((result.slowest[0].syn_retransmits, result.slowest[0].retransmits), (None, None));
    }
}

#[test]
fn a_request_that_timed_out_is_among_the_slowest() {
    let plan = HttpLoad { timeout_s: 0.25, ..closed(1, Stop::RequestsTotal(2)) };
    let mut arrivals = 0;
    let simulation = Simulation { retransmits: answering([Some(1), Some(0)]), ..Simulation::of(&plan) };
    let result = simulation.result(move |arrival| {
        arrivals += 1;
        (arrivals == 2).then(|| arrival + ms(10))
    });
    let [timed_out, answered] = &result.slowest[..] else { panic!("{:?}", result.slowest) };
    assert_eq!((timed_out.error, timed_out.latency_ms), (Some(Failure::Timeout), 250.0));
    assert_eq!((timed_out.service_time_ms, timed_out.first_byte_ms), (Some(250.0), None));
    assert_eq!((timed_out.syn_retransmits, timed_out.retransmits), (Some(0), Some(1)));
    assert_eq!((answered.error, answered.first_byte_ms), (None, Some(10.0)));
    assert_eq!((result.latency_ms.count, result.latency_ms.max), (1, Some(10.0)));
}

#[test]
fn a_request_whose_connection_was_never_established_shows_how_often_the_syn_was_sent_again() {
    // The attempt before the load has no request, so nobody asks about it.
    let plan = HttpLoad { timeout_s: 5.0, ..closed(1, Stop::RequestsTotal(1)) };
    let (accepting, retransmits) = (Accepting::Never, answering([Some(4)]));
    let result = Simulation { accepting, retransmits, ..Simulation::of(&plan) }.result(silent());
    let slowest = &result.slowest[0];
    assert_eq!((slowest.error, slowest.latency_ms), (Some(Failure::ConnectTimeout), 5_000.0));
    assert_eq!((slowest.connect_ms, slowest.service_time_ms, slowest.first_byte_ms), (None, None, None));
    assert_eq!((slowest.syn_retransmits, slowest.retransmits), (Some(4), Some(0)));
}
