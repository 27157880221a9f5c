//! How a server breaks the compression of messages (RFC 7692).

use std::fmt::{self, Display, Formatter};

/// What breaks permessage-deflate: in the answer to its offer, or in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeflateError {
    /// The answer is no list of extensions with parameters (RFC 6455 §9.1), or has several extensions.
    Answer,
    /// The answer has a parameter that is not defined (§7.1).
    Unknown,
    /// The answer has this parameter twice.
    Repeated(&'static str),
    /// This parameter has a value that it cannot have, or lacks one.
    Value(&'static str),
    /// This parameter may only answer one that was offered, and was not, or exceeds the one that was.
    NotOffered(&'static str),
    /// This parameter was offered, and an answer that accepts the offer has it, too.
    Missing(&'static str),
    /// The body of a compressed message is not DEFLATE, or ends within it (§7.2.2).
    Data,
    /// A message is longer, once inflated, than any is taken for.
    TooLong {
        /// How long one may be.
        limit_bytes: u64,
    },
}

impl Display for DeflateError {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let answer = "the server's answer to the offer of permessage-deflate";
        match self {
            Self::Answer => write!(formatter, "{answer} is not one extension with its parameters"),
            Self::Unknown => {
                write!(formatter, "{answer} has a parameter that RFC 7692 does not define")
            }
            Self::Repeated(name) => write!(formatter, "{answer} has {name} twice"),
            Self::Value(name) => write!(formatter, "{answer} has {name} with a value that it cannot have"),
            Self::NotOffered(name) => {
                write!(formatter, "{answer} has {name}, which was not offered, or beyond what was")
            }
            Self::Missing(name) => write!(formatter, "{answer} lacks {name}, which was a part of the offer"),
            Self::Data => formatter.write_str("a compressed message is not DEFLATE, or is cut off"),
            Self::TooLong { limit_bytes } => {
                let mib = limit_bytes / (1 << 20);
                write!(formatter, "a compressed message is longer than {mib} MiB when it is inflated")
            }
        }
    }
}
