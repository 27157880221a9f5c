//! What the header compressions of HTTP/2 (HPACK, RFC 7541) and HTTP/3 (QPACK, RFC 9204) share: integers with a prefix,
//! strings, their Huffman code, and the dynamic table of a decoder.

mod dynamic_table;
pub(crate) mod huffman;
pub(crate) mod integer;
mod strings;

pub(crate) use dynamic_table::DynamicTable;
pub(crate) use strings::{Text, encode_string, read_string};

/// What an entry of a dynamic table counts beside its name and value (RFC 7541 §4.1, RFC 9204 §3.2.1).
pub(crate) const ENTRY_OVERHEAD_BYTES: usize = 32;

/// One field of a header block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field<'a> {
    /// The name.
    pub name: &'a [u8],
    /// The value.
    pub value: &'a [u8],
}

impl Field<'_> {
    /// How long its name and its value are together.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        self.name.len() + self.value.len()
    }
}
