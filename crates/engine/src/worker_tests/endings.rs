//! How servers of HTTP/1.x end connections, and what that does to requests: idle ones, and those of a pipeline.

use std::collections::BTreeMap;

use loadcurve_plan::{Arrivals, Conversation, HttpLoad, Model, Nanos, Rate, Stop};
use loadcurve_record::Failure;
use loadcurve_wire::Http1;

use super::peer::{self, Delays, Outcome, Peer};
use super::{closed, ms, plan};
use crate::io::Slot;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const LAST_ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";
const TIMEOUT: &[u8] = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 4\r\nConnection: close\r\n\r\nlate";
const END: &[u8] = b"";
const CONNECTING: Nanos = ms(10);

/// What arrives, and how long after request `number` of its connection, counted from 0.
type Service = dyn Fn(u64) -> Vec<(Nanos, &'static [u8])>;

/// A server that goes by how many requests a connection has carried.
struct Server {
    service: Box<Service>,
    /// What a connection brings without a request.
    welcome: Vec<(Nanos, &'static [u8])>,
    /// Requests of the connection of each slot.
    requests: BTreeMap<Slot, u64>,
}

fn at(now: Nanos, coming: Vec<(Nanos, &'static [u8])>) -> Vec<(Nanos, Vec<u8>)> {
    coming.into_iter().map(|(delay, bytes)| (now + delay, bytes.to_vec())).collect()
}

impl Peer for Server {
    fn answers(&mut self, slot: Slot, now: Nanos, bytes: &[u8]) -> Vec<(Nanos, Vec<u8>)> {
        let requests = bytes.windows(4).filter(|four| four == b"\r\n\r\n").count();
        let number = self.requests.entry(slot).or_default();
        let mut answers = Vec::new();
        for _ in 0..requests {
            answers.extend(at(now, (self.service)(*number)));
            *number += 1;
        }
        answers
    }

    fn welcomes(&mut self, slot: Slot, connected: Nanos) -> Vec<(Nanos, Vec<u8>)> {
        self.requests.insert(slot, 0);
        at(connected, self.welcome.clone())
    }
}

fn run(plan: &HttpLoad, service: impl Fn(u64) -> Vec<(Nanos, &'static [u8])> + 'static) -> Outcome {
    let server = Server { service: Box::new(service), welcome: vec![], requests: BTreeMap::new() };
    peer::run::<Http1>(plan, (), Delays { connecting: CONNECTING, ..Delays::default() }, server)
}

/// One connection that makes this many requests, with a pause after each answer.
fn thinking(total: u64, think_s: f64) -> HttpLoad {
    let conversation = Conversation { think_s, ..Conversation::default() };
    closed(1, Stop::RequestsTotal(total)).with(|http| http.conversation = conversation)
}

/// One connection with this many requests under way.
fn pipelined(depth: usize, total: u64) -> HttpLoad {
    let conversation = Conversation { pipeline: depth, ..Conversation::default() };
    closed(1, Stop::RequestsTotal(total)).with(|http| http.conversation = conversation)
}

/// Requests due, answered and failed, and connections opened.
fn counts(outcome: &Outcome) -> (u64, u64, u64, u64) {
    let requests = outcome.recorder.requests;
    assert_eq!(requests.due, requests.answered + requests.failed + requests.unanswered + requests.never_sent);
    (requests.due, requests.answered, requests.failed, outcome.recorder.connections.opened)
}

fn idle_ends(outcome: &Outcome) -> Vec<(u16, u64)> {
    outcome.recorder.idle_ends.iter().collect()
}

#[test]
fn a_408_on_an_idle_connection_costs_no_request_in_however_many_pieces_it_and_the_end_come() {
    let (first, second) = TIMEOUT.split_at(40);
    let (before, after) = (ms(100), ms(101));
    for (pieces, is_whole) in [
        (vec![(before, TIMEOUT), (before, END)], true),
        (vec![(before, TIMEOUT)], true),
        (vec![(before, first), (after, second), (after, END)], true),
        (vec![(before, first), (after, END)], false),
        // It continues after the next request has begun, on another connection.
        (vec![(before, first), (ms(300), second)], false),
        // It comes with the answer.
        (vec![(ms(5), TIMEOUT)], true),
        (vec![(ms(5), first), (ms(6), second)], true),
    ] {
        let outcome =
            run(&thinking(10, 0.2), move |_| [(ms(5), ANSWER)].into_iter().chain(pieces.clone()).collect());
        assert_eq!(counts(&outcome), (10, 10, 0, 10));
        // The last one ends behind the load.
        let ended = if outcome.recorder.idle_ends.iter().next() == Some((408, 10)) { 10 } else { 9 };
        assert_eq!(idle_ends(&outcome), if is_whole { vec![(408, ended)] } else { vec![] });
        // All but the first wait for their connection.
        assert_eq!(outcome.latencies()[1..], [CONNECTING + ms(5); 9]);
        assert_eq!(outcome.recorder.connections.reused, 1);
    }
}

#[test]
fn a_408_that_crosses_a_request_is_not_its_answer_and_the_request_is_sent_again() {
    // The next request is sent after 205 ms; the server has given up waiting for it a moment before.
    for pieces in [
        vec![(ms(207), TIMEOUT), (ms(207), END)],
        vec![(ms(207), TIMEOUT)],
        vec![(ms(206), &TIMEOUT[..40]), (ms(207), &TIMEOUT[40..])],
    ] {
        let outcome = run(&thinking(10, 0.2), move |number| match number {
            0 => [(ms(5), ANSWER)].into_iter().chain(pieces.clone()).collect(),
            _ => vec![],
        });
        assert_eq!(counts(&outcome), (10, 10, 0, 10));
        assert_eq!(outcome.recorder.requests.moved, 9);
        // They count from when they were due, and wait for another connection.
        assert_eq!(outcome.latencies()[1..], [ms(2) + CONNECTING + ms(5); 9]);
        assert!(matches!(idle_ends(&outcome)[..], [(408, 9 | 10)]));
    }
}

#[test]
fn a_408_on_a_connection_that_has_carried_nothing_costs_no_request() {
    // Two connections, of which an open loop of one request in 400 ms takes one after the other; each ends after 300 ms.
    let model = Model::Open { connections: 2, rate_rps: Rate::Constant(2.5), arrivals: Arrivals::Constant };
    let load = plan(model, Stop::RequestsTotal(10));
    let server = Server {
        service: Box::new(|_| vec![(ms(5), ANSWER)]),
        welcome: vec![(ms(300), TIMEOUT), (ms(300), END)],
        requests: BTreeMap::new(),
    };
    let outcome = peer::run::<Http1>(&load, (), Delays::default(), server);
    let (due, answered, failed, _) = counts(&outcome);
    assert_eq!((due, answered, failed), (10, 10, 0));
    assert!(outcome.recorder.idle_ends.iter().all(|(status, count)| status == 408 && count >= 9));
}

#[test]
fn a_session_that_thinks_goes_on_with_another_connection_where_the_server_ends_the_idle_one() {
    let model = Model::Sessions {
        connection_rate_cps: Rate::Constant(1.0),
        arrivals: Arrivals::Constant,
        connections: 10,
    };
    let conversation = Conversation { think_s: 0.2, calls: Some(4), ..Conversation::default() };
    let load = plan(model, Stop::ConnectionsTotal(3)).with(|http| http.conversation = conversation);
    for end in [vec![(ms(100), TIMEOUT), (ms(100), END)], vec![(ms(100), END)], vec![(ms(5), TIMEOUT)]] {
        let outcome = run(&load, move |_| [(ms(5), ANSWER)].into_iter().chain(end.clone()).collect());
        // Each of three sessions makes all of its four calls, each on its own connection.
        assert_eq!(counts(&outcome), (12, 12, 0, 12));
    }
}

#[test]
fn other_bytes_on_an_idle_connection_fail_the_next_request_by_their_name() {
    for (bytes, example) in [(ANSWER, "HTTP/1.1 200 OK"), (b"excess".as_slice(), "excess")] {
        let outcome = run(&thinking(10, 0.2), move |_| vec![(ms(5), ANSWER), (ms(100), bytes)]);
        assert_eq!(counts(&outcome).1, 5);
        assert_eq!(outcome.recorder.failures[Failure::Unasked], 5);
        let explanations = outcome.recorder.explanations.most_frequent(1);
        let [why] = explanations[..] else { panic!("{explanations:?}") };
        assert_eq!((why.count, why.example.as_deref()), (5, Some(example)));
        assert!(why.text.contains("no request had asked for"), "{}", why.text);
    }
}

#[test]
fn a_line_end_behind_an_answer_is_discarded_whenever_it_comes() {
    for load in [thinking(10, 0.2), closed(1, Stop::RequestsTotal(10)), pipelined(4, 10)] {
        for delay in [0, 5, 7, 100].map(ms) {
            let outcome = run(&load, move |number| {
                // In a pipeline nothing can come between the answers out of turn.
                let turn = Nanos(number * 1_000);
                vec![(ms(5) + turn, ANSWER), (ms(5).max(delay) + turn, b"\r\n".as_slice())]
            });
            assert_eq!(counts(&outcome), (10, 10, 0, 1), "{delay:?}");
        }
    }
}

#[test]
fn an_idle_connection_that_is_reset_costs_a_session_none_of_its_calls_and_a_request_that_is_not_sent_nothing()
{
    // The end comes in the same turn as the answer, when the next call of a session that does not think has begun.
    let model = Model::Sessions {
        connection_rate_cps: Rate::Constant(1.0),
        arrivals: Arrivals::Constant,
        connections: 10,
    };
    let conversation = Conversation { calls: Some(4), ..Conversation::default() };
    let load = plan(model, Stop::ConnectionsTotal(3)).with(|http| http.conversation = conversation);
    let outcome = run(&load, |_| vec![(ms(5), ANSWER), (ms(5), END)]);
    assert_eq!(counts(&outcome), (12, 12, 0, 12));
}

#[test]
fn pipelined_requests_behind_an_announced_close_move_and_are_timed_from_when_they_were_due() {
    // The third answer of each connection is its last; answers come 5 ms after their requests.
    let outcome = run(&pipelined(4, 12), |number| match number {
        0 | 1 => vec![(ms(5), ANSWER)],
        2 => vec![(ms(5), LAST_ANSWER), (ms(5), END)],
        _ => vec![],
    });
    // Of four requests on the first connection three are answered. The fourth one moves, with the two that began beside it
    // when the first two answers came; three are answered on each next connection.
    assert_eq!(counts(&outcome), (12, 12, 0, 4));
    let moved = outcome.recorder.requests.moved;
    assert!((3..=9).contains(&moved), "{moved}");
    let longest = outcome.latencies().into_iter().max();
    assert!(longest >= Some(ms(5) + CONNECTING + ms(5)), "{longest:?}");
    assert_eq!(outcome.recorder.requests.sent, 12);
}

#[test]
fn pipelined_requests_that_a_silent_close_leaves_are_sent_once_more_and_fail_the_second_time() {
    // Every connection answers ten requests, and closes with the others under way.
    let outcome = run(&pipelined(4, 100), |number| match number {
        0..9 => vec![(ms(5), ANSWER)],
        9 => vec![(ms(5), ANSWER), (ms(5), END)],
        _ => vec![],
    });
    assert_eq!(counts(&outcome), (100, 100, 0, 10));
    assert!(outcome.recorder.requests.moved > 0);
    // One that answers the first of four alone is not made to look as if it answered all.
    let outcome =
        run(
            &pipelined(4, 100),
            |number| {
                if number == 0 { vec![(ms(5), ANSWER), (ms(5), END)] } else { vec![] }
            },
        );
    let recorder = &outcome.recorder;
    assert!(recorder.failures[Failure::ClosedEarly] > 30, "{:?}", recorder.requests);
    assert_eq!(recorder.failures[Failure::ClosedEarly], recorder.requests.failed);
    assert_eq!(recorder.disruptions.kept_connection, recorder.requests.failed);
    assert_eq!(recorder.disruptions.pipelines, recorder.disruptions.pipelines_answered_once);
    assert!(recorder.disruptions.pipelines + 1 >= recorder.connections.opened);
}

#[test]
fn a_server_that_forgets_all_but_the_first_of_pipelined_requests_is_noticed_when_the_last_are_overdue() {
    // Of each four that arrive together it answers the first; later ones arrive alone, and their answers are taken for those
    // of the forgotten ones.
    let load = HttpLoad { timeout_s: 1.0, ..pipelined(4, 100) };
    let outcome = run(&load, |number| if (1..4).contains(&number) { vec![] } else { vec![(ms(5), ANSWER)] });
    assert_eq!(counts(&outcome), (100, 97, 3, 1));
    assert_eq!(outcome.recorder.failures[Failure::Timeout], 3);
    let endings = outcome.recorder.disruptions;
    assert_eq!((endings.pipelines, endings.pipelines_answered_once), (1, 1));
    // As noticed where each answer takes a tenth of the timeout.
    let outcome =
        run(&load, |number| if (1..4).contains(&number) { vec![] } else { vec![(ms(100), ANSWER)] });
    let endings = outcome.recorder.disruptions;
    assert_eq!((counts(&outcome), endings.pipelines_answered_once), ((100, 97, 3, 1), 1));
    // One that forgets a single request of them leaves one unanswered.
    let outcome = run(&load, |number| if number == 1 { vec![] } else { vec![(ms(5), ANSWER)] });
    let endings = outcome.recorder.disruptions;
    assert_eq!((counts(&outcome).2, endings.pipelines, endings.pipelines_answered_some), (1, 1, 1));
    // One that is too slow for the last requests has answered late.
    let slow = HttpLoad { timeout_s: 1.0, ..pipelined(4, 4) };
    let outcome = run(&slow, |number| vec![(ms(600 * (number + 1)), ANSWER)]);
    let endings = outcome.recorder.disruptions;
    assert_eq!((counts(&outcome).2, endings.pipelines), (3, 1));
    assert_eq!((endings.pipelines_answered_once, endings.pipelines_answered_some), (0, 0));
    // A server that answers nothing from some request on keeps the whole pipeline waiting.
    let outcome = run(&load, |number| if number < 50 { vec![(ms(5), ANSWER)] } else { vec![] });
    let endings = outcome.recorder.disruptions;
    assert!(endings.pipelines > 0 && 2 * endings.pipelines_answered_once < endings.pipelines, "{endings:?}");
}

#[test]
fn requests_whose_connection_is_closed_are_told_apart_by_what_had_come_before() {
    const HALF: &[u8] = ANSWER.split_at(20).0;
    for (service, expected) in [
        // Every second request of a connection is cut off, or meets its end, and one that is closed at once answers none.
        (vec![vec![(ms(5), ANSWER)], vec![(ms(5), HALF), (ms(6), END)]], (5, 0, 0)),
        (vec![vec![(ms(5), ANSWER)], vec![(ms(5), END)]], (0, 5, 0)),
        (vec![vec![(ms(5), END)]], (0, 0, 10)),
    ] {
        let outcome =
            run(&thinking(10, 0.2), move |number| service[usize::try_from(number).unwrap()].clone());
        let endings = outcome.recorder.disruptions;
        assert_eq!((endings.answer_begun, endings.kept_connection, endings.new_connection), expected);
        assert_eq!(outcome.recorder.failures[Failure::ClosedEarly], counts(&outcome).2);
    }
}

#[test]
fn where_answers_redirect_to_is_kept_of_the_first_redirection() {
    const THERE: &[u8] = b"HTTP/1.1 302 Found\r\nlocation: /there?a=b\r\nContent-Length: 0\r\n\r\n";
    // Where that is which was made is no redirection (RFC 9110 §10.2.2).
    const MADE: &[u8] = b"HTTP/1.1 201 Created\r\nLocation: /made\r\nContent-Length: 0\r\n\r\n";
    let outcome = run(&closed(2, Stop::RequestsTotal(10)), |_| vec![(ms(5), THERE)]);
    assert_eq!(outcome.recorder.redirected_to.as_deref(), Some("/there…"));
    for answer in [ANSWER, MADE] {
        let outcome = run(&closed(2, Stop::RequestsTotal(10)), move |_| vec![(ms(5), answer)]);
        assert_eq!(outcome.recorder.redirected_to, None);
    }
}
