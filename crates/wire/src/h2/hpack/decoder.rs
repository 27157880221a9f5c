//! Reading header blocks (RFC 7541 §3 and §6).

use super::{HpackError, static_table};
use crate::answer::Meaning;
use crate::compression::{DynamicTable, Field, Text, integer, read_string};

/// A field, and what it says to a client.
pub(crate) struct Decoded<'a> {
    pub(crate) field: Field<'a>,
    pub(crate) meaning: Meaning,
}

/// The decoder of one direction of a connection.
#[derive(Debug)]
pub struct Decoder {
    table: DynamicTable,
    most_table_bytes: usize,
    /// Where Huffman-coded strings of one field are decoded.
    texts: Vec<u8>,
}

impl Decoder {
    /// A decoder for a new connection, on which a dynamic table of this size was agreed.
    #[must_use]
    pub fn new(most_table_bytes: usize) -> Self {
        Self { table: DynamicTable::new(most_table_bytes), most_table_bytes, texts: Vec::new() }
    }

    /// Forgets what was decoded, for a new connection. The memory is kept.
    pub fn reset(&mut self) {
        self.table.clear();
        self.table.resize(self.most_table_bytes);
    }

    /// Decodes a complete header block and hands on its fields in their order.
    ///
    /// # Errors
    /// The block is not one, so that the tables of the two sides differ from now on.
    pub fn decode(&mut self, block: &[u8], mut take: impl FnMut(Field<'_>)) -> Result<(), HpackError> {
        self.decode_with_meaning(block, |decoded| take(decoded.field))
    }

    /// How often the table has changed. A block that is decoded without a change says the same until the next one.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.table.changes()
    }

    /// As [`decode`](Self::decode); a field that comes from the table was understood when it was put there.
    pub(crate) fn decode_with_meaning(
        &mut self,
        block: &[u8],
        mut take: impl FnMut(&Decoded<'_>),
    ) -> Result<(), HpackError> {
        let mut rest = block;
        let mut is_first = true;
        while let Some(&byte) = rest.first() {
            rest = match byte {
                0x80.. => self.indexed(rest, &mut take)?,
                0x40..0x80 => self.literal(rest, Kind::Indexing, &mut take)?,
                0x20..0x40 if is_first => {
                    rest = self.table_size(rest)?;
                    continue;
                }
                0x20..0x40 => return Err(HpackError::LateTableSize),
                0x00..0x20 => self.literal(rest, Kind::Plain, &mut take)?,
            };
            is_first = false;
        }
        Ok(())
    }

    #[inline]
    fn indexed<'a>(
        &self,
        bytes: &'a [u8],
        take: &mut impl FnMut(&Decoded<'_>),
    ) -> Result<&'a [u8], HpackError> {
        let (index, rest) = integer::decode(bytes, 7)?;
        let (name, value, meaning) = if index > static_table::LENGTH {
            self.table.get(index - static_table::LENGTH - 1).ok_or(HpackError::Index { index })?
        } else {
            let (name, value) = static_table::entry(index).ok_or(HpackError::Index { index })?;
            (name, value, static_meaning(index, name, value))
        };
        take(&Decoded { field: Field { name, value }, meaning });
        Ok(rest)
    }

    fn literal<'a>(
        &mut self,
        bytes: &'a [u8],
        kind: Kind,
        take: &mut impl FnMut(&Decoded<'_>),
    ) -> Result<&'a [u8], HpackError> {
        self.texts.clear();
        let (index, rest) = integer::decode(bytes, kind.prefix_bits())?;
        let (name, rest) = match index {
            0 => {
                let (name, rest) = read_string(rest, 7, &mut self.texts)?;
                (Name::Text(name), rest)
            }
            1..=static_table::LENGTH => {
                let (name, _) = static_table::entry(index).ok_or(HpackError::Index { index })?;
                (Name::Text(Text::Given(name)), rest)
            }
            _ => (Name::InTable(index - static_table::LENGTH - 1), rest),
        };
        let (value, rest) = read_string(rest, 7, &mut self.texts)?;
        let value = value.bytes(&self.texts);
        let name_bytes = match name {
            Name::Text(text) => text.bytes(&self.texts),
            Name::InTable(at) => self.table.get(at).ok_or(HpackError::Index { index })?.0,
        };
        let meaning = Meaning::of(name_bytes, value);
        take(&Decoded { field: Field { name: name_bytes, value }, meaning });
        if kind == Kind::Indexing {
            match name {
                Name::Text(text) => self.table.insert(text.bytes(&self.texts), value, meaning),
                Name::InTable(at) => self.table.insert_with_name_of(at, value, meaning),
            }
        }
        Ok(rest)
    }

    fn table_size<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], HpackError> {
        let (size, rest) = integer::decode(bytes, 5)?;
        if size > self.most_table_bytes {
            return Err(HpackError::TableSize { bytes: size, most_bytes: self.most_table_bytes });
        }
        self.table.resize(size);
        Ok(rest)
    }
}

/// What an entry of the static table says; most of them are plain fields.
#[inline]
fn static_meaning(index: usize, name: &[u8], value: &[u8]) -> Meaning {
    match index {
        1..=14 | 28 | 46 | 57 => Meaning::of(name, value),
        _ => Meaning::Regular,
    }
}

/// Whether a literal goes into the table.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Indexing,
    Plain,
}

impl Kind {
    fn prefix_bits(self) -> u32 {
        match self {
            Self::Indexing => 6,
            Self::Plain => 4,
        }
    }
}

/// Where a name is found.
enum Name<'a> {
    Text(Text<'a>),
    InTable(usize),
}
