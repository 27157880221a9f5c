//! HTTP/3 as `limit` speaks it, in memory.

use std::time::Duration;

use loadcurve_servers::http2::{Fate, Last};
use loadcurve_servers::http3::HEADER_BYTES_MAX;
use loadcurve_servers::reply::Outcome;
use loadcurve_wire::h3::frame::kind;
use loadcurve_wire::{
    Body, Event, GrpcCalls, GrpcStatus, Http3, Http3Code, Http3Settings, Http3Template, Method, Request,
    Target, Version, call,
};
use proptest::prelude::*;

use crate::frames::Memory;
use crate::grpc::request_of_call;
use crate::streams::{Conversation, framed, request, section};

const BODY: &[u8] = b"0123456789abcdef";
/// The client's control stream, and its other ones.
const CONTROL: u64 = 2;
const OTHER: u64 = 6;
const LONG_BYTES: usize = 100_000;
/// A control stream with empty SETTINGS.
const SETTINGS: [u8; 3] = [0, 4, 0];

fn files() -> Memory {
    Memory::of(&[("/a", BODY), ("/empty", b""), ("/long", &vec![b'x'; LONG_BYTES])])
}

fn conversation() -> Conversation {
    let mut conversation = Conversation::new(files());
    conversation.send(CONTROL, &SETTINGS, false);
    conversation
}

/// The code with which a connection ends that has these bytes on this stream.
fn code_after(stream: u64, bytes: &[u8], is_end: bool) -> Option<Http3Code> {
    let mut conversation = Conversation::new(files());
    conversation.send(stream, bytes, is_end);
    conversation.failed.map(loadcurve_wire::Http3Error::code)
}

#[test]
fn each_request_is_answered_on_its_stream() {
    let mut conversation = conversation();
    let asked = [
        ("GET", "/a", ":status: 200", "content-length: 16", BODY.len()),
        ("HEAD", "/a", ":status: 200", "content-length: 16", 0),
        ("GET", "/b", ":status: 404", "content-length: 0", 0),
        ("DELETE", "/a", ":status: 405", "content-length: 0", 0),
        ("GET", "/a?b=c", ":status: 200", "content-length: 16", BODY.len()),
        ("GET", "/empty", ":status: 200", "content-length: 0", 0),
        ("GET", "/long", ":status: 200", "content-length: 100000", LONG_BYTES),
    ];
    for (stream, (method, path, ..)) in (0..).step_by(4).zip(asked) {
        conversation.send(stream, &request(method, path, &[]), true);
    }
    for (stream, (_, path, status, length, body_bytes)) in (0..).step_by(4).zip(asked) {
        let answered = &conversation.streams.answered[&stream];
        let (fields, body) = answered.fields_and_body();
        assert_eq!(
            (fields, body.len(), answered.has_ended),
            (vec![status.into(), length.into()], body_bytes, true)
        );
        assert!(path != "/a" || body.is_empty() || body == BODY);
    }
    assert!(conversation.server.is_idle());
}

#[test]
fn a_request_that_equals_the_one_before_is_not_looked_at_again() {
    let mut conversation = conversation();
    for stream in (0..40).step_by(4) {
        conversation.send(stream, &request("GET", "/a", &[]), true);
    }
    assert_eq!((conversation.memory.looks, conversation.streams.answered.len()), (1, 10));
}

#[test]
fn what_this_project_s_own_client_writes_is_answered_so_that_it_understands() {
    let template = |method: Method, target, body| {
        let version = Version::Http11;
        let headers = &[];
        Http3Template::new(&Request {
            version,
            method,
            target,
            authority: "a",
            headers,
            body,
            is_chunked: false,
        })
    };
    let get = template(Method::GET, Target::Fixed("/long"), Body::Bytes(b"")).unwrap();
    let varying = template(Method::GET, Target::Varying, Body::Bytes(b"")).unwrap();
    let post = template(Method::new("POST").unwrap(), Target::Fixed("/a"), Body::Bytes(b"body")).unwrap();
    for (template, target, status, body_bytes) in
        [(&get, None, 200, LONG_BYTES as u64), (&varying, Some(&b"/a"[..]), 200, 16), (&post, None, 405, 0)]
    {
        let mut client = Http3::new(1, &Http3Settings::default());
        let (mut control, mut bytes) = (Vec::new(), Vec::new());
        client.write_control_stream(&mut control);
        client.begin(0, 0, template, target, &mut bytes);
        let mut conversation = Conversation::new(files());
        conversation.send(CONTROL, &control, false);
        conversation.send(0, &bytes, true);
        assert_eq!(conversation.failed, None);
        let said = conversation.server.control_output().clone();
        client.receive_incoming(3, &said, false).unwrap();
        assert_eq!(client.peer_settings().unwrap().table_bytes, 0);
        let mut parts = conversation.streams.answered[&0].written().chunks(1000).peekable();
        let mut answered = None;
        while let Some(part) = parts.next() {
            let mut rest = part;
            while !rest.is_empty() {
                let received = client.receive(0, rest, parts.peek().is_none()).unwrap();
                rest = &rest[received.consumed..];
                if let Some(Event::Answered(_, response)) = received.event {
                    answered = Some((response.status, response.body_bytes));
                }
            }
        }
        let end = client.receive(0, &[], true).unwrap().event;
        if let Some(Event::Answered(_, response)) = end {
            answered = Some((response.status, response.body_bytes));
        }
        assert_eq!(answered, Some((status, body_bytes)));
    }
}

#[test]
fn an_answer_goes_on_as_its_stream_has_room() {
    let mut conversation = conversation().with_room(10);
    conversation.send(0, &request("GET", "/long", &[]), true);
    assert_eq!(conversation.end_of(0), "under way");
    for _ in 0..=LONG_BYTES / 1000 {
        conversation.more_room(0, 1000);
    }
    assert_eq!(conversation.streams.answered[&0].fields_and_body().1.len(), LONG_BYTES);
    assert!(conversation.server.is_idle());
}

#[test]
fn a_stream_that_the_client_gives_up_leaves_nothing_behind() {
    let mut conversation = conversation().with_room(10);
    conversation.send(0, &request("GET", "/long", &[]), true);
    conversation.send(4, &request("GET", "/a", &[])[..5], false);
    assert!(!conversation.server.is_idle());
    conversation.server.forget(0);
    conversation.server.forget(4);
    assert!(conversation.server.is_idle());
}

#[test]
fn a_request_that_breaks_the_rules_ends_its_stream_alone() {
    let pseudo = [(":method", "GET"), (":scheme", "https"), (":path", "/a"), (":authority", "a")];
    let with = |more: (&'static str, &'static str)| section(&[&pseudo[..], &[more]].concat());
    let long = "x".repeat(2 * HEADER_BYTES_MAX);
    let sections = [
        section(&pseudo[..3]),
        section(&pseudo[1..]),
        section(&[&pseudo[..], &pseudo[..1]].concat()),
        with(("Upper", "x")),
        with(("connection", "close")),
        with(("te", "gzip")),
        with((":protocol", "x")),
        with(("host", "b")),
        with(("content-length", "x")),
    ];
    let mut streams = (4..).step_by(4);
    let mut conversation = conversation();
    for section in &sections {
        let stream = streams.next().unwrap();
        conversation.send(stream, &framed(kind::HEADERS, section), true);
        assert_eq!(conversation.end_of(stream), "0x10e", "{}", section.escape_ascii());
    }
    let others = [
        // No end of what its length announces, and more than that.
        (request("POST", "/a", &[("content-length", "1")]), "0x10e"),
        ([request("POST", "/a", &[("content-length", "1")]), framed(kind::DATA, b"ab")].concat(), "0x10e"),
        // Pseudo-header fields behind the body.
        ([request("POST", "/a", &[]), framed(kind::HEADERS, &section(&pseudo))].concat(), "0x10e"),
        (Vec::new(), "0x10d"),
        // A frame of a type that nobody knows is no request.
        (framed(0x21, b"x"), "0x10d"),
        (framed(kind::HEADERS, &section(&[("x", &long)])), "0x107"),
    ];
    for (bytes, code) in others {
        let stream = streams.next().unwrap();
        conversation.send(stream, &bytes, true);
        assert_eq!(conversation.end_of(stream), code);
    }
    // A host in place of the authority is right, as are a body of the announced length and trailers.
    let host = section(&[&pseudo[..3], &[("host", "a")]].concat());
    let body = [
        request("POST", "/a", &[("content-length", "2")]),
        framed(kind::DATA, b"ab"),
        framed(kind::HEADERS, &section(&[("x", "y")])),
    ];
    for (bytes, status) in [(framed(kind::HEADERS, &host), "200"), (body.concat(), "405")] {
        let stream = streams.next().unwrap();
        conversation.send(stream, &bytes, true);
        assert_eq!(conversation.end_of(stream), format!(":status: {status}"));
    }
    assert_eq!(conversation.failed, None);
}

/// RFC 9114 §7.2, §8.1 and §6.2, RFC 9204 §6.
#[test]
fn what_breaks_the_protocol_ends_the_connection_with_its_code() {
    let requests: [(Vec<u8>, Http3Code); 7] = [
        (framed(kind::DATA, b"x"), Http3Code::FRAME_UNEXPECTED),
        (framed(kind::SETTINGS, b""), Http3Code::FRAME_UNEXPECTED),
        (framed(kind::PUSH_PROMISE, b"\0"), Http3Code::FRAME_UNEXPECTED),
        // PING of HTTP/2.
        (framed(0x6, b"12345678"), Http3Code::FRAME_UNEXPECTED),
        (request("GET", "/a", &[])[..5].to_vec(), Http3Code::FRAME_ERROR),
        // An entry of a dynamic table, which was not offered; an index behind the static one.
        (framed(kind::HEADERS, &[2, 0, 0x80]), Http3Code::QPACK_DECOMPRESSION_FAILED),
        (framed(kind::HEADERS, &[0, 0, 0xff, 0x7f]), Http3Code::QPACK_DECOMPRESSION_FAILED),
    ];
    for (bytes, code) in requests {
        assert_eq!(code_after(0, &bytes, true), Some(code), "{}", bytes.escape_ascii());
    }
    let trailers = [request("POST", "/a", &[]), framed(kind::HEADERS, &section(&[("x", "y")]))].concat();
    let behind_trailers = [trailers, framed(kind::DATA, b"x")].concat();
    assert_eq!(code_after(0, &behind_trailers, true), Some(Http3Code::FRAME_UNEXPECTED));
    let controls: [(&[u8], bool, Http3Code); 12] = [
        (&[0, 7, 1, 0], false, Http3Code::MISSING_SETTINGS),
        (&[0, 4, 0, 4, 0], false, Http3Code::FRAME_UNEXPECTED),
        (&[0, 4, 0, 0, 0], false, Http3Code::FRAME_UNEXPECTED),
        // A setting of HTTP/2, and one twice.
        (&[0, 4, 2, 2, 1], false, Http3Code::SETTINGS_ERROR),
        (&[0, 4, 4, 6, 1, 6, 1], false, Http3Code::SETTINGS_ERROR),
        // A push that is cancelled without having been promised; MAX_PUSH_ID and GOAWAY that go back.
        (&[0, 4, 0, 3, 1, 0], false, Http3Code::ID_ERROR),
        (&[0, 4, 0, 13, 1, 5, 13, 1, 4], false, Http3Code::ID_ERROR),
        (&[0, 4, 0, 7, 1, 4, 7, 1, 5], false, Http3Code::ID_ERROR),
        (&[0, 4, 0, 7, 2, 4, 4], false, Http3Code::FRAME_ERROR),
        (&[0, 4, 0], true, Http3Code::CLOSED_CRITICAL_STREAM),
        // A stream of pushes, and a table that was not offered.
        (&[1], false, Http3Code::STREAM_CREATION_ERROR),
        (&[2, 0x3f, 0x01], false, Http3Code::QPACK_ENCODER_STREAM_ERROR),
    ];
    for (bytes, is_end, code) in controls {
        assert_eq!(code_after(CONTROL, bytes, is_end), Some(code), "{bytes:?}");
    }
    let mut twice = conversation();
    twice.send(OTHER, &SETTINGS, false);
    assert_eq!(twice.failed.map(loadcurve_wire::Http3Error::code), Some(Http3Code::STREAM_CREATION_ERROR));
    assert_eq!(code_after(CONTROL, &[3, 0x81], false), Some(Http3Code::QPACK_DECODER_STREAM_ERROR));
}

#[test]
fn priorities_unknown_frames_and_unknown_streams_change_nothing() {
    let mut conversation = conversation();
    let mut priority = Vec::new();
    loadcurve_wire::h3::frame::write_priority_update(4, "u=1, i", &mut priority);
    conversation.send(CONTROL, &priority, false);
    conversation.send(CONTROL, &framed(0x40 * 0x1f + 0x21, b"anything"), false);
    // A type of many bytes that nobody knows.
    conversation.send(OTHER, &[0xc0, 1, 2, 3, 4, 5, 6, 7, 8], false);
    let bytes = [framed(0x21, b"x"), request("GET", "/a", &[]), framed(0x21, b"")].concat();
    conversation.send(0, &bytes, true);
    assert_eq!((conversation.failed, conversation.end_of(0).as_str()), (None, ":status: 200"));
    assert_eq!(conversation.unwanted, [OTHER]);
    // Priorities of what is no request.
    priority.clear();
    loadcurve_wire::h3::frame::write_priority_update(5, "u=1", &mut priority);
    conversation.send(CONTROL, &priority, false);
    assert_eq!(conversation.failed.map(loadcurve_wire::Http3Error::code), Some(Http3Code::ID_ERROR));
}

#[test]
fn frames_without_end_that_bring_no_request_end_the_connection() {
    let mut conversation = conversation();
    let empty = framed(kind::DATA, b"").repeat(1000);
    conversation.send(0, &request("POST", "/a", &[]), false);
    for _ in 0..9 {
        conversation.send(0, &empty, false);
    }
    assert_eq!(conversation.failed, None);
    conversation.send(0, &empty, false);
    conversation.send(0, &empty, false);
    assert_eq!(conversation.failed.map(loadcurve_wire::Http3Error::code), Some(Http3Code::EXCESSIVE_LOAD));
}

#[test]
fn each_fate_concerns_its_request_alone() {
    let outcome = |outcome| Fate { outcome, ..Fate::default() };
    let mut conversation = conversation();
    conversation.memory.fates = vec![
        outcome(Outcome::Reset),
        outcome(Outcome::Error),
        outcome(Outcome::Truncated),
        outcome(Outcome::WrongLength),
    ];
    for stream in [0, 4, 8, 12, 16] {
        conversation.send(stream, &request("GET", "/a", &[]), true);
    }
    let ends = [0, 4, 8, 12, 16].map(|stream| conversation.end_of(stream));
    assert_eq!(ends, ["0x102", ":status: 500", "0x102", ":status: 200", ":status: 200"]);
    let longer = [BODY, b" "].concat();
    assert_eq!(conversation.streams.answered[&8].fields_and_body().1, BODY[..BODY.len() - 1]);
    assert_eq!(conversation.streams.answered[&12].fields_and_body().1, longer);
    assert_eq!(conversation.streams.answered[&16].fields_and_body().1, BODY);
}

#[test]
fn a_delayed_answer_delays_no_other_one() {
    let due = Duration::from_millis(5);
    let mut conversation = conversation();
    conversation.memory.fates = vec![Fate { due: Some(due), ..Fate::default() }];
    for stream in [0, 4] {
        conversation.send(stream, &request("GET", "/a", &[]), true);
    }
    assert_eq!(
        (conversation.end_of(0).as_str(), conversation.end_of(4).as_str()),
        ("nothing", ":status: 200")
    );
    assert_eq!(conversation.server.next_due(), Some(due));
    conversation.server.release(Duration::from_micros(4999), &mut conversation.streams);
    assert_eq!(conversation.end_of(0), "nothing");
    conversation.server.release(due, &mut conversation.streams);
    assert_eq!((conversation.end_of(0).as_str(), conversation.server.next_due()), (":status: 200", None));
}

#[test]
fn nothing_behind_the_last_request_is_answered_and_the_client_learns_which_that_is() {
    for (is_announced, said) in [(true, &[7_u8, 1, 4][..]), (false, &[])] {
        let mut conversation = conversation();
        conversation.server.control_output().clear();
        conversation.memory.fates = vec![Fate { last: Some(Last { is_announced }), ..Fate::default() }];
        for stream in [0, 4] {
            conversation.send(stream, &request("GET", "/a", &[]), true);
        }
        // Request rejected: it may be sent again (RFC 9114 §4.1.1).
        assert_eq!(
            (conversation.end_of(0).as_str(), conversation.end_of(4).as_str()),
            (":status: 200", "0x10b")
        );
        assert_eq!(conversation.server.control_output(), said);
        assert!(conversation.server.is_over());
    }
}

proptest! {
    #[test]
    fn however_a_request_is_split_it_is_answered_alike(cuts in prop::collection::vec(0_usize..200, 0..6)) {
        let bytes = [
            request("GET", "/a", &[("x", "y"), ("content-length", "4")]),
            framed(kind::DATA, b"ab"),
            framed(0x21, b"unknown"),
            framed(kind::DATA, b"cd"),
            framed(kind::HEADERS, &section(&[("trailer", "z")])),
        ].concat();
        let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.sort_unstable();
        let mut conversation = conversation();
        let mut begin = 0;
        for cut in cuts {
            conversation.send(0, &bytes[begin..cut], false);
            begin = cut;
        }
        conversation.send(0, &bytes[begin..], true);
        prop_assert_eq!(conversation.end_of(0), ":status: 200");
        prop_assert_eq!(conversation.streams.answered[&0].fields_and_body().1, BODY);
    }
}

#[test]
fn a_call_of_grpc_is_answered_with_messages_and_its_status_behind_them() {
    let calls = Some(GrpcCalls::default());
    let given = request_of_call(b"\0\0\0\0\x03abc");
    let template = Http3Template::new(&call(&given, &mut Vec::new())).unwrap();
    let mut conversation = conversation();
    conversation.memory.fates = vec![Fate::default(), Fate { outcome: Outcome::Error, ..Fate::default() }];
    let mut client = Http3::new(1, &Http3Settings { calls, ..Http3Settings::default() });
    let mut ask = |stream| {
        let mut bytes = Vec::new();
        client.begin(0, stream, &template, None, &mut bytes);
        conversation.send(stream, &bytes, true);
        let mut rest = conversation.streams.answered[&stream].written();
        loop {
            let received = client.receive(0, rest, true).unwrap();
            rest = &rest[received.consumed..];
            match received.event {
                Some(Event::Answered(_, response)) => return (response.body_bytes, response.grpc_status),
                Some(Event::Begun(_)) => {}
                other => panic!("{other:?}"),
            }
        }
    };
    assert_eq!(ask(0), (5, Some(GrpcStatus::Ok)));
    assert_eq!(ask(4), (0, Some(GrpcStatus::Internal)));
    // Messages are echoed over HTTP/2 alone.
    let mut conversation = self::conversation();
    conversation.memory.echoes = true;
    let fields = [("content-type", "application/grpc"), ("te", "trailers")];
    conversation.send(0, &request("POST", "/package.Service/Method", &fields), true);
    let (fields, body) = conversation.streams.answered[&0].fields_and_body();
    assert_eq!(fields, [":status: 200", "content-type: application/grpc", "grpc-status: 12"]);
    assert!(body.is_empty());
}

#[test]
fn many_messages_of_a_call_precede_its_status() {
    let mut conversation = conversation();
    conversation.memory.messages = 5_000;
    let fields = [("content-type", "application/grpc"), ("te", "trailers")];
    conversation.send(0, &request("POST", "/package.Service/Method", &fields), true);
    let (fields, body) = conversation.streams.answered[&0].fields_and_body();
    assert_eq!((fields.len(), body.len()), (3, 25_000));
}
