//! WebSockets on streams (RFC 8441): how they are opened, whose answers messages are, and how each of them ends.

use loadcurve_wire::h2::hpack::Decoder;
use loadcurve_wire::{
    Body, BodyPart, ErrorCode, Event, Exchange as _, Http2Settings, HttpExchange as _, InvalidRequest,
    Malformed, MessageKind, Readiness, Received, Refusal, Request, Response, Tag, WebSocketError,
    WebSocketHttp2, WebSocketHttp2Settings, WebSocketTemplate,
};
use proptest::prelude::*;

use crate::support::{
    DATA, END_STREAM, GOAWAY, HEADERS, RST_STREAM, SentFrame, data, fields_of, frames_of, go_away, headers,
    request, reset, settings, window_update,
};

/// Setting 8 is `SETTINGS_ENABLE_CONNECT_PROTOCOL`, 3 how many streams at once, 4 the window of each.
const TAKES: (u16, u32) = (8, 1);
const STREAMS: u16 = 3;
const WINDOW: u16 = 4;

const FIN: u8 = 0x80;
const CONTINUATION: u8 = 0;
const TEXT: u8 = 1;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

fn settings_of_client(fields: &[(&str, &str)]) -> Result<WebSocketHttp2Settings, InvalidRequest> {
    WebSocketHttp2Settings::new(&request("GET", fields, b""), MessageKind::Text, 7, Http2Settings::default())
}

/// A connection to a server with these settings, and what it sends when it has read them.
fn connection(most: usize, of_server: &[(u16, u32)]) -> (WebSocketHttp2, Vec<SentFrame>) {
    let mut exchange = WebSocketHttp2::new(most, &settings_of_client(&[]).unwrap());
    exchange.open();
    exchange.write_output(&mut Vec::new());
    assert_eq!(exchange.readiness(), Readiness::Handshaking);
    exchange.receive(&settings(of_server)).unwrap();
    let sent = output(&mut exchange);
    (exchange, sent)
}

/// The same with all its WebSockets open.
fn opened(most: usize) -> WebSocketHttp2 {
    let (mut exchange, sent) = connection(most, &[TAKES]);
    for (_, _, stream, _) in sent.iter().filter(|frame| frame.0 == HEADERS) {
        exchange.receive(&head(*stream)).unwrap();
    }
    assert_eq!(exchange.readiness(), Readiness::Ready);
    exchange
}

/// The head that opens a WebSocket.
fn head(stream: u32) -> Vec<u8> {
    headers(0, stream, &[(":status", "200")])
}

/// A frame of a server, of less than 126 bytes.
fn frame(first: u8, body: &[u8]) -> Vec<u8> {
    [&[first, u8::try_from(body.len()).unwrap()], body].concat()
}

fn close(code: u16, reason: &str) -> Vec<u8> {
    frame(FIN | CLOSE, &[&code.to_be_bytes(), reason.as_bytes()].concat())
}

fn template(body: &[u8]) -> WebSocketTemplate {
    WebSocketHttp2::template(&request("GET", &[], body)).unwrap()
}

fn begin(exchange: &mut WebSocketHttp2, tag: Tag) -> Vec<SentFrame> {
    let mut sent = Vec::new();
    exchange.begin(tag, &template(b"hello"), None, &mut sent);
    frames_of(&sent)
}

fn output(exchange: &mut WebSocketHttp2) -> Vec<SentFrame> {
    let mut sent = Vec::new();
    exchange.write_output(&mut sent);
    assert!(!exchange.has_output());
    // What acknowledges settings is not looked at here.
    frames_of(&sent).into_iter().filter(|frame| frame.0 != 4).collect()
}

/// The frames of WebSocket in what a client has sent on a stream, each by its first byte and its body without the mask.
fn unmasked(mut bytes: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut frames = Vec::new();
    while !bytes.is_empty() {
        assert_eq!(bytes[1] & 0x80, 0x80, "each frame of a client is masked");
        let (length, at) = match bytes[1] & 0x7f {
            126 => (usize::from(u16::from_be_bytes([bytes[2], bytes[3]])), 4),
            length => (usize::from(length), 2),
        };
        let (key, end) = (&bytes[at..at + 4], at + 4 + length);
        let body = bytes[at + 4..end].iter().zip(key.iter().cycle()).map(|(byte, key)| byte ^ key);
        frames.push((bytes[0], body.collect()));
        bytes = &bytes[end..];
    }
    frames
}

/// The events that bytes bring in pieces of this length, beside begins, and the fault that ends them.
fn events(exchange: &mut WebSocketHttp2, bytes: &[u8], at_once: usize) -> (Vec<Event>, Option<Malformed>) {
    let mut events = Vec::new();
    for mut piece in bytes.chunks(at_once.max(1)) {
        while !piece.is_empty() || exchange.has_input() {
            match exchange.receive(piece) {
                Ok(Received { consumed, event }) => {
                    assert!(consumed > 0 || event.is_some(), "it never ends");
                    events.extend(event.filter(|event| !matches!(event, Event::Begun(_))));
                    piece = &piece[consumed..];
                }
                Err(fault) => return (events, Some(fault)),
            }
        }
    }
    (events, None)
}

fn event(exchange: &mut WebSocketHttp2, bytes: &[u8]) -> Event {
    let (events, fault) = events(exchange, bytes, usize::MAX);
    assert_eq!(fault, None);
    let [event] = events[..] else { panic!("{events:?}") };
    event
}

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
fn the_next_message_of_a_websocket_answers_the_one_that_was_sent_on_it() {
    let mut exchange = opened(2);
    assert_eq!([0, 1].map(|tag| begin(&mut exchange, tag)[0].2), [1, 3]);
    let answers = [data(0, 3, &frame(FIN | TEXT, b"b")), data(0, 1, &frame(FIN | TEXT, b"aa"))].concat();
    let (found, fault) = events(&mut exchange, &answers, usize::MAX);
    assert_eq!(fault, None);
    // Around a body of this length are nine bytes of HTTP/2 and two of WebSocket.
    let answer = |tag, body_bytes| {
        let response = Response {
            status: 200,
            header_bytes: 0,
            body_bytes,
            framing_bytes: 9 + 2,
            keep_alive: true,
            grpc_status: None,
        };
        Event::Answered(tag, response)
    };
    assert_eq!(found, [answer(1, 1), answer(0, 2)]);
    assert_eq!([1, 0].map(|tag| begin(&mut exchange, tag)[0].2), [3, 1]);
}

#[test]
fn every_byte_of_an_answer_is_counted_once_whatever_its_frames_and_however_it_is_cut() {
    let message = [frame(TEXT, b"hel"), frame(FIN | PING, b"?"), frame(FIN | CONTINUATION, b"lo")].concat();
    let bytes: Vec<u8> = message.chunks(4).flat_map(|part| data(0, 1, part)).collect();
    for at_once in 1..=bytes.len() {
        let mut exchange = opened(1);
        begin(&mut exchange, 0);
        let (found, fault) = events(&mut exchange, &bytes, at_once);
        let [Event::Answered(0, response)] = found[..] else { panic!("{found:?} {fault:?}") };
        assert_eq!((response.body_bytes, response.header_bytes), (5, 0));
        assert_eq!(response.body_bytes + response.framing_bytes, bytes.len() as u64, "by {at_once}");
        let sent = output(&mut exchange);
        let [(DATA, 0, 1, body)] = &sent[..] else { panic!("{sent:?}") };
        assert_eq!(unmasked(body), [(FIN | PONG, b"?".to_vec())]);
    }
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
fn a_message_that_nobody_has_asked_for_ends_the_connection_however_it_is_cut() {
    let answer = data(0, 1, &frame(FIN | TEXT, b"a"));
    let two = data(0, 1, &[frame(FIN | TEXT, b"a"), frame(FIN | TEXT, b"b")].concat());
    for (bytes, answers) in
        [([&answer[..], &answer].concat(), 1), (two, 1), (data(0, 3, &frame(FIN | TEXT, b"x")), 0)]
    {
        for at_once in 1..=bytes.len() {
            let mut exchange = opened(2);
            begin(&mut exchange, 0);
            let (found, fault) = events(&mut exchange, &bytes, at_once);
            assert_eq!(found.len(), answers, "{found:?}");
            assert_eq!(fault, Some(Malformed::Unasked));
            assert_eq!(exchange.readiness(), Readiness::Closed);
            assert!(output(&mut exchange).iter().any(|frame| frame.0 == GOAWAY));
        }
    }
}

#[test]
fn an_answer_to_what_was_not_sent_is_none() {
    // A message of 5 bytes takes 11.
    let (mut exchange, _) = connection(1, &[TAKES, (WINDOW, 5)]);
    exchange.receive(&head(1)).unwrap();
    begin(&mut exchange, 0);
    let (found, fault) = events(&mut exchange, &data(0, 1, &frame(FIN | TEXT, b"a")), usize::MAX);
    assert_eq!((found, fault), (vec![], Some(Malformed::Unasked)));
}

/// Writes what the windows allow; bodies that are read meanwhile are the alphabet.
fn write_bodies(exchange: &mut WebSocketHttp2, most_bytes: usize, to: &mut Vec<u8>) {
    let mut read = |part: BodyPart, to: &mut Vec<u8>| -> Result<(), ()> {
        assert_eq!(part.tag, 0);
        let alphabet = (b'a'..=b'z').cycle().skip(usize::try_from(part.offset % 26).unwrap());
        to.extend(alphabet.take(part.bytes));
        Ok(())
    };
    while exchange.can_write_body() {
        exchange.write_body(most_bytes, &mut read, to).unwrap();
    }
}

/// What of the frames on stream 1 is data.
fn sent_on_1(sent: &[u8]) -> Vec<u8> {
    frames_of(sent).into_iter().filter(|frame| (frame.0, frame.2) == (DATA, 1)).flat_map(|it| it.3).collect()
}

#[test]
fn a_message_goes_as_far_as_the_windows_allow_and_a_pong_waits_for_its_end() {
    for is_following in [false, true] {
        let (mut exchange, _) = connection(1, &[TAKES, (WINDOW, 5)]);
        exchange.receive(&head(1)).unwrap();
        let body: Vec<u8> = (b'a'..=b'z').cycle().take(300).collect();
        let kept = request("GET", &[], &body);
        let template = WebSocketHttp2::template(&if is_following {
            Request { body: Body::Following(300), ..kept }
        } else {
            kept
        })
        .unwrap();
        let mut sent = Vec::new();
        exchange.begin(0, &template, None, &mut sent);
        write_bodies(&mut exchange, usize::MAX, &mut sent);
        exchange.receive(&data(0, 1, &frame(FIN | PING, b"!"))).unwrap();
        assert!(exchange.is_writing_body(0) && !exchange.has_output(), "there is no place for it");
        for _ in 0..4 {
            exchange.receive(&window_update(1, 80)).unwrap();
            write_bodies(&mut exchange, 64, &mut sent);
        }
        assert!(!exchange.is_writing_body(0));
        exchange.write_output(&mut sent);
        exchange.receive(&window_update(1, 100)).unwrap();
        write_bodies(&mut exchange, usize::MAX, &mut sent);
        assert_eq!(unmasked(&sent_on_1(&sent)), [(FIN | TEXT, body), (FIN | PONG, b"!".to_vec())]);
        let answer = event(&mut exchange, &data(0, 1, &frame(FIN | TEXT, b"a")));
        assert!(matches!(answer, Event::Answered(0, _)));
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

#[test]
fn of_pings_that_nobody_takes_the_answers_to_the_last_ones_are_kept() {
    let mut exchange = opened(1);
    for number in 0..10_000_u32 {
        let ping = frame(FIN | PING, &[&number.to_be_bytes()[..], &[0; 100]].concat());
        exchange.receive(&data(0, 1, &ping)).unwrap();
    }
    let mut sent = Vec::new();
    exchange.write_output(&mut sent);
    write_bodies(&mut exchange, usize::MAX, &mut sent);
    let pongs = sent_on_1(&sent);
    assert!(pongs.len() < 17 * 1024, "{}", pongs.len());
    let (first, body) = unmasked(&pongs).pop().unwrap();
    assert_eq!((first, &body[..4]), (FIN | PONG, &9_999_u32.to_be_bytes()[..]));
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

/// What a server may say to four messages on as many streams.
fn conversation() -> Vec<u8> {
    [
        data(0, 3, &[frame(FIN | PING, b"there?"), frame(TEXT, b"\xc3")].concat()),
        data(0, 1, &frame(FIN | TEXT, b"one")),
        data(0, 3, &frame(FIN | CONTINUATION, b"\xa4")),
        data(0, 5, &frame(FIN | TEXT, b"three")[..4]),
        data(0, 7, &close(1011, "no")),
        data(END_STREAM, 7, b""),
        data(END_STREAM, 5, b"ee"),
        data(END_STREAM, 1, &close(1000, "")),
    ]
    .concat()
}

/// What becomes of four messages, and what is sent by itself, where these pieces come.
fn outcome(pieces: &[&[u8]]) -> (Vec<Event>, Option<Malformed>, Vec<SentFrame>) {
    let mut exchange = opened(4);
    (0..4).for_each(|tag| drop(begin(&mut exchange, tag)));
    let (mut found, mut fault) = (Vec::new(), None);
    for piece in pieces {
        let (more, ends) = events(&mut exchange, piece, usize::MAX);
        found.extend(more);
        fault = ends;
        if fault.is_some() {
            break;
        }
    }
    let mut sent = Vec::new();
    exchange.write_output(&mut sent);
    let frames = frames_of(&sent).into_iter();
    // Masks are drawn in the order in which frames are written.
    let mut frames: Vec<_> = frames
        .map(|(kind, flags, stream, body)| (kind, flags, stream, if kind == DATA { vec![] } else { body }))
        .collect();
    frames.sort();
    (found, fault, frames)
}

proptest! {
    #[test]
    fn frames_in_any_pieces_bring_the_same_events_and_the_same_output(
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
    ) {
        let bytes = conversation();
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        places.extend([0, bytes.len()]);
        places.sort_unstable();
        let pieces: Vec<&[u8]> = places.windows(2).map(|cut| &bytes[cut[0]..cut[1]]).collect();
        let whole = outcome(&[&bytes]);
        prop_assert_eq!(whole.0.len(), 4);
        prop_assert_eq!(outcome(&pieces), whole);
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(
        garbage in prop::collection::vec(any::<u8>(), 0..60),
        at in any::<prop::sample::Index>(),
        at_once in 1_usize..40,
    ) {
        let mut bytes = conversation();
        let at = at.index(bytes.len());
        let end = (at + garbage.len()).min(bytes.len());
        bytes.splice(at..end, garbage);
        let pieces: Vec<&[u8]> = bytes.chunks(at_once).collect();
        outcome(&pieces);
    }
}
