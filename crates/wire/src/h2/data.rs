//! Bodies of answers, as they arrive.

use super::Http2;
use super::frame::{Frame, FrameHeader, HEADER_BYTES, flag};
use crate::answer;
use crate::chunked::shorter;
use crate::error::{Http2Error, Malformed};
use crate::exchange::{Event, Tag};
use crate::request::RequestKind;

/// The payload of a DATA frame, as far as it has not come.
#[derive(Debug, Clone, Copy)]
pub(super) struct DataUnderWay {
    pub(super) remaining_bytes: u64,
    /// How much of that is padding, at its end.
    pub(super) padding_bytes: u8,
    /// Whose data it is; none of what is skipped.
    pub(super) stream: Option<(Tag, u32)>,
    pub(super) ends_stream: bool,
}

impl DataUnderWay {
    /// Takes what belongs to it of the bytes that come next: their number, and what of them is body.
    #[inline]
    pub(super) fn take<'a>(&mut self, bytes: &'a [u8]) -> (usize, &'a [u8]) {
        let taken = shorter(bytes.len(), self.remaining_bytes);
        let body_bytes = self.remaining_bytes.saturating_sub(u64::from(self.padding_bytes));
        self.remaining_bytes -= taken as u64;
        (taken, bytes.get(..shorter(taken, body_bytes)).unwrap_or_default())
    }
}

impl Http2 {
    #[inline]
    pub(super) fn data(&mut self, frame: &Frame<'_>) -> Result<Option<Event>, Malformed> {
        let FrameHeader { length, stream: id, .. } = frame.header;
        let padding = match frame.payload.first() {
            Some(padding) => usize::from(*padding) + 1,
            None if frame.header.has(flag::PADDED) => return Err(Http2Error::Padding.into()),
            None => 0,
        };
        let body_bytes = length.checked_sub(padding).ok_or(Http2Error::Padding)?;
        // The whole payload counts, padding included (RFC 9113 §6.9.1).
        let is_connection_used_up = self.receive_window.take(length, self.writes)?;
        self.refill_connection_window();
        let rest = length - frame.payload.len();
        let Some(tag) = self.tag_of(frame.header)? else {
            self.framing_bytes += (HEADER_BYTES + length) as u64;
            self.skip(rest);
            return Ok(None);
        };
        self.run.data(id, body_bytes, self.streams.next_id());
        let Some(stream) = self.streams.get_mut(tag) else { return Ok(None) };
        let is_stream_used_up = stream.receive_window.take(length, self.writes)?;
        stream.framing_bytes += (HEADER_BYTES + padding) as u64;
        stream.body_bytes += body_bytes as u64;
        let is_head = stream.kind == RequestKind::Head;
        if let Err(problem) = answer::check_data(body_bytes, is_head, stream.status) {
            self.skip(rest);
            return Ok(Some(self.refuse(tag, problem.into())));
        }
        let ends_stream = frame.header.has(flag::END_STREAM);
        if body_bytes > 0 {
            self.unproductive_frames = 0;
        } else if !ends_stream {
            self.count_unproductive()?;
        }
        let mut is_used_up = is_connection_used_up && (!ends_stream || self.streams.len() > 1);
        if !ends_stream {
            is_used_up |= is_stream_used_up;
            self.refill_stream_window(tag);
        }
        self.counts.windows_used_up += u64::from(is_used_up);
        self.data = Some(DataUnderWay {
            remaining_bytes: rest as u64,
            // Its length is in front of the body.
            padding_bytes: frame.payload.first().copied().unwrap_or(0),
            stream: Some((tag, id)),
            ends_stream,
        });
        Ok(None)
    }

    /// The last byte of a DATA frame has come.
    #[inline]
    pub(super) fn data_ended(&mut self) -> Option<Event> {
        let DataUnderWay { stream, ends_stream, .. } = self.data.take()?;
        let (tag, id) = stream?;
        // The request may have been given up meanwhile.
        let is_open = self.streams.get_mut(tag).is_some_and(|stream| stream.id == id);
        (ends_stream && is_open).then(|| self.answered(tag, None)).flatten()
    }
}
