//! Protocols without I/O: bytes go in, outcomes come out, and no socket or clock is known here.
//!
//! [`Request`] encodes an HTTP/1.1 request once, to be written many times. [`ResponseParser`] reads the responses of
//! one connection from any split of the bytes, counts every byte it consumes, and refuses what RFC 9112 calls invalid.

mod bytes;
mod chunked;
mod error;
mod framing;
mod head;
mod lines;
mod request;
mod response;

pub use error::{ClosedEarly, Malformed, Section};
pub use request::{Body, InvalidRequest, Method, Request, RequestKind, Version, is_path};
pub use response::{Limits, Progress, Response, ResponseParser};
