//! Whatever the split of the bytes, they bring the same.

use loadcurve_wire::{Event, Malformed, MessageKind};
use proptest::prelude::*;

use crate::support::{
    BINARY, CLOSE, CONTINUATION, FIN, PING, TEXT, begin, ends, events_of, frame, opened, output, settings,
    upgrade,
};

const MESSAGES: usize = 6;

/// What becomes of the messages, and what is sent by itself.
type Conversation = (Result<Vec<Event>, Malformed>, Vec<(u8, Vec<u8>)>);

/// What a server may say to six messages, behind its answer to the upgrade.
fn steps() -> Vec<Vec<u8>> {
    vec![
        frame(FIN | TEXT, "ä text".as_bytes()),
        frame(FIN | PING, b"are you there"),
        frame(BINARY, &[0xff; 200]),
        frame(CONTINUATION, b""),
        frame(FIN | PING, b""),
        frame(FIN | CONTINUATION, &[0xfe; 70_000]),
        frame(FIN | TEXT, b""),
        frame(TEXT, "水".as_bytes().split_at(1).0),
        frame(FIN | CONTINUATION, "水".as_bytes().split_at(1).1),
        frame(FIN | CLOSE, b"\x03\xe9going"),
        frame(FIN | TEXT, b"late"),
    ]
}

/// What a connection brings to which these pieces come, the answer to the upgrade being in front of them.
fn conversation(pieces: impl Fn(&[u8]) -> Vec<Vec<u8>>, bytes: &[u8]) -> Conversation {
    let (mut exchange, head) = opened(MESSAGES, &settings(&[], MessageKind::Text));
    let upgrade = upgrade(&head, "Server: x\r\n").into_bytes();
    for piece in pieces(&upgrade) {
        events_of(&mut exchange, &piece).unwrap();
    }
    for tag in 0..MESSAGES {
        begin(&mut exchange, tag, b"hello");
    }
    let events = pieces(bytes)
        .into_iter()
        .map(|piece| events_of(&mut exchange, &piece))
        .collect::<Result<Vec<_>, _>>()
        .map(|events| ends(events.concat()));
    (events, output(&mut exchange))
}

fn cut(bytes: &[u8], cuts: &[prop::sample::Index]) -> Vec<Vec<u8>> {
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    places.extend([0, bytes.len()]);
    places.sort_unstable();
    places.windows(2).map(|cut| bytes[cut[0]..cut[1]].to_vec()).collect()
}

#[test]
fn frames_byte_by_byte_bring_what_they_bring_at_once() {
    let bytes = steps().concat();
    let whole = conversation(|bytes| vec![bytes.to_vec()], &bytes);
    // Four messages are answered, and two are refused with the connection.
    assert_eq!(whole.0.as_ref().unwrap().len(), MESSAGES);
    assert_eq!(conversation(|bytes| bytes.chunks(1).map(<[u8]>::to_vec).collect(), &bytes), whole);
}

proptest! {
    #[test]
    fn frames_in_any_pieces_bring_the_same_events_and_the_same_output(
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
    ) {
        let bytes = steps().concat();
        let whole = conversation(|bytes| vec![bytes.to_vec()], &bytes);
        prop_assert_eq!(conversation(|bytes| cut(bytes, &cuts), &bytes), whole);
    }

    #[test]
    fn any_bytes_are_read_without_a_panic_and_the_same_in_any_pieces(
        garbage in prop::collection::vec(any::<u8>(), 0..60),
        at in any::<prop::sample::Index>(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..5),
    ) {
        // Some of a conversation, with other bytes in place of a part.
        let mut bytes = steps().concat();
        let at = at.index(bytes.len());
        let end = (at + garbage.len()).min(bytes.len());
        bytes.splice(at..end, garbage);
        let whole = conversation(|bytes| vec![bytes.to_vec()], &bytes);
        prop_assert_eq!(conversation(|bytes| cut(bytes, &cuts), &bytes), whole);
    }
}
