//! What a server chooses of what is offered: a subprotocol, and the compression of messages.

use loadcurve_wire::h2::hpack::Decoder;
use loadcurve_wire::{
    CompressionCounts, DeflateError, Event, Exchange as _, HttpExchange as _, Malformed, PermessageDeflate,
    Readiness, Refusal, Spared, WebSocketError, WebSocketHttp2,
};

use super::{FIN, TAKES, TEXT, asked, begin, event, events, frame, offering, output, unmasked};
use crate::support::{DATA, END_STREAM, HEADERS, SentFrame, data, fields_of, headers};

/// The first frame of a compressed message has it.
const RSV1: u8 = 0x40;
/// RFC 7692 §7.2.3.1: "Hello", and §7.2.3.2: the same once more, by reference to the first.
const HELLO: [u8; 7] = [0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00];
const HELLO_AGAIN: [u8; 5] = [0xf2, 0x00, 0x11, 0x00, 0x00];
const EXTENSIONS: &str = "sec-websocket-extensions";
const SUBPROTOCOL: &str = "sec-websocket-protocol";
const PLAIN: &str = "permessage-deflate";

fn deflate() -> Option<PermessageDeflate> {
    PermessageDeflate::offer(PLAIN).ok()
}

/// A connection on which this number of WebSockets were asked for, with this offer and two subprotocols.
fn connection(most: usize, offer: Option<PermessageDeflate>) -> (WebSocketHttp2, Vec<SentFrame>) {
    asked(most, &[TAKES], &offering(offer, &[("Sec-WebSocket-Protocol", "chat, chat2")]).unwrap())
}

/// The head that opens a WebSocket, with these fields.
fn head(stream: u32, chosen: &[(&str, &str)]) -> Vec<u8> {
    headers(0, stream, &[&[(":status", "200")], chosen].concat())
}

/// Why such an answer opens no WebSocket.
fn fault(offer: Option<PermessageDeflate>, chosen: &[(&str, &str)]) -> Option<Malformed> {
    let bytes = head(1, chosen);
    let (mut exchange, _) = connection(1, offer);
    let (found, fault) = events(&mut exchange, &bytes, 1);
    assert_eq!(found, []);
    assert_eq!(exchange.readiness() == Readiness::Closed, fault.is_some());
    fault
}

#[test]
fn the_offer_to_compress_is_a_field_of_the_request() {
    let (_, sent) = connection(1, deflate());
    let [(HEADERS, _, 1, block)] = &sent[..] else { panic!("{sent:?}") };
    let fields = fields_of(&mut Decoder::new(4096), block);
    assert!(fields.contains(&(EXTENSIONS.to_owned(), PLAIN.to_owned())), "{fields:?}");
}

#[test]
fn a_choice_that_was_not_offered_ends_the_handshake_by_what_is_wrong_with_it() {
    let subprotocol = Some(WebSocketError::Subprotocol.into());
    assert_eq!(fault(None, &[(SUBPROTOCOL, "chat2")]), None);
    assert_eq!(fault(None, &[(SUBPROTOCOL, "mqtt")]), subprotocol);
    assert_eq!(fault(None, &[(SUBPROTOCOL, "chat"), (SUBPROTOCOL, "chat2")]), subprotocol);
    assert_eq!(fault(None, &[(EXTENSIONS, PLAIN)]), Some(WebSocketError::Extension.into()));
    assert_eq!(fault(deflate(), &[(EXTENSIONS, "bzip2")]), Some(WebSocketError::Extension.into()));
    let deflated = |error| Some(WebSocketError::Deflate(error).into());
    let answer = [(EXTENSIONS, "permessage-deflate; client_max_window_bits=9")];
    assert_eq!(fault(deflate(), &answer), deflated(DeflateError::NotOffered("client_max_window_bits")));
    // Several fields are one list.
    assert_eq!(fault(deflate(), &[(EXTENSIONS, PLAIN); 2]), deflated(DeflateError::Answer));
    for sound in [&[][..], &[(EXTENSIONS, "")], &[(EXTENSIONS, PLAIN), (SUBPROTOCOL, "chat")]] {
        assert_eq!(fault(deflate(), sound), None, "{sound:?}");
    }
}

#[test]
fn messages_are_compressed_both_ways_where_the_server_agrees_each_websocket_with_a_window() {
    let chosen = [(EXTENSIONS, PLAIN)];
    let (mut exchange, _) = connection(2, deflate());
    events(&mut exchange, &[head(1, &chosen), head(3, &chosen)].concat(), usize::MAX);
    let mut answers = Vec::new();
    for (tag, stream) in [(0, 1), (1, 3), (2, 1)] {
        let sent = begin(&mut exchange, tag % 2);
        let [(DATA, 0, to, body)] = &sent[..] else { panic!("{sent:?}") };
        assert_eq!(*to, stream);
        let [(first, body)] = &unmasked(body)[..] else { panic!("one frame") };
        assert_eq!(*first, FIN | RSV1 | TEXT);
        // The third message of the peer refers to the first, which has come on the same WebSocket.
        let answer = if tag == 2 { &HELLO_AGAIN[..] } else { &HELLO };
        let bytes = data(0, stream, &frame(FIN | RSV1 | TEXT, answer));
        let Event::Answered(at, response) = event(&mut exchange, &bytes) else { panic!("no answer") };
        answers.push((at, response.inflated_bytes, response.body_bytes, body.len() as u64));
    }
    let sent = answers[0].3;
    assert_eq!(answers, [(0, Some(5), 7, sent), (1, Some(5), 7, sent), (0, Some(5), 5, sent)]);
    let counts = CompressionCounts {
        agreed: deflate(),
        websockets: 2,
        sent: Spared { messages: 3, bytes: 15, compressed_bytes: 3 * sent },
        received: Spared { messages: 3, bytes: 15, compressed_bytes: 19 },
    };
    assert_eq!(exchange.take_compression_counts(), [counts]);
    assert_eq!(exchange.take_compression_counts()[0].websockets, 0);
}

#[test]
fn where_a_server_declines_nothing_may_come_compressed_and_that_fails_the_message_alone() {
    let (mut exchange, _) = connection(2, deflate());
    events(&mut exchange, &[head(1, &[]), head(3, &[(EXTENSIONS, PLAIN)])].concat(), usize::MAX);
    let sent = begin(&mut exchange, 0);
    assert_eq!(unmasked(&sent[0].3), [(FIN | TEXT, b"hello".to_vec())]);
    let refused = event(&mut exchange, &data(0, 1, &frame(FIN | RSV1 | TEXT, &HELLO)));
    let fault = WebSocketError::ReservedBits.into();
    assert_eq!(refused, Event::Refused(0, Refusal::Malformed(fault)));
    let agreed = exchange.take_compression_counts().iter().map(|one| one.agreed).collect::<Vec<_>>();
    assert_eq!(agreed, [None, deflate()]);
}

#[test]
fn one_that_is_opened_again_sends_the_message_that_waits_for_it_as_it_is_and_agrees_anew() {
    let (mut exchange, _) = connection(1, deflate());
    events(&mut exchange, &head(1, &[(EXTENSIONS, PLAIN)]), usize::MAX);
    begin(&mut exchange, 0);
    event(&mut exchange, &data(END_STREAM, 1, &frame(FIN | RSV1 | TEXT, &HELLO)));
    let sent = begin(&mut exchange, 0);
    let [(HEADERS, _, 3, _)] = &sent[..] else { panic!("{sent:?}") };
    events(&mut exchange, &head(3, &[(EXTENSIONS, PLAIN)]), usize::MAX);
    let sent = output(&mut exchange);
    // Behind the end of the one before.
    let [_, (DATA, 0, 3, body)] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!(unmasked(body), [(FIN | TEXT, b"hello".to_vec())]);
    // What comes refers to nothing of the one before: its window begins anew.
    let mut text = Vec::new();
    let mut take = |_, _, part: &[u8]| text.extend_from_slice(part);
    exchange.receive_with(&data(0, 3, &frame(FIN | RSV1 | TEXT, &HELLO_AGAIN)), &mut take).unwrap();
    assert_eq!((text.len(), text == b"Hello"), (5, false), "{text:?}");
    let [counts] = exchange.take_compression_counts()[..] else { panic!("one agreement") };
    assert_eq!((counts.websockets, counts.sent.messages, counts.received.messages), (2, 1, 2));
}

#[test]
fn one_that_is_opened_again_with_a_wrong_choice_fails_the_message_that_waits_for_it() {
    let (mut exchange, _) = connection(1, deflate());
    events(&mut exchange, &head(1, &[]), usize::MAX);
    begin(&mut exchange, 0);
    event(&mut exchange, &data(END_STREAM, 1, &frame(FIN | TEXT, b"hello")));
    begin(&mut exchange, 0);
    let refused = event(&mut exchange, &head(3, &[(SUBPROTOCOL, "mqtt")]));
    let fault = WebSocketError::Subprotocol.into();
    assert_eq!(refused, Event::Refused(0, Refusal::Malformed(fault)));
}
