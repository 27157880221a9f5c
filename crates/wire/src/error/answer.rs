//! How an answer of HTTP/2 or HTTP/3 is malformed.

use std::error::Error;
use std::fmt::{self, Display, Formatter};

use super::Malformed;

/// How an answer of HTTP/2 or HTTP/3 is malformed (RFC 9113 §8.1.1, RFC 9114 §4.1.2). Its stream is of no more use; the
/// connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerError {
    /// The status is missing, given twice, or not three digits from 100 to 599.
    Status,
    /// A pseudo-header field is where none may be, or is not one of responses.
    PseudoField,
    /// A pseudo-header field is behind a regular one.
    LatePseudoField,
    /// A field name is empty, has upper-case letters or characters that no name can have.
    FieldName,
    /// A field value begins or ends with whitespace, or has a control character.
    FieldValue,
    /// A field belongs to connections of HTTP/1.1, such as Connection or Transfer-Encoding.
    ConnectionField,
    /// The data is not as long as Content-Length says.
    ContentLength {
        /// What the field says.
        stated_bytes: u64,
        /// What came.
        received_bytes: u64,
    },
    /// An answer that can have no body has one.
    UnexpectedBody,
    /// Data comes before the header block of its answer, or an interim response ends the stream.
    NoHeader,
    /// A second header block does not end the answer.
    Trailers,
}

impl From<AnswerError> for Malformed {
    fn from(error: AnswerError) -> Self {
        Self::Answer(error)
    }
}

impl Display for AnswerError {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Status => "a response has no :status of three digits from 100 to 599, or more than one",
            Self::PseudoField => {
                "a response has a pseudo-header field other than :status, or one in its trailers"
            }
            Self::LatePseudoField => "a response has a pseudo-header field after a regular one",
            Self::FieldName => {
                "a field name of a response is empty, or has upper-case letters or characters that no name can have"
            }
            Self::FieldValue => {
                "a field value of a response begins or ends with whitespace, or has a control character"
            }
            Self::ConnectionField => {
                "a response has a field of HTTP/1.1 connections, such as Connection or Transfer-Encoding"
            }
            Self::ContentLength { stated_bytes, received_bytes } => {
                return write!(
                    formatter,
                    "a response has {received_bytes} bytes of data, and its Content-Length says {stated_bytes}"
                );
            }
            Self::UnexpectedBody => "a response that can have no body has one",
            Self::NoHeader => "data arrived before the header block of its response",
            Self::Trailers => "a second header block did not end its response",
        })
    }
}

impl Error for AnswerError {}
