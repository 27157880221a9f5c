//! Whatever the body of an answer is, and however it is split: the events are the same, and no data is handed on twice.
//!
//! The first bytes of the input are the lengths of the pieces, over and over; the others are the body.

#![cfg_attr(fuzzing, no_main)]

use std::iter;

use loadcurve_fuzz::target;
use loadcurve_wire::{EventLines, EventReader, EventStream, Piece};

use pieces::{PIECE_LENGTHS, pieces};

mod pieces;

target!(|input: &[u8]| {
    let Some((piece_lengths, bytes)) = input.split_first_chunk::<PIECE_LENGTHS>() else { return };
    for reader in [EventReader::Sse(EventStream::default()), EventReader::Lines(EventLines::default())] {
        let whole = read(reader.clone(), iter::once(bytes));
        assert!(whole.iter().map(Vec::len).sum::<usize>() <= bytes.len());
        if let EventReader::Sse(_) = reader {
            assert_eq!(read(reader.clone(), pieces(bytes, *piece_lengths)), whole);
            assert_eq!(read(reader, bytes.chunks(1)), whole);
        } else {
            // White space at the ends of parts is no data, so that a split may leave out more of it.
            assert_eq!(read(reader, pieces(bytes, *piece_lengths)).len(), whole.len());
        }
    }
});

/// The data of the events of a body that comes in these pieces.
fn read<'a>(mut reader: EventReader, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Vec<u8>> {
    let (mut events, mut data) = (Vec::new(), Vec::new());
    let mut take = |piece: Piece<'_>| match piece {
        Piece::Data(part) => data.extend_from_slice(part),
        Piece::Event => events.push(std::mem::take(&mut data)),
    };
    for piece in pieces {
        reader.read(piece, &mut take);
    }
    reader.end(&mut take);
    events
}
