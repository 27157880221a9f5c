//! An input, split as its first bytes say.

use std::iter;

/// How many bytes of the input choose the split.
pub(crate) const PIECE_LENGTHS: usize = 4;

/// Cuts the bytes into pieces of these lengths, over and over; a length of zero gives an empty piece.
pub(crate) fn pieces(mut bytes: &[u8], lengths: [u8; PIECE_LENGTHS]) -> impl Iterator<Item = &[u8]> {
    let is_cut = lengths.iter().any(|length| *length > 0);
    let mut lengths = lengths.into_iter().cycle();
    iter::from_fn(move || {
        let length = lengths.next().filter(|_| is_cut).map_or(usize::MAX, usize::from);
        let (piece, rest) = bytes.split_at(length.min(bytes.len()));
        let is_left = !bytes.is_empty();
        bytes = rest;
        is_left.then_some(piece)
    })
}
