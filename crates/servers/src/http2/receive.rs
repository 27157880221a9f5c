//! What arrives: frames from any split of the bytes, and what they mean for the streams.

use loadcurve_wire::ErrorCode;
use loadcurve_wire::h2::frame::{self, Frame, FrameHeader, LARGEST_WINDOW_BYTES, PREFACE, flag, kind};

use super::answer::Answer;
use super::echo::Echo;
use super::head::Malformed;
use super::streams::{State, Stream};
use super::{Connection, HEADER_BYTES_MAX, Output, STREAMS_MAX, Service, WINDOW_BYTES, windows};

/// The payload of a DATA frame, or of an unknown one, as far as it has not come.
#[derive(Debug, Clone, Copy)]
pub(super) struct DataUnderWay {
    remaining_bytes: usize,
    /// Which request it ends, if it ends one.
    ends: Option<u32>,
    /// The stream of a call whose messages are echoed, and how much of the rest is messages.
    echoed: Option<(u32, usize)>,
}

/// A header block that comes in several frames.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockUnderWay {
    origin: BlockOrigin,
    frames: u32,
}

/// Where a header block comes from.
#[derive(Debug, Clone, Copy)]
struct BlockOrigin {
    stream: u32,
    ends_stream: bool,
    /// Whether its stream is to depend on itself.
    is_circular: bool,
}

/// More frames than a block of 16 KiB has, however small a client makes them within reason.
const CONTINUATIONS_MAX: u32 = 128;

impl Connection {
    pub(super) fn receive_frames(
        &mut self,
        bytes: &[u8],
        service: &mut impl Service,
        output: &mut Output<'_>,
    ) -> Result<usize, ErrorCode> {
        let mut consumed = self.receive_preface(bytes)?;
        while consumed < bytes.len() && !self.is_over() {
            let rest = &bytes[consumed..];
            if let Some(data) = &mut self.data {
                let taken = data.remaining_bytes.min(rest.len());
                data.remaining_bytes -= taken;
                consumed += taken;
                if let Some((stream, body_bytes)) = &mut data.echoed {
                    let (stream, of_body) = (*stream, taken.min(*body_bytes));
                    *body_bytes -= of_body;
                    self.echo(stream, &rest[..of_body], service, output);
                }
            } else if self.partial.is_empty()
                && let Ok(frame) = Frame::find(rest)?
            {
                consumed += frame.bytes();
                self.frame(&frame, service, output)?;
            } else {
                consumed += self.receive_partial(rest, service, output)?;
            }
            if let Some(DataUnderWay { remaining_bytes: 0, ends, .. }) = self.data {
                self.data = None;
                if let Some(stream) = ends {
                    self.end_request(stream, service, output);
                }
            }
            if output.most_bytes > 0 && !output.has_room() {
                return Ok(consumed);
            }
        }
        Ok(if self.is_over() { bytes.len() } else { consumed })
    }

    /// Takes a part of the messages of a call, which are echoed.
    fn echo(&mut self, id: u32, part: &[u8], service: &mut impl Service, output: &mut Output<'_>) {
        // It may have been reset meanwhile.
        let Some(echo) = self.streams.get_mut(id).and_then(|stream| stream.echo.as_mut()) else { return };
        if let Some(last) = echo.take(part, service) {
            self.end_behind(id, last, output);
            if !last.is_announced {
                self.streams.end_echoes();
            }
        }
    }

    /// Takes what a client says first; gives how many bytes of it these are.
    fn receive_preface(&mut self, bytes: &[u8]) -> Result<usize, ErrorCode> {
        let expected = &PREFACE[self.preface_bytes..];
        let length = expected.len().min(bytes.len());
        if bytes[..length] != expected[..length] {
            return Err(ErrorCode::ProtocolError);
        }
        self.preface_bytes += length;
        Ok(length)
    }

    /// Completes a frame of which earlier slices brought a part, or keeps a part; gives the bytes consumed.
    fn receive_partial(
        &mut self,
        bytes: &[u8],
        service: &mut impl Service,
        output: &mut Output<'_>,
    ) -> Result<usize, ErrorCode> {
        let mut partial = std::mem::take(&mut self.partial);
        let mut consumed = 0;
        // At most twice: for its header, and for what is needed of the rest.
        while let Err(needed_bytes) = Frame::find(&partial)? {
            let added = (needed_bytes - partial.len()).min(bytes.len() - consumed);
            partial.extend_from_slice(&bytes[consumed..consumed + added]);
            consumed += added;
            if partial.len() < needed_bytes {
                self.partial = partial;
                return Ok(consumed);
            }
        }
        if let Ok(frame) = Frame::find(&partial)? {
            self.frame(&frame, service, output)?;
        }
        partial.clear();
        self.partial = partial;
        Ok(consumed)
    }

    #[inline]
    fn frame(
        &mut self,
        frame: &Frame<'_>,
        service: &mut impl Service,
        output: &mut Output<'_>,
    ) -> Result<(), ErrorCode> {
        let FrameHeader { kind, stream, length, .. } = frame.header;
        let is_expected = match &self.block {
            Some(under_way) => kind == kind::CONTINUATION && stream == under_way.origin.stream,
            None => self.has_peer_settings || kind == kind::SETTINGS,
        };
        if !is_expected {
            return Err(ErrorCode::ProtocolError);
        }
        match kind {
            kind::HEADERS => self.headers(frame, service, output),
            kind::DATA => self.data(frame, output),
            kind::WINDOW_UPDATE => self.window_update(frame, output),
            kind::CONTINUATION => self.continuation(frame, service, output),
            kind::SETTINGS => self.settings(frame, output),
            kind::PING => ping(frame, output),
            kind::RST_STREAM => self.reset_by_client(frame),
            kind::PRIORITY => check_priority(frame),
            kind::PUSH_PROMISE => Err(ErrorCode::ProtocolError),
            kind::GOAWAY if stream != 0 => Err(ErrorCode::ProtocolError),
            _ => {
                // An unknown frame is skipped (RFC 9113 §4.1), and what a client says at its end concerns nobody.
                let remaining_bytes = length - frame.payload.len();
                self.data = Some(DataUnderWay { remaining_bytes, ends: None, echoed: None });
                Ok(())
            }
        }
    }

    #[inline]
    fn headers(
        &mut self,
        frame: &Frame<'_>,
        service: &mut impl Service,
        output: &mut Output<'_>,
    ) -> Result<(), ErrorCode> {
        let fragment = frame.fragment()?;
        let FrameHeader { stream, .. } = frame.header;
        // Clients open streams of odd numbers (RFC 9113 §5.1.1).
        if stream % 2 == 0 {
            return Err(ErrorCode::ProtocolError);
        }
        let is_circular = frame.header.has(flag::PRIORITY) && {
            let priority_at = usize::from(frame.header.has(flag::PADDED));
            names_stream(&frame.payload[priority_at..], stream)
        };
        let origin = BlockOrigin { stream, ends_stream: frame.header.has(flag::END_STREAM), is_circular };
        if frame.header.has(flag::END_HEADERS) {
            return self.block(origin, fragment, service, output);
        }
        self.block_bytes.clear();
        self.block_bytes.extend_from_slice(fragment);
        self.block = Some(BlockUnderWay { origin, frames: 0 });
        Ok(())
    }

    fn continuation(
        &mut self,
        frame: &Frame<'_>,
        service: &mut impl Service,
        output: &mut Output<'_>,
    ) -> Result<(), ErrorCode> {
        let Some(under_way) = &mut self.block else { return Err(ErrorCode::ProtocolError) };
        under_way.frames += 1;
        let block_bytes = self.block_bytes.len() + frame.payload.len();
        if under_way.frames > CONTINUATIONS_MAX || block_bytes > HEADER_BYTES_MAX {
            return Err(ErrorCode::EnhanceYourCalm);
        }
        self.block_bytes.extend_from_slice(frame.payload);
        if !frame.header.has(flag::END_HEADERS) {
            return Ok(());
        }
        let origin = under_way.origin;
        self.block = None;
        let bytes = std::mem::take(&mut self.block_bytes);
        let taken = self.block(origin, &bytes, service, output);
        self.block_bytes = bytes;
        taken
    }

    /// Takes a complete header block. It is decoded in any case: it may change the table.
    #[inline]
    fn block(
        &mut self,
        origin: BlockOrigin,
        bytes: &[u8],
        service: &mut impl Service,
        output: &mut Output<'_>,
    ) -> Result<(), ErrorCode> {
        let BlockOrigin { stream: id, ends_stream, is_circular } = origin;
        if id <= self.last_id {
            return self.trailers(origin, bytes, service, output);
        }
        let head = self.heads.read(bytes, service)?;
        self.last_id = id;
        if self.last_answered.is_some() {
            return Ok(());
        }
        let content_length = self.heads.last.content_length;
        if head == Err(Malformed) || is_circular || (ends_stream && content_length.is_some_and(|n| n > 0)) {
            self.reset(id, ErrorCode::ProtocolError, output);
        } else if self.streams.len() >= STREAMS_MAX {
            self.reset(id, ErrorCode::RefusedStream, output);
        } else if ends_stream {
            self.answer_last(id, service, output);
        } else if self.heads.last.refuses_tunnel {
            self.ignore(id);
            self.answer_last(id, service, output);
        } else {
            let answer = Answer::clone(&self.heads.last.answer);
            let receiving = State::Receiving { window: WINDOW_BYTES, remaining_bytes: content_length };
            let echoes = answer.reply.echoes;
            self.streams.push(Stream {
                id,
                answer,
                state: if echoes.is_some() { State::Echoing } else { receiving },
                send_window: self.peer.initial_window_bytes,
                echo: echoes.map(|echoes| Box::new(Echo::of(echoes))),
                events: None,
            });
        }
        Ok(())
    }

    /// Takes a header block of a stream that was opened before.
    fn trailers(
        &mut self,
        origin: BlockOrigin,
        bytes: &[u8],
        service: &mut impl Service,
        output: &mut Output<'_>,
    ) -> Result<(), ErrorCode> {
        let BlockOrigin { stream: id, ends_stream, .. } = origin;
        let trailers = self.heads.read_trailers(bytes)?;
        match self.streams.get_mut(id).map(|stream| stream.state) {
            Some(State::Receiving { .. } | State::Echoing) if trailers == Err(Malformed) || !ends_stream => {
                self.reset(id, ErrorCode::ProtocolError, output);
            }
            Some(State::Receiving { .. } | State::Echoing) => self.end_request(id, service, output),
            None if self.is_ignored(id) => {}
            _ => return Err(ErrorCode::StreamClosed),
        }
        Ok(())
    }

    /// Whether what comes on a stream that is not open is the rest of a request that nobody answers.
    fn is_ignored(&self, id: u32) -> bool {
        self.reset_ids.contains(&id) || self.last_answered.is_some_and(|last_id| id > last_id)
    }

    fn data(&mut self, frame: &Frame<'_>, output: &mut Output<'_>) -> Result<(), ErrorCode> {
        let FrameHeader { length, stream: id, .. } = frame.header;
        if id == 0 || id > self.last_id {
            return Err(ErrorCode::ProtocolError);
        }
        let padding = match frame.payload.first() {
            Some(padding) => usize::from(*padding) + 1,
            None if frame.header.has(flag::PADDED) => return Err(ErrorCode::FrameSizeError),
            None => 0,
        };
        let body_bytes = length.checked_sub(padding).ok_or(ErrorCode::ProtocolError)?;
        // The whole payload counts, padding included (RFC 9113 §6.9.1).
        windows::take(&mut self.receive_window, length)?;
        windows::refill(&mut self.receive_window, 0, output);
        let remaining_bytes = length - frame.payload.len();
        let ends_stream = frame.header.has(flag::END_STREAM);
        let stream = self.streams.get_mut(id);
        let echoed = stream.as_ref().filter(|stream| stream.echo.is_some()).map(|_| (id, body_bytes));
        self.data = Some(DataUnderWay { remaining_bytes, ends: ends_stream.then_some(id), echoed });
        let fault = match stream.map(|Stream { state, echo, .. }| (state, echo)) {
            Some((State::Receiving { window, remaining_bytes }, _)) => {
                windows::take(window, length)?;
                if !ends_stream {
                    windows::refill(window, id, output);
                }
                take_stated(remaining_bytes, body_bytes).err()
            }
            Some((State::Echoing, Some(echo))) => {
                // What is no padding is given back when it has been echoed.
                windows::take(&mut echo.window, length)?;
                echo.is_used(padding);
                None
            }
            _ => Some(ErrorCode::StreamClosed),
        };
        if let Some(code) = fault
            && !self.is_ignored(id)
        {
            self.reset(id, code, output);
        }
        Ok(())
    }

    /// The last of a request has come.
    fn end_request(&mut self, id: u32, service: &mut impl Service, output: &mut Output<'_>) {
        // It may have been reset meanwhile.
        let Some(stream) = self.streams.get_mut(id) else { return };
        if let Some(echo) = &mut stream.echo {
            echo.end_of_client();
        }
        let State::Receiving { remaining_bytes, .. } = stream.state else { return };
        if remaining_bytes.is_some_and(|missing| missing > 0) {
            self.reset(id, ErrorCode::ProtocolError, output);
        } else {
            self.decide(id, service.fate(), output);
        }
    }

    fn reset_by_client(&mut self, frame: &Frame<'_>) -> Result<(), ErrorCode> {
        payload_of::<4>(frame)?;
        let FrameHeader { stream, .. } = frame.header;
        if stream == 0 || stream > self.last_id {
            return Err(ErrorCode::ProtocolError);
        }
        self.streams.remove(stream);
        Ok(())
    }

    fn settings(&mut self, frame: &Frame<'_>, output: &mut Output<'_>) -> Result<(), ErrorCode> {
        let FrameHeader { stream, length, .. } = frame.header;
        if stream != 0 {
            return Err(ErrorCode::ProtocolError);
        }
        let is_acknowledgement = frame.header.has(flag::ACK);
        if length % 6 != 0 || (is_acknowledgement && length != 0) {
            return Err(ErrorCode::FrameSizeError);
        }
        if is_acknowledgement {
            return if self.has_peer_settings { Ok(()) } else { Err(ErrorCode::ProtocolError) };
        }
        let window_before = self.peer.initial_window_bytes;
        self.peer.take(frame.payload)?;
        let change = self.peer.initial_window_bytes - window_before;
        for stream in self.streams.iter_mut() {
            stream.send_window += change;
            if stream.send_window > LARGEST_WINDOW_BYTES {
                return Err(ErrorCode::FlowControlError);
            }
        }
        self.has_peer_settings = true;
        frame::write(kind::SETTINGS, flag::ACK, 0, &[], output.bytes);
        Ok(())
    }

    fn window_update(&mut self, frame: &Frame<'_>, output: &mut Output<'_>) -> Result<(), ErrorCode> {
        let FrameHeader { stream: id, .. } = frame.header;
        let increment = i64::from(u32::from_be_bytes(*payload_of(frame)?) & 0x7fff_ffff);
        if id == 0 {
            return windows::enlarge(&mut self.send_window, increment);
        }
        if id > self.last_id {
            return Err(ErrorCode::ProtocolError);
        }
        let Some(stream) = self.streams.get_mut(id) else { return Ok(()) };
        if let Err(code) = windows::enlarge(&mut stream.send_window, increment) {
            self.reset(id, code, output);
        }
        Ok(())
    }
}

fn ping(frame: &Frame<'_>, output: &mut Output<'_>) -> Result<(), ErrorCode> {
    let payload = payload_of::<8>(frame)?;
    if frame.header.stream != 0 {
        return Err(ErrorCode::ProtocolError);
    }
    if !frame.header.has(flag::ACK) {
        frame::write(kind::PING, flag::ACK, 0, payload, output.bytes);
    }
    Ok(())
}

/// Priorities are read and ignored (RFC 9113 §5.3.2).
fn check_priority(frame: &Frame<'_>) -> Result<(), ErrorCode> {
    let payload = payload_of::<5>(frame)?;
    let FrameHeader { stream, .. } = frame.header;
    if stream == 0 || names_stream(payload, stream) { Err(ErrorCode::ProtocolError) } else { Ok(()) }
}

/// Whether a priority begins with this stream.
fn names_stream(priority: &[u8], stream: u32) -> bool {
    priority.first_chunk().is_some_and(|bytes| u32::from_be_bytes(*bytes) & 0x7fff_ffff == stream)
}

/// The payload of a frame of fixed length.
fn payload_of<'a, const BYTES: usize>(frame: &Frame<'a>) -> Result<&'a [u8; BYTES], ErrorCode> {
    frame.payload.try_into().map_err(|_| ErrorCode::FrameSizeError)
}

/// Takes data from what the length of the content says.
fn take_stated(remaining_bytes: &mut Option<u64>, body_bytes: usize) -> Result<(), ErrorCode> {
    let Some(remaining_bytes) = remaining_bytes else { return Ok(()) };
    *remaining_bytes = remaining_bytes.checked_sub(body_bytes as u64).ok_or(ErrorCode::ProtocolError)?;
    Ok(())
}
