//! Whatever a server answers calls of gRPC with, and however that is split: the exchange does not panic, the split changes
//! nothing, and every call ends at most once.
//!
//! The first bytes of the input are the lengths of the pieces, over and over; the others are what the server sends behind
//! its settings.

#![cfg_attr(fuzzing, no_main)]

use std::iter;

use loadcurve_fuzz::target;
use loadcurve_wire::{
    Body, Event, Exchange, Grpc, GrpcAnswer, GrpcCalls, GrpcSettings, Http2Settings, HttpExchange, Malformed,
    Method, Request, Target, Version,
};

use pieces::{PIECE_LENGTHS, pieces};

mod pieces;

const CALLS: usize = 3;
const SETTINGS: &[u8] = b"\0\0\0\x04\0\0\0\0\0";

target!(|input: &[u8]| {
    let Some((piece_lengths, bytes)) = input.split_first_chunk::<PIECE_LENGTHS>() else { return };
    for answer in [GrpcAnswer::One, GrpcAnswer::Stream, GrpcAnswer::Each] {
        let whole = read(iter::once(bytes), answer);
        assert_eq!(read(pieces(bytes, *piece_lengths), answer), whole);
        assert_eq!(read(bytes.chunks(1), answer), whole);
    }
});

/// How calls end, each with what the server says of it, and why the connection is of no more use.
type Ends = (Vec<(Event, Option<String>)>, Option<Malformed>);

fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, answer: GrpcAnswer) -> Ends {
    let http2 = Http2Settings { header_bytes: 300, ..Http2Settings::default() };
    let settings = GrpcSettings { http2, calls: GrpcCalls { answer, takes_compressed: false } };
    let mut exchange = Grpc::new(CALLS, &settings);
    exchange.open();
    exchange.receive(SETTINGS).expect("settings are sound");
    let call = Request {
        version: Version::Http11,
        method: Method::POST,
        target: Target::Fixed("/a.B/C"),
        authority: "localhost",
        headers: &[],
        body: Body::Bytes(b"\0\0\0\0\x03abc"),
        is_chunked: false,
    };
    let template = Grpc::template(&call).expect("it is sound");
    for tag in 0..CALLS {
        exchange.begin(tag, &template, None, &mut Vec::new());
    }
    let (mut ends, mut open) = (Vec::new(), [true; CALLS]);
    for mut piece in pieces {
        while !piece.is_empty() || exchange.has_input() {
            let received = match exchange.receive(piece) {
                Ok(received) => received,
                Err(error) => return (ends, Some(error)),
            };
            piece = &piece[received.consumed..];
            let Some(event) = received.event else { continue };
            if matches!(event, Event::Begun(_)) {
                continue;
            }
            assert!(std::mem::take(&mut open[event.tag()]), "a call ends once");
            let said = exchange.said().map(std::borrow::Cow::into_owned);
            ends.push((event, said.filter(|_| matches!(event, Event::Answered(..)))));
        }
    }
    (ends, None)
}
