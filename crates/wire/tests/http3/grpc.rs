//! Calls of gRPC over HTTP/3: the same messages and trailers as over HTTP/2 (gRPC's PROTOCOL-HTTP2 and its G2 for HTTP/3), in
//! the frames of RFC 9114.

use loadcurve_wire::{
    Body, Event, GrpcAnswer, GrpcCalls, GrpcError, GrpcStatus, Http3, Http3Settings, Http3Template,
    Malformed, Refusal, Response, call,
};

use crate::support::{DATA, ends, frame, headers, request, with_requests_and};

/// A message of three bytes behind its prefix.
const MESSAGE: &[u8] = b"\0\0\0\0\x03abc";
const HEAD: [(&str, &str); 2] = [(":status", "200"), ("content-type", "application/grpc")];
const OK: [(&str, &str); 1] = [("grpc-status", "0")];

fn calling(calls: GrpcCalls) -> Http3 {
    with_requests_and(&["POST"], &Http3Settings { calls: Some(calls), ..Http3Settings::default() })
}

/// How one call ends that is answered so, however that is cut, and what is said of it.
fn end_of(calls: GrpcCalls, answer: &[u8]) -> (Event, Option<String>) {
    let mut found = Vec::new();
    for at_once in [1, 2, 3, 7, answer.len()] {
        let mut http3 = calling(calls);
        let mut pieces = answer.chunks(at_once).peekable();
        let mut events = Vec::new();
        while let Some(piece) = pieces.next() {
            events.extend(ends(&mut http3, 0, piece, pieces.peek().is_none()).unwrap());
        }
        assert_eq!(events.len(), 1, "{events:?}");
        found.push((events[0], http3.end_of_call().map(std::borrow::Cow::into_owned)));
    }
    assert!(found.windows(2).all(|two| two[0] == two[1]), "{found:?}");
    found.remove(0)
}

fn end(answer: &[u8]) -> (Event, Option<String>) {
    end_of(GrpcCalls::default(), answer)
}

fn answer(head: &[(&str, &str)], body: &[u8], trailers: &[(&str, &str)]) -> Vec<u8> {
    [headers(head), frame(DATA, body), headers(trailers)].concat()
}

fn status_of(event: Event) -> Option<GrpcStatus> {
    match event {
        Event::Answered(0, Response { status: 200, grpc_status, .. }) => grpc_status,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_call_says_what_it_is_and_has_no_length() {
    let mut fields = Vec::new();
    let given = request("GET", &[("grpc-timeout", "5S")], Body::Bytes(MESSAGE));
    let called = call(&given, &mut fields);
    let [mut asked, mut plain] = [Vec::new(), Vec::new()];
    Http3::new(1, &Http3Settings::default()).begin(
        0,
        0,
        &Http3Template::new(&called).unwrap(),
        None,
        &mut asked,
    );
    let headers = [("te", "trailers"), ("content-type", "application/grpc"), ("grpc-timeout", "5S")];
    assert_eq!((called.headers, called.is_chunked), (&headers[..], true));
    // Whoever writes it out asks for the same, with the length that it then has.
    let written = request("POST", &headers, Body::Bytes(MESSAGE));
    Http3::new(1, &Http3Settings::default()).begin(
        0,
        0,
        &Http3Template::new(&written).unwrap(),
        None,
        &mut plain,
    );
    assert!(asked.len() < plain.len(), "a length is a field more");
    assert!(asked.ends_with(&frame(DATA, MESSAGE)));
}

#[test]
fn a_call_ends_with_the_status_of_its_trailers_or_of_the_only_section() {
    for (bytes, status, said) in [
        (answer(&HEAD, MESSAGE, &OK), Some(GrpcStatus::Ok), None),
        (
            answer(&HEAD, MESSAGE, &[("grpc-status", "14"), ("grpc-message", "try%20later")]),
            Some(GrpcStatus::Unavailable),
            Some("try later"),
        ),
        (
            headers(&[HEAD[0], HEAD[1], ("grpc-status", "12"), ("grpc-message", "no method")]),
            Some(GrpcStatus::Unimplemented),
            Some("no method"),
        ),
        // A status in front of data, or nowhere, says nothing of the end.
        ([headers(&[HEAD[0], HEAD[1], OK[0]]), frame(DATA, MESSAGE)].concat(), None, None),
        (answer(&[HEAD[0], HEAD[1], OK[0]], MESSAGE, &[("a", "b")]), None, None),
        ([headers(&HEAD), frame(DATA, MESSAGE)].concat(), None, None),
    ] {
        let (event, words) = end(&bytes);
        assert_eq!((status_of(event), words.as_deref()), (status, said), "{bytes:?}");
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
        let (event, _) = end(&answer(&HEAD, body, &OK));
        assert_eq!(event, Event::Refused(0, Refusal::Malformed(Malformed::Grpc(error))));
    }
    // Of another status nothing is asked.
    assert_eq!(status_of(end(&answer(&HEAD, b"\0", &[("grpc-status", "13")])).0), Some(GrpcStatus::Internal));
}

#[test]
fn an_answer_that_is_a_stream_has_any_number_of_whole_messages() {
    let stream = GrpcCalls { answer: GrpcAnswer::Stream, ..GrpcCalls::default() };
    for body in [&b""[..], MESSAGE, &[MESSAGE, b"\0\0\0\0\0", MESSAGE].concat()] {
        assert_eq!(status_of(end_of(stream, &answer(&HEAD, body, &OK)).0), Some(GrpcStatus::Ok));
    }
    let (event, _) = end_of(stream, &answer(&HEAD, b"\0\0\0\0\0\0", &OK));
    assert_eq!(event, Event::Refused(0, Refusal::Malformed(Malformed::Grpc(GrpcError::CutOff))));
}

#[test]
fn a_compressed_message_can_be_read_where_its_answer_says_by_gzip() {
    let asking = GrpcCalls { takes_compressed: true, ..GrpcCalls::default() };
    let compressed = b"\x01\0\0\0\x03abc";
    let gzip = [HEAD[0], HEAD[1], ("grpc-encoding", "gzip")];
    assert_eq!(status_of(end_of(asking, &answer(&gzip, compressed, &OK)).0), Some(GrpcStatus::Ok));
    for head in [&HEAD[..], &[HEAD[0], HEAD[1], ("grpc-encoding", "zstd")]] {
        let (event, _) = end_of(asking, &answer(head, compressed, &OK));
        assert_eq!(event, Event::Refused(0, Refusal::Malformed(Malformed::Grpc(GrpcError::Encoding))));
    }
}

#[test]
fn messages_of_one_answer_do_not_count_for_the_next_one_under_its_tag() {
    let template = Http3Template::new(&request("POST", &[], Body::Bytes(MESSAGE))).unwrap();
    let mut http3 = calling(GrpcCalls::default());
    for next in [4, 8, 12] {
        let found = ends(&mut http3, 0, &answer(&HEAD, MESSAGE, &OK), true).unwrap();
        assert_eq!(found.into_iter().map(status_of).collect::<Vec<_>>(), [Some(GrpcStatus::Ok)]);
        http3.begin(0, next, &template, None, &mut Vec::new());
    }
}
