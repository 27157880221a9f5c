//! The request for the upgrade, and what answers it.

use loadcurve_wire::websocket::accept_of;
use loadcurve_wire::{
    Exchange as _, Handshake, InvalidRequest, Malformed, MessageKind, Readiness, WebSocketError,
};

use crate::support::{events_of, field, frame, opened, request, settings, upgrade, with_messages};

#[test]
fn the_request_has_what_rfc_6455_asks_for_and_the_fields_that_were_given() {
    let settings =
        settings(&[("Origin", "http://a.org"), ("Sec-WebSocket-Protocol", "chat")], MessageKind::Text);
    let (_, head) = opened(1, &settings);
    assert!(head.starts_with("GET /chat HTTP/1.1\r\nHost: localhost\r\n"), "{head}");
    assert!(head.ends_with("\r\n\r\n") && head.matches("\r\n\r\n").count() == 1, "{head}");
    for (name, value) in [
        ("Upgrade", "websocket"),
        ("Connection", "Upgrade"),
        ("Sec-WebSocket-Version", "13"),
        ("Origin", "http://a.org"),
        ("Sec-WebSocket-Protocol", "chat"),
    ] {
        assert_eq!(field(&head, name), Some(value), "{head}");
    }
    for absent in ["Content-Length", "Sec-WebSocket-Extensions"] {
        assert_eq!(field(&head, absent), None);
    }
    // 16 bytes in base64.
    let key = field(&head, "Sec-WebSocket-Key").unwrap();
    assert!(key.len() == 24 && key.ends_with("=="), "{key}");
}

#[test]
fn each_connection_has_another_key() {
    let settings = settings(&[], MessageKind::Text);
    let (mut exchange, first) = opened(1, &settings);
    let (_, second) = opened(1, &settings);
    exchange.open();
    let mut third = Vec::new();
    exchange.write_output(&mut third);
    let third = String::from_utf8(third).unwrap();
    let mut keys = [&first, &second, &third].map(|head| field(head, "Sec-WebSocket-Key").unwrap());
    keys.sort_unstable();
    assert!(keys[0] != keys[1] && keys[1] != keys[2], "{keys:?}");
}

#[test]
fn fields_that_are_made_for_each_connection_cannot_be_given() {
    for name in
        ["upgrade", "Connection", "sec-websocket-key", "Sec-WebSocket-Version", "Sec-WebSocket-Extensions"]
    {
        let refused = Handshake::new(&request(&[(name, "x")], b""));
        assert_eq!(refused, Err(InvalidRequest::WebSocketField { name: name.to_owned() }));
    }
}

/// What becomes of a connection whose request is answered so, `ACCEPT` being what accepts it; byte by byte and at once.
fn refusal(answer: &str) -> (Malformed, Option<String>) {
    let outcome = |pieces: &dyn Fn(&str) -> Vec<Vec<u8>>| {
        let offer = [("Sec-WebSocket-Protocol", "chat, superchat")];
        let (mut exchange, head) = opened(1, &settings(&offer, MessageKind::Text));
        let accept = accept_of(field(&head, "Sec-WebSocket-Key").unwrap().as_bytes());
        let answer = answer.replace("ACCEPT", &accept);
        for piece in pieces(&answer) {
            assert_eq!(exchange.readiness(), Readiness::Handshaking);
            if let Err(refused) = events_of(&mut exchange, &piece) {
                assert_eq!(exchange.readiness(), Readiness::Closed);
                assert_eq!(exchange.complaint().as_deref(), Some(refused.to_string().as_str()));
                return (refused, exchange.example().map(str::to_owned));
            }
        }
        panic!("not refused: {answer:?}");
    };
    let whole = outcome(&|answer| vec![answer.into()]);
    let bytes = outcome(&|answer| answer.bytes().map(|byte| vec![byte]).collect());
    assert_eq!(bytes, whole);
    whole
}

#[test]
fn a_refused_upgrade_is_said_with_its_status_and_the_first_line_of_its_body() {
    let long = "x".repeat(1000);
    let shortened = format!("{}…", &long[..200]);
    for (answer, status, reason) in [
        ("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", 404, None),
        ("HTTP/1.1 403 Forbidden\r\nContent-Length: 9\r\n\r\n\r\nno\tway\r\n", 403, Some("no way")),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", 200, Some("hello")),
        ("HTTP/1.0 503 Busy\r\n\r\ntoo many\nclients", 503, Some("too many")),
        // What is wrong in the body is not what matters, whether it comes with the line that is shown, before it or after it.
        (
            "HTTP/1.1 503 Busy\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nbusy\r\n\r\n0\x0c\n\r\n",
            503,
            Some("busy"),
        ),
        ("HTTP/1.1 503 Busy\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nbu!?", 503, Some("bu")),
        ("HTTP/1.1 503 Busy\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", 503, None),
        (
            "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 426 Upgrade Required\r\nContent-Length: 1\r\n\r\nx",
            426,
            Some("x"),
        ),
        (&format!("HTTP/1.1 500 Oh\r\nContent-Length: 1000\r\n\r\n{long}"), 500, Some(shortened.as_str())),
    ] {
        let expected = (WebSocketError::Refused { status }.into(), reason.map(str::to_owned));
        assert_eq!(refusal(answer), expected, "{answer}");
    }
}

#[test]
fn a_refusal_whose_body_lasts_until_the_end_is_said_at_the_end() {
    let (mut exchange, _) = opened(1, &settings(&[], MessageKind::Text));
    let answer = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\nMissing or invalid header";
    assert_eq!(events_of(&mut exchange, answer), Ok(vec![]));
    assert_eq!(exchange.end_of_input(), None);
    assert_eq!(exchange.readiness(), Readiness::Closed);
    assert!(exchange.complaint().unwrap().contains("status 400"));
    assert_eq!(exchange.example(), Some("Missing or invalid header"));
}

#[test]
fn an_upgrade_without_what_rfc_6455_asks_for_is_refused() {
    use WebSocketError::{Accept, Extension, Subprotocol, Upgrade};
    let head = "HTTP/1.1 101 Switching Protocols\r\n";
    let sound = "Upgrade: websocket\r\nConnection: Upgrade\r\n";
    let accept = "Sec-WebSocket-Accept: ACCEPT\r\n";
    for (answer, error) in [
        (format!("{head}Connection: Upgrade\r\n{accept}\r\n"), Upgrade),
        (format!("{head}Upgrade: websocket\r\n{accept}\r\n"), Upgrade),
        (format!("{head}Upgrade: h2c\r\nConnection: Upgrade\r\n{accept}\r\n"), Upgrade),
        (format!("HTTP/1.0 101 Switching\r\n{sound}{accept}\r\n"), Upgrade),
        (format!("{head}{sound}\r\n"), Accept),
        (format!("{head}{sound}Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"), Accept),
        (format!("{head}{sound}{accept}{accept}\r\n"), Accept),
        (format!("{head}{sound}{accept}Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n"), Extension),
        (format!("{head}{sound}{accept}Sec-WebSocket-Protocol: other\r\n\r\n"), Subprotocol),
        (format!("{head}{sound}{accept}{0}{0}\r\n", "Sec-WebSocket-Protocol: chat\r\n"), Subprotocol),
    ] {
        assert_eq!(refusal(&answer), (error.into(), None), "{answer}");
    }
}

#[test]
fn what_is_not_http_is_refused_at_its_first_wrong_byte() {
    let (mut exchange, _) = opened(1, &settings(&[], MessageKind::Text));
    assert_eq!(events_of(&mut exchange, b"HTTP/2"), Err(Malformed::NotHttp1));
    let (mut exchange, _) = opened(1, &settings(&[], MessageKind::Text));
    assert_eq!(events_of(&mut exchange, b"\x15\x03\x01"), Err(Malformed::TlsInsteadOfHttp1));
}

#[test]
fn a_subprotocol_that_was_offered_may_be_chosen_and_frames_may_come_right_behind() {
    let offer = [("Sec-WebSocket-Protocol", "chat, superchat")];
    let (mut exchange, head) = opened(1, &settings(&offer, MessageKind::Text));
    let mut answer = upgrade(&head, "Sec-WebSocket-Protocol: superchat\r\n").into_bytes();
    answer.extend(frame(0x89, b"!"));
    assert_eq!(events_of(&mut exchange, &answer), Ok(vec![]));
    assert_eq!(exchange.readiness(), Readiness::Ready);
    assert_eq!(crate::support::output(&mut exchange), [(0x8a, b"!".to_vec())]);
}

#[test]
fn a_connection_that_is_opened_again_knows_nothing_of_the_one_before() {
    let mut exchange = with_messages(1);
    events_of(&mut exchange, &frame(0x82, b"abc")[..3]).unwrap();
    exchange.open();
    let mut head = Vec::new();
    exchange.write_output(&mut head);
    let head = String::from_utf8(head).unwrap();
    assert_eq!(exchange.readiness(), Readiness::Handshaking);
    assert_eq!(events_of(&mut exchange, upgrade(&head, "").as_bytes()), Ok(vec![]));
    crate::support::begin(&mut exchange, 0, b"x");
    let events = events_of(&mut exchange, &frame(0x81, b"four")).unwrap();
    assert_eq!(crate::support::answered(&events), [(0, 4)]);
}
