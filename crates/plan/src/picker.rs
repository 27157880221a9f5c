//! Which request of a list comes next.

use serde::{Deserialize, Serialize};

use crate::random::{Purpose, Random};

/// How requests are taken from their list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pick {
    /// One after the other, and from the start again.
    #[default]
    InOrder,
    /// Each as likely as any other.
    Random,
    /// By their weights.
    Weighted,
}

/// Where a picker points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Choice {
    /// At the request of this number, from zero.
    Number(u64),
    /// At a place on the line of all weights, laid end to end, as a share of its length: 0 or more, and below 1.
    Share(f64),
}

/// Takes requests from a list.
///
/// Which one is number `k` of the load depends on `k` and the seed alone, so any worker can tell for its own share.
#[derive(Clone, Debug)]
pub struct Picker {
    pick: Pick,
    count: u64,
    random: Random,
}

impl Picker {
    /// A picker from a list of `count` requests; there must be at least one.
    #[must_use]
    pub fn new(pick: Pick, count: u64, seed: u64) -> Self {
        Self { pick, count, random: Random::new(seed, Purpose::Requests) }
    }

    /// Which request of the list is number `k` (from zero) of the load.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn choice(&self, k: u64) -> Choice {
        // The unit is above 0 and at most 1; turned around it is below 1.
        let share = || 1.0 - self.random.unit_at(k);
        match self.pick {
            _ if self.count == 1 => Choice::Number(0),
            Pick::InOrder => Choice::Number(k % self.count),
            Pick::Random => Choice::Number((share() * self.count as f64) as u64),
            Pick::Weighted => Choice::Share(share()),
        }
    }
}

/// The weights of a list, laid end to end.
#[derive(Clone, Debug)]
pub struct Weights {
    /// Where the part of each ends, which is where the next one's begins.
    ends: Vec<f64>,
}

impl Weights {
    /// The weights of a list of at least one request, of which at least one weighs more than zero.
    #[must_use]
    pub fn new(weights: impl IntoIterator<Item = f64>) -> Self {
        let mut end = 0.0;
        let end_after = |weight| {
            end += weight;
            end
        };
        Self { ends: weights.into_iter().map(end_after).collect() }
    }

    /// The request in whose part a share of the whole lies, below 1.
    #[must_use]
    pub fn at(&self, share: f64) -> usize {
        // A share below 1 is one by at least half the spacing of numbers, so the place is below the end, too.
        let place = share * self.ends.last().copied().unwrap_or_default();
        self.ends.partition_point(|end| *end <= place)
    }
}

#[cfg(test)]
mod tests {
    use super::{Choice, Pick, Picker, Weights};

    fn numbers(pick: Pick, count: u64, seed: u64, requests: u64) -> Vec<u64> {
        let picker = Picker::new(pick, count, seed);
        let number = |k| match picker.choice(k) {
            Choice::Number(number) => number,
            Choice::Share(share) => panic!("{share} is not a number of a request"),
        };
        (0..requests).map(number).collect()
    }

    #[test]
    fn in_order_goes_round_the_list() {
        assert_eq!(numbers(Pick::InOrder, 3, 0, 7), [0, 1, 2, 0, 1, 2, 0]);
    }

    #[test]
    fn at_random_every_request_is_as_likely_as_any_other() {
        let picked = numbers(Pick::Random, 4, 3, 40_000);
        for request in 0..4 {
            // The count is binomial with mean 10,000 and deviation 87; four of them are allowed.
            let count = picked.iter().filter(|number| **number == request).count();
            assert!(count.abs_diff(10_000) < 350, "{count}");
        }
    }

    #[test]
    fn by_weight_requests_come_in_proportion_and_one_of_weight_zero_never() {
        let (picker, weights) = (Picker::new(Pick::Weighted, 3, 3), Weights::new([1.0, 0.0, 3.0]));
        let mut counts = [0_u64; 3];
        for k in 0..40_000 {
            let Choice::Share(share) = picker.choice(k) else { panic!("weights were asked for") };
            counts[weights.at(share)] += 1;
        }
        // Binomial with mean 10,000 and deviation 87.
        assert!(counts[0].abs_diff(10_000) < 350, "{counts:?}");
        assert_eq!(counts[1], 0);
    }

    #[test]
    fn every_share_below_1_lies_in_a_part_and_those_of_weight_zero_have_none() {
        let weights = Weights::new([0.0, 1.0, 0.0, 2.0, 1.0, 0.0]);
        let below_1 = 1.0 - f64::EPSILON / 2.0;
        let found = [0.0, 0.24, 0.25, 0.74, 0.75, below_1].map(|share| weights.at(share));
        assert_eq!(found, [1, 1, 3, 3, 4, 4]);
    }

    #[test]
    fn the_same_seed_picks_the_same_requests() {
        assert_eq!(numbers(Pick::Random, 10, 1, 50), numbers(Pick::Random, 10, 1, 50));
        assert_ne!(numbers(Pick::Random, 10, 1, 50), numbers(Pick::Random, 10, 2, 50));
    }
}
