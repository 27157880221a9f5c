//! Strings behind a length, in clear text or Huffman-coded (RFC 7541 §5.2, RFC 9204 §4.1.2).

use super::{huffman, integer};
use crate::error::HpackError;

/// A string as it is in the block or in the static table, or decoded into a buffer.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Text<'a> {
    Given(&'a [u8]),
    Decoded { start: usize, end: usize },
}

impl<'a> Text<'a> {
    pub(crate) fn bytes<'b>(&self, decoded: &'b [u8]) -> &'b [u8]
    where
        'a: 'b,
    {
        match *self {
            Self::Given(bytes) => bytes,
            Self::Decoded { start, end } => &decoded[start..end],
        }
    }
}

/// Reads a string whose length has a prefix of this number of bits, with the bit of the Huffman code in front of it; gives
/// it and what follows it.
pub(crate) fn read_string<'a>(
    bytes: &'a [u8],
    prefix_bits: u32,
    decoded: &mut Vec<u8>,
) -> Result<(Text<'a>, &'a [u8]), HpackError> {
    let is_huffman = bytes.first().ok_or(HpackError::Truncated)? & (1 << prefix_bits) != 0;
    let (length, rest) = integer::decode(bytes, prefix_bits)?;
    let (string, rest) = rest.split_at_checked(length).ok_or(HpackError::Truncated)?;
    if !is_huffman {
        return Ok((Text::Given(string), rest));
    }
    let start = decoded.len();
    huffman::decode(string, decoded)?;
    Ok((Text::Decoded { start, end: decoded.len() }, rest))
}

/// Appends a string in the shorter of its two forms; `pattern` is in front of the bit of the Huffman code.
pub(crate) fn encode_string(bytes: &[u8], prefix_bits: u32, pattern: u8, to: &mut Vec<u8>) {
    let huffman_length = huffman::encoded_length(bytes);
    if huffman_length < bytes.len() {
        integer::encode(huffman_length, prefix_bits, pattern | 1 << prefix_bits, to);
        huffman::encode(bytes, to);
    } else {
        integer::encode(bytes.len(), prefix_bits, pattern, to);
        to.extend_from_slice(bytes);
    }
}
