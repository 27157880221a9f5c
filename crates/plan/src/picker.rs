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

/// Takes requests from a list.
///
/// Which one is number `k` of the load depends on `k` and the seed alone, so any worker can tell for its own share.
#[derive(Clone, Debug)]
pub struct Picker {
    pick: Pick,
    count: usize,
    /// For each request, the share of all weights up to and with its own.
    cumulative: Vec<f64>,
    random: Random,
}

impl Picker {
    /// A picker from a list of requests with these weights; there must be at least one, with a weight above zero.
    #[must_use]
    pub fn new(pick: Pick, weights: &[f64], seed: u64) -> Self {
        let total: f64 = weights.iter().sum();
        let mut sum = 0.0;
        let cumulative = weights
            .iter()
            .map(|weight| {
                sum += weight / total;
                sum
            })
            .collect();
        Self { pick, count: weights.len(), cumulative, random: Random::new(seed, Purpose::Requests) }
    }

    /// Which request of the list is number `k` (from zero) of the load.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn operation(&self, k: u64) -> usize {
        match self.pick {
            _ if self.count == 1 => 0,
            Pick::InOrder => (k % self.count as u64) as usize,
            Pick::Random => {
                // The unit is above 0 and at most 1; turned around it is below 1.
                let place = 1.0 - self.random.unit_at(k);
                (place * self.count as f64) as usize
            }
            Pick::Weighted => {
                let place = 1.0 - self.random.unit_at(k);
                self.cumulative.partition_point(|upper| *upper <= place).min(self.count - 1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Pick, Picker};

    fn counts(pick: Pick, weights: &[f64], requests: u64) -> Vec<f64> {
        let picker = Picker::new(pick, weights, 3);
        let mut counts = vec![0.0; weights.len()];
        for k in 0..requests {
            counts[picker.operation(k)] += 1.0;
        }
        counts
    }

    #[test]
    fn in_order_goes_round_the_list() {
        let picker = Picker::new(Pick::InOrder, &[1.0; 3], 0);
        assert_eq!((0..7).map(|k| picker.operation(k)).collect::<Vec<_>>(), [0, 1, 2, 0, 1, 2, 0]);
    }

    #[test]
    fn at_random_every_request_is_as_likely_as_any_other() {
        // Each count is binomial with mean 10,000 and deviation 87; four of them are allowed.
        for count in counts(Pick::Random, &[5.0, 1.0, 1.0, 1.0], 40_000) {
            assert!((count - 10_000.0).abs() < 350.0, "{count}");
        }
    }

    #[test]
    fn by_weight_requests_come_in_proportion_and_one_of_weight_zero_never() {
        let counts = counts(Pick::Weighted, &[1.0, 0.0, 3.0], 40_000);
        // Binomial with mean 10,000 and deviation 87.
        assert!((counts[0] - 10_000.0).abs() < 350.0, "{counts:?}");
        assert!(counts[1].abs() < f64::EPSILON, "{counts:?}");
    }

    #[test]
    fn the_same_seed_picks_the_same_requests() {
        let picks = |seed| {
            let picker = Picker::new(Pick::Random, &[1.0; 10], seed);
            (0..50).map(|k| picker.operation(k)).collect::<Vec<_>>()
        };
        assert_eq!(picks(1), picks(1));
        assert_ne!(picks(1), picks(2));
    }
}
