//! A protocol with a handshake of one round trip, whose answers come in any order: what HTTP/1.x never asks of a worker.

use loadcurve_plan::{Conversation, HttpLoad, Nanos, Stop};
use loadcurve_record::{Endings, Extremes, Failure};
use loadcurve_wire::{
    ErrorCode, Event, Exchange, Http2Counts, HttpExchange, InvalidRequest, Malformed, Readiness, Received,
    Refusal, Request, Response, Stream, Tag,
};

use super::peer::{self, Delays, Outcome, Peer, Written};
use super::{closed, ms, open};
use crate::io::Slot;

const CONNECTING: Nanos = ms(10);
pub(super) const ROUND_TRIP: Nanos = ms(30);

/// Frames of a letter and a tag. The client says `h`ello, `r`equest, `c`ancel and p`o`ng.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Frame {
    Hello,
    /// This number of requests may be under way at once.
    Limit(u8),
    Begun(u8),
    Answered(u8),
    Refused(u8),
    Moved(u8),
    GoAway,
    Gone,
    Ping,
    /// The end of the connection.
    End,
}

impl Frame {
    fn bytes(self) -> Vec<u8> {
        let bytes = match self {
            Self::Hello => [b'H', 0],
            Self::Limit(most) => [b'L', most],
            Self::Begun(tag) => [b'B', tag],
            Self::Answered(tag) => [b'A', tag],
            Self::Refused(tag) => [b'R', tag],
            Self::Moved(tag) => [b'M', tag],
            Self::GoAway => [b'G', 0],
            Self::Gone => [b'C', 0],
            Self::Ping => [b'P', 0],
            Self::End => return Vec::new(),
        };
        bytes.to_vec()
    }
}

struct Multiplexed {
    readiness: Readiness,
    own: Vec<u8>,
    most: usize,
    allowed: usize,
    under_way: usize,
}

impl Exchange for Multiplexed {
    type Template = ();
    type Carrier = Stream;
    type Answer = Response;
    type Settings = ();

    fn new(most: usize, (): &()) -> Self {
        Self { readiness: Readiness::Handshaking, own: Vec::new(), most, allowed: usize::MAX, under_way: 0 }
    }

    fn open(&mut self) {
        *self = Self { own: b"h\0".to_vec(), ..Self::new(self.most, &()) };
    }

    fn readiness(&self) -> Readiness {
        match self.readiness {
            Readiness::Ready if self.allowed == 0 && self.under_way == 0 => Readiness::Handshaking,
            Readiness::Ready if self.under_way >= self.allowed => Readiness::Busy,
            readiness => readiness,
        }
    }

    fn limit(&self) -> Option<usize> {
        (self.allowed < self.most && self.readiness == Readiness::Ready).then_some(self.allowed)
    }

    fn has_output(&self) -> bool {
        !self.own.is_empty()
    }

    fn write_output(&mut self, to: &mut Vec<u8>) {
        to.append(&mut self.own);
    }

    fn begin(&mut self, tag: Tag, (): &(), _: Option<&[u8]>, to: &mut Vec<u8>) {
        self.under_way += 1;
        to.extend([b'r', tag.try_into().unwrap()]);
    }

    fn receive_with(
        &mut self,
        bytes: &[u8],
        take_body: &mut impl FnMut(Tag, u16, &[u8]),
    ) -> Result<Received, Malformed> {
        let (letter, tag) = (bytes[0], usize::from(bytes[1]));
        let mut event = None;
        match letter {
            b'L' => self.allowed = tag,
            b'H' => self.readiness = Readiness::Ready,
            b'G' => self.readiness = Readiness::Busy,
            b'C' => self.readiness = Readiness::Closed,
            b'P' => self.own.extend(b"o\0"),
            b'B' => event = Some(Event::Begun(tag)),
            b'R' => event = Some(Event::Refused(tag, Refusal::Reset(ErrorCode::InternalError))),
            b'M' => event = Some(Event::Moved(tag)),
            b'A' => {
                let (header_bytes, body_bytes, framing_bytes) = (2, 0, 0);
                let response = Response {
                    status: 200,
                    header_bytes,
                    body_bytes,
                    framing_bytes,
                    inflated_bytes: None,
                    keep_alive: true,
                    grpc_status: None,
                };
                event = Some(Event::Answered(tag, response));
            }
            _ => return Err(Malformed::Unasked),
        }
        self.under_way -= usize::from(matches!(letter, b'A' | b'R' | b'M'));
        let is_more = event.is_none() && bytes.len() > 2;
        if is_more {
            self.receive_with(&bytes[2..], take_body)
                .map(|rest| Received { consumed: 2 + rest.consumed, ..rest })
        } else {
            Ok(Received { consumed: 2, event })
        }
    }

    fn end_of_input(&mut self) -> Option<Event> {
        self.readiness = Readiness::Closed;
        None
    }

    fn cancel(&mut self, tag: Tag) -> bool {
        self.under_way -= 1;
        self.own.extend([b'c', tag.try_into().unwrap()]);
        true
    }
}

impl HttpExchange for Multiplexed {
    fn template(_: &Request<'_>) -> Result<(), InvalidRequest> {
        Ok(())
    }

    fn reopen(&mut self, tag: Tag, (): &(), target: Option<&[u8]>, _: &[u8], to: &mut Vec<u8>) {
        self.begin(tag, &(), target, to);
    }

    fn take_counts(&mut self) -> Option<Http2Counts> {
        Some(Http2Counts { was_limited: self.limit().is_some(), ..Http2Counts::default() })
    }
}

/// What the server sends, and how long after request `number` of the load has arrived under a tag.
type Service = dyn Fn(u64, u8) -> Vec<(Nanos, Frame)>;

/// A server of the protocol.
struct Server {
    /// What it answers to a hello.
    welcome: Vec<(Nanos, Frame)>,
    service: Box<Service>,
    arrived: u64,
}

impl Peer for Server {
    fn answers(&mut self, _: Slot, now: Nanos, bytes: &[u8]) -> Vec<(Nanos, Vec<u8>)> {
        let mut answers = Vec::new();
        for frame in bytes.chunks(2) {
            match frame[0] {
                b'h' => answers.extend(&self.welcome),
                b'r' => {
                    self.arrived += 1;
                    answers.extend((self.service)(self.arrived - 1, frame[1]));
                }
                _ => {}
            }
        }
        answers.into_iter().map(|(delay, frame)| (now + delay, frame.bytes())).collect()
    }
}

fn run(
    plan: &HttpLoad,
    is_mute: bool,
    service: impl Fn(u64, u8) -> Vec<(Nanos, Frame)> + 'static,
) -> Outcome {
    run_welcomed(plan, if is_mute { vec![] } else { vec![(ROUND_TRIP, Frame::Hello)] }, service)
}

/// The same where the server answers a hello as given.
pub(super) fn run_welcomed(
    plan: &HttpLoad,
    welcome: Vec<(Nanos, Frame)>,
    service: impl Fn(u64, u8) -> Vec<(Nanos, Frame)> + 'static,
) -> Outcome {
    let server = Server { welcome, service: Box::new(service), arrived: 0 };
    let delays = Delays { connecting: CONNECTING, ..Delays::default() };
    peer::run::<Multiplexed>(plan, (), delays, server)
}

/// One connection with this number of requests under way.
pub(super) fn streams(under_way: usize, total: u64) -> HttpLoad {
    let conversation = Conversation { pipeline: under_way, ..Conversation::default() };
    closed(1, Stop::RequestsTotal(total)).with(|http| http.conversation = conversation)
}

#[test]
fn a_handshake_is_timed_apart_from_connecting_and_a_request_that_waits_for_both_counts_both() {
    let conversation = Conversation { calls: Some(1), ..Conversation::default() };
    let plan = closed(1, Stop::RequestsTotal(3)).with(|http| http.conversation = conversation);
    let Outcome { recorder, written } = run(&plan, false, |_, tag| vec![(ms(5), Frame::Answered(tag))]);
    assert_eq!(recorder.connect.extremes(), Some((CONNECTING, CONNECTING)));
    assert_eq!(recorder.handshake.extremes(), Some((ROUND_TRIP, ROUND_TRIP)));
    assert_eq!((recorder.connections.opened, recorder.handshake.count()), (3, 3));
    // The first connection is opened before the load begins; the other two requests wait for theirs.
    assert_eq!(recorder.latency().extremes(), Some((ms(5), ms(45))));
    let times: Vec<Nanos> = written.iter().map(|(time, _)| *time).collect();
    // Hello after connecting, a request after the answer to it; the next connection begins with the next request.
    assert_eq!(times, [10, 40, 55, 85, 100, 130].map(ms));
}

#[test]
fn a_handshake_has_as_long_as_connecting_and_then_counts_as_an_attempt_that_failed() {
    let plan = HttpLoad { timeout_s: 0.1, ..closed(1, Stop::DurationS(0.2)) };
    let Outcome { recorder, .. } = run(&plan, true, |_, _| vec![]);
    // Each attempt connects in 10 ms and is given up 100 ms later; the rest before the second one is of 20 ms. The load
    // of 0.2 s begins the second at once and the third at 130 ms.
    assert_eq!((recorder.connections.opened, recorder.connections.failed), (0, 3));
    assert_eq!(recorder.failures[Failure::ConnectTimeout], 2);
    assert_eq!((recorder.requests.sent, recorder.handshake.count()), (0, 0));
}

#[test]
fn answers_in_any_order_end_their_own_requests() {
    // Four requests under way are answered after 4, 1, 3 and 2 ms.
    let delays = [4, 1, 3, 2];
    let outcome = run(&streams(4, 4), false, move |number, tag| {
        vec![(ms(delays[usize::try_from(number).unwrap()]), Frame::Answered(tag))]
    });
    assert_eq!(outcome.latencies(), delays.map(ms));
    // All four left in one write.
    assert_eq!(outcome.written[1].1.len(), 4 * 2);
    let whole = run(&streams(4, 1_000), false, |number, tag| {
        vec![(Nanos(1_000 * (1 + number * 7 % 11)), Frame::Answered(tag))]
    });
    assert_eq!((whole.recorder.requests.answered, whole.recorder.connections.opened), (1_000, 1));
}

#[test]
fn the_first_byte_is_that_of_the_answer_that_has_begun() {
    let outcome = run(&streams(2, 2), false, |number, tag| {
        let begun = if number == 0 { ms(2) } else { ms(1) };
        vec![(begun, Frame::Begun(tag)), (ms(6), Frame::Answered(tag))]
    });
    assert_eq!(outcome.recorder.first_byte.extremes(), Some((ms(1), ms(2))));
    assert_eq!(outcome.recorder.transfer.extremes(), Some((ms(4), ms(5))));
}

#[test]
fn a_request_that_the_peer_refuses_fails_alone() {
    let outcome = run(&streams(4, 100), false, |number, tag| {
        vec![(ms(1), if number % 10 == 3 { Frame::Refused(tag) } else { Frame::Answered(tag) })]
    });
    let recorder = outcome.recorder;
    assert_eq!((recorder.requests.answered, recorder.failures[Failure::StreamInternalError]), (90, 10));
    assert_eq!(recorder.connections.opened, 1);
}

#[test]
fn an_overdue_request_is_given_up_alone_and_the_connection_goes_on() {
    let plan = HttpLoad { timeout_s: 0.1, ..streams(4, 100) };
    let outcome = run(
        &plan,
        false,
        |number, tag| {
            if number == 3 { vec![] } else { vec![(ms(10), Frame::Answered(tag))] }
        },
    );
    let recorder = &outcome.recorder;
    assert_eq!((recorder.requests.answered, recorder.failures[Failure::Timeout]), (99, 1));
    assert_eq!(recorder.connections.opened, 1);
    let is_cancel = |(_, bytes): &&Written| bytes.contains(&b'c');
    let cancels: Vec<Nanos> = outcome.written.iter().filter(is_cancel).map(|(time, _)| *time).collect();
    assert_eq!(cancels, [CONNECTING + ROUND_TRIP + ms(100)]);
}

#[test]
fn a_connection_that_takes_no_more_is_left_when_its_last_request_is_answered() {
    // Every tenth answer comes with a farewell, and the others under way are answered 5 ms later.
    let outcome = run(&streams(3, 100), false, |number, tag| {
        let delay = ms(if number % 10 == 9 { 1 } else { 6 });
        let farewell = (number % 10 == 9).then_some((Nanos(0), Frame::GoAway));
        farewell.into_iter().chain([(delay, Frame::Answered(tag))]).collect()
    });
    let recorder = outcome.recorder;
    assert_eq!((recorder.requests.answered, recorder.failures.total()), (100, 0));
    assert!(recorder.connections.opened >= 5, "{}", recorder.connections.opened);
}

#[test]
fn a_request_that_the_peer_has_not_looked_at_is_sent_once_more_and_timed_from_when_it_was_due() {
    // The first is refused after 5 ms, and the one that is sent again answered 2 ms after that.
    let outcome = run(&streams(2, 2), false, |arrived, tag| {
        vec![if arrived == 0 { (ms(5), Frame::Moved(tag)) } else { (ms(2), Frame::Answered(tag)) }]
    });
    assert_eq!(outcome.latencies(), [7, 2].map(ms));
    let requests = outcome.recorder.requests;
    assert_eq!((requests.due, requests.sent, requests.answered, requests.moved), (2, 2, 2, 1));
    assert_eq!(outcome.recorder.service_time.extremes(), Some((ms(2), ms(2))));
}

#[test]
fn a_request_that_is_refused_twice_has_failed() {
    let outcome = run(&streams(2, 10), false, |_, tag| vec![(ms(1), Frame::Moved(tag))]);
    let recorder = outcome.recorder;
    assert_eq!(recorder.failures[Failure::StreamRefused], 10);
    assert_eq!((recorder.requests.moved, recorder.requests.failed, recorder.requests.sent), (10, 10, 10));
}

#[test]
fn a_request_may_move_again_from_a_connection_that_has_answered_others() {
    // Two requests on each connection: one is answered, and the other one is left when the server goes away, twice.
    let outcome = run(&streams(2, 3), false, |arrived, tag| match arrived {
        1 => vec![(ms(1), Frame::GoAway), (ms(1), Frame::Moved(tag)), (ms(1), Frame::Gone)],
        2 => vec![(ms(2), Frame::GoAway), (ms(2), Frame::Moved(tag)), (ms(2), Frame::Gone)],
        _ => vec![(ms(1), Frame::Answered(tag))],
    });
    let recorder = &outcome.recorder;
    assert_eq!((recorder.requests.answered, recorder.requests.moved), (3, 2));
    assert_eq!((recorder.failures.total(), recorder.connections.opened), (0, 3));
}

#[test]
fn what_a_server_that_goes_away_leaves_is_sent_on_the_next_connection() {
    // The third request is moved when the server says that it goes, and the others are answered before it is gone.
    let outcome = run(&streams(3, 30), false, |arrived, tag| match arrived {
        2 => vec![(ms(1), Frame::GoAway), (ms(1), Frame::Moved(tag)), (ms(8), Frame::Gone)],
        0 | 1 => vec![(ms(3), Frame::Answered(tag))],
        _ => vec![(ms(1), Frame::Answered(tag))],
    });
    let recorder = &outcome.recorder;
    assert_eq!((recorder.requests.answered, recorder.requests.moved), (30, 1));
    assert_eq!((recorder.failures.total(), recorder.connections.opened), (0, 2));
    // The last answer comes after 3 ms; then a connection, its handshake, and 1 ms.
    let longest = outcome.latencies().into_iter().max();
    assert_eq!(longest, Some(ms(3) + CONNECTING + ROUND_TRIP + ms(1)));
    // It came back after 1 ms.
    let wait = ms(2) + CONNECTING + ROUND_TRIP;
    assert_eq!(recorder.multiplexing.moved_wait.extremes(), Some((wait, wait)));
}

/// A server whose first answer takes long, and that ends the connection of another request without looking at that.
fn leaving(number: u64) -> impl Fn(u64, u8) -> Vec<(Nanos, Frame)> {
    move |arrived, tag| match arrived {
        0 => vec![(ms(500), Frame::Answered(tag))],
        arrived if arrived == number => vec![(ms(1), Frame::GoAway), (ms(1), Frame::Moved(tag))],
        _ => vec![(ms(1), Frame::Answered(tag))],
    }
}

#[test]
fn a_request_that_moves_does_not_wait_for_the_rest_of_its_connection_where_another_one_is_free() {
    // One request in a millisecond, by turns on two connections: the first has the requests 0 and 2, and ends with the
    // latter, which goes to the second one at once.
    let conversation = Conversation { pipeline: 2, ..Conversation::default() };
    let plan = open(2, 1_000.0, Stop::RequestsTotal(4)).with(|http| http.conversation = conversation);
    let outcome = run(&plan, false, leaving(2));
    let recorder = &outcome.recorder;
    assert_eq!((recorder.requests.answered, recorder.requests.moved), (4, 1));
    assert_eq!(recorder.connections.opened, 2);
    assert_eq!(outcome.latencies(), [500, 1, 2, 1].map(ms));
    assert_eq!(recorder.multiplexing.moved_wait.extremes(), Some((Nanos::ZERO, Nanos::ZERO)));
}

#[test]
fn in_a_closed_loop_a_request_that_moves_takes_the_next_place_that_comes_free() {
    // Each of two connections has two requests under way; one has the long one and that which moves.
    let conversation = Conversation { pipeline: 2, ..Conversation::default() };
    let plan = closed(2, Stop::RequestsTotal(20)).with(|http| http.conversation = conversation);
    let outcome = run(&plan, false, leaving(1));
    let recorder = &outcome.recorder;
    assert_eq!((recorder.requests.answered, recorder.requests.moved), (20, 1));
    assert_eq!(recorder.connections.opened, 2);
    let longest = recorder.multiplexing.moved_wait.extremes().map(|(_, longest)| longest);
    assert!(longest <= Some(ms(1)), "{longest:?}");
}

#[test]
fn a_connection_that_takes_no_more_is_left_when_its_last_request_times_out() {
    // One of two requests is never answered, and the other moves, which waits for the end of the first.
    let plan = HttpLoad { timeout_s: 0.1, ..streams(2, 2) };
    let outcome = run(&plan, false, |arrived, tag| match arrived {
        0 => vec![(ms(1), Frame::GoAway)],
        1 => vec![(ms(1), Frame::Moved(tag))],
        _ => vec![(ms(1), Frame::Answered(tag))],
    });
    let recorder = &outcome.recorder;
    assert_eq!((recorder.failures[Failure::Timeout], recorder.requests.answered), (1, 1));
    assert_eq!(recorder.connections.opened, 2);
    assert_eq!(outcome.latencies(), [ms(100), ms(100) + CONNECTING + ROUND_TRIP + ms(1)]);
}

#[test]
fn connections_that_the_server_ends_are_counted_with_the_answers_that_each_has_carried() {
    // Every tenth answer is the last on its connection.
    let ending = |arrived: u64, tag| {
        let gone = (arrived % 10 == 9).then_some((ms(1), Frame::Gone));
        [(ms(1), Frame::Answered(tag))].into_iter().chain(gone).collect()
    };
    let endings = run(&streams(1, 95), false, ending).recorder.endings;
    assert_eq!(endings, Endings { count: 9, answers: 90, extremes: Extremes(Some((10, 10))), lasting: 0 });
}

#[test]
fn connections_that_the_load_keeps_have_lasted_and_those_that_it_closes_itself_are_no_ends_of_the_servers() {
    let answering = |_, tag| vec![(ms(1), Frame::Answered(tag))];
    for (calls, lasting) in [(None, 3), (Some(5), 0)] {
        let plan = closed(3, Stop::RequestsTotal(60));
        let plan = plan.with(|http| http.conversation = Conversation { calls, ..Conversation::default() });
        let endings = run(&plan, false, answering).recorder.endings;
        assert_eq!(endings, Endings { lasting, ..Endings::default() });
    }
}

#[test]
fn what_the_protocol_has_to_say_is_written_in_the_same_turn() {
    let outcome =
        run(&streams(1, 2), false, |_, tag| vec![(ms(2), Frame::Ping), (ms(5), Frame::Answered(tag))]);
    let pongs: Vec<Nanos> =
        outcome.written.iter().filter(|(_, bytes)| bytes[0] == b'o').map(|(time, _)| *time).collect();
    assert_eq!(pongs, [42, 47].map(ms));
}
