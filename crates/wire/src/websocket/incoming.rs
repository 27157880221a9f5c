//! What a server says on a WebSocket: its messages, in however many frames they come, and what is between them.

use super::close::Close;
use super::deflate::{INFLATED_BYTES_MAX, Inflater};
use super::frame::{CONTROL_BYTES_MAX, Header, HeaderReader, Opcode};
use super::text::Text;
use crate::chunked::shorter;
use crate::error::{DeflateError, Malformed, WebSocketError};
use crate::response::Response;

/// The status that a message counts with that was answered by one: a message has none, and this is that of a right answer.
pub(super) const ANSWERED: u16 = 200;

/// Reads the frames of one WebSocket.
#[derive(Debug, Default)]
pub(super) struct Incoming {
    header: HeaderReader,
    /// The frame under way, once its header has come.
    frame: Option<Frame>,
    /// The body of the control frame under way, or of the last one.
    control: Vec<u8>,
    /// The message under way, of which the last fragment has not come.
    message: Option<Message>,
    /// Bytes of control frames since the last message.
    control_bytes: u64,
    /// Made for the first compressed message.
    inflater: Option<Box<Inflater>>,
}

/// A frame of which a part has not come.
#[derive(Debug, Clone, Copy)]
struct Frame {
    opcode: Opcode,
    is_last: bool,
    left_bytes: u64,
}

/// A message of the server.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Message {
    pub(super) body_bytes: u64,
    /// Its length when it is inflated, where it is compressed.
    pub(super) inflated_bytes: Option<u64>,
    framing_bytes: u64,
    /// What is known of a text; none of bytes.
    text: Option<Text>,
    is_begun: bool,
}

/// What has come, and concerns more than the frames.
#[derive(Debug)]
pub(super) enum Said {
    Message(Message),
    /// With the body that [`Incoming::control`] has.
    Ping,
    Close(Close),
}

impl Incoming {
    /// Makes ready for a new WebSocket.
    pub(super) fn reset(&mut self) {
        self.header.reset();
        self.frame = None;
        self.control.clear();
        self.message = None;
        self.control_bytes = 0;
        self.inflater.iter_mut().for_each(|inflater| inflater.reset());
    }

    /// Compression was agreed on.
    pub(super) fn take_compressed(&mut self) {
        self.header.takes_compressed = true;
    }

    /// Reads on, up to what concerns more than the frames, or else all of the bytes; gives how many were read. The parts of
    /// messages are handed to `take`. A message may come only where one is expected.
    #[inline]
    pub(super) fn read(
        &mut self,
        bytes: &[u8],
        is_expected: bool,
        take: &mut impl FnMut(&[u8]),
    ) -> Result<(usize, Option<Said>), Malformed> {
        let mut consumed = 0;
        loop {
            let Some(frame) = &mut self.frame else {
                let (read, header) = self.header.read(&bytes[consumed..])?;
                consumed += read;
                let Some(header) = header else { return Ok((consumed, None)) };
                self.begin_frame(&header, is_expected)?;
                continue;
            };
            let part = &bytes[consumed..][..shorter(bytes.len() - consumed, frame.left_bytes)];
            consumed += part.len();
            frame.left_bytes -= part.len() as u64;
            let Frame { opcode, is_last, left_bytes } = *frame;
            let is_whole = left_bytes == 0;
            if is_whole {
                self.frame = None;
            }
            let said = match opcode {
                Opcode::Close | Opcode::Ping | Opcode::Pong => {
                    self.control.extend_from_slice(part);
                    if is_whole { self.end_control(opcode)? } else { None }
                }
                Opcode::Continuation | Opcode::Text | Opcode::Binary => {
                    self.take_part(part, take)?;
                    if is_whole && is_last { Some(self.end_message(take)?) } else { None }
                }
            };
            if said.is_some() || !is_whole {
                return Ok((consumed, said));
            }
        }
    }

    /// Takes the header of a frame.
    #[inline]
    fn begin_frame(&mut self, header: &Header, is_expected: bool) -> Result<(), Malformed> {
        let Header { is_last, opcode, is_compressed, body_bytes, bytes } = *header;
        match (opcode, &mut self.message) {
            (Opcode::Close | Opcode::Ping | Opcode::Pong, _) => {
                self.control.clear();
                self.control.reserve(CONTROL_BYTES_MAX);
                self.control_bytes += bytes + body_bytes;
            }
            (Opcode::Continuation, None) => return Err(WebSocketError::NothingToContinue.into()),
            (Opcode::Continuation, Some(message)) => message.framing_bytes += bytes,
            (Opcode::Text | Opcode::Binary, Some(_)) => return Err(WebSocketError::Interrupted.into()),
            (Opcode::Text | Opcode::Binary, None) if !is_expected => return Err(Malformed::Unasked),
            (Opcode::Text | Opcode::Binary, None) => {
                let text = (opcode == Opcode::Text).then(Text::default);
                let inflated_bytes = is_compressed.then_some(0);
                self.message =
                    Some(Message { framing_bytes: bytes, text, inflated_bytes, ..Message::default() });
            }
        }
        self.frame = Some(Frame { opcode, is_last, left_bytes: body_bytes });
        Ok(())
    }

    /// Takes a part of the body of the message under way.
    #[inline]
    fn take_part(&mut self, part: &[u8], take: &mut impl FnMut(&[u8])) -> Result<(), Malformed> {
        let Some(message) = &mut self.message else { return Ok(()) };
        message.body_bytes += part.len() as u64;
        if message.inflated_bytes.is_some() {
            let inflater = self.inflater.get_or_insert_default();
            return Ok(inflater.read(part, &mut |inflated| message.take_inflated(inflated, take))?);
        }
        message.require_text(part)?;
        take(part);
        Ok(())
    }

    /// The last fragment of the message under way has come.
    #[inline]
    fn end_message(&mut self, take: &mut impl FnMut(&[u8])) -> Result<Said, Malformed> {
        let Some(mut message) = self.message.take() else { return Err(Malformed::Unasked) };
        if message.inflated_bytes.is_some() {
            let inflater = self.inflater.get_or_insert_default();
            inflater.end(&mut |inflated| message.take_inflated(inflated, take))?;
        }
        if message.text.is_some_and(|text| !text.is_whole()) {
            return Err(WebSocketError::Text.into());
        }
        message.framing_bytes += std::mem::take(&mut self.control_bytes);
        Ok(Said::Message(message))
    }

    /// A control frame is complete.
    fn end_control(&self, opcode: Opcode) -> Result<Option<Said>, Malformed> {
        Ok(match opcode {
            Opcode::Ping => Some(Said::Ping),
            Opcode::Close => Some(Said::Close(Close::read(&self.control)?)),
            _ => None,
        })
    }

    /// The body of the control frame that came last.
    pub(super) fn control(&self) -> &[u8] {
        &self.control
    }

    /// Says once of the message under way that it has begun.
    #[inline]
    pub(super) fn begins(&mut self) -> bool {
        self.message.as_mut().is_some_and(|message| !std::mem::replace(&mut message.is_begun, true))
    }
}

impl Message {
    /// The text of a message continues like this.
    #[inline]
    fn require_text(&mut self, part: &[u8]) -> Result<(), WebSocketError> {
        if self.text.as_mut().is_none_or(|text| text.read(part)) { Ok(()) } else { Err(WebSocketError::Text) }
    }

    /// Takes what a part of a compressed message inflates to.
    fn take_inflated(&mut self, part: &[u8], take: &mut impl FnMut(&[u8])) -> Result<(), WebSocketError> {
        let inflated_bytes = self.inflated_bytes.get_or_insert_default();
        *inflated_bytes += part.len() as u64;
        if *inflated_bytes > INFLATED_BYTES_MAX {
            return Err(DeflateError::TooLong { limit_bytes: INFLATED_BYTES_MAX }.into());
        }
        self.require_text(part)?;
        take(part);
        Ok(())
    }

    /// The message as the answer to one, around which were that many further bytes.
    #[inline]
    pub(super) fn answer(&self, more_framing_bytes: u64) -> Response {
        Response {
            status: ANSWERED,
            header_bytes: 0,
            body_bytes: self.body_bytes,
            framing_bytes: self.framing_bytes + more_framing_bytes,
            inflated_bytes: self.inflated_bytes,
            keep_alive: true,
            grpc_status: None,
        }
    }
}
