//! Messages of the client as they are written, and whose answers those of the server are.

use loadcurve_wire::{
    Body, BodyPart, Event, Exchange as _, HttpExchange as _, MessageKind, Readiness, Request, Response,
    WebSocket,
};

use crate::support::{
    BINARY, CONTINUATION, FIN, PING, PONG, TEXT, answered, begin, ends, events_of, frame, frames_of, opened,
    output, request, settings, upgrade, with_messages,
};

#[test]
fn a_message_is_one_masked_frame_of_its_kind_whatever_its_length() {
    for (kind, opcode) in [(MessageKind::Text, TEXT), (MessageKind::Binary, BINARY)] {
        let (mut exchange, head) = opened(8, &settings(&[], kind));
        events_of(&mut exchange, upgrade(&head, "").as_bytes()).unwrap();
        for (tag, length) in [0, 1, 125, 126, 65_535, 65_536].into_iter().enumerate() {
            let body: Vec<u8> = (b'a'..=b'z').cycle().take(length).collect();
            let written = begin(&mut exchange, tag, &body);
            assert_eq!(frames_of(&written), [(FIN | opcode, body)]);
            let header_bytes = if length < 126 {
                2
            } else if length < 65_536 {
                4
            } else {
                10
            };
            assert_eq!(written.len(), header_bytes + 4 + length);
        }
    }
}

#[test]
fn each_frame_has_another_mask() {
    let mut exchange = with_messages(0);
    let masks: Vec<Vec<u8>> = (0..20).map(|tag| begin(&mut exchange, tag, b"hello")[2..6].to_vec()).collect();
    let mut different = masks.clone();
    different.sort();
    different.dedup();
    assert_eq!(different.len(), masks.len(), "{masks:?}");
}

#[test]
fn the_next_message_of_the_server_answers_the_oldest_of_the_client() {
    let mut exchange = with_messages(0);
    for tag in [2, 0, 1] {
        begin(&mut exchange, tag, b"hello");
    }
    let bytes = [frame(FIN | TEXT, b"a"), frame(FIN | BINARY, &[0; 300]), frame(FIN | TEXT, b"")].concat();
    let expected = [(2, 1, 2), (0, 300, 4), (1, 0, 2)].map(|(tag, body_bytes, framing_bytes)| {
        let response = Response {
            status: 200,
            header_bytes: 0,
            body_bytes,
            framing_bytes,
            inflated_bytes: None,
            keep_alive: true,
            grpc_status: None,
        };
        Event::Answered(tag, response)
    });
    assert_eq!(events_of(&mut exchange, &bytes).unwrap(), expected);
    assert_eq!(exchange.readiness(), Readiness::Ready);
}

#[test]
fn fragments_are_counted_together_with_pings_between_them_and_their_parts_are_handed_on() {
    let mut exchange = with_messages(2);
    let bytes = [
        frame(TEXT, "aä".as_bytes().split_at(2).0),
        frame(FIN | PING, b"are you there"),
        frame(CONTINUATION, b""),
        frame(FIN | PONG, b"unasked"),
        frame(FIN | CONTINUATION, "aä".as_bytes().split_at(2).1),
        frame(FIN | BINARY, b"\xff"),
    ]
    .concat();
    let mut bodies = vec![Vec::new(); 2];
    let (mut rest, mut events) = (&bytes[..], Vec::new());
    while !rest.is_empty() {
        let take = &mut |tag: usize, status, part: &[u8]| {
            assert_eq!(status, 200);
            bodies[tag].extend_from_slice(part);
        };
        let received = exchange.receive_with(rest, take).unwrap();
        events.extend(received.event);
        rest = &rest[received.consumed..];
    }
    assert_eq!(answered(&events), [(0, 3), (1, 1)]);
    assert_eq!(bodies, ["aä".as_bytes(), b"\xff"]);
    let counted = events.iter().map(|event| match event {
        Event::Answered(_, response) => response.framing_bytes + response.body_bytes,
        other => panic!("{other:?}"),
    });
    assert_eq!(counted.sum::<u64>(), bytes.len() as u64, "every byte is counted once");
    assert_eq!(output(&mut exchange), [(FIN | PONG, b"are you there".to_vec())]);
}

#[test]
fn an_answer_begins_once_with_its_first_byte() {
    let mut exchange = with_messages(1);
    let bytes = frame(FIN | TEXT, b"abc");
    assert_eq!(events_of(&mut exchange, &bytes[..1]), Ok(vec![]));
    assert_eq!(events_of(&mut exchange, &bytes[1..2]), Ok(vec![Event::Begun(0)]));
    assert_eq!(events_of(&mut exchange, &bytes[2..4]), Ok(vec![]));
    assert_eq!(answered(&events_of(&mut exchange, &bytes[4..]).unwrap()), [(0, 3)]);
}

/// Writes the message under way in parts of this length at most, of which `body` has the bytes.
fn write_all(exchange: &mut WebSocket, body: &[u8], most_bytes: usize, to: &mut Vec<u8>) {
    let mut read = |part: BodyPart, to: &mut Vec<u8>| -> Result<(), ()> {
        let begin = usize::try_from(part.offset).unwrap();
        to.extend_from_slice(&body[begin..begin + part.bytes]);
        Ok(())
    };
    while exchange.can_write_body() {
        let written = exchange.write_body(most_bytes, &mut read, to).unwrap().unwrap();
        assert!(written.bytes <= most_bytes);
    }
}

#[test]
fn a_message_that_is_read_while_it_is_written_is_one_frame_and_a_pong_waits_for_its_end() {
    let body: Vec<u8> = (0..251).cycle().take(100_000).collect();
    let mut exchange = with_messages(0);
    let following = Request { body: Body::Following(body.len() as u64), ..request(&[], b"") };
    let mut written = Vec::new();
    exchange.begin(0, &<WebSocket>::template(&following).unwrap(), None, &mut written);
    assert!(exchange.holds_requests_back() && exchange.is_writing_body(0));
    events_of(&mut exchange, &frame(FIN | PING, b"!")).unwrap();
    assert!(!exchange.has_output(), "there is no place for it");
    write_all(&mut exchange, &body, 777, &mut written);
    assert!(!exchange.holds_requests_back() && !exchange.has_output());
    assert_eq!(frames_of(&written), [(FIN | TEXT, body), (FIN | PONG, b"!".to_vec())]);
    let events = ends(events_of(&mut exchange, &frame(FIN | TEXT, b"done")).unwrap());
    assert_eq!(answered(&events), [(0, 4)]);
}
