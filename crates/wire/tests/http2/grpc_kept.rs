//! Calls of gRPC that are kept: each message of the client is answered by the next one of its call.

use loadcurve_wire::{
    ErrorCode, Event, Exchange as _, Grpc, GrpcAnswer, GrpcCalls, GrpcError, GrpcSettings, GrpcStatus,
    Http2Template, HttpExchange as _, Malformed, Readiness, Received, Refusal, Response, Tag,
};

use crate::support::{
    DATA, END_STREAM, HEADERS, RST_STREAM, data, frames_of, go_away, headers, request, reset, settings,
    window_update,
};

const MESSAGE: &[u8] = b"\0\0\0\0\x03abc";
const ANSWER: &[u8] = b"\0\0\0\0\x02de";
const ANSWER_HEAD: [(&str, &str); 2] = [(":status", "200"), ("content-type", "application/grpc")];

/// A connection for this many messages at once, with these settings of its server.
fn connection(most: usize, of_server: &[(u16, u32)]) -> Grpc {
    let settings_of_client = GrpcSettings {
        calls: GrpcCalls { answer: GrpcAnswer::Each, ..GrpcCalls::default() },
        ..GrpcSettings::default()
    };
    let mut exchange = Grpc::new(most, &settings_of_client);
    exchange.open();
    exchange.receive(&settings(of_server)).unwrap();
    exchange.write_output(&mut Vec::new());
    exchange
}

fn template(message: &[u8]) -> Http2Template {
    Grpc::template(&request("POST", &[], message)).unwrap()
}

/// The frames with which a message begins: kind, flags, stream, payload.
fn begin(exchange: &mut Grpc, tag: Tag) -> Vec<(u8, u8, u32, Vec<u8>)> {
    let mut sent = Vec::new();
    exchange.begin(tag, &template(MESSAGE), None, &mut sent);
    frames_of(&sent)
}

/// What bytes bring that come in pieces of this length, beside beginnings.
fn events(exchange: &mut Grpc, bytes: &[u8], at_once: usize) -> (Vec<Event>, Option<Malformed>) {
    let (mut events, fault) = all_events(exchange, bytes, at_once);
    events.retain(|event| !matches!(event, Event::Begun(_)));
    (events, fault)
}

fn all_events(exchange: &mut Grpc, bytes: &[u8], at_once: usize) -> (Vec<Event>, Option<Malformed>) {
    let mut events = Vec::new();
    for mut piece in bytes.chunks(at_once) {
        while !piece.is_empty() || exchange.has_input() {
            match exchange.receive(piece) {
                Ok(Received { consumed, event }) => {
                    events.extend(event);
                    piece = &piece[consumed..];
                }
                Err(fault) => return (events, Some(fault)),
            }
        }
    }
    (events, None)
}

fn answered_tags(exchange: &mut Grpc, bytes: &[u8]) -> Vec<Tag> {
    let (events, fault) = events(exchange, bytes, usize::MAX);
    assert_eq!(fault, None);
    let tag = |event: &Event| match *event {
        Event::Answered(tag, Response { status: 200, grpc_status: Some(GrpcStatus::Ok), .. }) => tag,
        other => panic!("{other:?}"),
    };
    events.iter().map(tag).collect()
}

#[test]
fn messages_follow_each_other_on_one_call_which_is_begun_once() {
    let mut exchange = connection(1, &[]);
    let frames = begin(&mut exchange, 0);
    let [(HEADERS, _, 1, _), (DATA, 0, 1, body)] = &frames[..] else { panic!("{frames:?}") };
    assert_eq!(body, MESSAGE);
    assert_eq!(exchange.readiness(), Readiness::Busy);
    let head = headers(0, 1, &ANSWER_HEAD);
    assert_eq!(answered_tags(&mut exchange, &[head, data(0, 1, ANSWER)].concat()), [0]);
    for _ in 0..3 {
        assert_eq!(exchange.readiness(), Readiness::Ready);
        let frames = begin(&mut exchange, 0);
        let [(DATA, 0, 1, body)] = &frames[..] else { panic!("{frames:?}") };
        assert_eq!(body, MESSAGE);
        assert_eq!(answered_tags(&mut exchange, &data(0, 1, ANSWER)), [0]);
    }
}

/// These bytes answer one message, and all of them are counted, in pieces of whatever length they come.
fn assert_counts_all(bytes: &[u8]) {
    for at_once in 1..=bytes.len() {
        let mut exchange = connection(1, &[]);
        begin(&mut exchange, 0);
        let (events, fault) = events(&mut exchange, bytes, at_once);
        let [Event::Answered(0, response)] = events[..] else { panic!("{events:?}") };
        let Response { header_bytes, body_bytes, framing_bytes, .. } = response;
        assert_eq!((body_bytes, fault), (ANSWER.len() as u64, None));
        assert_eq!(header_bytes + body_bytes + framing_bytes, bytes.len() as u64, "by {at_once}");
    }
}

#[test]
fn what_an_answer_takes_is_counted_once_however_it_is_cut() {
    let head = headers(0, 1, &ANSWER_HEAD);
    assert_counts_all(&[&head[..], &data(0, 1, &ANSWER[..3]), &data(0, 1, &ANSWER[3..])].concat());
}

#[test]
fn the_same_is_counted_where_the_server_ends_the_call_with_it() {
    assert_counts_all(&[headers(0, 1, &ANSWER_HEAD), data(END_STREAM, 1, ANSWER)].concat());
}

#[test]
fn as_many_calls_are_opened_as_may_be_under_way_and_then_the_one_that_rests_longest_is_used() {
    let mut exchange = connection(3, &[]);
    let heads: Vec<_> = [1, 3, 5].iter().map(|stream| headers(0, *stream, &ANSWER_HEAD)).collect();
    for (tag, stream) in [(0, 1), (1, 3)] {
        assert_eq!(begin(&mut exchange, tag)[0].2, stream);
    }
    // An answer leaves its call open; the next message opens another one all the same.
    assert_eq!(answered_tags(&mut exchange, &[&heads[0][..], &data(0, 1, ANSWER)].concat()), [0]);
    assert_eq!(begin(&mut exchange, 0)[0].2, 5);
    assert_eq!(answered_tags(&mut exchange, &[&heads[2][..], &data(0, 5, ANSWER)].concat()), [0]);
    assert_eq!(answered_tags(&mut exchange, &[&heads[1][..], &data(0, 3, ANSWER)].concat()), [1]);
    let streams: Vec<u32> = [2, 1, 0].map(|tag| begin(&mut exchange, tag)[0].2).into();
    assert_eq!(streams, [1, 5, 3]);
}

#[test]
fn a_server_that_allows_fewer_calls_has_as_many_messages_under_way() {
    // Setting 3: how many streams at once.
    let mut exchange = connection(3, &[(3, 1)]);
    assert_eq!(exchange.limit(), Some(1));
    begin(&mut exchange, 2);
    assert_eq!(exchange.readiness(), Readiness::Busy);
    let answer = [headers(0, 1, &ANSWER_HEAD), data(0, 1, ANSWER)].concat();
    assert_eq!(answered_tags(&mut exchange, &answer), [2]);
    let frames = begin(&mut exchange, 0);
    assert!(matches!(frames[..], [(DATA, 0, 1, _)]), "{frames:?}");
}

#[test]
fn a_call_that_the_server_ends_fails_what_was_under_way_and_the_next_message_begins_another_one() {
    for (fields, status) in [
        (&[("grpc-status", "14"), ("grpc-message", "bye")][..], Some(GrpcStatus::Unavailable)),
        (&[("grpc-status", "0")], Some(GrpcStatus::Ok)),
        (&[("x", "y")], None),
    ] {
        let mut exchange = connection(1, &[]);
        begin(&mut exchange, 0);
        let head = headers(0, 1, &ANSWER_HEAD);
        let end = headers(END_STREAM, 1, fields);
        let (found, _) = events(&mut exchange, &[&head[..], &data(0, 1, &ANSWER[..6]), &end].concat(), 5);
        assert_eq!(found, [Event::Refused(0, Refusal::Ended(status))]);
        assert_eq!(exchange.said().is_some(), fields.len() == 2);
        assert_eq!(begin(&mut exchange, 0)[0].2, 3);
    }
}

#[test]
fn a_call_that_ends_while_nothing_is_under_way_fails_nothing() {
    let mut exchange = connection(1, &[]);
    begin(&mut exchange, 0);
    let end = headers(END_STREAM, 1, &[("grpc-status", "0")]);
    let answer = [&headers(0, 1, &ANSWER_HEAD)[..], &data(0, 1, ANSWER), &end].concat();
    assert_eq!(answered_tags(&mut exchange, &answer), [0]);
    assert_eq!(exchange.readiness(), Readiness::Ready);
    assert_eq!(begin(&mut exchange, 0)[0].2, 3);
}

#[test]
fn an_error_of_something_that_knows_no_grpc_is_that_of_http() {
    let mut exchange = connection(1, &[]);
    begin(&mut exchange, 0);
    let (found, _) = events(&mut exchange, &headers(END_STREAM, 1, &[(":status", "404")]), usize::MAX);
    assert!(
        matches!(found[..], [Event::Answered(0, Response { status: 404, grpc_status: None, .. })]),
        "{found:?}"
    );
}

#[test]
fn the_body_of_such_an_error_is_taken_as_it_is_however_it_is_cut() {
    // As a message it would begin with a byte that says that it is compressed.
    let body = b"<html><body>Bad Gateway</body></html>";
    let (front, back) = body.split_at(10);
    let bytes = [headers(0, 1, &[(":status", "502")]), data(0, 1, front), data(END_STREAM, 1, back)].concat();
    for at_once in 1..=bytes.len() {
        let mut exchange = connection(1, &[]);
        begin(&mut exchange, 0);
        let (mut events, mut taken) = (Vec::new(), Vec::new());
        for mut piece in bytes.chunks(at_once) {
            while !piece.is_empty() {
                let mut take = |tag, status, part: &[u8]| {
                    assert_eq!((tag, status), (0, 502));
                    taken.extend_from_slice(part);
                };
                let Received { consumed, event } = exchange.receive_with(piece, &mut take).unwrap();
                events.extend(event);
                piece = &piece[consumed..];
            }
        }
        let [Event::Begun(0), Event::Answered(0, response)] = events[..] else { panic!("{events:?}") };
        assert_eq!((response.status, response.grpc_status), (502, None));
        assert_eq!((response.body_bytes, &taken[..]), (body.len() as u64, &body[..]), "by {at_once}");
        // The connection is as good as before.
        assert_eq!(begin(&mut exchange, 0)[0].2, 3);
    }
}

#[test]
fn each_answer_is_reported_that_begins_however_many_begin_in_one_read() {
    let mut exchange = connection(3, &[]);
    let mut bytes = Vec::new();
    for (tag, stream) in [(0, 1), (1, 3), (2, 5)] {
        begin(&mut exchange, tag);
        bytes.extend(headers(0, stream, &ANSWER_HEAD));
    }
    let (front, back) = ANSWER.split_at(6);
    let rest: Vec<_> = [5, 1, 3].iter().flat_map(|stream| data(0, *stream, back)).collect();
    bytes.extend([3, 1, 5].iter().flat_map(|stream| data(0, *stream, front)));
    let (found, fault) = all_events(&mut exchange, &bytes, usize::MAX);
    assert_eq!((found, fault), (vec![Event::Begun(1), Event::Begun(0), Event::Begun(2)], None));
    assert_eq!(answered_tags(&mut exchange, &rest), [2, 0, 1]);
}

#[test]
fn a_server_that_allows_no_call_for_a_while_has_the_next_message_wait() {
    let mut exchange = connection(1, &[]);
    begin(&mut exchange, 0);
    let answer = [headers(0, 1, &ANSWER_HEAD), data(0, 1, ANSWER)].concat();
    // Setting 3: how many streams at once.
    exchange.receive(&settings(&[(3, 0)])).unwrap();
    assert_eq!(exchange.readiness(), Readiness::Busy);
    assert_eq!(answered_tags(&mut exchange, &answer), [0]);
    // Busy would mean that nothing ever begins on it again.
    assert_eq!(exchange.readiness(), Readiness::Handshaking);
    exchange.receive(&settings(&[(3, 1)])).unwrap();
    assert_eq!(exchange.readiness(), Readiness::Ready);
}

#[test]
fn a_stream_that_is_reset_or_was_not_looked_at_ends_its_message_as_a_request() {
    for (bytes, expected) in [
        (reset(1, 2), Event::Refused(0, Refusal::Reset(ErrorCode::InternalError))),
        (reset(1, 7), Event::Moved(0)),
        (go_away(0), Event::Moved(0)),
    ] {
        let mut exchange = connection(1, &[]);
        begin(&mut exchange, 0);
        assert_eq!(events(&mut exchange, &bytes, 1), (vec![expected], None));
    }
}

#[test]
fn a_server_that_goes_away_answers_what_is_under_way_and_nothing_begins() {
    let mut exchange = connection(2, &[]);
    begin(&mut exchange, 0);
    assert_eq!(events(&mut exchange, &go_away(1), usize::MAX), (vec![], None));
    assert_eq!(exchange.readiness(), Readiness::Busy);
    let answer = [headers(0, 1, &ANSWER_HEAD), data(0, 1, ANSWER)].concat();
    assert_eq!(answered_tags(&mut exchange, &answer), [0]);
    assert_eq!(exchange.readiness(), Readiness::Closed);
}

#[test]
fn what_nobody_has_asked_for_is_refused_however_it_is_cut() {
    let answer = [headers(0, 1, &ANSWER_HEAD), data(0, 1, ANSWER)].concat();
    let two = [headers(0, 1, &ANSWER_HEAD), data(0, 1, &[ANSWER, ANSWER].concat())].concat();
    for bytes in
        [[&answer[..], &data(0, 1, ANSWER)].concat(), [&answer[..], &data(0, 1, b"\0")].concat(), two]
    {
        for at_once in 1..=bytes.len() {
            let mut exchange = connection(1, &[]);
            begin(&mut exchange, 0);
            let (found, fault) = events(&mut exchange, &bytes, at_once);
            assert!(matches!(found[..], [Event::Answered(0, _)]), "{found:?}");
            assert_eq!(fault, Some(Malformed::Unasked));
            assert_eq!(exchange.readiness(), Readiness::Closed);
        }
    }
}

#[test]
fn a_message_is_sent_as_far_as_the_windows_allow_and_the_rest_when_they_do() {
    // Setting 4: the window of each stream.
    let mut exchange = connection(1, &[(4, 5)]);
    let mut sent = Vec::new();
    exchange.begin(0, &template(MESSAGE), None, &mut sent);
    let write = |exchange: &mut Grpc, sent: &mut Vec<u8>| {
        while exchange.can_write_body() {
            exchange.write_body(usize::MAX, &mut |_, _: &mut Vec<u8>| Err(()), sent).unwrap();
        }
    };
    write(&mut exchange, &mut sent);
    assert!(exchange.is_writing_body(0));
    exchange.receive(&window_update(1, 100)).unwrap();
    write(&mut exchange, &mut sent);
    assert!(!exchange.is_writing_body(0));
    let bodies: Vec<_> = frames_of(&sent).into_iter().filter(|frame| frame.0 == DATA).collect();
    assert!(bodies.iter().all(|frame| frame.1 == 0), "no part of it ends the call");
    assert_eq!(bodies.iter().map(|frame| frame.3.len()).collect::<Vec<_>>(), [5, 3]);
    let answer = [headers(0, 1, &ANSWER_HEAD), data(0, 1, ANSWER)].concat();
    assert_eq!(answered_tags(&mut exchange, &answer), [0]);
    let frames = begin(&mut exchange, 0);
    assert!(matches!(&frames[..], [(DATA, 0, 1, body)] if body == MESSAGE), "{frames:?}");
}

#[test]
fn an_answer_to_what_was_not_sent_is_none() {
    let mut exchange = connection(1, &[(4, 5)]);
    begin(&mut exchange, 0);
    let answer = [headers(0, 1, &ANSWER_HEAD), data(0, 1, ANSWER)].concat();
    assert_eq!(events(&mut exchange, &answer, usize::MAX), (vec![], Some(Malformed::Unasked)));
}

#[test]
fn a_message_that_is_given_up_takes_its_call_with_it() {
    let mut exchange = connection(2, &[]);
    begin(&mut exchange, 0);
    assert!(exchange.cancel(0));
    let mut sent = Vec::new();
    exchange.write_output(&mut sent);
    let frames = frames_of(&sent);
    assert!(matches!(frames[..], [(RST_STREAM, 0, 1, _)]), "{frames:?}");
    // What the server had sent before it learnt of that is nobody's.
    let late = [headers(0, 1, &ANSWER_HEAD), data(0, 1, ANSWER)].concat();
    assert_eq!(events(&mut exchange, &late, 3), (vec![], None));
    assert_eq!(begin(&mut exchange, 0)[0].2, 3);
}

#[test]
fn a_client_that_has_no_more_to_say_ends_its_calls() {
    let mut exchange = connection(2, &[]);
    begin(&mut exchange, 0);
    let answer = [headers(0, 1, &ANSWER_HEAD), data(0, 1, ANSWER)].concat();
    assert_eq!(answered_tags(&mut exchange, &answer), [0]);
    let mut last = Vec::new();
    exchange.end(&mut last);
    assert_eq!(frames_of(&last), [(DATA, END_STREAM, 1, vec![])]);
}

#[test]
fn a_compressed_message_answers_one_where_its_call_says_by_gzip() {
    let packed = [&[1][..], &ANSWER[1..]].concat();
    for (way, ends) in [("gzip", false), ("gzip", true), ("zstd", false), ("zstd", true)] {
        let settings_of_client = GrpcSettings {
            calls: GrpcCalls { answer: GrpcAnswer::Each, takes_compressed: true },
            ..GrpcSettings::default()
        };
        let mut exchange = Grpc::new(1, &settings_of_client);
        exchange.open();
        exchange.receive(&settings(&[])).unwrap();
        begin(&mut exchange, 0);
        let head = headers(0, 1, &[ANSWER_HEAD[0], ANSWER_HEAD[1], ("grpc-encoding", way)]);
        let body = data(if ends { END_STREAM } else { 0 }, 1, &packed);
        let (found, fault) = events(&mut exchange, &[head, body].concat(), usize::MAX);
        if way == "gzip" {
            assert!(matches!(found[..], [Event::Answered(0, _)]), "{found:?}");
        } else {
            assert_eq!((found.len(), fault), (0, Some(Malformed::Grpc(GrpcError::Encoding))));
        }
    }
}
