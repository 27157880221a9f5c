//! How connections end.

use loadcurve_wire::{Event, Exchange as _, Readiness, Refusal};

use crate::support::{CLOSE, FIN, PING, TEXT, begin, events_of, frame, frames_of, output, with_messages};

fn close(code: u16, reason: &str) -> Vec<u8> {
    frame(FIN | CLOSE, &[&code.to_be_bytes(), reason.as_bytes()].concat())
}

#[test]
fn messages_under_way_are_refused_with_the_code_of_the_close_which_is_answered() {
    let mut exchange = with_messages(3);
    let bytes = [frame(FIN | TEXT, b"hello"), close(1009, "too long"), frame(FIN | TEXT, b"late")].concat();
    let events = events_of(&mut exchange, &bytes).unwrap();
    assert!(matches!(events[0], Event::Answered(0, _)));
    let refused = [1, 2].map(|tag| Event::Refused(tag, Refusal::Closed(1009)));
    assert_eq!(events[1..], refused);
    assert_eq!(exchange.readiness(), Readiness::Closed);
    let said = exchange.complaint().unwrap().into_owned();
    assert!(said.contains("1009 (message too big)"), "{said}");
    assert_eq!(exchange.example(), Some("too long"));
    assert_eq!(output(&mut exchange), [(FIN | CLOSE, 1009_u16.to_be_bytes().to_vec())]);
}

#[test]
fn a_close_without_a_code_counts_as_that_and_is_answered_without_one() {
    let mut exchange = with_messages(1);
    let events = events_of(&mut exchange, &frame(FIN | CLOSE, b"")).unwrap();
    assert_eq!(events, [Event::Refused(0, Refusal::Closed(1005))]);
    assert_eq!(exchange.example(), None);
    assert_eq!(output(&mut exchange), [(FIN | CLOSE, vec![])]);
}

#[test]
fn a_close_of_an_idle_connection_concerns_no_message() {
    let mut exchange = with_messages(0);
    assert_eq!(events_of(&mut exchange, &close(1001, "")), Ok(vec![]));
    assert_eq!(exchange.readiness(), Readiness::Closed);
    assert_eq!(output(&mut exchange).len(), 1);
}

#[test]
fn a_close_is_the_last_that_is_sent_though_pings_came_before() {
    let mut exchange = with_messages(1);
    let bytes = [frame(FIN | PING, b"a"), close(1000, ""), frame(FIN | PING, b"b")].concat();
    events_of(&mut exchange, &bytes).unwrap();
    assert_eq!(output(&mut exchange).last(), Some(&(FIN | CLOSE, 1000_u16.to_be_bytes().to_vec())));
}

#[test]
fn a_client_that_needs_the_connection_no_more_closes_it_normally_and_once_it_is_closed_says_nothing() {
    let mut exchange = with_messages(0);
    let mut last = Vec::new();
    exchange.end(&mut last);
    assert_eq!(frames_of(&last), [(FIN | CLOSE, 1000_u16.to_be_bytes().to_vec())]);
    events_of(&mut exchange, &close(1000, "")).unwrap();
    last.clear();
    exchange.end(&mut last);
    assert!(last.is_empty());
}

#[test]
fn a_connection_that_is_cut_off_answers_nothing_more() {
    let mut exchange = with_messages(1);
    events_of(&mut exchange, &frame(FIN | TEXT, b"hello")[..4]).unwrap();
    assert_eq!(exchange.end_of_input(), None);
    assert_eq!(exchange.readiness(), Readiness::Closed);
}

#[test]
fn a_message_given_up_takes_its_connection_along_because_answers_come_in_order() {
    let mut exchange = with_messages(2);
    begin(&mut exchange, 2, b"x");
    assert!(!exchange.cancel(1));
    assert_eq!(exchange.readiness(), Readiness::Closed);
}
