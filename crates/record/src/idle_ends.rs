//! How servers ended idle connections by an answer to no request.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Idle connections that were ended so, by the status of that answer: mostly 408.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdleEnds(BTreeMap<u16, u64>);

impl IdleEnds {
    /// Counts one connection.
    pub fn add(&mut self, status: u16) {
        *self.0.entry(status).or_default() += 1;
    }

    /// Adds what another recording has counted.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (status, count) in &other.0 {
            *self.0.entry(*status).or_default() += count;
        }
    }

    /// Each status with its count.
    pub fn iter(&self) -> impl Iterator<Item = (u16, u64)> {
        self.0.iter().map(|(status, count)| (*status, *count))
    }
}
