//! How streams and connections end before their time (RFC 9113 §5.4, §6.4 and §6.8).

use loadcurve_wire::{ErrorCode, Event, Exchange as _, Readiness, Refusal};

use crate::support::{
    END_HEADERS, END_STREAM, HEADERS, RST_STREAM, STATUS_200, agreed, begin, data, events_of, frame,
    frames_of, go_away, output, request, reset, settings, template, with_requests,
};

fn ok(stream: u32) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | END_STREAM, stream, &[STATUS_200])
}

#[test]
fn a_reset_ends_one_request_with_its_code_and_a_refused_one_may_be_sent_again() {
    let mut exchange = with_requests(&["GET"; 3]);
    let bytes = [reset(1, 2), reset(3, 7), reset(5, 99)].concat();
    assert_eq!(
        events_of(&mut exchange, &bytes),
        Ok(vec![
            Event::Refused(0, Refusal::Reset(ErrorCode::InternalError)),
            // §8.7: REFUSED_STREAM says that nothing was done for it.
            Event::Moved(1),
            Event::Refused(2, Refusal::Reset(ErrorCode::Other(99))),
        ])
    );
    assert_eq!(exchange.readiness(), Readiness::Ready);
}

#[test]
fn a_server_that_goes_away_answers_the_streams_up_to_the_one_it_names_and_the_others_move() {
    let mut exchange = with_requests(&["GET"; 5]);
    let bytes = go_away(5);
    let mut events = events_of(&mut exchange, &bytes).unwrap();
    events.sort_by_key(|event| format!("{event:?}"));
    assert_eq!(events, [Event::Moved(3), Event::Moved(4)]);
    assert_eq!(exchange.readiness(), Readiness::Busy);
    let events = events_of(&mut exchange, &[ok(3), ok(1)].concat()).unwrap();
    assert!(matches!(events[0], Event::Answered(1, response) if !response.keep_alive));
    // It may name an earlier one later (§6.8), and never a later one.
    assert_eq!(events_of(&mut exchange, &go_away(0)), Ok(vec![Event::Moved(2)]));
    assert_eq!(exchange.readiness(), Readiness::Closed);
}

#[test]
fn a_later_announcement_of_the_end_brings_no_stream_back_that_an_earlier_one_has_excluded() {
    let mut exchange = with_requests(&["GET"; 3]);
    let events = events_of(&mut exchange, &[go_away(1), go_away(5), ok(1)].concat()).unwrap();
    assert!(
        matches!(events.as_slice(), [Event::Moved(1), Event::Moved(2), Event::Answered(0, _)]),
        "{events:?}"
    );
    assert_eq!(exchange.readiness(), Readiness::Closed);
}

#[test]
fn before_the_last_request_has_moved_the_bytes_are_not_all_consumed() {
    let mut exchange = with_requests(&["GET"; 3]);
    let bytes = go_away(0);
    let first = exchange.receive(&bytes).unwrap();
    assert_eq!((first.consumed, first.event.is_some()), (bytes.len() - 1, true));
    let second = exchange.receive(&bytes[first.consumed..]).unwrap();
    assert_eq!((second.consumed, second.event.is_some()), (0, true));
    let third = exchange.receive(&bytes[first.consumed..]).unwrap();
    assert_eq!((third.consumed, third.event.is_some()), (1, true));
    assert_eq!(exchange.readiness(), Readiness::Closed);
}

#[test]
fn a_server_that_first_announces_its_end_lets_requests_under_way_finish() {
    // §6.8: the first GOAWAY names the last possible stream.
    let mut exchange = with_requests(&["GET"]);
    assert_eq!(events_of(&mut exchange, &go_away((1 << 31) - 1)), Ok(vec![]));
    assert_eq!(exchange.readiness(), Readiness::Busy);
    events_of(&mut exchange, &ok(1)).unwrap();
    assert_eq!(exchange.readiness(), Readiness::Closed);
    exchange.open();
    assert_eq!(exchange.readiness(), Readiness::Handshaking);
}

#[test]
fn a_request_is_given_up_alone_and_what_comes_of_its_answer_is_ignored() {
    let mut exchange = with_requests(&["GET"; 2]);
    events_of(&mut exchange, &frame(HEADERS, END_HEADERS, 1, &[STATUS_200])).unwrap();
    let half = data(0, 1, b"body");
    events_of(&mut exchange, &half[..11]).unwrap();
    assert!(exchange.cancel(0));
    assert_eq!(frames_of(&output(&mut exchange)), [(RST_STREAM, 0, 1, vec![0, 0, 0, 8])]);
    // The tag is free for another request, which has nothing to do with the rest of the old answer.
    begin(&mut exchange, 0, &template(&request("GET", &[], b"")).unwrap());
    let events =
        events_of(&mut exchange, &[&half[11..], &data(END_STREAM, 1, b"x"), &ok(3)].concat()).unwrap();
    assert!(matches!(events.as_slice(), [Event::Answered(1, _)]), "{events:?}");
    let events = events_of(&mut exchange, &ok(5)).unwrap();
    assert!(matches!(events.as_slice(), [Event::Answered(0, _)]), "{events:?}");
}

#[test]
fn the_answer_to_a_request_that_was_given_up_long_ago_is_ignored() {
    let mut exchange = with_requests(&["GET"]);
    let template = template(&request("GET", &[], b"")).unwrap();
    // More than are kept one by one.
    for _ in 0..100 {
        assert!(exchange.cancel(0));
        begin(&mut exchange, 0, &template);
    }
    assert_eq!(events_of(&mut exchange, &[ok(1), ok(199)].concat()), Ok(vec![]));
    let events = events_of(&mut exchange, &ok(201)).unwrap();
    assert!(matches!(events.as_slice(), [Event::Answered(0, _)]), "{events:?}");
}

#[test]
fn no_more_streams_are_open_than_the_server_takes() {
    let mut exchange = agreed(4, &[(3, 2)]);
    let template = template(&request("GET", &[], b"")).unwrap();
    for tag in 0..2 {
        assert_eq!(exchange.readiness(), Readiness::Ready);
        begin(&mut exchange, tag, &template);
    }
    assert_eq!(exchange.readiness(), Readiness::Busy);
    events_of(&mut exchange, &settings(&[(3, 3)])).unwrap();
    assert_eq!(exchange.readiness(), Readiness::Ready);
    events_of(&mut exchange, &[settings(&[(3, 1)]), ok(1)].concat()).unwrap();
    assert_eq!(exchange.readiness(), Readiness::Busy);
    events_of(&mut exchange, &ok(3)).unwrap();
    assert_eq!(exchange.readiness(), Readiness::Ready);
}

#[test]
fn a_server_that_takes_no_streams_yet_is_waited_for() {
    let mut exchange = agreed(4, &[(3, 0)]);
    assert_eq!(exchange.readiness(), Readiness::Handshaking);
    events_of(&mut exchange, &settings(&[(3, 1)])).unwrap();
    assert_eq!(exchange.readiness(), Readiness::Ready);
}

#[test]
fn a_connection_that_ends_completes_nothing() {
    let mut exchange = with_requests(&["GET"]);
    events_of(&mut exchange, &frame(HEADERS, END_HEADERS, 1, &[STATUS_200])).unwrap();
    assert_eq!((exchange.end_of_input(), exchange.readiness()), (None, Readiness::Closed));
}
