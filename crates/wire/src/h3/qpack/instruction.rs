//! What an encoder says on its stream (RFC 9204 §4.3), from any split of the bytes.

use crate::compression::integer;
use crate::error::{HpackError, QpackError};

/// An instruction of an encoder.
#[derive(Debug, Clone, Copy)]
pub(super) enum Instruction<'a> {
    /// The table holds this number of bytes from now on.
    Capacity(usize),
    /// An entry with the name of another one.
    InsertNamed { is_static: bool, index: usize, value: &'a [u8] },
    /// An entry. Its name and value are not looked at yet: `name` begins with its length, of five bits.
    Insert { name: &'a [u8], value: &'a [u8] },
    /// An entry once more.
    Duplicate(usize),
}

/// How many bits the length of a name has.
pub(super) const NAME_PREFIX_BITS: u32 = 5;
/// How many bits the length of a value has.
pub(super) const VALUE_PREFIX_BITS: u32 = 7;

/// The longest code of a byte has 30 bits, so that no text of an entry has a code of more than four times its length.
const CODE_BYTES_PER_BYTE: usize = 4;

impl<'a> Instruction<'a> {
    /// The instruction that the bytes begin with and its length, or how many bytes it needs at least. What has no room in
    /// the table of this capacity is refused before it is there.
    pub(super) fn find(
        bytes: &'a [u8],
        capacity_bytes: usize,
    ) -> Result<Result<(Self, usize), usize>, QpackError> {
        let find = Finder { bytes, capacity_bytes };
        match find.instruction() {
            Ok((instruction, rest)) => Ok(Ok((instruction, bytes.len() - rest.len()))),
            Err(Unfound::Needs(needed_bytes)) => Ok(Err(needed_bytes)),
            Err(Unfound::Wrong(error)) => Err(error),
        }
    }
}

/// Why there is no instruction.
enum Unfound {
    /// It has at least this number of bytes.
    Needs(usize),
    Wrong(QpackError),
}

struct Finder<'a> {
    bytes: &'a [u8],
    capacity_bytes: usize,
}

impl<'a> Finder<'a> {
    fn instruction(&self) -> Result<(Instruction<'a>, &'a [u8]), Unfound> {
        let first = *self.bytes.first().ok_or(Unfound::Needs(1))?;
        match first {
            0x80.. => {
                let (index, rest) = self.integer(self.bytes, 6)?;
                let (value, rest) = self.string(rest, VALUE_PREFIX_BITS)?;
                Ok((Instruction::InsertNamed { is_static: first & 0x40 != 0, index, value }, rest))
            }
            0x40..0x80 => {
                let (name, rest) = self.string(self.bytes, NAME_PREFIX_BITS)?;
                let (value, rest) = self.string(rest, VALUE_PREFIX_BITS)?;
                Ok((Instruction::Insert { name, value }, rest))
            }
            0x20..0x40 => {
                let (capacity, rest) = self.integer(self.bytes, 5)?;
                Ok((Instruction::Capacity(capacity), rest))
            }
            0x00..0x20 => {
                let (index, rest) = self.integer(self.bytes, 5)?;
                Ok((Instruction::Duplicate(index), rest))
            }
        }
    }

    fn integer(&self, at: &'a [u8], prefix_bits: u32) -> Result<(usize, &'a [u8]), Unfound> {
        integer::decode(at, prefix_bits).map_err(|error| match error {
            HpackError::Truncated => Unfound::Needs(self.bytes.len() + 1),
            error => Unfound::Wrong(error.into()),
        })
    }

    /// A string with its length, and what follows it.
    fn string(&self, at: &'a [u8], prefix_bits: u32) -> Result<(&'a [u8], &'a [u8]), Unfound> {
        let (length, rest) = self.integer(at, prefix_bits)?;
        if length > self.capacity_bytes.saturating_mul(CODE_BYTES_PER_BYTE) {
            let capacity_bytes = self.capacity_bytes;
            return Err(Unfound::Wrong(QpackError::EntryTooLarge { capacity_bytes }));
        }
        let whole = at.len() - rest.len() + length;
        at.split_at_checked(whole).ok_or(Unfound::Needs(self.bytes.len() - at.len() + whole))
    }
}
