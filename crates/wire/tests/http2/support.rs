//! A server's side of a connection, in frames.

use std::convert::Infallible;

use loadcurve_wire::h2::hpack::Decoder;
use loadcurve_wire::{
    Body, BodyPart, Event, Exchange as _, Http2, Http2Settings, Http2Template, HttpExchange as _,
    InvalidRequest, Malformed, Method, Received, Request, Tag, Target, Version,
};

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const PRIORITY: u8 = 2;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PUSH_PROMISE: u8 = 5;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

pub(crate) const END_STREAM: u8 = 0x1;
pub(crate) const ACK: u8 = 0x1;
pub(crate) const END_HEADERS: u8 = 0x4;
pub(crate) const PADDED: u8 = 0x8;
pub(crate) const WITH_PRIORITY: u8 = 0x20;

/// `:status: 200` as an index of the static table.
pub(crate) const STATUS_200: u8 = 0x88;

/// The newest entry of the dynamic table, at index 62.
pub(crate) const NEWEST_ENTRY: u8 = 0xbe;

pub(crate) const FRAME_HEADER_BYTES: u64 = 9;

/// A frame.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// A frame of settings.
pub(crate) fn settings(settings: &[(u16, u32)]) -> Vec<u8> {
    let payload: Vec<u8> = settings
        .iter()
        .flat_map(|(id, value)| [id.to_be_bytes().as_slice(), &value.to_be_bytes()].concat())
        .collect();
    frame(SETTINGS, 0, 0, &payload)
}

/// A header block of literals that go into no table.
pub(crate) fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let string = |text: &str| [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
    fields.iter().flat_map(|(name, value)| [vec![0], string(name), string(value)].concat()).collect()
}

/// A header block in one frame.
pub(crate) fn headers(flags: u8, stream: u32, fields: &[(&str, &str)]) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | flags, stream, &block(fields))
}

pub(crate) fn data(flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    frame(DATA, flags, stream, payload)
}

pub(crate) fn reset(stream: u32, code: u32) -> Vec<u8> {
    frame(RST_STREAM, 0, stream, &code.to_be_bytes())
}

pub(crate) fn window_update(stream: u32, increment: u32) -> Vec<u8> {
    frame(WINDOW_UPDATE, 0, stream, &increment.to_be_bytes())
}

pub(crate) fn go_away(last: u32) -> Vec<u8> {
    frame(GOAWAY, 0, 0, &[last.to_be_bytes(), 0_u32.to_be_bytes()].concat())
}

pub(crate) fn request<'a>(method: &'a str, headers: &'a [(&'a str, &'a str)], body: &'a [u8]) -> Request<'a> {
    Request {
        version: Version::Http11,
        method: Method::new(method).unwrap(),
        target: Target::Fixed("/1k.txt"),
        authority: "localhost:8080",
        headers,
        body: Body::Bytes(body),
        is_chunked: false,
    }
}

pub(crate) fn template(request: &Request<'_>) -> Result<Http2Template, InvalidRequest> {
    Http2::template(request)
}

/// An exchange whose peer has sent these settings, with nothing left to be sent.
pub(crate) fn agreed(most: usize, settings_of_peer: &[(u16, u32)]) -> Http2 {
    agreed_with(most, &Http2Settings::default(), settings_of_peer)
}

pub(crate) fn agreed_with(most: usize, settings: &Http2Settings, peer: &[(u16, u32)]) -> Http2 {
    let mut exchange = Http2::new(most, settings);
    exchange.open();
    assert_eq!(events_of(&mut exchange, &self::settings(peer)), Ok(vec![]));
    output(&mut exchange);
    exchange
}

/// An exchange with requests of these methods under way, with tags from 0 and streams from 1 on.
pub(crate) fn with_requests(methods: &[&str]) -> Http2 {
    let mut exchange = agreed(methods.len(), &[]);
    for (tag, method) in methods.iter().enumerate() {
        begin(&mut exchange, tag, &template(&request(method, &[], b"")).unwrap());
    }
    exchange
}

/// Begins a request; gives what is sent, with what the windows allow of its body.
pub(crate) fn begin(exchange: &mut Http2, tag: Tag, template: &Http2Template) -> Vec<u8> {
    let mut bytes = Vec::new();
    exchange.begin(tag, template, None, &mut bytes);
    write_bodies(exchange, &mut bytes);
    bytes
}

/// What the protocol itself sends, with what the windows allow of bodies.
pub(crate) fn output(exchange: &mut Http2) -> Vec<u8> {
    let has_output = has_output(exchange);
    let mut bytes = Vec::new();
    exchange.write_output(&mut bytes);
    write_bodies(exchange, &mut bytes);
    assert_eq!(has_output, !bytes.is_empty());
    bytes
}

/// Whether anything can be sent without a request.
pub(crate) fn has_output(exchange: &Http2) -> bool {
    exchange.has_output() || exchange.can_write_body()
}

/// Appends what the windows allow of bodies; those that are read while they are sent are nothing but the byte `x`.
fn write_bodies(exchange: &mut Http2, to: &mut Vec<u8>) {
    let mut read = |part: BodyPart, to: &mut Vec<u8>| {
        to.resize(to.len() + part.bytes, b'x');
        Ok::<_, Infallible>(())
    };
    while exchange.can_write_body() {
        assert!(exchange.write_body(usize::MAX, &mut read, to).unwrap().is_some(), "it can go on");
    }
}

/// Everything that bytes bring.
pub(crate) fn events_of(exchange: &mut Http2, mut bytes: &[u8]) -> Result<Vec<Event>, Malformed> {
    let mut events = Vec::new();
    while !bytes.is_empty() {
        let Received { consumed, event } = exchange.receive(bytes)?;
        events.extend(event);
        assert!(consumed > 0 || event.is_some(), "it never ends");
        bytes = &bytes[consumed..];
    }
    Ok(events)
}

/// A frame of the client, as an independent reader has it: type, flags, stream, payload.
pub(crate) type SentFrame = (u8, u8, u32, Vec<u8>);

pub(crate) fn frames_of(mut bytes: &[u8]) -> Vec<SentFrame> {
    let mut frames = Vec::new();
    while let [l0, l1, l2, kind, flags, s0, s1, s2, s3, rest @ ..] = bytes {
        let length = u32::from_be_bytes([0, *l0, *l1, *l2]) as usize;
        let (payload, behind) = rest.split_at(length);
        frames.push((*kind, *flags, u32::from_be_bytes([*s0, *s1, *s2, *s3]), payload.to_vec()));
        bytes = behind;
    }
    assert!(bytes.is_empty(), "a part of a frame is left");
    frames
}

/// The fields of a header block, in a decoder that has read those before.
pub(crate) fn fields_of(decoder: &mut Decoder, block: &[u8]) -> Vec<(String, String)> {
    let mut fields = Vec::new();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    decoder.decode(block, |field| fields.push((text(field.name), text(field.value)))).unwrap();
    fields
}
