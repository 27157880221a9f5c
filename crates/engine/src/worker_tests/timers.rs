//! A protocol that has timers: it repeats what is not answered in time, and gives up after a while.

use loadcurve_plan::{HttpLoad, Nanos, Stop};
use loadcurve_record::Failure;
use loadcurve_wire::{
    ErrorCode, Event, Exchange, HttpExchange, InvalidRequest, Malformed, Moment, Readiness, Received,
    Refusal, Request, Response, Stream, Tag,
};

use super::exchanges::streams;
use super::peer::{self, Delays, Outcome, Peer};
use super::{closed, ms};
use crate::io::Slot;

const REPEATS_AFTER: Nanos = ms(50);
const COPIES_MAX: u32 = 3;

/// What is given up when a request was repeated in vain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GivesUp {
    Request,
    Connection,
}

struct UnderWay {
    tag: Tag,
    copies: u32,
    repeats_at: Moment,
}

struct Repeating {
    gives_up: GivesUp,
    now: Moment,
    own: Vec<u8>,
    under_way: Vec<UnderWay>,
    given_up: Vec<Tag>,
    is_over: bool,
}

impl Exchange for Repeating {
    type Template = ();
    type Carrier = Stream;
    type Answer = Response;
    type Settings = GivesUp;

    fn new(_: usize, gives_up: &GivesUp) -> Self {
        Self {
            gives_up: *gives_up,
            now: Moment::ZERO,
            own: vec![],
            under_way: vec![],
            given_up: vec![],
            is_over: false,
        }
    }

    fn open(&mut self) {
        *self = Self { now: self.now, ..Self::new(0, &self.gives_up) };
    }

    fn readiness(&self) -> Readiness {
        if self.is_over { Readiness::Closed } else { Readiness::Ready }
    }

    fn advance(&mut self, now: Moment) {
        assert!(now >= self.now, "time went back");
        self.now = now;
    }

    fn wake_at(&self) -> Option<Moment> {
        self.under_way.iter().map(|request| request.repeats_at).min()
    }

    fn timed_out(&mut self) {
        let now = self.now;
        assert!(self.wake_at() <= Some(now), "it was woken before its time");
        for request in self.under_way.iter_mut().filter(|request| request.repeats_at <= now) {
            request.copies += 1;
            request.repeats_at = now + Moment::from(REPEATS_AFTER);
            match self.gives_up {
                _ if request.copies <= COPIES_MAX => self.own.extend(frame(b'r', request.tag)),
                GivesUp::Request => self.given_up.push(request.tag),
                GivesUp::Connection => self.is_over = true,
            }
        }
        self.under_way.retain(|request| request.copies <= COPIES_MAX);
    }

    fn has_output(&self) -> bool {
        !self.own.is_empty()
    }

    fn write_output(&mut self, to: &mut Vec<u8>) {
        to.append(&mut self.own);
    }

    fn begin(&mut self, tag: Tag, (): &(), _: Option<&[u8]>, to: &mut Vec<u8>) {
        self.under_way.push(UnderWay { tag, copies: 1, repeats_at: self.now + Moment::from(REPEATS_AFTER) });
        to.extend(frame(b'r', tag));
    }

    fn has_input(&self) -> bool {
        !self.given_up.is_empty()
    }

    fn receive_with(
        &mut self,
        bytes: &[u8],
        _: &mut impl FnMut(Tag, u16, &[u8]),
    ) -> Result<Received, Malformed> {
        if let Some(tag) = self.given_up.pop() {
            let event = Some(Event::Refused(tag, Refusal::Reset(ErrorCode::Cancel)));
            return Ok(Received { consumed: 0, event });
        }
        let tag = usize::from(bytes[1]);
        self.under_way.retain(|request| request.tag != tag);
        let response = Response {
            status: 200,
            header_bytes: 2,
            body_bytes: 0,
            framing_bytes: 0,
            inflated_bytes: None,
            keep_alive: true,
            grpc_status: None,
        };
        Ok(Received { consumed: 2, event: Some(Event::Answered(tag, response)) })
    }

    fn end_of_input(&mut self) -> Option<Event> {
        None
    }

    fn cancel(&mut self, tag: Tag) -> bool {
        self.under_way.retain(|request| request.tag != tag);
        true
    }
}

impl HttpExchange for Repeating {
    fn template(_: &Request<'_>) -> Result<(), InvalidRequest> {
        Ok(())
    }

    fn reopen(&mut self, tag: Tag, (): &(), target: Option<&[u8]>, _: &[u8], to: &mut Vec<u8>) {
        self.begin(tag, &(), target, to);
    }
}

fn frame(letter: u8, tag: Tag) -> [u8; 2] {
    [letter, tag.try_into().unwrap()]
}

/// A server that is as far away as it takes, on a way on which some copies of requests are lost.
struct Lossy<F> {
    arrived: u64,
    /// How long a copy takes by its number; none if it is lost.
    answers_after: F,
}

impl<F: Fn(u64) -> Option<Nanos>> Peer for Lossy<F> {
    fn answers(&mut self, _: Slot, now: Nanos, bytes: &[u8]) -> Vec<(Nanos, Vec<u8>)> {
        let mut answers = Vec::new();
        for copy in bytes.chunks(2) {
            let after = (self.answers_after)(self.arrived);
            answers.extend(after.map(|after| (now + after, frame(b'A', copy[1].into()).to_vec())));
            self.arrived += 1;
        }
        answers
    }
}

fn run(
    plan: &HttpLoad,
    gives_up: GivesUp,
    answers_after: impl Fn(u64) -> Option<Nanos>,
) -> (Outcome, Vec<Nanos>) {
    let outcome =
        peer::run::<Repeating>(plan, gives_up, Delays::default(), Lossy { arrived: 0, answers_after });
    let times = outcome.written.iter().map(|(time, _)| *time).collect();
    (outcome, times)
}

#[test]
fn what_is_lost_is_sent_again_exactly_when_its_timer_passes() {
    let plan = closed(1, Stop::RequestsTotal(2));
    let (outcome, times) = run(&plan, GivesUp::Request, |copy| (copy > 0).then_some(ms(5)));
    assert_eq!(times, [0, 50, 55].map(ms));
    assert_eq!(outcome.latencies(), [55, 5].map(ms));
    assert_eq!((outcome.recorder.requests.sent, outcome.recorder.requests.answered), (2, 2));
}

#[test]
fn timers_that_are_put_off_again_and_again_repeat_nothing() {
    // 300 answers, each 10 ms before its timer.
    let (outcome, times) = run(&streams(3, 300), GivesUp::Request, |_| Some(ms(40)));
    assert_eq!((outcome.recorder.requests.answered, outcome.recorder.failures.total()), (300, 0));
    assert_eq!(times, (0..100).map(|turn| ms(40 * turn)).collect::<Vec<_>>());
}

#[test]
fn each_of_several_requests_has_its_own_timer() {
    // The second of two requests is lost: it is repeated 50 ms later, when the first slot has gone on to its third request.
    let (outcome, times) = run(&streams(2, 3), GivesUp::Request, |copy| (copy != 1).then_some(ms(20)));
    assert_eq!(times, [0, 20, 50].map(ms));
    assert_eq!(outcome.latencies(), [20, 70, 20].map(ms));
}

#[test]
fn a_request_that_its_timer_gives_up_fails_alone() {
    // The first request and its two repetitions are lost; the connection carries the next one.
    let plan = closed(1, Stop::RequestsTotal(2));
    let (outcome, times) = run(&plan, GivesUp::Request, |copy| (copy > 2).then_some(ms(5)));
    assert_eq!(times, [0, 50, 100, 150].map(ms));
    let recorder = &outcome.recorder;
    assert_eq!((recorder.failures[Failure::StreamCancelled], recorder.requests.answered), (1, 1));
    assert_eq!(outcome.latencies(), [150, 5].map(ms));
    assert_eq!(recorder.connections.opened, 1);
}

#[test]
fn a_connection_that_its_timer_gives_up_fails_what_it_carries_and_the_next_request_opens_another() {
    // Requests begin at 0, 150 and 300 ms of 400, and each is given up 150 ms later.
    let plan = closed(1, Stop::DurationS(0.4));
    let (outcome, _) = run(&plan, GivesUp::Connection, |_| None);
    let recorder = &outcome.recorder;
    assert_eq!((recorder.failures[Failure::ClosedEarly], recorder.connections.opened), (3, 3));
    assert_eq!(outcome.latencies(), [150; 3].map(ms));
}

#[test]
fn the_timeout_of_the_load_ends_a_request_whatever_its_timers_do() {
    let plan = HttpLoad { timeout_s: 0.12, ..closed(1, Stop::RequestsTotal(1)) };
    let (outcome, times) = run(&plan, GivesUp::Connection, |_| None);
    assert_eq!(outcome.recorder.failures[Failure::Timeout], 1);
    assert_eq!(times, [0, 50, 100].map(ms));
}
