//! The dynamic table on the streams of a connection: what waits for it, and what is acknowledged and counted.

use loadcurve_wire::h3::qpack::{AcknowledgementReader, Decoder, QpackError};
use loadcurve_wire::{Event, Http3, Http3Code, Http3Error, Http3Settings, Malformed};

use crate::support::{
    DATA, DECODER, ENCODER, HEADERS, ends, events_and_rest, frame, prefixed, said_by, with_requests,
    with_requests_and,
};

/// A table of 4,096 bytes, and an entry `a: NUMBER` in it; 128 such entries are possible, of 34 bytes each.
const CAPACITY: &[u8] = &[0x3f, 0xe1, 0x1f];
const INSERT: &[u8] = &[0x41, b'a', 1, b'1'];

/// `:status: 200`, and the first entry, of a section that needs one.
const WITH_ENTRY: &[u8] = &[2, 0, 0xd9, 0x80];

fn decoder_stream(http3: &mut Http3) -> Vec<u8> {
    let mut bytes = Vec::new();
    http3.write_decoder_stream(&mut bytes);
    bytes
}

#[test]
fn an_answer_waits_for_the_table_and_is_acknowledged() {
    let mut http3 = with_requests(&["GET"; 2]);
    let bytes = [frame(HEADERS, WITH_ENTRY), frame(DATA, b"body")].concat();
    // The header and the section are consumed; the data is given again.
    assert_eq!(events_and_rest(&mut http3, 1, &bytes, true), Ok((vec![], 6)));
    assert_eq!(http3.next_unblocked(), None);
    assert_eq!(events_and_rest(&mut http3, 1, &bytes[6..], true), Ok((vec![], 6)));
    let encoder = [&[2], CAPACITY, INSERT].concat();
    for byte in &encoder[..encoder.len() - 1] {
        http3.receive_incoming(ENCODER, &[*byte], false).unwrap();
        assert_eq!(http3.next_unblocked(), None);
    }
    http3.receive_incoming(ENCODER, &encoder[encoder.len() - 1..], false).unwrap();
    assert_eq!(http3.next_unblocked(), Some(1));
    let events = ends(&mut http3, 1, &bytes[6..], true).unwrap();
    assert!(matches!(events[..], [Event::Answered(1, response)] if response.body_bytes == 4));
    assert_eq!(http3.next_unblocked(), None);
    // The type of the stream, and Section Acknowledgment of stream 4, which says that the entry has come, too.
    assert!(http3.has_decoder_output());
    assert_eq!(decoder_stream(&mut http3), [3, 0x84]);
    assert!(!http3.has_decoder_output());
    let counts = http3.take_counts();
    assert_eq!((counts.capacity_bytes, counts.used_bytes, counts.entries), (4096, 34, 1));
    assert_eq!((counts.sections, counts.sections_with_entries, counts.sections_blocked), (1, 1, 1));
    assert_eq!(http3.take_counts().sections, 0);
}

#[test]
fn entries_that_no_section_needs_are_acknowledged_by_their_number() {
    let mut http3 = with_requests(&["GET"]);
    http3.receive_incoming(ENCODER, &[&[2], CAPACITY, &INSERT.repeat(70)].concat(), false).unwrap();
    // Insert Count Increment of 70: six bits of ones, and 7.
    assert_eq!(decoder_stream(&mut http3), [3, 0x3f, 7]);
    ends(&mut http3, 0, &frame(HEADERS, WITH_ENTRY), true).unwrap();
    assert_eq!(decoder_stream(&mut http3), [0x80]);
    // Without the table there is nothing to say.
    let mut http3 = with_requests(&["GET"]);
    ends(&mut http3, 0, &frame(HEADERS, &[0, 0, 0xd9]), true).unwrap();
    assert!(!http3.has_decoder_output());
}

#[test]
fn a_request_that_is_given_up_is_cancelled_in_the_table_too() {
    let mut http3 = with_requests(&["GET"; 3]);
    http3.receive_incoming(ENCODER, &[&[2], CAPACITY, INSERT].concat(), false).unwrap();
    assert_eq!(decoder_stream(&mut http3), [3, 1]);
    // One entry more is needed than there is.
    assert_eq!(ends(&mut http3, 2, &frame(HEADERS, &[3, 0, 0xd9, 0x80]), true), Ok(vec![]));
    assert_eq!(http3.cancel(2), Some(8));
    assert_eq!(decoder_stream(&mut http3), [0x48]);
    assert_eq!(http3.cancel(2), None);
    http3.receive_incoming(ENCODER, INSERT, false).unwrap();
    assert_eq!(http3.next_unblocked(), None);
    http3.reset(1, Http3Code::INTERNAL_ERROR).unwrap();
    assert_eq!(decoder_stream(&mut http3), [0x44, 1]);
}

#[test]
fn no_more_streams_wait_than_was_agreed() {
    let settings = Http3Settings { blocked_streams: 2, ..Http3Settings::default() };
    let mut http3 = with_requests_and(&["GET"; 4], &settings);
    let waits = frame(HEADERS, WITH_ENTRY);
    for tag in 0..2 {
        assert_eq!(ends(&mut http3, tag, &waits, true), Ok(vec![]));
    }
    // One that is given up leaves room for another one.
    http3.cancel(0).unwrap();
    assert_eq!(ends(&mut http3, 2, &waits, true), Ok(vec![]));
    let error = Http3Error::FieldSection(QpackError::TooManyBlocked { most: 2 });
    assert_eq!(ends(&mut http3, 3, &waits, true), Err(error.into()));
    assert_eq!(error.code(), Http3Code::QPACK_DECOMPRESSION_FAILED);
}

#[test]
fn an_equal_section_is_read_anew_when_the_table_has_changed() {
    let mut http3 = with_requests(&["GET"; 4]);
    // Two entries `content-length` (static index 4), the newest of which says 2.
    let settings = [&[2][..], CAPACITY, &[0xc4, 1, b'1'], &[0xc4, 1, b'2']].concat();
    http3.receive_incoming(ENCODER, &settings, false).unwrap();
    let newest = frame(HEADERS, &[3, 0, 0xd9, 0x80]);
    let two = [newest.clone(), frame(DATA, b"12")].concat();
    for tag in [0, 1] {
        assert!(matches!(ends(&mut http3, tag, &two, true).unwrap()[..], [Event::Answered(..)]));
    }
    // 256 entries later the same bytes mean another entry (RFC 9204 §4.5.1.1: modulo twice 128).
    for _ in 0..255 {
        http3.receive_incoming(ENCODER, &[0xc4, 1, b'9'], false).unwrap();
    }
    http3.receive_incoming(ENCODER, &[0xc4, 1, b'3'], false).unwrap();
    let three = [newest, frame(DATA, b"123")].concat();
    assert!(matches!(ends(&mut http3, 2, &three, true).unwrap()[..], [Event::Answered(..)]));
}

#[test]
fn what_an_encoder_cannot_say_ends_the_connection() {
    let encoder = |bytes: &[u8]| Decoder::new(4096).receive(bytes);
    let capacity = |bytes: usize| prefixed(bytes, 5, 0x20);
    assert_eq!(encoder(&capacity(4096)), Ok(1));
    let too_large = QpackError::Capacity { bytes: 4097, most_bytes: 4096 };
    assert_eq!(encoder(&capacity(4097)), Err(too_large));
    // No table was asked for.
    assert_eq!(encoder(INSERT), Err(QpackError::EntryTooLarge { capacity_bytes: 0 }));
    let with_table = |bytes: &[u8]| encoder(&[&capacity(64), bytes].concat());
    // 32 bytes of overhead, and 32 or 33 bytes of text.
    assert_eq!(with_table(&[&[0x41, b'a', 31], [b'x'; 31].as_slice()].concat()), Ok(2));
    let full = Err(QpackError::EntryTooLarge { capacity_bytes: 64 });
    assert_eq!(with_table(&[&[0x41, b'a', 32], [b'x'; 32].as_slice()].concat()), full);
    assert_eq!(with_table(&[0xff, 36, 0]), Err(QpackError::StaticIndex { index: 99 }));
    assert_eq!(with_table(&[0x80, 0]), Err(QpackError::DynamicIndex { index: 0 }));
    assert_eq!(with_table(&[0x00]), Err(QpackError::DynamicIndex { index: 0 }));
    let error = Http3Error::EncoderStream(QpackError::StaticIndex { index: 99 });
    assert_eq!(error.code(), Http3Code::QPACK_ENCODER_STREAM_ERROR);
    let mut http3 = with_requests(&["GET"]);
    let result = http3.receive_incoming(ENCODER, &[2, 0x3f, 0x21, 0xff, 36, 0], false);
    assert_eq!(result, Err(error.into()));
}

#[test]
fn a_smaller_table_drops_its_oldest_entries() {
    let mut decoder = Decoder::new(4096);
    decoder.receive(&[CAPACITY, &INSERT.repeat(3)].concat()).unwrap();
    decoder.receive(&prefixed(2 * 34, 5, 0x20)).unwrap();
    assert_eq!(said_by(&mut decoder), [3]);
    // Base 3: the oldest entry is 2 behind the newest.
    decoder.decode(0, &[4, 0, 0x80, 0x81], |_| ()).unwrap();
    let gone = decoder.decode(0, &[4, 0, 0x82], |_| ());
    assert_eq!(gone, Err(QpackError::DynamicIndex { index: 2 }));
    let counts = decoder.take_counts();
    assert_eq!((counts.entries, counts.dropped_entries, counts.used_bytes), (3, 1, 3 * 34));
}

#[test]
fn a_section_cannot_point_behind_what_it_has_announced() {
    let mut decoder = Decoder::new(4096);
    decoder.receive(&[CAPACITY, &INSERT.repeat(3)].concat()).unwrap();
    let refused = |index| Err(QpackError::DynamicIndex { index });
    // One entry is needed, and the base is behind the second one.
    assert_eq!(decoder.decode(0, &[2, 1, 0x81], |_| ()).map(|_| ()), Ok(()));
    assert_eq!(decoder.decode(0, &[2, 1, 0x80], |_| ()).map(|_| ()), refused(0));
    assert_eq!(decoder.decode(0, &[2, 0, 0x10], |_| ()).map(|_| ()), refused(0));
    assert_eq!(decoder.decode(0, &[0, 0, 0x80], |_| ()).map(|_| ()), refused(0));
    assert_eq!(decoder.decode(0, &[2, 0x80, 0x10], |_| ()).map(|_| ()), Ok(()));
    assert_eq!(decoder.decode(0, &[2, 0x81], |_| ()), Err(QpackError::Base));
}

#[test]
fn nothing_is_acknowledged_that_was_never_sent() {
    // Section Acknowledgment of stream 0, Insert Count Increment of 1 and of 0.
    for byte in [0x80, 0x01, 0x00] {
        assert_eq!(AcknowledgementReader::default().receive(&[byte]), Err(QpackError::NothingSent));
    }
    let mut reader = AcknowledgementReader::default();
    // Streams 8 and 63 + 2^7 in pieces.
    for (byte, streams) in [(0x48, 1), (0x7f, 0), (0x80, 0), (0x01, 1)] {
        assert_eq!(reader.receive(&[byte]), Ok(streams));
    }
    assert!(reader.receive(&[&[0x7f][..], &[0xff; 12]].concat()).is_err());
    let mut http3 = with_requests(&["GET"]);
    let error: Malformed = Http3Error::DecoderStream(QpackError::NothingSent).into();
    assert_eq!(http3.receive_incoming(DECODER, &[3, 0x80], false), Err(error));
    assert_eq!(error.http3_code(), Http3Code::QPACK_DECODER_STREAM_ERROR);
}
