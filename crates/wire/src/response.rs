//! The responses of one connection, from any split of the bytes.

use crate::chunked::{ChunkedDecoder, shorter};
use crate::error::{ClosedEarly, Malformed, Section};
use crate::grpc_status::GrpcStatus;
use crate::head::{BodyFraming, Head, Outline};
use crate::lines::LineReader;
use crate::request::RequestKind;

/// How much a response may make the parser hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The longest header block in bytes, blank line included. It holds for a chunk size line and for a trailer
    /// section as well.
    pub header_bytes: usize,
}

impl Default for Limits {
    /// 64 KiB.
    fn default() -> Self {
        Self { header_bytes: 64 * 1024 }
    }
}

/// One complete final response. The three counts add up to all the bytes received for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Response {
    /// The status code, 200 to 599.
    pub status: u16,
    /// Length of the status line, the header fields and the blank line.
    pub header_bytes: u64,
    /// Length of the body without its framing.
    pub body_bytes: u64,
    /// Length of what frames the body (chunk size lines, line ends after chunks, trailers) and of interim (1xx)
    /// responses.
    pub framing_bytes: u64,
    /// Length of a message of WebSocket once it is inflated; `None` where it was not compressed.
    pub inflated_bytes: Option<u64>,
    /// Whether the connection may carry another request.
    pub keep_alive: bool,
    /// How a call of gRPC has ended, where the last header block of an answer of HTTP/2 says so.
    pub grpc_status: Option<GrpcStatus>,
}

impl Response {
    /// Length of what was said: that of the body, inflated where this was done.
    #[must_use]
    pub fn content_bytes(&self) -> u64 {
        self.inflated_bytes.unwrap_or(self.body_bytes)
    }
}

/// What one slice of bytes brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes consumed: all of them, or those up to the end of the response.
    pub consumed: usize,
    /// The final response that ended.
    pub response: Option<Response>,
}

/// An incremental parser of HTTP/1.x responses (RFC 9112), one per connection.
///
/// Where the RFC leaves a choice, this parser
/// - accepts a single LF as the end of a status line or field line, but not of a chunk size line;
/// - accepts a missing reason phrase, with or without the space before it;
/// - reads a folded field value with spaces in place of its line ends;
/// - accepts Content-Length values that are repeated and equal;
/// - refuses control characters in values, whitespace before a colon, blank lines before a status line and status
///   codes outside 100 to 599;
/// - refuses an invalid Content-Length even where a Transfer-Encoding overrides it;
/// - skips interim (1xx) responses, and refuses 101, because no request asks for an upgrade.
///
/// Nothing is copied as long as a line lies in one slice; a split line is kept in a buffer that is reused. Skipping a
/// body of known length takes constant time.
#[derive(Debug, Clone)]
pub struct ResponseParser {
    lines: LineReader,
    head: Head,
    /// The response whose header block is complete.
    body: Option<ResponseBody>,
    /// Length of the interim responses before the header block under way.
    interim_bytes: u64,
}

/// A response whose header block is complete, and where its body is.
#[derive(Debug, Clone)]
struct ResponseBody {
    /// Holds the counts so far.
    response: Response,
    state: BodyState,
}

#[derive(Debug, Clone)]
enum BodyState {
    Length { remaining_bytes: u64 },
    Chunked(ChunkedDecoder),
    UntilClose,
}

impl Default for ResponseParser {
    fn default() -> Self {
        Self::new(Limits::default())
    }
}

impl ResponseParser {
    /// A parser for a new connection.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            lines: LineReader::new(limits.header_bytes),
            head: Head::default(),
            body: None,
            interim_bytes: 0,
        }
    }

    /// Consumes bytes up to the end of one final response at most. `request` is the oldest unanswered request.
    ///
    /// # Errors
    /// The response breaks the grammar or the framing of HTTP/1.x. Close the connection; [`reset`](Self::reset) makes
    /// the parser ready for a new one.
    pub fn feed(&mut self, bytes: &[u8], request: RequestKind) -> Result<Progress, Malformed> {
        self.feed_with(bytes, request, &mut |_, _| ())
    }

    /// Consumes bytes as [`feed`](Self::feed), and hands the parts of the body, without its framing, to `take_body`,
    /// each with the status.
    pub(crate) fn feed_with(
        &mut self,
        bytes: &[u8],
        request: RequestKind,
        take_body: &mut impl FnMut(u16, &[u8]),
    ) -> Result<Progress, Malformed> {
        let (mut body, header_consumed) = match self.body.take() {
            Some(body) => (body, 0),
            None => match self.feed_header(bytes, request)? {
                Some(completed) => completed,
                None => return Ok(Progress { consumed: bytes.len(), response: None }),
            },
        };
        let status = body.response.status;
        let take_body = &mut |part: &[u8]| take_body(status, part);
        let (body_consumed, ended) = body.feed(&bytes[header_consumed..], &mut self.lines, take_body)?;
        let consumed = header_consumed + body_consumed;
        if ended {
            return Ok(Progress { consumed, response: Some(body.response) });
        }
        self.body = Some(body);
        Ok(Progress { consumed, response: None })
    }

    /// The peer closed the connection. This completes a body that lasts until the close; `None` means that no
    /// response was under way. Either way the parser is ready for a new connection.
    ///
    /// # Errors
    /// A response was cut off.
    pub fn end_of_input(&mut self) -> Result<Option<Response>, ClosedEarly> {
        let is_idle = self.is_idle();
        let header_bytes = self.lines.received_bytes() as u64;
        let body = self.body.take();
        self.reset();
        match body {
            None if is_idle => Ok(None),
            None => Err(ClosedEarly::InHeader { received_bytes: header_bytes }),
            Some(ResponseBody { response, state }) => match state {
                BodyState::UntilClose => Ok(Some(response)),
                BodyState::Length { remaining_bytes } => Err(ClosedEarly::InBody {
                    received_bytes: response.body_bytes,
                    expected_bytes: response.body_bytes + remaining_bytes,
                }),
                BodyState::Chunked(_) => {
                    Err(ClosedEarly::InChunkedBody { received_bytes: response.body_bytes })
                }
            },
        }
    }

    /// Whether nothing of a response has been seen since the last one ended.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.body.is_none() && self.interim_bytes == 0 && self.lines.received_bytes() == 0
    }

    /// The response under way, once its header block is complete, with what has come of its body.
    pub(crate) fn begun(&self) -> Option<Response> {
        self.body.as_ref().map(|body| body.response)
    }

    /// Where the first redirection of all its connections leads.
    pub(crate) fn first_location(&self) -> Option<&[u8]> {
        self.head.first_location()
    }

    /// The line under way, as far as it has come.
    pub(crate) fn partial(&self) -> &[u8] {
        self.lines.partial()
    }

    /// Forgets the response under way, for a new connection. The memory is kept.
    pub fn reset(&mut self) {
        self.lines.reset();
        self.head.reset();
        self.body = None;
        self.interim_bytes = 0;
    }

    /// Consumes the lines of header blocks up to the blank line of a final one; gives the response that it begins and
    /// the bytes consumed. `None` means that every byte was consumed before that line.
    fn feed_header(
        &mut self,
        bytes: &[u8],
        request: RequestKind,
    ) -> Result<Option<(ResponseBody, usize)>, Malformed> {
        let mut consumed = 0;
        loop {
            consumed += self.head.plain_fields(&bytes[consumed..], &mut self.lines)?;
            let rest = &bytes[consumed..];
            self.head.check_protocol(self.lines.partial(), rest)?;
            let head = &mut self.head;
            let read = self.lines.read(rest, Section::HeaderBlock, |line| head.line(line, request))?;
            let Some((line_bytes, outline)) = read else {
                return Ok(None);
            };
            consumed += line_bytes;
            if let Some(outline) = outline {
                let header_bytes = self.lines.end_section() as u64;
                if outline.status >= 200 {
                    let interim_bytes = std::mem::take(&mut self.interim_bytes);
                    return Ok(Some((ResponseBody::new(outline, header_bytes, interim_bytes), consumed)));
                }
                self.interim_bytes += header_bytes;
            }
        }
    }
}

impl ResponseBody {
    fn new(outline: Outline, header_bytes: u64, interim_bytes: u64) -> Self {
        let Outline { status, body, keep_alive } = outline;
        let response = Response {
            status,
            header_bytes,
            body_bytes: 0,
            framing_bytes: interim_bytes,
            inflated_bytes: None,
            keep_alive,
            grpc_status: None,
        };
        let state = match body {
            BodyFraming::Length(remaining_bytes) => BodyState::Length { remaining_bytes },
            BodyFraming::Chunked => BodyState::Chunked(ChunkedDecoder::SizeLine),
            BodyFraming::UntilClose => BodyState::UntilClose,
        };
        Self { response, state }
    }

    /// Consumes bytes up to the end of the body at most; gives their number and whether the body ended.
    fn feed(
        &mut self,
        bytes: &[u8],
        lines: &mut LineReader,
        take_body: &mut impl FnMut(&[u8]),
    ) -> Result<(usize, bool), Malformed> {
        match &mut self.state {
            BodyState::Length { remaining_bytes } => {
                let consumed = shorter(bytes.len(), *remaining_bytes);
                take_body(&bytes[..consumed]);
                *remaining_bytes -= consumed as u64;
                self.response.body_bytes += consumed as u64;
                Ok((consumed, *remaining_bytes == 0))
            }
            BodyState::Chunked(decoder) => {
                let progress = decoder.feed(bytes, lines, take_body)?;
                self.response.body_bytes += progress.data_bytes as u64;
                self.response.framing_bytes += (progress.consumed - progress.data_bytes) as u64;
                Ok((progress.consumed, progress.ended))
            }
            BodyState::UntilClose => {
                take_body(bytes);
                self.response.body_bytes += bytes.len() as u64;
                Ok((bytes.len(), false))
            }
        }
    }
}
