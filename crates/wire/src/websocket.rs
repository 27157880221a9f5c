//! WebSocket on one connection (RFC 6455), as a client.
//!
//! A connection begins with a request of HTTP/1.1 for an upgrade, which is its handshake: one for all connections of a load,
//! but for its key. Then each message of the client is a request, and the next message of the server is its answer: answers
//! are matched in order, or by an id that each of them has in its text ([`AnswerId`]). So a template is a message, and what
//! else its request has, the target and the fields, is that of the handshake; of a list of requests the first one gives it,
//! and the body of each is a message.
//!
//! Over HTTP/2 ([`WebSocketHttp2`]) the streams of a connection are WebSockets.
//!
//! In a *fan-out* ([`FanOutWebSocket`]) no message of the server is an answer: what one client publishes, a server sends to any
//! number of others. Each message carries a [`Marker`], by which whoever receives it knows which one it is.
//!
//! Messages of the server are counted and not kept, in however many fragments they come; pings are answered; a text is UTF-8. A message that no
//! message of the client has asked for cannot be distinguished from an answer, so it is refused. What a server can make the exchange
//! hold is bounded: the head of its answer to the upgrade, a control frame, and what waits to be sent to it
//! ([`PONGS_BYTES_MAX`]).

mod accept;
mod answer_id;
mod close;
mod compression;
mod deflate;
mod frame;
mod handshake;
mod http2;
mod incoming;
mod marker;
mod offer;
mod random;
mod template;
mod text;
mod tunnel;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::chunked::shorter;
use crate::compression_counts::CompressionCounts;
use crate::error::{Malformed, WebSocketError};
use crate::exchange::{
    BodyPart, Event, Exchange, HttpExchange, Readiness, Received, Refusal, Stream, Tag, WrittenBody,
};
use crate::request::{InvalidRequest, Request};
use crate::response::Response;

use answer_id::Ids;
use close::Close;
use compression::Compression;
use frame::{Opcode, write_control};
use handshake::{Progress, Upgrading};
use incoming::{ANSWERED, Incoming, Said};
use random::Random;

pub use accept::accept_of;
pub use answer_id::{AnswerId, ID_PLACE};
pub use deflate::INFLATED_BYTES_MAX;
pub use frame::{CONTROL_BYTES_MAX, mask};
pub use handshake::Handshake;
pub use http2::{WebSocketHttp2, WebSocketHttp2Settings};
pub use marker::{MARKER_BYTES, Marker, MarkerReader};
pub use template::WebSocketTemplate;
pub use text::Text;

/// What waits to be sent is no more than this: of more pings than it has room for, the last ones are answered (RFC 6455 §5.5.3).
pub const PONGS_BYTES_MAX: usize = 16 * 1024;

/// What the messages of a client are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MessageKind {
    /// Text of UTF-8; whoever gives it knows that it is.
    #[default]
    Text,
    /// Bytes.
    Binary,
}

const fn opcode_of(kind: MessageKind) -> Opcode {
    match kind {
        MessageKind::Text => Opcode::Text,
        MessageKind::Binary => Opcode::Binary,
    }
}

/// What all exchanges of a load share.
#[derive(Debug, Clone)]
pub struct WebSocketSettings {
    handshake: Arc<Handshake>,
    kind: MessageKind,
    /// Where answers have the ids of their messages, unless they are matched in order.
    answer_id: Option<AnswerId>,
    /// The seed of the next exchange's keys.
    seed: Arc<AtomicU64>,
}

impl WebSocketSettings {
    /// With this request for the upgrade, and keys and masks of this seed.
    #[must_use]
    pub fn new(handshake: Handshake, kind: MessageKind, seed: u64) -> Self {
        Self { handshake: Arc::new(handshake), kind, answer_id: None, seed: Arc::new(AtomicU64::new(seed)) }
    }

    /// The same with answers that are matched by an id, which each message has in place of [`ID_PLACE`].
    #[must_use]
    pub fn matching(self, answer_id: AnswerId) -> Self {
        Self { answer_id: Some(answer_id), ..self }
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
    /// By what answers are matched, unless they come in order.
    ids: Option<Ids>,
    /// The message that is being written, where it is read meanwhile.
    upload: Option<Upload>,
    incoming: Incoming,
    compression: Compression,
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
            ids: settings.answer_id.clone().map(|name| Ids::new(name, most)),
            upload: None,
            incoming: Incoming::default(),
            compression: Compression::default(),
            closed: None,
            is_over: true,
            refused: None,
            example: None,
            output: Vec::new(),
        }
    }

    fn open(&mut self) {
        self.awaited.clear();
        self.ids.iter_mut().for_each(Ids::reset);
        self.upload = None;
        self.incoming.reset();
        self.compression = Compression::default();
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
        let opcode = opcode_of(self.settings.kind);
        let key = self.random.mask();
        let id = self.ids.as_mut().map(|ids| ids.next(tag));
        let open = match &id {
            Some(id) => Some(&id[..]),
            None => FANS_OUT.then(|| open.unwrap_or_default()),
        };
        if !FANS_OUT {
            self.awaited.push_back(tag);
        }
        let sent_bytes = self.compression.write_message(template, open, (opcode, key), to);
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

    fn take_compression_counts(&mut self) -> Vec<CompressionCounts> {
        self.compression.take().into_iter().collect()
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
                Progress::Upgraded { consumed: of_head, deflate } => {
                    consumed = of_head;
                    self.compression.agree(self.settings.handshake.offer.deflate, deflate);
                    if deflate.is_some() {
                        self.incoming.take_compressed();
                    }
                }
            }
            self.upgrading = None;
        }
        while self.closed.is_none() {
            let tag = if FANS_OUT { Some(0) } else { self.awaited.front().copied() };
            let ids = &mut self.ids;
            let mut take = |part: &[u8]| match ids {
                Some(ids) => ids.read(part),
                None => tag.into_iter().for_each(|tag| take_body(tag, ANSWERED, part)),
            };
            let (read, said) = self.incoming.read(&bytes[consumed..], tag.is_some(), &mut take)?;
            consumed += read;
            match said {
                None => break,
                Some(Said::Message(message)) => {
                    self.compression.count(&message);
                    // It answers the oldest message of the client, or the one with its id.
                    let tag = match &mut self.ids {
                        Some(ids) => Some(ids.answered(&mut self.awaited)?),
                        None => self.awaited.pop_front().or(tag),
                    };
                    let event = tag.map(|tag| Event::Answered(tag, message.answer(0)));
                    return Ok(Received { consumed, event });
                }
                Some(Said::Ping) => self.answer_ping(),
                Some(Said::Close(close)) => self.close(close),
            }
        }
        if self.closed.is_some() {
            // What comes behind a close frame is nothing (RFC 6455 §5.5.1).
            return Ok(Received { consumed: bytes.len(), event: self.refuse_next() });
        }
        Ok(Received { consumed, event: self.begun() })
    }

    /// Says once of the message under way that it has begun, where it answers one.
    fn begun(&mut self) -> Option<Event> {
        if FANS_OUT || self.ids.is_some() || !self.incoming.begins() {
            return None;
        }
        self.awaited.front().copied().map(Event::Begun)
    }

    fn answer_ping(&mut self) {
        if self.output.len() + self.incoming.control().len() > PONGS_BYTES_MAX {
            self.output.clear();
        }
        let key = self.random.mask();
        write_control(Opcode::Pong, self.incoming.control(), key, &mut self.output);
    }

    /// The peer has closed the connection, which is answered.
    fn close(&mut self, closed: Close) {
        // Nothing else is answered.
        self.output.clear();
        let key = self.random.mask();
        write_control(Opcode::Close, &closed.echo(), key, &mut self.output);
        self.example = closed.shown_reason();
        self.closed = Some(closed);
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
