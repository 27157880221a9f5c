//! gRPC over HTTP/2, as a client, for calls with one message and one answer ("unary").
//!
//! [`Grpc`] is [`Http2`] with what gRPC adds: a request is `POST` with a message behind five bytes, and an answer is complete
//! with the status in its trailers. Messages of answers are counted and skipped, not kept.

mod message;

use std::borrow::Cow;

use crate::error::Malformed;
use crate::exchange::{
    BodyPart, Event, Exchange, HttpExchange, Readiness, Received, Refusal, Stream, Tag, WrittenBody,
};
use crate::grpc_status::{GrpcStatus, in_words};
use crate::h2::{Http2, Http2Settings, Http2Template};
use crate::http2_counts::Http2Counts;
use crate::request::{Body, InvalidRequest, Method, Request};
use crate::response::Response;

use message::{Messages, PREFIX_BYTES};

/// What says that a request or an answer is one of gRPC, where it does not say the form of the messages, too.
const CONTENT_TYPE: &str = "application/grpc";

/// One connection's end of gRPC.
#[derive(Debug)]
pub struct Grpc {
    http2: Http2,
    /// What has come of the messages of each answer, by tag.
    messages: Box<[Messages]>,
}

impl Grpc {
    /// What an event of HTTP/2 is of gRPC: an answer of status OK has one whole message.
    fn judged(&mut self, event: Event) -> Event {
        let Event::Answered(tag, response) = event else { return event };
        if response.grpc_status == Some(GrpcStatus::Ok)
            && let Err(error) = self.messages[tag].require_one()
        {
            return Event::Refused(tag, Refusal::Malformed(error.into()));
        }
        event
    }
}

impl Exchange for Grpc {
    type Template = Http2Template;
    type Carrier = Stream;
    type Answer = Response;
    type Settings = Http2Settings;

    fn new(most: usize, settings: &Http2Settings) -> Self {
        Self {
            http2: Http2::new(most, settings),
            messages: std::iter::repeat_with(Messages::default).take(most).collect(),
        }
    }

    fn open(&mut self) {
        self.http2.open();
    }

    fn readiness(&self) -> Readiness {
        self.http2.readiness()
    }

    fn complaint(&self) -> Option<Cow<'_, str>> {
        self.http2.complaint()
    }

    fn said(&self) -> Option<Cow<'_, str>> {
        in_words(self.http2.grpc_message())
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
        self.messages[tag] = Messages::default();
        self.http2.begin(tag, template, target, to);
    }

    fn can_write_body(&self) -> bool {
        self.http2.can_write_body()
    }

    fn is_writing_body(&self, tag: Tag) -> bool {
        self.http2.is_writing_body(tag)
    }

    fn write_body<F>(
        &mut self,
        most_bytes: usize,
        read: &mut impl FnMut(BodyPart, &mut Vec<u8>) -> Result<(), F>,
        to: &mut Vec<u8>,
    ) -> Result<Option<WrittenBody>, F> {
        self.http2.write_body(most_bytes, read, to)
    }

    fn receive_with(
        &mut self,
        bytes: &[u8],
        take_body: &mut impl FnMut(Tag, u16, &[u8]),
    ) -> Result<Received, Malformed> {
        let messages = &mut self.messages;
        let Received { consumed, event } = self.http2.receive_with(bytes, &mut |tag, status, part| {
            messages[tag].take(part);
            take_body(tag, status, part);
        })?;
        Ok(Received { consumed, event: event.map(|event| self.judged(event)) })
    }

    fn end_of_input(&mut self) -> Option<Event> {
        self.http2.end_of_input()
    }

    fn end(&mut self, to: &mut Vec<u8>) {
        self.http2.end(to);
    }

    fn cancel(&mut self, tag: Tag) -> bool {
        self.http2.cancel(tag)
    }
}

impl HttpExchange for Grpc {
    /// The template of a call, whose body is the message; its method is POST, and it has no Content-Length.
    fn template(request: &Request<'_>) -> Result<Http2Template, InvalidRequest> {
        let Body::Bytes(message) = request.body else { return Err(InvalidRequest::LongMessage) };
        let length = u32::try_from(message.len()).map_err(|_| InvalidRequest::LongMessage)?;
        let mut body = Vec::with_capacity(PREFIX_BYTES + message.len());
        // It is not compressed.
        body.push(0);
        body.extend_from_slice(&length.to_be_bytes());
        body.extend_from_slice(message);
        let is_given = |name: &str| request.headers.iter().any(|header| header.0.eq_ignore_ascii_case(name));
        let mut headers = Vec::with_capacity(request.headers.len() + 2);
        headers.extend(
            [("te", "trailers"), ("content-type", CONTENT_TYPE)].iter().filter(|header| !is_given(header.0)),
        );
        headers.extend_from_slice(request.headers);
        Http2::template(&Request {
            method: Method::POST,
            headers: &headers,
            body: Body::Bytes(&body),
            is_chunked: true,
            ..*request
        })
    }

    fn take_counts(&mut self) -> Option<Http2Counts> {
        self.http2.take_counts()
    }
}
