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

pub use crate::error::HpackError;
pub use crate::h2::settings::DEFAULT_TABLE_BYTES;
pub use decoder::{Decoder, Field};
pub use huffman::{decode as decode_huffman, encode as encode_huffman};

pub(crate) use encoder::{EncodedField, Encoder, Part};

/// What an entry of a dynamic table counts beside its name and value (RFC 7541 §4.1).
const ENTRY_OVERHEAD_BYTES: usize = 32;
