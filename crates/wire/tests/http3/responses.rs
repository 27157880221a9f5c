//! What a server answers, and what is no answer.

use loadcurve_wire::{AnswerError, Event, Http3Code, Http3Error, Malformed, Refusal, Response, Section};

use crate::refused_fields::REFUSED_FIELDS;
use crate::support::{
    DATA, HEADERS, RESERVED, STATUS_200, ends, events_and_rest, frame, headers, varint, with_requests,
};

fn ok() -> Vec<u8> {
    frame(HEADERS, STATUS_200)
}

/// What one answer to a request of this method brings when its stream ends.
fn answer(method: &str, bytes: &[u8]) -> Result<Vec<Event>, Malformed> {
    ends(&mut with_requests(&[method]), 0, bytes, true)
}

#[expect(clippy::unnecessary_wraps, reason = "it is compared with what may be an error of the connection")]
fn refused(problem: impl Into<Malformed>) -> Result<Vec<Event>, Malformed> {
    Ok(vec![Event::Refused(0, Refusal::Malformed(problem.into()))])
}

#[test]
fn every_byte_of_an_answer_is_counted() {
    let early = headers(&[(":status", "103"), ("link", "</a>")]);
    let unknown = frame(RESERVED, b"nobody's");
    let trailers = headers(&[("grpc-status", "0")]);
    let bytes =
        [early, ok(), unknown, frame(DATA, b"hello"), frame(DATA, b""), frame(DATA, b" world"), trailers]
            .concat();
    let Ok([Event::Answered(0, response)]) = answer("GET", &bytes)
        .as_deref()
        .map(|events| <[Event; 1]>::try_from(events).expect("there is one event"))
    else {
        panic!("it is an answer")
    };
    assert_eq!((response.status, response.body_bytes, response.header_bytes), (200, 11, 3));
    assert!(response.keep_alive);
    let total = response.header_bytes + response.body_bytes + response.framing_bytes;
    assert_eq!(total, bytes.len() as u64);
}

#[test]
fn the_body_is_handed_on_as_it_comes() {
    let mut http3 = with_requests(&["GET"]);
    let mut body = Vec::new();
    let bytes = [ok(), frame(DATA, b"hello "), frame(DATA, b"world")].concat();
    for piece in bytes.chunks(2) {
        let mut rest = piece;
        while !rest.is_empty() {
            let received = http3.receive_with(0, rest, false, &mut |status, part| {
                assert_eq!(status, 200);
                body.extend_from_slice(part);
            });
            rest = &rest[received.unwrap().consumed..];
        }
    }
    assert_eq!(body, b"hello world");
}

#[test]
fn an_answer_begins_with_its_header_unless_all_of_it_is_there() {
    let whole = [ok(), frame(DATA, b"body")].concat();
    let begun_and_ended = |bytes: &[u8]| {
        let mut http3 = with_requests(&["GET"]);
        let (mut events, _) = events_and_rest(&mut http3, 0, bytes, false).unwrap();
        events.extend(events_and_rest(&mut http3, 0, &whole[bytes.len()..], true).unwrap().0);
        events.iter().map(|event| matches!(event, Event::Begun(0))).collect::<Vec<_>>()
    };
    assert_eq!(begun_and_ended(&[]), [false]);
    assert_eq!(begun_and_ended(&whole[..5]), [true, false]);
    assert_eq!(begun_and_ended(&whole), [true, false]);
}

#[test]
fn answers_end_in_any_order() {
    let mut http3 = with_requests(&["GET", "GET", "GET"]);
    for tag in [2, 0, 1] {
        let events = ends(&mut http3, tag, &ok(), true).unwrap();
        let response = Response {
            status: 200,
            header_bytes: 3,
            body_bytes: 0,
            framing_bytes: 2,
            inflated_bytes: None,
            keep_alive: true,
            grpc_status: None,
        };
        assert_eq!(events, [Event::Answered(tag, response)]);
        // Its tag is free: what comes for it is nobody's.
        assert_eq!(events_and_rest(&mut http3, tag, b"more", true), Ok((vec![], 0)));
    }
}

#[test]
fn fields_that_no_response_can_have_refuse_it_alone() {
    for (fields, error) in REFUSED_FIELDS {
        assert_eq!(answer("GET", &headers(fields)), refused(error), "{fields:?}");
    }
    assert_eq!(answer("GET", &headers(&[(":status", "101")])), refused(Malformed::UnexpectedUpgrade));
    assert_eq!(Malformed::from(AnswerError::Status).http3_code(), Http3Code::MESSAGE_ERROR);
}

#[test]
fn a_content_length_is_that_of_the_data() {
    let stated = |length: &str| headers(&[(":status", "200"), ("content-length", length)]);
    let data = frame(DATA, b"12345");
    assert!(matches!(
        answer("GET", &[stated("5"), data.clone()].concat()).unwrap()[..],
        [Event::Answered(..)]
    ));
    for length in [0, 4, 6] {
        let bytes = [stated(&length.to_string()), data.clone()].concat();
        let error = AnswerError::ContentLength { stated_bytes: length, received_bytes: 5 };
        assert_eq!(answer("GET", &bytes), refused(error));
    }
    // An answer to HEAD states what that to GET would have (RFC 9110 §8.6).
    assert!(matches!(answer("HEAD", &stated("5")).unwrap()[..], [Event::Answered(..)]));
    assert_eq!(answer("HEAD", &[ok(), data.clone()].concat()), refused(AnswerError::UnexpectedBody));
    let no_content = headers(&[(":status", "204")]);
    assert_eq!(answer("GET", &[no_content, data].concat()), refused(AnswerError::UnexpectedBody));
    let twice = headers(&[(":status", "200"), ("content-length", "1"), ("content-length", "2")]);
    assert_eq!(answer("GET", &twice), refused(Malformed::ContentLengthConflict));
}

#[test]
fn trailers_have_no_pseudo_header_fields_and_end_the_answer() {
    let trailers = headers(&[("a", "b")]);
    assert_eq!(
        answer("GET", &[ok(), headers(&[(":status", "200")])].concat()),
        refused(AnswerError::PseudoField)
    );
    // RFC 9114 §4.1: whatever follows trailers is out of order, which is an error of the connection.
    for (kind, behind) in [(DATA, frame(DATA, b"x")), (HEADERS, trailers.clone())] {
        let bytes = [ok(), trailers.clone(), behind].concat();
        assert_eq!(answer("GET", &bytes), Err(Http3Error::UnexpectedFrame { kind }.into()));
    }
    assert!(matches!(
        answer("GET", &[ok(), trailers, frame(RESERVED, b"x")].concat()).unwrap()[..],
        [Event::Answered(..)]
    ));
}

#[test]
fn data_before_the_final_header_is_out_of_order() {
    let unexpected = Err(Http3Error::UnexpectedFrame { kind: DATA }.into());
    assert_eq!(answer("GET", &frame(DATA, b"x")), unexpected);
    assert_eq!(answer("GET", &[headers(&[(":status", "103")]), frame(DATA, b"x")].concat()), unexpected);
}

#[test]
fn a_stream_that_ends_too_early_is_no_answer() {
    assert_eq!(answer("GET", b""), refused(Http3Error::ResponseCut));
    assert_eq!(answer("GET", &headers(&[(":status", "103")])), refused(Http3Error::ResponseCut));
    // Within a frame it is an error of the connection (RFC 9114 §7.1).
    let whole = [ok(), frame(DATA, b"body")].concat();
    for cut in [1, 2, 4, 6, 7, 10] {
        assert_eq!(answer("GET", &whole[..cut]), Err(Http3Error::FrameCut.into()), "{cut}");
    }
    assert!(answer("GET", &whole[..5]).is_ok());
}

#[test]
fn a_section_that_is_too_long_is_refused_before_it_has_come() {
    let limit_bytes = 64 * 1024;
    let too_large = Malformed::TooLarge { section: Section::HeaderBlock, limit_bytes };
    let header = [varint(HEADERS), varint(limit_bytes as u64 + 1)].concat();
    let events = ends(&mut with_requests(&["GET"]), 0, &header, false);
    assert_eq!(events, refused(too_large));
    assert_eq!(too_large.http3_code(), Http3Code::EXCESSIVE_LOAD);
    // What is short while compressed counts as long as it is: index 25 again and again, 42 bytes each (RFC 9114 §4.2.2).
    let section = [&[0, 0][..], &[0xd9], &[0xfb; 2_000]].concat();
    assert_eq!(answer("GET", &frame(HEADERS, &section)), refused(too_large));
}

#[test]
fn a_stream_that_the_server_resets_is_refused_or_moves() {
    let mut http3 = with_requests(&["GET"; 3]);
    assert_eq!(http3.reset(0, Http3Code::REQUEST_REJECTED), Some(Event::Moved(0)));
    let refused = |tag, code| Some(Event::Refused(tag, Refusal::ResetHttp3(code)));
    assert_eq!(http3.reset(1, Http3Code::INTERNAL_ERROR), refused(1, Http3Code::INTERNAL_ERROR));
    assert_eq!(http3.reset(2, Http3Code(0x1_2345)), refused(2, Http3Code(0x1_2345)));
    assert_eq!(http3.reset(2, Http3Code::INTERNAL_ERROR), None);
}

#[test]
fn the_first_redirection_is_kept_over_all_connections() {
    let redirection = |to| headers(&[(":status", "302"), ("location", to)]);
    let mut http3 = with_requests(&["GET", "GET", "GET"]);
    ends(&mut http3, 0, &ok(), true).unwrap();
    assert_eq!(http3.first_location(), None);
    for (tag, to) in [(1, "/next"), (2, "/other")] {
        ends(&mut http3, tag, &redirection(to), true).unwrap();
    }
    http3.open();
    assert_eq!(http3.first_location(), Some(b"/next".as_slice()));
}

/// RFC 9110 §10.2.2: of an answer with the status 201 Location is where that is which was made.
#[test]
fn a_location_is_kept_of_redirections_alone() {
    let located = |status, at| headers(&[(":status", status), ("location", at)]);
    let mut http3 = with_requests(&["POST", "GET", "GET"]);
    let answers = [located("201", "/made"), located("304", "/same"), located("307", "/next")];
    for (tag, expected) in [None, None, Some(b"/next".as_slice())].into_iter().enumerate() {
        ends(&mut http3, tag, &answers[tag], true).unwrap();
        assert_eq!(http3.first_location(), expected);
    }
}
