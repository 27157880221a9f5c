//! Streams that are kept: on each of them one message follows the other, as calls of gRPC have it that go both ways.

use super::frame::{self, FrameHeader, flag, kind};
use super::streams::EndsStream;
use super::template::Http2Template;
use super::{Http2, Stops};
use crate::error::Malformed;
use crate::exchange::{Received, Tag};
use crate::template::UploadBody;

impl Http2 {
    /// How many streams may be open at once, as both sides have it.
    pub(crate) fn streams_allowed(&self) -> usize {
        self.most.min(self.peer.concurrent_streams_max)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whether the peer's settings have come.
    pub(crate) fn has_begun(&self) -> bool {
        self.has_peer_settings
    }

    /// Opens a stream with the head of a template, whose messages follow.
    pub(crate) fn open_kept(&mut self, tag: Tag, template: &Http2Template, to: &mut Vec<u8>) {
        self.write_head(tag, template, (None, &[]), 0, to);
        if let Some(stream) = self.streams.get_mut(tag) {
            stream.is_uploading = true;
        }
    }

    /// Sends the body of a template on a stream that is kept: at once where the windows allow it and nothing waits for them,
    /// and else as bodies are sent.
    #[inline]
    pub(crate) fn write_message(&mut self, tag: Tag, template: &Http2Template, to: &mut Vec<u8>) {
        let (connection_window, largest) = (self.send_window, self.peer.frame_bytes_max);
        if self.uploads.is_empty()
            && let UploadBody::Kept(body) = &template.body
            && let Some(stream) = self.streams.get_mut(tag)
            && let Ok(length) = i32::try_from(body.len())
            && i64::from(length) <= connection_window.min(stream.send_window.into())
            && body.len() <= largest
        {
            stream.send_window -= length;
            self.send_window -= i64::from(length);
            frame::write(kind::DATA, 0, stream.id, body, to);
            return;
        }
        self.streams.begin_upload(tag, &template.body, EndsStream::No);
        self.uploads.push_back(tag);
        self.note_delay(tag);
    }

    /// Whether a part of what was to be sent on a kept stream has not been.
    pub(crate) fn is_sending(&self, tag: Tag) -> bool {
        self.streams.has_upload(tag)
    }

    /// Reads as [`receive_with`](crate::Exchange::receive_with) does, up to the end of the next frame of data at most.
    pub(crate) fn receive_with_stops(
        &mut self,
        bytes: &[u8],
        take_body: &mut impl FnMut(Tag, u16, &[u8]),
    ) -> Result<Received, Malformed> {
        self.stops = Stops::BehindData;
        self.received(bytes, take_body)
    }

    /// Takes what has come on a stream beside its data, since this was last taken: of its head, and of frames.
    pub(crate) fn take_overhead(&mut self, tag: Tag) -> (u64, u64) {
        let of_connection = std::mem::take(&mut self.framing_bytes);
        let Some(stream) = self.streams.get_mut(tag) else { return (0, of_connection) };
        let head = std::mem::take(&mut stream.header_bytes);
        (head.into(), std::mem::take(&mut stream.framing_bytes) + of_connection)
    }

    /// Ends this side of a stream that is kept.
    pub(crate) fn end_kept(&mut self, tag: Tag, to: &mut Vec<u8>) {
        if let Some(stream) = self.streams.get_mut(tag) {
            let header =
                FrameHeader { length: 0, kind: kind::DATA, flags: flag::END_STREAM, stream: stream.id };
            to.extend_from_slice(&header.bytes());
        }
    }

    /// Forgets a stream of a connection that has ended.
    pub(crate) fn forget(&mut self, tag: Tag) {
        self.streams.end(tag);
    }
}
