//! Streams that carry another protocol (RFC 8441), as those of `kept` do messages of gRPC.

use super::Http2;
use super::frame::{self, FrameHeader, HEADER_BYTES, flag, kind};
use super::streams::EndsStream;
use crate::error::ErrorCode;
use crate::exchange::Tag;
use crate::template::UploadBody;
use crate::websocket_choice::Choice;

/// What is kept of tunnels beside their streams.
#[derive(Debug, Default)]
pub(super) struct Tunnels {
    /// Whether the streams of the connection are tunnels, whose sides end one after the other.
    pub(super) are_open: bool,
    /// What was chosen for each of them, by its tag.
    choices: Box<[Choice]>,
    /// The stream whose side the peer has ended in the last frame, and this one has not.
    half_closed: Option<HalfClosed>,
}

impl Tunnels {
    /// Keeps what the answer to a request for a tunnel chooses.
    pub(super) fn keep_choice(&mut self, tag: Tag, choice: Choice) {
        if let Some(kept) = self.choices.get_mut(tag) {
            *kept = choice;
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct HalfClosed {
    id: u32,
    send_window: i32,
}

impl Http2 {
    /// Has the streams of this connection be tunnels.
    pub(crate) fn carry_tunnels(&mut self) {
        self.tunnels.are_open = true;
        self.tunnels.choices = vec![Choice::default(); self.most].into();
    }

    /// What the answer has chosen that has opened a tunnel.
    pub(crate) fn choice(&self, tag: Tag) -> Choice {
        self.tunnels.choices.get(tag).copied().unwrap_or_default()
    }

    /// Whether the peer has said that it takes requests for tunnels.
    pub(crate) fn takes_tunnels(&self) -> bool {
        self.peer.takes_tunnels
    }

    /// How many streams are open.
    pub(crate) fn streams_open(&self) -> usize {
        self.streams.len()
    }

    /// The status of the answer on a stream, once its header block has come.
    pub(crate) fn status(&self, tag: Tag) -> Option<u16> {
        Some(self.streams.get(tag)?.status?.get())
    }

    /// Sends what `write` appends on a stream, where nothing is under way: at once where the windows allow it and nothing waits
    /// for them, and else as bodies are sent.
    #[inline]
    pub(crate) fn write_in_tunnel(
        &mut self,
        tag: Tag,
        is_last: bool,
        to: &mut Vec<u8>,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        let start = to.len();
        to.extend_from_slice(&[0; HEADER_BYTES]);
        write(to);
        let length = to.len() - start - HEADER_BYTES;
        let (connection_window, largest) = (self.send_window, self.peer.frame_bytes_max);
        if self.uploads.is_empty()
            && let Some(stream) = self.streams.get_mut(tag)
            && let Ok(window) = i32::try_from(length)
            && i64::from(window) <= connection_window.min(stream.send_window.into())
            && length <= largest
        {
            stream.send_window -= window;
            stream.is_uploading = !is_last;
            let flags = if is_last { flag::END_STREAM } else { 0 };
            let header = FrameHeader { length, kind: kind::DATA, flags, stream: stream.id };
            self.send_window -= i64::from(window);
            to[start..start + HEADER_BYTES].copy_from_slice(&header.bytes());
            return;
        }
        let rest = UploadBody::Kept(to[start + HEADER_BYTES..].into());
        to.truncate(start);
        self.begin_in_tunnel(tag, is_last, &rest);
    }

    /// Begins to send that many bytes on a stream, which are read while they are sent.
    pub(crate) fn begin_following(&mut self, tag: Tag, bytes: u64) {
        self.begin_in_tunnel(tag, false, &UploadBody::Following(bytes));
    }

    fn begin_in_tunnel(&mut self, tag: Tag, is_last: bool, body: &UploadBody) {
        let ends_stream = if is_last { EndsStream::Yes } else { EndsStream::No };
        self.streams.begin_upload(tag, body, ends_stream);
        self.uploads.push_back(tag);
        self.note_delay(tag);
    }

    /// Ends a stream whose answer is complete, and whose request is not: nobody needs the rest of that. Of a tunnel the other
    /// side may still be ended.
    #[cold]
    pub(super) fn end_unfinished(&mut self, tag: Tag) {
        if !self.tunnels.are_open || self.streams.has_upload(tag) {
            self.give_up(tag, ErrorCode::Cancel);
            return;
        }
        let send_window = self.streams.get(tag).map_or(0, |stream| stream.send_window);
        let ended = self.streams.end(tag);
        self.tunnels.half_closed = ended.map(|ended| HalfClosed { id: ended.id, send_window });
    }

    /// Ends this side of the tunnel whose other side the peer has just ended, where there is one, with the last that is said.
    pub(crate) fn end_half_closed(&mut self, last: &[u8]) {
        let Some(HalfClosed { id, send_window }) = self.tunnels.half_closed.take() else { return };
        let window = self.send_window.min(send_window.into());
        let last = if i64::try_from(last.len()).is_ok_and(|bytes| bytes <= window) { last } else { &[] };
        self.send_window -= i64::try_from(last.len()).unwrap_or_default();
        frame::write(kind::DATA, flag::END_STREAM, id, last, &mut self.output);
    }
}
