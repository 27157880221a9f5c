//! In the steady state a request of HTTP/2 costs no allocation.

use loadcurve_wire::{
    Body, Event, Exchange as _, Hpack, Http2, Http2Settings, HttpExchange as _, Method, Received, Request,
    Target, Version,
};

#[path = "support/allocations.rs"]
mod counting;

const STREAMS: usize = 100;
const DATE: &str = "Mon, 21 Oct 2013 20:13:21 GMT";

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8], to: &mut Vec<u8>) {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    for part in [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload] {
        to.extend_from_slice(part);
    }
}

/// The answers to as many requests as there are streams, whose first is stream `id`: some fields go into the table, a
/// date that differs from turn to turn among them.
fn answers(turn: u32, id: u32, to: &mut Vec<u8>) {
    to.clear();
    let streams = u32::try_from(STREAMS).unwrap();
    for number in 0..streams {
        let mut block = vec![0x88, 0x5c, 1, b'5'];
        if number == 0 {
            // Literals with indexing of date (33) and server (54).
            block.extend([0x61, 29]);
            block.extend(DATE.bytes());
            block.extend([0x76, 4]);
            block.extend(turn.to_be_bytes().map(|byte| b'a' + byte % 16));
        }
        let stream = id + 2 * number;
        frame(1, 4, stream, &block, to);
        frame(0, 1, stream, b"hello", to);
    }
}

#[test]
fn a_thousand_turns_of_a_hundred_streams_allocate_nothing() {
    let body = b"body";
    let request = |target, body| Request {
        version: Version::Http11,
        method: Method::new("POST").unwrap(),
        target,
        authority: "localhost",
        headers: &[("accept", "*/*")],
        body: Body::Bytes(body),
        is_chunked: false,
    };
    for hpack in [Hpack::Indexed, Hpack::Literal] {
        let settings = Http2Settings { hpack, ..Http2Settings::default() };
        let templates = [
            Http2::template(&request(Target::Fixed("/a"), b"")).unwrap(),
            Http2::template(&request(Target::Varying, body)).unwrap(),
        ];
        let mut exchange = Http2::new(STREAMS, &settings);
        exchange.open();
        let mut sent = Vec::new();
        exchange.write_output(&mut sent);
        let mut bytes = Vec::new();
        frame(4, 0, 0, &[], &mut bytes);
        exchange.receive(&bytes).unwrap();
        let mut id = 1;
        for turn in 0..1_000 {
            answers(turn, id, &mut bytes);
            // How the test makes the answers does not count.
            let before = counting::allocations();
            sent.clear();
            exchange.write_output(&mut sent);
            for tag in 0..STREAMS {
                exchange.begin(tag, &templates[tag % 2], Some(b"/some/path"), &mut sent);
            }
            id += 2 * u32::try_from(STREAMS).unwrap();
            let mut answered = 0;
            // The bytes come in pieces, so that frames have to be kept.
            for piece in bytes.chunks(1_000) {
                let mut rest = piece;
                while !rest.is_empty() {
                    let Received { consumed, event } = exchange.receive(rest).unwrap();
                    answered += usize::from(matches!(event, Some(Event::Answered(..))));
                    rest = &rest[consumed..];
                }
            }
            assert_eq!(answered, STREAMS);
            // Buffers grow to the most that they ever hold.
            if turn >= 400 {
                assert_eq!(counting::allocations(), before, "in turn {turn}");
            }
        }
    }
}
