//! Header compression (HPACK, RFC 7541).
//!
//! The decoder keeps the dynamic table of the peer and copies nothing but what the peer puts into it. The encoder writes
//! templates: what is the same every time is encoded once.

mod decoder;
mod dynamic_table;
mod encoder;
mod huffman;
mod integer;
mod static_table;

use std::error::Error;
use std::fmt::{self, Display, Formatter};

pub use decoder::{Decoder, Field};
pub use huffman::{decode as decode_huffman, encode as encode_huffman};

pub(crate) use encoder::{EncodedField, Encoder, Part};

/// The size of a dynamic table where nobody has agreed on another (RFC 9113 §6.5.2).
pub const DEFAULT_TABLE_BYTES: usize = 4096;

/// What an entry of a dynamic table counts beside its name and value (RFC 7541 §4.1).
const ENTRY_OVERHEAD_BYTES: usize = 32;

/// Why a header block cannot be decoded. The connection is of no more use, because the tables of the two sides differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HpackError {
    /// The block ends within a field.
    Truncated,
    /// An integer does not fit in 32 bits, or has more leading zeros than anybody needs.
    IntegerOverflow,
    /// No entry stands at an index.
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
                    "it sets a dynamic table of {bytes} bytes, where {most_bytes} were agreed"
                );
            }
            Self::LateTableSize => {
                "the size of the dynamic table changes behind a field, not in front of all"
            }
        })
    }
}

impl Error for HpackError {}
