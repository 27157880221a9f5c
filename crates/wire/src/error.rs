//! Why a response could not be read.

mod answer;
mod deflate;
mod grpc;
mod http2;
mod http3;
mod websocket;

use std::error::Error;
use std::fmt::{self, Display, Formatter};

pub use answer::AnswerError;
pub use deflate::DeflateError;
pub use grpc::GrpcError;
pub(crate) use http2::INITIAL_WINDOW_SIZE;
pub use http2::{ErrorCode, HpackError, Http2Error};
pub use http3::{CriticalStream, Http3Code, Http3Error, QpackError, QuicCode};
pub use websocket::WebSocketError;

/// A part of a response that is read line by line and whose length is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// The status line, the header fields and the blank line.
    HeaderBlock,
    /// The line before the data of a chunk: its size and its extensions.
    ChunkSizeLine,
    /// The fields after the last chunk, and the blank line.
    TrailerSection,
}

impl Display for Section {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::HeaderBlock => "header block",
            Self::ChunkSizeLine => "chunk size line",
            Self::TrailerSection => "trailer section",
        })
    }
}

/// What breaks the grammar or the framing of HTTP. A connection of HTTP/1.x cannot be used any further, because where the
/// next response begins is unknown; one of HTTP/2 or HTTP/3 may, where only one of its streams is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Malformed {
    /// What protects the connection was refused, or cannot be trusted; [`Exchange::complaint`] says why.
    ///
    /// [`Exchange::complaint`]: crate::Exchange::complaint
    Protection,
    /// Bytes came although no request was under way.
    Unasked,
    /// The first bytes are not `HTTP/1.`.
    NotHttp1,
    /// The first byte, 0, is that of a frame of HTTP/2 shorter than 64 KiB (RFC 9113 §4.1), in place of `HTTP/1.`.
    Http2InsteadOfHttp1,
    /// The first byte is that of an alert or a handshake of TLS (RFC 8446 §5.1), in place of `HTTP/1.`.
    TlsInsteadOfHttp1,
    /// The status line is not a version, a space, three digits and, after a space, a reason phrase.
    StatusLine,
    /// The status code is outside 100 to 599 (RFC 9110 §15).
    StatusCode {
        /// The number in the status line.
        status: u16,
    },
    /// The reason phrase holds a control character.
    ReasonPhrase,
    /// Status 101 answers a request that asked for no upgrade.
    UnexpectedUpgrade,
    /// The line after the status line begins with whitespace (RFC 9112 §2.2).
    WhitespaceBeforeFirstField,
    /// A field line does not begin with a token and a colon; whitespace before the colon is one case of it.
    FieldName,
    /// A field value holds a control character, such as NUL or a CR that ends no line.
    FieldValue,
    /// A Content-Length is not made of decimal digits.
    ContentLength,
    /// A Content-Length does not fit in 64 bits.
    ContentLengthOverflow,
    /// Two values of Content-Length differ.
    ContentLengthConflict,
    /// A Transfer-Encoding is not a list of codings, or gives parameters to `chunked`, which has none.
    TransferEncoding,
    /// The chunked coding is applied twice (RFC 9112 §6.1).
    ChunkedTwice,
    /// A section is longer than the limit.
    TooLarge {
        /// The part of the response.
        section: Section,
        /// The longest that was allowed.
        limit_bytes: usize,
    },
    /// A chunk size line does not begin with a hexadecimal digit.
    ChunkSize,
    /// A chunk size does not fit in 64 bits.
    ChunkSizeOverflow,
    /// What follows a chunk size is not an extension that begins with a semicolon.
    ChunkExtension,
    /// A chunk size line ends in a bare LF.
    ChunkSizeLineEnd,
    /// The data of a chunk is not followed by CRLF.
    ChunkDataEnd,
    /// An answer of HTTP/2 or HTTP/3 is malformed.
    Answer(AnswerError),
    /// The messages of an answer of gRPC are not what was asked for.
    Grpc(GrpcError),
    /// The server breaks HTTP/2.
    Http2(Http2Error),
    /// The server breaks HTTP/3.
    Http3(Http3Error),
    /// The server breaks WebSocket, or refuses it.
    WebSocket(WebSocketError),
}

impl Malformed {
    /// Why what begins with this byte is no response of HTTP/1.x.
    pub(crate) const fn instead_of_http1(first: u8) -> Self {
        match first {
            0 => Self::Http2InsteadOfHttp1,
            0x15 | 0x16 => Self::TlsInsteadOfHttp1,
            _ => Self::NotHttp1,
        }
    }

    /// The code with which HTTP/2 ends a stream or a connection because of it (RFC 9113 §7).
    pub(crate) fn code(self) -> ErrorCode {
        match self {
            Self::Http2(error) => error.into(),
            _ => ErrorCode::ProtocolError,
        }
    }

    /// The code with which HTTP/3 ends a stream or a connection because of it (RFC 9114 §8).
    #[must_use]
    pub const fn http3_code(self) -> Http3Code {
        match self {
            Self::Http3(error) => error.code(),
            Self::TooLarge { .. } => Http3Code::EXCESSIVE_LOAD,
            _ => Http3Code::MESSAGE_ERROR,
        }
    }
}

impl Display for Malformed {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Protection => "the TLS connection was refused, or cannot be trusted",
            Self::Unasked => "the server sent data that no request had asked for",
            Self::NotHttp1 => {
                "the response does not begin with \"HTTP/1.\"; does the server speak another protocol on this port?"
            }
            Self::Http2InsteadOfHttp1 => {
                "the response begins like a frame of HTTP/2; a server that speaks HTTP/2 alone is loaded with http = \"2\", and \
                 one of gRPC by grpc://"
            }
            Self::TlsInsteadOfHttp1 => {
                "the response begins like a record of TLS; a server that encrypts is loaded by https://, or wss://"
            }
            Self::StatusLine => {
                "the status line is not of the form \"HTTP/1.1 200 OK\": a version, one space, three digits, a reason"
            }
            Self::StatusCode { status } => {
                return write!(formatter, "the status code is {status:03}; it must lie between 100 and 599");
            }
            Self::ReasonPhrase => "the status line has a control character in its reason phrase",
            Self::UnexpectedUpgrade => {
                "the server switched to another protocol (status 101 Switching Protocols), which no request had asked for"
            }
            Self::WhitespaceBeforeFirstField => {
                "the line after the status line begins with whitespace; a header field was expected"
            }
            Self::FieldName => {
                "a header or trailer line does not begin with a field name and, directly after it, a colon"
            }
            Self::FieldValue => "a header or trailer value has a control character, such as NUL or a lone CR",
            Self::ContentLength => "a Content-Length is not a decimal number",
            Self::ContentLengthOverflow => "a Content-Length does not fit in 64 bits",
            Self::ContentLengthConflict => "the response states two different values of Content-Length",
            Self::TransferEncoding => {
                "a Transfer-Encoding is not a list of codings, or gives parameters to \"chunked\", which has none"
            }
            Self::ChunkedTwice => "Transfer-Encoding applies \"chunked\" twice; it may be applied once",
            Self::TooLarge { section, limit_bytes } => {
                return write!(
                    formatter,
                    "the {section} is longer than the {limit_bytes} bytes that this client reads"
                );
            }
            Self::ChunkSize => "a chunk size line does not begin with a hexadecimal number",
            Self::ChunkSizeOverflow => "a chunk size does not fit in 64 bits",
            Self::ChunkExtension => {
                "a chunk size is followed by something other than extensions that begin with a semicolon"
            }
            Self::ChunkSizeLineEnd => "a chunk size line ends in LF alone; CRLF was expected",
            Self::Answer(error) => return error.fmt(formatter),
            Self::Grpc(error) => return error.fmt(formatter),
            Self::Http2(error) => return error.fmt(formatter),
            Self::Http3(error) => return error.fmt(formatter),
            Self::WebSocket(error) => return error.fmt(formatter),
            Self::ChunkDataEnd => "the data of a chunk is not followed by CRLF; its length differs from its stated size",
        })
    }
}

impl Error for Malformed {}

/// The peer closed the connection in the middle of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClosedEarly {
    /// The header block was cut off, or no final response followed an interim one.
    InHeader {
        /// Bytes of the header block under way that had arrived.
        received_bytes: u64,
    },
    /// A body with a Content-Length was cut off.
    InBody {
        /// Bytes of the body that had arrived.
        received_bytes: u64,
        /// The Content-Length.
        expected_bytes: u64,
    },
    /// A chunked body was cut off, or its last chunk or trailer section did not arrive.
    InChunkedBody {
        /// Bytes of decoded payload that had arrived.
        received_bytes: u64,
    },
}

impl Display for ClosedEarly {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::InHeader { received_bytes } => write!(
                formatter,
                "the server closed the connection after {received_bytes} bytes of a header block; its blank line never came"
            ),
            Self::InBody { received_bytes, expected_bytes } => write!(
                formatter,
                "the server closed the connection after {received_bytes} of the {expected_bytes} body bytes that its \
                 Content-Length states"
            ),
            Self::InChunkedBody { received_bytes } => write!(
                formatter,
                "the server closed the connection after {received_bytes} bytes of a chunked body; its end never came"
            ),
        }
    }
}

impl Error for ClosedEarly {}
