//! Whatever the split of the bytes, they bring the same.

use loadcurve_wire::{Event, Exchange as _};
use proptest::prelude::*;

use crate::support::{
    END_HEADERS, END_STREAM, HEADERS, PADDED, PING, STATUS_200, data, events_of, frame, go_away, headers,
    output, reset, settings, window_update, with_requests,
};

const REQUESTS: usize = 6;

/// What a server may say to six requests in this order, as far as each is one step.
fn steps() -> Vec<Vec<u8>> {
    vec![
        frame(HEADERS, END_HEADERS, 1, &[STATUS_200]),
        data(PADDED, 1, b"\x03body\0\0\0"),
        headers(END_STREAM, 3, &[(":status", "404"), ("content-length", "0")]),
        settings(&[(3, 100), (4, 1_000)]),
        frame(PING, 0, 0, b"01234567"),
        frame(0xbe, 0xff, 9, b"unknown"),
        reset(5, 7),
        data(END_STREAM, 1, b""),
        window_update(0, 77),
        frame(HEADERS, 0, 7, &[STATUS_200]),
        frame(9, END_HEADERS, 7, &[0x48, 3, b'2', b'0', b'0']),
        go_away(9),
        headers(END_STREAM, 9, &[(":status", "200"), ("connection", "close")]),
    ]
}

/// Everything but the begins of answers, which depend on what is there.
fn ends(events: Vec<Event>) -> Vec<Event> {
    events.into_iter().filter(|event| !matches!(event, Event::Begun(_))).collect()
}

proptest! {
    #[test]
    fn frames_in_any_pieces_bring_the_same_events_and_the_same_output(
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..40), single in any::<bool>(),
    ) {
        let bytes = steps().concat();
        let mut whole = with_requests(&["GET"; REQUESTS]);
        let expected = ends(events_of(&mut whole, &bytes).unwrap());
        // Two statuses in one block, and a field of HTTP/1.1 connections, are no answers.
        prop_assert_eq!(expected.len(), 6);
        let mut cuts: Vec<usize> = if single {
            (0..=bytes.len()).collect()
        } else {
            cuts.iter().map(|cut| cut.index(bytes.len())).chain([0, bytes.len()]).collect()
        };
        cuts.sort_unstable();
        let mut exchange = with_requests(&["GET"; REQUESTS]);
        let mut events = Vec::new();
        for cut in cuts.windows(2) {
            events.extend(events_of(&mut exchange, &bytes[cut[0]..cut[1]]).unwrap());
        }
        prop_assert_eq!(ends(events), expected);
        prop_assert_eq!(output(&mut exchange), output(&mut whole));
        prop_assert_eq!(exchange.readiness(), whole.readiness());
    }

    #[test]
    fn any_bytes_are_read_without_a_panic_and_the_same_in_any_pieces(
        garbage in prop::collection::vec(any::<u8>(), 0..60),
        at in any::<prop::sample::Index>(),
        cut in any::<prop::sample::Index>(),
    ) {
        // Some of a conversation, with other bytes in place of a part.
        let mut bytes = steps().concat();
        let at = at.index(bytes.len());
        let end = (at + garbage.len()).min(bytes.len());
        bytes.splice(at..end, garbage);
        let whole = events_of(&mut with_requests(&["GET"; REQUESTS]), &bytes).map(ends);
        let mut exchange = with_requests(&["GET"; REQUESTS]);
        let (first, second) = bytes.split_at(cut.index(bytes.len() + 1));
        let pieces = events_of(&mut exchange, first)
            .and_then(|first| Ok([first, events_of(&mut exchange, second)?].concat()))
            .map(ends);
        prop_assert_eq!(pieces, whole);
    }
}
