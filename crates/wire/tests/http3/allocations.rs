//! In the steady state a request of HTTP/3 costs no allocation.

use loadcurve_wire::{Body, Event, Http3, Http3Settings, Http3Template, Received, Request, Target};

use crate::support::{DATA, ENCODER, HEADERS, frame, prefixed, request};

#[path = "../support/allocations.rs"]
mod counting;

const STREAMS: usize = 100;

/// An answer whose section needs the newest of a number of entries.
fn answer(entries: u64) -> Vec<u8> {
    // RFC 9204 §4.5.1.1, with a table of 4,096 bytes.
    let prefix = prefixed(usize::try_from(entries).unwrap() % 256 + 1, 8, 0);
    let section = [prefix.as_slice(), &[0, 0xd9, 0x80]].concat();
    [frame(HEADERS, &section), frame(DATA, b"hello")].concat()
}

#[test]
fn a_thousand_turns_of_a_hundred_streams_allocate_nothing() {
    let template =
        |target, body| Http3Template::new(&Request { target, ..request("POST", &[], body) }).unwrap();
    let templates =
        [template(Target::Fixed("/a"), Body::Bytes(b"")), template(Target::Varying, Body::Bytes(b"body"))];
    let mut http3 = Http3::new(STREAMS, &Http3Settings::default());
    http3.open();
    http3.receive_incoming(ENCODER, &[2, 0x3f, 0xe1, 0x1f], false).unwrap();
    let (mut sent, mut stream) = (Vec::new(), 0);
    for turn in 0_u64..1_000 {
        let bytes = answer(turn + 1);
        // Every fourth turn the answers come before what they need of the table: a date, which differs from turn to turn.
        let insert = [0xc6, 4, b'a', b'a' + turn.to_le_bytes()[0] % 16, b'c', b'd'];
        let before = counting::allocations();
        let is_late = turn % 4 == 0;
        if !is_late {
            http3.receive_incoming(ENCODER, &insert[..3], false).unwrap();
            http3.receive_incoming(ENCODER, &insert[3..], false).unwrap();
        }
        sent.clear();
        for tag in 0..STREAMS {
            http3.begin(tag, stream, &templates[tag % 2], Some(b"/some/path"), &mut sent);
            stream += 4;
        }
        let mut answered = 0;
        let (first, second) = bytes.split_at(4);
        for tag in 0..STREAMS {
            http3.receive(tag, first, false).unwrap();
            let (mut rest, mut is_over) = (second, false);
            while !is_over {
                let Received { consumed, event } = http3.receive(tag, rest, true).unwrap();
                rest = &rest[consumed..];
                is_over = event.is_none() || matches!(event, Some(Event::Answered(..)));
                answered += usize::from(matches!(event, Some(Event::Answered(..))));
            }
        }
        if is_late {
            assert_eq!(answered, 0);
            http3.receive_incoming(ENCODER, &insert, false).unwrap();
            while let Some(tag) = http3.next_unblocked() {
                let received = http3.receive(tag, &bytes[bytes.len() - 7..], true).unwrap();
                answered += usize::from(matches!(received.event, Some(Event::Answered(..))));
            }
        }
        assert_eq!(answered, STREAMS);
        http3.write_decoder_stream(&mut sent);
        // Buffers grow to the most that they ever hold: that of the table to twice its size, of 8 bytes a turn.
        if turn >= 600 {
            assert_eq!(counting::allocations(), before, "in turn {turn}");
        }
    }
}
