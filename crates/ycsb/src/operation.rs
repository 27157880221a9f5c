//! One operation on a database.

use std::str;

use serde::{Deserialize, Serialize};

use crate::decimal::digits_from_the_last;
use crate::hash::scattered;
use crate::values::Values;

/// What an operation does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Reads one record by its key.
    #[default]
    Read,
    /// Writes fields of one record that is there.
    Update,
    /// Adds one record.
    Insert,
    /// Reads records in the order of their keys.
    Scan,
    /// Reads one record and then writes fields of it: one operation, from the start of the one to the end of the other.
    ReadModifyWrite,
    /// Removes one record.
    Delete,
}

impl Kind {
    /// Every kind, in the order of results.
    pub const ALL: [Self; 6] =
        [Self::Read, Self::Update, Self::Insert, Self::Scan, Self::ReadModifyWrite, Self::Delete];

    /// What results call the operation.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Update => "update",
            Self::Insert => "insert",
            Self::Scan => "scan",
            Self::ReadModifyWrite => "read-modify-write",
            Self::Delete => "delete",
        }
    }
}

/// The key of a record, such as `user6284781860667377211`. It is made in place, without allocating.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(String);

/// In which order of their keys records are inserted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InsertOrder {
    /// Keys are hashes of their numbers.
    #[default]
    Hashed,
    /// Keys are their numbers.
    Ordered,
}

/// What every key begins with.
const KEY_PREFIX: &str = "user";
/// As many digits as the largest number of 64 bits has.
const DIGITS_MAX: usize = 20;

impl Key {
    /// As it is written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Becomes the key of this record.
    pub(crate) fn set(&mut self, record: u64, order: InsertOrder, zero_padding: usize) {
        let number = match order {
            InsertOrder::Hashed => scattered(record),
            InsertOrder::Ordered => record,
        };
        let mut buffer = [0; DIGITS_MAX];
        let mut start = DIGITS_MAX;
        digits_from_the_last(number, |digits| {
            let end = start;
            start -= digits.len();
            buffer[start..end].copy_from_slice(digits);
        });
        self.0.clear();
        self.0.push_str(KEY_PREFIX);
        self.0.extend((DIGITS_MAX - start..zero_padding).map(|_| '0'));
        self.0.push_str(str::from_utf8(&buffer[start..]).expect("digits are ASCII"));
    }
}

impl From<&str> for Key {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

/// Which fields a read or scan asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    /// All.
    #[default]
    All,
    /// The one of this index.
    One(usize),
}

/// One operation. It is made again in the same place, so that the steady state does not allocate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Operation {
    /// What it does.
    pub kind: Kind,
    /// The record that it asks for; for a scan the first.
    pub key: Key,
    /// The number of that record.
    pub record: u64,
    /// The fields that it reads.
    pub selection: Selection,
    /// The fields that it writes.
    pub values: Values,
    /// How many records a scan asks for; zero for others.
    pub scan_records: usize,
}

#[cfg(test)]
mod tests {
    use super::{InsertOrder, Key};

    fn key(record: u64, order: InsertOrder, zero_padding: usize) -> String {
        let mut key = Key::default();
        key.set(record, order, zero_padding);
        key.as_str().into()
    }

    #[test]
    fn keys_are_those_of_ycsb() {
        // Those that YCSB 0.17.0 inserted.
        let inserted = [
            (0, "user6284781860667377211"),
            (1, "user8517097267634966620"),
            (2, "user1820151046732198393"),
            (999_999, "user2744965632448235251"),
        ];
        for (record, expected) in inserted {
            assert_eq!(key(record, InsertOrder::Hashed, 1), expected);
        }
        assert_eq!(key(0, InsertOrder::Ordered, 1), "user0");
        // The example of YCSB's own documentation.
        assert_eq!(key(5, InsertOrder::Ordered, 1), "user5");
        assert_eq!(key(5, InsertOrder::Ordered, 8), "user00000005");
        assert_eq!(key(123_456_789, InsertOrder::Ordered, 8), "user123456789");
        assert_eq!(key(u64::MAX, InsertOrder::Ordered, 0), "user18446744073709551615");
    }
}
