//! Whatever frames a client sends, and however they are split: `limit`'s end of HTTP/2 does not panic, no answer
//! differs but by how much of it was sent, a stream is answered at most once, and no more is written than the windows, the content and the frames account
//! for.
//!
//! The first bytes of the input are the lengths of the pieces, over and over; the others are what the client sends behind
//! its settings.

#![cfg_attr(fuzzing, no_main)]

use std::collections::BTreeMap;

use loadcurve_fuzz::target;

use frames::{Conversation, Memory, Sent, Stream};
use pieces::{PIECE_LENGTHS, pieces};

#[expect(dead_code, reason = "the tests look at more of what is said than this target")]
#[path = "../../crates/servers/tests/servers/frames.rs"]
mod frames;
mod pieces;

type Answers = BTreeMap<u32, Stream>;

const BODY_BYTES: usize = 100;
/// Room that never runs out, and some that runs out in the middle of things.
const ROOMS_BYTES: [usize; 2] = [1 << 20, 50];

target!(|input: &[u8]| {
    let Some((piece_lengths, bytes)) = input.split_first_chunk::<PIECE_LENGTHS>() else { return };
    for room_bytes in ROOMS_BYTES {
        let whole = answered([bytes], room_bytes);
        assert_alike(&whole, &answered(pieces(bytes, *piece_lengths), room_bytes));
        assert_alike(&whole, &answered(bytes.chunks(1), room_bytes));
    }
});

/// What a client gives up or lets go on comes sooner or later in the answers, as the bytes are split.
fn assert_alike(some: &Answers, others: &Answers) {
    for (id, one) in some {
        let Some(other) = others.get(id) else { continue };
        assert!(one.fields.is_empty() || other.fields.is_empty() || one.fields == other.fields);
        assert!(one.body.starts_with(&other.body) || other.body.starts_with(&one.body));
    }
}

/// What each stream is answered. `Said` refuses what follows the end of a stream.
fn answered<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, room_bytes: usize) -> Answers {
    let mut conversation = Conversation::new(Memory::of(&[("/", &[b'x'; BODY_BYTES]), ("/index.html", b"")]));
    conversation.send(&Sent::preface(&[]).0, room_bytes);
    let mut received_bytes = 0;
    for piece in pieces {
        conversation.send(piece, room_bytes);
        received_bytes += piece.len();
    }
    // A frame of ten bytes at the least is answered by a head, a body and the frames around them.
    assert!(conversation.longest_bytes <= 64 + 16 * (BODY_BYTES + 64).max(received_bytes * 2));
    conversation.said.streams
}
