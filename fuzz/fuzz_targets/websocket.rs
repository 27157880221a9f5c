//! Whatever a server of WebSocket sends, and however it is split: the exchange does not panic, the split changes nothing,
//! every message ends at most once, and no more is kept or sent than what was received accounts for.
//!
//! The first bytes of the input are the lengths of the pieces, over and over; the others are what the server sends: once in
//! place of its answer to the upgrade, and once behind it; and once more where it has agreed to compress messages.

#![cfg_attr(fuzzing, no_main)]

use std::iter;

use loadcurve_fuzz::target;
use loadcurve_wire::websocket::accept_of;
use loadcurve_wire::{
    Body, Event, Exchange, Handshake, HttpExchange, Malformed, MessageKind, Method, PermessageDeflate,
    Readiness, Request, Target, Version, WebSocket, WebSocketSettings,
};

use pieces::{PIECE_LENGTHS, pieces};

mod pieces;

const MESSAGES: usize = 5;

/// Everything that one connection brings.
#[derive(Debug, PartialEq)]
struct Connection {
    ends: Vec<Event>,
    malformed: Option<Malformed>,
    output: Vec<u8>,
    readiness: Readiness,
    /// Why it is over, where that is known.
    said: Option<String>,
}

target!(|input: &[u8]| {
    let Some((piece_lengths, bytes)) = input.split_first_chunk::<PIECE_LENGTHS>() else { return };
    for (is_upgraded, offers) in [(true, false), (true, true), (false, false), (false, true)] {
        let whole = read(iter::once(bytes), is_upgraded, offers);
        assert_eq!(read(pieces(bytes, *piece_lengths), is_upgraded, offers), whole);
        assert_eq!(read(bytes.chunks(1), is_upgraded, offers), whole);
        // A pong has four bytes more than its ping, for the mask; a close has a code.
        assert!(whole.output.len() <= 3 * bytes.len() + 8);
    }
});

fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, is_upgraded: bool, offers: bool) -> Connection {
    let request = Request {
        version: Version::Http11,
        method: Method::GET,
        target: Target::Fixed("/"),
        authority: "localhost",
        headers: &[],
        body: Body::Bytes(b"hello"),
        is_chunked: false,
    };
    let settings = WebSocketSettings::new(handshake(&request, offers), MessageKind::Text, 1);
    let mut exchange: WebSocket = WebSocket::new(MESSAGES, &settings);
    exchange.open();
    let mut output = Vec::new();
    exchange.write_output(&mut output);
    let mut open = [false; MESSAGES];
    if is_upgraded {
        upgrade(&mut exchange, &String::from_utf8_lossy(&output), offers);
        let template = <WebSocket>::template(&request).expect("the request is sound");
        for (tag, is_open) in open.iter_mut().enumerate() {
            exchange.begin(tag, &template, None, &mut output);
            *is_open = true;
        }
    }
    output.clear();
    let (mut ends, mut malformed) = (Vec::new(), None);
    'pieces: for mut piece in pieces {
        while !piece.is_empty() || exchange.has_input() {
            match exchange.receive(piece) {
                Ok(received) => {
                    assert!(received.event.is_some() || received.consumed == piece.len());
                    match received.event {
                        None => {}
                        Some(Event::Begun(tag)) => assert!(open[tag]),
                        Some(event) => {
                            assert!(std::mem::take(&mut open[event.tag()]), "a message ends once");
                            ends.push(event);
                        }
                    }
                    piece = &piece[received.consumed..];
                }
                Err(error) => {
                    malformed = Some(error);
                    assert!(!error.to_string().is_empty());
                    assert_eq!(exchange.readiness(), Readiness::Closed);
                    break 'pieces;
                }
            }
        }
    }
    let readiness = exchange.readiness();
    if malformed.is_none() {
        assert_eq!(exchange.end_of_input(), None);
    }
    exchange.write_output(&mut output);
    assert!(!exchange.has_output());
    let said = exchange.complaint().map(|said| format!("{said}: {:?}", exchange.example()));
    Connection { ends, malformed, output, readiness, said }
}

fn handshake(request: &Request<'_>, offers: bool) -> Handshake {
    let plain = Handshake::new(request).expect("the request is sound");
    if offers { plain.offering(PermessageDeflate::default()) } else { plain }
}

/// Has the request for the upgrade answered.
fn upgrade(exchange: &mut WebSocket, request: &str, offers: bool) {
    let key = request.split("\r\n").find_map(|line| line.strip_prefix("Sec-WebSocket-Key: "));
    let accept = accept_of(key.expect("there is a key").as_bytes());
    let extension = if offers { "Sec-WebSocket-Extensions: permessage-deflate\r\n" } else { "" };
    let answer = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {accept}\r\n{extension}\r\n"
    );
    let received = exchange.receive(answer.as_bytes()).expect("it is sound");
    assert_eq!((received.consumed, received.event), (answer.len(), None));
}
