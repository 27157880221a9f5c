//! Writing field lines that refer to the static table alone (RFC 9204 §4.5).

use super::static_table;
use crate::compression::{encode_string, integer};

/// What precedes the lines of a section that needs no entry of the dynamic table.
pub const NO_ENTRIES: [u8; 2] = [0, 0];

/// The pattern in front of an index of the static table, of a literal with a name from there, and of one with any name.
const INDEXED: u8 = 0xc0;
const NAMED: u8 = 0x50;
const LITERAL: u8 = 0x20;

/// Appends a field as the static table makes it shortest.
pub fn encode_field(name: &[u8], value: &[u8], to: &mut Vec<u8>) {
    match static_table::find(name, value) {
        (Some(index), _) => integer::encode(index, 6, INDEXED, to),
        (None, Some(index)) => {
            integer::encode(index, 4, NAMED, to);
            encode_string(value, 7, 0, to);
        }
        (None, None) => {
            encode_string(name, 3, LITERAL, to);
            encode_string(value, 7, 0, to);
        }
    }
}

/// Appends a `:path` that is another one every time.
pub(crate) fn encode_path(path: &[u8], to: &mut Vec<u8>) {
    integer::encode(static_table::PATH_INDEX, 4, NAMED, to);
    encode_string(path, 7, 0, to);
}
