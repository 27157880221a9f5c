//! HTTP/2 as `limit` speaks it, in memory.

use std::time::Duration;

use loadcurve_servers::http2::{Fate, HEADER_BYTES_MAX, Last, STREAMS_MAX};
use loadcurve_servers::reply::Outcome;
use loadcurve_wire::ErrorCode;
use loadcurve_wire::h2::frame::{flag, kind};
use loadcurve_wire::{
    Body, Event, Exchange as _, Hpack, Http2, Http2Settings, HttpExchange as _, Method, Request, Target,
    Version,
};
use proptest::prelude::*;

use crate::frames::{Conversation, Memory, Sent, Stream, block};

/// What fits into one output in most of these tests.
const ROOM_BYTES: usize = 64 * 1024;
const HEADER_TABLE_SIZE: u16 = 1;
const INITIAL_WINDOW_SIZE: u16 = 4;
const BODY: &[u8] = b"0123456789abcdef";

fn files() -> Memory {
    Memory::of(&[("/a", BODY), ("/empty", b""), ("/long", &vec![b'x'; 100_000])])
}

/// What is said after these bytes.
fn after(sent: &Sent) -> Conversation {
    let mut conversation = Conversation::new(files());
    conversation.send(&sent.0, ROOM_BYTES);
    conversation
}

fn answered(fields: &[&str], body: &[u8]) -> Stream {
    let fields = fields.iter().map(|field| (*field).to_owned()).collect();
    Stream { fields, body: body.to_vec(), has_ended: true, reset: None }
}

fn code(code: ErrorCode) -> u32 {
    code.into()
}

#[test]
fn each_request_is_answered_on_its_stream() {
    let mut sent = Sent::preface(&[]);
    sent.request(1, "GET", "/a");
    sent.request(3, "HEAD", "/a");
    sent.request(5, "GET", "/b");
    sent.request(7, "DELETE", "/a");
    sent.request(9, "GET", "/a?b=c");
    sent.request(11, "GET", "/empty");
    let said = after(&sent).said;
    let right = answered(&[":status: 200", "content-length: 16"], BODY);
    assert_eq!(said.streams[&1], right);
    assert_eq!(said.streams[&3], answered(&[":status: 200", "content-length: 16"], b""));
    assert_eq!(said.streams[&5], answered(&[":status: 404", "content-length: 0"], b""));
    assert_eq!(said.streams[&7], answered(&[":status: 405", "content-length: 0"], b""));
    assert_eq!(said.streams[&9], right);
    assert_eq!(said.streams[&11], answered(&[":status: 200", "content-length: 0"], b""));
    assert_eq!(said.acknowledged_settings, 1);
}

#[test]
fn requests_that_come_together_are_answered_together_and_alike_ones_looked_at_once() {
    let mut sent = Sent::preface(&[]);
    for stream in 0..100 {
        sent.request(2 * stream + 1, "GET", "/a");
    }
    let conversation = after(&sent);
    assert_eq!(conversation.said.ended, (0..100).map(|stream| 2 * stream + 1).collect::<Vec<_>>());
    // A frame of the header, one of the data, and two headers of frames.
    assert!(conversation.longest_bytes > 100 * (9 + 6 + 9 + BODY.len()));
    assert_eq!(conversation.memory.looks, 1);
}

#[test]
fn a_client_of_our_own_understands_every_answer_whatever_its_compression() {
    for hpack in [Hpack::Indexed, Hpack::Literal] {
        let settings = Http2Settings { hpack, ..Http2Settings::default() };
        let mut client = Http2::new(10, &settings);
        client.open();
        let mut conversation = Conversation::new(files());
        let mut to_client = Vec::new();
        let mut begin = Vec::new();
        drop(loadcurve_servers::http2::Connection::open(&mut begin));
        client.receive(&begin).unwrap();
        let template = |target| {
            let request = Request {
                version: Version::Http11,
                method: Method::GET,
                target: Target::Fixed(target),
                authority: "localhost",
                headers: &[("x-one", "two"), ("accept", "*/*")],
                body: Body::Bytes(b""),
                is_chunked: false,
            };
            Http2::template(&request).unwrap()
        };
        let templates = ["/a", "/long", "/b"].map(template);
        for turn in 0..30 {
            let mut to_server = Vec::new();
            client.write_output(&mut to_server);
            client.begin(0, &templates[turn % 3], None, &mut to_server);
            let mut output =
                loadcurve_servers::http2::Output { bytes: &mut to_client, most_bytes: usize::MAX };
            conversation.server.receive(&to_server, &mut conversation.memory, &mut output);
            let mut events = Vec::new();
            let mut rest = to_client.as_slice();
            while !rest.is_empty() {
                let received = client.receive(rest).unwrap();
                rest = &rest[received.consumed..];
                events.extend(received.event);
            }
            to_client.clear();
            let Some(Event::Answered(0, response)) = events.pop() else { panic!("{events:?}") };
            let expected = [(200, 16), (200, 100_000), (404, 0)][turn % 3];
            assert_eq!((response.status, response.body_bytes), expected);
        }
    }
}

#[test]
fn no_more_is_sent_than_the_windows_of_the_stream_and_the_connection_allow() {
    let mut sent = Sent::preface(&[(INITIAL_WINDOW_SIZE, 10)]);
    sent.request(1, "GET", "/long");
    sent.request(3, "GET", "/a");
    let mut conversation = after(&sent);
    let bodies = |conversation: &Conversation| [1, 3].map(|id| conversation.said.streams[&id].body.len());
    assert_eq!(bodies(&conversation), [10, 10]);
    let mut more = Sent::default();
    more.grow(3, 5);
    conversation.send(&more.0, ROOM_BYTES);
    assert_eq!(bodies(&conversation), [10, 15]);
    // All windows of streams grow by 69,990; that of the connection began with 65,535, of which 25 are used.
    let mut larger = Sent::default();
    larger.settings(&[(INITIAL_WINDOW_SIZE, 70_000)]);
    conversation.send(&larger.0, ROOM_BYTES);
    assert_eq!(bodies(&conversation), [65_535 - 15, 15]);
    let mut whole = Sent::default();
    whole.grow(0, 1_000_000);
    whole.grow(1, 1_000_000);
    conversation.send(&whole.0, ROOM_BYTES);
    assert_eq!(bodies(&conversation), [100_000, 16]);
    assert_eq!(conversation.said.ended.len(), 2);
    assert!(conversation.server.is_idle());
}

#[test]
fn a_window_that_a_setting_makes_negative_holds_its_answer_back() {
    let mut sent = Sent::preface(&[(INITIAL_WINDOW_SIZE, 10)]);
    sent.request(1, "GET", "/a");
    // Ten bytes were sent, so that the window is 4 − 10.
    sent.settings(&[(INITIAL_WINDOW_SIZE, 4)]);
    sent.grow(1, 6);
    let mut conversation = after(&sent);
    assert_eq!(conversation.said.streams[&1].body.len(), 10);
    let mut more = Sent::default();
    more.grow(1, 6);
    conversation.send(&more.0, ROOM_BYTES);
    assert_eq!(conversation.said.streams[&1].body, BODY);
}

#[test]
fn a_body_is_taken_in_as_fast_as_it_comes_and_answered_at_its_end() {
    let mut conversation = Conversation::new(files());
    conversation.said.grown.clear();
    let mut sent = Sent::preface(&[]);
    let head =
        block(&[(":method", "POST"), (":scheme", "http"), (":path", "/a"), ("content-length", "3000000")]);
    sent.frame(kind::HEADERS, flag::END_HEADERS, 1, &head);
    conversation.send(&sent.0, ROOM_BYTES);
    for part in 1..=300 {
        let mut sent = Sent::default();
        sent.frame(kind::DATA, if part == 300 { flag::END_STREAM } else { 0 }, 1, &[b'y'; 10_000]);
        assert!(!conversation.said.streams.contains_key(&1));
        conversation.send(&sent.0, ROOM_BYTES);
    }
    assert_eq!(conversation.said.status(1), "405");
    // Both windows were enlarged by what was used, but for less than a window of 1 MiB.
    for stream in [0, 1] {
        assert!((3_000_000 - (1 << 20)..=3_000_000).contains(&conversation.said.grown[&stream]));
    }
}

#[test]
fn padding_priority_continuation_and_trailers_are_read() {
    let mut sent = Sent::preface(&[]);
    let get = block(&[(":method", "GET"), (":scheme", "http"), (":path", "/a")]);
    let padded = [&[3, 0, 0, 0, 9, 200], get.as_slice(), &[0; 3]].concat();
    sent.frame(
        kind::HEADERS,
        flag::PADDED | flag::PRIORITY | flag::END_HEADERS | flag::END_STREAM,
        1,
        &padded,
    );
    let (front, back) = get.split_at(11);
    sent.frame(kind::HEADERS, flag::END_STREAM, 3, front);
    sent.frame(kind::CONTINUATION, 0, 3, &[]);
    sent.frame(kind::CONTINUATION, flag::END_HEADERS, 3, back);
    sent.frame(kind::HEADERS, flag::END_HEADERS, 5, &get);
    sent.frame(kind::DATA, flag::PADDED, 5, &[2, b'a', 0, 0]);
    sent.frame(kind::HEADERS, flag::END_HEADERS | flag::END_STREAM, 5, &block(&[("a", "b")]));
    sent.frame(0xfa, 0xff, 77, b"unknown");
    sent.frame(kind::PING, 0, 0, b"12345678");
    let said = after(&sent).said;
    for stream in [1, 3, 5] {
        assert_eq!(said.status(stream), "200");
    }
    assert_eq!(said.pongs, [b"12345678"]);
    assert!(said.go_aways.is_empty());
}

#[test]
fn a_malformed_request_is_reset_alone() {
    let get = [(":method", "GET"), (":scheme", "http"), (":path", "/a")];
    let with = |field| [get.as_slice(), &[field]].concat();
    let wrong: [Vec<(&str, &str)>; 10] = [
        get[..2].to_vec(),
        [&get[..2], &[(":path", "")]].concat(),
        with((":path", "/a")),
        with((":status", "200")),
        with(("Upper", "case")),
        with(("connection", "close")),
        with(("te", "gzip")),
        with(("a", "b\nc")),
        with(("content-length", "5")),
        [&[("a", "b")], get.as_slice()].concat(),
    ];
    let mut sent = Sent::preface(&[]);
    let mut stream = 1;
    for fields in &wrong {
        sent.frame(kind::HEADERS, flag::END_HEADERS | flag::END_STREAM, stream, &block(fields));
        stream += 2;
    }
    sent.request(stream, "GET", "/a");
    let said = after(&sent).said;
    for (number, fields) in wrong.iter().enumerate() {
        let id = 2 * u32::try_from(number).unwrap() + 1;
        assert_eq!(said.streams[&id].reset, Some(code(ErrorCode::ProtocolError)), "{fields:?}");
    }
    assert_eq!(said.status(stream), "200");
}

#[test]
fn a_client_with_a_small_table_learns_that_it_stays_empty() {
    let mut sent = Sent::preface(&[(HEADER_TABLE_SIZE, 100)]);
    sent.request(1, "GET", "/a");
    sent.request(3, "GET", "/a");
    let mut conversation = Conversation::new(files());
    let mut written = Vec::new();
    let mut output = loadcurve_servers::http2::Output { bytes: &mut written, most_bytes: ROOM_BYTES };
    conversation.server.receive(&sent.0, &mut conversation.memory, &mut output);
    // RFC 7541 §6.3: a change of the size to 0 is 0x20; 0x88 is the status 200.
    let with_change = written.windows(2).filter(|pair| pair == &[0x20, 0x88]).count();
    assert_eq!(with_change, 1);
}

#[test]
fn an_answer_that_is_held_back_holds_back_no_other() {
    let mut conversation = Conversation::new(files());
    let due = Some(Duration::from_secs(5));
    conversation.memory.fates = vec![Fate { due, ..Fate::default() }];
    let mut sent = Sent::preface(&[]);
    sent.request(1, "GET", "/a");
    sent.request(3, "GET", "/a");
    conversation.send(&sent.0, ROOM_BYTES);
    assert_eq!(conversation.said.ended, [3]);
    assert_eq!(conversation.server.next_due(), due);
    conversation.server.release(Duration::from_millis(4999));
    conversation.go_on(ROOM_BYTES);
    assert_eq!(conversation.said.ended, [3]);
    conversation.server.release(Duration::from_secs(5));
    conversation.go_on(ROOM_BYTES);
    assert_eq!(conversation.said.ended, [3, 1]);
    assert_eq!(conversation.server.next_due(), None);
}

#[test]
fn each_outcome_concerns_its_stream_alone() {
    let mut conversation = Conversation::new(files());
    let outcomes = [
        Outcome::Right,
        Outcome::Reset,
        Outcome::Error,
        Outcome::Truncated,
        Outcome::WrongLength,
        Outcome::Right,
    ];
    conversation.memory.fates = outcomes.map(|outcome| Fate { outcome, ..Fate::default() }).to_vec();
    let mut sent = Sent::preface(&[]);
    for stream in 0..6 {
        sent.request(2 * stream + 1, "GET", "/a");
    }
    conversation.send(&sent.0, ROOM_BYTES);
    let fields = [":status: 200", "content-length: 16"];
    let reset = Some(code(ErrorCode::InternalError));
    let truncated = Stream { has_ended: false, reset, ..answered(&fields, &BODY[..15]) };
    let longer = [BODY, b" "].concat();
    let expected = [
        answered(&fields, BODY),
        Stream { reset, ..Stream::default() },
        answered(&[":status: 500", "content-length: 0"], b""),
        truncated,
        answered(&[":status: 200", "content-length: 17"], &longer),
        answered(&fields, BODY),
    ];
    assert_eq!(conversation.said.streams.into_values().collect::<Vec<_>>(), expected);
}

#[test]
fn behind_the_last_request_of_a_connection_none_is_answered() {
    for is_announced in [true, false] {
        let mut conversation = Conversation::new(files());
        let due = Some(Duration::from_secs(1));
        conversation.memory.fates = vec![
            Fate { due, ..Fate::default() },
            Fate { last: Some(Last { is_announced }), ..Fate::default() },
        ];
        let mut sent = Sent::preface(&[]);
        for stream in [1, 3, 5] {
            sent.request(stream, "GET", "/a");
        }
        conversation.send(&sent.0, ROOM_BYTES);
        assert_eq!(conversation.said.ended, [3]);
        assert!(!conversation.server.is_over(), "stream 1 is to be answered");
        conversation.server.release(Duration::from_secs(1));
        conversation.go_on(ROOM_BYTES);
        assert_eq!(conversation.said.ended, [3, 1]);
        assert!(conversation.server.is_over());
        let announced = [(3, code(ErrorCode::NoError))];
        assert_eq!(conversation.said.go_aways, announced[..usize::from(is_announced)]);
    }
}

#[test]
fn a_client_that_takes_nothing_makes_the_server_keep_a_bounded_number_of_streams_and_bytes() {
    let mut conversation = Conversation::new(files());
    let mut sent = Sent::preface(&[(INITIAL_WINDOW_SIZE, 1 << 30)]);
    for stream in 0..20_000 {
        sent.request(2 * stream + 1, "GET", "/long");
    }
    // There is no room for any answer.
    conversation.send(&sent.0, 0);
    let refused = Stream { reset: Some(code(ErrorCode::RefusedStream)), ..Stream::default() };
    let refusals = conversation.said.streams.values().filter(|stream| **stream == refused).count();
    assert_eq!(refusals, 20_000 - STREAMS_MAX);
    assert_eq!(refusals, conversation.said.streams.len());
    assert!(conversation.longest_bytes < sent.0.len());
}

#[test]
fn one_output_is_hardly_longer_than_it_may_be() {
    let mut conversation = Conversation::new(files());
    let mut sent = Sent::preface(&[(INITIAL_WINDOW_SIZE, 1 << 30)]);
    sent.grow(0, 1 << 30);
    for stream in 0..500 {
        sent.request(2 * stream + 1, "GET", "/long");
    }
    conversation.send(&sent.0, ROOM_BYTES);
    assert_eq!(conversation.said.ended.len(), 500);
    // The last frame may begin with the last byte.
    assert!(conversation.longest_bytes < ROOM_BYTES + 17_000, "{}", conversation.longest_bytes);
}

#[test]
fn a_request_that_its_client_gives_up_is_forgotten() {
    let mut conversation = Conversation::new(files());
    let mut sent = Sent::preface(&[(INITIAL_WINDOW_SIZE, 0)]);
    for stream in 0..10_000 {
        sent.request(2 * stream + 1, "GET", "/a");
        sent.frame(kind::RST_STREAM, 0, 2 * stream + 1, &code(ErrorCode::Cancel).to_be_bytes());
    }
    conversation.send(&sent.0, ROOM_BYTES);
    assert!(conversation.server.is_idle());
    assert!(conversation.said.streams.values().all(|stream| stream.reset.is_none()));
}

#[test]
fn a_connection_ends_with_the_code_of_its_fault() {
    let mut too_long = Sent::default();
    too_long.frame(kind::HEADERS, 0, 1, &[0; 16_384]);
    too_long.frame(kind::CONTINUATION, 0, 1, &[0; HEADER_BYTES_MAX - 16_384 + 1]);
    let mut many = Sent::default();
    many.frame(kind::HEADERS, 0, 1, &[]);
    for _ in 0..200 {
        many.frame(kind::CONTINUATION, 0, 1, &[]);
    }
    let one = |kind, flags, stream, payload: &[u8]| {
        let mut sent = Sent::default();
        sent.frame(kind, flags, stream, payload);
        sent
    };
    let cases = [
        (too_long, ErrorCode::EnhanceYourCalm),
        (many, ErrorCode::EnhanceYourCalm),
        (one(kind::HEADERS, flag::END_HEADERS, 1, &[0xff]), ErrorCode::CompressionError),
        (one(kind::HEADERS, flag::END_HEADERS, 2, &[]), ErrorCode::ProtocolError),
        (one(kind::DATA, 0, 1, b"a"), ErrorCode::ProtocolError),
        (one(kind::DATA, 0, 0, b"a"), ErrorCode::ProtocolError),
        (one(kind::CONTINUATION, 0, 1, b"a"), ErrorCode::ProtocolError),
        (one(kind::PUSH_PROMISE, 0, 1, b"a"), ErrorCode::ProtocolError),
        (one(kind::PING, 0, 0, b"a"), ErrorCode::FrameSizeError),
        (one(kind::SETTINGS, 0, 0, b"a"), ErrorCode::FrameSizeError),
        (one(kind::SETTINGS, 0, 0, &[0, 4, 0xff, 0, 0, 0]), ErrorCode::FlowControlError),
        (one(kind::SETTINGS, 0, 0, &[0, 5, 0, 0, 0, 1]), ErrorCode::ProtocolError),
        (one(kind::WINDOW_UPDATE, 0, 0, &[0; 4]), ErrorCode::ProtocolError),
        (one(kind::WINDOW_UPDATE, 0, 0, &[0x7f, 0xff, 0xff, 0xff]), ErrorCode::FlowControlError),
        (one(kind::PING, 0, 0, &vec![0; 20_000]), ErrorCode::FrameSizeError),
    ];
    for (number, (fault, expected)) in cases.into_iter().enumerate() {
        let mut sent = Sent::preface(&[]);
        sent.0.extend_from_slice(&fault.0);
        let mut conversation = after(&sent);
        assert_eq!(conversation.said.go_aways, [(0, code(expected))], "case {number}");
        assert!(conversation.server.is_over());
        let mut behind = Sent::default();
        behind.request(3, "GET", "/a");
        conversation.send(&behind.0, ROOM_BYTES);
        assert!(conversation.said.streams.is_empty(), "nothing behind it is answered");
    }
}

#[test]
fn what_is_no_preface_ends_the_connection() {
    let conversation = after(&Sent(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r!".to_vec()));
    assert_eq!(conversation.said.go_aways, [(0, code(ErrorCode::ProtocolError))]);
}

proptest! {
    #[test]
    fn the_split_of_the_bytes_changes_no_answer(
        lengths in prop::collection::vec(1_usize..60, 1..20), room_bytes in 1_usize..2000,
    ) {
        let mut sent = Sent::preface(&[(INITIAL_WINDOW_SIZE, 30_000)]);
        sent.grow(0, 1_000_000);
        let get = block(&[(":method", "PUT"), (":scheme", "http"), (":path", "/a"), ("content-length", "3")]);
        sent.frame(kind::HEADERS, flag::END_HEADERS, 1, &get);
        for stream in 1..20 {
            let path = ["/a", "/b", "/long"][stream as usize % 3];
            sent.request(2 * stream + 1, "GET", path);
            sent.frame(kind::PING, 0, 0, &[0; 8]);
        }
        sent.frame(kind::DATA, flag::END_STREAM | flag::PADDED, 1, &[1, 1, 2, 3, 0]);
        for stream in 1..20 {
            sent.grow(2 * stream + 1, 100_000);
        }
        let whole = after(&sent).said;
        prop_assert_eq!(whole.ended.len(), 20);
        let mut conversation = Conversation::new(files());
        let (mut rest, mut lengths) = (sent.0.as_slice(), lengths.iter().cycle());
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at(rest.len().min(*lengths.next().unwrap()));
            conversation.send(piece, room_bytes);
            rest = behind;
        }
        prop_assert_eq!(&conversation.said.streams, &whole.streams);
        prop_assert_eq!(conversation.said.pongs.len(), 19);
    }

    #[test]
    fn no_bytes_make_it_panic_or_write_much(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut sent = Sent::preface(&[]);
        sent.0.extend_from_slice(&bytes);
        let conversation = after(&sent);
        prop_assert!(conversation.longest_bytes < 1000 + 2 * bytes.len());
    }
}
