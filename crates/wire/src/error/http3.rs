//! How a server breaks HTTP/3.

use std::error::Error;
use std::fmt::{self, Display, Formatter};

use super::{HpackError, Malformed};

/// Why a stream or a connection was ended (RFC 9114 §8.1, RFC 9204 §6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Http3Code(pub u64);

impl Http3Code {
    /// Nothing is wrong.
    pub const NO_ERROR: Self = Self(0x100);
    /// The other side broke the protocol in a way that no other code names.
    pub const GENERAL_PROTOCOL_ERROR: Self = Self(0x101);
    /// Something unexpected within the one that ends it.
    pub const INTERNAL_ERROR: Self = Self(0x102);
    /// A stream that is not wanted.
    pub const STREAM_CREATION_ERROR: Self = Self(0x103);
    /// A stream that the connection needs was closed.
    pub const CLOSED_CRITICAL_STREAM: Self = Self(0x104);
    /// A frame came where it may not be.
    pub const FRAME_UNEXPECTED: Self = Self(0x105);
    /// A frame is not as its type says.
    pub const FRAME_ERROR: Self = Self(0x106);
    /// The other side makes too much work.
    pub const EXCESSIVE_LOAD: Self = Self(0x107);
    /// A number of a stream or of a push is used wrongly.
    pub const ID_ERROR: Self = Self(0x108);
    /// A setting has a value that it cannot have.
    pub const SETTINGS_ERROR: Self = Self(0x109);
    /// The settings did not come first.
    pub const MISSING_SETTINGS: Self = Self(0x10a);
    /// The request was refused before anything was done for it.
    pub const REQUEST_REJECTED: Self = Self(0x10b);
    /// The request, or its answer, is not wanted any more.
    pub const REQUEST_CANCELLED: Self = Self(0x10c);
    /// The request was not complete.
    pub const REQUEST_INCOMPLETE: Self = Self(0x10d);
    /// A message is malformed.
    pub const MESSAGE_ERROR: Self = Self(0x10e);
    /// The connection behind a tunnel failed.
    pub const CONNECT_ERROR: Self = Self(0x10f);
    /// The request has to be made over HTTP/1.1.
    pub const VERSION_FALLBACK: Self = Self(0x110);
    /// A field section cannot be read.
    pub const QPACK_DECOMPRESSION_FAILED: Self = Self(0x200);
    /// The instructions of an encoder cannot be followed.
    pub const QPACK_ENCODER_STREAM_ERROR: Self = Self(0x201);
    /// The acknowledgements of a decoder are wrong.
    pub const QPACK_DECODER_STREAM_ERROR: Self = Self(0x202);
}

impl Http3Code {
    /// What the specifications call it; nothing for a code that they do not have.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::NO_ERROR => "H3_NO_ERROR",
            Self::GENERAL_PROTOCOL_ERROR => "H3_GENERAL_PROTOCOL_ERROR",
            Self::INTERNAL_ERROR => "H3_INTERNAL_ERROR",
            Self::STREAM_CREATION_ERROR => "H3_STREAM_CREATION_ERROR",
            Self::CLOSED_CRITICAL_STREAM => "H3_CLOSED_CRITICAL_STREAM",
            Self::FRAME_UNEXPECTED => "H3_FRAME_UNEXPECTED",
            Self::FRAME_ERROR => "H3_FRAME_ERROR",
            Self::EXCESSIVE_LOAD => "H3_EXCESSIVE_LOAD",
            Self::ID_ERROR => "H3_ID_ERROR",
            Self::SETTINGS_ERROR => "H3_SETTINGS_ERROR",
            Self::MISSING_SETTINGS => "H3_MISSING_SETTINGS",
            Self::REQUEST_REJECTED => "H3_REQUEST_REJECTED",
            Self::REQUEST_CANCELLED => "H3_REQUEST_CANCELLED",
            Self::REQUEST_INCOMPLETE => "H3_REQUEST_INCOMPLETE",
            Self::MESSAGE_ERROR => "H3_MESSAGE_ERROR",
            Self::CONNECT_ERROR => "H3_CONNECT_ERROR",
            Self::VERSION_FALLBACK => "H3_VERSION_FALLBACK",
            Self::QPACK_DECOMPRESSION_FAILED => "QPACK_DECOMPRESSION_FAILED",
            Self::QPACK_ENCODER_STREAM_ERROR => "QPACK_ENCODER_STREAM_ERROR",
            Self::QPACK_DECODER_STREAM_ERROR => "QPACK_DECODER_STREAM_ERROR",
            _ => return None,
        })
    }
}

impl Display for Http3Code {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        named(formatter, self.name(), self.0)
    }
}

/// A code by its name, where it has one, and its number.
fn named(formatter: &mut Formatter<'_>, name: Option<&str>, code: u64) -> fmt::Result {
    match name {
        Some(name) => write!(formatter, "{name} ({code:#x})"),
        None => write!(formatter, "the unknown code {code:#x}"),
    }
}

/// Why a connection of QUIC was ended (RFC 9000 §20.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuicCode(pub u64);

impl QuicCode {
    /// Nothing is wrong.
    pub const NO_ERROR: Self = Self(0x0);
    /// The server takes no connection.
    pub const CONNECTION_REFUSED: Self = Self(0x2);
    /// Alerts of TLS are the codes from here on (RFC 9001 §4.8).
    const FIRST_ALERT: u64 = 0x100;
    const LAST_ALERT: u64 = 0x1ff;

    /// Whether it is an alert of TLS.
    #[must_use]
    pub const fn is_alert(self) -> bool {
        Self::FIRST_ALERT <= self.0 && self.0 <= Self::LAST_ALERT
    }

    /// What the specification calls it; nothing for a code that it does not have.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        Some(match self.0 {
            0x0 => "NO_ERROR",
            0x1 => "INTERNAL_ERROR",
            0x2 => "CONNECTION_REFUSED",
            0x3 => "FLOW_CONTROL_ERROR",
            0x4 => "STREAM_LIMIT_ERROR",
            0x5 => "STREAM_STATE_ERROR",
            0x6 => "FINAL_SIZE_ERROR",
            0x7 => "FRAME_ENCODING_ERROR",
            0x8 => "TRANSPORT_PARAMETER_ERROR",
            0x9 => "CONNECTION_ID_LIMIT_ERROR",
            0xa => "PROTOCOL_VIOLATION",
            0xb => "INVALID_TOKEN",
            0xc => "APPLICATION_ERROR",
            0xd => "CRYPTO_BUFFER_EXCEEDED",
            0xe => "KEY_UPDATE_ERROR",
            0xf => "AEAD_LIMIT_REACHED",
            0x10 => "NO_VIABLE_PATH",
            Self::FIRST_ALERT..=Self::LAST_ALERT => "CRYPTO_ERROR",
            _ => return None,
        })
    }
}

impl Display for QuicCode {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        named(formatter, self.name(), self.0)
    }
}

/// A stream whose end is the end of the connection (RFC 9114 §6.2, RFC 9204 §4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CriticalStream {
    /// That of the settings.
    Control,
    /// That of the table of the field compression.
    Encoder,
    /// That of what was read of the table.
    Decoder,
}

impl Display for CriticalStream {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Control => "control stream",
            Self::Encoder => "QPACK encoder stream",
            Self::Decoder => "QPACK decoder stream",
        })
    }
}

/// How a server breaks HTTP/3 (RFC 9114) or its field compression (RFC 9204).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Http3Error {
    /// A frame is longer or shorter than what its type says is in it.
    FrameLength {
        /// The type of the frame.
        kind: u64,
        /// The length of its payload.
        bytes: u64,
    },
    /// A frame is longer than the client reads.
    FrameTooLarge {
        /// The type of the frame.
        kind: u64,
        /// The length of its payload.
        bytes: u64,
    },
    /// A stream ends within a frame.
    FrameCut,
    /// A frame is on a stream where it may not be, or in the wrong order.
    UnexpectedFrame {
        /// The type of the frame.
        kind: u64,
    },
    /// The first frame of the control stream is not SETTINGS.
    NoSettings,
    /// A setting has a value that it cannot have, is given twice, or is one of HTTP/2.
    Setting {
        /// Which setting.
        setting: u64,
        /// Its value.
        value: u64,
    },
    /// A stream that may be opened once is opened again.
    StreamTwice(CriticalStream),
    /// A stream that may not be closed is closed.
    StreamClosed(CriticalStream),
    /// More unidirectional streams are open than the client follows.
    TooManyStreams,
    /// A push was promised, made or cancelled although the client allows none.
    Push,
    /// A client has opened a stream of pushes, which only servers may.
    PushByClient,
    /// A number of a push or of a request is one that it cannot be: another one of `MAX_PUSH_ID`, `GOAWAY` or `PRIORITY_UPDATE` than
    /// may follow.
    Number {
        /// The type of the frame.
        kind: u64,
        /// The number.
        number: u64,
    },
    /// A GOAWAY names a stream that is no request's, or a later one than before.
    GoAway {
        /// The stream.
        stream: u64,
    },
    /// Frames or instructions come without end, and no response among them.
    Flood,
    /// The stream of a response ended before the response.
    ResponseCut,
    /// A field section cannot be read.
    FieldSection(QpackError),
    /// The instructions of the server's encoder cannot be followed.
    EncoderStream(QpackError),
    /// The acknowledgements of the server's decoder are wrong.
    DecoderStream(QpackError),
}

impl Http3Error {
    /// The code with which a stream or the connection ends because of it.
    #[must_use]
    pub const fn code(self) -> Http3Code {
        match self {
            Self::FrameLength { .. } | Self::FrameCut => Http3Code::FRAME_ERROR,
            Self::FrameTooLarge { .. } | Self::TooManyStreams | Self::Flood => Http3Code::EXCESSIVE_LOAD,
            Self::UnexpectedFrame { .. } => Http3Code::FRAME_UNEXPECTED,
            Self::NoSettings => Http3Code::MISSING_SETTINGS,
            Self::Setting { .. } => Http3Code::SETTINGS_ERROR,
            Self::StreamTwice(_) | Self::PushByClient => Http3Code::STREAM_CREATION_ERROR,
            Self::StreamClosed(_) => Http3Code::CLOSED_CRITICAL_STREAM,
            Self::Push | Self::GoAway { .. } | Self::Number { .. } => Http3Code::ID_ERROR,
            Self::ResponseCut => Http3Code::MESSAGE_ERROR,
            Self::FieldSection(_) => Http3Code::QPACK_DECOMPRESSION_FAILED,
            Self::EncoderStream(_) => Http3Code::QPACK_ENCODER_STREAM_ERROR,
            Self::DecoderStream(_) => Http3Code::QPACK_DECODER_STREAM_ERROR,
        }
    }
}

impl From<Http3Error> for Malformed {
    fn from(error: Http3Error) -> Self {
        Self::Http3(error)
    }
}

impl Display for Http3Error {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::FrameLength { kind, bytes } => {
                write!(formatter, "a {} frame has an invalid length of {bytes} bytes", KindName(*kind))
            }
            Self::FrameTooLarge { kind, bytes } => {
                write!(
                    formatter,
                    "a {} frame of {bytes} bytes is longer than this client reads",
                    KindName(*kind)
                )
            }
            Self::FrameCut => formatter.write_str("the server ended a stream in the middle of a frame"),
            Self::UnexpectedFrame { kind } => write!(
                formatter,
                "a {} frame arrived where HTTP/3 does not allow one: on the wrong stream or in the wrong order",
                KindName(*kind)
            ),
            Self::NoSettings => formatter.write_str(
                "the server's control stream does not start with SETTINGS, as that of HTTP/3 has to",
            ),
            Self::Setting { setting, value } => write!(
                formatter,
                "the server's setting {setting:#x} has the value {value}, which it cannot have, is given twice, or \
                 belongs to HTTP/2"
            ),
            Self::StreamTwice(stream) => {
                write!(formatter, "the server opened a second {stream}; a connection has one")
            }
            Self::StreamClosed(stream) => {
                write!(
                    formatter,
                    "the server closed its {stream}, which has to stay open as long as the connection"
                )
            }
            Self::TooManyStreams => {
                formatter.write_str("the server opened more unidirectional streams than this client follows")
            }
            Self::Push => {
                formatter.write_str("the server pushed a response although the client allows no pushes")
            }
            Self::PushByClient => formatter.write_str("the client opened a stream of pushes"),
            Self::Number { kind, number } => {
                write!(formatter, "a {} frame has the number {number}, which it cannot have", KindName(*kind))
            }
            Self::GoAway { stream } => write!(
                formatter,
                "the server's GOAWAY names stream {stream}, which is no stream of requests or behind an earlier one's"
            ),
            Self::Flood => formatter.write_str(
                "the server kept sending frames or table entries without any part of a response (a flood)",
            ),
            Self::ResponseCut => formatter.write_str("the server ended a stream before the response on it"),
            Self::FieldSection(error) => write!(formatter, "a header block cannot be decompressed: {error}"),
            Self::EncoderStream(error) => {
                write!(formatter, "the table of header fields cannot be kept: {error}")
            }
            Self::DecoderStream(error) => {
                write!(formatter, "the server acknowledged header fields wrongly: {error}")
            }
        }
    }
}

impl Error for Http3Error {}

/// The name of a type of frames.
struct KindName(u64);

impl Display for KindName {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self.0 {
            0x0 => "DATA",
            0x1 => "HEADERS",
            0x3 => "CANCEL_PUSH",
            0x4 => "SETTINGS",
            0x5 => "PUSH_PROMISE",
            0x7 => "GOAWAY",
            0xd => "MAX_PUSH_ID",
            0xf_0700 | 0xf_0701 => "PRIORITY_UPDATE",
            kind => return write!(formatter, "type {kind:#x}"),
        })
    }
}

/// What is wrong with QPACK's instructions or a field section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QpackError {
    /// An integer or a string is not one.
    Encoding(HpackError),
    /// The number of entries that a section needs cannot be what it says.
    InsertCount {
        /// As it is in the section.
        encoded: usize,
    },
    /// The base of a section lies before the first entry.
    Base,
    /// There is no entry at an index of the static table.
    StaticIndex {
        /// The index.
        index: usize,
    },
    /// There is no entry of the dynamic table where an index points, or the section had not announced that it needs it.
    DynamicIndex {
        /// The index.
        index: usize,
    },
    /// The table is to become larger than was agreed.
    Capacity {
        /// The size that the peer has announced.
        bytes: usize,
        /// The largest that was agreed.
        most_bytes: usize,
    },
    /// An entry has no room in the whole table.
    EntryTooLarge {
        /// The size of the table.
        capacity_bytes: usize,
    },
    /// More streams wait for entries of the table than was agreed.
    TooManyBlocked {
        /// How many were agreed.
        most: usize,
    },
    /// Something is acknowledged that was never sent.
    NothingSent,
}

impl From<HpackError> for QpackError {
    fn from(error: HpackError) -> Self {
        Self::Encoding(error)
    }
}

impl Display for QpackError {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Encoding(error) => error.fmt(formatter),
            Self::InsertCount { encoded } => {
                write!(
                    formatter,
                    "no table can have the number of entries that it needs (encoded as {encoded})"
                )
            }
            Self::Base => formatter.write_str("its base lies before the first entry of the table"),
            Self::StaticIndex { index } => {
                write!(formatter, "the static table has no field at index {index}; its last one is 98")
            }
            Self::DynamicIndex { index } => {
                write!(
                    formatter,
                    "the dynamic table has no field at its index {index}, or it was not announced"
                )
            }
            Self::Capacity { bytes, most_bytes } => {
                write!(
                    formatter,
                    "it sets a dynamic table of {bytes} bytes; at most {most_bytes} were agreed"
                )
            }
            Self::EntryTooLarge { capacity_bytes } => {
                write!(formatter, "an entry is larger than the whole table of {capacity_bytes} bytes")
            }
            Self::TooManyBlocked { most } => {
                write!(
                    formatter,
                    "more than the {most} streams that were agreed wait for entries of the table"
                )
            }
            Self::NothingSent => formatter.write_str(
                "this client puts nothing into the server's table, so nothing can be acknowledged",
            ),
        }
    }
}

impl Error for QpackError {}
