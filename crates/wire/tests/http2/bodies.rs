//! Flow control (RFC 9113 §5.2 and §6.9), of requests' bodies and of answers.

use loadcurve_wire::{
    Body, BodyPart, Event, Exchange as _, Http2, Http2Error, Http2Settings, Readiness, Request, WrittenBody,
};

use crate::support::{
    DATA, END_HEADERS, END_STREAM, HEADERS, RST_STREAM, STATUS_200, WINDOW_UPDATE, agreed, agreed_with,
    begin, data, events_of, frame, frames_of, has_output, output, request, settings, template, window_update,
};

/// The lengths of DATA frames by stream, and whether each ends its stream.
fn data_sent(sent: &[u8]) -> Vec<(u32, usize, bool)> {
    frames_of(sent)
        .into_iter()
        .filter(|frame| frame.0 == DATA)
        .map(|(_, flags, stream, payload)| (stream, payload.len(), flags & END_STREAM != 0))
        .collect()
}

fn posted(exchange: &mut Http2, tag: usize, body_bytes: usize) -> Vec<(u32, usize, bool)> {
    let body = vec![b'x'; body_bytes];
    let request = Request { body: Body::Bytes(&body), ..request("POST", &[], b"") };
    data_sent(&begin(exchange, tag, &template(&request).unwrap()))
}

#[test]
fn a_body_follows_its_header_block_in_frames_that_the_server_takes() {
    let mut exchange = agreed(1, &[]);
    assert_eq!(posted(&mut exchange, 0, 20_000), [(1, 16_384, false), (1, 3_616, true)]);
    let mut exchange = agreed(1, &[(5, 20_000)]);
    assert_eq!(posted(&mut exchange, 0, 20_000), [(1, 20_000, true)]);
}

#[test]
fn a_body_that_is_larger_than_a_window_waits_and_goes_on_as_the_window_grows() {
    let mut exchange = agreed(1, &[(4, 1_000)]);
    assert_eq!(posted(&mut exchange, 0, 2_500), [(1, 1_000, false)]);
    assert!(!has_output(&exchange));
    events_of(&mut exchange, &window_update(1, 1_000)).unwrap();
    assert_eq!(data_sent(&output(&mut exchange)), [(1, 1_000, false)]);
    events_of(&mut exchange, &window_update(1, 1_000)).unwrap();
    assert_eq!(data_sent(&output(&mut exchange)), [(1, 500, true)]);
    assert!(!has_output(&exchange));
}

#[test]
fn all_bodies_share_the_window_of_the_connection() {
    let mut exchange = agreed(3, &[]);
    assert_eq!(posted(&mut exchange, 0, 60_000).last(), Some(&(1, 60_000 - 3 * 16_384, true)));
    // 65,535 − 60,000 are left.
    assert_eq!(posted(&mut exchange, 1, 6_000), [(3, 5_535, false)]);
    assert_eq!(posted(&mut exchange, 2, 100), []);
    events_of(&mut exchange, &window_update(3, 1_000_000)).unwrap();
    assert!(!has_output(&exchange));
    events_of(&mut exchange, &window_update(0, 1_000)).unwrap();
    assert_eq!(data_sent(&output(&mut exchange)), [(3, 465, true), (5, 100, true)]);
}

#[test]
fn bodies_take_turns_in_parts_that_are_read_while_they_are_sent() {
    // Windows of a gibibyte for two bodies of 64 MiB, of which the client asks for 1,000 bytes at a time.
    let mut exchange = agreed(2, &[(4, 1 << 30)]);
    events_of(&mut exchange, &window_update(0, 1 << 30)).unwrap();
    let request = Request { body: Body::Following(64 << 20), ..request("PUT", &[], b"") };
    let mut bytes = Vec::new();
    for tag in 0..2 {
        exchange.begin(tag, &template(&request).unwrap(), None, &mut bytes);
    }
    assert_eq!(data_sent(&bytes), []);
    let mut parts = Vec::new();
    let mut read = |part: BodyPart, to: &mut Vec<u8>| {
        parts.push((part.tag, part.offset, part.bytes));
        to.resize(to.len() + part.bytes, b'x');
        Ok::<_, ()>(())
    };
    for tag in [0, 1, 0, 1] {
        let mut bytes = Vec::new();
        let written = exchange.write_body(1_000, &mut read, &mut bytes);
        assert_eq!(written, Ok(Some(WrittenBody { tag, bytes: 1_000 })));
        assert_eq!(data_sent(&bytes), [(1 + 2 * u32::try_from(tag).unwrap(), 991, false)]);
    }
    assert_eq!(parts, [(0, 0, 991), (1, 0, 991), (0, 991, 991), (1, 991, 991)]);
    let failing = &mut |_, _: &mut Vec<u8>| Err("it cannot be read");
    assert_eq!(exchange.write_body(1_000, failing, &mut Vec::new()), Err("it cannot be read"));
}

#[test]
fn the_initial_window_changes_those_of_open_streams_too_and_may_make_them_negative() {
    // §6.9.2, with its own numbers.
    let mut exchange = agreed(1, &[]);
    assert_eq!(posted(&mut exchange, 0, 65_535).len(), 4);
    let mut exchange = agreed(2, &[(4, 60_000)]);
    posted(&mut exchange, 0, 100_000);
    events_of(&mut exchange, &settings(&[(4, 16_384)])).unwrap();
    output(&mut exchange);
    // 60,000 have been sent, so the window is 16,384 − 60,000.
    events_of(&mut exchange, &[window_update(0, 100_000), window_update(1, 43_616)].concat()).unwrap();
    assert!(!has_output(&exchange));
    events_of(&mut exchange, &window_update(1, 1)).unwrap();
    assert_eq!(data_sent(&output(&mut exchange)), [(1, 1, false)]);
}

#[test]
fn an_answer_that_comes_before_the_end_of_its_request_ends_it() {
    let mut exchange = agreed(1, &[(4, 10)]);
    posted(&mut exchange, 0, 100);
    let events =
        events_of(&mut exchange, &frame(HEADERS, END_HEADERS | END_STREAM, 1, &[STATUS_200])).unwrap();
    assert!(matches!(events.as_slice(), [Event::Answered(0, _)]), "{events:?}");
    // CANCEL is 8.
    assert_eq!(frames_of(&output(&mut exchange)), [(RST_STREAM, 0, 1, vec![0, 0, 0, 8])]);
    events_of(&mut exchange, &window_update(1, 1_000)).unwrap();
    assert!(!has_output(&exchange));
    assert_eq!(exchange.readiness(), Readiness::Ready);
}

#[test]
fn the_windows_of_answers_are_refilled_when_half_of_them_is_used() {
    let windows = Http2Settings {
        stream_window_bytes: 1_000,
        connection_window_bytes: 70_000,
        ..Http2Settings::default()
    };
    let mut exchange = agreed_with(1, &windows, &[]);
    begin(&mut exchange, 0, &template(&request("GET", &[], b"")).unwrap());
    events_of(&mut exchange, &frame(HEADERS, END_HEADERS, 1, &[STATUS_200])).unwrap();
    events_of(&mut exchange, &data(0, 1, &[0; 499])).unwrap();
    assert!(!has_output(&exchange));
    events_of(&mut exchange, &data(0, 1, &[0; 1])).unwrap();
    assert_eq!(frames_of(&output(&mut exchange)), [(WINDOW_UPDATE, 0, 1, 500_u32.to_be_bytes().to_vec())]);
    let mut increments = 0;
    for _ in 0..1_000 {
        events_of(&mut exchange, &data(0, 1, &[0; 500])).unwrap();
        for (_, _, stream, increment) in frames_of(&output(&mut exchange)) {
            if stream == 0 {
                increments += u64::from(u32::from_be_bytes(increment.try_into().unwrap()));
            }
        }
    }
    // All but what is left of a window is given back.
    assert!((500_500 - 70_000..=500_500).contains(&increments), "{increments}");
}

#[test]
fn more_data_than_a_window_allows_is_an_error() {
    let windows = Http2Settings { stream_window_bytes: 100, ..Http2Settings::default() };
    let mut exchange = agreed_with(1, &windows, &[]);
    begin(&mut exchange, 0, &template(&request("GET", &[], b"")).unwrap());
    let bytes = [frame(HEADERS, END_HEADERS, 1, &[STATUS_200]), data(0, 1, &[0; 101])].concat();
    assert_eq!(events_of(&mut exchange, &bytes), Err(Http2Error::FlowControl.into()));
}
