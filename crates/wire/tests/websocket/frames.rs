//! What may be in no frame of a server, and how the server learns of it.

use loadcurve_wire::{Exchange as _, Malformed, Readiness, WebSocketError};

use crate::support::{
    BINARY, CLOSE, CONTINUATION, FIN, PING, PONG, TEXT, events_of, frame, output, with_messages,
};

/// The error for which bytes are refused, of a connection with a message under way, at once and byte by byte; and the code of
/// the close that reports it.
fn refused(bytes: &[u8]) -> (Malformed, u16) {
    let each = [bytes.len(), 1].map(|length| {
        let mut exchange = with_messages(1);
        let fault = bytes.chunks(length).find_map(|piece| events_of(&mut exchange, piece).err());
        let fault = fault.unwrap_or_else(|| panic!("not refused: {bytes:x?}"));
        assert_eq!(exchange.readiness(), Readiness::Closed);
        assert_eq!(exchange.complaint().as_deref(), Some(fault.to_string().as_str()));
        let [(first, body)] = &output(&mut exchange)[..] else { panic!("a close is sent") };
        assert_eq!(*first, FIN | CLOSE);
        (fault, u16::from_be_bytes([body[0], body[1]]))
    });
    assert_eq!(each[0], each[1]);
    each[0]
}

#[test]
fn frames_that_break_rfc_6455_are_refused_and_the_server_is_told_why() {
    use WebSocketError::{
        CloseBody, CloseCode, FragmentedControl, Interrupted, Length, LongControl, Masked, NothingToContinue,
        Opcode, ReservedBits,
    };
    let long = |first, in_bytes: &[u8]| [&[first], in_bytes].concat();
    let close = |code: u16| frame(FIN | CLOSE, &code.to_be_bytes());
    for (bytes, error) in [
        (frame(FIN | 0x40 | TEXT, b"x"), ReservedBits),
        (frame(FIN | 0x10 | PING, b""), ReservedBits),
        (frame(FIN | 3, b""), Opcode { opcode: 3 }),
        (frame(FIN | 0x0b, b""), Opcode { opcode: 11 }),
        (vec![FIN | TEXT, 0x81, 0, 0, 0, 0, b'x'], Masked),
        // 125 in two bytes, 65,535 in eight, and more than 63 bits.
        (long(FIN | TEXT, &[126, 0, 125]), Length),
        (long(FIN | TEXT, &[127, 0, 0, 0, 0, 0, 0, 255, 255]), Length),
        (long(FIN | TEXT, &[127, 0x80, 0, 0, 0, 0, 0, 0, 0]), Length),
        (frame(FIN | PING, &[0; 126]), LongControl),
        (frame(PONG, b"x"), FragmentedControl),
        (frame(FIN | CONTINUATION, b"x"), NothingToContinue),
        ([frame(TEXT, b"x"), frame(FIN | BINARY, b"y")].concat(), Interrupted),
        (frame(FIN | CLOSE, b"x"), CloseBody),
        (frame(FIN | CLOSE, b"\x03\xe8\xff"), CloseBody),
        (close(999), CloseCode { code: 999 }),
        (close(1005), CloseCode { code: 1005 }),
        (close(1006), CloseCode { code: 1006 }),
        (close(1015), CloseCode { code: 1015 }),
        (close(2999), CloseCode { code: 2999 }),
        (close(5000), CloseCode { code: 5000 }),
    ] {
        assert_eq!(refused(&bytes), (error.into(), 1002), "{bytes:x?}");
    }
}

#[test]
fn a_text_that_is_not_utf_8_is_refused_with_the_code_for_it_however_it_is_cut() {
    for bytes in [
        frame(FIN | TEXT, b"a\xff"),
        frame(FIN | TEXT, b"\xed\xa0\x80"),
        // It ends in the middle of a character.
        [frame(TEXT, b"\xe2\x82"), frame(FIN | CONTINUATION, b"")].concat(),
        [frame(TEXT, b"\xe2"), frame(FIN | CONTINUATION, b"\x28\xa1")].concat(),
    ] {
        assert_eq!(refused(&bytes), (WebSocketError::Text.into(), 1007), "{bytes:x?}");
    }
}

#[test]
fn a_message_that_nothing_has_asked_for_is_refused_since_it_cannot_be_told_from_an_answer() {
    let mut exchange = with_messages(0);
    assert_eq!(events_of(&mut exchange, &frame(FIN | TEXT, b"welcome")), Err(Malformed::Unasked));
    assert_eq!(exchange.readiness(), Readiness::Closed);
}
