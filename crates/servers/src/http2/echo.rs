//! What is echoed on a stream. Of calls of gRPC each message is, when it is whole, and one that is too long for that as it
//! comes; of a WebSocket each frame as it comes.

use std::time::Duration;

use loadcurve_wire::h2::frame::{self, flag, kind};
use loadcurve_wire::{ErrorCode, GrpcMessages};

use super::answer::{Answer, call_end, write_reset, write_window_update};
use super::settings::PeerSettings;
use super::windows::SendWindows;
use super::{Last, Output, Service, WINDOW_BYTES};
use crate::reply::{Echoes, Outcome};
use crate::websocket;

/// The number of the status of a call that ends well, and of one that fails here.
const OK: u8 = 0;
const INTERNAL: u8 = 13;

/// What has come of a call, and has not been sent back. The client's window bounds it: what it is given back was sent.
#[derive(Debug)]
pub(super) struct Echo {
    /// What the client may still send.
    pub(super) window: i64,
    bytes: Vec<u8>,
    /// How much of it is whole messages.
    whole_bytes: usize,
    /// What was sent back, or was padding, since the client was given that much more.
    used_bytes: i64,
    source: Source,
    has_head: bool,
    /// Whether the client has ended its side.
    is_ended: bool,
    /// No message is sent before.
    due: Option<Duration>,
    end: Option<End>,
}

/// Whose messages are echoed.
#[derive(Debug)]
enum Source {
    Call(GrpcMessages),
    WebSocket {
        echo: websocket::Echo,
        /// What has come, and whose echo was not sent, or not all of it.
        unsent_bytes: usize,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Status(u8),
    Reset,
    /// Of a WebSocket.
    Closed,
}

impl Echo {
    /// An echo of nothing yet.
    pub(super) fn of(echoes: Echoes) -> Self {
        let source = match echoes {
            Echoes::Messages => Source::Call(GrpcMessages::default()),
            Echoes::WebSocket(agreed) => {
                Source::WebSocket { echo: websocket::Echo::deflated(agreed.is_some()), unsent_bytes: 0 }
            }
        };
        Self {
            window: WINDOW_BYTES,
            bytes: Vec::new(),
            whole_bytes: 0,
            used_bytes: 0,
            source,
            has_head: false,
            is_ended: false,
            due: None,
            end: None,
        }
    }

    /// Takes a part of the client's messages; behind one that is to fail, and behind the last one of the connection, there is
    /// nothing. Says whether one was that.
    pub(super) fn take(&mut self, mut part: &[u8], service: &mut impl Service) -> Option<Last> {
        let messages = match &mut self.source {
            Source::Call(messages) => messages,
            Source::WebSocket { echo, unsent_bytes } => {
                *unsent_bytes += part.len();
                echo.receive(part, &mut self.bytes);
                self.whole_bytes = self.bytes.len();
                self.end = self.end.or(echo.is_over().then_some(End::Closed));
                return None;
            }
        };
        let mut last = None;
        while !part.is_empty() && self.end.is_none() {
            let (read, is_whole) = messages.read_one(part, &mut |_| ());
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
                    // It is not sent back, but what was whole before it is.
                    self.bytes.truncate(self.whole_bytes);
                }
                self.whole_bytes = self.bytes.len();
                last = fate.last;
                if last.is_some() {
                    break;
                }
            }
        }
        if last.is_some() {
            self.end();
        }
        last
    }

    /// What the client has sent, and is no part of a message, needs no room any more.
    pub(super) fn is_used(&mut self, bytes: usize) {
        self.used_bytes += i64::try_from(bytes).unwrap_or(i64::MAX);
    }

    /// No more messages are taken: the client has none, or the connection ends.
    pub(super) fn end(&mut self) {
        self.end.get_or_insert(match self.source {
            Source::Call(_) => End::Status(OK),
            Source::WebSocket { .. } => End::Closed,
        });
        self.bytes.truncate(self.whole_bytes);
    }

    /// The client has ended its side.
    pub(super) fn end_of_client(&mut self) {
        self.is_ended = true;
        self.end();
    }

    /// Whether this side of a WebSocket ends before that of the client.
    pub(super) fn ends_first(&self) -> bool {
        self.end == Some(End::Closed) && !self.is_ended
    }

    /// Whether no more messages are taken.
    pub(super) fn has_end(&self) -> bool {
        self.end.is_some()
    }

    /// When the next message may be sent, where that is to come.
    pub(super) fn due(&self) -> Option<Duration> {
        self.due
    }

    pub(super) fn release(&mut self, now: Duration) {
        self.due = self.due.filter(|due| *due > now);
    }

    /// Sends what can be sent of the call, its head and its end included; says whether that was the last of it.
    pub(super) fn send(
        &mut self,
        id: u32,
        answer: &Answer,
        mut windows: SendWindows<'_>,
        peer: &mut PeerSettings,
        output: &mut Output<'_>,
    ) -> bool {
        let is_held = self.due.is_some();
        // A message may be longer than the window: it cannot become whole before a part of it is sent back.
        let is_too_long = i64::try_from(self.bytes.len()).unwrap_or(i64::MAX) >= WINDOW_BYTES / 2;
        let sendable = match is_held {
            true => 0,
            false if is_too_long => self.bytes.len(),
            false => self.whole_bytes,
        };
        let ends_well = matches!(self.end, Some(End::Status(_))) && !is_held;
        let is_websocket = matches!(self.source, Source::WebSocket { .. });
        if (sendable > 0 || ends_well || is_websocket) && !std::mem::replace(&mut self.has_head, true) {
            answer.write_first_head(id, peer.take_table_change(), output.bytes);
        }
        let sent = windows.send(0..sendable, output, |part, to| {
            frame::write(kind::DATA, 0, id, &self.bytes[part], to);
        });
        self.bytes.drain(..sent);
        self.whole_bytes = self.whole_bytes.saturating_sub(sent);
        self.note_sent(sent);
        match self.end {
            None => {
                self.give_back(id, output);
                false
            }
            Some(_) if is_held || !self.bytes.is_empty() => false,
            Some(End::Status(status)) => {
                let flags = flag::END_HEADERS | flag::END_STREAM;
                frame::write(kind::HEADERS, flags, id, call_end(status).bytes(), output.bytes);
                true
            }
            Some(End::Closed) => {
                frame::write(kind::DATA, flag::END_STREAM, id, &[], output.bytes);
                true
            }
            Some(End::Reset) => {
                write_reset(id, ErrorCode::InternalError, output.bytes);
                true
            }
        }
    }

    /// That much was sent back. What comes of a WebSocket has other headers, and is not kept when all of its echo was sent.
    fn note_sent(&mut self, sent: usize) {
        let is_all = self.bytes.is_empty();
        let used = match &mut self.source {
            Source::Call(_) => sent,
            Source::WebSocket { unsent_bytes, .. } if is_all => std::mem::take(unsent_bytes),
            Source::WebSocket { .. } => 0,
        };
        self.is_used(used);
    }

    /// Lets the client send as much more as is not kept any more, when that is half of what it may.
    fn give_back(&mut self, id: u32, output: &mut Output<'_>) {
        if self.used_bytes >= WINDOW_BYTES / 2 {
            write_window_update(id, self.used_bytes, output.bytes);
            self.window += std::mem::take(&mut self.used_bytes);
        }
    }
}
