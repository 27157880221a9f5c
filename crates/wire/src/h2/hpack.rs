//! Header compression (HPACK, RFC 7541).
//!
//! The decoder keeps the dynamic table of the peer and copies nothing but what the peer puts into it. The encoder writes
//! templates: what is the same every time is encoded once.

mod decoder;
mod encoder;
mod static_table;

pub use crate::compression::Field;
pub use crate::compression::huffman::{decode as decode_huffman, encode as encode_huffman};
pub use crate::error::HpackError;
pub use crate::h2::settings::DEFAULT_TABLE_BYTES;
pub use decoder::Decoder;
pub use encoder::write_plain;

pub(crate) use encoder::{EncodedField, Encoder, Part};
