//! Protocols without I/O: bytes go in, outcomes come out, and no socket or clock is known here.
//!
//! An [`Exchange`] is one connection's end of a protocol: it writes requests from templates that are encoded once, and
//! says which of them ended. [`Http1`] is that of HTTP/1.x, with a [`ResponseParser`] that reads the responses from any
//! split of the bytes, counts every byte it consumes, and refuses what RFC 9112 calls invalid. [`Http2`] is that of
//! HTTP/2, with many requests under way at once ([`h2`]), and [`Grpc`] that of calls over it. Of HTTP/3 there is what lies on the streams of QUIC ([`h3`]).
//! [`WebSocket`] is that of messages, each of which is a request ([`websocket`]).
//!
//! # Examples
//!
//! A request is encoded once, begun under a tag, and answered under it.
//!
//! ```
//! use loadcurve_wire::{Body, Event, Exchange, Http1, HttpExchange, Method, Request, Target, Version};
//!
//! let template = Http1::template(&Request {
//!     version: Version::Http11,
//!     method: Method::GET,
//!     target: Target::Fixed("/1k.txt"),
//!     authority: "localhost",
//!     headers: &[],
//!     body: Body::Bytes(b""),
//!     is_chunked: false,
//! })
//! .unwrap();
//! let mut exchange = Http1::new(1, &());
//! exchange.open();
//! let mut written = Vec::new();
//! exchange.begin(0, &template, None, &mut written);
//! assert!(written.starts_with(b"GET /1k.txt HTTP/1.1\r\n"));
//!
//! let received = exchange.receive(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
//! let Some(Event::Answered(tag, response)) = received.event else { panic!("all of it has come") };
//! assert_eq!((tag, response.status, response.body_bytes), (0, 200, 2));
//! ```

mod answer;
mod bytes;
mod chunked;
mod compression;
mod compression_counts;
mod error;
mod events;
mod exchange;
mod framing;
mod grpc;
mod grpc_status;
pub mod h2;
pub mod h3;
mod head;
mod http1;
mod http2_counts;
mod http3_counts;
mod last_event_id;
mod lines;
mod permessage_deflate;
mod proxy_protocol;
mod request;
mod response;
mod template;
mod tunnel;
pub mod websocket;
mod websocket_choice;

pub use compression_counts::{CompressionCounts, Spared};
pub use error::{
    AnswerError, ClosedEarly, DeflateError, GrpcError, Malformed, QuicCode, Section, WebSocketError,
};
pub use events::{EventLines, EventReader, EventStream, Piece};
pub use exchange::{
    Agreement, BodyPart, Carrier, CutOf, DatagramBytes, Datagrams, Event, Exchange, HttpExchange, Moment,
    Readiness, Received, Refusal, Stream, Tag, WrittenBody,
};
pub use grpc::{Grpc, GrpcAnswer, GrpcCalls, GrpcMessages, GrpcSettings, call, framed};
pub use grpc_status::GrpcStatus;
pub use h2::{ErrorCode, Hpack, Http2, Http2Error, Http2Settings, Http2Template, Scheme};
pub use h3::{Http3, Http3Code, Http3Error, Http3Settings, Http3Template};
pub use http1::{Http1, Http1Template};
pub use http2_counts::Http2Counts;
pub use http3_counts::{Announced, Http3Counts, QuicCounts, QuicEnd, QuicHandshake, QuicHandshakeKind};
pub use permessage_deflate::{InvalidOffer, PermessageDeflate};
pub use proxy_protocol::{Ends, proxy_header, proxy_line};
pub use request::{Body, InvalidRequest, Method, Request, RequestKind, Target, Version, is_path};
pub use response::{Limits, Progress, Response, ResponseParser};
pub use tunnel::{PROXY_AUTHORIZATION, Tunnel, connect_request};
pub use websocket::{
    FanOutWebSocket, Handshake, MARKER_BYTES, Marker, MarkerReader, MessageKind, WebSocket, WebSocketHttp2,
    WebSocketHttp2Settings, WebSocketSettings, WebSocketTemplate,
};
