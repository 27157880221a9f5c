//! One operation on a database.

use serde::{Deserialize, Serialize};

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

impl Key {
    /// As it is written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
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

/// One operation. It is made again in the same place, so that the steady state does not allocate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Operation {
    /// What it does.
    pub kind: Kind,
    /// The record that it asks for; for a scan the first.
    pub key: Key,
    /// The number of that record, from which its values can be told.
    pub record: u64,
    /// The fields that it reads.
    pub selection: Selection,
    /// The fields that it writes.
    pub values: Vec<Value>,
    /// How many records a scan asks for.
    pub scan_records: usize,
}
