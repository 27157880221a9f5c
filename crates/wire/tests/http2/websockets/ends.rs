//! How WebSockets end, by either side, and what becomes of their messages.

use super::{
    CLOSE, FIN, TAKES, TEXT, WINDOW, begin, close, connection, event, events, frame, head, opened, output,
    template, unmasked, write_bodies,
};
use crate::support::{DATA, END_STREAM, HEADERS, RST_STREAM, data, frames_of, go_away, headers, reset};
use loadcurve_wire::{ErrorCode, Event, Exchange as _, Malformed, Readiness, Refusal, WebSocketError};

#[test]
fn a_websocket_that_the_server_closes_fails_its_message_by_the_code_and_the_next_one_opens_another() {
    for ends in [0, END_STREAM] {
        let mut exchange = opened(2);
        begin(&mut exchange, 0);
        begin(&mut exchange, 1);
        let refused = event(&mut exchange, &data(ends, 1, &close(1009, "too long")));
        assert_eq!(refused, Event::Refused(0, Refusal::Closed(1009)));
        assert!(exchange.complaint().unwrap().contains("1009 (message too big)"));
        assert_eq!(exchange.example(), Some("too long"));
        // It is answered, and this side of the stream ends with that.
        let sent = output(&mut exchange);
        let [(DATA, END_STREAM, 1, body)] = &sent[..] else { panic!("{sent:?}") };
        assert_eq!(unmasked(body), [(FIN | CLOSE, 1009_u16.to_be_bytes().to_vec())]);
        if ends == 0 {
            assert_eq!(events(&mut exchange, &data(END_STREAM, 1, b""), usize::MAX), (vec![], None));
        }
        let sent = begin(&mut exchange, 0);
        assert!(matches!(sent[..], [(HEADERS, _, 5, _)]), "{sent:?}");
    }
}

#[test]
fn a_connection_all_of_whose_websockets_the_server_has_ended_is_left() {
    let mut exchange = opened(2);
    begin(&mut exchange, 0);
    let answer = data(0, 1, &[frame(FIN | TEXT, b"a"), close(1001, "")].concat());
    assert!(matches!(event(&mut exchange, &answer), Event::Answered(0, _)));
    assert_eq!(exchange.readiness(), Readiness::Ready);
    assert_eq!(events(&mut exchange, &data(0, 3, &close(1001, "")), usize::MAX), (vec![], None));
    assert_eq!(exchange.readiness(), Readiness::Closed);
    let sent = output(&mut exchange);
    assert_eq!(
        sent.iter().map(|frame| (frame.0, frame.1, frame.2)).collect::<Vec<_>>(),
        [(DATA, END_STREAM, 1), (DATA, END_STREAM, 3)]
    );
}

#[test]
fn the_end_of_a_stream_without_a_close_and_a_reset_fail_the_message_alone() {
    for (bytes, refusal) in [
        (data(END_STREAM, 1, b""), Refusal::Closed(1006)),
        (data(END_STREAM, 1, &frame(FIN | TEXT, b"half")[..3]), Refusal::Closed(1006)),
        (headers(END_STREAM, 1, &[("trailer", "x")]), Refusal::Closed(1006)),
        (reset(1, 8), Refusal::Reset(ErrorCode::Cancel)),
    ] {
        let mut exchange = opened(2);
        begin(&mut exchange, 0);
        begin(&mut exchange, 1);
        assert_eq!(event(&mut exchange, &bytes), Event::Refused(0, refusal));
        let answer = event(&mut exchange, &data(0, 3, &frame(FIN | TEXT, b"b")));
        assert!(matches!(answer, Event::Answered(1, _)));
        let sent = output(&mut exchange);
        // Where the server has ended its side alone, this side ends, too.
        assert!(sent.iter().all(|frame| (frame.0, frame.1, frame.2) == (DATA, END_STREAM, 1)), "{sent:?}");
        assert_eq!(sent.len(), usize::from(refusal == Refusal::Closed(1006)));
    }
}

#[test]
fn a_server_that_goes_away_moves_what_it_has_not_looked_at_and_answers_the_rest() {
    let mut exchange = opened(2);
    begin(&mut exchange, 0);
    let close_other = [data(0, 3, &close(1000, "")), data(END_STREAM, 3, b"")].concat();
    assert_eq!(events(&mut exchange, &close_other, usize::MAX), (vec![], None));
    begin(&mut exchange, 1);
    assert_eq!(event(&mut exchange, &go_away(3)), Event::Moved(1));
    assert_eq!(exchange.readiness(), Readiness::Busy);
    let answer = event(&mut exchange, &data(0, 1, &frame(FIN | TEXT, b"a")));
    assert!(matches!(answer, Event::Answered(0, _)));
    assert_eq!(exchange.readiness(), Readiness::Closed);
}

#[test]
fn a_frame_that_breaks_websocket_fails_the_message_of_its_stream_alone() {
    for (bytes, fault) in [
        (vec![FIN | 0x40 | TEXT, 0], WebSocketError::ReservedBits),
        (vec![FIN | 3, 0], WebSocketError::Opcode { opcode: 3 }),
        (frame(FIN | TEXT, b"\xff"), WebSocketError::Text),
        (frame(FIN | CLOSE, b"\x03\xee"), WebSocketError::CloseCode { code: 1006 }),
    ] {
        for at_once in 1..=bytes.len() {
            let mut exchange = opened(2);
            begin(&mut exchange, 0);
            begin(&mut exchange, 1);
            let bytes = [data(0, 1, &bytes), data(0, 3, &frame(FIN | TEXT, b"b"))].concat();
            let (found, _) = events(&mut exchange, &bytes, at_once);
            let [Event::Refused(0, Refusal::Malformed(found)), Event::Answered(1, _)] = found[..] else {
                panic!("{found:?}")
            };
            assert_eq!(found, Malformed::WebSocket(fault));
            let sent = output(&mut exchange);
            assert!(matches!(sent[..], [(RST_STREAM, 0, 1, _)]), "{sent:?}");
        }
    }
}

#[test]
fn a_close_in_the_middle_of_a_message_ends_the_stream() {
    let (mut exchange, _) = connection(1, &[TAKES, (WINDOW, 5)]);
    exchange.receive(&head(1)).unwrap();
    let mut sent = Vec::new();
    exchange.begin(0, &template(b"hello"), None, &mut sent);
    write_bodies(&mut exchange, usize::MAX, &mut sent);
    assert_eq!(event(&mut exchange, &data(0, 1, &close(1009, ""))), Event::Refused(0, Refusal::Closed(1009)));
    let sent = output(&mut exchange);
    assert!(matches!(sent[..], [(RST_STREAM, 0, 1, _)]), "{sent:?}");
    assert!(!exchange.can_write_body());
}

#[test]
fn a_message_that_is_given_up_takes_its_websocket_with_it_and_not_the_connection() {
    let mut exchange = opened(1);
    begin(&mut exchange, 0);
    assert!(exchange.cancel(0));
    let sent = output(&mut exchange);
    assert!(matches!(sent[..], [(RST_STREAM, 0, 1, _)]), "{sent:?}");
    // What the server had sent before it learnt of that is nobody's.
    assert_eq!(events(&mut exchange, &data(0, 1, &frame(FIN | TEXT, b"a")), 1), (vec![], None));
    assert_eq!(exchange.readiness(), Readiness::Ready);
    assert_eq!(begin(&mut exchange, 0)[0].2, 3);
}

#[test]
fn a_client_that_has_no_more_to_say_closes_its_websockets() {
    let mut exchange = opened(2);
    let mut last = Vec::new();
    exchange.end(&mut last);
    let frames = frames_of(&last);
    for (frame, stream) in frames.iter().zip([1, 3]) {
        assert_eq!((frame.0, frame.1, frame.2), (DATA, END_STREAM, stream));
        assert_eq!(unmasked(&frame.3), [(FIN | CLOSE, 1000_u16.to_be_bytes().to_vec())]);
    }
    assert_eq!(frames.len(), 2);
}
