//! How the peer ends streams and connections (RFC 9113 §6.4 and §6.8), and what it allows.

use super::Http2;
use super::frame::{Frame, FrameHeader};
use super::receive::payload_of;
use super::streams::{LAST_ID, Named};
use crate::error::{ErrorCode, Http2Error, Malformed};
use crate::exchange::{Event, Received, Refusal};

impl Http2 {
    pub(super) fn reset_stream(&mut self, frame: &Frame<'_>) -> Result<Option<Event>, Malformed> {
        let FrameHeader { kind, stream, .. } = frame.header;
        let code = u32::from_be_bytes(*payload_of(frame)?);
        let tag = match self.streams.named(stream) {
            Named::Open(tag) => tag,
            Named::GivenUp | Named::Ended => return Ok(None),
            Named::Idle => return Err(Http2Error::FrameStream { kind, stream }.into()),
        };
        if self.streams.end(tag).is_some_and(|ended| ended.was_uploading) {
            self.uploads.retain(|uploading| *uploading != tag);
        }
        // What the server had sent before may still be under way to us, but not behind this frame.
        Ok(Some(match ErrorCode::from(code) {
            ErrorCode::RefusedStream => {
                self.counts.streams_refused += 1;
                Event::Moved(tag)
            }
            code => Event::Refused(tag, Refusal::Reset(code)),
        }))
    }

    /// The peer answers no stream behind the one that it names. It may name an earlier one later.
    pub(super) fn go_away(&mut self, frame: &Frame<'_>) -> Result<(), Malformed> {
        let FrameHeader { kind, stream, length: bytes, .. } = frame.header;
        if stream != 0 {
            return Err(Http2Error::FrameStream { kind, stream }.into());
        }
        let Some((&[l0, l1, l2, l3, c0, c1, c2, c3], _)) = frame.payload.split_first_chunk::<8>() else {
            return Err(Http2Error::FrameLength { kind, bytes }.into());
        };
        if self.last_answered.is_none() {
            self.counts.ended_by = Some(u32::from_be_bytes([c0, c1, c2, c3]));
        }
        // All behind an earlier one's last have moved already, so that a later one that names more allows nothing.
        let last_id = u32::from_be_bytes([l0, l1, l2, l3]) & LAST_ID;
        self.last_answered = Some(last_id);
        self.is_moving = self.streams.any_behind(last_id).is_some();
        Ok(())
    }

    /// The next request that moves to another connection; `held` bytes are consumed with the last one.
    pub(super) fn next_moved(&mut self, held: usize) -> Received {
        let last_id = self.last_answered.unwrap_or(LAST_ID);
        let moved = self.streams.any_behind(last_id);
        if let Some(tag) = moved
            && self.streams.end(tag).is_some_and(|ended| ended.was_uploading)
        {
            self.uploads.retain(|uploading| *uploading != tag);
        }
        self.is_moving = self.streams.any_behind(last_id).is_some();
        Received { consumed: if self.is_moving { 0 } else { held }, event: moved.map(Event::Moved) }
    }

    /// Whether requests can begin on this connection, now or later.
    pub(crate) fn begins_any(&self) -> bool {
        !self.is_over && self.last_answered.is_none() && !self.streams.are_used_up()
    }

    /// Counts how many streams at once the peer allows, if it has set a limit.
    pub(super) fn count_streams_allowed(&mut self) {
        let Ok(allowed) = u32::try_from(self.peer.concurrent_streams_max) else { return };
        let (least, most) = self.counts.streams_allowed.unwrap_or((allowed, allowed));
        self.counts.streams_allowed = Some((least.min(allowed), most.max(allowed)));
        self.counts.was_limited |= self.peer.concurrent_streams_max < self.most;
    }
}
