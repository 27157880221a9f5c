//! Whose answers messages are, in any pieces and through any windows.

use super::{
    CONTINUATION, FIN, PING, PONG, TAKES, TEXT, WINDOW, begin, close, connection, event, events, frame, head,
    opened, output, unmasked, write_bodies,
};
use crate::support::{DATA, END_STREAM, GOAWAY, SentFrame, data, frames_of, request, window_update};
use loadcurve_wire::{
    Body, Event, Exchange as _, HttpExchange as _, Malformed, Readiness, Request, Response, WebSocketHttp2,
};
use proptest::prelude::*;

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
            inflated_bytes: None,
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
