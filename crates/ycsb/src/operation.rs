//! One operation on a database.

use std::ops::Deref;
use std::str;

use serde::{Deserialize, Serialize};

use crate::hash::scattered;
use crate::workload::InsertOrder;

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
    /// Reads one record and then writes fields of it: one operation, from the begin of the one to the end of the other.
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
        let mut number = match order {
            InsertOrder::Hashed => scattered(record),
            InsertOrder::Ordered => record,
        };
        let mut buffer = [b'0'; DIGITS_MAX];
        let mut start = DIGITS_MAX;
        while start == DIGITS_MAX || number > 0 {
            start -= 1;
            buffer[start] = b'0' + (number % 10) as u8;
            number /= 10;
        }
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

/// One field that is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Value {
    /// The index of the field.
    pub field: usize,
    /// What it is to hold: printable ASCII.
    pub text: String,
}

/// The fields that an operation writes, as a slice. Those that it does not write keep their memory for a later one.
#[derive(Clone, Debug, Default)]
pub struct Values {
    made: Vec<Value>,
    used: usize,
}

impl Values {
    /// None from now on.
    pub(crate) fn clear(&mut self) {
        self.used = 0;
    }

    /// One more, whose text is still that of another operation.
    pub(crate) fn add(&mut self, field: usize) -> &mut String {
        if self.used == self.made.len() {
            self.made.push(Value::default());
        }
        let value = &mut self.made[self.used];
        self.used += 1;
        value.field = field;
        &mut value.text
    }
}

impl Deref for Values {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.made[..self.used]
    }
}

impl PartialEq for Values {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Values {}

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
    use super::{Key, Values};
    use crate::workload::InsertOrder;

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

    #[test]
    fn values_that_an_operation_does_not_write_keep_their_memory() {
        let mut values = Values::default();
        values.add(3).push_str("a text");
        let place = values[0].text.as_ptr();
        values.clear();
        assert!(values.is_empty());
        assert_eq!(values.add(1).as_ptr(), place);
        assert_eq!(values[0].field, 1);
    }
}
