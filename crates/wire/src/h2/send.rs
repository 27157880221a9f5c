//! What is sent: requests, their bodies as the windows allow, and what the protocol itself has to say.

use super::Http2;
use super::frame::{
    self, DEFAULT_WINDOW_BYTES, FrameHeader, HEADER_BYTES, LARGEST_WINDOW_BYTES, PREFACE, flag, kind,
};
use super::hpack;
use super::settings::id;
use super::streams::EndsStream;
use super::template::Http2Template;
use super::window::ReceiveWindow;
use crate::chunked::shorter;
use crate::error::{ErrorCode, Malformed};
use crate::exchange::{BodyPart, Tag, WrittenBody};
use crate::last_event_id::{LAST_EVENT_ID, field_value};
use crate::template::UploadBody;

impl Http2 {
    /// The first bytes of a connection: the preface, the settings, and the window of the connection.
    pub(super) fn write_preface(&mut self) {
        self.output.extend_from_slice(PREFACE);
        let header_bytes = u32::try_from(self.settings.header_bytes).unwrap_or(u32::MAX);
        let stream_window = self.settings.stream_window_bytes.min(1 << 31) & 0x7fff_ffff;
        let settings = [
            (id::ENABLE_PUSH, 0),
            (id::INITIAL_WINDOW_SIZE, stream_window),
            (id::MAX_HEADER_LIST_SIZE, header_bytes),
        ];
        let mut payload = [0; 18];
        for (bytes, (setting, value)) in payload.as_chunks_mut::<6>().0.iter_mut().zip(settings) {
            bytes[..2].copy_from_slice(&setting.to_be_bytes());
            bytes[2..].copy_from_slice(&value.to_be_bytes());
        }
        frame::write(kind::SETTINGS, 0, 0, &payload, &mut self.output);
        self.receive_window = ReceiveWindow::known(DEFAULT_WINDOW_BYTES);
        self.enlarge_connection_window();
    }

    /// How much the peer may send on all streams together before it is given more.
    fn connection_window(&self) -> i64 {
        i64::from(self.settings.connection_window_bytes).clamp(DEFAULT_WINDOW_BYTES, LARGEST_WINDOW_BYTES)
    }

    fn enlarge_connection_window(&mut self) {
        let increment = self.connection_window() - self.receive_window.bytes();
        if increment > 0 {
            self.receive_window.give(increment, self.writes);
            self.write_window_update(0, increment);
        }
    }

    /// Gives the peer the rest of the connection's window when half of it is used, so that few frames are sent for it.
    pub(super) fn refill_connection_window(&mut self) {
        if self.receive_window.bytes() <= self.connection_window() / 2 {
            self.enlarge_connection_window();
        }
    }

    /// The same of a stream whose answer continues.
    pub(super) fn refill_stream_window(&mut self, tag: Tag) {
        let whole = self.stream_window();
        let Some(stream) = self.streams.get_mut(tag) else { return };
        if stream.receive_window.bytes() <= whole / 2 {
            let (id, increment) = (stream.id, whole - stream.receive_window.bytes());
            stream.receive_window.give(increment, self.writes);
            self.write_window_update(id, increment);
        }
    }

    fn stream_window(&self) -> i64 {
        i64::from(self.settings.stream_window_bytes).min(LARGEST_WINDOW_BYTES)
    }

    fn write_window_update(&mut self, stream: u32, increment: i64) {
        let increment = u32::try_from(increment).unwrap_or(0);
        frame::write(kind::WINDOW_UPDATE, 0, stream, &increment.to_be_bytes(), &mut self.output);
    }

    /// Gives a request up on its stream, which ends with this code; whatever the peer has sent on it meanwhile is ignored.
    pub(crate) fn give_up(&mut self, tag: Tag, code: ErrorCode) {
        let Some(ended) = self.streams.end(tag) else { return };
        if ended.was_uploading {
            self.uploads.retain(|uploading| *uploading != tag);
        }
        self.streams.give_up(ended.id);
        frame::write(kind::RST_STREAM, 0, ended.id, &u32::from(code).to_be_bytes(), &mut self.output);
    }

    /// Ends the connection because of a fault of the peer, which is informed (RFC 9113 §5.4.1).
    pub(crate) fn end_connection(&mut self, fault: Malformed) {
        let payload = [[0; 4], u32::from(fault.code()).to_be_bytes()].concat();
        frame::write(kind::GOAWAY, 0, 0, &payload, &mut self.output);
        self.complaint = Some(fault.to_string());
        self.is_over = true;
    }

    /// Begins a request on a new stream.
    pub(super) fn write_request(
        &mut self,
        tag: Tag,
        template: &Http2Template,
        varying: (Option<&[u8]>, &[u8]),
        to: &mut Vec<u8>,
    ) {
        let has_body = template.body.length() > 0;
        self.write_head(tag, template, varying, if has_body { 0 } else { flag::END_STREAM }, to);
        if has_body {
            self.streams.begin_upload(tag, &template.body, EndsStream::Yes);
            self.uploads.push_back(tag);
            self.note_delay(tag);
        }
    }

    /// Opens a stream with the head of a request; what varies of it are its target and the id of the last event of the stream
    /// of events that it opens again.
    pub(super) fn write_head(
        &mut self,
        tag: Tag,
        template: &Http2Template,
        (target, last_id): (Option<&[u8]>, &[u8]),
        end_stream: u8,
        to: &mut Vec<u8>,
    ) {
        let send_window = i32::try_from(self.peer.initial_window_bytes).unwrap_or(i32::MAX);
        let windows = (ReceiveWindow::known(self.stream_window()), send_window);
        let id = self.streams.open(tag, template.kind, windows);
        let start = to.len();
        to.extend_from_slice(&[0; HEADER_BYTES]);
        self.encoder.write(template.number, &template.parts, target, to);
        if let Some(value) = field_value(last_id) {
            hpack::write_plain(LAST_EVENT_ID, value, to);
        }
        let length = to.len() - start - HEADER_BYTES;
        if length <= self.peer.frame_bytes_max {
            let flags = flag::END_HEADERS | end_stream;
            let header = FrameHeader { length, kind: kind::HEADERS, flags, stream: id };
            to[start..start + HEADER_BYTES].copy_from_slice(&header.bytes());
        } else {
            self.divide_block(start, end_stream, id, to);
        }
    }

    /// Makes frames of a header block that is longer than the peer takes in one; in front of it is room for a header.
    #[cold]
    fn divide_block(&self, start: usize, end_stream: u8, stream: u32, to: &mut Vec<u8>) {
        let block = to.split_off(start);
        let mut fragments = block[HEADER_BYTES..].chunks(self.peer.frame_bytes_max).peekable();
        let (mut kind, mut flags) = (kind::HEADERS, end_stream);
        while let Some(fragment) = fragments.next() {
            if fragments.peek().is_none() {
                flags |= flag::END_HEADERS;
            }
            frame::write(kind, flags, stream, fragment, to);
            (kind, flags) = (kind::CONTINUATION, 0);
        }
    }

    /// Whether a body can go on.
    pub(super) fn can_upload(&self) -> bool {
        self.send_window > 0 && self.uploads.iter().any(|tag| self.streams.can_send(*tag))
    }

    /// Appends a frame with what the windows allow of the body whose turn it is among those that can go on.
    pub(super) fn upload<F>(
        &mut self,
        most_bytes: usize,
        read: &mut impl FnMut(BodyPart, &mut Vec<u8>) -> Result<(), F>,
        to: &mut Vec<u8>,
    ) -> Result<Option<WrittenBody>, F> {
        let turn = self.uploads.iter().position(|tag| self.streams.can_send(*tag));
        let Some(turn) = turn.filter(|_| self.send_window > 0 && most_bytes > HEADER_BYTES) else {
            return Ok(None);
        };
        self.uploads.rotate_left(turn);
        let Some(tag) = self.uploads.pop_front() else { return Ok(None) };
        let Some((stream, upload)) = self.streams.uploading(tag) else { return Ok(None) };
        let window = usize::try_from(self.send_window.min(stream.send_window.into())).unwrap_or(0);
        let allowed = window.min(self.peer.frame_bytes_max).min(most_bytes.saturating_sub(HEADER_BYTES));
        let (offset, rest) = (upload.offset, upload.body.length() - upload.offset);
        let bytes = shorter(allowed, rest);
        let is_last = bytes as u64 == rest;
        let ends_stream = upload.ends_stream;
        let flags = if is_last && ends_stream == EndsStream::Yes { flag::END_STREAM } else { 0 };
        let header = FrameHeader { length: bytes, kind: kind::DATA, flags, stream: stream.id };
        to.extend_from_slice(&header.bytes());
        match &upload.body {
            UploadBody::Kept(body) => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX);
                to.extend_from_slice(&body[start..start + bytes]);
            }
            UploadBody::Following(_) => read(BodyPart { tag, offset, bytes }, to)?,
        }
        upload.offset += bytes as u64;
        // It fits, because it is not longer than a window.
        let sent = i32::try_from(bytes).unwrap_or(i32::MAX);
        stream.send_window -= sent;
        self.send_window -= i64::from(sent);
        if is_last {
            self.streams.end_upload(tag, ends_stream);
        } else {
            self.uploads.push_back(tag);
        }
        self.note_delays(tag);
        Ok(Some(WrittenBody { tag, bytes: HEADER_BYTES + bytes }))
    }

    /// Counts the bodies that wait for a window from now on, after a part of one was sent.
    fn note_delays(&mut self, sent: Tag) {
        if self.send_window > 0 {
            self.note_delay(sent);
        } else {
            for position in 0..self.uploads.len() {
                self.note_delay(self.uploads[position]);
            }
        }
    }

    /// Counts the body of a request as one that waits for a window, if it does so for the first time.
    pub(super) fn note_delay(&mut self, tag: Tag) {
        let is_connection_full = self.send_window <= 0;
        if let Some((stream, upload)) = self.streams.uploading(tag)
            && (is_connection_full || stream.send_window <= 0)
            && !std::mem::replace(&mut upload.was_delayed, true)
        {
            self.counts.bodies_delayed += 1;
        }
    }
}
