//! Whatever bytes a server sends, and however they are split: the parser does not panic, the split changes nothing,
//! and every byte of every response is counted. The same of the exchange around it, whose requests end once each.
//!
//! The first bytes of the input are the lengths of the pieces, over and over; the others are what the server sends.

#![cfg_attr(fuzzing, no_main)]

use std::iter;

use loadcurve_fuzz::target;
use loadcurve_wire::{
    Body, ClosedEarly, Event, Exchange as _, Http1, HttpExchange as _, Limits, Malformed, Method, Readiness,
    Received, Request, RequestKind, Response, ResponseParser, Target, Version,
};

use pieces::{PIECE_LENGTHS, pieces};

mod pieces;

/// A limit that short inputs reach, and the default.
const LIMITS: [Limits; 2] = [Limits { header_bytes: 64 }, Limits { header_bytes: 64 * 1024 }];

/// Everything that one connection brings.
#[derive(Debug, PartialEq)]
struct Connection {
    responses: Vec<Response>,
    end: End,
}

#[derive(Debug, PartialEq)]
enum End {
    Malformed(Malformed),
    ClosedEarly(ClosedEarly),
    /// The server closed between two responses, or closing was the end of the last one.
    Closed,
}

target!(|input: &[u8]| {
    let Some((piece_lengths, bytes)) = input.split_first_chunk::<PIECE_LENGTHS>() else { return };
    for requests in [0, 1, 3] {
        converse(pieces(bytes, *piece_lengths), requests);
    }
    for limits in LIMITS {
        for request in [RequestKind::Other, RequestKind::Head] {
            let whole = read(iter::once(bytes), request, limits);
            assert_eq!(read(pieces(bytes, *piece_lengths), request, limits), whole);
            assert_eq!(read(bytes.chunks(1), request, limits), whole);
            if whole.end == End::Closed {
                assert_eq!(whole.responses.iter().map(length).sum::<u64>(), bytes.len() as u64);
            }
        }
    }
});

/// Hands the bytes to an exchange with this many requests under way, until a worker would leave its connection.
fn converse<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, requests: usize) {
    let mut exchange = Http1::new(requests, &());
    exchange.open();
    let request = Request {
        version: Version::Http11,
        method: Method::GET,
        target: Target::Fixed("/"),
        authority: "localhost",
        headers: &[],
        body: Body::Bytes(b""),
        is_chunked: false,
    };
    let template = Http1::template(&request).expect("the request is sound");
    for tag in 0..requests {
        exchange.begin(tag, &template, None, &mut Vec::new());
    }
    let mut ended = 0;
    let mut note = |event: Option<Event>| {
        if let Some(Event::Answered(tag, _) | Event::Moved(tag) | Event::Dropped(tag)) = event {
            assert!(tag < requests, "a request that was not made has ended");
            ended += 1;
        }
    };
    for mut piece in pieces {
        while !piece.is_empty() {
            let Ok(Received { consumed, event }) = exchange.receive(piece) else { return };
            assert!(consumed > 0 || event.is_some());
            note(event);
            piece = &piece[consumed..];
        }
        if exchange.readiness() == Readiness::Closed {
            break;
        }
    }
    while let Some(event) = exchange.end_of_input() {
        note(Some(event));
    }
    assert!(ended <= requests);
}

fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, request: RequestKind, limits: Limits) -> Connection {
    let mut parser = ResponseParser::new(limits);
    let mut responses = Vec::new();
    for mut piece in pieces {
        while !piece.is_empty() {
            match parser.feed(piece, request) {
                Ok(progress) => {
                    assert_eq!(progress.response.is_some(), parser.is_idle());
                    assert!(progress.response.is_some() || progress.consumed == piece.len());
                    responses.extend(progress.response);
                    piece = &piece[progress.consumed..];
                }
                Err(malformed) => {
                    parser.reset();
                    assert!(parser.is_idle());
                    return Connection { responses, end: End::Malformed(malformed) };
                }
            }
        }
    }
    let end = match parser.end_of_input() {
        Ok(last) => {
            responses.extend(last);
            End::Closed
        }
        Err(closed) => End::ClosedEarly(closed),
    };
    assert!(parser.is_idle());
    Connection { responses, end }
}

fn length(response: &Response) -> u64 {
    response.header_bytes + response.body_bytes + response.framing_bytes
}
