//! How WebSockets are asked for, opened and refused.

use super::{
    FIN, STREAMS, TAKES, TEXT, begin, close, connection, event, events, frame, head, opened, output,
    settings_of_client, unmasked,
};
use crate::support::{DATA, END_STREAM, HEADERS, data, fields_of, headers, reset, settings};
use loadcurve_wire::h2::hpack::Decoder;
use loadcurve_wire::{
    ErrorCode, Event, Exchange as _, InvalidRequest, Malformed, Readiness, Refusal, WebSocketError,
    WebSocketHttp2,
};

#[test]
fn a_websocket_is_asked_for_by_an_extended_connect_and_no_message_goes_before_it_is_open() {
    let mut exchange = WebSocketHttp2::new(1, &settings_of_client(&[("Origin", "http://here")]).unwrap());
    exchange.open();
    exchange.write_output(&mut Vec::new());
    exchange.receive(&settings(&[TAKES])).unwrap();
    let sent = output(&mut exchange);
    let [(HEADERS, flags, 1, block)] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!(flags & END_STREAM, 0);
    let mut fields = fields_of(&mut Decoder::new(4096), block);
    fields.retain(|(name, _)| name != "user-agent");
    let expected = [
        (":method", "CONNECT"),
        (":protocol", "websocket"),
        (":scheme", "http"),
        (":authority", "localhost:8080"),
        (":path", "/1k.txt"),
        ("origin", "http://here"),
        ("sec-websocket-version", "13"),
    ];
    assert_eq!(fields, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    assert_eq!(exchange.readiness(), Readiness::Handshaking);
    exchange.receive(&head(1)).unwrap();
    assert_eq!(exchange.readiness(), Readiness::Ready);
    let sent = begin(&mut exchange, 0);
    let [(DATA, 0, 1, body)] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!(unmasked(body), [(FIN | TEXT, b"hello".to_vec())]);
}

#[test]
fn a_field_of_the_handshake_is_not_the_users() {
    for name in ["Sec-WebSocket-Version", "sec-websocket-key", "Upgrade"] {
        let refused = settings_of_client(&[(name, "x")]).unwrap_err();
        assert_eq!(refused, InvalidRequest::WebSocketField { name: name.into() });
    }
}

#[test]
fn a_server_whose_settings_do_not_take_websockets_is_asked_for_none() {
    for of_server in [&[][..], &[(STREAMS, 100)], &[(8, 0)]] {
        let mut exchange = WebSocketHttp2::new(1, &settings_of_client(&[]).unwrap());
        exchange.open();
        exchange.write_output(&mut Vec::new());
        let (found, fault) = events(&mut exchange, &settings(of_server), 1);
        assert_eq!((found, fault), (vec![], Some(WebSocketError::NotOverHttp2.into())));
        assert_eq!(exchange.readiness(), Readiness::Closed);
        assert!(exchange.complaint().unwrap().contains("use http = \"1.1\""));
        assert!(output(&mut exchange).iter().all(|frame| frame.0 != HEADERS));
    }
}

#[test]
fn as_many_are_opened_as_both_sides_allow_and_messages_wait_for_all_of_them() {
    let (mut exchange, sent) = connection(3, &[TAKES, (STREAMS, 2)]);
    assert_eq!(sent.iter().map(|frame| frame.2).collect::<Vec<_>>(), [1, 3]);
    assert_eq!(exchange.limit(), Some(2));
    exchange.receive(&head(3)).unwrap();
    assert_eq!(exchange.readiness(), Readiness::Handshaking);
    exchange.receive(&head(1)).unwrap();
    // The one that has been open for longest is the first.
    assert_eq!([0, 1].map(|tag| begin(&mut exchange, tag)[0].2), [3, 1]);
    assert_eq!(exchange.readiness(), Readiness::Busy);
}

#[test]
fn a_server_that_takes_no_streams_yet_is_asked_when_it_does() {
    let (mut exchange, sent) = connection(1, &[TAKES, (STREAMS, 0)]);
    assert_eq!((sent.len(), exchange.readiness()), (0, Readiness::Handshaking));
    exchange.receive(&settings(&[(STREAMS, 1)])).unwrap();
    assert!(matches!(output(&mut exchange)[..], [(HEADERS, _, 1, _)]));
}

#[test]
fn a_refused_websocket_is_told_with_its_status_and_the_first_line_of_what_the_server_says() {
    let head = headers(0, 1, &[(":status", "403"), ("content-length", "18")]);
    let bytes = [head, data(0, 1, b"not for\tyou"), data(END_STREAM, 1, b"\nbye!!\n")].concat();
    for at_once in 1..=bytes.len() {
        let (mut exchange, _) = connection(1, &[TAKES]);
        let (found, fault) = events(&mut exchange, &bytes, at_once);
        assert_eq!((found, fault), (vec![], Some(WebSocketError::Refused { status: 403 }.into())));
        assert_eq!(exchange.example(), Some("not for you"), "by {at_once}");
        assert_eq!(exchange.readiness(), Readiness::Closed);
    }
}

#[test]
fn a_refusal_without_a_body_or_whose_body_never_ends_is_told_as_far_as_it_is_known() {
    let (mut exchange, _) = connection(1, &[TAKES]);
    let (_, fault) = events(&mut exchange, &headers(END_STREAM, 1, &[(":status", "404")]), usize::MAX);
    assert_eq!(fault, Some(WebSocketError::Refused { status: 404 }.into()));
    let (mut exchange, _) = connection(1, &[TAKES]);
    events(&mut exchange, &headers(0, 1, &[(":status", "500")]), usize::MAX);
    assert!(exchange.complaint().unwrap().contains("status 500"));
    let long = [data(0, 1, &[b'x'; 150]), data(0, 1, &[b'x'; 150])].concat();
    assert_eq!(events(&mut exchange, &long, 7).1, Some(WebSocketError::Refused { status: 500 }.into()));
    assert_eq!(exchange.example(), Some(&*format!("{}…", "x".repeat(200))));
}

#[test]
fn a_stream_that_is_reset_before_it_is_open_ends_the_handshake_and_one_that_is_not_looked_at_does_not() {
    let (mut exchange, _) = connection(1, &[TAKES]);
    let (_, fault) = events(&mut exchange, &reset(1, 2), usize::MAX);
    assert_eq!(fault, Some(WebSocketError::Reset { code: ErrorCode::InternalError }.into()));
    let (mut exchange, _) = connection(2, &[TAKES]);
    // Error 7 is REFUSED_STREAM.
    assert_eq!(events(&mut exchange, &[reset(3, 7), head(1)].concat(), usize::MAX), (vec![], None));
    assert_eq!((exchange.readiness(), exchange.limit()), (Readiness::Ready, Some(1)));
    // The next message goes to the one that is open, and no other is asked for as long as it is.
    let sent = begin(&mut exchange, 0);
    assert!(matches!(sent[..], [(DATA, 0, 1, _)]), "{sent:?}");
    assert_eq!(exchange.readiness(), Readiness::Busy);
}

#[test]
fn of_several_websockets_it_is_said_how_many_were_opened_and_how_the_others_were_not() {
    let refused = headers(END_STREAM, 5, &[(":status", "503")]);
    let cases = [
        (refused, "with status 503, when it had opened 2 of 4 on this connection; use fewer streams"),
        (reset(5, 2), "InternalError, when it had opened 2 of 4 on this connection; use fewer streams"),
        (
            vec![],
            "opened 2 of 4 WebSockets on this connection, and did not answer the requests for the others",
        ),
    ];
    for (then, said) in cases {
        let (mut exchange, _) = connection(4, &[TAKES]);
        let _ = events(&mut exchange, &[head(1), head(3), then].concat(), usize::MAX);
        let complaint = exchange.complaint().unwrap().into_owned();
        assert!(complaint.contains(said), "{complaint}");
    }
    // Where it opens none, and where it opens all, there is nothing to be said of that.
    let (exchange, _) = connection(4, &[TAKES]);
    assert_eq!(exchange.complaint(), None);
    assert_eq!(opened(4).complaint(), None);
}

#[test]
fn a_message_that_asks_for_another_websocket_waits_until_that_is_open() {
    let mut exchange = opened(2);
    begin(&mut exchange, 1);
    events(&mut exchange, &data(END_STREAM, 3, &close(1000, "")), usize::MAX);
    output(&mut exchange);
    let sent = begin(&mut exchange, 0);
    assert!(matches!(sent[..], [(HEADERS, _, 5, _)]), "{sent:?}");
    assert!(exchange.is_writing_body(0));
    exchange.receive(&head(5)).unwrap();
    let sent = output(&mut exchange);
    let [(DATA, 0, 5, body)] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!(unmasked(body), [(FIN | TEXT, b"hello".to_vec())]);
    assert!(!exchange.is_writing_body(0));
}

#[test]
fn a_websocket_that_is_refused_later_fails_the_message_that_asked_for_it() {
    let mut exchange = opened(2);
    begin(&mut exchange, 0);
    events(&mut exchange, &data(END_STREAM, 3, &close(1000, "")), usize::MAX);
    assert!(matches!(begin(&mut exchange, 1)[..], [(HEADERS, _, 5, _)]));
    let refused = headers(END_STREAM, 5, &[(":status", "503")]);
    let fault = Malformed::WebSocket(WebSocketError::Refused { status: 503 });
    assert_eq!(event(&mut exchange, &refused), Event::Refused(1, Refusal::Malformed(fault)));
    assert!(matches!(event(&mut exchange, &data(0, 1, &frame(FIN | TEXT, b"a"))), Event::Answered(0, _)));
}

#[test]
fn a_new_connection_knows_nothing_of_the_last_one() {
    let mut exchange = opened(2);
    begin(&mut exchange, 0);
    event(&mut exchange, &data(0, 1, &close(1001, "bye")));
    assert_eq!(exchange.end_of_input(), None);
    exchange.open();
    assert_eq!((exchange.complaint(), exchange.example()), (None, None));
    assert_eq!(exchange.readiness(), Readiness::Handshaking);
    exchange.write_output(&mut Vec::new());
    exchange.receive(&settings(&[TAKES])).unwrap();
    assert_eq!(output(&mut exchange).iter().map(|frame| frame.2).collect::<Vec<_>>(), [1, 3]);
}
