//! However the bytes are split, the outcome is that of the whole.

use loadcurve_wire::{Limits, RequestKind, Response, ResponseParser};
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::corpus::{CORPUS, Entry};
use crate::reading::read;

/// Cuts the bytes at these places, in any order; equal places give empty pieces.
fn cut<'a>(bytes: &'a [u8], places: &[Index]) -> Vec<&'a [u8]> {
    let mut ends: Vec<usize> = places.iter().map(|place| place.index(bytes.len() + 1)).collect();
    ends.push(bytes.len());
    ends.sort_unstable();
    let starts = std::iter::once(0).chain(ends.iter().copied());
    starts.zip(&ends).map(|(start, end)| &bytes[start..*end]).collect()
}

fn places() -> impl Strategy<Value = Vec<Index>> {
    prop::collection::vec(any::<Index>(), 0..12)
}

/// A corpus entry with a few bytes changed, removed or put in: mostly malformed in some way.
fn damaged() -> impl Strategy<Value = (Vec<u8>, RequestKind)> {
    let bytes = select(b"\0\t\n\r :;,\"0159afAxX()HT/\x7f\xff".to_vec());
    let edit = (any::<Index>(), prop::option::of(bytes), any::<bool>());
    (select(CORPUS), prop::collection::vec(edit, 0..4)).prop_map(|(entry, edits)| {
        let mut bytes = entry.bytes();
        for (place, byte, replaces) in edits {
            let start = place.index(bytes.len());
            let end = if replaces || byte.is_none() { start + 1 } else { start };
            bytes.splice(start..end, byte);
        }
        (bytes, entry.request)
    })
}

/// A corpus entry that another response can follow, without the bytes that follow it in the corpus.
fn kept_alive() -> impl Strategy<Value = Entry> {
    let kept = CORPUS.iter().filter(|entry| entry.keep_alive);
    select(kept.map(|entry| Entry { rest: "", ..*entry }).collect::<Vec<_>>())
}

#[test]
fn every_split_in_two_reads_like_the_whole() {
    for entry in CORPUS {
        let bytes = entry.bytes();
        for place in 0..=bytes.len() {
            let (first, second) = bytes.split_at(place);
            let outcome = read([first, second], entry.request, Limits::default());
            assert_eq!(outcome, entry.expected_outcome(), "{}, split at {place}", entry.name);
        }
    }
}

proptest! {
    #[test]
    fn every_split_into_many_reads_like_the_whole(entry in select(CORPUS), places in places()) {
        let outcome = read(cut(&entry.bytes(), &places), entry.request, Limits::default());
        prop_assert_eq!(outcome, entry.expected_outcome());
    }

    #[test]
    fn a_damaged_response_has_the_same_outcome_however_it_is_split(
        (bytes, request) in damaged(),
        places in places(),
        // Below seven bytes another protocol may reach the limit before it is recognised.
        header_bytes in prop_oneof![7_usize..400, Just(65_536)],
    ) {
        let limits = Limits { header_bytes };
        let whole = read([bytes.as_slice()], request, limits);
        prop_assert_eq!(read(cut(&bytes, &places), request, limits), whole.clone());
        prop_assert_eq!(read(bytes.chunks(1), request, limits), whole);
    }

    #[test]
    fn pipelined_responses_are_read_in_order_however_they_are_split(
        entries in prop::collection::vec(kept_alive(), 1..6),
        places in places(),
    ) {
        let bytes: Vec<u8> = entries.iter().flat_map(Entry::bytes).collect();
        let mut parser = ResponseParser::new(Limits::default());
        let mut responses: Vec<Response> = Vec::new();
        for mut piece in cut(&bytes, &places) {
            while !piece.is_empty() {
                let progress = parser.feed(piece, entries[responses.len()].request).unwrap();
                responses.extend(progress.response);
                piece = &piece[progress.consumed..];
            }
        }
        prop_assert_eq!(responses, entries.iter().map(Entry::expected).collect::<Vec<_>>());
        prop_assert!(parser.is_idle());
    }

    #[test]
    fn no_bytes_make_the_parser_panic(
        bytes in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..200),
            prop::collection::vec(any::<u8>(), 0..200).prop_map(|tail| [b"HTTP/1.1 200 ".as_slice(), &tail].concat()),
        ],
        places in places(),
    ) {
        let mut parser = ResponseParser::new(Limits { header_bytes: 100 });
        for piece in cut(&bytes, &places) {
            // A caller closes the connection at the first error; one that does not must meet no panic either.
            let _ = parser.feed(piece, RequestKind::Other);
        }
        let _ = parser.end_of_input();
        prop_assert!(parser.is_idle());
        let next = parser.feed(b"HTTP/1.1 204 \r\n\r\n", RequestKind::Other);
        prop_assert!(next.is_ok_and(|progress| progress.response.is_some()));
    }
}
