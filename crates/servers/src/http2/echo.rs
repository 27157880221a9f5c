//! Calls of gRPC whose messages are echoed, each as soon as it is whole.

use std::time::Duration;

use loadcurve_wire::h2::frame::{self, flag, kind};
use loadcurve_wire::{ErrorCode, GrpcMessages};

use super::answer::{Answer, call_end, write_reset, write_window_update};
use super::settings::PeerSettings;
use super::{Output, Service, WINDOW_BYTES};
use crate::reply::Outcome;

/// The number of the status of a call that ends well, and of one that fails here.
const OK: u8 = 0;
const INTERNAL: u8 = 13;

/// What has come of a call, and has not been sent back. The client's window bounds it: what it is given back was sent.
#[derive(Debug)]
pub(super) struct Echo {
    /// What the client may still send.
    pub(super) window: i64,
    bytes: Vec<u8>,
    /// What was sent back since the client was given that much more.
    sent_bytes: i64,
    messages: GrpcMessages,
    has_head: bool,
    /// Nothing is sent before.
    due: Option<Duration>,
    end: Option<End>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Status(u8),
    Reset,
}

impl Default for Echo {
    fn default() -> Self {
        Self {
            window: WINDOW_BYTES,
            bytes: Vec::new(),
            sent_bytes: 0,
            messages: GrpcMessages::default(),
            has_head: false,
            due: None,
            end: None,
        }
    }
}

impl Echo {
    /// Takes a part of the client's messages; behind one that is to fail there is nothing.
    pub(super) fn take(&mut self, mut part: &[u8], service: &mut impl Service) {
        while !part.is_empty() && self.end.is_none() {
            let (read, is_whole) = self.messages.read_one(part, &mut |_| ());
            self.bytes.extend_from_slice(&part[..read]);
            part = &part[read..];
            if is_whole {
                let fate = service.fate();
                self.due = self.due.max(fate.due);
                self.end = match fate.outcome {
                    Outcome::Right | Outcome::WrongLength => None,
                    Outcome::Error => Some(End::Status(INTERNAL)),
                    Outcome::Reset | Outcome::Truncated => Some(End::Reset),
                };
                if self.end.is_some() {
                    self.bytes.clear();
                }
            }
        }
    }

    /// The client has no more messages.
    pub(super) fn end(&mut self) {
        self.end.get_or_insert(End::Status(OK));
    }

    /// When the next message may be sent, where that is to come.
    pub(super) fn due(&self) -> Option<Duration> {
        self.due
    }

    pub(super) fn release(&mut self, now: Duration) {
        self.due = self.due.filter(|due| *due > now);
    }

    /// Sends what can be sent; says whether that was the last of it.
    pub(super) fn send(
        &mut self,
        id: u32,
        answer: &Answer,
        (stream_window, connection_window): (&mut i64, &mut i64),
        peer: &mut PeerSettings,
        output: &mut Output<'_>,
    ) -> bool {
        if self.due.is_some() || (self.bytes.is_empty() && self.end.is_none()) {
            return false;
        }
        if self.end == Some(End::Reset) {
            write_reset(id, ErrorCode::InternalError, output.bytes);
            return true;
        }
        if !std::mem::replace(&mut self.has_head, true) {
            answer.write_first_head(id, peer, output.bytes);
        }
        let mut sent = 0;
        while sent < self.bytes.len() && output.has_room() {
            let window = usize::try_from((*stream_window).min(*connection_window)).unwrap_or(0);
            let length = window.min(peer.frame_bytes_max).min(self.bytes.len() - sent);
            if length == 0 {
                break;
            }
            frame::write(kind::DATA, 0, id, &self.bytes[sent..sent + length], output.bytes);
            sent += length;
            // It fits, because it is not longer than a window.
            let taken = i64::try_from(length).unwrap_or(i64::MAX);
            *stream_window -= taken;
            *connection_window -= taken;
        }
        self.bytes.drain(..sent);
        self.sent_bytes += i64::try_from(sent).unwrap_or(i64::MAX);
        if self.sent_bytes >= WINDOW_BYTES / 2 && self.end.is_none() {
            write_window_update(id, self.sent_bytes, output.bytes);
            self.window += std::mem::take(&mut self.sent_bytes);
        }
        match self.end {
            Some(End::Status(status)) if self.bytes.is_empty() => {
                let flags = flag::END_HEADERS | flag::END_STREAM;
                frame::write(kind::HEADERS, flags, id, call_end(status).bytes(), output.bytes);
                true
            }
            _ => false,
        }
    }
}
