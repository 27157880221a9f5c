//! What a thread shows of itself while it runs, for whoever watches the load.

use std::sync::atomic::{AtomicU64, Ordering};

use loadcurve_plan::Nanos;
use loadcurve_record::{Class, Failure, FailureCounts};

/// Times are counted in units of 2^10 ns, about a microsecond.
const UNIT_BITS: u32 = 10;
/// Each doubling of a time is divided into 2^4 buckets of equal width, so a bucket is at most 1/16 of its times wide.
const DOUBLING_BITS: u32 = 4;
/// The longest time with a bucket between others: 2^42 ns, 73 minutes. Longer ones count in the last bucket.
const LONGEST_BITS: u32 = 42;
const BUCKETS: usize = ((LONGEST_BITS - UNIT_BITS - DOUBLING_BITS + 1) << DOUBLING_BITS) as usize;
/// The shortest bound that others are shown: 2^14 ns, 16 microseconds, where buckets begin to be 1/16 wide.
const SHORTEST_BOUND_BITS: u32 = UNIT_BITS + DOUBLING_BITS;
/// The longest: 2^36 ns, 69 seconds, beyond the usual timeouts.
const LONGEST_BOUND_BITS: u32 = 36;
/// Between a bound and its double there is one half-way. The last count is of what exceeds all bounds.
pub const LATENCY_COUNTS: usize = 2 * (LONGEST_BOUND_BITS - SHORTEST_BOUND_BITS) as usize + 2;

/// The bucket of a latency.
fn bucket_of(latency: Nanos) -> usize {
    let units = latency.0 >> UNIT_BITS;
    let doublings = (units | 1 << DOUBLING_BITS).ilog2() - DOUBLING_BITS;
    let bucket = (u64::from(doublings) << DOUBLING_BITS) + (units >> doublings);
    usize::try_from(bucket).unwrap_or(BUCKETS).min(BUCKETS - 1)
}

/// The middle of a bucket: within 1/32 of all times in it, or 512 ns of those below 16 microseconds.
fn middle_of(bucket: usize) -> Nanos {
    let doublings = (bucket >> DOUBLING_BITS).saturating_sub(1);
    let units = (bucket - (doublings << DOUBLING_BITS)) as u64;
    Nanos(((2 * units + 1) << doublings << UNIT_BITS) / 2)
}

/// The bounds of the counts that others are shown, in ns, each with two or three significant bits. They lie between
/// buckets, so that counting up to them loses nothing.
#[must_use]
pub fn latency_bounds() -> [Nanos; LATENCY_COUNTS - 1] {
    std::array::from_fn(|place| {
        let doubled = 1 << SHORTEST_BOUND_BITS << (place / 2);
        Nanos(if place % 2 == 0 { doubled } else { doubled + doubled / 2 })
    })
}

/// How many requests were answered by latency, and the sum of their latencies, of a whole load so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LatencyCounts {
    /// Those shorter than each of [`latency_bounds`] and not shorter than the one before, and last all others.
    pub counts: [u64; LATENCY_COUNTS],
    /// The sum of all latencies.
    pub sum: Nanos,
}

/// What became of one thread's requests since the load began, warm-up included.
///
/// Only the thread itself writes, so it counts by a plain load and store, without a lock or an atomic addition; anybody
/// may read. No other thread's data share its cache lines, which processors fetch in pairs.
#[derive(Debug)]
#[repr(align(128))]
pub struct Activity {
    latencies: [AtomicU64; BUCKETS],
    latency_sum: AtomicU64,
    failures: [AtomicU64; Failure::ROWS.len()],
    /// When the oldest request under way was sent, or its connection begun; the greatest number where none is.
    oldest: AtomicU64,
}

impl Default for Activity {
    fn default() -> Self {
        Self {
            latencies: [const { AtomicU64::new(0) }; _],
            latency_sum: AtomicU64::new(0),
            failures: [const { AtomicU64::new(0) }; _],
            oldest: AtomicU64::new(Nanos::NEVER.0),
        }
    }
}

impl Activity {
    /// A request was answered, after `latency`.
    pub fn answered(&self, latency: Nanos) {
        count_one(&self.latencies[bucket_of(latency)]);
        add(&self.latency_sum, latency.0);
    }

    /// A request failed.
    pub fn failed(&self, failure: Failure) {
        count_one(&self.failures[failure.place()]);
    }

    /// The oldest request under way has been so since then; never, where none is.
    pub fn under_way_since(&self, oldest: Nanos) {
        self.oldest.store(oldest.0, Ordering::Relaxed);
    }

    /// Since when the oldest request under way has been so.
    #[must_use]
    pub fn oldest(&self) -> Option<Nanos> {
        Some(Nanos(self.oldest.load(Ordering::Relaxed))).filter(|oldest| *oldest != Nanos::NEVER)
    }

    /// How many requests were answered so far.
    #[must_use]
    pub fn answers(&self) -> u64 {
        self.latencies.iter().map(|count| count.load(Ordering::Relaxed)).sum()
    }

    /// The sum of the latencies of those that were answered so far.
    fn latency_sum(&self) -> Nanos {
        Nanos(self.latency_sum.load(Ordering::Relaxed))
    }

    /// How many requests failed so far, by class.
    #[must_use]
    pub fn failures(&self) -> FailureCounts {
        let mut failures = FailureCounts::default();
        for class in Failure::ALL {
            failures[class] = self.failures[class.place()].load(Ordering::Relaxed);
        }
        failures
    }
}

/// Counts one more, on the only thread that counts here.
fn count_one(counter: &AtomicU64) {
    add(counter, 1);
}

/// Adds to a number, on the only thread that does so here.
fn add(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
}

/// Latencies of all threads in coarse buckets, and their sum: for a display, never for a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CoarseLatencies {
    counts: [u64; BUCKETS],
    sum: Nanos,
}

impl CoarseLatencies {
    pub(crate) const NONE: Self = Self { counts: [0; BUCKETS], sum: Nanos::ZERO };

    /// Those that the threads have shown until now.
    pub(crate) fn of<'a>(activities: impl Iterator<Item = &'a Activity>) -> Self {
        let mut all = Self::NONE;
        for activity in activities {
            for (count, shown) in all.counts.iter_mut().zip(&activity.latencies) {
                *count += shown.load(Ordering::Relaxed);
            }
            all.sum = all.sum + activity.latency_sum();
        }
        all
    }

    pub(crate) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Those that came since `earlier`.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        let mut latest = self.clone();
        latest.sum = latest.sum - earlier.sum;
        for (count, before) in latest.counts.iter_mut().zip(earlier.counts) {
            *count -= before;
        }
        latest
    }

    /// How many there are between the bounds that others are shown.
    pub(crate) fn counts(&self) -> LatencyCounts {
        let bounds = latency_bounds();
        let mut counts = [0; LATENCY_COUNTS];
        for (bucket, count) in self.counts.iter().enumerate() {
            let middle = middle_of(bucket);
            counts[bounds.partition_point(|bound| *bound <= middle)] += count;
        }
        LatencyCounts { counts, sum: self.sum }
    }

    /// The latency that a share of them, from 0 to 1, does not exceed, by its nearest rank; `None` if there are none.
    /// It is wrong by 1/32, or by 512 ns if that is more.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a count is a count"
    )]
    pub(crate) fn at(&self, share: f64) -> Option<Nanos> {
        let count = self.count();
        let rank = ((share * count as f64).ceil() as u64).clamp(1, count.max(1));
        let mut up_to = 0;
        let bucket = self.counts.iter().position(|count| {
            up_to += count;
            up_to >= rank
        })?;
        Some(middle_of(bucket))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use loadcurve_plan::Nanos;
    use loadcurve_record::{Failure, FailureCounts};
    use proptest::prelude::*;

    use super::{Activity, CoarseLatencies, LATENCY_COUNTS, latency_bounds};

    fn shown(latencies: impl IntoIterator<Item = u64>) -> CoarseLatencies {
        let activity = Activity::default();
        for latency in latencies {
            activity.answered(Nanos(latency));
        }
        CoarseLatencies::of([&activity].into_iter())
    }

    #[test]
    fn without_latencies_there_are_no_percentiles() {
        assert_eq!(shown([]).at(0.5), None);
    }

    #[test]
    fn a_percentile_is_the_latency_of_the_nearest_rank() {
        // Of 1, 2, … 100 ms, in any order, the one of rank 50 is 50 ms.
        let latencies = shown((1..=100).rev().map(|ms| ms * 1_000_000));
        for (share, expected_ms) in [(0.0, 1.0), (0.5, 50.0), (0.9, 90.0), (0.99, 99.0), (1.0, 100.0)] {
            let found_ms = latencies.at(share).unwrap().as_millis_f64();
            assert!((found_ms / expected_ms - 1.0).abs() <= 1.0 / 32.0, "{found_ms} at {share}");
        }
    }

    #[test]
    fn counts_between_bounds_are_those_of_the_latencies_and_their_sum_is_exact() {
        let bounds = latency_bounds();
        assert_eq!((bounds[0], bounds[1], bounds[2]), (Nanos(16_384), Nanos(24_576), Nanos(32_768)));
        assert_eq!(bounds[bounds.len() - 1], Nanos(1 << 36));
        // Just below each bound, and exactly at the last one.
        let below = bounds.map(|bound| bound.0 - 1);
        let found = shown(below.into_iter().chain([1 << 36])).counts();
        assert_eq!(found.counts, [1; LATENCY_COUNTS]);
        assert_eq!(found.sum, Nanos(below.iter().sum::<u64>() + (1 << 36)));
    }

    #[test]
    fn what_takes_longer_than_there_are_buckets_for_is_in_the_last_one() {
        let found = shown([u64::MAX]).at(1.0).unwrap();
        assert!((Nanos(1 << 41)..Nanos(1 << 42)).contains(&found), "{found:?}");
    }

    #[test]
    fn a_later_look_subtracts_what_was_there_before() {
        let activity = Activity::default();
        activity.answered(Nanos::from_millis(500));
        let before = CoarseLatencies::of([&activity].into_iter());
        activity.answered(Nanos::from_millis(1));
        let since = CoarseLatencies::of([&activity].into_iter()).since(&before);
        assert_eq!(since, shown([1_000_000]));
    }

    #[test]
    fn failures_are_counted_by_class_and_are_no_answers() {
        let activity = Activity::default();
        activity.failed(Failure::Timeout);
        activity.failed(Failure::Reset);
        activity.failed(Failure::Timeout);
        let expected = FailureCounts::from([(Failure::Timeout, 2), (Failure::Reset, 1)]);
        assert_eq!((activity.failures(), activity.answers()), (expected, 0));
    }

    #[test]
    fn nothing_that_threads_count_is_lost_while_another_one_looks() {
        const EACH: u64 = 200_000;
        let threads: Vec<Arc<Activity>> = (0..4).map(|_| Arc::default()).collect();
        let all = || CoarseLatencies::of(threads.iter().map(Arc::as_ref));
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let watcher = scope.spawn(|| {
                let mut before = CoarseLatencies::NONE;
                while !is_over.load(Ordering::Relaxed) {
                    let now = all();
                    // This would fail on subtracting if a count had gone down.
                    assert!(now.since(&before).count() <= 4 * EACH);
                    before = now;
                }
            });
            let writers: Vec<_> = threads
                .iter()
                .map(|activity| {
                    scope.spawn(|| (0..EACH).for_each(|number| activity.answered(Nanos(number << 12))))
                })
                .collect();
            for writer in writers {
                writer.join().unwrap();
            }
            is_over.store(true, Ordering::Relaxed);
            watcher.join().unwrap();
        });
        assert_eq!(all().count(), 4 * EACH);
    }

    #[test]
    fn threads_share_no_cache_line() {
        assert_eq!((align_of::<Activity>(), size_of::<Activity>() % 128), (128, 0));
    }

    proptest! {
        #[test]
        fn a_shown_latency_is_within_a_thirty_second_of_the_true_one(shift in 0_u32..42, offset in any::<u64>()) {
            let latency = (1_u64 << shift) + offset % (1 << shift);
            let found = shown([latency]).at(0.5).unwrap().0;
            prop_assert!(found.abs_diff(latency) <= (latency / 32).max(512), "{found} instead of {latency}");
        }

        #[test]
        fn percentiles_of_many_are_near_the_order_statistics(
            mut latencies in prop::collection::vec(20_000_u64..60_000_000_000, 1..300), percent in 1_u32..=100,
        ) {
            let found = shown(latencies.iter().copied()).at(f64::from(percent) / 100.0).unwrap().0;
            latencies.sort_unstable();
            let rank = (latencies.len() * percent as usize).div_ceil(100);
            let expected = latencies[rank - 1];
            prop_assert!(found.abs_diff(expected) <= expected / 32, "{found} instead of {expected}");
        }
    }
}
