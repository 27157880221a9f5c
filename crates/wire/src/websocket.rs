//! WebSocket on one connection (RFC 6455), as a client.
//!
//! A connection begins with a request of HTTP/1.1 for an upgrade, which is its handshake: one for all connections of a load,
//! but for its key. Then each message of the client is a request, and the next message of the server is its answer: answers
//! are matched in order. So a template is a message, and what else its request has, the target and the fields, is that of the
//! handshake; of a list of requests the first one gives it, and the body of each is a message.
//!
//! In a *fan-out* ([`FanOutWebSocket`]) no message of the server is an answer: what one client publishes, a server sends to any
//! number of others. Each message carries a [`Marker`], by which whoever receives it knows which one it is.
//!
//! Messages of the server are counted and not kept, in however many fragments they come; pings are answered; a text is UTF-8. A message that no
//! message of the client has asked for cannot be distinguished from an answer, so it is refused. What a server can make the exchange
//! hold is bounded: the head of its answer to the upgrade, a control frame, and what waits to be sent to it
//! ([`PONGS_BYTES_MAX`]).

mod accept;
mod close;
mod frame;
mod handshake;
mod marker;
mod random;
mod template;
mod text;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::chunked::shorter;
use crate::error::{Malformed, WebSocketError};
use crate::exchange::{
    BodyPart, Event, Exchange, HttpExchange, Readiness, Received, Refusal, Stream, Tag, WrittenBody,
};
use crate::request::{InvalidRequest, Request};
use crate::response::Response;

use close::Close;
use frame::{Header, HeaderReader, Opcode, write_control, write_header};
use handshake::{Progress, Upgrading};
use random::Random;

pub use accept::accept_of;
pub use frame::{CONTROL_BYTES_MAX, mask};
pub use handshake::Handshake;
pub use marker::{MARKER_BYTES, Marker, MarkerReader};
pub use template::WebSocketTemplate;
pub use text::Text;

/// What waits to be sent is no more than this: of more pings than it has room for, the last ones are answered (RFC 6455 §5.5.3).
pub const PONGS_BYTES_MAX: usize = 16 * 1024;

/// The status that a message counts with that was answered by one: a message has none, and this is that of a right answer.
const ANSWERED: u16 = 200;

/// What the messages of a client are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MessageKind {
    /// Text of UTF-8; whoever gives it knows that it is.
    #[default]
    Text,
    /// Bytes.
    Binary,
}

/// What all exchanges of a load share.
#[derive(Debug, Clone)]
pub struct WebSocketSettings {
    handshake: Arc<Handshake>,
    kind: MessageKind,
    /// The seed of the next exchange's keys.
    seed: Arc<AtomicU64>,
}

impl WebSocketSettings {
    /// With this request for the upgrade, and keys and masks of this seed.
    #[must_use]
    pub fn new(handshake: Handshake, kind: MessageKind, seed: u64) -> Self {
        Self { handshake: Arc::new(handshake), kind, seed: Arc::new(AtomicU64::new(seed)) }
    }
}

/// One connection's end of WebSocket in a fan-out, of a publisher or of a subscriber: every message of the server is reported
/// as an answer under the tag 0, whatever was sent.
pub type FanOutWebSocket = WebSocket<true>;

/// One connection's end of WebSocket; in a fan-out, that of [`FanOutWebSocket`].
#[derive(Debug)]
pub struct WebSocket<const FANS_OUT: bool = false> {
    settings: WebSocketSettings,
    random: Random,
    /// The answer to the upgrade, until that has come; and afterwards, where it was refused.
    upgrading: Option<Upgrading>,
    /// The messages under way, the oldest first.
    awaited: VecDeque<Tag>,
    /// The message that is being written, where it is read meanwhile.
    upload: Option<Upload>,
    header: HeaderReader,
    /// The frame under way, once its header has come.
    frame: Option<Frame>,
    /// The body of the control frame under way.
    control: Vec<u8>,
    /// The message under way, of which the last fragment has not come.
    message: Option<Message>,
    /// Bytes of control frames since the last message.
    control_bytes: u64,
    /// How the peer has closed the connection.
    closed: Option<Close>,
    is_over: bool,
    refused: Option<Malformed>,
    /// What the server said when it refused the upgrade, or closed the connection.
    example: Option<String>,
    /// What the protocol itself has to send.
    output: Vec<u8>,
}

/// A message of which a part is not written.
#[derive(Debug, Clone, Copy)]
struct Upload {
    tag: Tag,
    key: [u8; 4],
    /// What was written of the message before.
    sent_bytes: u64,
    offset: u64,
    length: u64,
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
struct Message {
    body_bytes: u64,
    framing_bytes: u64,
    /// What is known of a text; none of bytes.
    text: Option<Text>,
    is_begun: bool,
}

impl<const FANS_OUT: bool> Exchange for WebSocket<FANS_OUT> {
    const FANS_OUT: bool = FANS_OUT;

    type Template = WebSocketTemplate;
    type Carrier = Stream;
    type Answer = Response;
    type Settings = WebSocketSettings;

    fn new(most: usize, settings: &WebSocketSettings) -> Self {
        let seed = settings.seed.fetch_add(random::STEP, Ordering::Relaxed);
        Self {
            settings: settings.clone(),
            random: Random::new(seed),
            upgrading: None,
            awaited: VecDeque::with_capacity(most),
            upload: None,
            header: HeaderReader::default(),
            frame: None,
            control: Vec::with_capacity(CONTROL_BYTES_MAX),
            message: None,
            control_bytes: 0,
            closed: None,
            is_over: true,
            refused: None,
            example: None,
            output: Vec::new(),
        }
    }

    fn open(&mut self) {
        self.awaited.clear();
        self.upload = None;
        self.header.reset();
        self.frame = None;
        self.control.clear();
        self.message = None;
        self.control_bytes = 0;
        self.closed = None;
        self.is_over = false;
        self.refused = None;
        self.example = None;
        self.output.clear();
        let key = accept::key_of(self.random.nonce());
        self.settings.handshake.write(&key, &mut self.output);
        self.upgrading = Some(Upgrading::to(&key));
    }

    fn readiness(&self) -> Readiness {
        if self.is_over {
            Readiness::Closed
        } else if self.upgrading.is_some() {
            Readiness::Handshaking
        } else if self.closed.is_none() {
            Readiness::Ready
        } else if self.awaited.is_empty() {
            Readiness::Closed
        } else {
            Readiness::Busy
        }
    }

    fn complaint(&self) -> Option<Cow<'_, str>> {
        let refused_with = self.upgrading.as_ref().and_then(Upgrading::refused_with);
        let unfinished = refused_with.map(|status| WebSocketError::Refused { status }.into());
        let refused = self.refused.or(unfinished).map(|refused: Malformed| refused.to_string());
        refused.or_else(|| self.closed.as_ref().map(Close::in_words)).map(Cow::Owned)
    }

    fn example(&self) -> Option<&str> {
        self.example.as_deref()
    }

    /// In the middle of a message there is no place for anything else.
    fn has_output(&self) -> bool {
        !self.output.is_empty() && self.upload.is_none()
    }

    fn write_output(&mut self, to: &mut Vec<u8>) {
        if self.upload.is_none() {
            to.append(&mut self.output);
        }
    }

    /// What the template of a fan-out leaves open is the marker.
    #[inline]
    fn begin(&mut self, tag: Tag, template: &WebSocketTemplate, open: Option<&[u8]>, to: &mut Vec<u8>) {
        let opcode = match self.settings.kind {
            MessageKind::Text => Opcode::Text,
            MessageKind::Binary => Opcode::Binary,
        };
        let key = self.random.mask();
        let marker = open.filter(|_| FANS_OUT).unwrap_or_default();
        if !FANS_OUT {
            self.awaited.push_back(tag);
        }
        write_header(opcode, template.body_bytes() + marker.len() as u64, key, to);
        let begin = to.len();
        let (before, behind) = template.kept.split_at(if FANS_OUT { template.marker_at } else { 0 });
        to.extend_from_slice(before);
        to.extend_from_slice(marker);
        to.extend_from_slice(behind);
        let sent_bytes = (to.len() - begin) as u64;
        mask(&mut to[begin..], key, 0);
        if template.following_bytes > 0 {
            self.upload = Some(Upload { tag, key, sent_bytes, offset: 0, length: template.following_bytes });
        }
    }

    fn holds_requests_back(&self) -> bool {
        self.upload.is_some()
    }

    fn can_write_body(&self) -> bool {
        self.upload.is_some()
    }

    fn is_writing_body(&self, tag: Tag) -> bool {
        self.upload.is_some_and(|upload| upload.tag == tag)
    }

    fn write_body<F>(
        &mut self,
        most_bytes: usize,
        read: &mut impl FnMut(BodyPart, &mut Vec<u8>) -> Result<(), F>,
        to: &mut Vec<u8>,
    ) -> Result<Option<WrittenBody>, F> {
        let Some(upload) = &mut self.upload else { return Ok(None) };
        let Upload { tag, key, sent_bytes, offset, length } = *upload;
        let bytes = shorter(most_bytes.max(1), length - offset);
        let begin = to.len();
        read(BodyPart { tag, offset, bytes }, to)?;
        mask(&mut to[begin..], key, sent_bytes + offset);
        upload.offset += bytes as u64;
        if upload.offset == length {
            self.upload = None;
            // What had to wait for the end of the message goes right behind it.
            to.append(&mut self.output);
        }
        Ok(Some(WrittenBody { tag, bytes }))
    }

    fn receive_with(
        &mut self,
        bytes: &[u8],
        take_body: &mut impl FnMut(Tag, u16, &[u8]),
    ) -> Result<Received, Malformed> {
        let received = self.read(bytes, take_body);
        if let Err(fault) = received {
            self.fail(fault);
        }
        received
    }

    fn has_input(&self) -> bool {
        self.closed.is_some() && !self.awaited.is_empty()
    }

    fn end_of_input(&mut self) -> Option<Event> {
        if let Some(upgrading) = &self.upgrading {
            self.example = upgrading.reason();
        }
        self.is_over = true;
        None
    }

    /// Says that the client needs the connection no more.
    fn end(&mut self, to: &mut Vec<u8>) {
        if self.readiness() == Readiness::Ready && self.upload.is_none() {
            let key = self.random.mask();
            write_control(Opcode::Close, &close::NORMAL.to_be_bytes(), key, to);
        }
    }

    /// The answers come in order, so the next ones cannot be distinguished from one that nobody waits for; in a fan-out there are
    /// none.
    fn cancel(&mut self, _tag: Tag) -> bool {
        self.is_over |= !FANS_OUT;
        FANS_OUT
    }
}

impl<const FANS_OUT: bool> HttpExchange for WebSocket<FANS_OUT> {
    fn template(request: &Request<'_>) -> Result<WebSocketTemplate, InvalidRequest> {
        Ok(WebSocketTemplate::new(request, FANS_OUT))
    }

    /// A WebSocket has no events.
    fn reopen(
        &mut self,
        tag: Tag,
        template: &WebSocketTemplate,
        target: Option<&[u8]>,
        _: &[u8],
        to: &mut Vec<u8>,
    ) {
        self.begin(tag, template, target, to);
    }
}

impl<const FANS_OUT: bool> WebSocket<FANS_OUT> {
    /// Reads up to the next event.
    fn read(
        &mut self,
        bytes: &[u8],
        take_body: &mut impl FnMut(Tag, u16, &[u8]),
    ) -> Result<Received, Malformed> {
        let mut consumed = 0;
        if let Some(upgrading) = &mut self.upgrading {
            match upgrading.receive(&self.settings.handshake, bytes)? {
                Progress::UnderWay => return Ok(Received { consumed: bytes.len(), event: None }),
                Progress::Upgraded { consumed: of_head } => consumed = of_head,
            }
            self.upgrading = None;
        }
        while self.closed.is_none() {
            let Some(frame) = &mut self.frame else {
                let (read, header) = self.header.read(&bytes[consumed..])?;
                consumed += read;
                let Some(header) = header else { break };
                self.begin_frame(&header)?;
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
            match opcode {
                Opcode::Close | Opcode::Ping | Opcode::Pong => {
                    self.control.extend_from_slice(part);
                    if is_whole {
                        self.end_control(opcode)?;
                    }
                }
                Opcode::Continuation | Opcode::Text | Opcode::Binary => {
                    self.take_part(part, take_body)?;
                    if is_whole && is_last {
                        let event = Some(self.end_message()?);
                        return Ok(Received { consumed, event });
                    }
                }
            }
            if !is_whole {
                break;
            }
        }
        if self.closed.is_some() {
            // What comes behind a close frame is nothing (RFC 6455 §5.5.1).
            return Ok(Received { consumed: bytes.len(), event: self.refuse_next() });
        }
        Ok(Received { consumed, event: self.begun() })
    }

    /// Takes the header of a frame.
    #[inline]
    fn begin_frame(&mut self, header: &Header) -> Result<(), Malformed> {
        let Header { is_last, opcode, body_bytes, bytes } = *header;
        match (opcode, &mut self.message) {
            (Opcode::Close | Opcode::Ping | Opcode::Pong, _) => self.control_bytes += bytes + body_bytes,
            (Opcode::Continuation, None) => return Err(WebSocketError::NothingToContinue.into()),
            (Opcode::Continuation, Some(message)) => message.framing_bytes += bytes,
            (Opcode::Text | Opcode::Binary, Some(_)) => return Err(WebSocketError::Interrupted.into()),
            (Opcode::Text | Opcode::Binary, None) if !FANS_OUT && self.awaited.is_empty() => {
                return Err(Malformed::Unasked);
            }
            (Opcode::Text | Opcode::Binary, None) => {
                let text = (opcode == Opcode::Text).then(Text::default);
                self.message = Some(Message { framing_bytes: bytes, text, ..Message::default() });
            }
        }
        self.frame = Some(Frame { opcode, is_last, left_bytes: body_bytes });
        Ok(())
    }

    /// Takes a part of the body of the message under way.
    #[inline]
    fn take_part(
        &mut self,
        part: &[u8],
        take_body: &mut impl FnMut(Tag, u16, &[u8]),
    ) -> Result<(), Malformed> {
        let tag = if FANS_OUT { Some(&0) } else { self.awaited.front() };
        let (Some(message), Some(tag)) = (&mut self.message, tag) else { return Ok(()) };
        message.body_bytes += part.len() as u64;
        if let Some(text) = &mut message.text
            && !text.read(part)
        {
            return Err(WebSocketError::Text.into());
        }
        take_body(*tag, ANSWERED, part);
        Ok(())
    }

    /// The last fragment of the message under way has come: it answers the oldest message of the client.
    #[inline]
    fn end_message(&mut self) -> Result<Event, Malformed> {
        let tag = if FANS_OUT { Some(0) } else { self.awaited.pop_front() };
        let (Some(message), Some(tag)) = (self.message.take(), tag) else {
            return Err(Malformed::Unasked);
        };
        let Message { body_bytes, framing_bytes, text, .. } = message;
        if text.is_some_and(|text| !text.is_whole()) {
            return Err(WebSocketError::Text.into());
        }
        let framing_bytes = framing_bytes + std::mem::take(&mut self.control_bytes);
        let response = Response {
            status: ANSWERED,
            header_bytes: 0,
            body_bytes,
            framing_bytes,
            keep_alive: true,
            grpc_status: None,
        };
        Ok(Event::Answered(tag, response))
    }

    /// Says once of the message under way that it has begun, where it answers one.
    fn begun(&mut self) -> Option<Event> {
        if FANS_OUT {
            return None;
        }
        let message = self.message.as_mut().filter(|message| !message.is_begun)?;
        message.is_begun = true;
        self.awaited.front().copied().map(Event::Begun)
    }

    /// A control frame is complete.
    fn end_control(&mut self, opcode: Opcode) -> Result<(), Malformed> {
        match opcode {
            Opcode::Ping => {
                if self.output.len() + self.control.len() > PONGS_BYTES_MAX {
                    self.output.clear();
                }
                self.write_control(Opcode::Pong);
            }
            Opcode::Close => {
                let closed = Close::read(&self.control)?;
                self.control = closed.echo();
                self.example = closed.shown_reason();
                self.closed = Some(closed);
                // Nothing else is answered.
                self.output.clear();
                self.write_control(Opcode::Close);
            }
            _ => {}
        }
        self.control.clear();
        Ok(())
    }

    /// Has a control frame sent with the body of the one that came.
    fn write_control(&mut self, opcode: Opcode) {
        let key = self.random.mask();
        write_control(opcode, &self.control, key, &mut self.output);
    }

    /// Says of the next message under way that it is not answered any more; in a fan-out, of the connection.
    fn refuse_next(&mut self) -> Option<Event> {
        let code = self.closed.as_ref()?.code;
        if FANS_OUT {
            let is_said = std::mem::replace(&mut self.is_over, true);
            return (!is_said).then_some(Event::Refused(0, Refusal::Closed(code)));
        }
        let tag = self.awaited.pop_front()?;
        self.upload = self.upload.filter(|upload| upload.tag != tag);
        Some(Event::Refused(tag, Refusal::Closed(code)))
    }

    /// The peer breaks the protocol: that is said to it, and nothing of it is read any more.
    #[cold]
    fn fail(&mut self, fault: Malformed) {
        self.refused = Some(fault);
        self.example = self.upgrading.as_ref().and_then(Upgrading::reason);
        self.is_over = true;
        self.output.clear();
        if self.upgrading.is_none() && self.closed.is_none() {
            let code = match fault {
                Malformed::WebSocket(error) => error.close_code(),
                _ => close::NORMAL,
            };
            let key = self.random.mask();
            write_control(Opcode::Close, &code.to_be_bytes(), key, &mut self.output);
        }
    }
}
