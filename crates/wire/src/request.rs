//! Requests as templates: what is the same every time, and what differs.

use std::borrow::Cow;
use std::error::Error;
use std::fmt::{self, Display, Formatter};

use crate::bytes::{is_text, is_token};

const USER_AGENT: &str = concat!("loadcurve/", env!("CARGO_PKG_VERSION"));

/// What the parser must know of a request to read the response to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestKind {
    /// A HEAD request: its response has no body, whatever its fields say.
    Head,
    /// Any other request.
    Other,
    /// One after which the connection ends unless the response says that it stays: of HTTP/1.0, or with
    /// `Connection: close` (RFC 9112 §9.3).
    Single {
        /// Whether it is a HEAD request.
        is_head: bool,
    },
}

impl RequestKind {
    pub(crate) fn is_head(self) -> bool {
        matches!(self, Self::Head | Self::Single { is_head: true })
    }

    /// Whether the connection stays after a response that does not speak of it.
    pub(crate) fn persists(self) -> bool {
        !matches!(self, Self::Single { .. })
    }
}

/// The method of a request: any token but CONNECT. Methods are case-sensitive (RFC 9110 §9.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Method<'a>(&'a str);

impl<'a> Method<'a> {
    /// The GET method.
    pub const GET: Method<'static> = Method("GET");
    /// POST.
    pub const POST: Method<'static> = Method("POST");

    /// Checks a method.
    ///
    /// # Errors
    /// The name is not a token, or it is CONNECT, whose answer would be a tunnel.
    pub fn new(name: &'a str) -> Result<Self, InvalidRequest> {
        if !is_token(name.as_bytes()) {
            return Err(InvalidRequest::Method { method: name.to_owned() });
        }
        if name == "CONNECT" {
            return Err(InvalidRequest::Connect);
        }
        Ok(Self(name))
    }

    /// The name, as it is in the request line.
    #[must_use]
    pub const fn as_str(self) -> &'a str {
        self.0
    }

    /// What a [`ResponseParser`](crate::ResponseParser) must know of a request with this method.
    #[must_use]
    pub fn kind(self) -> RequestKind {
        if self.0 == "HEAD" { RequestKind::Head } else { RequestKind::Other }
    }

    /// Whether to repeat it has the effect of doing it once (RFC 9110 §9.2.2).
    pub(crate) fn is_idempotent(self) -> bool {
        matches!(self.0, "GET" | "HEAD" | "OPTIONS" | "TRACE" | "PUT" | "DELETE")
    }

    /// Whether servers expect a body, so that an absent one is announced with a Content-Length of 0 (RFC 9110 §8.6).
    fn expects_body(self) -> bool {
        matches!(self.0, "POST" | "PUT" | "PATCH")
    }
}

/// The version of HTTP that a request speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Version {
    /// The connection ends with the answer unless the request asks to keep it.
    Http10,
    /// The connection stays unless one side ends it.
    #[default]
    Http11,
}

/// The body of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body<'a> {
    /// These bytes, encoded with the rest of the request; none for no body.
    Bytes(&'a [u8]),
    /// This many bytes, which are read while they are sent.
    Following(u64),
}

impl Body<'_> {
    fn length(self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Following(length) => length,
        }
    }
}

/// The target of a request, as it is in the request line: a path with a query, an absolute URL, or `*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target<'a> {
    /// The same every time.
    Fixed(&'a str),
    /// Another one every time, given when the request begins; whoever gives it knows that it is one ([`is_path`]).
    Varying,
    /// The same behind this, which no target of HTTP/2 has: the scheme and the authority of an absolute URL.
    VaryingBehind(&'a str),
}

impl<'a> Target<'a> {
    fn as_str(self) -> &'a str {
        match self {
            Self::Fixed(target) | Self::VaryingBehind(target) => target,
            Self::Varying => "",
        }
    }
}

/// A request that may be sent many times.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The version.
    pub version: Version,
    /// The method.
    pub method: Method<'a>,
    /// The target.
    pub target: Target<'a>,
    /// The host and, unless it is the default, the port: `localhost:8080` or `[::1]:8080`.
    pub authority: &'a str,
    /// Names and values, written in this order.
    pub headers: &'a [(&'a str, &'a str)],
    /// The body.
    pub body: Body<'a>,
    /// Whether the body is sent in chunks, without its length: by HTTP/1.1's transfer coding (RFC 9112 §7.1), or over HTTP/2
    /// without Content-Length.
    pub is_chunked: bool,
}

impl Request<'_> {
    /// The request in bytes of HTTP/1.x, without a target that varies. Host and User-Agent are added unless `headers` has
    /// them, and Content-Length is added where there is a body or the method expects one; nothing else is.
    ///
    /// # Errors
    /// A part of the request would break its framing, or leave the server no way to answer it.
    pub fn encode(&self) -> Result<Vec<u8>, InvalidRequest> {
        let host = self.check()?;
        let version = match self.version {
            Version::Http10 => "HTTP/1.0",
            Version::Http11 => "HTTP/1.1",
        };
        let mut head = format!("{} {} {version}\r\n", self.method.as_str(), self.target.as_str());
        let mut add = |name: &str, value: &str| {
            for part in [name, ": ", value, "\r\n"] {
                head.push_str(part);
            }
        };
        // RFC 9110 §7.2 asks for Host as the first field.
        if host.is_none() {
            add("Host", self.authority);
        }
        for (name, value) in self.headers {
            add(name, value);
        }
        for (name, value) in self.added_fields() {
            add(name, &value);
        }
        if self.is_chunked {
            add("Transfer-Encoding", "chunked");
        }
        head.push_str("\r\n");

        let mut bytes = head.into_bytes();
        match self.body {
            Body::Bytes(body) if self.is_chunked => {
                append_chunk(body, &mut bytes);
                bytes.extend_from_slice(LAST_CHUNK);
            }
            Body::Bytes(body) => bytes.extend_from_slice(body),
            Body::Following(0) if self.is_chunked => bytes.extend_from_slice(LAST_CHUNK),
            Body::Following(_) => {}
        }
        Ok(bytes)
    }

    /// What a parser of HTTP/1.x must know of it to read the response.
    pub(crate) fn kind(&self) -> RequestKind {
        let options = self.find_all("Connection").flat_map(|value| value.split(','));
        let (mut closes, mut keeps) = (false, false);
        for option in options.map(|option| option.trim_matches([' ', '\t'])) {
            closes |= option.eq_ignore_ascii_case("close");
            keeps |= option.eq_ignore_ascii_case("keep-alive");
        }
        let is_single = closes || (self.version == Version::Http10 && !keeps);
        let kind = self.method.kind();
        if is_single { RequestKind::Single { is_head: kind.is_head() } } else { kind }
    }

    /// Where in the encoded bytes the target is, or what varies of it belongs.
    pub(crate) fn target_at(&self) -> usize {
        let before = match self.target {
            Target::VaryingBehind(prefix) => prefix.len(),
            Target::Fixed(_) | Target::Varying => 0,
        };
        self.method.as_str().len() + 1 + before
    }

    /// Checks what every version of HTTP asks of a request; gives the Host among its headers.
    pub(crate) fn check(&self) -> Result<Option<&str>, InvalidRequest> {
        if let Target::Fixed(target) = self.target {
            check_target(target)?;
        }
        check_authority(self.authority)?;
        for (name, value) in self.headers {
            check_header(name, value)?;
        }
        self.check_framing(self.find_once("Content-Length")?)?;
        self.find_once("Host")
    }

    /// The fields that follow the given ones, where they are not among them.
    pub(crate) fn added_fields(&self) -> impl Iterator<Item = (&'static str, Cow<'static, str>)> {
        let is_given = |name| self.find_all(name).next().is_some();
        let body_bytes = self.body.length();
        let has_length = !self.is_chunked && (body_bytes > 0 || self.method.expects_body());
        let agent = (!is_given("User-Agent")).then_some(("User-Agent", Cow::Borrowed(USER_AGENT)));
        let length = (has_length && !is_given("Content-Length"))
            .then(|| ("Content-Length", Cow::Owned(body_bytes.to_string())));
        agent.into_iter().chain(length)
    }

    fn find_all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.headers.iter().filter(move |header| header.0.eq_ignore_ascii_case(name)).map(|header| header.1)
    }

    fn find_once(&self, name: &'static str) -> Result<Option<&str>, InvalidRequest> {
        let mut values = self.find_all(name);
        match (values.next(), values.next()) {
            (value, None) => Ok(value),
            (_, Some(_)) => Err(InvalidRequest::Repeated { name }),
        }
    }

    fn check_framing(&self, content_length: Option<&str>) -> Result<(), InvalidRequest> {
        if self.find_all("Transfer-Encoding").next().is_some() {
            return Err(InvalidRequest::TransferEncoding);
        }
        if self.is_chunked && self.version == Version::Http10 {
            return Err(InvalidRequest::ChunkedInHttp10);
        }
        match content_length {
            Some(_) if self.is_chunked => Err(InvalidRequest::ChunkedWithLength),
            Some(stated) if stated.trim_matches([' ', '\t']) != self.body.length().to_string() => {
                let body_bytes = self.body.length();
                Err(InvalidRequest::ContentLength { stated: stated.to_owned(), body_bytes })
            }
            _ => Ok(()),
        }
    }
}

/// What ends a body in chunks.
pub(crate) const LAST_CHUNK: &[u8] = b"0\r\n\r\n";
/// The most bytes of a chunk's framing, and of what ends the body: 16 digits and two line ends, and [`LAST_CHUNK`].
pub(crate) const CHUNK_FRAMING_BYTES_MAX: usize = 16 + 2 + 2 + LAST_CHUNK.len();

/// Appends bytes as one chunk; without any, appends nothing, because an empty chunk would end the body.
fn append_chunk(bytes: &[u8], to: &mut Vec<u8>) {
    if !bytes.is_empty() {
        to.extend_from_slice(chunk_size(bytes.len()).as_bytes());
        to.extend_from_slice(bytes);
        to.extend_from_slice(b"\r\n");
    }
}

/// The line in front of a chunk of this many bytes.
pub(crate) fn chunk_size(bytes: usize) -> String {
    format!("{bytes:x}\r\n")
}

/// Whether these bytes are a path, with or without a query, that can be the target of a request.
#[must_use]
pub fn is_path(bytes: &[u8]) -> bool {
    bytes.starts_with(b"/") && has_target_bytes(bytes)
}

fn check_target(target: &str) -> Result<(), InvalidRequest> {
    let has_form = target.starts_with('/') || target == "*" || target.contains("://");
    if has_form && has_target_bytes(target.as_bytes()) {
        Ok(())
    } else {
        Err(InvalidRequest::Target { target: target.to_owned() })
    }
}

fn has_target_bytes(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| byte.is_ascii_graphic() && *byte != b'#')
}

fn check_authority(authority: &str) -> Result<(), InvalidRequest> {
    let is_valid = !authority.is_empty()
        && authority
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'/' | b'?' | b'#' | b'@'));
    if is_valid { Ok(()) } else { Err(InvalidRequest::Authority { authority: authority.to_owned() }) }
}

fn check_header(name: &str, value: &str) -> Result<(), InvalidRequest> {
    if !is_token(name.as_bytes()) {
        return Err(InvalidRequest::HeaderName { name: name.to_owned() });
    }
    if !is_text(value.as_bytes()) {
        return Err(InvalidRequest::HeaderValue { name: name.to_owned() });
    }
    Ok(())
}

/// Why a request cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InvalidRequest {
    /// The method is not a token.
    Method {
        /// The method that was given.
        method: String,
    },
    /// The method is CONNECT.
    Connect,
    /// The target is of no known form, or has a character that cannot be in a request line.
    Target {
        /// The target that was given.
        target: String,
    },
    /// The authority is empty or has a character that cannot be in one.
    Authority {
        /// The authority that was given.
        authority: String,
    },
    /// The name of a header is not a token.
    HeaderName {
        /// The name that was given.
        name: String,
    },
    /// The value of a header has a control character.
    HeaderValue {
        /// The name of the header.
        name: String,
    },
    /// A header that may be given once is given more often.
    Repeated {
        /// The name of the header.
        name: &'static str,
    },
    /// A Content-Length was given that is not the length of the body.
    ContentLength {
        /// The value that was given.
        stated: String,
        /// The length of the body.
        body_bytes: u64,
    },
    /// A Transfer-Encoding was given.
    TransferEncoding,
    /// A body in chunks is to be sent by HTTP/1.0, which has none.
    ChunkedInHttp10,
    /// A Content-Length was given for a body in chunks.
    ChunkedWithLength,
    /// A field of HTTP/1.1 connections was given to a request of HTTP/2.
    ConnectionField {
        /// The name of the header.
        name: String,
    },
    /// A message of gRPC is longer than its four bytes of length can say, or is not there when the load begins.
    LongMessage,
    /// A field of the handshake of WebSocket was given, which is made for each connection.
    WebSocketField {
        /// The name of the header.
        name: String,
    },
    /// The target of a request of HTTP/2 is a URL.
    AbsoluteTarget {
        /// The target that was given.
        target: String,
    },
}

impl Display for InvalidRequest {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Method { method } => {
                write!(
                    formatter,
                    "the method {method:?} is not a word such as GET; use letters, digits and hyphens"
                )
            }
            Self::Connect => {
                formatter.write_str("the method CONNECT opens a tunnel; use a method that gets an answer")
            }
            Self::Target { target } => write!(
                formatter,
                "the target {target:?} is not a path that starts with \"/\", an absolute URL or \"*\" in printable ASCII; \
                 percent-encode other characters and leave out the fragment"
            ),
            Self::Authority { authority } => write!(
                formatter,
                "the authority {authority:?} is not a host with an optional port, such as \"localhost:8080\""
            ),
            Self::HeaderName { name } => write!(
                formatter,
                "the header name {name:?} is not a word such as Accept; use letters, digits and hyphens"
            ),
            Self::HeaderValue { name } => write!(
                formatter,
                "the value of the header {name:?} has a line break or another control character; remove it"
            ),
            Self::Repeated { name } => {
                write!(formatter, "the header {name} is given more than once; give it once")
            }
            Self::ContentLength { stated, body_bytes } => write!(
                formatter,
                "the header Content-Length says {stated:?}, but the body has {body_bytes} bytes; leave the header out"
            ),
            Self::TransferEncoding => formatter.write_str(
                "the header Transfer-Encoding cannot be set: bodies are sent with a Content-Length, or in chunks",
            ),
            Self::ChunkedInHttp10 => {
                formatter.write_str("a body cannot be sent in chunks by HTTP/1.0; use HTTP/1.1 or 2")
            }
            Self::ChunkedWithLength => formatter
                .write_str("a body in chunks is sent without Content-Length; leave the header or the chunks out"),
            Self::ConnectionField { name } => write!(
                formatter,
                "the header {name:?} belongs to connections of HTTP/1.1 and cannot be sent over HTTP/2 or 3; leave it out"
            ),
            Self::LongMessage => {
                formatter.write_str("a message of gRPC is held in memory and has less than 4 GiB; give a shorter one")
            }
            Self::WebSocketField { name } => write!(
                formatter,
                "the header {name:?} belongs to the handshake of WebSocket, which is made for each connection; \
                 leave it out"
            ),
            Self::AbsoluteTarget { target } => write!(
                formatter,
                "the target {target:?} is a URL, which requests of HTTP/2 cannot have; give its path, such as \"/\""
            ),
        }
    }
}

impl Error for InvalidRequest {}
