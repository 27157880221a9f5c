//! Times, counted.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::Histogram as HdrHistogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use loadcurve_plan::Nanos;
use serde::{Deserialize, Serialize};

mod compact;
mod interchange;

pub use compact::CompactHistogram;

/// The longest time told apart from longer ones: one hour.
pub(crate) const LONGEST: Nanos = Nanos(3_600_000_000_000);

/// The most times that a histogram is believed to have counted: whole numbers until here are exact in 64-bit floats.
const COUNT_MAX: u64 = 1 << 53;

/// A histogram that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistogramError(String);

impl fmt::Display for HistogramError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "not a base64 HdrHistogram (V2, deflate): {}", self.0)
    }
}

/// Sum, sum of squares and extremes of times, in whole nanoseconds: exact, and the same in any order of merging.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Moments {
    sum: u128,
    sum_squares: u128,
    extremes: Option<(Nanos, Nanos)>,
}

impl Moments {
    fn record(&mut self, time: Nanos, count: u64) {
        let (nanos, count) = (u128::from(time.0), u128::from(count));
        self.sum = self.sum.saturating_add(nanos * count);
        self.sum_squares = self.sum_squares.saturating_add((nanos * nanos).saturating_mul(count));
        self.widen(time, time);
    }

    fn merge(&mut self, other: &Self) {
        self.sum = self.sum.saturating_add(other.sum);
        self.sum_squares = self.sum_squares.saturating_add(other.sum_squares);
        if let Some((minimum, maximum)) = other.extremes {
            self.widen(minimum, maximum);
        }
    }

    fn widen(&mut self, shortest: Nanos, longest: Nanos) {
        self.extremes = Some(match self.extremes {
            Some((minimum, maximum)) => (minimum.min(shortest), maximum.max(longest)),
            None => (shortest, longest),
        });
    }
}

/// As a [`Histogram`] is stored: its interchange format, and the moments, which that lacks. One that is empty is null.
#[derive(Serialize, Deserialize)]
struct Stored {
    counts: String,
    moments: Moments,
}

/// Times between 1 ns and one hour in buckets of `DIGITS` significant digits, and their exact moments.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Option<Stored>")]
pub struct Histogram<const DIGITS: u8> {
    buckets: HdrHistogram<u64>,
    moments: Moments,
}

/// Three significant digits: a bucket is at most a thousandth of its times wide. It takes 264 KiB.
pub type TimeHistogram = Histogram<3>;

/// Two significant digits: a bucket is at most a hundredth of its times wide. It takes 36 KiB.
pub type CoarseHistogram = Histogram<2>;

impl<const DIGITS: u8> Default for Histogram<DIGITS> {
    fn default() -> Self {
        const { assert!(DIGITS <= 5, "an HdrHistogram has at most five significant digits") };
        Self {
            buckets: HdrHistogram::new_with_bounds(1, LONGEST.0, DIGITS)
                .expect("the bounds are constants that the histogram accepts"),
            moments: Moments::default(),
        }
    }
}

impl<const DIGITS: u8> Serialize for Histogram<DIGITS> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let stored = (self.count() > 0).then(|| Stored { counts: self.encode(), moments: self.moments });
        stored.serialize(serializer)
    }
}

impl<const DIGITS: u8> TryFrom<Option<Stored>> for Histogram<DIGITS> {
    type Error = HistogramError;

    fn try_from(stored: Option<Stored>) -> Result<Self, HistogramError> {
        let Some(Stored { counts, moments }) = stored else { return Ok(Self::default()) };
        if moments.extremes.is_none_or(|(shortest, longest)| shortest > longest) {
            return Err(HistogramError("its shortest time is longer than its longest".into()));
        }
        Ok(Self { moments, ..Self::decode(&counts)? })
    }
}

impl<const DIGITS: u8> Histogram<DIGITS> {
    /// Counts one time; one longer than an hour is counted in the last bucket, with its true length in the moments.
    pub fn record(&mut self, time: Nanos) {
        self.buckets.saturating_record(time.0);
        self.moments.record(time, 1);
    }

    /// Counts one time as often as this.
    pub fn record_many(&mut self, time: Nanos, count: u64) {
        if count > 0 {
            self.buckets.saturating_record_n(time.0, count);
            self.moments.record(time, count);
        }
    }

    /// Adds the counts of another histogram.
    ///
    /// # Panics
    /// Never: all histograms have the same bounds.
    pub fn merge(&mut self, other: &Self) {
        let counted = self.count().saturating_add(other.count());
        self.buckets.add(&other.buckets).expect("all histograms have the same bounds");
        self.moments.merge(&other.moments);
        debug_assert_eq!(self.count(), counted, "a histogram has lost times in merging");
    }

    /// How many times were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.len()
    }

    /// The shortest and the longest time.
    #[must_use]
    pub fn extremes(&self) -> Option<(Nanos, Nanos)> {
        self.moments.extremes
    }

    /// The mean in nanoseconds.
    #[must_use]
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.moments.sum as f64 / self.count() as f64)
    }

    /// The sample standard deviation in nanoseconds, which needs two times.
    #[must_use]
    pub fn standard_deviation_ns(&self) -> Option<f64> {
        let count = u128::from(self.count());
        if count < 2 {
            return None;
        }
        // count·Σx² − (Σx)² is exact in whole numbers where the usual one-pass formula cancels; it may exceed 128
        // bits only after 10^14 requests of a second each.
        let Moments { sum, sum_squares, .. } = self.moments;
        let scaled = count.saturating_mul(sum_squares).saturating_sub(sum.saturating_mul(sum));
        Some((scaled as f64 / count as f64 / (count - 1) as f64).sqrt())
    }

    /// The time of this rank, counted from the shortest, which has rank 1; at most one bucket too long.
    #[must_use]
    pub fn at_rank(&self, rank: u64) -> Option<Nanos> {
        let (minimum, maximum) = self.moments.extremes?;
        if rank == 0 || rank > self.count() {
            return None;
        }
        // The buckets are asked by a share, which they turn into a rank again by multiplying and rounding up. The share
        // in the middle between this rank and the one before cannot be rounded into another.
        let share = (rank as f64 - 0.5) / self.count() as f64;
        Some(Nanos(self.buckets.value_at_quantile(share)).clamp(minimum, maximum))
    }

    /// The points of the cumulative distribution: (percentile from 0 to 100, time in ms), one for each recorded value.
    #[must_use]
    pub fn percentile_curve(&self) -> Vec<(f64, f64)> {
        let total = self.count() as f64;
        let mut below = 0;
        self.buckets
            .iter_recorded()
            .map(|step| {
                below = step.count_at_value().saturating_add(below);
                let time = Nanos(self.buckets.highest_equivalent(step.value_iterated_to()));
                (100.0 * below as f64 / total, time.as_millis_f64())
            })
            .collect()
    }

    /// The histogram in the interchange format: `HdrHistogram` V2 with deflate, base64, in nanoseconds.
    ///
    /// # Panics
    /// Never: writing to memory does not fail.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&self.buckets, &mut bytes)
            .expect("writing to memory does not fail");
        BASE64.encode(bytes)
    }

    /// Reads the interchange format. The moments are those of the buckets, so they are as exact as those.
    ///
    /// # Errors
    /// When the text is not such a histogram, or counts times that this one cannot hold.
    pub fn decode(text: &str) -> Result<Self, HistogramError> {
        let counts = interchange::counts(text).map_err(|reason| HistogramError(reason.into()))?;
        let mut histogram = Self::default();
        for (time, count) in counts {
            let counted = histogram.buckets.record_n(time, count);
            counted.map_err(|_| HistogramError("it counts times of more than an hour".into()))?;
            histogram.moments.record(Nanos(time), count);
        }
        if histogram.count() > COUNT_MAX {
            return Err(HistogramError("its counts are larger than possible".into()));
        }
        Ok(histogram)
    }
}

#[cfg(test)]
mod tests {
    use super::TimeHistogram;
    use loadcurve_plan::Nanos;
    use proptest::prelude::*;

    fn histogram_of(times: &[u64]) -> TimeHistogram {
        let mut histogram = TimeHistogram::default();
        for time in times {
            histogram.record(Nanos(*time));
        }
        histogram
    }

    #[test]
    fn an_empty_histogram_has_no_figures() {
        let empty = TimeHistogram::default();
        assert_eq!(empty.count(), 0);
        assert_eq!(empty.mean_ns(), None);
        assert_eq!(empty.standard_deviation_ns(), None);
        assert_eq!((empty.at_rank(0), empty.at_rank(1)), (None, None));
        assert!(empty.percentile_curve().is_empty());
    }

    #[test]
    fn mean_and_deviation_of_two_four_and_nine_are_five_and_the_root_of_thirteen() {
        let histogram = histogram_of(&[2, 4, 9]);
        assert_eq!(histogram.mean_ns(), Some(5.0));
        assert!((histogram.standard_deviation_ns().unwrap() - 13.0_f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn the_deviation_of_nearly_equal_long_times_does_not_cancel_away() {
        let histogram = histogram_of(&[10_000_000_000, 10_000_000_002]);
        assert!((histogram.standard_deviation_ns().unwrap() - 2.0_f64.sqrt()).abs() < 1e-9);
    }

    #[test]
    fn a_time_beyond_an_hour_is_kept_in_the_maximum() {
        let two_hours = 7_200_000_000_000;
        let histogram = histogram_of(&[two_hours]);
        assert_eq!(histogram.count(), 1);
        assert_eq!(histogram.extremes(), Some((Nanos(two_hours), Nanos(two_hours))));
    }

    #[test]
    fn what_is_not_a_histogram_is_refused() {
        for text in ["", "###", "AAAA"] {
            assert!(TimeHistogram::decode(text).is_err(), "{text:?} was accepted");
        }
    }

    proptest! {
        #[test]
        fn the_time_of_a_rank_is_the_order_statistic_within_a_thousandth(
            mut times in prop::collection::vec(1_u64..10_000_000_000, 1..400), index in any::<prop::sample::Index>(),
        ) {
            let histogram = histogram_of(&times);
            times.sort_unstable();
            let expected = *index.get(&times);
            let found = histogram.at_rank(index.index(times.len()) as u64 + 1).unwrap().0;
            prop_assert!((expected..=expected + expected / 1_000).contains(&found), "{found} instead of {expected}");
            prop_assert_eq!(histogram.at_rank(times.len() as u64 + 1), None);
        }

        #[test]
        fn merging_two_histograms_is_recording_all_their_times_in_one(
            left in prop::collection::vec(1_u64..5_000_000_000, 0..100),
            right in prop::collection::vec(1_u64..5_000_000_000, 0..100),
        ) {
            let mut merged = histogram_of(&left);
            merged.merge(&histogram_of(&right));
            let together = histogram_of(&[left, right].concat());
            prop_assert_eq!(merged.count(), together.count());
            prop_assert_eq!(merged.mean_ns(), together.mean_ns());
            prop_assert_eq!(merged.standard_deviation_ns(), together.standard_deviation_ns());
            prop_assert_eq!(merged.extremes(), together.extremes());
            prop_assert_eq!(merged.percentile_curve(), together.percentile_curve());
        }

        #[test]
        fn a_histogram_survives_its_interchange_format(
            times in prop::collection::vec(1_u64..5_000_000_000, 0..100),
        ) {
            let histogram = histogram_of(&times);
            let read = TimeHistogram::decode(&histogram.encode()).unwrap();
            prop_assert_eq!(read.percentile_curve(), histogram.percentile_curve());
        }
    }
}
