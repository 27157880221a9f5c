//! gRPC over HTTP/2, as a client, and of calls what [`Http3`](crate::Http3) has in common with it.
//!
//! [`Grpc`] is [`Http2`] with what gRPC adds: a request is `POST` with messages, each behind five bytes, and an answer is
//! complete with the status in its trailers. Messages of answers are counted and skipped, not kept.

mod answers;
mod kept;
mod message;

use std::borrow::Cow;

use crate::error::{GrpcError, Malformed};
use crate::exchange::{
    BodyPart, Event, Exchange, HttpExchange, Readiness, Received, Stream, Tag, WrittenBody,
};
use crate::grpc_status::GrpcCoding;
use crate::h2::{Http2, Http2Settings, Http2Template};
use crate::http2_counts::Http2Counts;
use crate::request::{Body, InvalidRequest, Method, Request};
use crate::response::Response;

use kept::KeptCalls;
use message::PREFIX_BYTES;

pub(crate) use answers::CallAnswers;
pub use answers::GrpcCalls;

pub use message::GrpcMessages;

/// What says that a request or an answer is one of gRPC, where it does not say the form of the messages, too.
const CONTENT_TYPE: &str = "application/grpc";

/// What the answer to a call is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum GrpcAnswer {
    /// One message.
    #[default]
    One,
    /// Any number of messages, until the server ends them.
    Stream,
    /// One message for each message, on calls that are kept.
    Each,
}

/// How calls are made over HTTP/2.
#[derive(Debug, Clone, Copy, Default)]
pub struct GrpcSettings {
    /// What is spoken below.
    pub http2: Http2Settings,
    /// What is expected of the answers.
    pub calls: GrpcCalls,
}

/// One connection's end of gRPC.
#[derive(Debug)]
pub struct Grpc {
    http2: Http2,
    answers: CallAnswers,
    /// Where each message is answered by one: the calls on which they are sent.
    kept: Option<KeptCalls>,
}

/// A message as it is sent: behind five bytes, which say whether it is compressed, and how long it is.
///
/// # Errors
/// It is longer than a message can be.
pub fn framed(message: &[u8], is_compressed: bool) -> Result<Vec<u8>, InvalidRequest> {
    let length = u32::try_from(message.len()).map_err(|_| InvalidRequest::LongMessage)?;
    let mut framed = Vec::with_capacity(PREFIX_BYTES + message.len());
    framed.push(is_compressed.into());
    framed.extend_from_slice(&length.to_be_bytes());
    framed.extend_from_slice(message);
    Ok(framed)
}

/// What a message is that says that it is compressed.
fn compressed(is_taken: bool, coding: impl FnOnce() -> GrpcCoding) -> Result<(), GrpcError> {
    if !is_taken {
        return Err(GrpcError::Compressed);
    }
    match coding() {
        GrpcCoding::Gzip => Ok(()),
        GrpcCoding::Other => Err(GrpcError::Encoding),
    }
}

/// A request as that of a call, whose body is its messages, each [`framed`]: its method is POST, it has no Content-Length, and
/// `headers` is what it is given, behind what every call has and this one lacks.
#[must_use]
pub fn call<'a>(request: &Request<'a>, headers: &'a mut Vec<(&'a str, &'a str)>) -> Request<'a> {
    let is_given = |name: &str| request.headers.iter().any(|header| header.0.eq_ignore_ascii_case(name));
    headers.extend(
        [("te", "trailers"), ("content-type", CONTENT_TYPE)].iter().filter(|header| !is_given(header.0)),
    );
    headers.extend_from_slice(request.headers);
    Request { method: Method::POST, headers, is_chunked: true, ..*request }
}

impl Exchange for Grpc {
    type Template = Http2Template;
    type Carrier = Stream;
    type Answer = Response;
    type Settings = GrpcSettings;

    fn new(most: usize, settings: &GrpcSettings) -> Self {
        Self {
            http2: Http2::new(most, &settings.http2),
            answers: CallAnswers::new(most, settings.calls),
            kept: (settings.calls.answer == GrpcAnswer::Each)
                .then(|| KeptCalls::new(most, settings.calls.takes_compressed)),
        }
    }

    fn open(&mut self) {
        self.http2.open();
        if let Some(kept) = &mut self.kept {
            kept.reset();
        }
    }

    fn readiness(&self) -> Readiness {
        match &self.kept {
            None => self.http2.readiness(),
            Some(kept) => kept.readiness(&self.http2),
        }
    }

    fn complaint(&self) -> Option<Cow<'_, str>> {
        self.http2.complaint()
    }

    fn said(&self) -> Option<Cow<'_, str>> {
        self.http2.end_of_call()
    }

    fn limit(&self) -> Option<usize> {
        self.http2.limit()
    }

    fn has_output(&self) -> bool {
        self.http2.has_output()
    }

    fn write_output(&mut self, to: &mut Vec<u8>) {
        self.http2.write_output(to);
    }

    fn begin(&mut self, tag: Tag, template: &Http2Template, target: Option<&[u8]>, to: &mut Vec<u8>) {
        if let Some(kept) = &mut self.kept {
            kept.begin(tag, template, &mut self.http2, to);
            return;
        }
        self.answers.begin(tag);
        self.http2.begin(tag, template, target, to);
    }

    fn can_write_body(&self) -> bool {
        self.http2.can_write_body()
    }

    fn is_writing_body(&self, tag: Tag) -> bool {
        match &self.kept {
            None => self.http2.is_writing_body(tag),
            Some(kept) => kept.place(tag).is_some_and(|place| self.http2.is_sending(place)),
        }
    }

    fn write_body<F>(
        &mut self,
        most_bytes: usize,
        read: &mut impl FnMut(BodyPart, &mut Vec<u8>) -> Result<(), F>,
        to: &mut Vec<u8>,
    ) -> Result<Option<WrittenBody>, F> {
        let written = self.http2.write_body(most_bytes, read, to)?;
        let Some(kept) = &self.kept else { return Ok(written) };
        // A call that is written on carries a message: what is not sent is answered by nobody.
        Ok(written.map(|body| WrittenBody { tag: kept.tag(body.tag).unwrap_or_default(), ..body }))
    }

    fn receive_with(
        &mut self,
        bytes: &[u8],
        take_body: &mut impl FnMut(Tag, u16, &[u8]),
    ) -> Result<Received, Malformed> {
        if let Some(kept) = &mut self.kept {
            return kept.receive(&mut self.http2, bytes, take_body);
        }
        let Self { http2, answers, .. } = self;
        let Received { consumed, event } = http2.receive_with(bytes, &mut |tag, status, part| {
            answers.read(tag, part);
            take_body(tag, status, part);
        })?;
        let event = event.map(|event| answers.judged(event, |tag| http2.grpc_coding(tag)));
        Ok(Received { consumed, event })
    }

    fn has_input(&self) -> bool {
        self.kept.as_ref().is_some_and(KeptCalls::has_input)
    }

    fn end_of_input(&mut self) -> Option<Event> {
        if let Some(kept) = &mut self.kept {
            kept.end_of_input(&mut self.http2);
        }
        self.http2.end_of_input()
    }

    fn end(&mut self, to: &mut Vec<u8>) {
        match &self.kept {
            None => self.http2.end(to),
            Some(kept) => kept.end(&mut self.http2, to),
        }
    }

    fn cancel(&mut self, tag: Tag) -> bool {
        match &mut self.kept {
            None => self.http2.cancel(tag),
            Some(kept) => {
                kept.cancel(tag, &mut self.http2);
                true
            }
        }
    }
}

impl HttpExchange for Grpc {
    /// The template of a [`call`].
    fn template(request: &Request<'_>) -> Result<Http2Template, InvalidRequest> {
        let Body::Bytes(_) = request.body else { return Err(InvalidRequest::LongMessage) };
        Http2::template(&call(request, &mut Vec::with_capacity(request.headers.len() + 2)))
    }

    /// A call has no events.
    fn reopen(
        &mut self,
        tag: Tag,
        template: &Http2Template,
        target: Option<&[u8]>,
        _: &[u8],
        to: &mut Vec<u8>,
    ) {
        self.begin(tag, template, target, to);
    }

    fn take_counts(&mut self) -> Option<Http2Counts> {
        self.http2.take_counts()
    }
}
