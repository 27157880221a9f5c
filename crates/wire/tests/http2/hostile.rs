//! Servers that break the protocol, or do all that it allows.

use loadcurve_wire::{Event, Exchange as _, Http2, Http2Error, Http2Settings, Malformed, Refusal, Section};

use crate::support::{
    ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, NEWEST_ENTRY, PADDED, PING, PRIORITY,
    PUSH_PROMISE, RST_STREAM, SETTINGS, STATUS_200, WINDOW_UPDATE, data, events_of, frame, frames_of,
    go_away, headers, output, reset, settings, window_update, with_requests,
};

#[track_caller]
fn assert_error(bytes: &[u8], error: Http2Error) {
    let result = events_of(&mut with_requests(&["GET"]), bytes);
    assert_eq!(result, Err(error.into()));
    let sentence = result.unwrap_err().to_string();
    assert!(sentence.contains(' ') && sentence.starts_with(char::is_lowercase), "{sentence}");
}

#[test]
fn a_server_of_another_protocol_is_known_by_its_first_bytes() {
    let first_words = |bytes: &[u8]| {
        let mut exchange = Http2::new(1, &Http2Settings::default());
        exchange.open();
        events_of(&mut exchange, bytes)
    };
    assert_eq!(first_words(b"HTTP/1.1 400 Bad Request\r\n"), Err(Http2Error::Http1.into()));
    assert_eq!(first_words(b"HTTP/"), Err(Http2Error::Http1.into()));
    assert_eq!(first_words(b"HTT"), Ok(vec![]));
    // A TLS alert, text, a frame other than SETTINGS, an acknowledgement of what has not been sent.
    for bytes in [
        b"\x15\x03\x01\x00\x02\x02\x46".as_slice(),
        b"220 ready",
        &frame(PING, 0, 0, &[0; 8]),
        &frame(SETTINGS, ACK, 0, &[]),
    ] {
        assert_eq!(first_words(bytes), Err(Http2Error::NoSettings.into()), "{bytes:?}");
    }
}

#[test]
fn frames_on_streams_that_cannot_carry_them_are_errors() {
    let on = |kind, stream| Http2Error::FrameStream { kind, stream };
    for stream in [0, 2, 3] {
        assert_error(&data(0, stream, b"x"), on(DATA, stream));
        assert_error(&headers(0, stream, &[(":status", "200")]), on(HEADERS, stream));
        assert_error(&reset(stream, 8), on(RST_STREAM, stream));
    }
    assert_error(&window_update(3, 1), on(WINDOW_UPDATE, 3));
    assert_error(&frame(PRIORITY, 0, 0, &[0; 5]), on(PRIORITY, 0));
    assert_error(&frame(SETTINGS, 0, 1, &[]), on(SETTINGS, 1));
    assert_error(&frame(PING, 0, 1, &[0; 8]), on(PING, 1));
    assert_error(&frame(GOAWAY, 0, 1, &[0; 8]), on(GOAWAY, 1));
    let answer = frame(HEADERS, END_HEADERS | END_STREAM, 1, &[STATUS_200]);
    assert_error(&[answer.clone(), data(0, 1, b"x")].concat(), Http2Error::StreamClosed { stream: 1 });
    assert_error(&[answer.clone(), answer].concat(), Http2Error::StreamClosed { stream: 1 });
}

#[test]
fn frames_of_a_wrong_length_are_errors() {
    let of = |kind, bytes| Http2Error::FrameLength { kind, bytes };
    assert_error(&frame(PRIORITY, 0, 1, &[0; 4]), of(PRIORITY, 4));
    assert_error(&frame(RST_STREAM, 0, 1, &[0; 5]), of(RST_STREAM, 5));
    assert_error(&frame(SETTINGS, 0, 0, &[0; 5]), of(SETTINGS, 5));
    assert_error(&frame(SETTINGS, ACK, 0, &[0; 6]), of(SETTINGS, 6));
    assert_error(&frame(PING, 0, 0, &[0; 7]), of(PING, 7));
    assert_error(&frame(GOAWAY, 0, 0, &[0; 7]), of(GOAWAY, 7));
    assert_error(&frame(WINDOW_UPDATE, 0, 0, &[0; 3]), of(WINDOW_UPDATE, 3));
    assert_error(&frame(DATA, 0, 1, &vec![0; 16_385]), Http2Error::FrameTooLarge { bytes: 16_385 });
    assert_error(&frame(DATA, PADDED, 1, &[1]), Http2Error::Padding);
    assert_error(&frame(DATA, PADDED, 1, &[]), Http2Error::Padding);
    assert_error(&frame(HEADERS, END_HEADERS | PADDED, 1, &[2, STATUS_200]), Http2Error::Padding);
}

#[test]
fn settings_that_cannot_be_and_windows_that_grow_too_far_are_errors() {
    let invalid = |setting, value| Http2Error::Setting { setting, value };
    assert_error(&settings(&[(2, 1)]), invalid(2, 1));
    assert_error(&settings(&[(4, 1 << 31)]), invalid(4, 1 << 31));
    assert_error(&settings(&[(5, 16_383)]), invalid(5, 16_383));
    assert_error(&settings(&[(5, 1 << 24)]), invalid(5, 1 << 24));
    assert_eq!(events_of(&mut with_requests(&["GET"]), &settings(&[(0x7777, 7)])), Ok(vec![]));
    assert_error(&window_update(0, 0), Http2Error::WindowIncrement);
    assert_error(&window_update(0, (1 << 31) - 1), Http2Error::WindowOverflow);
    let of_stream = |bytes: &[u8]| events_of(&mut with_requests(&["GET"]), bytes);
    for (increment, error) in [(0, Http2Error::WindowIncrement), ((1 << 31) - 1, Http2Error::WindowOverflow)]
    {
        let refused = Event::Refused(0, Refusal::Malformed(error.into()));
        assert_eq!(of_stream(&window_update(1, increment)), Ok(vec![refused]));
    }
    let grown = [window_update(1, 1 << 30), settings(&[(4, (1 << 31) - 1)])].concat();
    assert_error(&grown, Http2Error::WindowOverflow);
}

#[test]
fn pushes_and_interrupted_header_blocks_are_errors() {
    let promise = [&2_u32.to_be_bytes()[..], &[STATUS_200]].concat();
    assert_error(&frame(PUSH_PROMISE, END_HEADERS, 1, &promise), Http2Error::Push);
    assert_error(&frame(CONTINUATION, END_HEADERS, 1, &[]), Http2Error::Continuation);
    let begin = frame(HEADERS, 0, 1, &[STATUS_200]);
    for other in [data(0, 1, b"x"), frame(PING, 0, 0, &[0; 8]), frame(0xfa, 0, 0, &[]), go_away(1)] {
        assert_error(&[begin.clone(), other].concat(), Http2Error::Continuation);
    }
}

#[test]
fn a_header_block_that_is_none_ends_the_connection() {
    let result = events_of(&mut with_requests(&["GET"]), &frame(HEADERS, END_HEADERS, 1, &[0x80]));
    assert!(matches!(result, Err(Malformed::Http2(Http2Error::Compression(_)))), "{result:?}");
}

#[test]
fn header_blocks_without_end_are_cut_off() {
    let fragment = vec![0; 16_384];
    let mut bytes = frame(HEADERS, 0, 1, &fragment);
    for _ in 0..4 {
        bytes.extend(frame(CONTINUATION, 0, 1, &fragment));
    }
    let too_large = Malformed::TooLarge { section: Section::HeaderBlock, limit_bytes: 64 * 1024 };
    assert_eq!(events_of(&mut with_requests(&["GET"]), &bytes), Err(too_large));
    // Empty frames never reach that limit.
    let empty = frame(CONTINUATION, 0, 1, &[]).repeat(1_000);
    assert_error(&[frame(HEADERS, 0, 1, &[]), empty].concat(), Http2Error::ContinuationFlood);
}

#[test]
fn a_small_block_that_stands_for_a_large_one_is_refused() {
    // A field of 4,000 bytes in the table, and then many references of one byte each.
    let mut bomb = vec![STATUS_200, 0x40, 1, b'a', 0x7f, 0xa1, 0x1e];
    bomb.extend([b'x'; 4_000]);
    bomb.extend([NEWEST_ENTRY; 100]);
    let too_large = Malformed::TooLarge { section: Section::HeaderBlock, limit_bytes: 64 * 1024 };
    assert_eq!(
        events_of(&mut with_requests(&["GET"]), &frame(HEADERS, END_HEADERS, 1, &bomb)),
        Ok(vec![Event::Refused(0, Refusal::Malformed(too_large))])
    );
}

#[test]
fn a_server_at_fault_is_sent_the_code_of_its_fault() {
    // The codes of RFC 9113 §7, in GOAWAY frames that name no stream.
    let compression = frame(HEADERS, END_HEADERS, 1, &[0x80]);
    let cases = [
        (frame(PING, 0, 1, &[0; 8]), 0x1),
        (window_update(0, (1 << 31) - 1), 0x3),
        (settings(&[(4, 1 << 31)]), 0x3),
        (frame(PING, 0, 0, &[0; 7]), 0x6),
        (compression, 0x9),
        (settings(&[]).repeat(20_000), 0xb),
    ];
    for (bytes, code) in cases {
        let mut exchange = with_requests(&["GET"]);
        assert!(events_of(&mut exchange, &bytes).is_err());
        let frames = frames_of(&output(&mut exchange));
        let expected = [[0; 4], u32::to_be_bytes(code)].concat();
        assert_eq!(frames.last(), Some(&(GOAWAY, 0, 0, expected)));
        assert!(exchange.complaint().is_some_and(|text| !text.is_empty()));
    }
}

#[test]
fn frames_that_only_make_work_end_the_connection() {
    for one in [frame(PING, 0, 0, &[0; 8]), settings(&[]), settings(&[(1, 0), (1, 4096)])] {
        assert_error(&one.repeat(20_000), Http2Error::Flood);
        // Among answers they are as good as any others.
        let mut exchange = with_requests(&["GET"]);
        events_of(&mut exchange, &frame(HEADERS, END_HEADERS, 1, &[STATUS_200])).unwrap();
        for _ in 0..40 {
            assert_eq!(events_of(&mut exchange, &[one.repeat(1_000), data(0, 1, b"x")].concat()), Ok(vec![]));
            output(&mut exchange);
        }
    }
}

#[test]
fn interim_responses_and_empty_data_without_end_end_the_connection() {
    let begun = frame(HEADERS, END_HEADERS, 1, &[STATUS_200]);
    assert_error(&headers(0, 1, &[(":status", "103")]).repeat(20_000), Http2Error::Flood);
    assert_error(&[begun.clone(), data(0, 1, b"").repeat(20_000)].concat(), Http2Error::Flood);
    assert_error(&[begun, data(PADDED, 1, &[3, 0, 0, 0]).repeat(20_000)].concat(), Http2Error::Flood);
}

#[test]
fn what_answers_a_server_that_does_not_read_is_bounded() {
    // A response that continues, a byte at a time, with pings between.
    let mut exchange = with_requests(&["GET"]);
    events_of(&mut exchange, &frame(HEADERS, END_HEADERS, 1, &[STATUS_200])).unwrap();
    let block = [frame(PING, 0, 0, &[0; 8]), data(0, 1, b"x")].concat().repeat(100);
    let ended = (0..1_000).find_map(|_| events_of(&mut exchange, &block).err());
    assert_eq!(ended, Some(Http2Error::Flood.into()));
    let kept_bytes = output(&mut exchange).len();
    assert!(kept_bytes < 257 * 1024, "{kept_bytes}");
}

#[test]
fn what_is_kept_of_a_table_is_bounded_however_often_it_changes() {
    let mut exchange = with_requests(&["GET"]);
    for number in 0..9_000_u32 {
        let name = number.to_be_bytes().map(|byte| b'a' + byte % 16);
        let interim = [&[0x48, 3][..], b"103", &[0x40, 4], &name, &[100], &[b'v'; 100]].concat();
        let events = events_of(&mut exchange, &frame(HEADERS, END_HEADERS, 1, &interim));
        assert_eq!(events, Ok(vec![Event::Begun(0)]));
    }
}
