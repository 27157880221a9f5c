//! Servers that would make a client hold more and more.

use loadcurve_wire::websocket::PONGS_BYTES_MAX;
use loadcurve_wire::{Event, Exchange as _, Malformed, MessageKind, Section};

use crate::support::{
    CONTINUATION, FIN, PING, PONG, TEXT, answered, ends, events_of, frame, frames_of, opened, settings,
    with_messages,
};

#[test]
fn a_head_without_end_is_refused() {
    let (mut exchange, _) = opened(1, &settings(&[], MessageKind::Text));
    let limit_bytes = 64 * 1024;
    events_of(&mut exchange, b"HTTP/1.1 101 Switching Protocols\r\n").unwrap();
    let refused = (0..limit_bytes / 10).find_map(|_| events_of(&mut exchange, b"a: bcdefg\r\n").err());
    assert_eq!(refused, Some(Malformed::TooLarge { section: Section::HeaderBlock, limit_bytes }));
}

#[test]
fn of_pings_that_nobody_takes_the_answers_to_the_last_ones_are_kept() {
    let mut exchange = with_messages(1);
    for number in 0..10_000_u32 {
        events_of(&mut exchange, &frame(FIN | PING, &[&number.to_be_bytes()[..], &[0; 100]].concat()))
            .unwrap();
    }
    let mut output = Vec::new();
    exchange.write_output(&mut output);
    // The last of them may come on top.
    assert!(output.len() <= PONGS_BYTES_MAX + 2 + 4 + 125, "{}", output.len());
    let (first, body) = frames_of(&output).pop().unwrap();
    assert_eq!((first, &body[..4]), (FIN | PONG, &9_999_u32.to_be_bytes()[..]));
}

#[test]
fn a_message_of_any_length_and_any_number_of_fragments_is_counted_and_not_kept() {
    let mut exchange = with_messages(2);
    events_of(&mut exchange, &frame(TEXT, b"")).unwrap();
    for _ in 0..100_000 {
        events_of(&mut exchange, &frame(CONTINUATION, b"ab")).unwrap();
    }
    let events = ends(events_of(&mut exchange, &frame(FIN | CONTINUATION, b"")).unwrap());
    assert_eq!(answered(&events), [(0, 200_000)]);
    // 2^63 - 1 bytes are announced.
    let header = [FIN | TEXT, 127, 0x7f, 255, 255, 255, 255, 255, 255, 255];
    assert_eq!(events_of(&mut exchange, &header), Ok(vec![Event::Begun(1)]));
    assert_eq!(events_of(&mut exchange, &[b'x'; 10_000]), Ok(vec![]));
}
