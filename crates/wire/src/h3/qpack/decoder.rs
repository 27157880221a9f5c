//! Reading field sections (RFC 9204 §4.5) and what the peer's encoder puts into the table (§4.3).

use super::instruction::{Instruction, NAME_PREFIX_BITS, VALUE_PREFIX_BITS};
use super::{QpackError, static_table};
use crate::answer::Meaning;
use crate::compression::{DynamicTable, ENTRY_OVERHEAD_BYTES, Field, Text, integer, read_string};
use crate::error::HpackError;

/// What became of a field section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// Its fields were handed on.
    Decoded,
    /// It waits until this number of entries has been put into the table.
    Blocked {
        /// The number, since the connection began.
        entries: u64,
    },
}

/// What was used of the dynamic table of a connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QpackCounts {
    /// The largest table that the peer has asked for; it may use less than it was offered, or nothing.
    pub capacity_bytes: usize,
    /// The most that entries have counted together.
    pub used_bytes: usize,
    /// Entries that were put into it, and those of them that were an earlier one once more.
    pub entries: u64,
    /// Entries that were dropped for later ones, or because the table was made smaller.
    pub dropped_entries: u64,
    /// Field sections that were read.
    pub sections: u64,
    /// Those of them that needed the dynamic table.
    pub sections_with_entries: u64,
    /// Those of them that had to wait for it.
    pub sections_blocked: u64,
}

/// The decoder of one direction of a connection, with the table that the peer fills.
#[derive(Debug)]
pub struct Decoder {
    table: DynamicTable,
    /// The largest table that was offered.
    most_table_bytes: usize,
    /// Entries that were ever put into the table.
    entries: u64,
    /// How many of them the peer knows to have arrived.
    known_entries: u64,
    /// Where Huffman-coded strings of one field are decoded.
    texts: Vec<u8>,
    /// An instruction of which earlier slices brought a part.
    partial: Vec<u8>,
    /// What is to be written on this side's decoder stream.
    output: Vec<u8>,
    counts: QpackCounts,
}

/// What precedes the lines of a section.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Prefix<'a> {
    /// How many entries must have been put into the table (the Required Insert Count).
    pub(crate) entries: u64,
    base: u64,
    lines: &'a [u8],
}

/// A field, and what it says to a client.
pub(crate) struct Decoded<'a> {
    pub(crate) field: Field<'a>,
    pub(crate) meaning: Meaning,
}

/// An entry of a table: its name, its value and what they say.
type Entry<'a> = (&'a [u8], &'a [u8], Meaning);

impl Decoder {
    /// A decoder for a new connection, on which a dynamic table of up to this size was offered. It has no room before the
    /// peer asks for some.
    #[must_use]
    pub fn new(most_table_bytes: usize) -> Self {
        Self {
            table: DynamicTable::new(0),
            most_table_bytes,
            entries: 0,
            known_entries: 0,
            texts: Vec::new(),
            partial: Vec::new(),
            output: Vec::new(),
            counts: QpackCounts::default(),
        }
    }

    /// Forgets what was decoded, for a new connection. The memory is kept.
    pub fn reset(&mut self) {
        self.table.clear();
        self.table.resize(0);
        self.entries = 0;
        self.known_entries = 0;
        self.partial.clear();
        self.output.clear();
        self.counts = QpackCounts::default();
    }

    /// Takes what was counted since the last time; how large the table was is counted further.
    pub fn take_counts(&mut self) -> QpackCounts {
        let counts = self.counts;
        self.counts = QpackCounts {
            capacity_bytes: self.table.most_bytes(),
            used_bytes: self.table.size_bytes(),
            ..QpackCounts::default()
        };
        counts
    }

    /// How often the table has changed. A section that is decoded without a change says the same until the next one.
    pub(crate) fn changes(&self) -> u64 {
        self.table.changes()
    }

    /// How many entries were put into the table since the connection began.
    #[must_use]
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// Decodes a complete field section of a stream, hands on its fields in their order, and acknowledges it.
    ///
    /// # Errors
    /// The section is not one, so that the connection is of no more use.
    pub fn decode(
        &mut self,
        stream: u64,
        section: &[u8],
        mut take: impl FnMut(Field<'_>),
    ) -> Result<Section, QpackError> {
        let prefix = self.prefix(section)?;
        if prefix.entries > self.entries {
            return Ok(Section::Blocked { entries: prefix.entries });
        }
        self.decode_lines(prefix, |decoded| take(decoded.field))?;
        self.acknowledge(stream, prefix.entries);
        Ok(Section::Decoded)
    }

    /// Reads what precedes the lines of a section (RFC 9204 §4.5.1).
    #[inline]
    pub(crate) fn prefix<'a>(&self, section: &'a [u8]) -> Result<Prefix<'a>, QpackError> {
        let (encoded, rest) = integer::decode(section, 8)?;
        let entries = self.required_entries(encoded)?;
        let is_negative = rest.first().ok_or(HpackError::Truncated)? & 0x80 != 0;
        let (delta, lines) = integer::decode(rest, 7)?;
        let base = if is_negative {
            entries.checked_sub(delta as u64 + 1).ok_or(QpackError::Base)?
        } else {
            entries + delta as u64
        };
        Ok(Prefix { entries, base, lines })
    }

    /// The number of entries that a section needs, which is given modulo twice the most that there may be (§4.5.1.1).
    fn required_entries(&self, encoded: usize) -> Result<u64, QpackError> {
        if encoded == 0 {
            return Ok(0);
        }
        let invalid = QpackError::InsertCount { encoded };
        let most_entries = (self.most_table_bytes / ENTRY_OVERHEAD_BYTES) as u64;
        let full_range = 2 * most_entries;
        let encoded = encoded as u64;
        if encoded > full_range {
            return Err(invalid);
        }
        let most = self.entries + most_entries;
        let required = most / full_range * full_range + encoded - 1;
        let required =
            if required > most { required.checked_sub(full_range).ok_or(invalid)? } else { required };
        if required == 0 { Err(invalid) } else { Ok(required) }
    }

    /// Decodes the lines of a section whose entries are there.
    pub(crate) fn decode_lines(
        &mut self,
        prefix: Prefix<'_>,
        mut take: impl FnMut(&Decoded<'_>),
    ) -> Result<(), QpackError> {
        let mut rest = prefix.lines;
        while let Some(&byte) = rest.first() {
            rest = match byte {
                0x80.. => {
                    let (index, behind) = integer::decode(rest, 6)?;
                    let source = if byte & 0x40 != 0 { Source::Static } else { Source::BeforeBase };
                    let (name, value, meaning) = self.entry(source, index, prefix)?;
                    take(&Decoded { field: Field { name, value }, meaning });
                    behind
                }
                0x40..0x80 => {
                    let source = if byte & 0x10 != 0 { Source::Static } else { Source::BeforeBase };
                    self.literal_with_name(source, rest, 4, prefix, &mut take)?
                }
                0x20..0x40 => self.literal(rest, &mut take)?,
                0x10..0x20 => {
                    let (index, behind) = integer::decode(rest, 4)?;
                    let (name, value, meaning) = self.entry(Source::AfterBase, index, prefix)?;
                    take(&Decoded { field: Field { name, value }, meaning });
                    behind
                }
                0x00..0x10 => self.literal_with_name(Source::AfterBase, rest, 3, prefix, &mut take)?,
            };
        }
        Ok(())
    }

    #[inline]
    fn entry(&self, source: Source, index: usize, prefix: Prefix<'_>) -> Result<Entry<'_>, QpackError> {
        let number = match source {
            Source::Static => {
                let (name, value) = static_table::entry(index).ok_or(QpackError::StaticIndex { index })?;
                return Ok((name, value, static_table::meaning(index, name, value)));
            }
            Source::BeforeBase => prefix.base.checked_sub(index as u64 + 1),
            Source::AfterBase => Some(prefix.base + index as u64),
        };
        let number = number.filter(|number| *number < prefix.entries);
        number.and_then(|number| self.numbered(number)).ok_or(QpackError::DynamicIndex { index })
    }

    /// The entry with this number, counted from the first one that was ever put into the table.
    fn numbered(&self, number: u64) -> Option<Entry<'_>> {
        let from_newest = self.entries.checked_sub(number + 1)?;
        self.table.get(usize::try_from(from_newest).ok()?)
    }

    fn literal_with_name<'a>(
        &mut self,
        source: Source,
        bytes: &'a [u8],
        prefix_bits: u32,
        prefix: Prefix<'_>,
        take: &mut impl FnMut(&Decoded<'_>),
    ) -> Result<&'a [u8], QpackError> {
        self.texts.clear();
        let (index, rest) = integer::decode(bytes, prefix_bits)?;
        let (value, rest) = read_string(rest, VALUE_PREFIX_BITS, &mut self.texts)?;
        let (name, ..) = self.entry(source, index, prefix)?;
        let value = value.bytes(&self.texts);
        take(&Decoded { field: Field { name, value }, meaning: Meaning::of(name, value) });
        Ok(rest)
    }

    fn literal<'a>(
        &mut self,
        bytes: &'a [u8],
        take: &mut impl FnMut(&Decoded<'_>),
    ) -> Result<&'a [u8], QpackError> {
        self.texts.clear();
        let (name, rest) = read_string(bytes, 3, &mut self.texts)?;
        let (value, rest) = read_string(rest, VALUE_PREFIX_BITS, &mut self.texts)?;
        let (name, value) = (name.bytes(&self.texts), value.bytes(&self.texts));
        take(&Decoded { field: Field { name, value }, meaning: Meaning::of(name, value) });
        Ok(rest)
    }

    /// A section of a stream was read that needed this number of entries.
    #[inline]
    pub(crate) fn acknowledge(&mut self, stream: u64, entries: u64) {
        self.counts.sections += 1;
        if entries > 0 {
            self.counts.sections_with_entries += 1;
            self.known_entries = self.known_entries.max(entries);
            integer::encode(as_usize(stream), 7, 0x80, &mut self.output);
        }
    }

    /// Counts a section that waits for entries.
    pub(crate) fn count_blocked(&mut self) {
        self.counts.sections_blocked += 1;
    }

    /// A stream is not read any further, so that its sections are not acknowledged (§4.4.2). A table that was never asked for
    /// has no entry that the peer would keep for it.
    pub fn cancel(&mut self, stream: u64) {
        if self.entries > 0 {
            integer::encode(as_usize(stream), 6, 0x40, &mut self.output);
        }
    }

    /// Whether there is something to be written on this side's decoder stream.
    #[must_use]
    pub fn has_output(&self) -> bool {
        !self.output.is_empty() || self.known_entries < self.entries
    }

    /// How much is to be written there, but for what is made when it is.
    pub(crate) fn output_bytes(&self) -> usize {
        self.output.len()
    }

    /// Appends that.
    pub fn write_output(&mut self, to: &mut Vec<u8>) {
        to.append(&mut self.output);
        let increment = self.entries - self.known_entries;
        if increment > 0 {
            integer::encode(as_usize(increment), 6, 0x00, to);
            self.known_entries = self.entries;
        }
    }

    /// Reads what the peer's encoder says; gives how many instructions were followed.
    ///
    /// # Errors
    /// An instruction cannot be followed, so that the connection is of no more use.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<usize, QpackError> {
        let (mut rest, mut instructions) = (bytes, 0);
        let mut partial = std::mem::take(&mut self.partial);
        while !partial.is_empty() && !rest.is_empty() {
            match Instruction::find(&partial, self.table.most_bytes())? {
                Ok(_) => break,
                Err(needed_bytes) => {
                    let (added, behind) = rest.split_at((needed_bytes - partial.len()).min(rest.len()));
                    partial.extend_from_slice(added);
                    rest = behind;
                }
            }
        }
        if !partial.is_empty() {
            if let Ok((instruction, _)) = Instruction::find(&partial, self.table.most_bytes())? {
                self.follow(instruction)?;
                instructions += 1;
                partial.clear();
            } else {
                self.partial = partial;
                return Ok(instructions);
            }
        }
        while let Ok((instruction, length)) = Instruction::find(rest, self.table.most_bytes())? {
            self.follow(instruction)?;
            instructions += 1;
            rest = &rest[length..];
        }
        partial.extend_from_slice(rest);
        self.partial = partial;
        Ok(instructions)
    }

    fn follow(&mut self, instruction: Instruction<'_>) -> Result<(), QpackError> {
        let kept_before = self.table.len();
        let is_new = !matches!(instruction, Instruction::Capacity(_));
        match instruction {
            Instruction::Capacity(bytes) => self.set_capacity(bytes)?,
            Instruction::InsertNamed { is_static, index, value } => {
                self.insert_named(is_static, index, value)?;
            }
            Instruction::Insert { name, value } => {
                self.texts.clear();
                let (name, _) = read_string(name, NAME_PREFIX_BITS, &mut self.texts)?;
                let (value, _) = read_string(value, VALUE_PREFIX_BITS, &mut self.texts)?;
                self.insert(name, value)?;
            }
            Instruction::Duplicate(index) => {
                let (name, value, _) = self.table.get(index).ok_or(QpackError::DynamicIndex { index })?;
                self.check_room(name, value)?;
                self.table.duplicate(index);
            }
        }
        self.entries += u64::from(is_new);
        self.counts.entries += u64::from(is_new);
        self.counts.dropped_entries += (kept_before + usize::from(is_new) - self.table.len()) as u64;
        self.counts.used_bytes = self.counts.used_bytes.max(self.table.size_bytes());
        Ok(())
    }

    fn set_capacity(&mut self, bytes: usize) -> Result<(), QpackError> {
        let most_bytes = self.most_table_bytes;
        if bytes > most_bytes {
            return Err(QpackError::Capacity { bytes, most_bytes });
        }
        self.table.resize(bytes);
        self.counts.capacity_bytes = self.counts.capacity_bytes.max(bytes);
        Ok(())
    }

    fn insert_named(&mut self, is_static: bool, index: usize, value: &[u8]) -> Result<(), QpackError> {
        self.texts.clear();
        let (value, _) = read_string(value, VALUE_PREFIX_BITS, &mut self.texts)?;
        if is_static {
            let (name, _) = static_table::entry(index).ok_or(QpackError::StaticIndex { index })?;
            return self.insert(Text::Given(name), value);
        }
        let (name, ..) = self.table.get(index).ok_or(QpackError::DynamicIndex { index })?;
        let value = value.bytes(&self.texts);
        self.check_room(name, value)?;
        let meaning = Meaning::of(name, value);
        self.table.insert_with_name_of(index, value, meaning);
        Ok(())
    }

    fn insert(&mut self, name: Text<'_>, value: Text<'_>) -> Result<(), QpackError> {
        let (name, value) = (name.bytes(&self.texts), value.bytes(&self.texts));
        self.check_room(name, value)?;
        self.table.insert(name, value, Meaning::of(name, value));
        Ok(())
    }

    /// Whether an entry has room in an empty table (§3.2.2).
    fn check_room(&self, name: &[u8], value: &[u8]) -> Result<(), QpackError> {
        let capacity_bytes = self.table.most_bytes();
        if name.len() + value.len() + ENTRY_OVERHEAD_BYTES > capacity_bytes {
            return Err(QpackError::EntryTooLarge { capacity_bytes });
        }
        Ok(())
    }
}

/// Which table an index is of, and from where it counts.
#[derive(Debug, Clone, Copy)]
enum Source {
    Static,
    /// Backwards from the base.
    BeforeBase,
    /// Forwards from the base.
    AfterBase,
}

/// No number of a stream or an entry is larger than what a place in memory may have: programs of 64 bits have them all.
fn as_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
