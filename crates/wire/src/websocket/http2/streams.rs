//! How the WebSockets of a connection begin and end, and what has come on them.

use super::{First, Place, Stage, WebSocketHttp2};
use crate::error::{ErrorCode, Malformed, WebSocketError};
use crate::exchange::{Event, Refusal, Tag};
use crate::websocket::close::{Close, NO_CLOSE};
use crate::websocket::incoming::Message;
use crate::websocket::tunnel::{Heard, State, opens};

/// Who has ended a WebSocket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    ByClient,
    ByPeer,
}

impl WebSocketHttp2 {
    /// Whether one more WebSocket can be asked for.
    pub(super) fn can_open(&self) -> bool {
        !self.free.is_empty()
            && self.live < self.most_live
            && self.http2.streams_open() < self.http2.streams_allowed()
    }

    /// Asks for a WebSocket.
    pub(super) fn ask(&mut self, to: &mut Vec<u8>) -> Place {
        let place = self.free.pop().unwrap_or_default();
        self.tunnels[place].begin();
        self.live += 1;
        self.http2.open_kept(place, &self.settings.opening, to);
        place
    }

    /// Looks whether the peer takes WebSockets, as soon as it has said so, and whether any can be asked for.
    pub(super) fn agree(&mut self) -> Result<(), Malformed> {
        if !self.http2.has_begun() {
            return Ok(());
        }
        if !self.http2.takes_tunnels() {
            return Err(self.refuse(WebSocketError::NotOverHttp2.into()));
        }
        if self.http2.streams_allowed() > 0 {
            self.stage = Stage::Asking;
        }
        Ok(())
    }

    /// The place of the WebSocket that carries the message of a tag, if that is under way.
    pub(super) fn place(&self, tag: Tag) -> Option<Place> {
        let place = *self.by_tag.get(tag)?;
        (self.tunnels[place].awaited == Some(tag)).then_some(place)
    }

    /// Whether a part of what was to be sent has not been.
    pub(super) fn is_sending(&self, place: Place) -> bool {
        self.tunnels[place].has_unsent() || self.http2.is_sending(place)
    }

    /// Notes that a WebSocket has something to send, if it has.
    pub(super) fn list(&mut self, place: Place) {
        let tunnel = &mut self.tunnels[place];
        if tunnel.has_output() && !tunnel.is_listed && !self.http2.is_sending(place) {
            tunnel.is_listed = true;
            self.ready.push_back(place);
        }
    }

    /// Sends what waits on a WebSocket. Where the windows hold it back, the rest is sent behind that.
    pub(super) fn flush(&mut self, place: Place, to: &mut Vec<u8>) {
        let Self { http2, tunnels, .. } = self;
        let tunnel = &mut tunnels[place];
        if !tunnel.has_output() || http2.is_sending(place) {
            return;
        }
        let is_last = tunnel.state == State::Closing;
        let controls = tunnel.controls();
        if !controls.is_empty() {
            http2.write_in_tunnel(place, is_last, to, |to| to.append(controls));
        }
        if is_last || http2.is_sending(place) {
            return;
        }
        match tunnel.take_unsent() {
            Some(Ok(frame)) => {
                http2.write_in_tunnel(place, false, to, |to| to.extend_from_slice(&frame));
            }
            Some(Err(bytes)) => http2.begin_following(place, bytes),
            None => {}
        }
    }

    /// What a part of a stream has brought; the frame of it may also have ended the stream.
    pub(super) fn heard(
        &mut self,
        place: Place,
        status: u16,
        heard: Heard,
        ended: Option<Event>,
    ) -> Result<Option<Event>, Malformed> {
        if !opens(status) {
            // The rest of what it says is not waited for.
            return if self.tunnels[place].refusal.is_whole() {
                self.refused(place, status)
            } else {
                Ok(None)
            };
        }
        let Heard { answered, begins, closed, fault } = heard;
        let tag = self.tunnels[place].awaited;
        let event = match answered {
            Some(message) => self.answered(place, &message, ended)?,
            None => None,
        };
        if let Some(fault) = fault {
            if event.is_some() {
                self.fault_behind = Some(fault);
                return Ok(event);
            }
            return self.broken(place, fault).map(Some);
        }
        let refused = closed.and_then(|closed| self.close(place, closed));
        self.list(place);
        Ok(event.or(refused).or_else(|| tag.filter(|_| begins).map(Event::Begun)))
    }

    /// A WebSocket was opened that was asked for.
    ///
    /// # Errors
    /// Its server has chosen what was not offered.
    pub(super) fn opened(&mut self, place: Place) -> Result<(), WebSocketError> {
        // What its opening took is no message's.
        self.http2.take_overhead(place);
        let offer = &self.settings.offer;
        let agreed = offer.answered(self.http2.choice(place))?;
        let tunnel = &mut self.tunnels[place];
        tunnel.open(offer.deflate, agreed);
        if tunnel.awaited.is_none() {
            self.idle.push_back(place);
            self.first.opened += usize::from(self.stage == Stage::Opening);
            self.opening_ended();
        }
        self.list(place);
        Ok(())
    }

    /// One of those that were asked for first is open, or will not be.
    pub(super) fn opening_ended(&mut self) {
        self.opening -= 1;
        if self.opening == 0 && self.stage == Stage::Opening {
            self.stage = Stage::Open;
        }
    }

    /// The message that answers the one under way is complete.
    #[inline]
    pub(super) fn answered(
        &mut self,
        place: Place,
        message: &Message,
        ended: Option<Event>,
    ) -> Result<Option<Event>, Malformed> {
        if self.is_sending(place) {
            // Nobody can have answered what has not been sent.
            return Err(self.fail(Malformed::Unasked));
        }
        // A frame that ends its stream leaves nothing there to be asked for.
        let framing_bytes = match ended {
            Some(Event::Answered(_, ended)) => ended.framing_bytes,
            _ => self.http2.take_overhead(place).1,
        };
        let tag = self.take_awaited(place);
        self.idle.push_back(place);
        Ok(tag.map(|tag| Event::Answered(tag, message.answer(framing_bytes))))
    }

    pub(super) fn take_awaited(&mut self, place: Place) -> Option<Tag> {
        let tag = self.tunnels[place].awaited.take();
        self.under_way -= usize::from(tag.is_some());
        tag
    }

    /// The peer has closed a WebSocket, which is answered: the message under way on it is not.
    pub(super) fn close(&mut self, place: Place, closed: Close) -> Option<Event> {
        let is_sending = self.http2.is_sending(place);
        let tag = self.leave(place, Left::ByPeer);
        self.tunnels[place].close(&closed, &mut self.random);
        if is_sending {
            // There is no place for an answer in the middle of a message.
            self.give_up(place, Left::ByPeer);
        }
        let event = tag.map(|tag| Event::Refused(tag, Refusal::Closed(closed.code)));
        self.example = closed.shown_reason();
        self.closed = Some(closed);
        event
    }

    /// A frame breaks the protocol: the WebSocket ends with it, and the connection where no message is under way that fails.
    #[cold]
    pub(super) fn broken(&mut self, place: Place, fault: Malformed) -> Result<Event, Malformed> {
        if self.tunnels[place].awaited.is_none() || fault == Malformed::Unasked {
            return Err(self.fail(fault));
        }
        let tag = self.give_up(place, Left::ByPeer);
        self.example = None;
        tag.map(|tag| Event::Refused(tag, Refusal::Malformed(fault))).ok_or(fault)
    }

    /// What the head of a stream, or its end, is for the message that it carries, if it carries one.
    pub(super) fn ended(&mut self, event: Event) -> Result<Option<Event>, Malformed> {
        let place = event.tag();
        if self.tunnels[place].state == State::Ended {
            // What the same frame has said before has ended it.
            return Ok(None);
        }
        let is_opening = self.tunnels[place].state == State::Opening;
        let opens_now = match event {
            Event::Begun(_) => self.http2.status(place).is_some_and(opens),
            Event::Answered(_, response) => opens(response.status),
            _ => false,
        };
        if is_opening
            && opens_now
            && let Err(fault) = self.opened(place)
        {
            return self.not_opened(place, fault.into());
        }
        let refusal = match event {
            Event::Begun(_) => return Ok(None),
            Event::Answered(_, response) if !opens(response.status) => {
                return self.refused(place, response.status);
            }
            Event::Answered(..) => Refusal::Closed(NO_CLOSE),
            Event::Refused(_, refusal) => refusal,
            Event::Moved(_) | Event::Dropped(_) => Refusal::Reset(ErrorCode::RefusedStream),
        };
        let is_first = is_opening && !opens_now && self.tunnels[place].awaited.is_none();
        if self.tunnels[place].state != State::Closing {
            (self.closed, self.example) = (None, None);
        }
        let tag = self.give_up(place, Left::ByPeer);
        if is_opening && refusal == Refusal::Reset(ErrorCode::RefusedStream) {
            // Each message would ask for one more, and be refused again.
            self.most_live = self.live.max(1);
        }
        if is_first {
            self.opening_ended();
            return match refusal {
                Refusal::Reset(ErrorCode::RefusedStream) => Ok(None),
                Refusal::Reset(code) => Err(self.refuse(WebSocketError::Reset { code }.into())),
                Refusal::Malformed(fault) => Err(self.refuse(fault)),
                _ => Ok(None),
            };
        }
        Ok(tag.map(|tag| match event {
            Event::Moved(_) if is_opening => Event::Moved(tag),
            _ => Event::Refused(tag, refusal),
        }))
    }

    /// The peer answers the request for a WebSocket with another status.
    pub(super) fn refused(&mut self, place: Place, status: u16) -> Result<Option<Event>, Malformed> {
        self.example = self.tunnels[place].refusal.shown();
        self.not_opened(place, WebSocketError::Refused { status }.into())
    }

    /// A WebSocket that was asked for is none, for this reason.
    fn not_opened(&mut self, place: Place, fault: Malformed) -> Result<Option<Event>, Malformed> {
        let is_first = self.tunnels[place].awaited.is_none();
        let tag = self.give_up(place, Left::ByPeer);
        if is_first && self.stage != Stage::Open {
            return Err(self.refuse(fault));
        }
        Ok(tag.map(|tag| Event::Refused(tag, Refusal::Malformed(fault))))
    }

    /// The status with which a WebSocket was refused, of whose answer more is to come.
    pub(super) fn unfinished_refusal(&self) -> Option<Malformed> {
        let statuses = (0..self.tunnels.len()).filter_map(|place| self.http2.status(place));
        let status = statuses.into_iter().find(|status| !opens(*status))?;
        Some(WebSocketError::Refused { status }.into())
    }

    /// Why the connection is of no more use, and how many WebSockets it had by then, if any.
    pub(super) fn refused_in_words(&self, refused: Malformed) -> String {
        let First { asked, opened } = self.first;
        if opened == 0 || self.stage == Stage::Open {
            return refused.to_string();
        }
        format!("{refused}, when it had opened {opened} of {asked} on this connection; use fewer streams")
    }

    /// How many WebSockets the peer has opened of those that were asked for, where it says nothing about the others.
    pub(super) fn unopened_in_words(&self) -> Option<String> {
        let First { asked, opened } = self.first;
        (self.stage == Stage::Opening && opened > 0).then(|| {
            format!(
                "the server opened {opened} of {asked} WebSockets on this connection, and did not answer the requests for \
                 the others; use at most {opened} streams"
            )
        })
    }

    /// The connection is of no more use, although its peer breaks nothing.
    #[cold]
    pub(super) fn refuse(&mut self, fault: Malformed) -> Malformed {
        self.refused = Some(fault);
        fault
    }

    #[cold]
    pub(super) fn fail(&mut self, fault: Malformed) -> Malformed {
        self.example = None;
        self.http2.end_connection(fault);
        fault
    }

    /// A WebSocket is not open any more, nor opened; gives the tag of the message that it carried.
    pub(super) fn leave(&mut self, place: Place, left: Left) -> Option<Tag> {
        if !matches!(self.tunnels[place].state, State::Opening | State::Open) {
            return None;
        }
        self.live -= 1;
        self.is_left = self.live == 0 && left == Left::ByPeer;
        let tag = self.take_awaited(place);
        if tag.is_none() {
            self.idle.retain(|idle| *idle != place);
        }
        tag
    }

    /// A stream has ended, or is given up here; gives the tag of the message that it carried.
    pub(super) fn give_up(&mut self, place: Place, left: Left) -> Option<Tag> {
        let tag = self.leave(place, left);
        let tunnel = &mut self.tunnels[place];
        if let Some(counts) = tunnel.compression.take() {
            counts.add_to(&mut self.compressions);
        }
        // Where the peer alone has ended it, it gets the answer to its close frame with the end of this side.
        let last = if tunnel.state == State::Closing { &tunnel.controls()[..] } else { &[] };
        self.http2.end_half_closed(last);
        self.http2.give_up(place, ErrorCode::Cancel);
        tunnel.state = State::Ended;
        tunnel.forget_unsent();
        self.free.push(place);
        tag
    }
}
