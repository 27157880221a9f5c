//! Calls of gRPC: what is sent, and how their answers are understood from any split.

use loadcurve_wire::h2::hpack::Decoder;
use loadcurve_wire::{
    Body, Event, Exchange as _, Grpc, GrpcAnswer, GrpcCalls, GrpcError, GrpcSettings, GrpcStatus,
    HttpExchange as _, InvalidRequest, Malformed, Received, Refusal, Request, Response,
};

use crate::support::{
    DATA, END_HEADERS, END_STREAM, HEADERS, block, data, fields_of, frame, frames_of, headers, request,
    reset, settings,
};

const MESSAGE: &[u8] = b"\0\0\0\0\x03abc";
const ANSWER_HEAD: [(&str, &str); 2] = [(":status", "200"), ("content-type", "application/grpc")];

/// An exchange with calls under way, with tags from 0 and streams from 1 on.
fn calling(calls: usize) -> Grpc {
    let mut exchange = Grpc::new(calls.max(1), &GrpcSettings::default());
    exchange.open();
    exchange.receive(&settings(&[])).unwrap();
    let template = Grpc::template(&request("POST", &[], MESSAGE)).unwrap();
    for tag in 0..calls {
        exchange.begin(tag, &template, None, &mut Vec::new());
    }
    exchange
}

/// What bytes bring that come in pieces of this length.
fn events(exchange: &mut Grpc, bytes: &[u8], at_once: usize) -> Vec<Event> {
    let mut events = Vec::new();
    for mut piece in bytes.chunks(at_once) {
        while !piece.is_empty() {
            let Received { consumed, event } = exchange.receive(piece).unwrap();
            events.extend(event.filter(|event| !matches!(event, Event::Begun(_))));
            piece = &piece[consumed..];
        }
    }
    events
}

/// How one call ends that is answered so, however that is cut.
fn end(answer: &[u8]) -> (Event, Option<String>) {
    let mut ends = Vec::new();
    for at_once in [1, 2, 3, 7, answer.len()] {
        let mut exchange = calling(1);
        let found = events(&mut exchange, answer, at_once);
        assert_eq!(found.len(), 1, "{found:?}");
        ends.push((found[0], exchange.said().map(std::borrow::Cow::into_owned)));
    }
    assert!(ends.windows(2).all(|two| two[0] == two[1]), "{ends:?}");
    ends.remove(0)
}

fn status_of(event: Event) -> Option<GrpcStatus> {
    match event {
        Event::Answered(0, Response { status: 200, grpc_status, .. }) => grpc_status,
        other => panic!("{other:?}"),
    }
}

fn answer(body: &[u8], trailers: &[(&str, &str)]) -> Vec<u8> {
    [headers(0, 1, &ANSWER_HEAD), data(0, 1, body), headers(END_STREAM, 1, trailers)].concat()
}

#[test]
fn a_call_is_a_post_of_a_message_behind_its_length_without_a_content_length() {
    let template = Grpc::template(&request("GET", &[("x-user", "me")], MESSAGE)).unwrap();
    let mut exchange = Grpc::new(1, &GrpcSettings::default());
    exchange.open();
    exchange.receive(&settings(&[])).unwrap();
    let mut sent = Vec::new();
    exchange.begin(0, &template, None, &mut sent);
    while exchange.can_write_body() {
        exchange.write_body(usize::MAX, &mut |_, _: &mut Vec<u8>| Err(()), &mut sent).unwrap();
    }
    let frames = frames_of(&sent);
    let [(HEADERS, _, 1, head), (DATA, END_STREAM, 1, body)] = &frames[..] else { panic!("{frames:?}") };
    assert_eq!(body, MESSAGE);
    let fields = fields_of(&mut Decoder::new(4096), head);
    let value = |name: &str| fields.iter().find(|field| field.0 == name).map(|field| field.1.as_str());
    assert_eq!(value(":method"), Some("POST"));
    assert_eq!(value(":path"), Some("/1k.txt"));
    assert_eq!(value("te"), Some("trailers"));
    assert_eq!(value("content-type"), Some("application/grpc"));
    assert_eq!(value("x-user"), Some("me"));
    assert_eq!(value("content-length"), None);
}

#[test]
fn the_form_of_the_messages_can_be_named_in_the_content_type() {
    let headers = [("Content-Type", "application/grpc+proto")];
    let template = Grpc::template(&request("POST", &headers, b"")).unwrap();
    let mut exchange = calling(0);
    let mut sent = Vec::new();
    exchange.begin(0, &template, None, &mut sent);
    let fields = fields_of(&mut Decoder::new(4096), &frames_of(&sent)[0].3);
    let types: Vec<_> = fields.iter().filter(|field| field.0 == "content-type").collect();
    assert_eq!(types, [&("content-type".to_owned(), "application/grpc+proto".to_owned())]);
}

#[test]
fn a_message_that_follows_the_head_is_refused() {
    let long = Request { body: Body::Following(10), ..request("POST", &[], b"") };
    assert_eq!(Grpc::template(&long).unwrap_err(), InvalidRequest::LongMessage);
}

#[test]
fn an_answer_is_complete_with_its_trailers_and_has_their_status() {
    let (event, said) = end(&answer(MESSAGE, &[("grpc-status", "0")]));
    assert_eq!((status_of(event), said), (Some(GrpcStatus::Ok), None));
    let Event::Answered(_, response) = event else { unreachable!() };
    assert_eq!(response.body_bytes, MESSAGE.len() as u64);
}

#[test]
fn an_error_needs_no_message_and_no_second_block() {
    let fields = [("grpc-status", "5"), ("grpc-message", "no%20such%20user")];
    let trailers_only = headers(END_STREAM, 1, &[&ANSWER_HEAD[..], &fields].concat());
    let expected = (Some(GrpcStatus::NotFound), Some("no such user".to_owned()));
    for bytes in [trailers_only, answer(b"", &fields), answer(MESSAGE, &fields)] {
        let (event, said) = end(&bytes);
        assert_eq!((status_of(event), said), expected);
    }
}

#[test]
fn a_status_that_is_missing_or_is_not_in_the_last_block_is_none() {
    let early = [&ANSWER_HEAD[..], &[("grpc-status", "0")]].concat();
    for bytes in [
        [headers(0, 1, &ANSWER_HEAD), data(END_STREAM, 1, MESSAGE)].concat(),
        [headers(0, 1, &early), data(END_STREAM, 1, MESSAGE)].concat(),
        [headers(0, 1, &early), data(0, 1, MESSAGE), headers(END_STREAM, 1, &[("x", "y")])].concat(),
        headers(END_STREAM, 1, &ANSWER_HEAD),
    ] {
        assert_eq!(status_of(end(&bytes).0), None);
    }
}

#[test]
fn a_status_without_a_meaning_is_unknown() {
    for value in ["17", "-1", "0x0", "ok", ""] {
        let status = status_of(end(&answer(b"", &[("grpc-status", value)])).0);
        assert_eq!(status, Some(GrpcStatus::Unknown), "{value}");
    }
}

#[test]
fn an_answer_of_status_ok_has_one_whole_message_that_can_be_read() {
    for (body, error) in [
        (&b""[..], GrpcError::Count { messages: 0 }),
        (&[MESSAGE, MESSAGE].concat(), GrpcError::Count { messages: 2 }),
        (b"\0\0\0\0\x04abc", GrpcError::CutOff),
        (b"\x01\0\0\0\x03abc", GrpcError::Compressed),
    ] {
        let (event, _) = end(&answer(body, &[("grpc-status", "0")]));
        assert_eq!(event, Event::Refused(0, Refusal::Malformed(Malformed::Grpc(error))));
    }
}

#[test]
fn an_answer_that_is_a_stream_has_any_number_of_whole_messages() {
    let settings = GrpcSettings {
        calls: GrpcCalls { answer: GrpcAnswer::Stream, ..GrpcCalls::default() },
        ..GrpcSettings::default()
    };
    let template = Grpc::template(&request("POST", &[], MESSAGE)).unwrap();
    for (body, expected) in [
        (&b""[..], Ok(())),
        (MESSAGE, Ok(())),
        (&[MESSAGE, b"\0\0\0\0\0", MESSAGE].concat(), Ok(())),
        (b"\0\0\0\0\0\0", Err(GrpcError::CutOff)),
        (b"\x01\0\0\0\x01a", Err(GrpcError::Compressed)),
    ] {
        let mut exchange = Grpc::new(1, &settings);
        exchange.open();
        exchange.receive(&super::support::settings(&[])).unwrap();
        exchange.begin(0, &template, None, &mut Vec::new());
        let found = events(&mut exchange, &answer(body, &[("grpc-status", "0")]), 3);
        match expected {
            Ok(()) => {
                let statuses: Vec<_> = found.iter().copied().map(status_of).collect();
                assert_eq!(statuses, [Some(GrpcStatus::Ok)]);
            }
            Err(error) => {
                assert_eq!(found, [Event::Refused(0, Refusal::Malformed(Malformed::Grpc(error)))]);
            }
        }
    }
}

#[test]
fn messages_of_one_answer_do_not_count_for_the_next_one_under_its_tag() {
    let template = Grpc::template(&request("POST", &[], MESSAGE)).unwrap();
    let mut exchange = calling(1);
    for stream in [1, 3, 5] {
        let bytes = [
            headers(0, stream, &ANSWER_HEAD),
            data(0, stream, MESSAGE),
            headers(END_STREAM, stream, &[("grpc-status", "0")]),
        ];
        let found = events(&mut exchange, &bytes.concat(), usize::MAX);
        assert_eq!(found.iter().copied().map(status_of).collect::<Vec<_>>(), [Some(GrpcStatus::Ok)]);
        exchange.begin(0, &template, None, &mut Vec::new());
    }
}

#[test]
fn what_is_said_of_one_call_is_not_said_of_the_next() {
    let mut exchange = calling(2);
    let failed =
        headers(END_STREAM, 1, &[&ANSWER_HEAD[..], &[("grpc-status", "13"), ("grpc-message", "a")]].concat());
    events(&mut exchange, &failed, usize::MAX);
    assert_eq!(exchange.said().as_deref(), Some("a"));
    let silent = headers(END_STREAM, 3, &[&ANSWER_HEAD[..], &[("grpc-status", "13")]].concat());
    events(&mut exchange, &silent, usize::MAX);
    assert_eq!(exchange.said(), None);
}

#[test]
fn long_words_of_a_server_are_kept_up_to_a_limit() {
    let mut block = block(&[&ANSWER_HEAD[..], &[("grpc-status", "13")]].concat());
    // 127 + 0x59 + (0x0e << 7) = 2008 bytes (RFC 7541 section 5.1).
    block.extend_from_slice(b"\x00\x0cgrpc-message\x7f\xd9\x0e");
    block.extend(std::iter::repeat_n(b'x', 2008));
    let mut exchange = calling(1);
    let bytes = frame(HEADERS, END_HEADERS | END_STREAM, 1, &block);
    events(&mut exchange, &bytes, usize::MAX);
    assert_eq!(exchange.said().map(|said| said.len()), Some(1024));
}

#[test]
fn a_stream_that_is_reset_is_no_answer() {
    let (event, _) = end(&[headers(0, 1, &ANSWER_HEAD), reset(1, 8)].concat());
    assert_eq!(event, Event::Refused(0, Refusal::Reset(loadcurve_wire::ErrorCode::Cancel)));
}

/// The same fields with the way in which compressed messages are compressed.
fn head_with(encoding: Option<&'static str>) -> Vec<(&'static str, &'static str)> {
    [&ANSWER_HEAD[..], &encoding.map(|way| ("grpc-encoding", way)).into_iter().collect::<Vec<_>>()].concat()
}

#[test]
fn a_compressed_message_can_be_read_where_its_answer_says_by_gzip() {
    let settings = GrpcSettings {
        calls: GrpcCalls { takes_compressed: true, ..GrpcCalls::default() },
        ..GrpcSettings::default()
    };
    let template = Grpc::template(&request("POST", &[], MESSAGE)).unwrap();
    let encoding = Event::Refused(0, Refusal::Malformed(Malformed::Grpc(GrpcError::Encoding)));
    for (way, flag, is_read) in [
        (Some("gzip"), 1, true),
        (Some("gzip"), 0, true),
        (Some("zstd"), 0, true),
        (Some("zstd"), 1, false),
        (Some("identity"), 1, false),
        (None, 1, false),
        (None, 0, true),
    ] {
        let body = [&[flag][..], &MESSAGE[1..]].concat();
        let end = headers(END_STREAM, 1, &[("grpc-status", "0")]);
        let answer = [headers(0, 1, &head_with(way)), data(0, 1, &body), end].concat();
        for at_once in [1, 5, answer.len()] {
            let mut exchange = Grpc::new(1, &settings);
            exchange.open();
            exchange.receive(&super::support::settings(&[])).unwrap();
            exchange.begin(0, &template, None, &mut Vec::new());
            let found = events(&mut exchange, &answer, at_once);
            if is_read {
                assert_eq!(status_of(found[0]), Some(GrpcStatus::Ok), "{way:?} {flag}");
            } else {
                assert_eq!(found, [encoding], "{way:?} {flag}");
            }
        }
    }
}
