//! What becomes of the outcomes that a recorder gets.

use super::{Recorder, RequestCounts, SlowCandidate, Unserved, WarmUpCounts, Window};
use crate::{Agreement, Answer, FailedRequest, Failure, Handshake, MismatchedBody, Shown};
use loadcurve_plan::Nanos;

const WINDOW: Window = Window { start: Nanos(1_000), end: Nanos(2_000) };

fn recorder() -> Recorder {
    let mut recorder = Recorder::new(1);
    recorder.open_window(WINDOW);
    recorder
}

fn answer(due: u64, sent: u64, done: u64) -> Answer {
    Answer {
        number: 0,
        operation: 0,
        connection: 0,
        due: Nanos(due),
        sent: Nanos(sent),
        done: Nanos(done),
        connect: None,
        shown: Some(Shown {
            first_byte: Nanos(done),
            status: 200,
            is_right: true,
            was_expected: false,
            has_content: true,
            header_bytes: 10,
            body_bytes: 100,
            content_bytes: 100,
            framing_bytes: 0,
        }),
    }
}

fn keep(recorder: &mut Recorder, slow: Option<SlowCandidate>) {
    if let Some(slow) = slow {
        recorder.keep_slow(slow, None);
    }
}

fn answered(recorder: &mut Recorder, due: u64, sent: u64, done: u64) {
    let slow = recorder.answered(&answer(due, sent, done));
    keep(recorder, slow);
}

fn timed_out(recorder: &mut Recorder, due: u64, sent: u64, failed: u64) {
    let request = FailedRequest {
        number: 0,
        operation: 0,
        connection: 0,
        due: Nanos(due),
        sent: Some(Nanos(sent)),
        first_byte: None,
        failed: Nanos(failed),
        connect: None,
        failure: Failure::Timeout,
    };
    let slow = recorder.failed(&request);
    keep(recorder, slow);
}

#[test]
fn latency_counts_from_due_and_service_time_from_sent() {
    let mut recorder = recorder();
    answered(&mut recorder, 1_100, 1_150, 1_400);
    assert_eq!(recorder.latency().extremes(), Some((Nanos(300), Nanos(300))));
    assert_eq!(recorder.service_time.extremes(), Some((Nanos(250), Nanos(250))));
}

#[test]
fn a_request_of_the_warm_up_that_ends_in_the_window_counts_for_the_rate_alone() {
    let mut recorder = recorder();
    answered(&mut recorder, 900, 900, 1_100);
    assert_eq!((recorder.answered_within, recorder.requests.answered), (1, 0));
}

#[test]
fn a_request_of_the_window_that_is_answered_after_its_end_counts_for_the_latency_alone() {
    let mut recorder = recorder();
    answered(&mut recorder, 1_900, 1_900, 2_100);
    assert_eq!((recorder.answered_within, recorder.requests.answered), (0, 1));
    assert_eq!(recorder.latency().count(), 1);
}

#[test]
fn a_single_tally_counts_the_requests_of_all_operations() {
    let mut recorder = recorder();
    for operation in [0, 7, 5_000] {
        let slow = recorder.answered(&Answer { operation, ..answer(1_100, 1_100, 1_400) });
        keep(&mut recorder, slow);
    }
    let mismatched = recorder.mismatched(&Answer { operation: 9, ..answer(1_100, 1_100, 1_200) });
    keep(&mut recorder, mismatched);
    assert_eq!((recorder.operations[0].answered, recorder.operations[0].failed), (3, 1));
    assert!(recorder.operations[0].mismatched_body.is_some());
    assert_eq!(recorder.latency().count(), 3);
}

#[test]
fn every_request_that_was_due_is_accounted_for_over_all_workers() {
    let mut first = recorder();
    for due in [1_000, 1_100, 1_200] {
        first.begun(Nanos(due));
        first.sent(Nanos(due), Nanos(due), 30, true);
    }
    answered(&mut first, 1_000, 1_000, 1_500);
    timed_out(&mut first, 1_100, 1_100, 1_600);
    first.unanswered(0, Nanos(1_200), Nanos(1_500));
    let mut second = recorder();
    second.never_sent(4);
    first.merge(&second);
    let expected =
        RequestCounts { due: 7, sent: 3, answered: 1, failed: 1, unanswered: 1, never_sent: 4, moved: 0 };
    assert_eq!(first.requests, expected);
    assert_eq!(first.failures[Failure::Timeout], 1);
}

#[test]
fn the_end_is_silent_from_the_last_answer_on_where_requests_fail_after_it_on_any_worker() {
    let length = Nanos(1_000);
    let (mut first, mut second) = (recorder(), recorder());
    answered(&mut first, 1_100, 1_100, 1_300);
    assert_eq!(first.silent_at_end(length), None, "nothing has failed");
    timed_out(&mut second, 1_200, 1_200, 2_400);
    assert_eq!(second.silent_at_end(length), Some(length), "nothing was answered");
    first.merge(&second);
    assert_eq!(first.silent_at_end(length), Some(Nanos(700)));
    answered(&mut first, 1_900, 1_900, 2_500);
    assert_eq!(first.silent_at_end(length), None, "what was under way was answered after the window");
}

#[test]
fn requests_of_the_warm_up_are_counted_for_themselves() {
    let mut recorder = recorder();
    for due in [800, 900, 1_100] {
        recorder.begun(Nanos(due));
    }
    timed_out(&mut recorder, 900, 900, 1_200);
    answered(&mut recorder, 1_100, 1_100, 1_300);
    assert_eq!(recorder.warm_up, WarmUpCounts { begun: 2, answered: 0, failed: 1, unanswered: 0 });
    assert_eq!(
        (recorder.requests.due, recorder.requests.failed, recorder.failures[Failure::Timeout]),
        (1, 0, 0)
    );
    assert_eq!(recorder.last_due, Some(Nanos(1_100)));
}

#[test]
fn the_lengths_of_successful_answers_are_kept_over_all_workers() {
    let with = |status, body_bytes| {
        let answer = answer(1_100, 1_100, 1_200);
        let has_content = (200..300).contains(&status);
        let content_bytes = body_bytes;
        let changed = |shown| Shown { status, is_right: has_content, has_content, content_bytes, ..shown };
        Answer { shown: answer.shown.map(changed), ..answer }
    };
    let (mut first, mut second) = (recorder(), recorder());
    for answer in [with(200, 30), with(404, 9)] {
        let slow = first.answered(&answer);
        keep(&mut first, slow);
    }
    for slow in [second.answered(&with(206, 20)), second.mismatched(&Answer { number: 7, ..with(200, 5) })] {
        keep(&mut second, slow);
    }
    first.merge(&second);
    assert_eq!(first.operations[0].body_bytes, Some((20, 30)));
    assert_eq!((first.operations[0].answered, first.operations[0].answered_wrongly), (3, 1));
    assert_eq!(first.operations[0].mismatched_body, Some(MismatchedBody { number: 7, bytes: 5 }));
    assert_eq!(
        (first.failures[Failure::Mismatch], first.requests.failed, first.requests.answered),
        (1, 1, 3)
    );
}

#[test]
fn the_most_connections_at_once_is_not_the_number_opened() {
    let mut recorder = recorder();
    recorder.connected(Nanos(1));
    recorder.connected(Nanos(1));
    recorder.disconnected(Some(Nanos(5)));
    recorder.connected(Nanos(1));
    assert_eq!((recorder.connections.opened, recorder.connections.concurrent_max), (3, 2));
}

#[test]
fn a_request_that_failed_late_is_slower_than_one_that_was_answered_sooner() {
    let mut recorder = recorder();
    answered(&mut recorder, 1_100, 1_110, 1_140);
    timed_out(&mut recorder, 1_200, 1_250, 1_600);
    let [slowest, second] = recorder.slowest.in_order()[..] else { panic!("two requests were slow") };
    assert_eq!((slowest.failure, slowest.latency), (Some(Failure::Timeout), Nanos(400)));
    assert_eq!((slowest.service_time, slowest.first_byte), (Some(Nanos(350)), None));
    assert_eq!((second.failure, second.latency, second.service_time), (None, Nanos(40), Some(Nanos(30))));
    assert_eq!(recorder.latency().count(), 1, "a failed request has no place among the latencies");
}

#[test]
fn handshakes_are_timed_by_their_kind_where_they_end_within_the_window_and_counted_from_the_begin_of_the_load()
 {
    const AGREEMENT: Agreement =
        Agreement { version: 0x0304, suite: 0x1301, group: Some(29), is_resumed: false };
    const FULL: Handshake = Handshake { agreement: AGREEMENT, is_refused: false };
    const REFUSED: Handshake = Handshake { is_refused: true, ..FULL };
    const RESUMED: Handshake = Handshake { agreement: Agreement { is_resumed: true, ..AGREEMENT }, ..FULL };
    let mut recorder = recorder();
    // The window lasts from 1,000 on to 2,000.
    for (connected, agreed, agreement) in [
        (500, 999, Some(REFUSED)),
        (960, 1_000, Some(REFUSED)),
        (1_200, 1_210, Some(RESUMED)),
        (1_980, 1_999, Some(RESUMED)),
        (1_900, 2_000, Some(FULL)),
        // One that leaves no choice, as in clear text.
        (1_400, 1_500, None),
    ] {
        recorder.agreed(Nanos(connected), Nanos(agreed), agreement);
    }
    let mut both = Recorder::new(1);
    both.merge(&recorder);
    both.merge(&recorder);
    assert_eq!((both.agreements.count(false), both.agreements.count(true)), (6, 4));
    assert_eq!(both.handshake.count(), 12);
    let (full, resumed) = (&both.handshakes_within.full, &both.handshakes_within.resumed);
    assert_eq!((full.count(), full.extremes()), (2, Some((Nanos(40), Nanos(40)))));
    assert_eq!((resumed.count(), resumed.extremes()), (4, Some((Nanos(10), Nanos(19)))));
    assert_eq!(both.handshakes_within.refused, 2);
}

#[test]
fn a_handshake_counts_for_the_level_in_which_it_ends() {
    const AGREEMENT: Agreement = Agreement { version: 0x0304, suite: 0x1301, group: None, is_resumed: false };
    const FULL: Handshake = Handshake { agreement: AGREEMENT, is_refused: false };
    let mut recorder = recorder();
    recorder.agreed(Nanos(1_100), Nanos(1_200), Some(FULL));
    recorder.begin_level(WINDOW.end);
    recorder.open_window(Window { start: WINDOW.end, end: Nanos(3_000) });
    recorder.agreed(Nanos(1_950), Nanos(2_100), Some(FULL));
    let first = recorder.take_ended_level().unwrap();
    let times = |level: &Recorder| level.handshakes_within.full.extremes();
    assert_eq!(times(&first), Some((Nanos(100), Nanos(100))));
    assert_eq!(times(&recorder), Some((Nanos(150), Nanos(150))));
}

/// A failure on a connection, for want of an answer.
fn failed_on(recorder: &mut Recorder, connection: usize, due: u64, failed: u64, failure: Failure) {
    let (sent, first_byte, connect) = (Some(Nanos(due)), None, None);
    let (due, failed) = (Nanos(due), Nanos(failed));
    let request = FailedRequest {
        number: 0,
        operation: 0,
        connection,
        due,
        sent,
        first_byte,
        failed,
        connect,
        failure,
    };
    let slow = recorder.failed(&request);
    keep(recorder, slow);
}

fn answered_on(recorder: &mut Recorder, connection: usize, due: u64, done: u64) {
    let slow = recorder.answered(&Answer { connection, ..answer(due, due, done) });
    keep(recorder, slow);
}

#[test]
fn what_is_under_way_from_the_begin_of_the_window_to_its_end_has_waited_through_it() {
    let mut recorder = recorder();
    // On connections 1 and 2; the third's is of the window. Of what ends in the window nothing waits.
    answered_on(&mut recorder, 3, 900, 1_300);
    recorder.window_ended([(1, Nanos(700)), (2, Nanos(900)), (3, Nanos(1_400))].into_iter());
    answered_on(&mut recorder, 1, 700, 2_500);
    answered_on(&mut recorder, 3, 1_400, 2_500);
    failed_on(&mut recorder, 2, 900, 2_900, Failure::Timeout);
    let unserved = Unserved { requests: 2, connections: 2, oldest: Nanos(1_300), asked: 3, served: 1 };
    assert_eq!(recorder.unserved(WINDOW.end), unserved);
    assert_eq!(recorder.warm_up_failures(WINDOW.end), 0, "what fails after the window did not fail at first");
}

#[test]
fn what_ends_at_the_first_look_after_the_window_was_under_way_at_its_end() {
    let mut recorder = recorder();
    answered_on(&mut recorder, 0, 900, 2_000);
    recorder.window_ended(std::iter::empty());
    assert_eq!(recorder.unserved(WINDOW.end).requests, 1);
}

#[test]
fn what_is_due_at_the_begin_of_the_window_and_fails_after_it_has_waited_through_it_too() {
    let mut recorder = recorder();
    recorder.window_ended([(0, Nanos(1_010)), (1, Nanos(1_011)), (2, Nanos(1_000))].into_iter());
    failed_on(&mut recorder, 0, 1_010, 2_700, Failure::Timeout);
    failed_on(&mut recorder, 1, 1_011, 2_700, Failure::Timeout);
    // One that is answered in the end is in the latencies.
    answered_on(&mut recorder, 2, 1_000, 2_800);
    let unserved = Unserved { requests: 1, connections: 1, oldest: Nanos(990), asked: 3, served: 1 };
    assert_eq!(recorder.unserved(WINDOW.end), unserved);
}

#[test]
fn a_connection_is_served_by_any_answer_and_asked_by_what_the_server_could_have_answered() {
    let mut recorder = recorder();
    answered_on(&mut recorder, 64, 1_100, 1_200);
    failed_on(&mut recorder, 64, 1_300, 1_400, Failure::Timeout);
    failed_on(&mut recorder, 2, 1_100, 1_200, Failure::Reset);
    // Found by the generator, or in an answer.
    failed_on(&mut recorder, 3, 1_100, 1_200, Failure::FdUnavailable);
    failed_on(&mut recorder, 130, 1_100, 1_200, Failure::Malformed);
    let unserved = recorder.unserved(WINDOW.end);
    assert_eq!((unserved.asked, unserved.served), (3, 2));
}

#[test]
fn where_a_number_of_requests_ends_the_window_only_what_outlasts_every_workers_last_outcome_has_waited() {
    let counting = || {
        let mut recorder = Recorder::new(1);
        recorder.open_window(Window { start: Nanos(1_000), end: Nanos::NEVER });
        recorder
    };
    let (mut first, mut second) = (counting(), counting());
    // The first worker's end at 1,500 and at 3,000: what it answers at 2,000 ends before the second's last outcome.
    answered_on(&mut first, 0, 900, 1_400);
    answered_on(&mut first, 0, 1_450, 1_500);
    answered_on(&mut first, 1, 900, 2_000);
    failed_on(&mut first, 2, 900, 3_000, Failure::Timeout);
    answered_on(&mut second, 3, 1_100, 2_500);
    assert_eq!(first.unserved(Nanos(1_500)).requests, 2);
    let mut other_way = second.clone();
    other_way.merge(&first);
    first.merge(&second);
    for both in [first, other_way] {
        let unserved = Unserved { requests: 1, connections: 1, oldest: Nanos(1_600), asked: 4, served: 3 };
        assert_eq!(both.unserved(Nanos(2_500)), unserved);
        assert_eq!(both.warm_up_failures(Nanos(2_500)), 0);
    }
}
