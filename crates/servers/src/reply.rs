//! What a request is answered with from memory, in whichever version of HTTP: what is common to all of them.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use loadcurve_wire::PermessageDeflate;

use crate::http::Status;
use crate::websocket::accepted;

/// The bodies of files by the path that a request names, such as `/pictures/a.png`.
pub type Content = HashMap<String, Arc<[u8]>>;

/// How many bytes a body may be too long by.
const MOST_PADDING_BYTES: usize = 1;

/// What becomes of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// It is answered as well as possible.
    #[default]
    Right,
    /// It is reset instead of answered.
    Reset,
    /// It is answered with the status 500, without a body.
    Error,
    /// The last byte of the answer is missing, and nothing follows.
    Truncated,
    /// The body is one byte longer, as its length says.
    WrongLength,
}

/// A message of gRPC without fields, behind its prefix.
const EMPTY_MESSAGE: &[u8] = &[0; 5];
/// The numbers of statuses of gRPC.
const GRPC_OK: u8 = 0;
const GRPC_INTERNAL: u8 = 13;
const GRPC_UNIMPLEMENTED: u8 = 12;

/// How an answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With its last byte.
    Whole,
    /// Before its last byte.
    Truncated,
    /// Before it has begun.
    Reset,
}

/// What is sent back as it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Echoes {
    /// Each message of a call of gRPC.
    Messages,
    /// Each message of a WebSocket, and how they may be compressed, if they may.
    WebSocket(Option<PermessageDeflate>),
}

/// The parts of an answer.
#[derive(Clone, Debug)]
pub struct Reply {
    /// How the request went.
    pub status: Status,
    /// How it ends.
    pub ending: Ending,
    body: Option<Arc<[u8]>>,
    /// How many bytes follow the body.
    padding_bytes: usize,
    /// Whether the body follows the head, or only its length is stated.
    has_body: bool,
    /// How the call of gRPC has ended that this answers; none for other requests.
    pub grpc_status: Option<u8>,
    /// What of the request that this answers is sent back as it comes.
    pub echoes: Option<Echoes>,
}

impl Reply {
    /// A status without a body.
    #[must_use]
    pub fn plain(status: Status) -> Self {
        Self {
            status,
            ending: Ending::Whole,
            body: None,
            padding_bytes: 0,
            has_body: true,
            grpc_status: None,
            echoes: None,
        }
    }

    /// The reply to a request of this method and target.
    #[must_use]
    pub fn to(method: &[u8], target: &[u8], content: &Content) -> Self {
        let has_body = match method {
            b"GET" => true,
            b"HEAD" => false,
            _ => return Self::plain(Status::MethodNotAllowed),
        };
        let end = memchr::memchr(b'?', target).unwrap_or(target.len());
        let body = str::from_utf8(&target[..end]).ok().and_then(|path| content.get(path));
        match body {
            Some(body) => Self { body: Some(Arc::clone(body)), has_body, ..Self::plain(Status::Ok) },
            None => Self::plain(Status::NotFound),
        }
    }

    /// The reply to a call of gRPC, whatever its method: this many messages with no fields.
    #[must_use]
    pub fn to_call(messages: usize) -> Self {
        let body = EMPTY_MESSAGE.repeat(messages);
        Self { body: Some(body.into()), grpc_status: Some(GRPC_OK), ..Self::plain(Status::Ok) }
    }

    /// The reply to a call of gRPC, whatever its method: each of its messages.
    #[must_use]
    pub fn to_echoed_call() -> Self {
        Self { grpc_status: Some(GRPC_OK), echoes: Some(Echoes::Messages), ..Self::plain(Status::Ok) }
    }

    /// The reply to a call of gRPC that is of no kind that the server answers.
    #[must_use]
    pub fn to_unknown_call() -> Self {
        Self { grpc_status: Some(GRPC_UNIMPLEMENTED), ..Self::plain(Status::Ok) }
    }

    /// The reply to a request for a WebSocket over HTTP/2, with these offers of extensions: it is open, and its messages are
    /// echoed.
    #[must_use]
    pub fn to_websocket(offers: &str) -> Self {
        Self { echoes: Some(Echoes::WebSocket(accepted(offers))), ..Self::plain(Status::Ok) }
    }

    /// The same, as this outcome has it.
    #[must_use]
    pub fn with_outcome(self, outcome: Outcome) -> Self {
        match outcome {
            Outcome::Error if self.grpc_status.is_some() => {
                Self { grpc_status: Some(GRPC_INTERNAL), ..Self::plain(Status::Ok) }
            }
            Outcome::Right => self,
            Outcome::Reset => Self { ending: Ending::Reset, ..self },
            Outcome::Error => Self::plain(Status::InternalServerError),
            Outcome::Truncated => Self { ending: Ending::Truncated, ..self },
            Outcome::WrongLength => Self { padding_bytes: MOST_PADDING_BYTES, ..self },
        }
    }

    /// Whether it is a file that follows the head, which can be sent as a stream of events.
    #[must_use]
    pub fn is_file(&self) -> bool {
        self.status == Status::Ok && self.grpc_status.is_none() && self.body_bytes() > 0
    }

    /// The length of the body that the head states.
    #[must_use]
    pub fn stated_bytes(&self) -> usize {
        self.body.as_ref().map_or(0, |body| body.len()) + self.padding_bytes
    }

    /// The length of the body that follows the head.
    #[must_use]
    pub fn body_bytes(&self) -> usize {
        if self.has_body { self.stated_bytes() } else { 0 }
    }

    /// What comes from this place of the body on that follows the head, up to where it does not lie in one piece.
    #[must_use]
    pub fn body_from(&self, offset: usize) -> &[u8] {
        let body = self.body.as_deref().unwrap_or_default();
        match body.get(offset..) {
            Some(rest) if !rest.is_empty() => rest,
            _ => &[b' '; MOST_PADDING_BYTES][..self.padding_bytes],
        }
    }

    /// The first bytes of the body that follows the head, which are not copied where no others are among them.
    #[must_use]
    pub fn shared_body(&self, length: usize) -> Bytes {
        match &self.body {
            Some(body) if length <= body.len() => Bytes::from_owner(Arc::clone(body)).slice(..length),
            _ => {
                let mut copied = Vec::with_capacity(length);
                self.append_body(0..length, &mut copied);
                copied.into()
            }
        }
    }

    /// Appends a part of the body that follows the head.
    #[inline]
    pub fn append_body(&self, part: Range<usize>, to: &mut Vec<u8>) {
        let body = self.body.as_deref().unwrap_or_default();
        let kept = part.start.min(body.len())..part.end.min(body.len());
        let padding_bytes = part.len() - kept.len();
        to.extend_from_slice(&body[kept]);
        if padding_bytes > 0 {
            to.resize(to.len() + padding_bytes, b' ');
        }
    }
}
