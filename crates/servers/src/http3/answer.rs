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
        let length = reply.stated_bytes().to_string();
        let field: (&[u8], &[u8]) = match reply.grpc_status {
            Some(_) => (b"content-type", b"application/grpc"),
            None => (b"content-length", length.as_bytes()),
        };
        let mut head = head(&reply, field);
        let sent_bytes = match reply.ending {
            Ending::Whole => reply.body_bytes(),
            Ending::Truncated | Ending::Reset => reply.body_bytes().saturating_sub(1),
        };
        let mut body = append_data(&reply, sent_bytes, &mut head);
        if let Some(status) = reply.grpc_status.filter(|_| reply.ending == Ending::Whole) {
            let end = call_end(status);
            if body.is_empty() {
                head.extend_from_slice(&end);
            } else {
                body = [&body[..], &end].concat().into();
            }
        }
        Self { reply, chunks: [head.into(), body] }
    }

    /// The head of a stream of events.
    pub(super) fn head_of_events(reply: Reply) -> Self {
        let head = head(&reply, (b"content-type", b"text/event-stream"));
        Self { reply, chunks: [head.into(), Bytes::new()] }
    }

    /// The body alone, which is one event.
    pub(super) fn event(reply: Reply) -> Self {
        let mut data = Vec::new();
        let body = append_data(&reply, reply.body_bytes(), &mut data);
        Self { reply, chunks: [data.into(), body] }
    }

    pub(super) fn with_outcome(self, outcome: Outcome) -> Self {
        if outcome == Outcome::Right { self } else { Self::new(self.reply.with_outcome(outcome)) }
    }
}

/// The frame of a head, with its status and another field.
fn head(reply: &Reply, (name, value): (&[u8], &[u8])) -> Vec<u8> {
    let mut section = Vec::from(NO_ENTRIES);
    encode_field(b":status", reply.status.code().to_string().as_bytes(), &mut section);
    encode_field(name, value, &mut section);
    let mut head = Vec::new();
    frame::write(kind::HEADERS, &section, &mut head);
    head
}

/// The frame of the trailers that end a call of gRPC: its status.
fn call_end(status: u8) -> Vec<u8> {
    let mut section = Vec::from(NO_ENTRIES);
    encode_field(b"grpc-status", status.to_string().as_bytes(), &mut section);
    let mut trailers = Vec::new();
    frame::write(kind::HEADERS, &section, &mut trailers);
    trailers
}

/// Appends the frame of a body up to this length; gives that part apart where a copy of it would cost too much.
fn append_data(reply: &Reply, sent_bytes: usize, to: &mut Vec<u8>) -> Bytes {
    if reply.body_bytes() > 0 {
        FrameHeader { kind: kind::DATA, length: reply.body_bytes() as u64 }.write(to);
    }
    if sent_bytes > ONE_PIECE_BYTES {
        return reply.shared_body(sent_bytes);
    }
    reply.append_body(0..sent_bytes, to);
    Bytes::new()
}
