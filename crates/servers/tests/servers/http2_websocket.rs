//! WebSockets over HTTP/2 (RFC 8441) as `limit` answers them, in memory.

use loadcurve_servers::http2::{Connection, Output};
use loadcurve_wire::ErrorCode;
use loadcurve_wire::h2::frame::{flag, kind};
use loadcurve_wire::{
    Body, Event, Exchange as _, Http2Settings, HttpExchange as _, MessageKind, Method, PermessageDeflate,
    Readiness, Request, Target, Version, WebSocketHttp2, WebSocketHttp2Settings,
};

use crate::frames::{Conversation, Memory, Sent, block};

const ROOM_BYTES: usize = 64 * 1024;
/// What a client may send before it is given more.
const WINDOW_BYTES: usize = 1 << 20;
const INITIAL_WINDOW_SIZE: u16 = 4;
const OPENING: [(&str, &str); 6] = [
    (":method", "CONNECT"),
    (":protocol", "websocket"),
    (":scheme", "http"),
    (":path", "/echo"),
    (":authority", "a"),
    ("sec-websocket-version", "13"),
];
/// "Hello" with a mask, and without one (RFC 6455 §5.7).
const HELLO: &[u8] = &[0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58];
const HELLO_BACK: &[u8] = b"\x81\x05Hello";
/// A close with the code 1000, without a mask, since that is zeros.
const CLOSE: &[u8] = b"\x88\x82\0\0\0\0\x03\xe8";
const CLOSE_BACK: &[u8] = b"\x88\x02\x03\xe8";

/// The beginning of a WebSocket, with these fields.
fn open(sent: &mut Sent, stream: u32, fields: &[(&str, &str)]) {
    sent.frame(kind::HEADERS, flag::END_HEADERS, stream, &block(fields));
}

/// What is said after these bytes.
fn after(sent: &Sent) -> Conversation {
    let mut conversation = Conversation::new(Memory::of(&[]));
    conversation.send(&sent.0, ROOM_BYTES);
    conversation
}

#[test]
fn a_websocket_is_open_at_once_and_its_messages_come_back() {
    let mut sent = Sent::preface(&[]);
    open(&mut sent, 1, &OPENING);
    let mut conversation = after(&sent);
    assert_eq!(conversation.said.streams[&1].fields, [":status: 200"]);
    let mut more = Sent::default();
    more.frame(kind::DATA, 0, 1, &HELLO[..4]);
    more.frame(kind::DATA, 0, 1, &[&HELLO[4..], HELLO].concat());
    conversation.send(&more.0, ROOM_BYTES);
    let stream = &conversation.said.streams[&1];
    assert_eq!((&stream.body, stream.has_ended), (&[HELLO_BACK, HELLO_BACK].concat(), false));
}

#[test]
fn a_close_is_answered_with_the_end_of_the_stream_whether_the_client_ends_its_side_with_it_or_later() {
    for ends in [flag::END_STREAM, 0] {
        let mut sent = Sent::preface(&[]);
        open(&mut sent, 1, &OPENING);
        sent.frame(kind::DATA, ends, 1, CLOSE);
        if ends == 0 {
            sent.frame(kind::DATA, flag::END_STREAM, 1, &[]);
        }
        let said = after(&sent).said;
        let stream = &said.streams[&1];
        assert_eq!((&stream.body[..], stream.has_ended, stream.reset), (CLOSE_BACK, true, None));
    }
}

#[test]
fn a_client_that_ends_its_side_without_a_close_gets_the_echoes_under_way_and_the_end() {
    let mut sent = Sent::preface(&[(INITIAL_WINDOW_SIZE, 3)]);
    open(&mut sent, 1, &OPENING);
    sent.frame(kind::DATA, flag::END_STREAM, 1, HELLO);
    let mut conversation = after(&sent);
    assert_eq!(conversation.said.streams[&1].body, HELLO_BACK[..3]);
    let mut more = Sent::default();
    more.grow(1, 100);
    conversation.send(&more.0, ROOM_BYTES);
    let stream = &conversation.said.streams[&1];
    assert_eq!((&stream.body[..], stream.has_ended), (HELLO_BACK, true));
}

#[test]
fn a_request_that_is_none_for_this_websocket_opens_no_stream() {
    let without = |name: &str| {
        let rest = OPENING.into_iter().filter(|field| field.0 != name);
        rest.collect::<Vec<_>>()
    };
    let with = |name: &str, value: &'static str| {
        let rest = OPENING.into_iter().map(|field| if field.0 == name { (field.0, value) } else { field });
        rest.collect::<Vec<_>>()
    };
    let status = |fields: &[(&str, &str)]| {
        let mut sent = Sent::preface(&[]);
        open(&mut sent, 1, fields);
        // It is answered at once, and what is sent on it all the same is nobody's.
        let mut conversation = after(&sent);
        let mut late = Sent::default();
        late.frame(kind::DATA, flag::END_STREAM, 1, HELLO);
        conversation.send(&late.0, ROOM_BYTES);
        assert_eq!(conversation.said.go_aways, []);
        let stream = &conversation.said.streams[&1];
        stream.fields.first().cloned().ok_or(stream.reset)
    };
    assert_eq!(status(&without("sec-websocket-version")), Ok(":status: 400".into()));
    assert_eq!(status(&with("sec-websocket-version", "8")), Ok(":status: 400".into()));
    // Other protocols are not spoken.
    assert_eq!(status(&with(":protocol", "connect-udp")), Ok(":status: 405".into()));
    for malformed in [with(":method", "GET"), without(":path"), without(":scheme"), without(":authority")] {
        assert_eq!(status(&malformed), Err(Some(ErrorCode::ProtocolError.into())), "{malformed:?}");
    }
}

#[test]
fn a_client_is_given_more_when_what_it_sent_was_sent_back_and_not_before() {
    let long = vec![b'x'; WINDOW_BYTES * 3 / 4];
    let mut sent = Sent::preface(&[(INITIAL_WINDOW_SIZE, 10)]);
    open(&mut sent, 1, &OPENING);
    let header = [&b"\x82\xff"[..], &(long.len() as u64).to_be_bytes(), &[0; 4]].concat();
    for part in [header, long.clone()].concat().chunks(16_384) {
        sent.frame(kind::DATA, 0, 1, part);
    }
    let mut conversation = after(&sent);
    assert_eq!(conversation.said.streams[&1].body.len(), 10);
    assert_eq!(conversation.said.grown.get(&1), None);
    let mut more = Sent::default();
    more.grow(0, 1 << 21);
    more.grow(1, 1 << 21);
    conversation.send(&more.0, usize::MAX);
    // Ten bytes are the header of a server's frame of this length, fourteen that of a client's.
    assert_eq!(conversation.said.streams[&1].body.len(), 10 + long.len());
    assert_eq!(conversation.said.grown[&1], 14 + long.len() as u64);
}

#[test]
fn a_client_of_our_own_has_its_compressed_messages_echoed_and_closes_its_websockets() {
    let request = Request {
        version: Version::Http11,
        method: Method::GET,
        target: Target::Fixed("/echo"),
        authority: "a",
        headers: &[],
        body: Body::Bytes(b"a message"),
        is_chunked: false,
    };
    let offer =
        PermessageDeflate::offer("permessage-deflate; server_max_window_bits=10; client_max_window_bits");
    let (offer, http2) = (offer.ok(), Http2Settings::default());
    let settings = WebSocketHttp2Settings::new(&request, offer, MessageKind::Text, 1, http2).unwrap();
    let template = WebSocketHttp2::template(&request).unwrap();
    let mut client = WebSocketHttp2::new(3, &settings);
    client.open();
    let (mut to_client, mut memory) = (Vec::new(), Memory::of(&[]));
    let mut server = Connection::open(&mut to_client);
    let mut answered = Vec::new();
    for turn in 0..20 {
        let mut rest = to_client.as_slice();
        while !rest.is_empty() {
            let received = client.receive(rest).unwrap();
            rest = &rest[received.consumed..];
            if let Some(Event::Answered(tag, response)) = received.event {
                answered.push((tag, response.inflated_bytes));
            }
        }
        to_client.clear();
        let mut to_server = Vec::new();
        client.write_output(&mut to_server);
        if client.readiness() == Readiness::Ready {
            (0..3).for_each(|tag| client.begin(tag, &template, None, &mut to_server));
        }
        if turn == 19 {
            client.end(&mut to_server);
        }
        let mut output = Output { bytes: &mut to_client, most_bytes: usize::MAX };
        assert_eq!(server.receive(&to_server, &mut memory, &mut output), to_server.len());
    }
    // In the first turn they are asked for, and what answers those of the last one is not read.
    assert_eq!(answered.len(), 3 * (20 - 2));
    assert!(answered.iter().all(|(_, bytes)| *bytes == Some(b"a message".len() as u64)));
    let [counts] = client.take_compression_counts()[..] else { panic!("one agreement") };
    let agreed = "permessage-deflate; server_no_context_takeover; client_no_context_takeover; \
                  server_max_window_bits=10; client_max_window_bits=10";
    assert_eq!((counts.websockets, counts.agreed), (3, PermessageDeflate::offer(agreed).ok()));
    assert!(server.is_idle());
}
