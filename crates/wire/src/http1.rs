//! HTTP/1.x on one connection: answers come in the order of the requests.

use std::borrow::Cow;
use std::collections::VecDeque;

use crate::chunked::shorter;
use crate::error::{ClosedEarly, Malformed};
use crate::exchange::{BodyPart, Event, Exchange, Readiness, Received, Tag, WrittenBody};
use crate::request::{Body, InvalidRequest, Request, RequestKind};
use crate::response::{Limits, ResponseParser};

/// One connection's end of HTTP/1.x.
#[derive(Debug)]
pub struct Http1 {
    /// The requests under way, the oldest first.
    awaited: VecDeque<(Tag, RequestKind)>,
    parser: ResponseParser,
    /// The body under way behind its request, which may have been answered.
    upload: Option<Upload>,
    /// Whether the peer has ended the connection with its last answer.
    is_over: bool,
    /// How the peer has closed the connection in the middle of an answer.
    cut_off: Option<ClosedEarly>,
}

/// A request of HTTP/1.x: its bytes, and where among them the target stands, or belongs.
#[derive(Debug)]
pub struct Http1Template {
    bytes: Vec<u8>,
    target_at: usize,
    kind: RequestKind,
    /// The length of the body behind the bytes.
    following_bytes: u64,
}

/// A body of which a part is not written.
#[derive(Debug, Clone, Copy)]
struct Upload {
    tag: Tag,
    offset: u64,
    length: u64,
}

impl Exchange for Http1 {
    type Template = Http1Template;
    type Settings = ();

    fn template(request: &Request<'_>) -> Result<Http1Template, InvalidRequest> {
        Ok(Http1Template {
            bytes: request.encode()?,
            target_at: request.target_at(),
            kind: request.method.kind(),
            following_bytes: match request.body {
                Body::Bytes(_) => 0,
                Body::Following(length) => length,
            },
        })
    }

    fn new(most: usize, (): &()) -> Self {
        Self {
            awaited: VecDeque::with_capacity(most),
            parser: ResponseParser::new(Limits::default()),
            upload: None,
            is_over: false,
            cut_off: None,
        }
    }

    fn open(&mut self) {
        self.awaited.clear();
        self.parser.reset();
        self.upload = None;
        self.is_over = false;
        self.cut_off = None;
    }

    fn readiness(&self) -> Readiness {
        if self.is_over { Readiness::Closed } else { Readiness::Ready }
    }

    fn complaint(&self) -> Option<Cow<'_, str>> {
        self.cut_off.map(|cut_off| Cow::Owned(cut_off.to_string()))
    }

    fn begin(&mut self, tag: Tag, template: &Http1Template, target: Option<&[u8]>, to: &mut Vec<u8>) {
        let Http1Template { bytes, target_at, kind, following_bytes: length } = template;
        self.awaited.push_back((tag, *kind));
        match target {
            None => to.extend_from_slice(bytes),
            Some(target) => {
                let (before, after) = bytes.split_at(*target_at);
                for part in [before, target, after] {
                    to.extend_from_slice(part);
                }
            }
        }
        if *length > 0 {
            self.upload = Some(Upload { tag, offset: 0, length: *length });
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
        let Upload { tag, offset, length } = *upload;
        let bytes = shorter(most_bytes, length - offset);
        read(BodyPart { tag, offset, bytes }, to)?;
        upload.offset += bytes as u64;
        if upload.offset == length {
            self.upload = None;
        }
        Ok(Some(WrittenBody { tag, bytes }))
    }

    fn receive_with(
        &mut self,
        bytes: &[u8],
        take_body: &mut impl FnMut(Tag, &[u8]),
    ) -> Result<Received, Malformed> {
        let (tag, kind) = *self.awaited.front().ok_or(Malformed::Unasked)?;
        let is_begin = self.parser.is_idle();
        let progress = self.parser.feed_with(bytes, kind, &mut |part| take_body(tag, part))?;
        let event = match progress.response {
            // Whatever follows the last answer was asked for by nobody, so that this is not the answer alone.
            Some(_) if self.awaited.len() == 1 && progress.consumed < bytes.len() => {
                return Err(Malformed::Unasked);
            }
            Some(response) => {
                self.awaited.pop_front();
                self.is_over = !response.keep_alive;
                Some(Event::Answered(tag, response))
            }
            None if is_begin && !bytes.is_empty() => Some(Event::Begun(tag)),
            None => None,
        };
        Ok(Received { consumed: progress.consumed, event })
    }

    fn end_of_input(&mut self) -> Option<Event> {
        self.is_over = true;
        // An answer that was cut off is none, like one that never began.
        let response =
            self.parser.end_of_input().map_err(|cut_off| self.cut_off = Some(cut_off)).ok().flatten()?;
        self.awaited.pop_front().map(|(tag, _)| Event::Answered(tag, response))
    }

    /// The answers come in order, so the next ones cannot be distinguished from one that nobody waits for.
    fn cancel(&mut self, _tag: Tag) -> bool {
        self.is_over = true;
        false
    }
}
