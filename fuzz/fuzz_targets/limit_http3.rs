//! Whatever a client sends on the streams of HTTP/3, and however that is split: `limit`'s end does not panic, a stream is answered
//! or given up at most once, the split changes nothing, and no answer but those of the content comes.
//!
//! The first bytes of the input are the lengths of the pieces, over and over; then come chunks. The first byte of each says
//! on which stream it is and whether that ends behind it, the second one how long it is.

#![cfg_attr(fuzzing, no_main)]

use std::collections::BTreeMap;

use loadcurve_fuzz::target;
use loadcurve_wire::Http3Error;

use frames::Memory;
use pieces::{PIECE_LENGTHS, pieces};
use streams::{Answered, Conversation};

#[expect(dead_code, reason = "this target needs the content alone")]
#[path = "../../crates/servers/tests/servers/frames.rs"]
mod frames;
mod pieces;
#[expect(dead_code, reason = "the tests look at more of what is said than this target")]
#[path = "../../crates/servers/tests/servers/streams.rs"]
mod streams;

/// Three of requests, and three that the client alone sends on.
const STREAMS: [u64; 6] = [0, 4, 8, 2, 6, 10];
const BODY_BYTES: usize = 100;

target!(|input: &[u8]| {
    let Some((piece_lengths, bytes)) = input.split_first_chunk::<PIECE_LENGTHS>() else { return };
    let whole = answered(bytes, None);
    assert_eq!(answered(bytes, Some(*piece_lengths)), whole);
    assert_eq!(answered(bytes, Some([1; PIECE_LENGTHS])), whole);
    for answered in whole.0.values().filter(|answered| answered.has_ended) {
        let (fields, body) = answered.fields_and_body();
        assert_eq!(fields.len(), 2);
        assert!(body.is_empty() || body == [b'x'; BODY_BYTES]);
    }
});

/// What each stream is answered, and why the connection fails.
fn answered(
    mut bytes: &[u8],
    piece_lengths: Option<[u8; PIECE_LENGTHS]>,
) -> (BTreeMap<u64, Answered>, Option<Http3Error>) {
    let mut conversation = Conversation::new(Memory::of(&[("/", &[b'x'; BODY_BYTES]), ("/index.html", b"")]));
    let mut has_ended = [false; STREAMS.len()];
    while let Some(([what, length], rest)) = bytes.split_first_chunk() {
        let place = usize::from(what & 0x7f) % STREAMS.len();
        let (chunk, rest) = rest.split_at(usize::from(*length).min(rest.len()));
        bytes = rest;
        if has_ended[place] {
            continue;
        }
        has_ended[place] = what & 0x80 != 0;
        let stream = STREAMS[place];
        match piece_lengths {
            None => conversation.send(stream, chunk, has_ended[place]),
            Some(lengths) => {
                for piece in pieces(chunk, lengths) {
                    conversation.send(stream, piece, false);
                }
                if has_ended[place] {
                    conversation.send(stream, &[], true);
                }
            }
        }
    }
    (conversation.streams.answered, conversation.failed)
}
