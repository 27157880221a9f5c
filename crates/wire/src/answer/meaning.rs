//! What a single field of a response says (RFC 9113 §8.2 and §8.3, RFC 9114 §4.2 and §4.3).

use crate::bytes::{is_text, is_token};
use crate::error::{AnswerError, Malformed};
use crate::framing::FramingFields;
use crate::grpc_status::{GrpcCoding, GrpcStatus};
use crate::permessage_deflate::Extensions;
use crate::websocket_choice::Subprotocol;

/// What one field says to a client. A field of the dynamic table is understood once, when it is put there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    Status(u16),
    ContentLength(u64),
    /// How a call of gRPC has ended.
    GrpcStatus(GrpcStatus),
    /// What the server says of that.
    GrpcMessage,
    /// In which way messages of gRPC are compressed.
    GrpcEncoding(GrpcCoding),
    /// What is chosen for a WebSocket.
    WebSocketExtensions(Extensions),
    WebSocketSubprotocol(Subprotocol),
    /// Where a redirection leads.
    Location,
    Regular,
    /// It may be in no response.
    Forbidden(Malformed),
}

impl Meaning {
    /// That of a field.
    pub(crate) fn of(name: &[u8], value: &[u8]) -> Self {
        if let [b':', rest @ ..] = name {
            return match rest {
                b"status" => status(value).map_or_else(|| forbidden(AnswerError::Status), Self::Status),
                _ => forbidden(AnswerError::PseudoField),
            };
        }
        if !is_token(name) || name.iter().any(u8::is_ascii_uppercase) {
            return forbidden(AnswerError::FieldName);
        }
        if !is_text(value) || value.trim_ascii().len() != value.len() {
            return forbidden(AnswerError::FieldValue);
        }
        match name {
            b"connection" | b"keep-alive" | b"proxy-connection" | b"transfer-encoding" | b"upgrade" => {
                forbidden(AnswerError::ConnectionField)
            }
            b"content-length" => content_length(value).map_or_else(Self::Forbidden, Self::ContentLength),
            b"location" => Self::Location,
            b"grpc-status" => Self::GrpcStatus(GrpcStatus::of_field(value)),
            b"grpc-message" => Self::GrpcMessage,
            b"grpc-encoding" => Self::GrpcEncoding(GrpcCoding::of_field(value)),
            b"sec-websocket-extensions" => Self::WebSocketExtensions(Extensions::of(value)),
            b"sec-websocket-protocol" => Self::WebSocketSubprotocol(Subprotocol::of(value)),
            _ => Self::Regular,
        }
    }
}

fn forbidden(error: AnswerError) -> Meaning {
    Meaning::Forbidden(error.into())
}

fn status(value: &[u8]) -> Option<u16> {
    let &[a @ b'1'..=b'5', b @ b'0'..=b'9', c @ b'0'..=b'9'] = value else { return None };
    Some(u16::from(a - b'0') * 100 + u16::from(b - b'0') * 10 + u16::from(c - b'0'))
}

fn content_length(value: &[u8]) -> Result<u64, Malformed> {
    let mut fields = FramingFields::default();
    fields.field(b"content-length", value)?;
    fields.content_length.ok_or(Malformed::ContentLength)
}
