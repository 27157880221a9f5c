//! How a server breaks WebSocket, or refuses it.

use std::error::Error;
use std::fmt::{self, Display, Formatter};

use super::{DeflateError, ErrorCode, Malformed};

/// What breaks RFC 6455, or keeps a connection from becoming a WebSocket. The connection is of no more use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WebSocketError {
    /// The request for the upgrade was answered with another status than 101.
    Refused {
        /// That status.
        status: u16,
    },
    /// The server takes no requests for a WebSocket over HTTP/2 (RFC 8441 §3).
    NotOverHttp2,
    /// The stream of HTTP/2 that was to become a WebSocket was reset.
    Reset {
        /// With this code.
        code: ErrorCode,
    },
    /// Status 101 comes without the fields that say to what the server has switched (§4.1).
    Upgrade,
    /// The key of the request was answered wrongly, or not at all (§4.2.2).
    Accept,
    /// The server uses an extension that was not offered.
    Extension,
    /// The server breaks the compression of messages, or the agreement on it (RFC 7692).
    Deflate(DeflateError),
    /// An answer has no id, where answers are matched by them.
    NoAnswerId,
    /// An answer has an id that no message had.
    UnknownAnswerId,
    /// An answer has the id of a message that was answered before.
    RepeatedAnswerId,
    /// The server uses a subprotocol that was not offered.
    Subprotocol,
    /// A reserved bit of a frame is set, which only an extension may do (§5.2).
    ReservedBits,
    /// A frame has an opcode that is not defined.
    Opcode {
        /// The opcode.
        opcode: u8,
    },
    /// A frame of the server is masked (§5.1).
    Masked,
    /// The length of a frame is not in its shortest form, or does not fit in 63 bits (§5.2).
    Length,
    /// A control frame is longer than 125 bytes (§5.5).
    LongControl,
    /// A control frame is a fragment (§5.5).
    FragmentedControl,
    /// A frame continues a message, and none is under way (§5.4).
    NothingToContinue,
    /// A message begins in the middle of another one (§5.4).
    Interrupted,
    /// The body of a close frame is one byte, or its reason is not UTF-8 (§5.5.1).
    CloseBody,
    /// A close frame has a code that none may have (§7.4).
    CloseCode {
        /// The code.
        code: u16,
    },
    /// A text message is not UTF-8 (§8.1).
    Text,
}

impl WebSocketError {
    /// The code with which the client closes the connection because of it (RFC 6455 §7.4.1).
    pub(crate) const fn close_code(self) -> u16 {
        const PROTOCOL_ERROR: u16 = 1002;
        const INVALID_DATA: u16 = 1007;
        const TOO_BIG: u16 = 1009;
        match self {
            Self::Text | Self::Deflate(DeflateError::Data) => INVALID_DATA,
            Self::Deflate(DeflateError::TooLong { .. }) => TOO_BIG,
            _ => PROTOCOL_ERROR,
        }
    }
}

impl From<WebSocketError> for Malformed {
    fn from(error: WebSocketError) -> Self {
        Self::WebSocket(error)
    }
}

impl From<DeflateError> for WebSocketError {
    fn from(error: DeflateError) -> Self {
        Self::Deflate(error)
    }
}

impl Display for WebSocketError {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Refused { status } => {
                return write!(formatter, "the server refused the upgrade to WebSocket with status {status}");
            }
            Self::NotOverHttp2 => {
                "the server has no WebSocket over HTTP/2 (its settings lack SETTINGS_ENABLE_CONNECT_PROTOCOL, RFC 8441); use \
                 http = \"1.1\", or enable the extended CONNECT in the server"
            }
            Self::Reset { code } => {
                return write!(
                    formatter,
                    "the server reset the stream that was to become a WebSocket, with the error {code:?}"
                );
            }
            Self::Upgrade => {
                "the server answered the upgrade with status 101, but without \"Upgrade: websocket\" and \
                 \"Connection: Upgrade\""
            }
            Self::Accept => {
                "the server answered the upgrade with a wrong Sec-WebSocket-Accept, or without one; is it a WebSocket \
                 server?"
            }
            Self::Extension => "the server uses an extension of WebSocket that was not offered",
            Self::Deflate(error) => return error.fmt(formatter),
            Self::NoAnswerId => "an answer has no id of 16 digits in the field of answer_id, by which answers are matched",
            Self::UnknownAnswerId => "an answer has an id that no message on its connection had",
            Self::RepeatedAnswerId => "an answer has the id of a message that was answered before",
            Self::Subprotocol => {
                "the server chose a subprotocol of WebSocket that was not offered; give it in the header \
                 Sec-WebSocket-Protocol"
            }
            Self::ReservedBits => "a frame has a reserved bit set that no extension uses there that was agreed on",
            Self::Opcode { opcode } => {
                return write!(formatter, "a frame has the opcode {opcode}, which is not defined");
            }
            Self::Masked => "a frame of the server is masked, which only those of clients are",
            Self::Length => "the length of a frame is not in its shortest form, or too great",
            Self::LongControl => "a control frame is longer than 125 bytes",
            Self::FragmentedControl => "a control frame is sent in fragments",
            Self::NothingToContinue => "a frame continues a message, but none has begun",
            Self::Interrupted => "a message began before the last fragment of another one",
            Self::CloseBody => "the body of a close frame is one byte, or its reason is not UTF-8",
            Self::CloseCode { code } => {
                return write!(formatter, "a close frame has the code {code}, which none may have");
            }
            Self::Text => "a text message is not UTF-8",
        })
    }
}

impl Error for WebSocketError {}
