//! Answers as frames.

use std::ops::Range;

use loadcurve_wire::h2::frame::{self, FrameHeader, flag, kind};
use loadcurve_wire::h2::hpack;
use loadcurve_wire::{ErrorCode, PermessageDeflate};

use crate::http::Status;
use crate::reply::{Echoes, Ending, Reply};

/// The longest header block: a status and a length as literals.
const BLOCK_BYTES_MAX: usize = 28;
/// Where the static table has `content-length`, in front of a literal that goes into no table.
const CONTENT_LENGTH: [u8; 2] = [0x0f, 28 - 15];
/// An entry of the static table, and a literal with the name `:status`.
const INDEXED: u8 = 0x80;
const STATUS_LITERAL: [u8; 2] = [0x08, 3];
/// What says that an answer is a stream of events, its name from the static table.
const EVENTS_CONTENT_TYPE: [u8; 20] = *b"\x0f\x10\x11text/event-stream";
/// What says that an answer is one of gRPC, its name from the static table.
const GRPC_CONTENT_TYPE: [u8; 19] = *b"\x0f\x10\x10application/grpc";
/// The name of the field that ends a call, as a literal that goes into no table.
const GRPC_STATUS: [u8; 13] = *b"\x00\x0bgrpc-status";

/// A reply with its header block, which puts nothing into the client's table, so that it is the same every time.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) reply: Reply,
    /// Whether nothing follows the body: it is no event, or the last one.
    pub(super) has_end: bool,
    block: [u8; BLOCK_BYTES_MAX],
    block_bytes: usize,
}

impl Answer {
    pub(super) fn new(reply: Reply) -> Self {
        let mut answer = Self { block: [0; BLOCK_BYTES_MAX], block_bytes: 0, has_end: true, reply };
        answer.append_status();
        if answer.reply.grpc_status.is_some() {
            answer.append(&GRPC_CONTENT_TYPE);
        } else if !matches!(answer.reply.echoes, Some(Echoes::WebSocket(_))) {
            // What opens a tunnel has no length (RFC 9110 §8.6).
            answer.append(&CONTENT_LENGTH);
            answer.append_counted(answer.reply.stated_bytes());
        }
        answer
    }

    /// Makes the body an event, of which others may follow.
    pub(super) fn make_events(&mut self) {
        self.block_bytes = 0;
        self.append_status();
        self.append(&EVENTS_CONTENT_TYPE);
    }

    fn append_status(&mut self) {
        if let Some(index) = static_index(self.reply.status) {
            self.append(&[INDEXED | index]);
        } else {
            self.append(&STATUS_LITERAL);
            self.append_decimal(usize::from(self.reply.status.code()));
        }
    }

    /// Appends a number behind how many digits it has.
    fn append_counted(&mut self, number: usize) {
        let length_at = self.block_bytes;
        self.append(&[0]);
        self.append_decimal(number);
        let digits = self.block_bytes - length_at - 1;
        self.block[length_at] = digits.to_le_bytes()[0];
    }

    fn append(&mut self, bytes: &[u8]) {
        self.block[self.block_bytes..][..bytes.len()].copy_from_slice(bytes);
        self.block_bytes += bytes.len();
    }

    fn append_decimal(&mut self, number: usize) {
        if number >= 10 {
            self.append_decimal(number / 10);
        }
        self.append(&[b'0' + (number % 10).to_le_bytes()[0]]);
    }

    /// How many bytes of the body are sent.
    pub(super) fn sent_bytes(&self) -> usize {
        let body_bytes = self.reply.body_bytes();
        match self.reply.ending {
            Ending::Whole => body_bytes,
            Ending::Truncated | Ending::Reset => body_bytes.saturating_sub(1),
        }
    }

    /// Appends the HEADERS frame, its block behind this; says whether it ends the stream.
    #[inline]
    pub(super) fn write_head(&self, stream: u32, prefix: &[u8], to: &mut Vec<u8>) -> bool {
        let is_all = self.reply.ending == Ending::Whole && self.reply.body_bytes() == 0;
        let flags = flag::END_HEADERS | if is_all { flag::END_STREAM } else { 0 };
        // A call that ends without a message has its status in the one block that there is.
        let call_end = self.reply.grpc_status.filter(|_| is_all).map(call_end);
        let call_end = call_end.as_ref().map_or(&[][..], CallEnd::bytes);
        self.write_headers((stream, flags), prefix, call_end, to);
        is_all
    }

    /// Appends the HEADERS frame of an answer that more follows, whatever that is.
    pub(super) fn write_first_head(&self, stream: u32, prefix: &[u8], to: &mut Vec<u8>) {
        let agreed = match self.reply.echoes {
            Some(Echoes::WebSocket(agreed)) => agreed.map(agreement),
            _ => None,
        };
        let agreement = agreed.as_deref().unwrap_or_default();
        self.write_headers((stream, flag::END_HEADERS), prefix, agreement, to);
    }

    #[inline]
    fn write_headers(&self, (stream, flags): (u32, u8), prefix: &[u8], suffix: &[u8], to: &mut Vec<u8>) {
        let length = prefix.len() + self.block_bytes + suffix.len();
        to.extend_from_slice(&FrameHeader { length, kind: kind::HEADERS, flags, stream }.bytes());
        to.extend_from_slice(prefix);
        to.extend_from_slice(&self.block[..self.block_bytes]);
        to.extend_from_slice(suffix);
    }

    /// Appends a DATA frame with a part of the body; says whether it ends the stream.
    #[inline]
    pub(super) fn write_data(&self, stream: u32, part: Range<usize>, to: &mut Vec<u8>) -> bool {
        let is_whole = self.reply.ending == Ending::Whole && part.end == self.reply.body_bytes();
        let is_last = is_whole && self.has_end;
        let call_end = self.reply.grpc_status.filter(|_| is_last).map(call_end);
        let flags = if is_last && call_end.is_none() { flag::END_STREAM } else { 0 };
        to.extend_from_slice(&FrameHeader { length: part.len(), kind: kind::DATA, flags, stream }.bytes());
        self.reply.append_body(part, to);
        if let Some(call_end) = call_end {
            let flags = flag::END_HEADERS | flag::END_STREAM;
            frame::write(kind::HEADERS, flags, stream, call_end.bytes(), to);
        }
        is_last
    }
}

/// The field that says how the messages of a WebSocket may be compressed.
fn agreement(agreed: PermessageDeflate) -> Vec<u8> {
    let mut field = Vec::new();
    hpack::write_plain(b"sec-websocket-extensions", agreed.to_string().as_bytes(), &mut field);
    field
}

/// The block that ends a call of gRPC: its status.
pub(super) struct CallEnd {
    block: [u8; GRPC_STATUS.len() + 3],
    length: usize,
}

impl CallEnd {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.block[..self.length]
    }
}

/// The end of a call with a status of this number, which has two digits at most.
pub(super) fn call_end(status: u8) -> CallEnd {
    let mut block = [0; GRPC_STATUS.len() + 3];
    let (name, value) = block.split_at_mut(GRPC_STATUS.len());
    name.copy_from_slice(&GRPC_STATUS);
    let digits = [b'0' + status / 10 % 10, b'0' + status % 10];
    let given = if status < 10 { &digits[1..] } else { &digits[..] };
    value[0] = given.len().to_le_bytes()[0];
    value[1..][..given.len()].copy_from_slice(given);
    CallEnd { length: GRPC_STATUS.len() + 1 + given.len(), block }
}

/// Appends a frame that enlarges a window.
pub(super) fn write_window_update(stream: u32, increment: i64, to: &mut Vec<u8>) {
    let increment = u32::try_from(increment).unwrap_or(0);
    frame::write(kind::WINDOW_UPDATE, 0, stream, &increment.to_be_bytes(), to);
}

/// Appends a frame that ends a stream.
pub(super) fn write_reset(stream: u32, code: ErrorCode, to: &mut Vec<u8>) {
    frame::write(kind::RST_STREAM, 0, stream, &u32::from(code).to_be_bytes(), to);
}

/// Where the static table has the whole field (RFC 7541 appendix A).
fn static_index(status: Status) -> Option<u8> {
    match status {
        Status::Ok => Some(8),
        Status::BadRequest => Some(12),
        Status::NotFound => Some(13),
        Status::InternalServerError => Some(14),
        _ => None,
    }
}
