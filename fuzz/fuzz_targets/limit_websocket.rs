//! Whatever frames a client sends, and however they are split: `limit`'s end of WebSocket does not panic, the split changes
//! nothing, and no more is written than what was received accounts for.
//!
//! The first bytes of the input are the lengths of the pieces, over and over; the others are what the client sends behind
//! its request for the upgrade, and once in place of it.

#![cfg_attr(fuzzing, no_main)]

use std::iter;

use loadcurve_fuzz::target;
use loadcurve_servers::websocket::{Echo, upgrade};

use pieces::{PIECE_LENGTHS, pieces};

mod pieces;

target!(|input: &[u8]| {
    let Some((piece_lengths, bytes)) = input.split_first_chunk::<PIECE_LENGTHS>() else { return };
    for is_deflated in [false, true] {
        let whole = echoed(iter::once(bytes), is_deflated);
        assert_eq!(echoed(pieces(bytes, *piece_lengths), is_deflated), whole);
        assert_eq!(echoed(bytes.chunks(1), is_deflated), whole);
        // An echo has no mask, and the last that is said is a close.
        assert!(whole.0.len() <= bytes.len() + 4);
        if let Some(answer) = upgrade(&String::from_utf8_lossy(bytes), is_deflated) {
            assert!(answer.head.ends_with("\r\n\r\n") && answer.head.matches("\r\n\r\n").count() == 1);
        }
    }
});

/// What is echoed, and whether that is all.
fn echoed<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, is_deflated: bool) -> (Vec<u8>, bool) {
    let (mut echo, mut written) = (Echo::deflated(is_deflated), Vec::new());
    for piece in pieces {
        echo.receive(piece, &mut written);
    }
    (written, echo.is_over())
}
