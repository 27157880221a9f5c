//! HTTP/1.x on one connection: answers come in the order of the requests.
//!
//! Line ends between two answers are discarded (RFC 9112 §2.2, §9.2). A last answer that no request has asked for, such as
//! a 408 after the server's idle timeout, ends the connection and concerns no request. Those that were written behind the
//! last answer are given back, and so are those that such a 408 has crossed: the server has received none of them when it
//! gives up waiting, so they may be repeated (RFC 9110 §15.5.9), as browsers do on connections that were used before.

mod refused;
mod unasked;

use std::borrow::Cow;
use std::collections::VecDeque;

use memchr::memmem;

use crate::chunked::shorter;
use crate::error::{ClosedEarly, Malformed};
use crate::exchange::{
    BodyPart, Event, Exchange, HttpExchange, Readiness, Received, Stream, Tag, WrittenBody,
};
use crate::last_event_id::field_value;
use crate::request::{
    Body, CHUNK_FRAMING_BYTES_MAX, InvalidRequest, LAST_CHUNK, Request, RequestKind, chunk_size,
};
use crate::response::{Limits, Response, ResponseParser};
use refused::Refused;

/// One connection's end of HTTP/1.x.
#[derive(Debug)]
pub struct Http1 {
    /// The requests under way, the oldest first.
    awaited: VecDeque<Awaited>,
    /// Whether several may be under way at once.
    pipelines: bool,
    parser: ResponseParser,
    /// The body under way behind its request, which may have been answered.
    upload: Option<Upload>,
    /// Whether the peer has answered on this connection.
    has_answered: bool,
    /// Whether the peer has ended the connection with its last answer.
    is_over: bool,
    /// What becomes of the requests behind the peer's last answer.
    given_back: Option<GivenBack>,
    /// How the peer has closed the connection in the middle of an answer.
    cut_off: Option<ClosedEarly>,
    /// What the peer has sent that cannot be read.
    refused: Option<Refused>,
    /// The status of an answer by which the peer has ended the connection while nothing was under way, for all it knew.
    ended_with: Option<u16>,
    /// What the answer that is being read is good for.
    reading: Reading,
}

/// What an answer is good for that arrives while requests are under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// It answers the oldest of them.
    Answer,
    /// It has crossed them.
    Crossing,
}

/// A request under way.
#[derive(Debug, Clone, Copy)]
struct Awaited {
    tag: Tag,
    kind: RequestKind,
    is_idempotent: bool,
}

/// Why requests are given back.
#[derive(Debug, Clone, Copy)]
enum GivenBack {
    /// The peer has announced the end, so it has looked at none of them (RFC 9112 §9.6).
    Announced,
    /// The peer has closed the connection in silence, and repeating them does no harm (RFC 9112 §9.3.1).
    Closed,
}

/// A request of HTTP/1.x: its bytes, and where among them the target is, or belongs.
#[derive(Debug)]
pub struct Http1Template {
    bytes: Vec<u8>,
    target_at: usize,
    /// Where the empty line is that ends its fields.
    fields_end: usize,
    kind: RequestKind,
    is_idempotent: bool,
    /// The length of the body behind the bytes.
    following_bytes: u64,
    is_chunked: bool,
}

/// A body of which a part is not written.
#[derive(Debug, Clone, Copy)]
struct Upload {
    tag: Tag,
    offset: u64,
    length: u64,
    is_chunked: bool,
}

impl Exchange for Http1 {
    type Template = Http1Template;
    type Carrier = Stream;
    type Answer = Response;
    type Settings = ();

    fn new(most: usize, (): &()) -> Self {
        Self {
            awaited: VecDeque::with_capacity(most),
            pipelines: most > 1,
            parser: ResponseParser::new(Limits::default()),
            upload: None,
            has_answered: false,
            is_over: false,
            given_back: None,
            cut_off: None,
            refused: None,
            ended_with: None,
            reading: Reading::Answer,
        }
    }

    fn open(&mut self) {
        self.awaited.clear();
        self.parser.reset();
        self.upload = None;
        self.has_answered = false;
        self.is_over = false;
        self.given_back = None;
        self.cut_off = None;
        self.refused = None;
        self.ended_with = None;
        self.reading = Reading::Answer;
    }

    fn readiness(&self) -> Readiness {
        if self.is_over {
            if self.gives_back() { Readiness::Busy } else { Readiness::Closed }
        } else if self.awaited.is_empty() && !self.parser.is_idle() {
            Readiness::Leaving
        } else {
            Readiness::Ready
        }
    }

    fn complaint(&self) -> Option<Cow<'_, str>> {
        let refused = self.refused.as_ref().map(|refused| refused.malformed.to_string());
        refused.or_else(|| self.cut_off.map(|cut_off| cut_off.to_string())).map(Cow::Owned)
    }

    fn example(&self) -> Option<&str> {
        self.refused.as_ref()?.example.as_deref()
    }

    fn ended_with(&self) -> Option<u16> {
        self.ended_with
    }

    fn begin(&mut self, tag: Tag, template: &Http1Template, target: Option<&[u8]>, to: &mut Vec<u8>) {
        template.write(target, to);
        self.begun(tag, template);
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
        let Upload { tag, offset, length, is_chunked } = *upload;
        let before = to.len();
        let framing_bytes = if is_chunked { CHUNK_FRAMING_BYTES_MAX } else { 0 };
        let bytes = shorter(most_bytes.saturating_sub(framing_bytes).max(1), length - offset);
        if is_chunked {
            to.extend_from_slice(chunk_size(bytes).as_bytes());
        }
        read(BodyPart { tag, offset, bytes }, to)?;
        upload.offset += bytes as u64;
        let is_whole = upload.offset == length;
        if is_chunked {
            to.extend_from_slice(b"\r\n");
            to.extend_from_slice(if is_whole { LAST_CHUNK } else { b"" });
        }
        if is_whole {
            self.upload = None;
        }
        Ok(Some(WrittenBody { tag, bytes: to.len() - before }))
    }

    fn receive_with(
        &mut self,
        bytes: &[u8],
        take_body: &mut impl FnMut(Tag, u16, &[u8]),
    ) -> Result<Received, Malformed> {
        if self.given_back.is_some() {
            return Ok(self.give_back(bytes));
        }
        let is_begin = self.parser.is_idle();
        let blank = if is_begin { unasked::line_ends(bytes) } else { 0 };
        let bytes = &bytes[blank..];
        if is_begin {
            self.reading = self.reading_of(bytes);
        }
        let read = match self.awaited.front() {
            _ if bytes.is_empty() => Ok(Received { consumed: 0, event: None }),
            Some(_) if self.reading == Reading::Crossing => self.receive_crossing(bytes),
            Some(&Awaited { tag, kind, .. }) => self.receive_answer(bytes, tag, kind, take_body),
            None => self.receive_unasked(bytes),
        };
        match read {
            // An answer begins once.
            Ok(Received { event: Some(Event::Begun(_)), .. }) if !is_begin => {
                Ok(Received { consumed: bytes.len(), event: None })
            }
            Ok(Received { consumed, event }) => Ok(Received { consumed: blank + consumed, event }),
            Err(malformed) => {
                self.refused = Some(Refused::new(malformed, &self.parser, is_begin.then_some(bytes)));
                Err(malformed)
            }
        }
    }

    fn end_of_input(&mut self) -> Option<Event> {
        self.is_over = true;
        if self.reading == Reading::Crossing {
            self.crossed();
        } else if self.given_back.is_none() && self.cut_off.is_none() {
            match self.parser.end_of_input() {
                Ok(Some(response)) => {
                    let Some(Awaited { tag, .. }) = self.awaited.pop_front() else {
                        self.ended_with = Some(response.status);
                        return None;
                    };
                    // An answer that lasts until the end announces it.
                    self.given_back = Some(GivenBack::Announced);
                    return Some(Event::Answered(tag, response));
                }
                Ok(None) => {}
                // An answer that was cut off is none, like one that never began.
                Err(cut_off) => self.cut_off = Some(cut_off),
            }
            self.given_back = self.may_be_repeated().then_some(GivenBack::Closed);
        }
        self.give_back(&[]).event
    }

    /// The answers come in order, so the next ones cannot be distinguished from one that nobody waits for.
    fn cancel(&mut self, _tag: Tag) -> bool {
        self.is_over = true;
        false
    }
}

impl HttpExchange for Http1 {
    fn template(request: &Request<'_>) -> Result<Http1Template, InvalidRequest> {
        let bytes = request.encode()?;
        Ok(Http1Template {
            target_at: request.target_at(),
            fields_end: memmem::find(&bytes, b"\r\n\r\n").map_or(bytes.len(), |at| at + 2),
            bytes,
            kind: request.kind(),
            is_idempotent: request.method.is_idempotent(),
            following_bytes: match request.body {
                Body::Bytes(_) => 0,
                Body::Following(length) => length,
            },
            is_chunked: request.is_chunked,
        })
    }

    fn reopen(
        &mut self,
        tag: Tag,
        template: &Http1Template,
        target: Option<&[u8]>,
        last_id: &[u8],
        to: &mut Vec<u8>,
    ) {
        template.write_with_id(target, last_id, to);
        self.begun(tag, template);
    }

    fn first_location(&self) -> Option<&[u8]> {
        self.parser.first_location()
    }
}

impl Http1Template {
    #[inline]
    fn write(&self, target: Option<&[u8]>, to: &mut Vec<u8>) {
        let Some(target) = target else { return to.extend_from_slice(&self.bytes) };
        let (before, after) = self.bytes.split_at(self.target_at);
        for part in [before, target, after] {
            to.extend_from_slice(part);
        }
    }

    /// The same with the id of the last event behind the other fields.
    fn write_with_id(&self, target: Option<&[u8]>, last_id: &[u8], to: &mut Vec<u8>) {
        self.write(target, to);
        let Some(value) = field_value(last_id) else { return };
        let behind = self.bytes.len() - self.fields_end;
        let at = to.len() - behind;
        for part in [b"Last-Event-ID: ", value, b"\r\n"] {
            to.extend_from_slice(part);
        }
        to[at..].rotate_left(behind);
    }
}

impl Http1 {
    /// A request is written, but for a body that follows.
    #[inline]
    fn begun(&mut self, tag: Tag, template: &Http1Template) {
        let Http1Template { kind, is_idempotent, following_bytes: length, is_chunked, .. } = *template;
        self.awaited.push_back(Awaited { tag, kind, is_idempotent });
        if length > 0 {
            self.upload = Some(Upload { tag, offset: 0, length, is_chunked });
        }
    }

    /// Reads the answer to the oldest request.
    fn receive_answer(
        &mut self,
        bytes: &[u8],
        tag: Tag,
        kind: RequestKind,
        take_body: &mut impl FnMut(Tag, u16, &[u8]),
    ) -> Result<Received, Malformed> {
        let progress =
            self.parser.feed_with(bytes, kind, &mut |status, part| take_body(tag, status, part))?;
        let Some(response) = progress.response else {
            return Ok(Received { consumed: progress.consumed, event: Some(Event::Begun(tag)) });
        };
        self.answered(tag, response, progress.consumed, bytes)
    }

    /// The answer to the oldest request is complete after this many of the bytes.
    #[inline]
    fn answered(
        &mut self,
        tag: Tag,
        response: Response,
        mut consumed: usize,
        bytes: &[u8],
    ) -> Result<Received, Malformed> {
        if self.awaited.len() == 1 && consumed < bytes.len() {
            unasked::check_behind_answer(&bytes[consumed..])?;
        }
        self.awaited.pop_front();
        self.has_answered = true;
        self.is_over = !response.keep_alive;
        if self.is_over && !self.awaited.is_empty() {
            self.given_back = Some(GivenBack::Announced);
            // The last byte is consumed with the last event.
            consumed -= 1;
        }
        Ok(Received { consumed, event: Some(Event::Answered(tag, response)) })
    }

    /// What an answer is good for that begins so. On a connection that was used before a timeout has crossed the requests
    /// under way, but not where one of them may come in too slowly.
    fn reading_of(&self, bytes: &[u8]) -> Reading {
        let can_cross = self.has_answered && !self.awaited.is_empty() && self.upload.is_none();
        if can_cross && unasked::says_timeout(bytes) { Reading::Crossing } else { Reading::Answer }
    }

    /// Reads what may be the peer's last answer, which has crossed the requests under way: one that keeps the connection is
    /// an answer that an application gives.
    fn receive_crossing(&mut self, bytes: &[u8]) -> Result<Received, Malformed> {
        let progress = self.parser.feed(bytes, RequestKind::Other)?;
        match (progress.response, self.awaited.front()) {
            (None, _) => Ok(Received { consumed: progress.consumed, event: None }),
            (Some(response), Some(&Awaited { tag, .. })) if response.keep_alive => {
                self.reading = Reading::Answer;
                self.answered(tag, response, progress.consumed, bytes)
            }
            (Some(_), _) => {
                self.crossed();
                Ok(self.give_back(bytes))
            }
        }
    }

    /// The peer has ended the connection before it received the requests under way.
    fn crossed(&mut self) {
        self.is_over = true;
        self.ended_with = Some(unasked::REQUEST_TIMEOUT);
        self.given_back = Some(GivenBack::Announced);
    }

    /// Reads what no request has asked for: the peer's last answer, by which it ends the connection.
    fn receive_unasked(&mut self, bytes: &[u8]) -> Result<Received, Malformed> {
        self.ended_with = unasked::read(&mut self.parser, bytes)?;
        self.is_over = self.ended_with.is_some();
        Ok(Received { consumed: bytes.len(), event: None })
    }

    /// Whether the requests under way may be sent again on another connection, although the peer has not said that it has
    /// not looked at them: all of them, or none (RFC 9112 §9.3.1). Without pipelining, the close of a connection on which a
    /// request was just written is a failure that people want to see.
    fn may_be_repeated(&self) -> bool {
        self.pipelines && self.has_answered && self.awaited.iter().all(|awaited| awaited.is_idempotent)
    }

    /// How many of the requests under way are not given back: the one whose answer was cut off.
    fn kept(&self) -> usize {
        usize::from(self.cut_off.is_some())
    }

    /// Whether a request is to be given back.
    fn gives_back(&self) -> bool {
        self.given_back.is_some() && self.awaited.len() > self.kept()
    }

    /// Gives the next request back; what comes behind the last answer is consumed with the last of them.
    fn give_back(&mut self, bytes: &[u8]) -> Received {
        let given_back = self.given_back.filter(|_| self.gives_back());
        let next = given_back.and_then(|how| Some((how, self.awaited.remove(self.kept())?.tag)));
        let event = next.map(|(how, tag)| {
            self.upload = self.upload.filter(|upload| upload.tag != tag);
            match how {
                GivenBack::Announced => Event::Moved(tag),
                GivenBack::Closed => Event::Dropped(tag),
            }
        });
        Received { consumed: if self.gives_back() { 0 } else { bytes.len() }, event }
    }
}
