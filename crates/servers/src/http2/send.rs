//! What is sent: answers as the windows allow, and what the protocol itself has to say.

use std::collections::VecDeque;

use loadcurve_wire::ErrorCode;
use loadcurve_wire::h2::frame::{self, DEFAULT_WINDOW_BYTES, kind};

use crate::reply::{Ending, Outcome};
use crate::service::Repeats;

use super::answer::{Answer, write_reset, write_window_update};
use super::settings::{PeerSettings, id};
use super::streams::{Sent, State, Stream};
use super::windows::SendWindows;
use super::{Connection, Fate, Last, Output, RESET_IDS_MAX, STREAMS_MAX, Service, WINDOW_BYTES};

/// Appends the settings, and what makes the window of the connection as large as those of its streams.
pub(super) fn write_settings(to: &mut Vec<u8>) {
    let settings = [
        (id::MAX_CONCURRENT_STREAMS, u32::try_from(STREAMS_MAX).unwrap_or(u32::MAX)),
        (id::INITIAL_WINDOW_SIZE, u32::try_from(WINDOW_BYTES).unwrap_or(u32::MAX)),
        (id::ENABLE_CONNECT_PROTOCOL, 1),
    ];
    let mut payload = [0; 18];
    for (bytes, (setting, value)) in payload.as_chunks_mut::<6>().0.iter_mut().zip(settings) {
        bytes[..2].copy_from_slice(&setting.to_be_bytes());
        bytes[2..].copy_from_slice(&value.to_be_bytes());
    }
    frame::write(kind::SETTINGS, 0, 0, &payload, to);
    write_window_update(0, WINDOW_BYTES - DEFAULT_WINDOW_BYTES, to);
}

/// Appends a frame that ends the connection behind a stream.
pub(super) fn write_go_away(last_id: u32, code: ErrorCode, to: &mut Vec<u8>) {
    let payload = [last_id.to_be_bytes(), u32::from(code).to_be_bytes()];
    frame::write(kind::GOAWAY, 0, 0, payload.as_flattened(), to);
}

impl Connection {
    /// Ends a stream because of a fault of the client. What it has sent on it meanwhile is ignored.
    pub(super) fn reset(&mut self, stream: u32, code: ErrorCode, output: &mut Output<'_>) {
        self.streams.remove(stream);
        self.ignore(stream);
        write_reset(stream, code, output.bytes);
    }

    /// Ignores what a client sends on a stream that is ended here.
    pub(super) fn ignore(&mut self, stream: u32) {
        ignore(&mut self.reset_ids, stream);
    }

    /// Answers the request that was read last, which is whole: at once where nothing holds the answer back.
    #[inline]
    pub(super) fn answer_last(&mut self, id: u32, service: &mut impl Service, output: &mut Output<'_>) {
        let fate = service.fate();
        let answer = &self.heads.last.answer;
        let body_bytes = answer.sent_bytes();
        let window_bytes = i64::try_from(body_bytes).unwrap_or(i64::MAX);
        let is_held = fate != Fate::default()
            || self.peer.has_small_table
            || body_bytes > self.peer.frame_bytes_max
            || window_bytes > self.send_window.min(self.peer.initial_window_bytes)
            || !output.has_room();
        if is_held {
            let answer = answer.clone();
            let state = State::Sending(Sent::Nothing);
            let send_window = self.peer.initial_window_bytes;
            self.streams.push(Stream { id, answer, state, send_window, echo: None, events: None });
            self.decide(id, fate, output);
        } else if !answer.write_head(id, &[], output.bytes) {
            answer.write_data(id, 0..body_bytes, output.bytes);
            self.send_window -= window_bytes;
        }
    }

    /// Has a stream whose request is whole answered as its fate is.
    pub(super) fn decide(&mut self, id: u32, fate: Fate, output: &mut Output<'_>) {
        if let Some(last) = fate.last {
            self.end_behind(id, last, output);
        }
        let Some(stream) = self.streams.get_mut(id) else { return };
        if fate.outcome != Outcome::Right {
            stream.answer = Answer::new(stream.answer.reply.clone().with_outcome(fate.outcome));
        }
        stream.state = match fate.due {
            Some(due) => State::Held(due, Sent::Nothing),
            None => State::Sending(Sent::Nothing),
        };
        if fate.events.is_some() && stream.answer.reply.is_file() {
            stream.answer.make_events();
            stream.events = fate.events;
        }
    }

    /// Has no stream behind this one answered.
    pub(super) fn end_behind(&mut self, id: u32, last: Last, output: &mut Output<'_>) {
        self.last_answered.get_or_insert(id);
        if last.is_announced {
            self.go_away(output.bytes);
        }
    }

    /// Sends what the windows and the output allow of the answers that are under way, the oldest first.
    pub fn send(&mut self, output: &mut Output<'_>) {
        if self.streams.is_empty() {
            return;
        }
        let Self { streams, send_window, peer, reset_ids, .. } = self;
        streams.retain(|stream| {
            let is_done = output.has_room() && stream.send(send_window, peer, output);
            if is_done && stream.echo.as_ref().is_some_and(|echo| echo.ends_first()) {
                ignore(reset_ids, stream.id);
            }
            !is_done
        });
    }
}

/// Notes a stream that was ended here before the client had ended it.
fn ignore(ids: &mut VecDeque<u32>, stream: u32) {
    if ids.len() == RESET_IDS_MAX {
        ids.pop_front();
    }
    ids.push_back(stream);
}

impl Stream {
    /// Sends what can be sent; says whether that was the last of it.
    fn send(
        &mut self,
        connection_window: &mut i64,
        peer: &mut PeerSettings,
        output: &mut Output<'_>,
    ) -> bool {
        let frame_bytes_max = peer.frame_bytes_max;
        let mut windows =
            SendWindows { stream: &mut self.send_window, connection: connection_window, frame_bytes_max };
        if let Some(echo) = &mut self.echo {
            return echo.send(self.id, &self.answer, windows, peer, output);
        }
        let State::Sending(sent) = self.state else { return false };
        if self.answer.reply.ending == Ending::Reset {
            write_reset(self.id, ErrorCode::InternalError, output.bytes);
            return true;
        }
        let offset = match (sent, self.events) {
            (Sent::Head(offset), _) => offset,
            (Sent::Nothing, Some(events)) => {
                self.answer.write_first_head(self.id, peer.take_table_change(), output.bytes);
                self.state = State::Held(events.next, Sent::Head(0));
                return false;
            }
            (Sent::Nothing, None) => {
                if self.answer.write_head(self.id, peer.take_table_change(), output.bytes) {
                    return true;
                }
                0
            }
        };
        let end = self.answer.sent_bytes();
        self.answer.has_end = self.events.is_none_or(Repeats::is_last);
        let offset = windows.send(offset..end, output, |part, to| {
            self.answer.write_data(self.id, part, to);
        });
        self.state = State::Sending(Sent::Head(offset));
        if let Some(next) = self.events.filter(|_| offset == end).and_then(Repeats::after_next) {
            self.events = Some(next);
            self.state = State::Held(next.next, Sent::Head(0));
            return false;
        }
        if offset == end && self.answer.reply.ending == Ending::Truncated {
            write_reset(self.id, ErrorCode::InternalError, output.bytes);
        }
        offset == end
    }
}
