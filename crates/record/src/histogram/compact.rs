//! A coarse histogram put away.

use super::{CoarseHistogram, Moments};

/// Buckets between a power of two and the next in a histogram of two significant digits: the first power of two that
/// is not below 10².
const BUCKETS_PER_DOUBLING: usize = 128;

/// A coarse histogram put away: the counts from its first to its last bucket in use, 36 KiB at most.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompactHistogram {
    /// Which bucket of the histogram the first count is of.
    first: usize,
    counts: Vec<u64>,
    moments: Moments,
}

impl CompactHistogram {
    /// Adds the counts of another histogram.
    pub fn merge(&mut self, other: &Self) {
        self.moments.merge(&other.moments);
        if other.counts.is_empty() {
            return;
        }
        if self.counts.is_empty() {
            (self.first, self.counts) = (other.first, other.counts.clone());
            return;
        }
        self.widen(self.first.min(other.first), self.end().max(other.end()));
        debug_assert!(self.first <= other.first && other.end() <= self.end(), "buckets have no room");
        let shared = &mut self.counts[other.first - self.first..];
        for (count, more) in shared.iter_mut().zip(&other.counts) {
            *count += more;
        }
    }

    /// The histogram as it was before it was put away.
    #[must_use]
    pub fn expand(&self) -> CoarseHistogram {
        let mut histogram = CoarseHistogram { moments: self.moments, ..CoarseHistogram::default() };
        for (bucket, count) in (self.first..).zip(&self.counts) {
            if *count > 0 {
                histogram.buckets.saturating_record_n(shortest_of(bucket), *count);
            }
        }
        histogram
    }

    /// For how many counts there is room.
    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.counts.capacity()
    }

    fn end(&self) -> usize {
        self.first + self.counts.len()
    }

    /// Makes room for the counts of all buckets from `first` to before `end`, and for no others.
    fn widen(&mut self, first: usize, end: usize) {
        if first < self.first || end > self.end() {
            let mut counts = vec![0; end - first];
            counts[self.first - first..][..self.counts.len()].copy_from_slice(&self.counts);
            (self.first, self.counts) = (first, counts);
        }
    }
}

impl CoarseHistogram {
    /// Puts the counts away and starts again from nothing in the same memory.
    pub fn take_compact(&mut self) -> CompactHistogram {
        let mut compact =
            CompactHistogram { moments: std::mem::take(&mut self.moments), ..Default::default() };
        if !self.buckets.is_empty() {
            let first = bucket_of(self.buckets.min());
            compact.first = first;
            compact.counts = vec![0; bucket_of(self.buckets.max()) + 1 - first];
            for step in self.buckets.iter_recorded() {
                compact.counts[bucket_of(step.value_iterated_to()) - first] = step.count_at_value();
            }
            self.buckets.reset();
        }
        compact
    }
}

/// The index of the bucket of a time in ns: one for each of the shortest times, then equally many in each doubling.
#[expect(
    clippy::cast_possible_truncation,
    reason = "what is left after the shift is less than two doublings"
)]
fn bucket_of(time_ns: u64) -> usize {
    let doublings = (time_ns / BUCKETS_PER_DOUBLING as u64).checked_ilog2().unwrap_or(0) as usize;
    doublings * BUCKETS_PER_DOUBLING + (time_ns >> doublings) as usize
}

/// The shortest time of a bucket, in ns.
fn shortest_of(bucket: usize) -> u64 {
    let doublings = (bucket / BUCKETS_PER_DOUBLING).saturating_sub(1);
    ((bucket - doublings * BUCKETS_PER_DOUBLING) as u64) << doublings
}

#[cfg(test)]
mod tests {
    use super::{CompactHistogram, bucket_of, shortest_of};
    use crate::CoarseHistogram;
    use loadcurve_plan::Nanos;
    use proptest::prelude::*;

    /// Times from one end of the histogram to the other and beyond it: their logarithms are spread evenly.
    fn times() -> impl Strategy<Value = Vec<u64>> {
        prop::collection::vec((0_u32..=43, 1_u64..1_000).prop_map(|(shift, time)| time << shift), 0..100)
    }

    fn histogram_of(times: &[u64]) -> CoarseHistogram {
        let mut histogram = CoarseHistogram::default();
        for time in times {
            histogram.record(Nanos(*time));
        }
        histogram
    }

    fn compact_of(times: &[u64]) -> CompactHistogram {
        histogram_of(times).take_compact()
    }

    #[test]
    fn the_whole_range_takes_as_much_as_the_histogram_itself() {
        let widest = compact_of(&[0, (1 << 42) - 1]);
        assert_eq!(widest.counts.len(), CoarseHistogram::default().buckets.distinct_values());
        assert_eq!(size_of_val(&*widest.counts), 36 * 1024);
    }

    #[test]
    fn a_histogram_that_was_put_away_counts_from_nothing_again() {
        let mut histogram = histogram_of(&[5, 7]);
        histogram.take_compact();
        histogram.record(Nanos(9));
        assert_eq!(histogram.take_compact(), compact_of(&[9]));
    }

    proptest! {
        #[test]
        fn times_share_a_bucket_where_the_histogram_says_so(time in 0..=3_600_000_000_000_u64) {
            let buckets = histogram_of(&[]).buckets;
            prop_assert_eq!(shortest_of(bucket_of(time)), buckets.lowest_equivalent(time));
            prop_assert_eq!(bucket_of(buckets.highest_equivalent(time)), bucket_of(time));
            prop_assert_eq!(bucket_of(buckets.next_non_equivalent(time)), bucket_of(time) + 1);
        }

        #[test]
        fn putting_a_histogram_away_and_taking_it_out_again_changes_nothing(times in times()) {
            let histogram = histogram_of(&times);
            let again = compact_of(&times).expand();
            prop_assert_eq!(&again.buckets, &histogram.buckets);
            prop_assert_eq!(again.moments, histogram.moments);
        }

        #[test]
        fn merging_is_putting_away_all_times_together(left in times(), right in times()) {
            let mut merged = compact_of(&left);
            merged.merge(&compact_of(&right));
            prop_assert_eq!(merged.capacity(), merged.counts.len());
            prop_assert_eq!(merged, compact_of(&[left, right].concat()));
        }
    }
}
