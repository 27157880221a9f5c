//! How the messages of an answer of gRPC are wrong.

use std::error::Error;
use std::fmt::{self, Display, Formatter};

use super::Malformed;

/// How the messages of an answer are not what was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GrpcError {
    /// A message says that it is compressed, which nobody has asked for, or in a way that nobody knows.
    Compressed,
    /// A message says that it is compressed, and its answer does not say by which of the ways that the request takes.
    Encoding,
    /// The body ends within a message.
    CutOff,
    /// There is another number of messages than one, which a call has that streams none.
    Count {
        /// How many there are.
        messages: u64,
    },
}

impl From<GrpcError> for Malformed {
    fn from(error: GrpcError) -> Self {
        Self::Grpc(error)
    }
}

impl Display for GrpcError {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compressed => formatter.write_str(
                "a message of gRPC says that it is compressed, which the request has not asked for",
            ),
            Self::Encoding => formatter.write_str(
                "a message of gRPC says that it is compressed, and its answer does not say by gzip (grpc-encoding)",
            ),
            Self::CutOff => formatter.write_str("an answer of gRPC with status OK ends within a message"),
            Self::Count { messages: 0 } => {
                formatter.write_str("an answer of gRPC with status OK has no message")
            }
            Self::Count { messages } => write!(
                formatter,
                "an answer of gRPC has {messages} messages; a call that streams none has one: is the method a stream?"
            ),
        }
    }
}

impl Error for GrpcError {}
