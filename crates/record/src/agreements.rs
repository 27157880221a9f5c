//! What the two sides of connections have agreed on in their handshakes, counted.

use loadcurve_plan::Nanos;
use serde::{Deserialize, Serialize};

use crate::TimeHistogram;

/// What the handshake of one connection has agreed on, in the numbers that IANA has registered for TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Agreement {
    /// The version of TLS.
    pub version: u16,
    /// The cipher suite.
    pub suite: u16,
    /// The group of the key exchange; `None` if there was none.
    pub group: Option<u16>,
    /// Whether an earlier session continued.
    pub is_resumed: bool,
}

/// One handshake, as it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handshake {
    /// What it has agreed on.
    pub agreement: Agreement,
    /// Whether the server began a session although an earlier one was offered.
    pub is_refused: bool,
}

/// How often each agreement was reached. There are few different ones in a load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agreements(Vec<(Agreement, u64)>);

impl Agreements {
    /// Counts an agreement `count` times more.
    pub fn add(&mut self, agreement: Agreement, count: u64) {
        match self.0.iter_mut().find(|(known, _)| *known == agreement) {
            Some((_, counted)) => *counted += count,
            None => self.0.push((agreement, count)),
        }
    }

    /// Adds what another one has counted.
    pub fn merge(&mut self, other: &Self) {
        for (agreement, count) in &other.0 {
            self.add(*agreement, *count);
        }
    }

    /// The agreements with their counts, the most frequent first.
    #[must_use]
    pub fn most_frequent(&self) -> Vec<(Agreement, u64)> {
        let mut all = self.0.clone();
        all.sort_by_key(|(agreement, count)| (std::cmp::Reverse(*count), *agreement));
        all
    }

    /// How many handshakes there were in which a session continued (`true`) or began (`false`).
    #[must_use]
    pub fn count(&self, resumed: bool) -> u64 {
        self.0.iter().filter(|(agreement, _)| agreement.is_resumed == resumed).map(|(_, count)| count).sum()
    }
}

/// How long those handshakes took that ended within the measured window, by whether an earlier session continued.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct HandshakeTimes {
    /// Those that began a session.
    pub full: TimeHistogram,
    /// Those that resumed one.
    pub resumed: TimeHistogram,
    /// How many of those that began one had offered an earlier one.
    pub refused: u64,
}

impl HandshakeTimes {
    /// Counts a handshake of this length.
    pub fn record(&mut self, length: Nanos, handshake: Handshake) {
        if handshake.agreement.is_resumed { &mut self.resumed } else { &mut self.full }.record(length);
        self.refused += u64::from(handshake.is_refused);
    }

    /// Adds what another one has counted.
    pub fn merge(&mut self, other: &Self) {
        self.full.merge(&other.full);
        self.resumed.merge(&other.resumed);
        self.refused += other.refused;
    }
}

#[cfg(test)]
mod tests {
    use super::{Agreement, Agreements};

    const FULL: Agreement = Agreement { version: 0x0304, suite: 0x1301, group: Some(29), is_resumed: false };
    const RESUMED: Agreement = Agreement { is_resumed: true, ..FULL };

    #[test]
    fn agreements_are_counted_by_what_was_agreed_and_merge_in_any_order() {
        let (mut some, mut others) = (Agreements::default(), Agreements::default());
        some.add(FULL, 1);
        some.add(RESUMED, 1);
        some.add(RESUMED, 1);
        others.add(FULL, 4);
        let mut one_way = some.clone();
        one_way.merge(&others);
        others.merge(&some);
        assert_eq!(one_way.most_frequent(), [(FULL, 5), (RESUMED, 2)]);
        assert_eq!(others.most_frequent(), one_way.most_frequent());
        assert_eq!((one_way.count(false), one_way.count(true)), (5, 2));
    }
}
