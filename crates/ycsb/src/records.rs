//! Which record an operation asks for.

use loadcurve_plan::Random;

use crate::hash::scattered;
use crate::inserted::InsertedKeys;
use crate::workload::{RequestDistribution, Workload, ZIPFIAN_CONSTANT};
use crate::zipfian::Zipfian;

/// How many items YCSB draws from before it scatters them over the records: 10¹⁰, whatever the count of records, so that
/// how often the most popular record is asked for does not depend on it.
const SCATTERED_ITEMS: u64 = 10_000_000_000;

/// Chooses records that are there.
#[derive(Clone, Debug)]
pub(crate) struct Records {
    /// The records that were there when the operations began and that operations ask for.
    first: u64,
    count: u64,
    /// One past the last record that was there.
    end: u64,
    choice: Choice,
}

#[derive(Clone, Debug)]
enum Choice {
    Uniform,
    Zipfian(Zipfian),
    Latest(Zipfian),
    Hotspot {
        hot: u64,
        operations: f64,
    },
    /// With how many records back the chance falls to 1/e.
    Exponential {
        mean: f64,
    },
    Sequential,
}

impl Records {
    /// For a valid workload.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // A share of the count is at most the count.
    pub(crate) fn new(workload: &Workload) -> Self {
        let count = workload.load_records();
        let choice = match workload.request_distribution {
            RequestDistribution::Uniform => Choice::Uniform,
            RequestDistribution::Zipfian { constant } => {
                Choice::Zipfian(Zipfian::new(constant, SCATTERED_ITEMS))
            }
            RequestDistribution::Latest => Choice::Latest(Zipfian::new(ZIPFIAN_CONSTANT, workload.records)),
            RequestDistribution::Hotspot { records, operations } => {
                Choice::Hotspot { hot: ((count as f64 * records) as u64).min(count), operations }
            }
            RequestDistribution::Exponential { percentile, fraction } => {
                let range = workload.records as f64 * fraction;
                Choice::Exponential { mean: -range / (1.0 - percentile / 100.0).ln() }
            }
            RequestDistribution::Sequential => Choice::Sequential,
        };
        Self { first: workload.insert_start, count, end: workload.records, choice }
    }

    /// The record that operation `number` asks for. There must be one.
    pub(crate) fn choose(&mut self, number: u64, random: &mut Random, inserted: &InsertedKeys) -> u64 {
        let record = match &mut self.choice {
            Choice::Uniform => self.first + random.next_below(self.count),
            Choice::Sequential => self.first + number % self.count,
            Choice::Hotspot { hot, operations } => {
                let is_hot = random.next_unit() <= *operations;
                let cold = self.count - *hot;
                // Either part may be empty where the shares say so.
                if (is_hot && *hot > 0) || cold == 0 {
                    self.first + random.next_below(*hot)
                } else {
                    self.first + *hot + random.next_below(cold)
                }
            }
            Choice::Zipfian(items) => {
                let hash = scattered(items.at(1.0 - random.next_unit()));
                let place = address(hash, self.count, self.count + inserted.added());
                match place.checked_sub(self.count) {
                    None => self.first + place,
                    Some(added) => self.end + added,
                }
            }
            Choice::Latest(items) => {
                let end = inserted.end();
                items.set_items(end);
                end - 1 - items.at(1.0 - random.next_unit())
            }
            Choice::Exponential { mean } => {
                let end = inserted.end();
                end - 1 - exponential(random.next_unit(), *mean, end)
            }
        };
        inserted.nearest(record)
    }
}

/// Where a hash belongs among this many places, at least as many as there were at `first`: its remainder, by linear
/// hashing (Litwin, *Linear hashing: a new tool for file and table addressing*, VLDB 1980). As places are added, an item
/// moves at most once each time that their count doubles; all others stay where they are.
fn address(hash: u64, first: u64, places: u64) -> u64 {
    if places == first {
        return hash % first;
    }
    // The largest doubling of the first count that is not above the places.
    let half = first << (places / first).ilog2();
    let place = hash % (2 * half);
    if place < places { place } else { hash % half }
}

/// A whole number below `bound` from the exponential distribution of this mean, cut off there: the distribution of
/// those that are below when numbers are drawn until one is.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // The product is from zero to the bound.
fn exponential(unit: f64, mean: f64, bound: u64) -> u64 {
    let share_below = -(-(bound as f64) / mean).exp_m1();
    let length = -mean * (-(1.0 - unit) * share_below).ln_1p();
    (length as u64).min(bound - 1)
}

#[cfg(test)]
mod tests;
