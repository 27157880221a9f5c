//! What a hostile server can make a client hold or do is bounded.

use loadcurve_wire::{Http3Code, Http3Error, Malformed};

use crate::support::{
    CONTROL, DATA, ENCODER, HEADERS, RESERVED, SETTINGS, STATUS_200, ends, frame, headers, varint,
    with_requests,
};

const FLOOD: Result<(), Malformed> = Err(Malformed::Http3(Http3Error::Flood));

#[test]
fn frames_without_any_part_of_an_answer_end() {
    let answer = |before: Vec<u8>, one: Vec<u8>| {
        let mut http3 = with_requests(&["GET"]);
        ends(&mut http3, 0, &before, false)
            .and_then(|_| ends(&mut http3, 0, &one.repeat(20_000), false))
            .map(|_| ())
    };
    assert_eq!(answer(vec![], headers(&[(":status", "103")])), FLOOD);
    assert_eq!(answer(vec![], frame(RESERVED, b"")), FLOOD);
    assert_eq!(answer(frame(HEADERS, STATUS_200), frame(DATA, b"")), FLOOD);
    assert_eq!(answer(frame(HEADERS, STATUS_200), frame(DATA, b"x")), Ok(()));
    let incoming = |stream, first: Vec<u8>, one: Vec<u8>| {
        let mut http3 = with_requests(&["GET"]);
        http3.receive_incoming(stream, &[first, one.repeat(20_000)].concat(), false).map(|_| ())
    };
    let settings = [vec![0], frame(SETTINGS, b"")].concat();
    assert_eq!(incoming(CONTROL, settings, frame(RESERVED, b"x")), FLOOD);
    assert_eq!(incoming(ENCODER, vec![2, 0x3f, 0xe1, 0x1f], vec![0x41, b'a', 1, b'1']), FLOOD);
    assert_eq!(Http3Error::Flood.code(), Http3Code::EXCESSIVE_LOAD);
}

#[test]
fn an_instruction_that_no_table_has_room_for_is_refused_by_its_length() {
    // A literal with a name of 20,000 bytes: more than 4,096 have in the longest codes.
    let mut http3 = with_requests(&["GET"]);
    let bytes = [2, 0x3f, 0xe1, 0x1f, 0x5f, 0x81, 0x9c, 0x01];
    let refused = http3.receive_incoming(ENCODER, &bytes, false);
    assert!(matches!(refused, Err(Malformed::Http3(Http3Error::EncoderStream(_)))), "{refused:?}");
}

#[test]
fn streams_without_a_type_are_followed_up_to_a_number() {
    let mut http3 = with_requests(&["GET"]);
    let opened = (0..1_000)
        .map(|number| http3.receive_incoming(4 * number + 3, &[0xc0], false))
        .position(|opened| opened == Err(Http3Error::TooManyStreams.into()));
    assert_eq!(opened, Some(64));
}

#[test]
fn a_frame_of_any_length_is_skipped_without_being_held() {
    // 2^62 − 1 bytes of an unknown frame, and of data.
    let longest = varint((1 << 62) - 1);
    let mut http3 = with_requests(&["GET"]);
    for kind in [RESERVED, DATA] {
        let mut http3_of = with_requests(&["GET"]);
        ends(&mut http3_of, 0, &frame(HEADERS, STATUS_200), false).unwrap();
        ends(&mut http3_of, 0, &[varint(kind), longest.clone()].concat(), false).unwrap();
        for _ in 0..100 {
            assert_eq!(ends(&mut http3_of, 0, &[0; 10_000], false), Ok(vec![]));
        }
    }
    let control = [vec![0], frame(SETTINGS, b""), varint(RESERVED), longest].concat();
    http3.receive_incoming(CONTROL, &control, false).unwrap();
    http3.receive_incoming(CONTROL, &[0; 10_000], false).unwrap();
}
