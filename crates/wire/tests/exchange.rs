//! One connection's end of HTTP/1.x: whose answer it is, when it begins, and what the connection is good for.

use loadcurve_wire::{
    Body, Event, Exchange as _, Http1, Malformed, Method, Readiness, Received, Request, Response, Tag,
    Target, Version,
};
use proptest::prelude::*;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const LAST_ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";

/// An exchange with these requests under way.
fn with_requests(methods: &[(Tag, &str)]) -> Http1 {
    let mut exchange = Http1::new(methods.len(), &());
    exchange.open();
    for (tag, method) in methods {
        let request = Request {
            version: Version::Http11,
            method: Method::new(method).unwrap(),
            target: Target::Fixed("/"),
            authority: "localhost",
            headers: &[],
            body: Body::Bytes(b""),
        };
        exchange.begin(*tag, &Http1::template(&request).unwrap(), None, &mut Vec::new());
    }
    exchange
}

/// Everything that bytes bring.
fn events_of(exchange: &mut Http1, mut bytes: &[u8]) -> Result<Vec<Event>, Malformed> {
    let mut events = Vec::new();
    while !bytes.is_empty() {
        let Received { consumed, event } = exchange.receive(bytes)?;
        events.extend(event);
        bytes = &bytes[consumed..];
    }
    Ok(events)
}

fn answered(tag: Tag, body_bytes: u64, header_bytes: usize) -> Event {
    let header_bytes = header_bytes as u64;
    let response = Response { status: 200, header_bytes, body_bytes, framing_bytes: 0, keep_alive: true };
    Event::Answered(tag, response)
}

#[test]
fn answers_end_the_requests_in_the_order_in_which_they_began() {
    let mut exchange = with_requests(&[(2, "GET"), (0, "HEAD"), (1, "GET")]);
    let head = &ANSWER[..ANSWER.len() - 2];
    let events = events_of(&mut exchange, &[ANSWER, head, ANSWER].concat()).unwrap();
    assert_eq!(events, [(2, 2), (0, 0), (1, 2)].map(|(tag, body)| answered(tag, body, head.len())));
    assert_eq!(exchange.readiness(), Readiness::Ready);
}

#[test]
fn the_begin_of_an_answer_is_reported_once_and_only_where_its_end_is_not_there_yet() {
    let mut exchange = with_requests(&[(7, "GET")]);
    let mut events = Vec::new();
    for byte in ANSWER {
        events.extend(events_of(&mut exchange, &[*byte]).unwrap());
    }
    assert_eq!(events, [Event::Begun(7), answered(7, 2, ANSWER.len() - 2)]);
}

#[test]
fn bytes_that_nobody_has_asked_for_are_refused() {
    assert_eq!(events_of(&mut with_requests(&[]), ANSWER), Err(Malformed::Unasked));
    let mut exchange = with_requests(&[(0, "GET")]);
    // What they follow is not the answer alone, so it does not count as answered either.
    assert_eq!(exchange.receive(&[ANSWER, b"H"].concat()), Err(Malformed::Unasked));
}

#[test]
fn after_the_peers_last_answer_the_connection_is_of_no_more_use_until_a_new_one_is_opened() {
    let mut exchange = with_requests(&[(0, "GET"), (1, "GET")]);
    events_of(&mut exchange, LAST_ANSWER).unwrap();
    assert_eq!(exchange.readiness(), Readiness::Closed);
    exchange.open();
    assert_eq!(exchange.readiness(), Readiness::Ready);
    // The request that was under way on the old connection is not on the new one.
    assert_eq!(events_of(&mut exchange, ANSWER), Err(Malformed::Unasked));
}

#[test]
fn the_end_of_the_input_completes_an_answer_that_lasts_until_then_and_no_other() {
    let mut exchange = with_requests(&[(3, "GET")]);
    assert_eq!(events_of(&mut exchange, b"HTTP/1.1 200 OK\r\n\r\nbody"), Ok(vec![Event::Begun(3)]));
    let Some(Event::Answered(3, response)) = exchange.end_of_input() else { panic!("it is complete") };
    assert_eq!((response.body_bytes, exchange.readiness()), (4, Readiness::Closed));
    assert_eq!(exchange.end_of_input(), None);
    let mut cut_off = with_requests(&[(3, "GET")]);
    events_of(&mut cut_off, &ANSWER[..ANSWER.len() - 1]).unwrap();
    assert_eq!((cut_off.end_of_input(), cut_off.readiness()), (None, Readiness::Closed));
}

#[test]
fn an_answer_that_was_cut_off_is_explained_by_how_much_of_it_has_come() {
    let mut exchange = with_requests(&[(0, "GET")]);
    events_of(&mut exchange, &ANSWER[..ANSWER.len() - 1]).unwrap();
    assert_eq!(exchange.complaint(), None);
    exchange.end_of_input();
    assert!(
        exchange.complaint().unwrap().contains("after 1 of the 2 body bytes"),
        "{:?}",
        exchange.complaint()
    );
    exchange.open();
    assert_eq!(exchange.complaint(), None);
}

#[test]
fn the_parts_of_a_body_are_handed_out_without_its_framing_wherever_the_bytes_are_cut() {
    let by_length = b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello world".as_slice();
    let chunked =
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6;a=b\r\nhello \r\n5\r\nworld\r\n0\r\nX: y\r\n\r\n";
    let until_close = b"HTTP/1.1 200 OK\r\n\r\nhello world";
    for answer in [by_length, chunked, until_close] {
        let answer = [b"HTTP/1.1 103 Early Hints\r\n\r\n".as_slice(), answer].concat();
        for cut in 0..=answer.len() {
            let mut exchange = with_requests(&[(3, "GET")]);
            let mut body = Vec::new();
            for mut part in [&answer[..cut], &answer[cut..]] {
                while !part.is_empty() {
                    let received = exchange.receive_with(part, &mut |tag, bytes| {
                        assert_eq!(tag, 3);
                        body.extend_from_slice(bytes);
                    });
                    part = &part[received.unwrap().consumed..];
                }
            }
            assert_eq!(body, b"hello world", "cut at {cut}");
        }
    }
}

#[test]
fn a_request_cannot_be_given_up_alone() {
    let mut exchange = with_requests(&[(0, "GET"), (1, "GET")]);
    assert!(!exchange.cancel(0));
    assert_eq!(exchange.readiness(), Readiness::Closed);
}

proptest! {
    #[test]
    fn however_the_bytes_are_split_every_request_is_answered_once(
        count in 1_usize..8, cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..10),
    ) {
        let requests: Vec<(Tag, &str)> = (0..count).map(|tag| (tag, "GET")).collect();
        let mut exchange = with_requests(&requests);
        let bytes = ANSWER.repeat(count);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len())).chain([0, bytes.len()]).collect();
        cuts.sort_unstable();
        let mut ended = Vec::new();
        for cut in cuts.windows(2) {
            let events = events_of(&mut exchange, &bytes[cut[0]..cut[1]]).unwrap();
            ended.extend(events.into_iter().filter(|event| !matches!(event, Event::Begun(_))));
        }
        let expected: Vec<Event> = (0..count).map(|tag| answered(tag, 2, ANSWER.len() - 2)).collect();
        prop_assert_eq!(ended, expected);
    }
}
