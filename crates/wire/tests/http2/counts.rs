//! What is counted of a connection beside its requests.

use loadcurve_wire::{Body, Exchange as _, Http2, Http2Counts, Http2Settings, HttpExchange as _, Request};

use crate::support::{
    END_HEADERS, END_STREAM, GOAWAY, HEADERS, STATUS_200, agreed, agreed_with, begin, data, events_of, frame,
    go_away, output, request, reset, settings, template, window_update, with_requests,
};

/// The least window of a connection (§6.9.2).
const WINDOW_BYTES: u32 = 65_535;

fn head(stream: u32) -> Vec<u8> {
    frame(HEADERS, END_HEADERS, stream, &[STATUS_200])
}

fn counts(exchange: &mut Http2) -> Http2Counts {
    exchange.take_counts().unwrap()
}

fn receive(exchange: &mut Http2, frames: &[Vec<u8>]) {
    events_of(exchange, &frames.concat()).unwrap();
}

/// DATA frames of 16 KiB on a stream, the last of which does not end it.
fn run_of(stream: u32, bytes: usize) -> Vec<u8> {
    data(0, stream, &[b'x'; 16 * 1024]).repeat(bytes / (16 * 1024))
}

#[test]
fn nothing_is_counted_before_the_server_has_said_how_it_speaks() {
    let mut exchange = Http2::new(4, &Http2Settings::default());
    assert_eq!(exchange.take_counts(), None);
    receive(&mut exchange, &[settings(&[])]);
    assert_eq!(exchange.take_counts(), Some(Http2Counts::default()));
}

#[test]
fn the_streams_that_a_server_allows_are_kept_from_the_least_to_the_greatest() {
    let mut exchange = agreed(100, &[(3, 128)]);
    assert_eq!(exchange.limit(), None);
    receive(&mut exchange, &[settings(&[(3, 8)]), settings(&[(3, 256)])]);
    let counted = counts(&mut exchange);
    assert_eq!((counted.streams_allowed, counted.was_limited), (Some((8, 256)), true));
    // From then on only the present limit counts, until the next connection.
    let counted = counts(&mut exchange);
    assert_eq!((counted.streams_allowed, counted.was_limited), (Some((256, 256)), false));
    exchange.open();
    receive(&mut exchange, &[settings(&[(3, 99)])]);
    assert_eq!(exchange.limit(), Some(99));
    assert_eq!(counts(&mut exchange).streams_allowed, Some((99, 99)));
}

#[test]
fn the_end_of_a_connection_and_refused_streams_are_counted() {
    let mut exchange = with_requests(&["GET"; 4]);
    // REFUSED_STREAM is 7, CANCEL is 8.
    receive(&mut exchange, &[reset(1, 7), reset(3, 7), reset(5, 8), go_away(7), go_away(7)]);
    let counted = counts(&mut exchange);
    assert_eq!((counted.streams_refused, counted.ended_by), (2, Some(0)));
}

#[test]
fn the_first_goaway_gives_the_reason_for_the_end_whatever_later_ones_say() {
    // ENHANCE_YOUR_CALM is 11, PROTOCOL_ERROR is 1.
    let with_code = |code: u32| frame(GOAWAY, 0, 0, &[1_u32.to_be_bytes(), code.to_be_bytes()].concat());
    for (first, later) in [(0, 1), (11, 0), (11, 1)] {
        let mut exchange = with_requests(&["GET"; 2]);
        receive(&mut exchange, &[with_code(first), with_code(later)]);
        assert_eq!(counts(&mut exchange).ended_by, Some(first));
        // It is counted once, even if it was asked for between the two.
        receive(&mut exchange, &[with_code(later)]);
        assert_eq!(counts(&mut exchange).ended_by, None);
    }
}

#[test]
fn streams_that_a_server_was_to_answer_and_left_when_it_closed_the_connection_are_counted() {
    // Of four streams the first is answered, the third is the last that the server answers, and the fourth moves.
    let mut exchange = with_requests(&["GET"; 4]);
    let answered = frame(HEADERS, END_HEADERS | END_STREAM, 1, &[STATUS_200]);
    receive(&mut exchange, &[answered, go_away(5)]);
    exchange.end_of_input();
    exchange.end_of_input();
    assert_eq!(counts(&mut exchange).streams_abandoned, 2);
    // Without an announcement it was to answer nothing.
    let mut exchange = with_requests(&["GET"; 4]);
    exchange.end_of_input();
    assert_eq!(counts(&mut exchange).streams_abandoned, 0);
}

#[test]
fn bodies_that_wait_for_a_window_are_counted_once_however_long_they_wait() {
    let mut exchange = agreed(3, &[(4, 1_000)]);
    for (tag, bytes) in [(0, 1_000), (1, 1_001), (2, 5_000)] {
        let body = vec![b'x'; bytes];
        let request = Request { body: Body::Bytes(&body), ..request("POST", &[], b"") };
        begin(&mut exchange, tag, &template(&request).unwrap());
    }
    for _ in 0..2 {
        receive(&mut exchange, &[window_update(5, 1_000)]);
        output(&mut exchange);
    }
    assert_eq!(counts(&mut exchange).bodies_delayed, 2);
}

/// An exchange with requests under way whose windows are as given, and everything written.
fn with_windows(stream_window_bytes: u32, connection_window_bytes: u32, requests: usize) -> Http2 {
    let settings = Http2Settings { stream_window_bytes, connection_window_bytes, ..Http2Settings::default() };
    let mut exchange = agreed_with(requests, &settings, &[]);
    let template = template(&request("GET", &[], b"")).unwrap();
    for tag in 0..requests {
        begin(&mut exchange, tag, &template);
    }
    exchange
}

#[test]
fn a_stream_that_has_sent_its_whole_window_before_more_was_written_has_used_it_up() {
    let mut exchange = with_windows(64 * 1024, 1 << 30, 1);
    // 32 KiB are answered by an update, which is written; 64 KiB more use up all that the server can know of.
    receive(&mut exchange, &[head(1), run_of(1, 32 * 1024)]);
    output(&mut exchange);
    receive(&mut exchange, &[run_of(1, 48 * 1024)]);
    assert_eq!(counts(&mut exchange).windows_used_up, 0);
    receive(&mut exchange, &[run_of(1, 16 * 1024)]);
    assert_eq!(counts(&mut exchange).windows_used_up, 1);
    // What is written then lets the server go on, and it may use that up again.
    output(&mut exchange);
    receive(&mut exchange, &[run_of(1, 64 * 1024)]);
    assert_eq!(counts(&mut exchange).windows_used_up, 1);
}

#[test]
fn an_answer_that_ends_with_its_window_has_not_waited_for_it() {
    let mut exchange = with_windows(32 * 1024, 1 << 30, 1);
    let last = data(END_STREAM, 1, &[b'x'; 16 * 1024]);
    receive(&mut exchange, &[head(1), run_of(1, 16 * 1024), last]);
    assert_eq!(counts(&mut exchange).windows_used_up, 0);
}

#[test]
fn answers_use_up_the_window_of_the_connection_together() {
    for (requests, expected) in [(4, 0), (5, 1)] {
        let mut exchange = with_windows(1 << 30, WINDOW_BYTES, requests);
        // 3 · 16,384 + 16,383 = 65,535, on a stream each; a fifth one is left to be answered, or none is.
        for stream in [1, 3, 5] {
            receive(&mut exchange, &[head(stream), data(END_STREAM, stream, &[b'x'; 16_384])]);
        }
        receive(&mut exchange, &[head(7), data(END_STREAM, 7, &[b'x'; 16_383])]);
        assert_eq!(counts(&mut exchange).windows_used_up, expected, "{requests} requests");
    }
}

#[test]
fn short_answers_behind_256_kib_of_another_one_have_waited_for_it() {
    let mut exchange = agreed(4, &[]);
    let template = template(&request("GET", &[], b"")).unwrap();
    for tag in 0..3 {
        begin(&mut exchange, tag, &template);
    }
    receive(&mut exchange, &[head(1), run_of(1, 256 * 1024)]);
    // It was begun when the run was over.
    begin(&mut exchange, 3, &template);
    let short = |stream| [head(stream), data(END_STREAM, stream, b"short")].concat();
    receive(&mut exchange, &[data(END_STREAM, 1, b""), short(7), short(5), short(3)]);
    assert_eq!(counts(&mut exchange).answers_behind_long, 2);
}

#[test]
fn an_answer_that_comes_between_the_data_of_a_long_one_has_not_waited() {
    let mut exchange = with_requests(&["GET"; 3]);
    let short = |stream| [head(stream), data(END_STREAM, stream, b"short")].concat();
    receive(&mut exchange, &[head(1), run_of(1, 240 * 1024), short(3), run_of(1, 240 * 1024), short(5)]);
    assert_eq!(counts(&mut exchange).answers_behind_long, 0);
}
