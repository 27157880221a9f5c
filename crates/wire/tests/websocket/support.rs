//! A server's end, as far as tests need one.

use loadcurve_wire::websocket::accept_of;
use loadcurve_wire::{
    Body, Event, Exchange as _, Handshake, HttpExchange as _, Malformed, MessageKind, Method, Readiness,
    Received, Request, Tag, Target, Version, WebSocket, WebSocketSettings,
};

pub(crate) const FIN: u8 = 0x80;
pub(crate) const CONTINUATION: u8 = 0;
pub(crate) const TEXT: u8 = 1;
pub(crate) const BINARY: u8 = 2;
pub(crate) const CLOSE: u8 = 8;
pub(crate) const PING: u8 = 9;
pub(crate) const PONG: u8 = 10;

/// A message, as a request to `/chat`.
pub(crate) fn request<'a>(headers: &'a [(&'a str, &'a str)], body: &'a [u8]) -> Request<'a> {
    Request {
        version: Version::Http11,
        method: Method::GET,
        target: Target::Fixed("/chat"),
        authority: "localhost",
        headers,
        body: Body::Bytes(body),
        is_chunked: false,
    }
}

pub(crate) fn settings(headers: &[(&str, &str)], kind: MessageKind) -> WebSocketSettings {
    WebSocketSettings::new(Handshake::new(&request(headers, b"")).unwrap(), kind, 7)
}

/// A new connection, and the head of its request for the upgrade.
pub(crate) fn opened(most: usize, settings: &WebSocketSettings) -> (WebSocket, String) {
    let mut exchange: WebSocket = WebSocket::new(most, settings);
    exchange.open();
    let mut head = Vec::new();
    exchange.write_output(&mut head);
    (exchange, String::from_utf8(head).unwrap())
}

/// The value of a field of a head.
pub(crate) fn field<'a>(head: &'a str, wanted: &str) -> Option<&'a str> {
    let fields = head.split("\r\n").filter_map(|line| line.split_once(": "));
    let mut values = fields.filter(|(name, _)| *name == wanted).map(|(_, value)| value);
    let value = values.next();
    assert_eq!(values.next(), None, "{wanted} is there once");
    value
}

/// The answer that upgrades, with other fields behind its own.
pub(crate) fn upgrade(head: &str, more: &str) -> String {
    let accept = accept_of(field(head, "Sec-WebSocket-Key").unwrap().as_bytes());
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nConnection: keep-alive, Upgrade\r\n\
         Sec-WebSocket-Accept: {accept}\r\n{more}\r\n"
    )
}

/// A connection whose handshake is over, with this many messages under way.
pub(crate) fn with_messages(count: usize) -> WebSocket {
    let (mut exchange, head) = opened(count.max(1), &settings(&[], MessageKind::Text));
    assert_eq!(exchange.readiness(), Readiness::Handshaking);
    assert_eq!(events_of(&mut exchange, upgrade(&head, "").as_bytes()), Ok(vec![]));
    assert_eq!(exchange.readiness(), Readiness::Ready);
    for tag in 0..count {
        begin(&mut exchange, tag, b"hello");
    }
    exchange
}

/// Begins a message; gives what is written.
pub(crate) fn begin(exchange: &mut WebSocket, tag: Tag, body: &[u8]) -> Vec<u8> {
    let mut written = Vec::new();
    exchange.begin(tag, &<WebSocket>::template(&request(&[], body)).unwrap(), None, &mut written);
    written
}

/// Everything that bytes bring.
pub(crate) fn events_of(exchange: &mut WebSocket, mut bytes: &[u8]) -> Result<Vec<Event>, Malformed> {
    let mut events = Vec::new();
    while !bytes.is_empty() || exchange.has_input() {
        let Received { consumed, event } = exchange.receive(bytes)?;
        assert!(consumed == bytes.len() || event.is_some());
        events.extend(event);
        bytes = &bytes[consumed..];
    }
    Ok(events)
}

/// Everything but the begins of answers, which depend on what is there.
pub(crate) fn ends(events: Vec<Event>) -> Vec<Event> {
    events.into_iter().filter(|event| !matches!(event, Event::Begun(_))).collect()
}

/// A frame of a server, by its first byte.
pub(crate) fn frame(first: u8, body: &[u8]) -> Vec<u8> {
    let length = body.len() as u64;
    let mut frame = vec![first];
    match length {
        0..126 => frame.push(length.to_be_bytes()[7]),
        126..65_536 => frame.extend([&[126], &length.to_be_bytes()[6..]].concat()),
        _ => frame.extend([&[127], &length.to_be_bytes()[..]].concat()),
    }
    frame.extend(body);
    frame
}

/// The lengths of messages that were answered, by the tags of their requests.
pub(crate) fn answered(events: &[Event]) -> Vec<(Tag, u64)> {
    let each = events.iter().filter_map(|event| match event {
        Event::Answered(tag, response) => Some((*tag, response.body_bytes)),
        _ => None,
    });
    each.collect()
}

/// The frames that a client has written, each with its first byte and its body without the mask.
pub(crate) fn frames_of(mut bytes: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut frames = Vec::new();
    while !bytes.is_empty() {
        assert_eq!(bytes[1] & 0x80, 0x80, "each frame of a client is masked");
        let (length, at) = match bytes[1] & 0x7f {
            126 => (u64::from(u16::from_be_bytes([bytes[2], bytes[3]])), 4),
            127 => (u64::from_be_bytes(bytes[2..10].try_into().unwrap()), 10),
            length => (u64::from(length), 2),
        };
        let end = at + 4 + usize::try_from(length).unwrap();
        let key = &bytes[at..at + 4];
        let body = bytes[at + 4..end].iter().zip(key.iter().cycle()).map(|(byte, key)| byte ^ key);
        frames.push((bytes[0], body.collect()));
        bytes = &bytes[end..];
    }
    frames
}

/// What the protocol itself has to send.
pub(crate) fn output(exchange: &mut WebSocket) -> Vec<(u8, Vec<u8>)> {
    let mut output = Vec::new();
    exchange.write_output(&mut output);
    assert!(!exchange.has_output());
    frames_of(&output)
}
