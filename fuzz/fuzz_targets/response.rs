//! Whatever bytes a server sends, and however they are split: the parser does not panic, the split changes nothing,
//! and every byte of every response is counted.
//!
//! The first bytes of the input are the lengths of the pieces, over and over; the others are what the server sends.

#![cfg_attr(fuzzing, no_main)]

use std::iter;

use loadcurve_fuzz::target;
use loadcurve_wire::{ClosedEarly, Limits, Malformed, RequestKind, Response, ResponseParser};

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
