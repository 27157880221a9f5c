//! Long bodies on the simulated clock: what their times mean, and what a timeout bounds.

use loadcurve_plan::{Body, Conversation, HttpLoad, Nanos, Request, Requests, Stop};
use loadcurve_record::{Failure, Recorder};

use super::simulated::{Answering, START, Simulation};
use super::{closed, get, ms, taking};
use crate::temporary_file::TemporaryFile;

/// How long the connection takes for a part of 64 KiB.
const PART: Nanos = ms(60);
/// Ten parts, and with the head in front of it a little more: the connection is waited for ten times.
const BODY_BYTES: usize = 10 * 64 * 1024;

/// Posts over one connection, with a timeout of 100 ms.
struct Posts {
    stop: Stop,
    conversation: Conversation,
    part_time: Nanos,
    answering: Answering,
    service_time: Nanos,
}

impl Posts {
    fn of(total: u64) -> Self {
        Self {
            stop: Stop::RequestsTotal(total),
            conversation: Conversation::default(),
            part_time: PART,
            answering: Answering::TheWhole,
            service_time: ms(50),
        }
    }

    /// What they bring, and when the load began.
    fn run(self) -> (Recorder, Nanos) {
        let file = TemporaryFile::holding(&vec![b'x'; BODY_BYTES]);
        let plan = closed(1, self.stop);
        let body = Body::File(file.path().to_owned());
        let request = Request { method: "POST".into(), body, ..get() };
        let conversation = self.conversation;
        let plan = HttpLoad {
            timeout_s: 0.1,
            ..plan.with(|http| {
                http.requests = Requests::Given(vec![request]);
                http.conversation = conversation;
            })
        };
        let simulation = Simulation {
            part_time: self.part_time,
            answering: self.answering,
            // What would go on forever ends here.
            stop_at: START + ms(60_000),
            ..Simulation::of(&plan)
        };
        let (part, epoch) = simulation.run(taking(self.service_time));
        (part.recorder, epoch)
    }
}

#[test]
fn an_upload_that_goes_on_may_last_longer_than_the_timeout_and_counts_from_its_first_write() {
    // Ten waits of 60 ms, and 50 ms until the answer.
    let (recorder, _) = Posts::of(1).run();
    assert_eq!((recorder.requests.answered, recorder.failures.total()), (1, 0));
    assert_eq!(recorder.latency().extremes(), Some((ms(650), ms(650))));
    assert_eq!(recorder.service_time.extremes(), Some((ms(650), ms(650))));
}

#[test]
fn after_the_end_of_the_load_the_timeout_bounds_what_is_left_of_an_upload() {
    // Parts are taken at 60, 120 and 180 ms, which is the last before the end at 200 ms; the whole would take 650 ms.
    let (recorder, epoch) = Posts { stop: Stop::DurationS(0.2), ..Posts::of(1) }.run();
    assert_eq!((recorder.failures[Failure::Timeout], recorder.last_outcome), (1, Some(epoch + ms(280))));
}

#[test]
fn an_upload_of_which_nothing_is_taken_times_out() {
    let (recorder, epoch) = Posts { part_time: Nanos::NEVER, ..Posts::of(1) }.run();
    assert_eq!((recorder.failures[Failure::Timeout], recorder.last_outcome), (1, Some(epoch + ms(100))));
}

#[test]
fn an_answer_has_the_timeout_from_the_last_part_of_its_request_on() {
    let (in_time, _) = Posts { service_time: ms(100), ..Posts::of(1) }.run();
    assert_eq!(in_time.requests.answered, 1);
    let (too_late, epoch) = Posts { service_time: ms(101), ..Posts::of(1) }.run();
    assert_eq!((too_late.failures[Failure::Timeout], too_late.last_outcome), (1, Some(epoch + ms(700))));
}

#[test]
fn a_request_behind_an_upload_is_sent_at_its_end() {
    // Both are due at once; the second one's first bytes leave with the last of the first, after 600 ms.
    let conversation = Conversation { pipeline: 2, ..Conversation::default() };
    let (recorder, _) = Posts { conversation, ..Posts::of(2) }.run();
    assert_eq!(recorder.requests.answered, 2);
    assert_eq!(recorder.latency().extremes(), Some((ms(650), ms(1250))));
    assert_eq!(recorder.service_time.extremes(), Some((ms(650), ms(650))));
}

#[test]
fn a_request_behind_an_upload_that_was_answered_early_waits_for_its_rest() {
    // The first is answered after 50 ms and sent until 600 ms; the second is due then, sent at 600 ms and answered 50 ms
    // later.
    let (recorder, _) = Posts { answering: Answering::ItsBeginning, ..Posts::of(2) }.run();
    assert_eq!((recorder.requests.answered, recorder.failures.total()), (2, 0));
    assert_eq!(recorder.latency().extremes(), Some((ms(50), ms(600))));
    assert_eq!(recorder.service_time.extremes(), Some((ms(50), ms(50))));
}

#[test]
fn a_request_behind_an_upload_of_which_nothing_more_is_taken_times_out_with_it() {
    let answering = Answering::ItsBeginning;
    let (recorder, epoch) = Posts { answering, part_time: Nanos::NEVER, ..Posts::of(2) }.run();
    assert_eq!((recorder.requests.answered, recorder.failures[Failure::Timeout]), (1, 1));
    assert_eq!(recorder.last_outcome, Some(epoch + ms(100)));
}

#[test]
fn a_connection_whose_upload_was_answered_early_can_rest_after_its_end() {
    // Answered at 50 ms and sent until 600 ms; the client thinks for a second.
    let conversation = Conversation { think_s: 1.0, ..Conversation::default() };
    let answering = Answering::ItsBeginning;
    let (recorder, epoch) = Posts { conversation, answering, ..Posts::of(2) }.run();
    assert_eq!((recorder.requests.answered, recorder.connections.opened), (2, 1));
    assert_eq!(recorder.last_outcome, Some(epoch + ms(1100)));
}

#[test]
fn an_upload_that_ends_with_its_connection_does_not_time_out_on_the_next_one() {
    // Both requests of a connection are answered 70 ms after their first bytes, at 70 and 670 ms, and then it is closed.
    // The part taken at 660 ms would have had until 760 ms; on the next connection a request waits for its turn then.
    let conversation = Conversation { pipeline: 2, calls: Some(2), ..Conversation::default() };
    let answering = Answering::ItsBeginning;
    let (recorder, epoch) = Posts { conversation, answering, service_time: ms(70), ..Posts::of(4) }.run();
    assert_eq!((recorder.requests.answered, recorder.failures.total()), (4, 0));
    assert_eq!(recorder.last_outcome, Some(epoch + ms(1340)));
}
