//! Whatever a server of HTTP/2 answers requests for WebSockets and messages with, and however that is split: the exchange does
//! not panic, the split changes nothing, and every message ends at most once.
//!
//! The first bytes of the input are the lengths of the pieces, over and over; the others are what the server sends: once behind
//! its settings, and once when it has opened all WebSockets and each carries a message.

#![cfg_attr(fuzzing, no_main)]

use std::iter;

use loadcurve_fuzz::target;
use loadcurve_wire::{
    Body, Event, Exchange, Http2Error, Http2Settings, HttpExchange, Malformed, MessageKind, Method,
    PermessageDeflate, Readiness, Refusal, Request, Target, Version, WebSocketHttp2, WebSocketHttp2Settings,
};

use pieces::{PIECE_LENGTHS, pieces};

mod pieces;

const WEBSOCKETS: usize = 3;
/// A frame of SETTINGS with `SETTINGS_ENABLE_CONNECT_PROTOCOL` = 1.
const SETTINGS: &[u8] = b"\0\0\x06\x04\0\0\0\0\0\0\x08\0\0\0\x01";
/// Frames of HEADERS with status 200 of the static table, the last of which agrees to compress messages.
const OPENED: &[u8] = b"\0\0\x01\x01\x04\0\0\0\x01\x88\0\0\x01\x01\x04\0\0\0\x03\x88\
    \0\0\x2e\x01\x04\0\0\0\x05\x88\0\x18sec-websocket-extensions\x12permessage-deflate";

target!(|input: &[u8]| {
    let Some((piece_lengths, bytes)) = input.split_first_chunk::<PIECE_LENGTHS>() else { return };
    for is_opened in [true, false] {
        let whole = read(iter::once(bytes), is_opened);
        require_alike(read(pieces(bytes, *piece_lengths), is_opened), whole.clone());
        require_alike(read(bytes.chunks(1), is_opened), whole.clone());
    }
});

/// How messages end, and why the connection is of no more use.
type Ends = (Vec<Event>, Option<Malformed>);

/// A WebSocket that breaks the protocol is reset at once. What else its frame has shows behind that, and so depends on the split:
/// whether it ends the stream, behind which no frame may come, and how many bytes come that belong to nobody.
fn require_alike(mut split: Ends, mut whole: Ends) {
    let both = split.0.len().min(whole.0.len());
    let is_reset = |ends: &Ends| ends.0.iter().any(is_broken);
    let is_behind_the_end =
        |ends: &Ends| matches!(ends.1, Some(Malformed::Http2(Http2Error::StreamClosed { .. })));
    if is_reset(&split) && is_reset(&whole) {
        for ends in [&mut split, &mut whole] {
            without_strays(&mut ends.0);
        }
        if is_behind_the_end(&split) || is_behind_the_end(&whole) {
            assert_eq!(split.0[..both], whole.0[..both]);
            return;
        }
    }
    assert_eq!(split, whole);
}

fn is_broken(end: &Event) -> bool {
    matches!(end, Event::Refused(_, Refusal::Malformed(_)))
}

/// Takes from answers behind a reset what has come around them.
fn without_strays(ends: &mut [Event]) {
    let first = ends.iter().position(is_broken).unwrap_or(ends.len());
    for end in &mut ends[first..] {
        if let Event::Answered(_, response) = end {
            response.framing_bytes = 0;
        }
    }
}

fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, is_opened: bool) -> Ends {
    let request = Request {
        version: Version::Http11,
        method: Method::GET,
        target: Target::Fixed("/"),
        authority: "localhost",
        headers: &[],
        body: Body::Bytes(b"hello"),
        is_chunked: false,
    };
    let http2 = Http2Settings { header_bytes: 300, ..Http2Settings::default() };
    let offer = PermessageDeflate::offer("permessage-deflate").ok();
    let settings = WebSocketHttp2Settings::new(&request, offer, MessageKind::Text, 1, http2);
    let mut exchange = WebSocketHttp2::new(WEBSOCKETS, &settings.expect("the request is sound"));
    exchange.open();
    exchange.receive(SETTINGS).expect("settings are sound");
    exchange.write_output(&mut Vec::new());
    let mut open = [false; WEBSOCKETS];
    if is_opened {
        exchange.receive(OPENED).expect("answers are sound");
        assert_eq!(exchange.readiness(), Readiness::Ready);
        let template = WebSocketHttp2::template(&request).expect("the request is sound");
        for (tag, is_open) in open.iter_mut().enumerate() {
            exchange.begin(tag, &template, None, &mut Vec::new());
            *is_open = true;
        }
    }
    let mut ends = Vec::new();
    for mut piece in pieces {
        while !piece.is_empty() || exchange.has_input() {
            let received = match exchange.receive(piece) {
                Ok(received) => received,
                Err(error) => return (ends, Some(error)),
            };
            piece = &piece[received.consumed..];
            match received.event {
                None => {}
                Some(Event::Begun(tag)) => assert!(open[tag], "what begins is under way"),
                Some(event) => {
                    assert!(std::mem::take(&mut open[event.tag()]), "a message ends once");
                    ends.push(event);
                }
            }
        }
    }
    exchange.end_of_input();
    (ends, None)
}
