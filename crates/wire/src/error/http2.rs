//! How a server breaks HTTP/2.

use std::error::Error;
use std::fmt::{self, Display, Formatter};

use super::Malformed;

/// The identifier of the setting whose invalid values are faults of flow control (RFC 9113 §6.5.2).
pub(crate) const INITIAL_WINDOW_SIZE: u16 = 4;

/// Why a stream or a connection was ended (RFC 9113 §7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorCode {
    /// Nothing is wrong.
    NoError,
    /// The other side broke the protocol.
    ProtocolError,
    /// Something unexpected within the one that ends it.
    InternalError,
    /// More was sent than a window allowed.
    FlowControlError,
    /// The settings were not acknowledged in time.
    SettingsTimeout,
    /// A frame came for a stream that was closed.
    StreamClosed,
    /// A frame has a wrong length.
    FrameSizeError,
    /// The stream was refused before anything was done for it.
    RefusedStream,
    /// The stream is not wanted any more.
    Cancel,
    /// The state of the header compression is lost.
    CompressionError,
    /// The connection behind a tunnel failed.
    ConnectError,
    /// The other side makes too much work.
    EnhanceYourCalm,
    /// The encryption is too weak.
    InadequateSecurity,
    /// The request has to be made over HTTP/1.1.
    Http11Required,
    /// A code that the RFC does not have.
    Other(u32),
}

impl From<u32> for ErrorCode {
    fn from(code: u32) -> Self {
        match code {
            0x0 => Self::NoError,
            0x1 => Self::ProtocolError,
            0x2 => Self::InternalError,
            0x3 => Self::FlowControlError,
            0x4 => Self::SettingsTimeout,
            0x5 => Self::StreamClosed,
            0x6 => Self::FrameSizeError,
            0x7 => Self::RefusedStream,
            0x8 => Self::Cancel,
            0x9 => Self::CompressionError,
            0xa => Self::ConnectError,
            0xb => Self::EnhanceYourCalm,
            0xc => Self::InadequateSecurity,
            0xd => Self::Http11Required,
            code => Self::Other(code),
        }
    }
}

impl From<ErrorCode> for u32 {
    fn from(code: ErrorCode) -> Self {
        match code {
            ErrorCode::NoError => 0x0,
            ErrorCode::ProtocolError => 0x1,
            ErrorCode::InternalError => 0x2,
            ErrorCode::FlowControlError => 0x3,
            ErrorCode::SettingsTimeout => 0x4,
            ErrorCode::StreamClosed => 0x5,
            ErrorCode::FrameSizeError => 0x6,
            ErrorCode::RefusedStream => 0x7,
            ErrorCode::Cancel => 0x8,
            ErrorCode::CompressionError => 0x9,
            ErrorCode::ConnectError => 0xa,
            ErrorCode::EnhanceYourCalm => 0xb,
            ErrorCode::InadequateSecurity => 0xc,
            ErrorCode::Http11Required => 0xd,
            ErrorCode::Other(code) => code,
        }
    }
}

/// The code with which a stream or a connection ends because of a fault.
impl From<Http2Error> for ErrorCode {
    fn from(error: Http2Error) -> Self {
        match error {
            Http2Error::FrameTooLarge { .. } | Http2Error::FrameLength { .. } => Self::FrameSizeError,
            Http2Error::WindowOverflow
            | Http2Error::FlowControl
            | Http2Error::Setting { setting: INITIAL_WINDOW_SIZE, .. } => Self::FlowControlError,
            Http2Error::StreamClosed { .. } => Self::StreamClosed,
            Http2Error::Compression(_) => Self::CompressionError,
            Http2Error::Flood | Http2Error::ContinuationFlood => Self::EnhanceYourCalm,
            _ => Self::ProtocolError,
        }
    }
}

impl From<HpackError> for ErrorCode {
    fn from(error: HpackError) -> Self {
        Http2Error::Compression(error).into()
    }
}

/// How a server breaks HTTP/2 (RFC 9113).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Http2Error {
    /// It answers in HTTP/1.x.
    Http1,
    /// The first frame is not its SETTINGS.
    NoSettings,
    /// A frame is longer than the client allows.
    FrameTooLarge {
        /// The length of its payload.
        bytes: usize,
    },
    /// A frame of fixed length has another one.
    FrameLength {
        /// The type of the frame.
        kind: u8,
        /// The length of its payload.
        bytes: usize,
    },
    /// A frame names a stream that cannot carry it: none, one that the client has not opened, or any at all.
    FrameStream {
        /// The type of the frame.
        kind: u8,
        /// The stream.
        stream: u32,
    },
    /// A frame comes for a stream that has ended.
    StreamClosed {
        /// The stream.
        stream: u32,
    },
    /// The padding, or the priority, is longer than the frame.
    Padding,
    /// A setting has a value that it cannot have.
    Setting {
        /// Which setting.
        setting: u16,
        /// Its value.
        value: u32,
    },
    /// A header block is interrupted by another frame, or continues without having begun.
    Continuation,
    /// A header block has more CONTINUATION frames than any needs.
    ContinuationFlood,
    /// A header block cannot be decoded.
    Compression(HpackError),
    /// A push was promised although it was refused.
    Push,
    /// A window grows by nothing.
    WindowIncrement,
    /// A window grows beyond 2^31 − 1 bytes.
    WindowOverflow,
    /// More data came than the window allowed.
    FlowControl,
    /// Frames that need an answer come without end, and no response among them.
    Flood,
}

impl From<Http2Error> for Malformed {
    fn from(error: Http2Error) -> Self {
        Self::Http2(error)
    }
}

impl From<HpackError> for Malformed {
    fn from(error: HpackError) -> Self {
        Self::Http2(Http2Error::Compression(error))
    }
}

impl Display for Http2Error {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Http1 => "the server answered in HTTP/1.x; it does not speak HTTP/2 on this port",
            Self::NoSettings => {
                "the server's first frame is not SETTINGS; it does not speak HTTP/2 on this port, or speaks TLS there"
            }
            Self::FrameTooLarge { bytes } => {
                return write!(
                    formatter,
                    "a frame of {bytes} bytes is longer than the 16384 that the client allows"
                );
            }
            Self::FrameLength { kind, bytes } => {
                return write!(
                    formatter,
                    "a {} frame has an invalid length of {bytes} bytes",
                    KindName(*kind)
                );
            }
            Self::FrameStream { kind, stream } => {
                return write!(
                    formatter,
                    "a {} frame arrived on stream {stream}, where it is not allowed",
                    KindName(*kind)
                );
            }
            Self::StreamClosed { stream } => {
                return write!(formatter, "a frame arrived on stream {stream}, which had ended");
            }
            Self::Padding => "the padding of a frame is longer than the frame",
            Self::Setting { setting, value } => {
                return write!(formatter, "the server's setting {setting} has the invalid value {value}");
            }
            Self::Continuation => {
                "a header block was interrupted by another frame, or continued without having begun"
            }
            Self::ContinuationFlood => "a header block has more CONTINUATION frames than allowed",
            Self::Compression(error) => {
                return write!(formatter, "a header block cannot be decompressed: {error}");
            }
            Self::Push => "the server pushed a response although the client had refused pushes",
            Self::WindowIncrement => "a WINDOW_UPDATE frame enlarges a window by 0 bytes",
            Self::WindowOverflow => "a window was enlarged beyond 2147483647 bytes",
            Self::FlowControl => "the server sent more data than the client's window allowed",
            Self::Flood => {
                "the server kept sending frames that carry no data or only require replies (a flood)"
            }
        };
        formatter.write_str(text)
    }
}

/// The name of a type of frames.
struct KindName(u8);

impl Display for KindName {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        const NAMES: [&str; 10] = [
            "DATA",
            "HEADERS",
            "PRIORITY",
            "RST_STREAM",
            "SETTINGS",
            "PUSH_PROMISE",
            "PING",
            "GOAWAY",
            "WINDOW_UPDATE",
            "CONTINUATION",
        ];
        match NAMES.get(usize::from(self.0)) {
            Some(name) => formatter.write_str(name),
            None => write!(formatter, "type {} ", self.0),
        }
    }
}

/// Why a header block cannot be decoded. The connection is of no more use, because the tables of the two sides differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HpackError {
    /// The block ends within a field.
    Truncated,
    /// An integer does not fit in 32 bits, or has more leading zeros than anybody needs.
    IntegerOverflow,
    /// There is no entry at an index.
    Index {
        /// The index.
        index: usize,
    },
    /// A Huffman-coded string does not end in up to seven ones.
    HuffmanPadding,
    /// A Huffman-coded string has the end-of-string symbol.
    HuffmanEndOfString,
    /// The table is to become larger than was agreed.
    TableSize {
        /// The size that the peer has announced.
        bytes: usize,
        /// The largest that was agreed.
        most_bytes: usize,
    },
    /// The size of the table changes behind a field.
    LateTableSize,
}

impl Display for HpackError {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Truncated => "it ends within a field",
            Self::IntegerOverflow => "an integer in it does not fit in 32 bits",
            Self::Index { index } => return write!(formatter, "there is no field at its index {index}"),
            Self::HuffmanPadding => "a Huffman-coded string in it does not end in up to seven ones",
            Self::HuffmanEndOfString => "a Huffman-coded string in it has the end-of-string symbol",
            Self::TableSize { bytes, most_bytes } => {
                return write!(
                    formatter,
                    "it sets a dynamic table of {bytes} bytes; at most {most_bytes} were agreed"
                );
            }
            Self::LateTableSize => {
                "the size of the dynamic table changes after a field; it may change only before all fields"
            }
        })
    }
}

impl Error for HpackError {}
