//! Protocols without I/O: bytes go in, outcomes come out, and no socket or clock is known here.
//!
//! An [`Exchange`] is one connection's end of a protocol: it writes requests from templates that are encoded once, and
//! says which of them ended. [`Http1`] is that of HTTP/1.x, with a [`ResponseParser`] that reads the responses from any
//! split of the bytes, counts every byte it consumes, and refuses what RFC 9112 calls invalid. [`Http2`] is that of
//! HTTP/2, with many requests under way at once ([`h2`]).

mod bytes;
mod chunked;
mod error;
mod exchange;
mod framing;
pub mod h2;
mod head;
mod http1;
mod http2_counts;
mod lines;
mod request;
mod response;

pub use error::{ClosedEarly, Malformed, Section};
pub use exchange::{Agreement, BodyPart, Event, Exchange, Readiness, Received, Refusal, Tag, WrittenBody};
pub use h2::{ErrorCode, Hpack, Http2, Http2Error, Http2Settings, Http2Template, Scheme};
pub use http1::{Http1, Http1Template};
pub use http2_counts::Http2Counts;
pub use request::{Body, InvalidRequest, Method, Request, RequestKind, Target, Version, is_path};
pub use response::{Limits, Progress, Response, ResponseParser};
