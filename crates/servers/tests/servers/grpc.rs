//! Calls of gRPC as `limit` answers them, in memory.

use std::time::Duration;

use loadcurve_servers::http2::{Fate, Last};
use loadcurve_servers::reply::Outcome;
use loadcurve_wire::ErrorCode;
use loadcurve_wire::h2::frame::{flag, kind};
use loadcurve_wire::{
    Body, Event, Exchange as _, Grpc, GrpcAnswer, GrpcCalls, GrpcSettings, GrpcStatus, HttpExchange as _,
    Method, Refusal, Request, Target, Version,
};

use crate::frames::{Conversation, Memory, Sent, block};

const MESSAGE: &[u8] = b"\0\0\0\0\x03abc";
/// What a server that echoes gives back of the window of a stream at once is half of it at least.
const WINDOW_BYTES: u64 = 1 << 20;

/// The request of a call with this body.
pub(crate) fn request_of_call(body: &[u8]) -> Request<'_> {
    Request {
        version: Version::Http11,
        method: Method::POST,
        target: Target::Fixed("/package.Service/Method"),
        authority: "a",
        headers: &[],
        body: Body::Bytes(body),
        is_chunked: false,
    }
}

#[test]
fn a_call_of_grpc_is_answered_with_an_empty_message_and_its_status_behind_it() {
    let mut memory = Memory::of(&[]);
    memory.fates = vec![Fate::default(), Fate { outcome: Outcome::Error, ..Fate::default() }];
    let mut client = Grpc::new(2, &GrpcSettings::default());
    client.open();
    let mut sent = Vec::new();
    client.write_output(&mut sent);
    let template = Grpc::template(&request_of_call(b"\0\0\0\0\x03abc")).unwrap();
    // The server's settings have to come before requests, and grant windows.
    let mut begin = Vec::new();
    let mut server = loadcurve_servers::http2::Connection::open(&mut begin);
    client.receive(&begin).unwrap();
    for tag in 0..2 {
        client.begin(tag, &template, None, &mut sent);
    }
    while client.can_write_body() {
        client.write_body(usize::MAX, &mut |_, _: &mut Vec<u8>| Err(()), &mut sent).unwrap();
    }
    let mut heard = Vec::new();
    let mut output = loadcurve_servers::http2::Output { bytes: &mut heard, most_bytes: usize::MAX };
    server.receive(&sent, &mut memory, &mut output);
    let mut statuses = Vec::new();
    let mut rest = heard.as_slice();
    while !rest.is_empty() {
        let received = client.receive(rest).unwrap();
        if let Some(Event::Answered(tag, response)) = received.event {
            statuses.push((tag, response.status, response.body_bytes, response.grpc_status));
        }
        rest = &rest[received.consumed..];
    }
    assert_eq!(statuses, [(0, 200, 5, Some(GrpcStatus::Ok)), (1, 200, 0, Some(GrpcStatus::Internal))]);
}

#[test]
fn messages_of_a_call_are_echoed_as_they_come_and_a_call_that_fails_ends_with_its_status() {
    let mut memory = Memory::of(&[]);
    memory.echoes = true;
    memory.fates =
        vec![Fate::default(), Fate::default(), Fate { outcome: Outcome::Error, ..Fate::default() }];
    let settings = GrpcSettings {
        calls: GrpcCalls { answer: GrpcAnswer::Each, ..GrpcCalls::default() },
        ..GrpcSettings::default()
    };
    let mut client = Grpc::new(1, &settings);
    client.open();
    let mut sent = Vec::new();
    client.write_output(&mut sent);
    let message = [b"\0\0\0\x01\0".as_slice(), &[b'x'; 256]].concat();
    let template = Grpc::template(&request_of_call(&message)).unwrap();
    let mut begin = Vec::new();
    let mut server = loadcurve_servers::http2::Connection::open(&mut begin);
    client.receive(&begin).unwrap();
    let mut ends = Vec::new();
    for _ in 0..4 {
        client.begin(0, &template, None, &mut sent);
        let mut heard = Vec::new();
        for part in std::mem::take(&mut sent).chunks(100) {
            let mut output = loadcurve_servers::http2::Output { bytes: &mut heard, most_bytes: usize::MAX };
            assert_eq!(server.receive(part, &mut memory, &mut output), part.len());
        }
        let mut rest = heard.as_slice();
        while !rest.is_empty() {
            let received = client.receive(rest).unwrap();
            rest = &rest[received.consumed..];
            match received.event {
                Some(Event::Answered(_, response)) => ends.push(Ok(response.body_bytes)),
                Some(Event::Refused(_, refusal)) => ends.push(Err(refusal)),
                _ => {}
            }
        }
    }
    let whole = Ok(message.len() as u64);
    assert_eq!(ends, [whole, whole, Err(Refusal::Ended(Some(GrpcStatus::Internal))), whole]);
}

/// A connection whose calls are echoed, with messages that have these fates.
fn echoing(fates: Vec<Fate>) -> Conversation {
    Conversation::new(Memory { echoes: true, fates, ..Memory::of(&[]) })
}

/// The beginning of a call.
fn call(sent: &mut Sent, stream: u32) {
    let fields =
        [(":method", "POST"), (":scheme", "http"), (":path", "/a.B/C"), ("content-type", "application/grpc")];
    sent.frame(kind::HEADERS, flag::END_HEADERS, stream, &block(&fields));
}

fn message(sent: &mut Sent, stream: u32) {
    sent.frame(kind::DATA, 0, stream, MESSAGE);
}

fn last(is_announced: bool) -> Fate {
    Fate { last: Some(Last { is_announced }), ..Fate::default() }
}

fn fields(status: u8) -> Vec<String> {
    vec![":status: 200".into(), "content-type: application/grpc".into(), format!("grpc-status: {status}")]
}

#[test]
fn padding_is_given_back_to_the_window_of_a_call_as_what_is_echoed_is() {
    let mut conversation = echoing(vec![]);
    let mut sent = Sent::preface(&[]);
    call(&mut sent, 1);
    conversation.send(&sent.0, 64 * 1024);
    let (frames, mut sent_bytes) = (15_000, 0);
    for number in 0..frames {
        // Most frames are nothing but padding: its length, and 255 bytes.
        let message: &[u8] = if number % 100 == 0 { MESSAGE } else { b"" };
        let payload = [&[255], message, &[0; 255]].concat();
        sent_bytes += payload.len() as u64;
        let mut sent = Sent::default();
        sent.frame(kind::DATA, flag::PADDED, 1, &payload);
        conversation.send(&sent.0, 64 * 1024);
    }
    assert!(sent_bytes > 3 * WINDOW_BYTES);
    assert_eq!(conversation.said.go_aways, []);
    assert_eq!(conversation.said.streams[&1].body, MESSAGE.repeat(frames / 100));
    let given_back = conversation.said.grown[&1];
    assert!((sent_bytes - WINDOW_BYTES..=sent_bytes).contains(&given_back), "{given_back} of {sent_bytes}");
}

#[test]
fn a_message_longer_than_the_window_of_its_call_is_echoed_all_the_same() {
    let mut conversation = echoing(vec![]);
    let long = [b"\0\0\x30\0\0".as_slice(), &vec![b'x'; 3 << 20]].concat();
    let mut sent = Sent::preface(&[]);
    sent.grow(0, 1 << 30);
    call(&mut sent, 1);
    sent.grow(1, 1 << 30);
    conversation.send(&sent.0, 64 * 1024);
    for part in long.chunks(16_384) {
        let mut sent = Sent::default();
        sent.frame(kind::DATA, 0, 1, part);
        conversation.send(&sent.0, 64 * 1024);
    }
    assert!(conversation.said.streams[&1].body == long);
}

#[test]
fn no_part_of_a_message_is_echoed_before_its_time() {
    let due = Some(Duration::from_secs(5));
    let mut conversation = echoing(vec![Fate { due, ..Fate::default() }]);
    let mut sent = Sent::preface(&[]);
    call(&mut sent, 1);
    let (front, back) = MESSAGE.split_at(6);
    sent.frame(kind::DATA, 0, 1, front);
    conversation.send(&sent.0, 64 * 1024);
    assert!(conversation.said.streams.is_empty());
    let mut rest = Sent::default();
    rest.frame(kind::DATA, 0, 1, back);
    conversation.send(&rest.0, 64 * 1024);
    assert!(conversation.said.streams.is_empty());
    assert_eq!(conversation.server.next_due(), due);
    conversation.server.release(Duration::from_secs(5));
    conversation.go_on(64 * 1024);
    assert_eq!(conversation.said.streams[&1].body, MESSAGE);
}

#[test]
fn a_message_that_fails_takes_no_earlier_one_with_it() {
    for (outcome, status) in [(Outcome::Error, Some(13)), (Outcome::Reset, None)] {
        let mut conversation = echoing(vec![Fate::default(), Fate { outcome, ..Fate::default() }]);
        let mut sent = Sent::preface(&[]);
        call(&mut sent, 1);
        sent.frame(kind::DATA, 0, 1, &MESSAGE.repeat(3));
        conversation.send(&sent.0, 64 * 1024);
        let stream = &conversation.said.streams[&1];
        assert_eq!(stream.body, MESSAGE);
        assert_eq!(stream.has_ended, status.is_some());
        assert_eq!(stream.reset, status.is_none().then_some(ErrorCode::InternalError.into()));
        assert!(status.is_none_or(|status| stream.fields == fields(status)));
    }
}

#[test]
fn behind_the_last_message_of_a_connection_none_is_echoed() {
    for is_announced in [true, false] {
        let mut conversation = echoing(vec![Fate::default(), last(is_announced)]);
        let mut sent = Sent::preface(&[]);
        for stream in [1, 3] {
            call(&mut sent, stream);
        }
        for stream in [1, 3, 3] {
            message(&mut sent, stream);
        }
        call(&mut sent, 5);
        conversation.send(&sent.0, 64 * 1024);
        let announced = [(3, ErrorCode::NoError.into())];
        assert_eq!(conversation.said.go_aways, announced[..usize::from(is_announced)]);
        assert!(!conversation.said.streams.contains_key(&5));
        if is_announced {
            // A client that knows of it ends its other calls.
            assert_eq!(conversation.said.ended, [3]);
            let mut end = Sent::default();
            end.frame(kind::DATA, flag::END_STREAM, 1, &[]);
            conversation.send(&end.0, 64 * 1024);
        }
        assert!(conversation.server.is_over());
        for stream in [1, 3] {
            let stream = &conversation.said.streams[&stream];
            assert_eq!((&stream.body[..], &stream.fields, stream.has_ended), (MESSAGE, &fields(0), true));
        }
    }
}

#[test]
fn a_call_that_its_client_has_ended_is_echoed_even_where_nothing_more_comes() {
    let due = Some(Duration::from_secs(5));
    let held = Fate { due, ..Fate::default() };
    let mut conversation = echoing(vec![held, held]);
    let mut sent = Sent::preface(&[]);
    for stream in [1, 3] {
        call(&mut sent, stream);
        message(&mut sent, stream);
    }
    sent.frame(kind::DATA, flag::END_STREAM, 1, &[]);
    conversation.send(&sent.0, 64 * 1024);
    conversation.server.end_of_input();
    assert!(!conversation.server.is_over());
    conversation.server.release(Duration::from_secs(5));
    conversation.go_on(64 * 1024);
    assert_eq!(conversation.said.streams[&1].body, MESSAGE);
    assert_eq!(conversation.said.ended, [1]);
    // The other call was not whole.
    assert!(conversation.server.is_over());
}
