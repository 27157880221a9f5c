//! Messages that are compressed (RFC 7692): what is agreed on, what is sent, and what comes.

use loadcurve_wire::websocket::{INFLATED_BYTES_MAX, accept_of};
use loadcurve_wire::{
    CompressionCounts, DeflateError, Event, Exchange as _, FanOutWebSocket, Handshake, HttpExchange as _,
    Malformed, MessageKind, PermessageDeflate, Spared, WebSocket, WebSocketError, WebSocketSettings,
};

use crate::support::{
    CONTINUATION, FIN, PING, PONG, TEXT, answered, begin, ends, events_of, field, frame, frames_of, opened,
    output, request, settings, upgrade,
};

/// The first frame of a compressed message has it.
const RSV1: u8 = 0x40;
/// RFC 7692 §7.2.3.1: "Hello", and §7.2.3.2: the same once more, by reference to the first.
const HELLO: [u8; 7] = [0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00];
const HELLO_AGAIN: [u8; 5] = [0xf2, 0x00, 0x11, 0x00, 0x00];

fn offering(offer: &str) -> WebSocketSettings {
    let handshake = Handshake::new(&request(&[], b"")).unwrap();
    let offer = PermessageDeflate::offer(offer).unwrap();
    WebSocketSettings::new(handshake.offering(offer), MessageKind::Text, 7)
}

/// A connection that has offered compression, whose server has answered with further fields, and which waits for this number of answers.
fn with_answer(fields: &str, count: usize) -> WebSocket {
    let (mut exchange, head) = opened(count.max(1), &offering("permessage-deflate"));
    assert_eq!(field(&head, "Sec-WebSocket-Extensions"), Some("permessage-deflate"));
    assert_eq!(events_of(&mut exchange, upgrade(&head, fields).as_bytes()), Ok(vec![]));
    (0..count).for_each(|tag| drop(begin(&mut exchange, tag, b"Hello")));
    exchange
}

fn compressed(count: usize) -> WebSocket {
    with_answer("Sec-WebSocket-Extensions: permessage-deflate\r\n", count)
}

/// What was counted of the compression of a connection.
fn counts_of(exchange: &mut WebSocket) -> CompressionCounts {
    let counts = exchange.take_compression_counts();
    let [counts] = counts[..] else { panic!("{counts:?}") };
    counts
}

fn error_of(exchange: &mut WebSocket, bytes: &[u8]) -> Malformed {
    events_of(exchange, bytes).unwrap_err()
}

#[test]
fn a_message_is_sent_as_the_bytes_of_rfc_7692_and_the_same_each_time() {
    let mut exchange = compressed(0);
    for tag in 0..2 {
        let written = begin(&mut exchange, tag, b"Hello");
        assert_eq!(frames_of(&written), [(FIN | RSV1 | TEXT, HELLO.to_vec())]);
    }
    let counts = counts_of(&mut exchange);
    assert_eq!(counts.sent, Spared { messages: 2, bytes: 10, compressed_bytes: 14 });
    assert_eq!(counts.agreed, PermessageDeflate::offer("permessage-deflate").ok());
}

#[test]
fn where_the_server_declines_messages_are_sent_as_they_are_and_none_may_come_compressed() {
    let mut exchange = with_answer("", 0);
    assert_eq!(frames_of(&begin(&mut exchange, 0, b"Hello")), [(FIN | TEXT, b"Hello".to_vec())]);
    assert_eq!(counts_of(&mut exchange), CompressionCounts { websockets: 1, ..CompressionCounts::default() });
    assert_eq!(counts_of(&mut exchange), CompressionCounts::default());
    let refused = error_of(&mut exchange, &frame(FIN | RSV1 | TEXT, &HELLO));
    assert_eq!(refused, WebSocketError::ReservedBits.into());
}

#[test]
fn without_an_offer_nothing_is_counted() {
    let (mut exchange, head) = opened(1, &settings(&[], MessageKind::Text));
    events_of(&mut exchange, upgrade(&head, "").as_bytes()).unwrap();
    assert_eq!(exchange.take_compression_counts(), []);
}

#[test]
fn several_fields_of_an_answer_are_one_list_and_two_extensions_are_one_too_many() {
    let twice = "Sec-WebSocket-Extensions: permessage-deflate\r\n".repeat(2);
    let (mut exchange, head) = opened(1, &offering("permessage-deflate"));
    let refused = error_of(&mut exchange, upgrade(&head, &twice).as_bytes());
    assert_eq!(refused, WebSocketError::Deflate(DeflateError::Answer).into());
    assert!(exchange.complaint().unwrap().contains("is not one extension with its parameters"));
}

#[test]
fn messages_are_inflated_whole_or_in_fragments_with_the_window_of_those_before_and_plain_ones_between() {
    let bytes = [
        frame(FIN | RSV1 | TEXT, &HELLO),
        // Each fragment may hold any part (§7.2.3.1), and a control frame may come between.
        frame(RSV1 | TEXT, &HELLO[..3]),
        frame(FIN | PING, b"?"),
        frame(FIN | CONTINUATION, &HELLO[3..]),
        frame(FIN | TEXT, b"plain"),
        frame(FIN | RSV1 | TEXT, &HELLO_AGAIN),
        frame(FIN | RSV1 | TEXT, &[0x00]),
    ]
    .concat();
    for at_once in [1, 2, 7, bytes.len()] {
        let mut exchange = compressed(5);
        let mut found = Vec::new();
        for part in bytes.chunks(at_once) {
            found.extend(events_of(&mut exchange, part).unwrap());
        }
        let lengths = [(0, 7), (1, 7), (2, 5), (3, 5), (4, 1)];
        assert_eq!(answered(&ends(found.clone())), lengths, "by {at_once}");
        let inflated: Vec<_> = ends(found)
            .into_iter()
            .map(|event| match event {
                Event::Answered(_, response) => (response.inflated_bytes, response.content_bytes()),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(inflated, [(Some(5), 5), (Some(5), 5), (None, 5), (Some(5), 5), (Some(0), 0)]);
        assert_eq!(output(&mut exchange), [(FIN | PONG, b"?".to_vec())]);
        let counts = counts_of(&mut exchange);
        assert_eq!(counts.received, Spared { messages: 4, bytes: 15, compressed_bytes: 20 });
        assert_eq!(counts_of(&mut exchange).received, Spared::default());
    }
}

#[test]
fn only_the_first_frame_of_a_message_says_that_it_is_compressed() {
    for frames in [
        [frame(RSV1 | TEXT, &HELLO[..3]), frame(FIN | RSV1 | CONTINUATION, &HELLO[3..])].concat(),
        frame(FIN | RSV1 | PING, b""),
        frame(FIN | RSV1 | 8, &[]),
        frame(FIN | 0x20 | TEXT, &HELLO),
        frame(FIN | RSV1 | 0x10 | TEXT, &HELLO),
    ] {
        let refused = error_of(&mut compressed(1), &frames);
        assert_eq!(refused, WebSocketError::ReservedBits.into(), "{frames:x?}");
    }
}

#[test]
fn what_is_not_deflate_or_no_text_when_it_is_inflated_ends_the_connection_as_invalid_data() {
    // One stored byte that begins no character.
    let no_text = [0x00, 0x01, 0x00, 0xfe, 0xff, 0xff, 0x00];
    for (body, error) in [
        (&[0x06][..], WebSocketError::Deflate(DeflateError::Data)),
        (&no_text[..], WebSocketError::Text),
        (&[][..], WebSocketError::Deflate(DeflateError::Data)),
    ] {
        let mut exchange = compressed(1);
        assert_eq!(error_of(&mut exchange, &frame(FIN | RSV1 | TEXT, body)), error.into(), "{body:x?}");
        let (first, close) = output(&mut exchange).remove(0);
        assert_eq!((first, close), (FIN | 8, 1007_u16.to_be_bytes().to_vec()));
    }
}

/// A block of 32 KiB of zeros by references to one zero, again and again.
#[test]
fn a_message_that_inflates_beyond_the_limit_is_an_error_by_name_as_soon_as_it_does() {
    // Fixed codes (RFC 1951 §3.2.6): a zero, then matches of 258 at distance 1, each of 13 bits: 285 is 11000101, distance 0 is 00000.
    let mut bits = vec![false, true, false];
    bits.extend([false, false, true, true, false, false, false, false]);
    let one = [true, true, false, false, false, true, false, true, false, false, false, false, false];
    let matches = usize::try_from(INFLATED_BYTES_MAX / 258 + 1).unwrap();
    bits.extend(one.iter().copied().cycle().take(13 * matches));
    let body: Vec<u8> = bits
        .chunks(8)
        .map(|eight| eight.iter().enumerate().fold(0, |byte, (at, bit)| byte | u8::from(*bit) << at))
        .collect();
    assert!(body.len() < 1 << 19);
    let mut exchange = compressed(1);
    let refused = error_of(&mut exchange, &frame(FIN | RSV1 | TEXT, &body));
    let limit_bytes = INFLATED_BYTES_MAX;
    assert_eq!(refused, WebSocketError::Deflate(DeflateError::TooLong { limit_bytes }).into());
    assert_eq!(refused.to_string(), "a compressed message is longer than 64 MiB when it is inflated");
    assert_eq!(output(&mut exchange), [(FIN | 8, 1009_u16.to_be_bytes().to_vec())]);
}

#[test]
fn a_new_connection_agrees_anew_and_refers_to_nothing_of_the_one_before() {
    let mut exchange = compressed(1);
    events_of(&mut exchange, &frame(FIN | RSV1 | TEXT, &HELLO)).unwrap();
    exchange.open();
    let mut head = Vec::new();
    exchange.write_output(&mut head);
    let head = String::from_utf8(head).unwrap();
    events_of(&mut exchange, upgrade(&head, "").as_bytes()).unwrap();
    begin(&mut exchange, 0, b"Hello");
    let refused = error_of(&mut exchange, &frame(FIN | RSV1 | TEXT, &HELLO_AGAIN));
    assert_eq!(refused, WebSocketError::ReservedBits.into());
}

#[test]
fn the_marker_of_a_fan_out_is_put_into_a_compressed_message_as_a_stored_block() {
    let mut exchange = FanOutWebSocket::new(1, &offering("permessage-deflate"));
    exchange.open();
    let mut head = Vec::new();
    exchange.write_output(&mut head);
    let head = String::from_utf8(head).unwrap();
    let accept = accept_of(field(&head, "Sec-WebSocket-Key").unwrap().as_bytes());
    let answer = format!(
        "HTTP/1.1 101 Ok\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\
         Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n"
    );
    exchange.receive(answer.as_bytes()).unwrap();
    let template = FanOutWebSocket::template(&request(&[], b"Hello {marker}!")).unwrap();
    let mut written = Vec::new();
    exchange.begin(0, &template, Some(b"M-1"), &mut written);
    let [(first, body)] = &frames_of(&written)[..] else { panic!("one frame") };
    assert_eq!(*first, FIN | RSV1 | TEXT);
    // What was sent comes back as it was.
    let mut text = Vec::new();
    let mut take = |_, _, part: &[u8]| text.extend_from_slice(part);
    exchange.receive_with(&frame(FIN | RSV1 | TEXT, body), &mut take).unwrap();
    assert_eq!(text, b"Hello M-1!");
    let [counts] = exchange.take_compression_counts()[..] else { panic!("one agreement") };
    assert_eq!((counts.sent.bytes, counts.received.bytes), (10, 10));
}
