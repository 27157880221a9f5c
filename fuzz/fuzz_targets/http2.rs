//! Whatever frames a server sends, and however they are split: the exchange does not panic, the split changes nothing,
//! every request ends at most once, and no more is kept or sent than what was received accounts for.
//!
//! The first bytes of the input are the lengths of the pieces, over and over; the others are what the server sends behind
//! its settings.

#![cfg_attr(fuzzing, no_main)]

use std::iter;

use loadcurve_fuzz::target;
use loadcurve_wire::{
    Body, Event, Exchange, Http2, Http2Settings, HttpExchange, Malformed, Method, Readiness, Request, Tag,
    Target, Version,
};

use pieces::{PIECE_LENGTHS, pieces};

mod pieces;

const REQUESTS: usize = 5;
const SETTINGS: &[u8] = b"\0\0\0\x04\0\0\0\0\0";

/// Everything that one connection brings.
#[derive(Debug, PartialEq)]
struct Connection {
    ends: Vec<Event>,
    malformed: Option<Malformed>,
    /// Of a connection that is not malformed.
    output: Vec<u8>,
    readiness: Readiness,
}

target!(|input: &[u8]| {
    let Some((piece_lengths, bytes)) = input.split_first_chunk::<PIECE_LENGTHS>() else { return };
    let whole = read(iter::once(bytes));
    assert_eq!(read(pieces(bytes, *piece_lengths)), whole);
    assert_eq!(read(bytes.chunks(1)), whole);
    // Acknowledgements are as long as what they answer, and a window or a stream costs 13 bytes; bodies are 100 bytes.
    assert!(whole.output.len() <= 4 * bytes.len() + REQUESTS * 200);
});

fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Connection {
    let settings = Http2Settings { stream_window_bytes: 200, header_bytes: 300, ..Http2Settings::default() };
    let mut exchange = Http2::new(REQUESTS, &settings);
    exchange.open();
    exchange.receive(SETTINGS).expect("settings are sound");
    let mut output = Vec::new();
    for tag in 0..REQUESTS {
        let method = Method::new(["GET", "HEAD", "POST"][tag % 3]).expect("it is a token");
        let request = Request {
            version: Version::Http11,
            method,
            target: Target::Fixed("/"),
            authority: "localhost",
            headers: &[],
            body: Body::Bytes(if tag == 2 { &[0; 100] } else { &[] }),
            is_chunked: false,
        };
        exchange.begin(tag, &Http2::template(&request).expect("it is sound"), None, &mut output);
    }
    exchange.write_output(&mut output);
    write_bodies(&mut exchange, &mut output);
    output.clear();
    let (mut ends, mut open) = (Vec::new(), [true; REQUESTS]);
    let mut malformed = None;
    'pieces: for mut piece in pieces {
        while !piece.is_empty() {
            match exchange.receive(piece) {
                Ok(received) => {
                    assert!(received.event.is_some() || received.consumed == piece.len());
                    if let Some(event) = received.event {
                        take(event, &mut open, &mut ends);
                    }
                    piece = &piece[received.consumed..];
                }
                Err(error) => {
                    malformed = Some(error);
                    assert!(!error.to_string().is_empty());
                    break 'pieces;
                }
            }
        }
    }
    if malformed.is_none() {
        exchange.write_output(&mut output);
        write_bodies(&mut exchange, &mut output);
        assert!(!exchange.has_output());
    }
    let readiness = if malformed.is_none() { exchange.readiness() } else { Readiness::Closed };
    Connection { ends, malformed, output, readiness }
}

/// Writes what the windows allow of bodies, which their templates keep.
fn write_bodies(exchange: &mut Http2, output: &mut Vec<u8>) {
    while exchange.can_write_body() {
        let written = exchange.write_body(usize::MAX, &mut |_, _: &mut Vec<u8>| Err(()), output);
        assert!(matches!(written, Ok(Some(_))));
    }
}

fn take(event: Event, open: &mut [bool; REQUESTS], ends: &mut Vec<Event>) {
    let tag: Tag = match event {
        Event::Begun(tag) => {
            assert!(open[tag]);
            return;
        }
        Event::Answered(tag, _) | Event::Refused(tag, _) | Event::Moved(tag) | Event::Dropped(tag) => tag,
    };
    assert!(std::mem::take(&mut open[tag]), "a request ends once");
    ends.push(event);
}
