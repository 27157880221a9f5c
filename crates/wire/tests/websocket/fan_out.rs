//! A fan-out: what one client publishes comes to others, who have sent nothing.

use loadcurve_wire::websocket::mask;
use loadcurve_wire::{
    Body, Event, Exchange as _, FanOutWebSocket, HttpExchange as _, MARKER_BYTES, Marker, MarkerReader,
    MessageKind, Readiness, Refusal, Request,
};
use proptest::prelude::*;

use crate::support::{CLOSE, CONTINUATION, FIN, PING, TEXT, frame, request, settings, upgrade};

/// A connection whose handshake is over.
fn opened() -> FanOutWebSocket {
    let mut exchange = FanOutWebSocket::new(1, &settings(&[], MessageKind::Text));
    exchange.open();
    let mut head = Vec::new();
    exchange.write_output(&mut head);
    let answer = upgrade(&String::from_utf8(head).unwrap(), "");
    let received = exchange.receive(answer.as_bytes()).unwrap();
    assert_eq!((received.consumed, exchange.readiness()), (answer.len(), Readiness::Ready));
    exchange
}

/// The body of the frame that is written for a message with this body and marker.
fn written(body: Body<'_>, marker: &[u8]) -> Vec<u8> {
    let mut exchange = opened();
    let template = FanOutWebSocket::template(&Request { body, ..request(&[], b"") }).unwrap();
    let mut to = Vec::new();
    exchange.begin(0, &template, Some(marker), &mut to);
    while exchange.can_write_body() {
        let mut read = |part: loadcurve_wire::BodyPart, to: &mut Vec<u8>| {
            to.extend((part.offset..part.offset + part.bytes as u64).filter_map(|at| u8::try_from(at).ok()));
            Ok::<(), ()>(())
        };
        exchange.write_body(7, &mut read, &mut to).unwrap();
    }
    let length = usize::from(to[1] & 0x7f);
    let (key, mut rest) = (to[2..6].try_into().unwrap(), to[6..].to_vec());
    assert_eq!(rest.len(), length);
    mask(&mut rest, key, 0);
    rest
}

/// The markers of the messages that these bytes bring, and how the connection is closed.
fn received(exchange: &mut FanOutWebSocket, parts: &[&[u8]]) -> (Vec<Option<Marker>>, Option<u16>) {
    let (mut reader, mut markers, mut closed) = (MarkerReader::default(), Vec::new(), None);
    for part in parts {
        let mut rest = *part;
        loop {
            let received = exchange.receive_with(rest, &mut |_, _, part| reader.read(part)).unwrap();
            rest = &rest[received.consumed..];
            match received.event {
                Some(Event::Answered(0, _)) => markers.push(reader.take()),
                Some(Event::Refused(0, Refusal::Closed(code))) => closed = Some(code),
                Some(other) => panic!("{other:?}"),
                None if rest.is_empty() => break,
                None => {}
            }
        }
    }
    (markers, closed)
}

#[test]
fn the_marker_is_where_the_body_has_a_place_for_it_and_else_in_front() {
    assert_eq!(written(Body::Bytes(b"{\"text\": \"{marker}!\"}"), b"MARK"), b"{\"text\": \"MARK!\"}");
    assert_eq!(written(Body::Bytes(b"hello"), b"MARK"), b"MARK hello");
    assert_eq!(written(Body::Bytes(b""), b"MARK"), b"MARK");
    // What is read while it is sent is masked as what it follows.
    assert_eq!(
        written(Body::Following(20), b"MARK"),
        [&b"MARK "[..], &(0..20).collect::<Vec<u8>>()].concat()
    );
}

#[test]
fn messages_come_that_nobody_has_asked_for_and_pings_between_them_are_answered() {
    let mut exchange = opened();
    let marker = Marker { run: 1, number: 2, due_ns: 3 };
    let bytes =
        [frame(FIN | TEXT, &marker.write()), frame(FIN | PING, b"p"), frame(FIN | TEXT, b"hello")].concat();
    assert_eq!(received(&mut exchange, &[&bytes]), (vec![Some(marker), None], None));
    assert!(exchange.has_output());
}

#[test]
fn a_close_is_reported_with_its_code_although_nothing_is_under_way() {
    let mut exchange = opened();
    let bytes = frame(FIN | CLOSE, &1013_u16.to_be_bytes());
    assert_eq!(received(&mut exchange, &[&bytes]), (vec![], Some(1013)));
    assert_eq!(exchange.readiness(), Readiness::Closed);
}

proptest! {
    #[test]
    fn markers_are_read_whatever_the_fragments_and_the_splits(
        run in any::<u32>(),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..6),
        fragment in 1..=MARKER_BYTES,
    ) {
        let markers = [0, 1, 2].map(|number| Marker { run, number, due_ns: number * 1_000 });
        let mut bytes = Vec::new();
        for marker in &markers {
            let text = marker.write();
            bytes.extend(frame(TEXT, &text[..fragment]));
            bytes.extend(frame(FIN | CONTINUATION, &text[fragment..]));
        }
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        places.extend([0, bytes.len()]);
        places.sort_unstable();
        let parts: Vec<&[u8]> = places.windows(2).map(|two| &bytes[two[0]..two[1]]).collect();
        prop_assert_eq!(received(&mut opened(), &parts), (markers.map(Some).to_vec(), None));
    }
}
