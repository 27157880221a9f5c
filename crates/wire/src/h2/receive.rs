//! What arrives: frames from any split of the bytes, and what they mean for the streams.

use super::data::DataUnderWay;
use super::frame::{self, Frame, FrameHeader, HEADER_BYTES, LARGEST_WINDOW_BYTES, flag, kind};
use super::streams::{LAST_ID, Named};
use super::{Http2, Stops};
use crate::answer::{self, Block};
use crate::error::{AnswerError, Http2Error, Malformed, Section};
use crate::exchange::{Event, Received, Refusal, Tag};
use crate::grpc_status::GrpcStatus;
use crate::request::RequestKind;
use crate::response::Response;

/// A header block that came in several frames.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockUnderWay {
    block: BlockOrigin,
    frames: u32,
}

/// Where a header block comes from.
#[derive(Debug, Clone, Copy)]
struct BlockOrigin {
    stream: u32,
    ends_stream: bool,
    /// Bytes of its frames beside the block.
    framing_bytes: usize,
}

/// More frames than a block of 64 KiB has, however small a server makes them within reason.
const CONTINUATIONS_MAX: u32 = 128;
/// More frames in a row that bring nothing, or have to be answered and bring nothing, are nothing but work.
const UNPRODUCTIVE_MAX: u32 = 10_000;
/// What answers a server is kept while that does not read, up to here.
const OUTPUT_MAX_BYTES: usize = 256 * 1024;

impl Http2 {
    pub(super) fn receive_frames(
        &mut self,
        bytes: &[u8],
        take_body: &mut impl FnMut(Tag, u16, &[u8]),
    ) -> Result<Received, Malformed> {
        if self.is_moving {
            return Ok(self.next_moved(bytes.len().min(1)));
        }
        let mut consumed = 0;
        loop {
            let mut event = None;
            let mut stops = false;
            if let Some(data) = &mut self.data {
                let (taken, body) = data.take(&bytes[consumed..]);
                if let Some((tag, id)) = data.stream
                    && let Some(stream) = self.streams.get_mut(tag)
                    && stream.id == id
                    && let Some(status) = stream.status
                {
                    take_body(tag, status.get(), body);
                }
                consumed += taken;
                if data.remaining_bytes == 0 {
                    event = self.data_ended();
                    stops = self.stops == Stops::BehindData;
                }
            } else if self.partial.is_empty()
                && let Ok(frame) = self.find(&bytes[consumed..])?
            {
                consumed += frame.bytes();
                event = self.frame(&frame, &bytes[consumed..])?;
            } else if consumed < bytes.len() {
                consumed += self.receive_partial(&bytes[consumed..], &mut event)?;
            }
            if self.is_moving {
                // The last byte of the frame is given again, until the last request has moved.
                let Received { consumed: last, event } = self.next_moved(1);
                return Ok(Received { consumed: consumed - 1 + last, event });
            }
            let is_waiting = consumed == bytes.len() && self.data.is_none_or(|data| data.remaining_bytes > 0);
            if event.is_some() || is_waiting || stops {
                return Ok(Received { consumed, event });
            }
        }
    }

    /// The frame that the bytes begin with, or how many of them it needs.
    #[inline]
    fn find<'a>(&self, bytes: &'a [u8]) -> Result<Result<Frame<'a>, usize>, Http2Error> {
        if !self.has_peer_settings {
            check_first(bytes)?;
        }
        Frame::find(bytes)
    }

    /// Completes a frame of which earlier slices brought a part, or keeps a part; gives the bytes consumed.
    fn receive_partial(&mut self, bytes: &[u8], event: &mut Option<Event>) -> Result<usize, Malformed> {
        let mut partial = std::mem::take(&mut self.partial);
        let mut consumed = 0;
        // At most twice: for its header, and for what is needed of the rest.
        while let Err(needed_bytes) = self.find(&partial)? {
            let added = (needed_bytes - partial.len()).min(bytes.len() - consumed);
            partial.extend_from_slice(&bytes[consumed..consumed + added]);
            consumed += added;
            if partial.len() < needed_bytes {
                self.partial = partial;
                return Ok(consumed);
            }
        }
        if let Ok(frame) = Frame::find(&partial)? {
            *event = self.frame(&frame, &bytes[consumed..])?;
        }
        partial.clear();
        self.partial = partial;
        Ok(consumed)
    }

    /// Takes a frame; `following` is what comes after it.
    #[inline]
    fn frame(&mut self, frame: &Frame<'_>, following: &[u8]) -> Result<Option<Event>, Malformed> {
        let FrameHeader { kind, stream, length, .. } = frame.header;
        if let Some(BlockUnderWay { block, .. }) = &self.block
            && (kind != kind::CONTINUATION || stream != block.stream)
        {
            return Err(Http2Error::Continuation.into());
        }
        match kind {
            kind::DATA => return self.data(frame),
            kind::HEADERS => return self.headers(frame, following),
            kind::CONTINUATION => return self.continuation(frame, following),
            _ => self.framing_bytes += (HEADER_BYTES + length) as u64,
        }
        match kind {
            kind::PRIORITY => check_priority(frame).map(|()| None),
            kind::RST_STREAM => self.reset_stream(frame),
            kind::SETTINGS => self.settings(frame).map(|()| None),
            kind::PUSH_PROMISE => Err(Http2Error::Push.into()),
            kind::PING => self.ping(frame).map(|()| None),
            kind::GOAWAY => self.go_away(frame).map(|()| None),
            kind::WINDOW_UPDATE => self.window_update(frame),
            _ => {
                // An unknown frame is skipped (RFC 9113 §4.1).
                self.skip(length);
                Ok(None)
            }
        }
    }

    /// Skips what follows of a frame, which is nobody's.
    pub(super) fn skip(&mut self, bytes: usize) {
        let remaining_bytes = bytes as u64;
        self.data =
            Some(DataUnderWay { remaining_bytes, padding_bytes: 0, stream: None, ends_stream: false });
    }

    /// The tag of the request that a frame of an answer belongs to; none of one that was given up.
    #[inline]
    pub(super) fn tag_of(&self, header: FrameHeader) -> Result<Option<Tag>, Http2Error> {
        let FrameHeader { kind, stream, .. } = header;
        match self.streams.named(stream) {
            Named::Open(tag) => Ok(Some(tag)),
            Named::GivenUp => Ok(None),
            Named::Ended => Err(Http2Error::StreamClosed { stream }),
            Named::Idle => Err(Http2Error::FrameStream { kind, stream }),
        }
    }

    fn headers(&mut self, frame: &Frame<'_>, following: &[u8]) -> Result<Option<Event>, Malformed> {
        let fragment = frame.fragment()?;
        let FrameHeader { kind, stream, .. } = frame.header;
        if !self.streams.was_opened(stream) {
            return Err(Http2Error::FrameStream { kind, stream }.into());
        }
        let block = BlockOrigin {
            stream,
            ends_stream: frame.header.has(flag::END_STREAM),
            framing_bytes: frame.bytes() - fragment.len(),
        };
        if frame.header.has(flag::END_HEADERS) {
            return self.block(block, fragment, following);
        }
        self.block_bytes.clear();
        self.block_bytes.extend_from_slice(fragment);
        self.block = Some(BlockUnderWay { block, frames: 0 });
        Ok(None)
    }

    fn continuation(&mut self, frame: &Frame<'_>, following: &[u8]) -> Result<Option<Event>, Malformed> {
        let Some(under_way) = &mut self.block else { return Err(Http2Error::Continuation.into()) };
        under_way.block.framing_bytes += HEADER_BYTES;
        under_way.frames += 1;
        if under_way.frames > CONTINUATIONS_MAX {
            return Err(Http2Error::ContinuationFlood.into());
        }
        let limit_bytes = self.settings.header_bytes;
        if self.block_bytes.len() + frame.payload.len() > limit_bytes {
            return Err(Malformed::TooLarge { section: Section::HeaderBlock, limit_bytes });
        }
        self.block_bytes.extend_from_slice(frame.payload);
        if !frame.header.has(flag::END_HEADERS) {
            return Ok(None);
        }
        let block = under_way.block;
        self.block = None;
        let bytes = std::mem::take(&mut self.block_bytes);
        let event = self.block(block, &bytes, following);
        self.block_bytes = bytes;
        event
    }

    /// Takes a complete header block. It is decoded in any case: it may change the table.
    fn block(
        &mut self,
        origin: BlockOrigin,
        bytes: &[u8],
        following: &[u8],
    ) -> Result<Option<Event>, Malformed> {
        let head = self.heads.read(bytes)?;
        let BlockOrigin { stream: id, ends_stream, framing_bytes } = origin;
        let header = FrameHeader { length: 0, kind: kind::HEADERS, flags: 0, stream: id };
        let Some(tag) = self.tag_of(header)? else {
            self.framing_bytes += (framing_bytes + bytes.len()) as u64;
            return Ok(None);
        };
        if matches!(head.status, Some(100..200)) {
            self.count_unproductive()?;
        } else {
            self.unproductive_frames = 0;
        }
        self.run.header();
        let Some(stream) = self.streams.get_mut(tag) else { return Ok(None) };
        stream.framing_bytes += framing_bytes as u64;
        match head.block(stream.status.is_some()) {
            Err(problem) => return Ok(Some(self.refuse(tag, problem))),
            Ok(Block::Trailers) if !ends_stream => {
                return Ok(Some(self.refuse(tag, AnswerError::Trailers.into())));
            }
            Ok(Block::Interim) if ends_stream => {
                return Ok(Some(self.refuse(tag, AnswerError::NoHeader.into())));
            }
            Ok(Block::Final(status)) => {
                stream.status = Some(status);
                stream.content_length = head.content_length;
                stream.grpc_coding = head.grpc_coding;
                // No limit of a block comes near to that.
                stream.header_bytes = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
                if self.tunnels.are_open {
                    self.tunnels.keep_choice(tag, self.heads.choice());
                }
            }
            Ok(Block::Trailers | Block::Interim) => stream.framing_bytes += bytes.len() as u64,
        }
        if ends_stream {
            return Ok(self.answered(tag, head.grpc_status));
        }
        // What comes on a tunnel cannot be read before it is known to be open.
        let is_said = self.tunnels.are_open || !ends_directly(following, id);
        Ok(is_said.then_some(Event::Begun(tag)))
    }

    /// Ends a stream whose answer is complete; how a call of gRPC has ended is said in its last header block.
    #[inline]
    pub(super) fn answered(&mut self, tag: Tag, grpc_status: Option<GrpcStatus>) -> Option<Event> {
        let stream = self.streams.get_mut(tag)?;
        self.counts.answers_behind_long += u64::from(self.run.has_delayed(stream));
        let received_bytes = stream.body_bytes;
        let is_head = stream.kind == RequestKind::Head;
        if let Err(problem) =
            answer::check_length(stream.content_length, received_bytes, is_head, stream.status)
        {
            return Some(self.refuse(tag, problem.into()));
        }
        self.last_coding = stream.grpc_coding;
        let response = Response {
            status: stream.status?.get(),
            header_bytes: stream.header_bytes.into(),
            body_bytes: received_bytes,
            framing_bytes: stream.framing_bytes + std::mem::take(&mut self.framing_bytes),
            inflated_bytes: None,
            keep_alive: self.last_answered.is_none(),
            grpc_status,
        };
        if stream.is_uploading {
            self.end_unfinished(tag);
        } else {
            self.streams.end(tag);
        }
        Some(Event::Answered(tag, response))
    }

    /// Ends a stream whose answer is none; the connection continues.
    pub(super) fn refuse(&mut self, tag: Tag, problem: Malformed) -> Event {
        self.give_up(tag, problem.code());
        Event::Refused(tag, Refusal::Malformed(problem))
    }

    fn settings(&mut self, frame: &Frame<'_>) -> Result<(), Malformed> {
        let FrameHeader { kind, stream, length: bytes, .. } = frame.header;
        if stream != 0 {
            return Err(Http2Error::FrameStream { kind, stream }.into());
        }
        let is_acknowledgement = frame.header.has(flag::ACK);
        if bytes % 6 != 0 || (is_acknowledgement && bytes != 0) {
            return Err(Http2Error::FrameLength { kind, bytes }.into());
        }
        if is_acknowledgement {
            return Ok(());
        }
        self.count_unproductive()?;
        let window_before = self.peer.initial_window_bytes;
        self.peer.take(frame.payload)?;
        self.encoder.limit_table(self.peer.header_table_bytes);
        self.count_streams_allowed();
        let change = self.peer.initial_window_bytes - window_before;
        if change != 0 {
            for stream in self.streams.iter_mut() {
                stream.send_window = changed(stream.send_window, change)?;
            }
        }
        if !self.has_peer_settings {
            // The handshake is no answer's.
            self.framing_bytes = 0;
            self.has_peer_settings = true;
        }
        frame::write(kind::SETTINGS, flag::ACK, 0, &[], &mut self.output);
        Ok(())
    }

    fn ping(&mut self, frame: &Frame<'_>) -> Result<(), Malformed> {
        let FrameHeader { kind, stream, .. } = frame.header;
        let payload = payload_of::<8>(frame)?;
        if stream != 0 {
            return Err(Http2Error::FrameStream { kind, stream }.into());
        }
        if !frame.header.has(flag::ACK) {
            self.count_unproductive()?;
            frame::write(kind::PING, flag::ACK, 0, payload, &mut self.output);
        }
        Ok(())
    }

    /// Counts a frame that brings nothing of an answer.
    pub(super) fn count_unproductive(&mut self) -> Result<(), Http2Error> {
        self.unproductive_frames += 1;
        let is_flood = self.unproductive_frames > UNPRODUCTIVE_MAX || self.output.len() > OUTPUT_MAX_BYTES;
        if is_flood { Err(Http2Error::Flood) } else { Ok(()) }
    }

    fn window_update(&mut self, frame: &Frame<'_>) -> Result<Option<Event>, Malformed> {
        let FrameHeader { kind, stream: id, .. } = frame.header;
        let increment = i64::from(u32::from_be_bytes(*payload_of(frame)?) & LAST_ID);
        if id == 0 {
            self.send_window += increment;
            return match increment {
                0 => Err(Http2Error::WindowIncrement.into()),
                _ if self.send_window > LARGEST_WINDOW_BYTES => Err(Http2Error::WindowOverflow.into()),
                _ => Ok(None),
            };
        }
        let tag = match self.streams.named(id) {
            Named::Open(tag) => tag,
            Named::GivenUp | Named::Ended => return Ok(None),
            Named::Idle => return Err(Http2Error::FrameStream { kind, stream: id }.into()),
        };
        let Some(stream) = self.streams.get_mut(tag) else { return Ok(None) };
        let problem = match changed(stream.send_window, increment) {
            _ if increment == 0 => Http2Error::WindowIncrement,
            Err(overflow) => overflow,
            Ok(window) => {
                stream.send_window = window;
                return Ok(None);
            }
        };
        Ok(Some(self.refuse(tag, problem.into())))
    }
}

/// Priorities are read and ignored (RFC 9113 §5.3.2).
fn check_priority(frame: &Frame<'_>) -> Result<(), Malformed> {
    let FrameHeader { kind, stream, .. } = frame.header;
    payload_of::<5>(frame)?;
    if stream == 0 { Err(Http2Error::FrameStream { kind, stream }.into()) } else { Ok(()) }
}

/// The first frame is the peer's SETTINGS, and no acknowledgement. Whatever else a server says is known by its first bytes.
fn check_first(bytes: &[u8]) -> Result<(), Http2Error> {
    const HTTP1: &[u8] = b"HTTP/";
    let compared = bytes.len().min(HTTP1.len());
    if compared > 0 && bytes[..compared] == HTTP1[..compared] {
        return if compared == HTTP1.len() { Err(Http2Error::Http1) } else { Ok(()) };
    }
    let is_settings = match *bytes {
        [_, _, _, kind, flags, ..] => kind == kind::SETTINGS && flags & flag::ACK == 0,
        _ => true,
    };
    if is_settings { Ok(()) } else { Err(Http2Error::NoSettings) }
}

/// Whether the answer of a stream ends with the next frame, and all of that is there.
#[inline]
fn ends_directly(following: &[u8], stream: u32) -> bool {
    following.first_chunk().map(FrameHeader::parse).is_some_and(|next| {
        next.kind == kind::DATA
            && next.stream == stream
            && next.has(flag::END_STREAM)
            && following.len() >= HEADER_BYTES + next.length
    })
}

/// The payload of a frame of fixed length.
pub(super) fn payload_of<'a, const BYTES: usize>(frame: &Frame<'a>) -> Result<&'a [u8; BYTES], Http2Error> {
    let FrameHeader { kind, length: bytes, .. } = frame.header;
    frame.payload.try_into().map_err(|_| Http2Error::FrameLength { kind, bytes })
}

/// A window of the peer's that it has changed.
fn changed(window: i32, change: i64) -> Result<i32, Http2Error> {
    // It cannot go below what the largest one leaves when all of it is used and then taken back.
    i32::try_from(i64::from(window) + change).map_err(|_| Http2Error::WindowOverflow)
}
