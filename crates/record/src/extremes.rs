//! The least and the greatest of some numbers.

use serde::{Deserialize, Serialize};

/// The least and the greatest number that came; none without one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extremes(pub Option<(u64, u64)>);

impl Extremes {
    /// Takes one more number.
    pub fn add(&mut self, number: u64) {
        self.merge(Self(Some((number, number))));
    }

    /// Adds what another one has seen.
    pub fn merge(&mut self, other: Self) {
        let Some((least, greatest)) = other.0 else { return };
        let (known_least, known_greatest) = self.0.unwrap_or((least, greatest));
        self.0 = Some((least.min(known_least), greatest.max(known_greatest)));
    }
}
