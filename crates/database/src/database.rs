//! The seam between a load and the databases: one module for each database implements it.

use std::collections::BTreeMap;
use std::fmt;

use loadcurve_plan::Nanos;
use loadcurve_record::Failure;
use loadcurve_ycsb::{Key, Selection, Values, Workload};
use serde::Deserialize;

/// Settings of a driver by name; each database's module says which it knows.
pub type Settings = BTreeMap<String, String>;

/// Why an operation came to nothing: its class, and what the database or the driver says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// Its class in results.
    pub failure: Failure,
    /// In the words of the database or driver, on one line, without what differs from one operation to the next.
    pub text: String,
}

impl Failed {
    /// A failure with its explanation, which is put onto one line.
    pub(crate) fn new(failure: Failure, text: impl AsRef<str>) -> Self {
        let text = text.as_ref().split(|c: char| c.is_whitespace() || c.is_control());
        Self { failure, text: text.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ") }
    }

    /// The same failure without the keys in its text, so that what failed alike counts as alike.
    #[cfg(feature = "drivers")]
    pub(crate) fn without_keys<'a>(mut self, keys: impl Iterator<Item = &'a Key>) -> Self {
        for key in keys.filter(|key| !key.as_str().is_empty()) {
            if self.text.contains(key.as_str()) {
                self.text = self.text.replace(key.as_str(), "KEY");
            }
        }
        self
    }

    /// Whether the connection is of no use any more.
    pub(crate) fn ends_connection(&self) -> bool {
        !matches!(
            self.failure,
            Failure::Rejected | Failure::NotFound | Failure::AccessDenied | Failure::Mismatch
        )
    }
}

/// Why a target cannot be asked at all, known before anything is sent: a sentence for the person who named it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidTarget(pub String);

impl fmt::Display for InvalidTarget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for InvalidTarget {}

/// Which database, and how it is to be asked.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Where it is, with user and password if it needs them.
    pub url: String,
    /// The namespace that holds the table: a database of `MongoDB`, a schema of `PostgreSQL`.
    pub namespace: String,
    /// The table or collection.
    pub table: String,
    /// What differs from the driver's defaults.
    #[serde(default)]
    pub settings: Settings,
    /// How long connecting may take, and how long an answer may take.
    pub timeout_s: f64,
    /// The records that the table holds.
    pub workload: Workload,
}

/// A database as one thread of a load sees it. Nothing of it crosses threads, and it lives in the thread's runtime.
#[expect(async_fn_in_trait, reason = "only this workspace implements it, for one thread")]
pub trait Database: Sized + 'static {
    /// One client's way to the database.
    type Session: Session;

    /// Whether a session is a separate connection, so that making one shows how long connecting takes; otherwise the
    /// driver connects when it sees fit, and reports it by [`Self::take_connection_events`].
    const CONNECTS: bool;

    /// Checks the address, the names and the settings, without connecting.
    ///
    /// # Errors
    /// What is wrong with them. No text contains the password.
    fn check(target: &Target) -> Result<(), InvalidTarget>;

    /// Connects, for this many sessions. The target has been checked.
    ///
    /// # Errors
    /// When there is no such database, or it lets nobody in.
    async fn open(target: &Target, sessions: usize) -> Result<Self, Failed>;

    /// What the database calls itself and its version, such as `MongoDB 7.0.14`.
    ///
    /// # Errors
    /// When it does not answer.
    async fn version(&self) -> Result<String, Failed>;

    /// Whether the table is there already: what a load did not make it may not drop.
    ///
    /// # Errors
    /// When the database does not answer.
    async fn exists(&self) -> Result<bool, Failed>;

    /// Whether the table is there and bears the mark of one that [`Self::create`] made.
    ///
    /// # Errors
    /// When the database does not answer.
    async fn is_ours(&self) -> Result<bool, Failed>;

    /// Makes an empty table, marked as ours, and the namespace if it is not there.
    ///
    /// # Errors
    /// When there is such a table already, or the database refuses.
    async fn create(&self) -> Result<(), Failed>;

    /// Removes the table whoever made it, and the namespace if this made it and nothing else is in it.
    ///
    /// # Errors
    /// When the database refuses.
    async fn remove(&self) -> Result<(), Failed>;

    /// How many records the table holds: counted, not estimated.
    ///
    /// # Errors
    /// When the database does not answer.
    async fn count(&self) -> Result<u64, Failed>;

    /// A way for one client.
    ///
    /// # Errors
    /// When a separate connection cannot be had.
    async fn session(&self) -> Result<Self::Session, Failed>;

    /// What has become of the driver's own connections since this was asked last, the oldest first.
    fn take_connection_events(&self) -> Vec<ConnectionEvent> {
        Vec::new()
    }
}

/// What has become of a connection that the driver has made by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionEvent {
    /// It could be used after this time: it was established, and the server has let the client in.
    Opened(Nanos),
    /// It could not be established.
    Failed,
    /// It was open, and is no more.
    Closed,
}

/// A record that is added.
#[derive(Clone, Copy, Debug)]
pub struct NewRecord<'a> {
    /// Its key.
    pub key: &'a Key,
    /// Every field.
    pub values: &'a Values,
}

/// What is done with the fields that a database has returned.
pub trait Found {
    /// A field of the record of this key, by its name.
    fn field(&mut self, key: &str, name: &str, text: &str);
}

/// One client's way to a database: one operation at a time.
#[expect(async_fn_in_trait, reason = "only this workspace implements it, for one thread")]
pub trait Session: 'static {
    /// Reads a record, and gives every field to `found`.
    ///
    /// # Errors
    /// [`Failure::NotFound`](loadcurve_record::Failure) where there is no such record, or why the database does not
    /// answer.
    async fn read(&mut self, key: &Key, selection: Selection, found: &mut impl Found) -> Result<(), Failed>;

    /// Writes fields of a record that is there; the others stay as they are.
    ///
    /// # Errors
    /// As for [`Self::read`].
    async fn update(&mut self, key: &Key, values: &Values) -> Result<(), Failed>;

    /// Adds records, in one request.
    ///
    /// # Errors
    /// When one is there already, or why the database does not answer.
    async fn insert(&mut self, records: &[NewRecord<'_>]) -> Result<(), Failed>;

    /// Reads at most this many records in the order of their keys from `first` on, and gives every field to `found`;
    /// returns how many there were.
    ///
    /// # Errors
    /// When the database does not answer.
    async fn scan(
        &mut self,
        first: &Key,
        records: usize,
        selection: Selection,
        found: &mut impl Found,
    ) -> Result<usize, Failed>;

    /// Removes a record.
    ///
    /// # Errors
    /// As for [`Self::read`].
    async fn delete(&mut self, key: &Key) -> Result<(), Failed>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_operation_leaves_its_connection_usable() {
        let ends = |failure| Failed::new(failure, "").ends_connection();
        assert!(!ends(Failure::Rejected));
        assert!(!ends(Failure::NotFound));
        assert!(ends(Failure::Timeout), "its answer may still come");
        assert!(ends(Failure::Reset));
    }
}
