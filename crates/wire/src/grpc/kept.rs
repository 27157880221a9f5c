//! Calls whose messages go both ways, and which are kept: on each of them a message of the client is answered by the next one
//! of the server, and then it has the next one to send.
//!
//! What is under way under a tag is a message, and its call is whichever is free; streams of HTTP/2 are known there by their
//! places. As many calls as the connection was made for are opened before one is used again.

use std::collections::VecDeque;

use super::{GrpcMessages, compressed};
use crate::error::{ErrorCode, Malformed};
use crate::exchange::{Event, Readiness, Received, Refusal, Tag};
use crate::grpc_status::{GrpcCoding, GrpcStatus};
use crate::h2::{Http2, Http2Template};
use crate::response::Response;

/// Where a call is, among the streams of HTTP/2.
type Place = usize;

/// The status of HTTP of every answer that is one of gRPC.
const OK: u16 = 200;

/// The calls that a connection keeps.
#[derive(Debug)]
pub(super) struct KeptCalls {
    takes_compressed: bool,
    calls: Box<[Call]>,
    /// The place of the call that carries the message of a tag, while that is under way.
    by_tag: Box<[Place]>,
    /// The open calls that have nothing under way, the one that has waited longest first.
    idle: VecDeque<Place>,
    /// Where no call is open.
    free: Vec<Place>,
    /// Whether more has come behind an answer than that.
    is_unasked: bool,
}

/// What has come of one call.
#[derive(Debug, Clone, Copy, Default)]
struct Call {
    messages: GrpcMessages,
    /// Whose answer the next message is.
    awaited: Option<Tag>,
    /// Whether a part of that has come.
    is_begun: bool,
    /// What has come of it.
    body_bytes: u64,
}

impl KeptCalls {
    pub(super) fn new(most: usize, takes_compressed: bool) -> Self {
        let mut calls = Self {
            takes_compressed,
            calls: vec![Call::default(); most].into(),
            by_tag: vec![0; most].into(),
            idle: VecDeque::with_capacity(most),
            free: Vec::with_capacity(most),
            is_unasked: false,
        };
        calls.reset();
        calls
    }

    /// A new connection has no calls.
    pub(super) fn reset(&mut self) {
        self.calls.fill(Call::default());
        self.idle.clear();
        self.free.clear();
        self.free.extend((0..self.calls.len()).rev());
        self.is_unasked = false;
    }

    fn open(&self) -> usize {
        self.calls.len() - self.free.len()
    }

    fn under_way(&self) -> usize {
        self.open() - self.idle.len()
    }

    /// What the connection is good for: an open call that waits for nothing takes no room.
    pub(super) fn readiness(&self, http2: &Http2) -> Readiness {
        let allowed = http2.streams_allowed();
        if http2.is_over() || (!http2.begins_any() && self.under_way() == 0) {
            Readiness::Closed
        } else if !http2.has_begun() || (allowed == 0 && self.under_way() == 0) {
            Readiness::Handshaking
        } else if !http2.begins_any() || self.under_way() >= allowed {
            Readiness::Busy
        } else {
            Readiness::Ready
        }
    }

    /// Sends a message, in a new call where there is room for one, and else in the one that has waited longest.
    pub(super) fn begin(&mut self, tag: Tag, template: &Http2Template, http2: &mut Http2, to: &mut Vec<u8>) {
        let has_room = self.open() < http2.streams_allowed();
        let idle = if has_room { None } else { self.idle.pop_front() };
        let place = idle.unwrap_or_else(|| {
            // Whoever begins a message has seen that one can begin.
            let place = self.free.pop().unwrap_or_default();
            self.calls[place] = Call::default();
            http2.open_kept(place, template, to);
            place
        });
        self.by_tag[tag] = place;
        let call = &mut self.calls[place];
        (call.awaited, call.is_begun, call.body_bytes) = (Some(tag), false, 0);
        http2.write_message(place, template, to);
    }

    /// The place of the call that carries the message of a tag, if that is under way.
    pub(super) fn place(&self, tag: Tag) -> Option<Place> {
        let place = *self.by_tag.get(tag)?;
        (self.calls[place].awaited == Some(tag)).then_some(place)
    }

    /// The tag of the message that a call carries.
    pub(super) fn tag(&self, place: Place) -> Option<Tag> {
        self.calls[place].awaited
    }

    /// Reads up to the next event.
    pub(super) fn receive(
        &mut self,
        http2: &mut Http2,
        bytes: &[u8],
        take_body: &mut impl FnMut(Tag, u16, &[u8]),
    ) -> Result<Received, Malformed> {
        if self.is_unasked {
            return Err(self.fail(http2, Malformed::Unasked));
        }
        let mut consumed = 0;
        loop {
            let (mut answered, mut begun, mut fault, mut has_more) = (None, None, None, false);
            let (calls, takes_compressed) = (&mut self.calls, self.takes_compressed);
            // A part of the body of one answer at most, so that each is reported that begins.
            let received = http2.receive_with_stops(&bytes[consumed..], &mut |place, status, part| {
                let call: &mut Call = &mut calls[place];
                match call.take(status, part, takes_compressed) {
                    Ok((taken, is_whole)) => {
                        answered = is_whole.then_some(place);
                        has_more = taken < part.len();
                        if let Some(tag) = call.awaited {
                            take_body(tag, status, &part[..taken]);
                            begun = (!std::mem::replace(&mut call.is_begun, true)).then_some(tag);
                        }
                    }
                    Err(wrong) => fault = Some(wrong),
                }
            })?;
            consumed += received.consumed;
            if let Some(place) = answered
                && http2.is_sending(place)
            {
                // Nobody can have answered what has not been sent.
                fault = Some(Malformed::Unasked);
            }
            if let Some(place) = answered
                && let Err(error) =
                    self.calls[place].messages.require_readable(compressed(true, || http2.grpc_coding(place)))
            {
                fault = Some(error.into());
            }
            if let Some(fault) = fault {
                return Err(self.fail(http2, fault));
            }
            self.is_unasked = has_more;
            let answered = answered.and_then(|place| {
                // A frame that ends its stream leaves nothing there to be asked for.
                let overhead = match received.event {
                    Some(Event::Answered(_, ended)) => (ended.header_bytes, ended.framing_bytes),
                    _ => http2.take_overhead(place),
                };
                self.answered(place, overhead)
            });
            let ended = received.event.and_then(|event| self.ended(event));
            let event = answered.or(ended).or(begun.map(Event::Begun));
            if event.is_some() || consumed == bytes.len() {
                return Ok(Received { consumed, event });
            }
        }
    }

    /// Whether something is left to be said of bytes that were read.
    pub(super) fn has_input(&self) -> bool {
        self.is_unasked
    }

    #[cold]
    fn fail(&mut self, http2: &mut Http2, fault: Malformed) -> Malformed {
        self.is_unasked = false;
        http2.end_connection(fault);
        fault
    }

    /// The message that answers the one of a call is complete: the call waits for the next one.
    fn answered(&mut self, place: Place, (header_bytes, framing_bytes): (u64, u64)) -> Option<Event> {
        let call = &mut self.calls[place];
        let tag = call.awaited.take()?;
        self.idle.push_back(place);
        let response = Response {
            status: OK,
            header_bytes,
            body_bytes: call.body_bytes,
            framing_bytes,
            inflated_bytes: None,
            keep_alive: true,
            grpc_status: Some(GrpcStatus::Ok),
        };
        Some(Event::Answered(tag, response))
    }

    /// What the end of a call is for the message that it carries, if it carries one.
    fn ended(&mut self, event: Event) -> Option<Event> {
        // The head of a stream is that of no message.
        let (Event::Answered(place, _) | Event::Refused(place, _) | Event::Moved(place)) = event else {
            return None;
        };
        let tag = self.close(place)?;
        Some(match event {
            // Something on the way has answered that knows no gRPC.
            Event::Answered(_, response) if response.grpc_status.is_none() && response.status != OK => {
                Event::Answered(tag, response)
            }
            Event::Answered(_, response) => Event::Refused(tag, Refusal::Ended(response.grpc_status)),
            Event::Refused(_, refusal) => Event::Refused(tag, refusal),
            _ => Event::Moved(tag),
        })
    }

    /// Forgets a call whose stream has ended; gives the tag of the message that it carried.
    fn close(&mut self, place: Place) -> Option<Tag> {
        let tag = self.calls[place].awaited.take();
        if tag.is_none() {
            self.idle.retain(|idle| *idle != place);
        }
        self.free.push(place);
        tag
    }

    /// Gives the message of a tag up, and its call: the next message would be taken for the answer to another one.
    pub(super) fn cancel(&mut self, tag: Tag, http2: &mut Http2) {
        if let Some(place) = self.place(tag) {
            http2.give_up(place, ErrorCode::Cancel);
            self.close(place);
        }
    }

    /// Ends the calls that wait for nothing, as a client does that has no more to say.
    pub(super) fn end(&self, http2: &mut Http2, to: &mut Vec<u8>) {
        for place in &self.idle {
            http2.end_kept(*place, to);
        }
    }

    /// The peer sends no more bytes: calls that wait for nothing have lost nothing.
    pub(super) fn end_of_input(&mut self, http2: &mut Http2) {
        for place in self.idle.drain(..) {
            http2.forget(place);
            self.free.push(place);
        }
    }
}

impl Call {
    /// Takes a part of the body, up to the end of the message that is awaited; says how many bytes that were, and whether it
    /// is complete. The body of an HTTP error has no messages.
    #[inline]
    fn take(&mut self, status: u16, part: &[u8], takes_compressed: bool) -> Result<(usize, bool), Malformed> {
        if status != OK {
            return Ok((part.len(), false));
        }
        if self.awaited.is_none() && !part.is_empty() {
            return Err(Malformed::Unasked);
        }
        let (taken, is_whole) = self.messages.read_one(part, &mut |_| ());
        self.body_bytes += taken as u64;
        self.messages.require_readable(compressed(takes_compressed, || GrpcCoding::Gzip))?;
        Ok((taken, is_whole))
    }
}
