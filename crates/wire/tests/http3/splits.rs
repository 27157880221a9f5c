//! Whatever the split of the bytes, and whichever stream brings them first, they bring the same.

use loadcurve_wire::h3::qpack::Decoder;
use loadcurve_wire::{Event, Http3, Malformed, Response};
use proptest::prelude::*;

use crate::support::{
    CONTROL, DATA, ENCODER, GOAWAY, HEADERS, RESERVED, SETTINGS, ends, frame, headers, varint, with_requests,
};

/// What a server says on each of its streams, and on those of two requests.
fn conversation() -> [(u64, Vec<u8>); 4] {
    let insert = b"\x3f\xe1\x1f\x41a\x011\xc4\x0212\x00\x59very-long-name-of-a-field\x04long";
    let first = [
        headers(&[(":status", "103"), ("link", "x")]),
        frame(RESERVED, &[7; 100]),
        frame(HEADERS, &[3, 0, 0xd9, 0x80, 0x81]),
        frame(DATA, b"hello"),
        frame(DATA, b" worlds"),
        frame(HEADERS, &[4, 0, 0x80]),
    ];
    let second = [headers(&[(":status", "404")]), frame(DATA, &[0; 300])];
    let control =
        [vec![0], frame(SETTINGS, &[6, 63]), frame(RESERVED << 30, b"x"), frame(GOAWAY, &varint(40))];
    [
        (CONTROL, control.concat()),
        (ENCODER, [&[2], &insert[..]].concat()),
        (0, first.concat()),
        (4, second.concat()),
    ]
}

/// All that a connection has said and heard.
type Outcome = (Vec<Event>, Option<Malformed>, Vec<u8>);

/// Hands the pieces of the streams over, in turns of these lengths; what an answer does not take is given again.
fn outcome(streams: &[(u64, Vec<u8>); 4], turns: impl Iterator<Item = (usize, usize)>) -> Outcome {
    let mut http3 = with_requests(&["GET"; 2]);
    let (mut given, mut taken) = ([0; 4], [0; 4]);
    let mut events = Vec::new();
    let everything = (0..4).map(|stream| (stream, usize::MAX));
    let mut malformed = None;
    'turns: for (stream, length) in turns.chain(everything) {
        let (number, bytes) = &streams[stream];
        given[stream] = bytes.len().min(length.saturating_add(given[stream]));
        let result = if stream < 2 {
            let piece = &bytes[taken[stream]..given[stream]];
            taken[stream] = given[stream];
            http3.receive_incoming(*number, piece, false).map(|_| ())
        } else {
            Ok(())
        };
        let answers = (2..4).try_for_each(|at| {
            read_answer(&mut http3, at - 2, &streams[at].1, given[at], &mut taken[at], &mut events)
        });
        if let Err(error) = result.and(answers) {
            malformed = Some(error);
            break 'turns;
        }
    }
    events.sort_by_key(Event::tag);
    let mut output = Vec::new();
    if malformed.is_none() {
        http3.write_decoder_stream(&mut output);
    }
    (events, malformed, output)
}

fn read_answer(
    http3: &mut Http3,
    tag: usize,
    bytes: &[u8],
    given: usize,
    taken: &mut usize,
    events: &mut Vec<Event>,
) -> Result<(), Malformed> {
    loop {
        let received = http3.receive(tag, &bytes[*taken..given], given == bytes.len())?;
        *taken += received.consumed;
        match received.event {
            Some(Event::Begun(_)) => {}
            Some(event) => events.push(without_keep_alive(event)),
            None => return Ok(()),
        }
    }
}

/// An event but for what depends on whether the end of the connection was announced before it.
fn without_keep_alive(event: Event) -> Event {
    match event {
        Event::Answered(tag, response) => Event::Answered(tag, Response { keep_alive: false, ..response }),
        event => event,
    }
}

#[test]
fn the_conversation_is_in_order() {
    let (events, malformed, output) = outcome(&conversation(), std::iter::empty());
    assert_eq!(malformed, None);
    assert!(matches!(events[..], [Event::Answered(0, first), Event::Answered(1, second)]
        if first.body_bytes == 12 && second.body_bytes == 300));
    // The acknowledgements of both sections of stream 0, and one entry that was in neither.
    assert_eq!(output, [3, 0x80, 0x80, 1]);
    let mut http3 = with_requests(&["GET"]);
    assert_eq!(ends(&mut http3, 0, &conversation()[2].1, true), Ok(vec![]), "it needs the table");
}

fn turns() -> impl Strategy<Value = Vec<(usize, usize)>> {
    prop::collection::vec((0_usize..4, prop_oneof![4 => 0_usize..8, 1 => 0_usize..200]), 0..200)
}

proptest! {
    #[test]
    fn streams_in_any_pieces_and_any_order_bring_the_same(turns in turns()) {
        let streams = conversation();
        let whole = outcome(&streams, std::iter::empty());
        prop_assert_eq!(outcome(&streams, turns.into_iter()), whole);
    }

    #[test]
    fn any_bytes_on_one_stream_are_read_without_a_panic_and_the_same_in_any_pieces(
        // Not that of the encoder: which entries are left when a section is read depends on when its bytes come.
        stream in prop::sample::select(vec![0_usize, 2, 3]),
        garbage in prop::collection::vec(any::<u8>(), 0..60),
        at in any::<prop::sample::Index>(),
        lengths in prop::collection::vec(1_usize..9, 1..5),
    ) {
        let mut streams = conversation();
        let bytes = &mut streams[stream].1;
        let at = at.index(bytes.len());
        let end = (at + garbage.len()).min(bytes.len());
        bytes.splice(at..end, garbage);
        let before = (0..4).filter(|other| *other != stream).map(|other| (other, usize::MAX));
        let whole = outcome(&streams, before.clone());
        let pieces = lengths.iter().cycle().take(1_000).map(|length| (stream, *length));
        prop_assert_eq!(outcome(&streams, before.chain(pieces)), whole);
    }

    #[test]
    fn any_bytes_of_an_encoder_leave_the_same_table_in_any_pieces(
        garbage in prop::collection::vec(any::<u8>(), 0..20),
        at in any::<prop::sample::Index>(),
        length in 1_usize..9,
    ) {
        let mut bytes = conversation()[1].1[1..].to_vec();
        let at = at.index(bytes.len());
        let end = (at + garbage.len()).min(bytes.len());
        bytes.splice(at..end, garbage);
        let (mut whole, mut pieces) = (Decoder::new(4096), Decoder::new(4096));
        let read = whole.receive(&bytes);
        let in_pieces = bytes.chunks(length).try_fold(0, |sum, piece| Ok(sum + pieces.receive(piece)?));
        prop_assert_eq!(in_pieces, read);
        prop_assert_eq!(pieces.take_counts(), whole.take_counts());
    }
}
