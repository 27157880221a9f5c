//! Answers that come in any order, each with the id of its message.

use loadcurve_wire::websocket::AnswerId;
use loadcurve_wire::{Event, Exchange as _, MessageKind, Tag, WebSocket, WebSocketError};

use crate::support::{FIN, TEXT, answered, begin, events_of, frame, frames_of, opened, settings, upgrade};

const BODY: &[u8] = br#"{"id": {id}, "text": "x"}"#;

/// A connection with this number of places, and what it sends for messages with these tags.
fn with_tags(most: usize, tags: &[Tag]) -> (WebSocket, Vec<Vec<u8>>) {
    let settings = settings(&[], MessageKind::Text).matching(AnswerId::new("id").unwrap());
    let (mut exchange, head) = opened(most, &settings);
    events_of(&mut exchange, upgrade(&head, "").as_bytes()).unwrap();
    let sent = tags.iter().map(|tag| message(&mut exchange, *tag)).collect();
    (exchange, sent)
}

fn message(exchange: &mut WebSocket, tag: Tag) -> Vec<u8> {
    let [(first, body)] = &frames_of(&begin(exchange, tag, BODY))[..] else { panic!("one frame") };
    assert_eq!(*first, FIN | TEXT);
    body.clone()
}

fn echo(body: &[u8]) -> Vec<u8> {
    frame(FIN | TEXT, body)
}

#[test]
fn each_message_has_an_id_of_its_own_in_its_place() {
    let (_, sent) = with_tags(3, &[2, 0, 1]);
    let ids: Vec<u64> = sent
        .iter()
        .map(|body| {
            let text = std::str::from_utf8(body).unwrap();
            let id = text.strip_prefix(r#"{"id": "#).unwrap().strip_suffix(r#", "text": "x"}"#).unwrap();
            assert_eq!(id.len(), 16);
            id.parse().unwrap()
        })
        .collect();
    assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2]);
    // Exact in JavaScript: at most 2⁵³ − 1.
    assert!(ids.iter().all(|id| *id <= 9_007_199_254_740_991));
}

#[test]
fn answers_in_any_order_and_any_split_end_the_messages_with_their_ids() {
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [2, 0, 1]] {
        for at_once in [1, 7, 1000] {
            let (mut exchange, sent) = with_tags(3, &[0, 1, 2]);
            let bytes: Vec<u8> = order.iter().flat_map(|tag| echo(&sent[*tag])).collect();
            let events: Vec<Event> =
                bytes.chunks(at_once).flat_map(|part| events_of(&mut exchange, part).unwrap()).collect();
            let length = sent[0].len() as u64;
            assert_eq!(answered(&events), order.map(|tag| (tag, length)), "by {at_once}");
            // The places are free for further messages.
            let next = message(&mut exchange, 1);
            let events = events_of(&mut exchange, &echo(&next)).unwrap();
            assert_eq!(answered(&events), [(1, length)]);
        }
    }
}

#[test]
fn an_answer_without_an_id_or_with_an_unknown_or_repeated_one_is_an_error_by_name() {
    for (answer, error) in [
        (r#"{"text": "x"}"#.to_owned(), WebSocketError::NoAnswerId),
        (r#"{"id": 7}"#.to_owned(), WebSocketError::NoAnswerId),
        (r#"{"id": 1999999999999999}"#.to_owned(), WebSocketError::UnknownAnswerId),
    ] {
        let (mut exchange, _) = with_tags(2, &[0, 1]);
        assert_eq!(events_of(&mut exchange, &echo(answer.as_bytes())), Err(error.into()), "{answer}");
        assert_eq!(exchange.complaint().unwrap(), error.to_string());
    }
    let (mut exchange, sent) = with_tags(2, &[0, 1]);
    let twice = [echo(&sent[1]), echo(&sent[1])].concat();
    assert_eq!(events_of(&mut exchange, &twice), Err(WebSocketError::RepeatedAnswerId.into()));
    // Also where another message has the place by now.
    let (mut exchange, sent) = with_tags(1, &[0]);
    events_of(&mut exchange, &echo(&sent[0])).unwrap();
    message(&mut exchange, 0);
    assert_eq!(events_of(&mut exchange, &echo(&sent[0])), Err(WebSocketError::RepeatedAnswerId.into()));
}
