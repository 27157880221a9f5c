//! Writing header blocks (RFC 7541 §6), of requests that are sent again and again.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use super::{DEFAULT_TABLE_BYTES, static_table};
use crate::compression::{ENTRY_OVERHEAD_BYTES, encode_string, integer};
use crate::h2::settings::{Hpack, Scheme};

/// A field that is the same every time, encoded once.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct EncodedField {
    /// Where the static table has the whole field.
    static_index: Option<usize>,
    /// Where the static table has its name.
    name_index: usize,
    /// Its name, unless the static table has it, and its value, as they are in a literal.
    strings: Vec<u8>,
    /// What it counts in a dynamic table.
    table_bytes: usize,
    hash: u64,
}

impl EncodedField {
    pub(crate) fn new(name: &str, value: &str) -> Self {
        let (static_index, name_index) = static_table::find(name.as_bytes(), value.as_bytes());
        let mut strings = Vec::new();
        if name_index.is_none() {
            encode_string(name.as_bytes(), 7, 0, &mut strings);
        }
        encode_string(value.as_bytes(), 7, 0, &mut strings);
        let mut hasher = DefaultHasher::new();
        (name_index, &strings).hash(&mut hasher);
        Self {
            static_index,
            name_index: name_index.unwrap_or(0),
            strings,
            table_bytes: name.len() + value.len() + ENTRY_OVERHEAD_BYTES,
            hash: hasher.finish(),
        }
    }

    fn write_literal(&self, prefix_bits: u32, pattern: u8, to: &mut Vec<u8>) {
        integer::encode(self.name_index, prefix_bits, pattern, to);
        to.extend_from_slice(&self.strings);
    }
}

/// A part of the header block of a request.
#[derive(Debug)]
pub(crate) enum Part {
    Field(Arc<EncodedField>),
    /// `:scheme`, which the connection decides.
    Scheme,
    /// `:path`, which is another one every time.
    Path,
}

/// The pattern in front of an index, of a literal that goes into the table, of one that does not, and of a new size.
const INDEXED: u8 = 0x80;
const INDEXING: u8 = 0x40;
const PLAIN: u8 = 0x00;
const TABLE_SIZE: u8 = 0x20;

/// The place of `:path` in the static table.
const PATH_INDEX: usize = 4;

/// The encoder of one direction of a connection. It adds fields to the table as long as there is room, and drops none.
#[derive(Debug)]
pub(crate) struct Encoder {
    mode: Hpack,
    scheme: Scheme,
    /// The fields in the table, the oldest first.
    table: Vec<Arc<EncodedField>>,
    free_bytes: usize,
    /// The size of the table that the peer knows of.
    table_bytes: usize,
    /// The sizes to be signalled at the start of the next block: the smallest since the last one, and the last.
    resized: Option<(usize, usize)>,
    last: LastBlock,
}

/// The last block that changed nothing: the next one of its template is the same until something does.
#[derive(Debug, Default)]
struct LastBlock {
    template: Option<u64>,
    bytes: Vec<u8>,
    /// Where the varying path belongs.
    path_at: Option<usize>,
}

impl Encoder {
    pub(crate) fn new(mode: Hpack, scheme: Scheme) -> Self {
        Self {
            mode,
            scheme,
            table: Vec::new(),
            free_bytes: DEFAULT_TABLE_BYTES,
            table_bytes: DEFAULT_TABLE_BYTES,
            resized: None,
            last: LastBlock::default(),
        }
    }

    /// Forgets what was encoded, for a new connection. The memory is kept.
    pub(crate) fn reset(&mut self) {
        self.table.clear();
        self.table_bytes = DEFAULT_TABLE_BYTES;
        self.free_bytes = DEFAULT_TABLE_BYTES;
        self.resized = None;
        self.last.template = None;
    }

    /// The peer keeps a table of at most this number of bytes. A smaller one begins anew; a larger one than what nobody has to
    /// agree on is not used.
    pub(crate) fn limit_table(&mut self, most_bytes: usize) {
        let bytes = most_bytes.min(DEFAULT_TABLE_BYTES);
        let (smallest, last) = self.resized.unwrap_or((self.table_bytes, self.table_bytes));
        if bytes == last {
            return;
        }
        // A table that was made smaller in between is announced, although nothing was added to it meanwhile.
        let emptied = if bytes < last { 0 } else { smallest };
        self.resized = Some((emptied.min(smallest), bytes));
        if bytes < last {
            self.table.clear();
            self.free_bytes = bytes;
        } else {
            self.free_bytes += bytes - last;
        }
        self.last.template = None;
    }

    /// Appends the header block of a request; `template` names its parts.
    pub(crate) fn write(&mut self, template: u64, parts: &[Part], path: Option<&[u8]>, to: &mut Vec<u8>) {
        if self.last.template == Some(template) {
            self.last.write(path, to);
            return;
        }
        let start = to.len();
        let mut is_same_next_time = true;
        if let Some((smallest, size)) = self.resized.take() {
            if smallest < size {
                integer::encode(smallest, 5, TABLE_SIZE, to);
            }
            integer::encode(size, 5, TABLE_SIZE, to);
            self.table_bytes = size;
            is_same_next_time = false;
        }
        let (mut path_at, mut path_bytes) = (None, 0);
        for part in parts {
            match part {
                Part::Field(field) => is_same_next_time &= !self.write_field(field, to),
                Part::Scheme => to.push(INDEXED | self.scheme.static_index()),
                Part::Path => {
                    path_at = Some(to.len() - start);
                    write_path(path.unwrap_or(b"/"), to);
                    path_bytes = to.len() - start - path_at.unwrap_or(0);
                }
            }
        }
        if is_same_next_time {
            self.last.keep(template, &to[start..], path_at, path_bytes);
        }
    }

    /// Appends a field; says whether the table has changed.
    fn write_field(&mut self, field: &Arc<EncodedField>, to: &mut Vec<u8>) -> bool {
        if let Some(index) = field.static_index {
            integer::encode(index, 7, INDEXED, to);
            return false;
        }
        if self.mode == Hpack::Literal {
            field.write_literal(4, PLAIN, to);
            return false;
        }
        let place = self.table.iter().position(|known| known.hash == field.hash && known == field);
        if let Some(place) = place {
            let index = static_table::LENGTH + self.table.len() - place;
            integer::encode(index, 7, INDEXED, to);
            return false;
        }
        let has_room = field.table_bytes <= self.free_bytes;
        if has_room {
            field.write_literal(6, INDEXING, to);
            self.free_bytes -= field.table_bytes;
            self.table.push(Arc::clone(field));
            self.last.template = None;
        } else {
            field.write_literal(4, PLAIN, to);
        }
        has_room
    }
}

impl LastBlock {
    fn keep(&mut self, template: u64, block: &[u8], path_at: Option<usize>, path_bytes: usize) {
        self.template = Some(template);
        self.path_at = path_at;
        self.bytes.clear();
        let at = path_at.unwrap_or(block.len());
        self.bytes.extend_from_slice(&block[..at]);
        self.bytes.extend_from_slice(&block[at + path_bytes..]);
    }

    fn write(&self, path: Option<&[u8]>, to: &mut Vec<u8>) {
        match self.path_at {
            None => to.extend_from_slice(&self.bytes),
            Some(at) => {
                let (before, after) = self.bytes.split_at(at);
                to.extend_from_slice(before);
                write_path(path.unwrap_or(b"/"), to);
                to.extend_from_slice(after);
            }
        }
    }
}

/// Paths of a list are many, so that none goes into the table.
fn write_path(path: &[u8], to: &mut Vec<u8>) {
    integer::encode(PATH_INDEX, 4, PLAIN, to);
    encode_string(path, 7, 0, to);
}

/// Appends a field that is another one every time, and whose name no table has; none goes into the table.
pub fn write_plain(name: &[u8], value: &[u8], to: &mut Vec<u8>) {
    to.push(PLAIN);
    encode_string(name, 7, 0, to);
    encode_string(value, 7, 0, to);
}
