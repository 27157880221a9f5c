//! The streams of a server's own, and which frame may be on which stream.

use loadcurve_wire::h3::{CriticalStream, Incoming, PeerSettings};
use loadcurve_wire::{Http3Code, Http3Error, Malformed};

use crate::support::{
    CANCEL_PUSH, CONTROL, DATA, DECODER, ENCODER, GOAWAY, HEADERS, MAX_PUSH_ID, PRIORITY_UPDATE,
    PUSH_PROMISE, RESERVED, SETTINGS, STATUS_200, events_and_rest, frame, varint, with_requests,
};

/// What the bytes of a control stream bring, behind its type and the settings.
fn control(bytes: &[u8]) -> Result<Incoming, Malformed> {
    let bytes = [&[0], frame(SETTINGS, b"").as_slice(), bytes].concat();
    with_requests(&["GET"]).receive_incoming(CONTROL, &bytes, false)
}

fn assert_error(result: &Result<Incoming, Malformed>, error: Http3Error, code: Http3Code) {
    assert_eq!(*result, Err(error.into()));
    assert_eq!(error.code(), code);
    assert!(error.to_string().len() > 20, "{error}");
}

#[test]
fn settings_come_first_and_once_and_unknown_ones_are_ignored() {
    let settings = [[0x1, 100], [0x7, 5], [0x21, 1], [0x6, 60]].concat();
    let mut http3 = with_requests(&["GET"]);
    assert_eq!(http3.peer_settings(), None);
    let bytes = [vec![0], frame(SETTINGS, &[&settings[..1], &[0x40], &settings[1..]].concat())].concat();
    // 100 is given in two bytes, because 0x64 alone would begin a longer form.
    assert_eq!(http3.receive_incoming(CONTROL, &bytes, false), Ok(Incoming::Continues));
    let expected = PeerSettings { table_bytes: 100, field_section_bytes: Some(60), blocked_streams: 5 };
    assert_eq!(http3.peer_settings(), Some(expected));

    let first =
        |bytes: Vec<u8>| with_requests(&["GET"]).receive_incoming(CONTROL, &[vec![0], bytes].concat(), false);
    for kind in [DATA, GOAWAY, RESERVED] {
        assert_error(&first(frame(kind, &[0])), Http3Error::NoSettings, Http3Code::MISSING_SETTINGS);
    }
    let again = control(&frame(SETTINGS, b""));
    assert_error(&again, Http3Error::UnexpectedFrame { kind: SETTINGS }, Http3Code::FRAME_UNEXPECTED);
    for (payload, setting, value) in [([1, 5, 1, 5], 1, 5), ([6, 5, 4, 9], 4, 9), ([6, 5, 2, 0], 2, 0)] {
        let error = Http3Error::Setting { setting, value };
        assert_error(&first(frame(SETTINGS, &payload)), error, Http3Code::SETTINGS_ERROR);
    }
    for payload in [&[1][..], &[6, 0x40], &[6, 5, 0xc0, 0]] {
        let error = Http3Error::FrameLength { kind: SETTINGS, bytes: payload.len() as u64 };
        assert_error(&first(frame(SETTINGS, payload)), error, Http3Code::FRAME_ERROR);
    }
    let long = first([varint(SETTINGS), varint(5_000)].concat());
    let error = Http3Error::FrameTooLarge { kind: SETTINGS, bytes: 5_000 };
    assert_error(&long, error, Http3Code::EXCESSIVE_LOAD);
}

#[test]
fn frames_that_are_on_the_wrong_stream_end_the_connection() {
    // RFC 9114 §7.2: on the control stream of a server, and on the stream of a request.
    for kind in [DATA, HEADERS, PUSH_PROMISE, MAX_PUSH_ID, PRIORITY_UPDATE, 0x2, 0x6, 0x8, 0x9] {
        let error = Http3Error::UnexpectedFrame { kind };
        assert_error(&control(&frame(kind, &[0])), error, Http3Code::FRAME_UNEXPECTED);
    }
    for kind in [SETTINGS, GOAWAY, CANCEL_PUSH, MAX_PUSH_ID, PRIORITY_UPDATE, 0x2, 0x6, 0x8, 0x9] {
        let bytes = [frame(HEADERS, STATUS_200), frame(kind, &[0])].concat();
        let mut http3 = with_requests(&["GET"]);
        let (_, rest) = events_and_rest(&mut http3, 0, &bytes[..5], false).unwrap();
        assert_eq!(rest, 0);
        let result = events_and_rest(&mut http3, 0, &bytes[5..], false).map(|_| Incoming::Continues);
        assert_error(&result, Http3Error::UnexpectedFrame { kind }, Http3Code::FRAME_UNEXPECTED);
    }
    assert_eq!(control(&[frame(RESERVED, b"x"), frame(0x1234_5678, b"")].concat()), Ok(Incoming::Continues));
}

#[test]
fn no_push_is_allowed() {
    assert_error(&control(&frame(CANCEL_PUSH, &[0])), Http3Error::Push, Http3Code::ID_ERROR);
    let result = events_and_rest(&mut with_requests(&["GET"]), 0, &frame(PUSH_PROMISE, &[0, 0, 0]), false);
    assert_error(&result.map(|_| Incoming::Continues), Http3Error::Push, Http3Code::ID_ERROR);
    let stream = with_requests(&["GET"]).receive_incoming(15, &[1, 0], false);
    assert_error(&stream, Http3Error::Push, Http3Code::ID_ERROR);
}

#[test]
fn a_server_has_one_stream_of_each_kind_and_keeps_it_open() {
    let kinds = [
        (CONTROL, 0, CriticalStream::Control),
        (ENCODER, 2, CriticalStream::Encoder),
        (DECODER, 3, CriticalStream::Decoder),
    ];
    for (stream, kind, critical) in kinds {
        let mut http3 = with_requests(&["GET"]);
        assert_eq!(http3.receive_incoming(stream, &[kind], false), Ok(Incoming::Continues));
        let twice = http3.receive_incoming(99, &[kind], false);
        assert_error(&twice, Http3Error::StreamTwice(critical), Http3Code::STREAM_CREATION_ERROR);
        let error = Http3Error::StreamClosed(critical);
        let closed = http3.receive_incoming(stream, &[], true);
        assert_error(&closed, error, Http3Code::CLOSED_CRITICAL_STREAM);
        let reset = http3.incoming_reset(stream).map(|()| Incoming::Continues);
        assert_error(&reset, error, Http3Code::CLOSED_CRITICAL_STREAM);
    }
}

#[test]
fn streams_of_unknown_types_are_not_read_and_may_end_before_their_type() {
    let mut http3 = with_requests(&["GET"]);
    let kind = varint(RESERVED << 20);
    let (last, first) = kind.split_last().unwrap();
    for byte in first {
        assert_eq!(http3.receive_incoming(15, &[*byte], false), Ok(Incoming::Continues));
    }
    assert_eq!(http3.receive_incoming(15, &[*last], false), Ok(Incoming::Unwanted));
    for stream in 20..1_000 {
        assert_eq!(http3.receive_incoming(4 * stream + 3, &[0x40], true), Ok(Incoming::Continues));
        assert_eq!(http3.receive_incoming(4 * stream + 3, &[0xc0], false), Ok(Incoming::Continues));
        http3.incoming_reset(4 * stream + 3).unwrap();
    }
}

#[test]
fn requests_behind_the_last_one_of_a_goaway_move_once() {
    let mut http3 = with_requests(&["GET"; 4]);
    let go_away = |stream| frame(GOAWAY, &varint(stream));
    let bytes = [vec![0], frame(SETTINGS, b""), go_away(8)].concat();
    http3.receive_incoming(CONTROL, &bytes, false).unwrap();
    assert!(http3.is_leaving());
    // RFC 9114 §5.2: those from stream 8 on, whose tags are 2 and 3.
    assert_eq!([http3.next_moved(), http3.next_moved(), http3.next_moved()], [Some(2), Some(3), None]);
    http3.receive_incoming(CONTROL, &go_away(4), false).unwrap();
    assert_eq!([http3.next_moved(), http3.next_moved()], [Some(1), None]);
    let (events, _) = events_and_rest(&mut http3, 0, &frame(HEADERS, STATUS_200), true).unwrap();
    assert!(matches!(events[..], [loadcurve_wire::Event::Answered(0, response)] if !response.keep_alive));

    let later = http3.receive_incoming(CONTROL, &go_away(8), false);
    assert_error(&later, Http3Error::GoAway { stream: 8 }, Http3Code::ID_ERROR);
    assert_error(&control(&go_away(3)), Http3Error::GoAway { stream: 3 }, Http3Code::ID_ERROR);
    for payload in [&[][..], &[0, 0], &[0x40]] {
        let error = Http3Error::FrameLength { kind: GOAWAY, bytes: payload.len() as u64 };
        assert_error(&control(&frame(GOAWAY, payload)), error, Http3Code::FRAME_ERROR);
    }
    let error = Http3Error::FrameLength { kind: GOAWAY, bytes: 9 };
    assert_error(&control(&[varint(GOAWAY), varint(9)].concat()), error, Http3Code::FRAME_ERROR);
}
