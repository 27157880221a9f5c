//! However a client's bytes are split, they are answered alike, and no bytes break a server.

use std::iter;
use std::path::Path;

use loadcurve_servers::http::{Parsed, parse};
use loadcurve_servers::site::Site;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::cases::{Answer, CASES, Case, Connection};
use crate::folder::{Folder, SECRET, unused_place};
use crate::memory::{PERSISTENT, PIPELINED, SIMPLE, ServeClient, answers};
use crate::response::Responses;

/// Every request of the cases fits, and a few of them together do not.
const BUFFER_BYTES: usize = 128;

/// A folder that is served in memory.
struct Served {
    site: Site,
    _folder: Folder,
}

impl Served {
    fn new() -> Self {
        let folder = Folder::at(unused_place(Path::new(env!("CARGO_TARGET_TMPDIR")))).unwrap();
        Self { site: Site::open(&folder.root()).unwrap(), _folder: folder }
    }

    /// What a client is answered that sends these pieces.
    fn answer<'a>(&self, serve_client: ServeClient, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
        answers(serve_client, &self.site, pieces, BUFFER_BYTES)
    }
}

/// Cuts the bytes at these places, in any order; equal places give empty pieces.
fn cut<'a>(bytes: &'a [u8], places: &[Index]) -> Vec<&'a [u8]> {
    let mut ends: Vec<usize> = places.iter().map(|place| place.index(bytes.len() + 1)).collect();
    ends.push(bytes.len());
    ends.sort_unstable();
    let starts = iter::once(0).chain(ends.iter().copied());
    starts.zip(&ends).map(|(start, end)| &bytes[start..*end]).collect()
}

fn places() -> impl Strategy<Value = Vec<Index>> {
    prop::collection::vec(any::<Index>(), 0..12)
}

/// Cases with small answers, one behind another.
fn conversation() -> impl Strategy<Value = Vec<Case>> {
    let small = CASES.iter().filter(|case| !matches!(case.answer, Answer::File("large.bin")));
    prop::collection::vec(select(small.copied().collect::<Vec<_>>()), 1..8)
}

fn bytes_of(conversation: &[Case]) -> Vec<u8> {
    conversation.iter().flat_map(|case| case.request).copied().collect()
}

/// A conversation with a few bytes changed, removed or put in.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let bytes = select(b"\0\t\n\r :;,\"/.%0159afAxX()HT\x7f\xff".to_vec());
    let edit = (any::<Index>(), prop::option::of(bytes), any::<bool>());
    (conversation(), prop::collection::vec(edit, 0..6)).prop_map(|(conversation, edits)| {
        let mut bytes = bytes_of(&conversation);
        for (place, byte, replaces) in edits {
            let start = place.index(bytes.len());
            let end = if replaces || byte.is_none() { start + 1 } else { start };
            bytes.splice(start..end.min(bytes.len()), byte);
        }
        bytes
    })
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn every_case_is_answered_alike_by_each_kind_wherever_it_is_split_in_two() {
    let served = Served::new();
    for case in CASES {
        for serve_client in [SIMPLE, PERSISTENT, PIPELINED] {
            let whole = served.answer(serve_client, [case.request]);
            Responses::of(whole.as_slice()).next(case.is_head()).assert_is(case.answer, case.name);
            for place in 0..=case.request.len() {
                let (first, second) = case.request.split_at(place);
                let split = served.answer(serve_client, [first, second]);
                assert!(split == whole, "{}, split at {place}", case.name);
            }
        }
    }
}

#[test]
fn the_date_is_that_of_the_answer() {
    let bytes = Served::new().answer(SIMPLE, [b"GET /a.txt HTTP/1.0\r\n\r\n".as_slice()]);
    let response = Responses::of(bytes.as_slice()).next(false);
    assert_eq!(response.field("Date"), Some("Sun, 06 Nov 1994 08:49:37 GMT"));
}

#[test]
fn requests_one_behind_another_are_answered_in_order_until_one_ends_the_connection() {
    let served = Served::new();
    proptest!(|(conversation in conversation(), places in places())| {
        let last = conversation.iter().position(|case| case.connection == Connection::Closes);
        let until_last = &conversation[..last.map_or(conversation.len(), |last| last + 1)];
        let bytes = bytes_of(&conversation);
        for (serve_client, answered) in
            [(SIMPLE, &conversation[..1]), (PERSISTENT, until_last), (PIPELINED, until_last)]
        {
            let answers = served.answer(serve_client, cut(&bytes, &places));
            let mut responses = Responses::of(answers.as_slice());
            for case in answered {
                responses.next(case.is_head()).assert_is(case.answer, case.name);
            }
            prop_assert!(responses.is_at_end());
        }
    });
}

#[test]
fn whatever_a_client_sends_is_answered_alike_however_it_is_split() {
    let served = Served::new();
    let bytes = prop_oneof![damaged(), prop::collection::vec(any::<u8>(), 0..400)];
    proptest!(|(bytes in bytes, places in places())| {
        for serve_client in [SIMPLE, PERSISTENT] {
            let whole = served.answer(serve_client, [bytes.as_slice()]);
            prop_assert!(!contains(&whole, SECRET));
            prop_assert_eq!(&served.answer(serve_client, cut(&bytes, &places)), &whole);
            prop_assert_eq!(&served.answer(serve_client, bytes.chunks(1)), &whole);
        }
        let one_by_one = served.answer(PERSISTENT, [bytes.as_slice()]);
        prop_assert_eq!(served.answer(PIPELINED, cut(&bytes, &places)), one_by_one);
    });
}

proptest! {
    #[test]
    fn what_was_read_of_a_request_is_not_taken_back_when_more_arrives(bytes in damaged()) {
        let whole = parse(&bytes);
        for length in 0..bytes.len() {
            let part = parse(&bytes[..length]);
            prop_assert!(part == Parsed::Incomplete || part == whole, "{length}: {part:?}, then {whole:?}");
        }
    }
}
