//! WebSockets on streams (RFC 8441): how they are opened, whose answers messages are, and how each of them ends.

use loadcurve_wire::{
    BodyPart, Event, Exchange as _, Http2Settings, HttpExchange as _, InvalidRequest, Malformed, MessageKind,
    PermessageDeflate, Readiness, Received, Tag, WebSocketHttp2, WebSocketHttp2Settings, WebSocketTemplate,
};

use crate::support::{HEADERS, SentFrame, frames_of, headers, request, settings};

mod choices;
mod ends;
mod messages;
mod opening;

/// Setting 8 is `SETTINGS_ENABLE_CONNECT_PROTOCOL`, 3 how many streams at once, 4 the window of each.
const TAKES: (u16, u32) = (8, 1);
const STREAMS: u16 = 3;
const WINDOW: u16 = 4;

const FIN: u8 = 0x80;
const CONTINUATION: u8 = 0;
const TEXT: u8 = 1;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

fn settings_of_client(fields: &[(&str, &str)]) -> Result<WebSocketHttp2Settings, InvalidRequest> {
    offering(None, fields)
}

/// The same with an offer to compress messages.
fn offering(
    offer: Option<PermessageDeflate>,
    fields: &[(&str, &str)],
) -> Result<WebSocketHttp2Settings, InvalidRequest> {
    let http2 = Http2Settings::default();
    WebSocketHttp2Settings::new(&request("GET", fields, b""), offer, MessageKind::Text, 7, http2)
}

/// A connection to a server with these settings, and what it sends when it has read them.
fn connection(most: usize, of_server: &[(u16, u32)]) -> (WebSocketHttp2, Vec<SentFrame>) {
    asked(most, of_server, &settings_of_client(&[]).unwrap())
}

/// The same as these settings have it.
fn asked(
    most: usize,
    of_server: &[(u16, u32)],
    of_client: &WebSocketHttp2Settings,
) -> (WebSocketHttp2, Vec<SentFrame>) {
    let mut exchange = WebSocketHttp2::new(most, of_client);
    exchange.open();
    exchange.write_output(&mut Vec::new());
    assert_eq!(exchange.readiness(), Readiness::Handshaking);
    exchange.receive(&settings(of_server)).unwrap();
    let sent = output(&mut exchange);
    (exchange, sent)
}

/// The same with all its WebSockets open.
fn opened(most: usize) -> WebSocketHttp2 {
    let (mut exchange, sent) = connection(most, &[TAKES]);
    for (_, _, stream, _) in sent.iter().filter(|frame| frame.0 == HEADERS) {
        exchange.receive(&head(*stream)).unwrap();
    }
    assert_eq!(exchange.readiness(), Readiness::Ready);
    exchange
}

/// The head that opens a WebSocket.
fn head(stream: u32) -> Vec<u8> {
    headers(0, stream, &[(":status", "200")])
}

/// A frame of a server, of less than 126 bytes.
fn frame(first: u8, body: &[u8]) -> Vec<u8> {
    [&[first, u8::try_from(body.len()).unwrap()], body].concat()
}

fn close(code: u16, reason: &str) -> Vec<u8> {
    frame(FIN | CLOSE, &[&code.to_be_bytes(), reason.as_bytes()].concat())
}

fn template(body: &[u8]) -> WebSocketTemplate {
    WebSocketHttp2::template(&request("GET", &[], body)).unwrap()
}

fn begin(exchange: &mut WebSocketHttp2, tag: Tag) -> Vec<SentFrame> {
    let mut sent = Vec::new();
    exchange.begin(tag, &template(b"hello"), None, &mut sent);
    frames_of(&sent)
}

fn output(exchange: &mut WebSocketHttp2) -> Vec<SentFrame> {
    let mut sent = Vec::new();
    exchange.write_output(&mut sent);
    assert!(!exchange.has_output());
    // What acknowledges settings is not looked at here.
    frames_of(&sent).into_iter().filter(|frame| frame.0 != 4).collect()
}

/// The frames of WebSocket in what a client has sent on a stream, each by its first byte and its body without the mask.
fn unmasked(mut bytes: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut frames = Vec::new();
    while !bytes.is_empty() {
        assert_eq!(bytes[1] & 0x80, 0x80, "each frame of a client is masked");
        let (length, at) = match bytes[1] & 0x7f {
            126 => (usize::from(u16::from_be_bytes([bytes[2], bytes[3]])), 4),
            length => (usize::from(length), 2),
        };
        let (key, end) = (&bytes[at..at + 4], at + 4 + length);
        let body = bytes[at + 4..end].iter().zip(key.iter().cycle()).map(|(byte, key)| byte ^ key);
        frames.push((bytes[0], body.collect()));
        bytes = &bytes[end..];
    }
    frames
}

/// The events that bytes bring in pieces of this length, beside begins, and the fault that ends them.
fn events(exchange: &mut WebSocketHttp2, bytes: &[u8], at_once: usize) -> (Vec<Event>, Option<Malformed>) {
    let mut events = Vec::new();
    for mut piece in bytes.chunks(at_once.max(1)) {
        while !piece.is_empty() || exchange.has_input() {
            match exchange.receive(piece) {
                Ok(Received { consumed, event }) => {
                    assert!(consumed > 0 || event.is_some(), "it never ends");
                    events.extend(event.filter(|event| !matches!(event, Event::Begun(_))));
                    piece = &piece[consumed..];
                }
                Err(fault) => return (events, Some(fault)),
            }
        }
    }
    (events, None)
}

fn event(exchange: &mut WebSocketHttp2, bytes: &[u8]) -> Event {
    let (events, fault) = events(exchange, bytes, usize::MAX);
    assert_eq!(fault, None);
    let [event] = events[..] else { panic!("{events:?}") };
    event
}

/// Writes what the windows allow; bodies that are read meanwhile are the alphabet.
fn write_bodies(exchange: &mut WebSocketHttp2, most_bytes: usize, to: &mut Vec<u8>) {
    let mut read = |part: BodyPart, to: &mut Vec<u8>| -> Result<(), ()> {
        assert_eq!(part.tag, 0);
        let alphabet = (b'a'..=b'z').cycle().skip(usize::try_from(part.offset % 26).unwrap());
        to.extend(alphabet.take(part.bytes));
        Ok(())
    };
    while exchange.can_write_body() {
        exchange.write_body(most_bytes, &mut read, to).unwrap();
    }
}
