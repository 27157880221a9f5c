//! What the scripted server does with one request, as a value.

use std::fmt::Write as _;

use loadcurve_plan::Nanos;

/// What happens to the connection after a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// The next request is awaited.
    ReadOn,
    /// It stays open, and nothing more is read from it.
    Hold,
    /// It is closed, which the peer sees as the end of input.
    Close,
    /// It is reset: a linger time of zero makes closing send RST (socket(7)).
    Reset,
}

/// The reply to one request.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) bytes: Vec<u8>,
    /// The most bytes that one write holds.
    pub(crate) piece_bytes: usize,
    /// When the first of them is written, on the clock; zero for at once.
    pub(crate) at: Nanos,
    /// The time from each write to the next.
    pub(crate) pause: Nanos,
    /// Whether the bytes are a complete answer, which is counted as one.
    pub(crate) is_complete: bool,
    /// How many bytes of the request's body are read before the reply is written; the rest is read after it, where the
    /// connection is read on.
    pub(crate) body_bytes_first: u64,
    /// Whether the request's body is kept.
    pub(crate) keeps_body: bool,
    pub(crate) then: Then,
}

impl Reply {
    /// A complete answer.
    pub(crate) fn answer(bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            bytes: bytes.into(),
            piece_bytes: usize::MAX,
            at: Nanos::ZERO,
            pause: Nanos::ZERO,
            is_complete: true,
            body_bytes_first: u64::MAX,
            keeps_body: false,
            then: Then::ReadOn,
        }
    }

    /// Bytes that are no complete answer.
    pub(crate) fn part(bytes: impl Into<Vec<u8>>) -> Self {
        Self { is_complete: false, ..Self::answer(bytes) }
    }

    /// No answer: the server keeps reading.
    pub(crate) fn silence() -> Self {
        Self::part([])
    }

    pub(crate) fn in_pieces_of(self, piece_bytes: usize) -> Self {
        Self { piece_bytes, ..self }
    }

    pub(crate) fn at(self, at: Nanos) -> Self {
        Self { at, ..self }
    }

    pub(crate) fn with_pauses_of(self, pause: Nanos) -> Self {
        Self { pause, ..self }
    }

    pub(crate) fn after_body_bytes(self, body_bytes_first: u64) -> Self {
        Self { body_bytes_first, ..self }
    }

    pub(crate) fn keeping_the_body(self) -> Self {
        Self { keeps_body: true, ..self }
    }

    pub(crate) fn then(self, then: Then) -> Self {
        Self { then, ..self }
    }
}

/// A response with this body, framed by its length.
pub(crate) fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

/// A response with this body in chunks of at most `chunk_bytes`.
pub(crate) fn chunked(body: &str, chunk_bytes: usize) -> String {
    let mut response = String::from("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    for chunk in body.as_bytes().chunks(chunk_bytes) {
        let data = std::str::from_utf8(chunk).expect("the bodies of these tests are ASCII");
        write!(response, "{:x}\r\n{data}\r\n", chunk.len()).expect("writing to memory does not fail");
    }
    response + "0\r\n\r\n"
}
