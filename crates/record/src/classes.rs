//! The classes that results count by, one table for each, and counts by class.
//!
//! A class is one row here. Results, messages, the Python side, the schemas and METHODOLOGY's tables are made of the
//! rows.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

mod failures;

pub use failures::{Failure, FailureCounts, FailureRow, Origin};

/// The row of a class of statuses.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct StatusRow {
    /// What results call it.
    pub code: &'static str,
    /// What an answer of such a status says.
    pub meaning: &'static str,
    /// Whether it counts as one without a right answer.
    pub is_error: bool,
}

impl StatusRow {
    const BLANK: Self = Self { code: "", meaning: "", is_error: false };
}

/// One of the classes of a table, which has `COUNT` of them.
pub trait Class<const COUNT: usize>: Copy + 'static {
    /// All classes, in the order of results.
    const ALL: [Self; COUNT];

    /// What results call it.
    fn code(self) -> &'static str;

    /// Its place among all.
    fn place(self) -> usize;
}

/// An enumeration whose variants are the rows of a table.
#[macro_export]
macro_rules! table {
    (
        $(#[$about:meta])*
        $name:ident: $row:ident
        $($variant:ident { code: $code:literal, $($field:ident: $value:expr),* $(,)? })*
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name {
            $(#[doc = concat!("`", $code, "`")] $variant,)*
        }

        impl $name {
            /// The rows of the table.
            #[allow(clippy::needless_update, reason = "the rows of some tables have no field to leave out")]
            pub const ROWS: &[$row] = &[$($row { code: $code, $($field: $value,)* ..$row::BLANK }),*];

            /// Its row.
            #[must_use]
            pub fn row(self) -> &'static $row {
                &Self::ROWS[self as usize]
            }
        }

        impl $crate::Class<{ $name::ROWS.len() }> for $name {
            const ALL: [Self; $name::ROWS.len()] = [$(Self::$variant),*];

            fn code(self) -> &'static str {
                self.row().code
            }

            fn place(self) -> usize {
                self as usize
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.row().code)
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                use $crate::Class;
                let code = <String as ::serde::Deserialize>::deserialize(deserializer)?;
                let found = Self::ALL.into_iter().find(|one| one.code() == code);
                found.ok_or_else(|| ::serde::de::Error::custom(format_args!("unknown code {code:?}")))
            }
        }
    };
}

table! {
    /// The classes of HTTP's status codes, from 100 to 599.
    StatusClass: StatusRow
    Informational { code: "1xx", meaning: "interim response", is_error: false }
    Success { code: "2xx", meaning: "success", is_error: false }
    Redirection { code: "3xx", meaning: "redirected, or not modified", is_error: false }
    ClientError { code: "4xx", meaning: "refused: the error is in the request", is_error: true }
    ServerError { code: "5xx", meaning: "failed: the error is in the server", is_error: true }
}

/// How many answers there were of each class.
pub type StatusCounts = Counts<StatusClass, { StatusClass::ROWS.len() }>;

impl StatusClass {
    /// The class of a status; the parser lets none outside 100 to 599 through.
    #[must_use]
    pub fn of(status: u16) -> Self {
        Self::ALL[usize::from(status / 100).clamp(1, Self::ALL.len()) - 1]
    }
}

/// How many there were of each class of a table; as JSON an object of all classes, in the table's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts<C, const COUNT: usize> {
    counts: [u64; COUNT],
    of: PhantomData<C>,
}

impl<C, const COUNT: usize> Default for Counts<C, COUNT> {
    fn default() -> Self {
        Self { counts: [0; COUNT], of: PhantomData }
    }
}

impl<C: Class<COUNT>, const COUNT: usize> Counts<C, COUNT> {
    /// Counts one of a class.
    pub fn add(&mut self, class: C) {
        self[class] += 1;
    }

    /// Every class with its count, in the order of the table.
    pub fn iter(&self) -> impl Iterator<Item = (C, u64)> {
        C::ALL.into_iter().zip(self.counts)
    }

    /// All classes together.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Adds the counts of another recording.
    pub fn merge(&mut self, other: &Self) {
        for (count, others) in self.counts.iter_mut().zip(other.counts) {
            *count += others;
        }
    }
}

impl StatusCounts {
    /// Answers that are not errors.
    #[must_use]
    pub fn ok(&self) -> u64 {
        self.iter().filter(|(class, _)| !class.row().is_error).map(|(_, count)| count).sum()
    }
}

impl<C: Class<COUNT>, const COUNT: usize, const LENGTH: usize> From<[(C, u64); LENGTH]> for Counts<C, COUNT> {
    /// Those of the given classes, and none of any other.
    fn from(given: [(C, u64); LENGTH]) -> Self {
        let mut counts = Self::default();
        for (class, count) in given {
            counts[class] += count;
        }
        counts
    }
}

impl<C: Class<COUNT>, const COUNT: usize> Index<C> for Counts<C, COUNT> {
    type Output = u64;

    fn index(&self, class: C) -> &u64 {
        &self.counts[class.place()]
    }
}

impl<C: Class<COUNT>, const COUNT: usize> IndexMut<C> for Counts<C, COUNT> {
    fn index_mut(&mut self, class: C) -> &mut u64 {
        &mut self.counts[class.place()]
    }
}

impl<C: Class<COUNT>, const COUNT: usize> Serialize for Counts<C, COUNT> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(COUNT))?;
        for (class, count) in self.iter() {
            map.serialize_entry(class.code(), &count)?;
        }
        map.end()
    }
}

impl<'de, C: Class<COUNT> + Deserialize<'de> + Ord, const COUNT: usize> Deserialize<'de>
    for Counts<C, COUNT>
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut counts = Self::default();
        for (class, count) in BTreeMap::<C, u64>::deserialize(deserializer)? {
            counts[class] = count;
        }
        Ok(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::{Class, Failure, FailureCounts, StatusClass, StatusCounts};

    #[test]
    fn every_class_has_the_row_of_its_place_and_a_code_of_its_own() {
        for (place, failure) in Failure::ALL.into_iter().enumerate() {
            assert_eq!((failure.place(), failure.code()), (place, Failure::ROWS[place].code));
        }
        let mut codes: Vec<_> = Failure::ROWS.iter().map(|row| row.code).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), Failure::ROWS.len());
    }

    #[test]
    fn counts_of_two_recordings_add_up_class_by_class() {
        let mut counts = FailureCounts::from([(Failure::Reset, 2), (Failure::NotFound, 1)]);
        counts.add(Failure::Timeout);
        counts.merge(&FailureCounts::from([(Failure::Reset, 3)]));
        let counted: Vec<_> = counts.iter().filter(|(_, count)| *count > 0).collect();
        assert_eq!(counted, [(Failure::Timeout, 1), (Failure::Reset, 5), (Failure::NotFound, 1)]);
        assert_eq!(counts.total(), 7);
    }

    #[test]
    fn a_status_belongs_to_the_class_of_its_hundred_and_is_right_below_400() {
        let mut counts = StatusCounts::default();
        for status in [100, 199, 200, 304, 399, 400, 499, 500, 599] {
            counts.add(StatusClass::of(status));
        }
        let counted: Vec<_> = counts.iter().map(|(class, count)| (class.code(), count)).collect();
        assert_eq!(counted, [("1xx", 2), ("2xx", 1), ("3xx", 2), ("4xx", 2), ("5xx", 2)]);
        assert_eq!(counts.ok(), 5);
    }
}
