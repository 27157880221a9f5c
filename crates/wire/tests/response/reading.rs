//! Reads one response from pieces of bytes, as a connection does, and keeps what came of it.

use loadcurve_wire::{ClosedEarly, Limits, Malformed, RequestKind, Response, ResponseParser};

/// What came of reading one response, after which the peer closes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The response, and how many bytes up to its end.
    Answered(Response, usize),
    /// There was no response.
    Nothing,
    Malformed(Malformed),
    ClosedEarly(ClosedEarly),
}

pub(crate) fn read<'a>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
    request: RequestKind,
    limits: Limits,
) -> Outcome {
    let mut parser = ResponseParser::new(limits);
    let mut consumed = 0;
    for piece in pieces {
        match parser.feed(piece, request) {
            Ok(progress) => {
                consumed += progress.consumed;
                if let Some(response) = progress.response {
                    assert!(parser.is_idle(), "the parser is ready for the next response");
                    return Outcome::Answered(response, consumed);
                }
                assert_eq!(progress.consumed, piece.len(), "without a response every byte is consumed");
            }
            Err(malformed) => return Outcome::Malformed(malformed),
        }
    }
    match parser.end_of_input() {
        Ok(Some(response)) => Outcome::Answered(response, consumed),
        Ok(None) => Outcome::Nothing,
        Err(closed) => Outcome::ClosedEarly(closed),
    }
}

pub(crate) fn read_whole(bytes: &[u8], request: RequestKind) -> Outcome {
    read([bytes], request, Limits::default())
}

pub(crate) fn read_byte_by_byte(bytes: &[u8], request: RequestKind) -> Outcome {
    read(bytes.chunks(1), request, Limits::default())
}
