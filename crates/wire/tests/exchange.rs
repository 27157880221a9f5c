//! One connection's end of HTTP/1.x: whose answer it is, when it begins, and what the connection is good for.

use loadcurve_wire::{
    Body, BodyPart, Event, Exchange as _, Http1, HttpExchange as _, Malformed, Method, Readiness, Received,
    Request, Response, Tag, Target, Version,
};
use proptest::prelude::*;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const LAST_ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";

/// An exchange with these requests under way.
fn with_requests(methods: &[(Tag, &str)]) -> Http1 {
    let mut exchange = Http1::new(methods.len(), &());
    exchange.open();
    for (tag, method) in methods {
        begin(&mut exchange, *tag, method);
    }
    exchange
}

fn request(method: &str) -> Request<'_> {
    Request {
        version: Version::Http11,
        method: Method::new(method).unwrap(),
        target: Target::Fixed("/"),
        authority: "localhost",
        headers: &[],
        body: Body::Bytes(b""),
        is_chunked: false,
    }
}

fn begin(exchange: &mut Http1, tag: Tag, method: &str) {
    exchange.begin(tag, &Http1::template(&request(method)).unwrap(), None, &mut Vec::new());
}

fn begin_request(exchange: &mut Http1, request: &Request<'_>) {
    exchange.begin(0, &Http1::template(request).unwrap(), None, &mut Vec::new());
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
    let response = Response {
        status: 200,
        header_bytes,
        body_bytes,
        framing_bytes: 0,
        inflated_bytes: None,
        keep_alive: true,
        grpc_status: None,
    };
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
    // An answer after which the connection would persist belongs to no request.
    for bytes in [ANSWER, &ANSWER[..ANSWER.len() - 1], b"excess", b"HTTP/2", b"\r\nSSH-2.0"] {
        assert_eq!(events_of(&mut with_requests(&[]), bytes), Err(Malformed::Unasked));
        let mut exchange = with_requests(&[(0, "GET")]);
        // What they follow is not the answer alone, so it does not count as answered either.
        assert_eq!(exchange.receive(&[ANSWER, bytes].concat()), Err(Malformed::Unasked));
    }
}

/// What servers send when an idle connection has lasted too long for them.
const TIMEOUTS: [&[u8]; 4] = [
    b"HTTP/1.1 408 Request Time-out\r\nContent-Length: 110\r\nCache-Control: no-cache\r\nConnection: close\r\n\
      Content-Type: text/html\r\n\r\n<html><body><h1>408 Request Time-out</h1>\nYour browser didn't send a complete request \
      in time.\n</body></html>\n",
    b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\nuntil the end",
    b"HTTP/1.0 408 Request Timeout\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n",
];

#[test]
fn an_answer_that_nobody_has_asked_for_and_that_ends_the_connection_ends_it_and_nothing_else() {
    for timeout in TIMEOUTS {
        for cut in 0..=timeout.len() {
            let mut exchange = with_requests(&[(0, "GET")]);
            events_of(&mut exchange, ANSWER).unwrap();
            for part in [&timeout[..cut], &timeout[cut..]] {
                assert_eq!(events_of(&mut exchange, part), Ok(vec![]), "cut at {cut}");
            }
            assert_eq!(exchange.end_of_input(), None);
            assert_eq!((exchange.readiness(), exchange.ended_with()), (Readiness::Closed, Some(408)));
        }
    }
}

#[test]
fn requests_that_a_timeout_of_the_peer_has_crossed_are_given_back() {
    for timeout in &TIMEOUTS[..3] {
        // As far as its status, so that nothing was taken for an answer.
        for cut in "HTTP/1.1 408".len()..=timeout.len() {
            let mut exchange = with_requests(&[(0, "GET"), (1, "HEAD"), (2, "POST")]);
            events_of(&mut exchange, ANSWER).unwrap();
            let mut events = Vec::new();
            for part in [&timeout[..cut], &timeout[cut..]] {
                events.extend(events_of(&mut exchange, part).unwrap());
            }
            events.extend(std::iter::from_fn(|| exchange.end_of_input()));
            assert_eq!(events, [Event::Moved(1), Event::Moved(2)], "cut at {cut}");
            assert_eq!((exchange.readiness(), exchange.ended_with()), (Readiness::Closed, Some(408)));
        }
    }
}

#[test]
fn a_timeout_that_keeps_the_connection_is_an_applications_answer() {
    let mut exchange = with_requests(&[(0, "GET"), (1, "GET"), (2, "GET")]);
    events_of(&mut exchange, ANSWER).unwrap();
    for tag in [1, 2] {
        let events = events_of(&mut exchange, TIMEOUTS[3]).unwrap();
        assert!(
            matches!(events[..], [Event::Answered(of, Response { status: 408, .. })] if of == tag),
            "{events:?}"
        );
    }
    assert_eq!((exchange.readiness(), exchange.ended_with()), (Readiness::Ready, None));
}

#[test]
fn the_first_answer_of_a_connection_and_one_to_a_body_under_way_are_answers_whatever_their_status() {
    let timeout = TIMEOUTS[2];
    let is_answered = |exchange: &mut Http1| {
        let events = events_of(exchange, timeout).unwrap();
        assert!(matches!(events[..], [Event::Answered(0, Response { status: 408, .. })]), "{events:?}");
    };
    is_answered(&mut with_requests(&[(0, "GET")]));
    let mut exchange = with_requests(&[(0, "GET")]);
    events_of(&mut exchange, ANSWER).unwrap();
    begin_request(&mut exchange, &Request { body: Body::Following(10), ..request("PUT") });
    is_answered(&mut exchange);
}

#[test]
fn a_connection_that_the_peer_is_about_to_end_is_leaving_until_it_has() {
    let mut exchange = with_requests(&[]);
    events_of(&mut exchange, &TIMEOUTS[0][..30]).unwrap();
    assert_eq!((exchange.readiness(), exchange.ended_with()), (Readiness::Leaving, None));
    // The connection ends before the answer does, which concerns nobody either.
    assert_eq!(exchange.end_of_input(), None);
    assert_eq!(exchange.readiness(), Readiness::Closed);
}

#[test]
fn the_end_of_a_connection_may_come_in_the_same_bytes_as_the_last_answer() {
    for timeout in TIMEOUTS {
        for bytes in [ANSWER.len() + 1, ANSWER.len() + timeout.len()] {
            let mut exchange = with_requests(&[(0, "GET")]);
            let both = [ANSWER, timeout].concat();
            let answered = vec![answered(0, 2, ANSWER.len() - 2)];
            assert_eq!(events_of(&mut exchange, &both[..bytes]), Ok(answered));
            assert_ne!(exchange.readiness(), Readiness::Ready);
        }
    }
}

#[test]
fn line_ends_between_answers_are_discarded_wherever_the_bytes_are_cut() {
    let both = [ANSWER, b"\r\n\r\n", ANSWER, b"\r\n"].concat();
    for cut in 0..=both.len() {
        let mut exchange = with_requests(&[(0, "GET"), (1, "GET")]);
        let mut events = events_of(&mut exchange, &both[..cut]).unwrap();
        events.extend(events_of(&mut exchange, &both[cut..]).unwrap());
        events.retain(|event| !matches!(event, Event::Begun(_)));
        assert_eq!(events, [0, 1].map(|tag| answered(tag, 2, ANSWER.len() - 2)), "cut at {cut}");
        assert_eq!(exchange.readiness(), Readiness::Ready);
    }
    let mut exchange = with_requests(&[]);
    assert_eq!(events_of(&mut exchange, b"\r\n"), Ok(vec![]));
    assert_eq!(exchange.readiness(), Readiness::Ready);
}

#[test]
fn what_is_refused_is_quoted_by_the_line_at_fault() {
    for (bytes, example) in [
        ("SSH-2.0-OpenSSH_9.9\r\nmore", "SSH-2.0-OpenSSH_9.9"),
        ("HTTP/1.1 200 OK\r\nServer: a\r\nX-A : b\r\nDate: c\r\n\r\n", "X-A : b"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "Content-Length: 2"),
        ("HTTP/1.1 101 Switching Protocols\r\n\r\n", "HTTP/1.1 101 Switching Protocols"),
        ("HTTP/1.1 200 OK\r\nX-A: \0\x1b[31m\r\n\r\n", "X-A: \\x00\\x1b[31m"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", "xyz"),
    ] {
        let mut exchange = with_requests(&[(0, "GET")]);
        assert!(events_of(&mut exchange, bytes.as_bytes()).is_err(), "{bytes:?}");
        assert_eq!(exchange.example(), Some(example));
        assert!(exchange.complaint().is_some_and(|text| !text.is_empty()));
        exchange.open();
        assert_eq!((exchange.example(), exchange.complaint()), (None, None));
    }
    let mut exchange = with_requests(&[(0, "GET")]);
    let endless = format!("HTTP/1.1 200 OK\r\nX-A: {}", "x".repeat(70_000));
    assert!(exchange.receive(endless.as_bytes()).is_err());
    assert!(exchange.complaint().unwrap().contains("longer than the 65536 bytes"));
    assert_eq!(exchange.example(), None);
}

/// What becomes of requests, without the begins of answers.
fn ends_of(events: &[Event]) -> Vec<(Tag, &'static str)> {
    let end = |event: &Event| match event {
        Event::Answered(tag, _) => Some((*tag, "answered")),
        Event::Moved(tag) => Some((*tag, "moved")),
        Event::Dropped(tag) => Some((*tag, "dropped")),
        Event::Begun(_) | Event::Refused(..) => None,
    };
    events.iter().filter_map(end).collect()
}

/// Everything that the end of the input brings.
fn events_at_end(exchange: &mut Http1) -> Vec<Event> {
    std::iter::from_fn(|| exchange.end_of_input()).collect()
}

#[test]
fn requests_behind_the_peers_last_answer_are_moved_whatever_their_method_and_wherever_the_bytes_are_cut() {
    let both = [ANSWER, LAST_ANSWER].concat();
    for cut in 0..=both.len() {
        let mut exchange = with_requests(&[(3, "GET"), (0, "GET"), (2, "POST"), (1, "GET")]);
        let mut events = events_of(&mut exchange, &both[..cut]).unwrap();
        events.extend(events_of(&mut exchange, &both[cut..]).unwrap());
        assert_eq!(ends_of(&events), [(3, "answered"), (0, "answered"), (2, "moved"), (1, "moved")]);
        assert_eq!(exchange.readiness(), Readiness::Closed);
    }
}

#[test]
fn requests_behind_an_answer_that_lasts_until_the_end_are_moved() {
    let mut exchange = with_requests(&[(0, "GET"), (1, "POST")]);
    events_of(&mut exchange, b"HTTP/1.1 200 OK\r\n\r\nbody").unwrap();
    assert_eq!(ends_of(&events_at_end(&mut exchange)), [(0, "answered"), (1, "moved")]);
}

#[test]
fn pipelined_requests_that_got_no_byte_before_a_silent_close_are_dropped_where_repeating_them_does_no_harm() {
    let begun = &ANSWER[..20];
    for (methods, bytes, expected) in [
        // The server had answered, and not begun the next answer.
        (["GET", "GET", "HEAD"], ANSWER.to_vec(), vec![(1, "dropped"), (2, "dropped")]),
        // An answer that was cut off is a failure, and those behind it were not answered.
        (["GET", "GET", "DELETE"], [ANSWER, begun].concat(), vec![(2, "dropped")]),
        // A server that has answered nothing may have refused the connection.
        (["GET", "GET", "GET"], vec![], vec![]),
        // One request that must not be repeated forbids to repeat the sequence.
        (["GET", "GET", "POST"], ANSWER.to_vec(), vec![]),
    ] {
        let requests: Vec<(Tag, &str)> = methods.into_iter().enumerate().collect();
        let mut exchange = with_requests(&requests);
        events_of(&mut exchange, &bytes).unwrap();
        assert_eq!(ends_of(&events_at_end(&mut exchange)), expected, "{methods:?}");
        assert_eq!(exchange.readiness(), Readiness::Closed);
    }
    // Without a pipeline, the close of a kept connection is what the load shows.
    let mut exchange = with_requests(&[(0, "GET")]);
    events_of(&mut exchange, ANSWER).unwrap();
    begin(&mut exchange, 0, "GET");
    assert_eq!(events_at_end(&mut exchange), []);
}

#[test]
fn after_a_request_that_ends_its_connection_it_persists_only_where_the_answer_says_so() {
    let answers = [
        ("HTTP/1.1 200 OK", Readiness::Closed),
        ("HTTP/1.0 200 OK", Readiness::Closed),
        ("HTTP/1.1 200 OK\r\nConnection: keep-alive", Readiness::Ready),
        ("HTTP/1.0 200 OK\r\nConnection: Keep-Alive", Readiness::Ready),
    ];
    let asks = |connection: &'static str| [("Connection", connection)];
    for (version, headers) in [
        (Version::Http10, [].as_slice()),
        (Version::Http10, asks("close").as_slice()),
        (Version::Http11, asks("close").as_slice()),
        (Version::Http11, asks("TE, Close").as_slice()),
    ] {
        for (head, readiness) in answers {
            let mut exchange = with_requests(&[]);
            begin_request(&mut exchange, &Request { version, headers, ..request("GET") });
            let answer = format!("{head}\r\nContent-Length: 2\r\n\r\nok");
            let events = events_of(&mut exchange, answer.as_bytes()).unwrap();
            let Some(Event::Answered(_, response)) = events.last() else { panic!("{events:?}") };
            assert_eq!(exchange.readiness(), readiness, "{version:?} {headers:?} {head}");
            assert_eq!(response.keep_alive, readiness == Readiness::Ready);
        }
    }
    // A request of HTTP/1.0 that asks to keep the connection is answered in 1.1 by servers that keep it.
    let mut exchange = with_requests(&[]);
    let headers = asks("keep-alive");
    begin_request(&mut exchange, &Request { version: Version::Http10, headers: &headers, ..request("GET") });
    events_of(&mut exchange, ANSWER).unwrap();
    assert_eq!(exchange.readiness(), Readiness::Ready);
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
                    let received = exchange.receive_with(part, &mut |tag, status, bytes| {
                        assert_eq!((tag, status), (3, 200));
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

/// What a peer may send: answers of all kinds, parts of them, line ends and other bytes.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        Just(ANSWER.to_vec()),
        Just(LAST_ANSWER.to_vec()),
        Just(TIMEOUTS[0].to_vec()),
        Just(b"\r\n".to_vec()),
        (0..ANSWER.len()).prop_map(|end| ANSWER[..end].to_vec()),
        prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop::collection::vec(part, 0..6).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn whatever_a_peer_sends_each_request_ends_at_most_once_and_every_byte_is_taken(
        count in 0_usize..5, bytes in stream(), pieces in prop::collection::vec(1_usize..40, 1..20),
    ) {
        let requests: Vec<(Tag, &str)> = (0..count).map(|tag| (tag, "GET")).collect();
        let mut exchange = with_requests(&requests);
        let (mut rest, mut pieces) = (bytes.as_slice(), pieces.into_iter().cycle());
        let (mut events, mut is_refused) = (Vec::new(), false);
        while !rest.is_empty() && !is_refused {
            let (mut piece, behind) = rest.split_at(rest.len().min(pieces.next().unwrap()));
            rest = behind;
            while !piece.is_empty() && !is_refused {
                match exchange.receive(piece) {
                    Ok(Received { consumed, event }) => {
                        prop_assert!(consumed > 0 || event.is_some(), "it never ends");
                        events.extend(event);
                        piece = &piece[consumed..];
                    }
                    Err(_) => is_refused = true,
                }
            }
            // A worker leaves a connection that is closed.
            if exchange.readiness() == Readiness::Closed {
                break;
            }
        }
        if !is_refused {
            events.extend(events_at_end(&mut exchange));
            prop_assert_eq!(exchange.readiness(), Readiness::Closed);
        }
        let mut ended: Vec<Tag> = ends_of(&events).into_iter().map(|(tag, _)| tag).collect();
        prop_assert!(ended.is_sorted(), "{:?}", events);
        ended.dedup();
        prop_assert_eq!(ended.len(), ends_of(&events).len());
    }

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

/// Reads a body in chunks (RFC 9112 §7.1), which must end with the bytes.
fn of_chunks(mut bytes: &[u8]) -> Vec<u8> {
    let mut body = vec![];
    loop {
        let line = bytes.iter().position(|byte| *byte == b'\r').unwrap();
        let size = usize::from_str_radix(std::str::from_utf8(&bytes[..line]).unwrap(), 16).unwrap();
        let data = &bytes[line + 2..];
        body.extend_from_slice(&data[..size]);
        assert_eq!(&data[size..size + 2], b"\r\n");
        bytes = &data[size + 2..];
        if size == 0 {
            assert!(bytes.is_empty());
            return body;
        }
    }
}

#[test]
fn a_body_that_follows_in_chunks_is_whole_however_little_is_written_at_once() {
    let body: Vec<u8> = (0..1000_u32).map(|number| number.to_le_bytes()[0]).collect();
    for room in [1, 26, 100, 5000] {
        let mut exchange = with_requests(&[]);
        let request = Request { body: Body::Following(1000), is_chunked: true, ..request("PUT") };
        begin_request(&mut exchange, &request);
        let (mut written, mut said) = (vec![], 0);
        let mut read = |part: BodyPart, to: &mut Vec<u8>| {
            let offset = usize::try_from(part.offset).unwrap();
            to.extend_from_slice(&body[offset..offset + part.bytes]);
            Ok::<_, ()>(())
        };
        while let Some(part) = exchange.write_body(room, &mut read, &mut written).unwrap() {
            assert!(part.bytes <= room.max(26), "{} bytes where there is room for {room}", part.bytes);
            said += part.bytes;
        }
        assert_eq!((of_chunks(&written), said), (body.clone(), written.len()));
    }
}

#[test]
fn a_stream_of_events_is_opened_again_with_the_last_id_behind_the_other_fields() {
    let request = Request { headers: &[("Accept", "text/event-stream")], ..request("POST") };
    for (target, body) in [(Target::Fixed("/path"), &b""[..]), (Target::Varying, b"body \r\n\r\n of lines")] {
        let request = Request { target, body: Body::Bytes(body), ..request };
        let template = Http1::template(&request).unwrap();
        let path = (target == Target::Varying).then_some(&b"/path"[..]);
        let written = |last_id: &[u8]| {
            let mut bytes = b"before".to_vec();
            Http1::new(1, &()).reopen(0, &template, path, last_id, &mut bytes);
            bytes
        };
        let mut plain = b"before".to_vec();
        Http1::new(1, &()).begin(0, &template, path, &mut plain);
        let (head, behind) = plain.split_at(plain.len() - 2 - body.len());
        assert_eq!(written(b"7 \xc3\xa9"), [head, b"Last-Event-ID: 7 \xc3\xa9\r\n", behind].concat());
        assert_eq!(written(b" \t7 "), [head, b"Last-Event-ID: 7\r\n", behind].concat());
        // Nothing is said of an event without an id.
        assert_eq!((written(b""), written(b" ")), (plain.clone(), plain.clone()));
    }
}
