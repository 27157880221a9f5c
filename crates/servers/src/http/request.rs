//! Request heads, read from the bytes received so far.

use httparse::{EMPTY_HEADER, Error, Header};

use super::Status;

/// A request with more header fields than this is refused; Apache's default for `LimitRequestFields`.
const MOST_FIELDS: usize = 100;

/// What the bytes received so far begin with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// The beginning of a request head.
    Incomplete,
    /// A whole request head.
    Request {
        /// What it asks for.
        request: Request,
        /// How many bytes it took.
        length: usize,
    },
    /// No request that can be answered otherwise; where the next one begins is unknown.
    Refused(Status),
}

/// What a request head says, as far as a server of files must know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// What is to be done with the target.
    pub method: Method,
    /// The request target, as it was received.
    pub target: String,
    /// Whether content follows the head (RFC 9112 §6).
    pub has_content: bool,
    /// Whether the client expects the connection to go on after the answer (RFC 9112 §9.3).
    pub keeps_connection: bool,
}

/// What a request asks to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Send the file.
    Get,
    /// Send what would be in front of the file.
    Head,
    /// A method of HTTP that files do not allow.
    NotAllowed,
    /// No method that this server knows.
    Unknown,
}

/// Reads the request head that `bytes` begin with. More bytes never change an outcome but [`Parsed::Incomplete`].
#[must_use]
pub fn parse(bytes: &[u8]) -> Parsed {
    let mut fields = [EMPTY_HEADER; MOST_FIELDS];
    let mut head = httparse::Request::new(&mut fields);
    let length = match head.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Parsed::Incomplete,
        Err(Error::TooManyHeaders) => return Parsed::Refused(Status::HeaderFieldsTooLarge),
        Err(Error::Version) if names_a_version(bytes) => return Parsed::Refused(Status::VersionNotSupported),
        Err(_) => return Parsed::Refused(Status::BadRequest),
    };
    match request_of(&head) {
        Some(request) => Parsed::Request { request, length },
        None => Parsed::Refused(Status::BadRequest),
    }
}

/// Whether the third word is a version of HTTP, if not one that can be answered.
fn names_a_version(bytes: &[u8]) -> bool {
    bytes.split(|byte| *byte == b' ').nth(2).is_some_and(|word| word.starts_with(b"HTTP/"))
}

/// What a whole head says; `None` if its fields contradict RFC 9112.
fn request_of(head: &httparse::Request) -> Option<Request> {
    let is_http_1_1 = head.version? == 1;
    let hosts = values(head.headers, "Host").count();
    if hosts > 1 || (is_http_1_1 && hosts == 0) {
        return None;
    }
    let wants = |wish: &str| options(head.headers).any(|option| option.eq_ignore_ascii_case(wish.as_bytes()));
    Some(Request {
        method: method_of(head.method?),
        target: head.path?.to_owned(),
        has_content: has_content(head.headers)?,
        keeps_connection: !wants("close") && (is_http_1_1 || wants("keep-alive")),
    })
}

fn method_of(name: &str) -> Method {
    match name {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "CONNECT" | "DELETE" | "OPTIONS" | "PATCH" | "POST" | "PUT" | "TRACE" => Method::NotAllowed,
        _ => Method::Unknown,
    }
}

/// Whether content follows; `None` if its length is not a number.
fn has_content(fields: &[Header]) -> Option<bool> {
    let mut has_content = values(fields, "Transfer-Encoding").next().is_some();
    for length in values(fields, "Content-Length") {
        if length.is_empty() || !length.iter().all(u8::is_ascii_digit) {
            return None;
        }
        has_content |= length.iter().any(|digit| *digit != b'0');
    }
    Some(has_content)
}

/// The options of all `Connection` fields.
fn options<'a>(fields: &'a [Header<'a>]) -> impl Iterator<Item = &'a [u8]> {
    values(fields, "Connection").flat_map(|value| value.split(|byte| *byte == b',')).map(<[u8]>::trim_ascii)
}

fn values<'a>(fields: &'a [Header<'a>], name: &'static str) -> impl Iterator<Item = &'a [u8]> {
    let is_named = move |field: &&Header| field.name.eq_ignore_ascii_case(name);
    fields.iter().filter(is_named).map(|field| field.value.trim_ascii())
}
