//! Protocols without I/O: bytes go in, outcomes come out, and no socket or clock is known here.
//!
//! An [`Exchange`] is one connection's end of a protocol: it writes requests from templates that are encoded once, and
//! says which of them ended. [`Http1`] is that of HTTP/1.x, with a [`ResponseParser`] that reads the responses from any
//! split of the bytes, counts every byte it consumes, and refuses what RFC 9112 calls invalid.

mod bytes;
mod chunked;
mod error;
mod exchange;
mod framing;
mod head;
mod http1;
mod lines;
mod request;
mod response;

pub use error::{ClosedEarly, Malformed, Section};
pub use exchange::{Agreement, Event, Exchange, Readiness, Received, Tag};
pub use http1::{Http1, Http1Template};
pub use request::{Body, InvalidRequest, Method, Request, RequestKind, Target, Version, is_path};
pub use response::{Limits, Progress, Response, ResponseParser};
