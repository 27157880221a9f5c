//! Answers as frames.

use bytes::Bytes;
use loadcurve_wire::h3::frame::{self, FrameHeader, kind};
use loadcurve_wire::h3::qpack::{NO_ENTRIES, encode_field};

use crate::reply::{Ending, Outcome, Reply};

/// A body up to this length is in one piece with its head, which costs a copy once and spares the streams a piece each time.
const ONE_PIECE_BYTES: usize = 16 * 1024;

/// A reply as it goes to a stream; copies of it share their memory.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) reply: Reply,
    /// The head, and what of the body is not in one piece with it.
    pub(super) chunks: [Bytes; 2],
}

impl Answer {
    pub(super) fn new(reply: Reply) -> Self {
        let mut section = Vec::from(NO_ENTRIES);
        encode_field(b":status", reply.status.code().to_string().as_bytes(), &mut section);
        encode_field(b"content-length", reply.stated_bytes().to_string().as_bytes(), &mut section);
        let mut head = Vec::new();
        frame::write(kind::HEADERS, &section, &mut head);
        let sent_bytes = match reply.ending {
            Ending::Whole => reply.body_bytes(),
            Ending::Truncated | Ending::Reset => reply.body_bytes().saturating_sub(1),
        };
        if reply.body_bytes() > 0 {
            FrameHeader { kind: kind::DATA, length: reply.body_bytes() as u64 }.write(&mut head);
        }
        let mut body = Bytes::new();
        if sent_bytes <= ONE_PIECE_BYTES {
            reply.append_body(0..sent_bytes, &mut head);
        } else {
            body = reply.shared_body(sent_bytes);
        }
        Self { reply, chunks: [head.into(), body] }
    }

    pub(super) fn with_outcome(self, outcome: Outcome) -> Self {
        if outcome == Outcome::Right { self } else { Self::new(self.reply.with_outcome(outcome)) }
    }
}
