//! The summary of a histogram, as it is in results.

use std::fmt;

use loadcurve_plan::Nanos;
use serde::Serialize;

use crate::Histogram;

/// A share of the samples, in hundredths of a percent, so that ranks are counted in whole numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Percentile(u32);

/// The percentiles that a distribution gives, where their [`samples_needed`](Percentile::samples_needed) are there.
pub const PERCENTILES: [Percentile; 7] = [
    Percentile(5_000),
    Percentile(7_500),
    Percentile(9_000),
    Percentile(9_500),
    Percentile(9_900),
    Percentile(9_990),
    Percentile(9_999),
];

impl fmt::Display for Percentile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "p{}", f64::from(self.0) / 100.0)
    }
}

impl Percentile {
    /// How many samples bound it from both sides.
    ///
    /// The share `q` of `n` samples has a distribution-free 95 % interval between two order statistics only if
    /// `q^n ≤ 0.025` and `(1 − q)^n ≤ 0.025` (Hahn and Meeker, Statistical Intervals, 1991, section 5.2). So p50 needs 6
    /// samples, p99 needs 368, p99.99 needs 36,887.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a number of samples is whole"
    )]
    pub fn samples_needed(self) -> u64 {
        let quantile = f64::from(self.0) / 1e4;
        let furthest = quantile.max(1.0 - quantile);
        (0.025_f64.ln() / furthest.ln()).ceil() as u64
    }

    /// Its rank ⌈q·n⌉ among `count` samples, in whole numbers, because 99.9 / 100 · 20,000 is more than 19,980 in binary
    /// fractions. The product has room for 10¹⁵ samples.
    fn rank(self, count: u64) -> u64 {
        (count * u64::from(self.0)).div_ceil(10_000)
    }
}

/// A distribution of times in milliseconds. A percentile is `None` if its
/// [`samples_needed`](Percentile::samples_needed) are not there.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[allow(missing_docs)] // Each field is the figure of its name, in milliseconds.
pub struct Distribution {
    pub count: u64,
    pub min: Option<f64>,
    pub mean: Option<f64>,
    pub stddev: Option<f64>,
    pub p50: Option<f64>,
    pub p75: Option<f64>,
    pub p90: Option<f64>,
    pub p95: Option<f64>,
    pub p99: Option<f64>,
    pub p99_9: Option<f64>,
    pub p99_99: Option<f64>,
    pub max: Option<f64>,
}

impl<const DIGITS: u8> From<&Histogram<DIGITS>> for Distribution {
    fn from(histogram: &Histogram<DIGITS>) -> Self {
        let [p50, p75, p90, p95, p99, p99_9, p99_99] =
            PERCENTILES.map(|percentile| bounded_percentile_ms(histogram, percentile));
        let millis_from_ns = |ns: f64| ns / 1e6;
        Self {
            count: histogram.count(),
            min: histogram.extremes().map(|(minimum, _)| minimum.as_millis_f64()),
            mean: histogram.mean_ns().map(millis_from_ns),
            stddev: histogram.standard_deviation_ns().map(millis_from_ns),
            p50,
            p75,
            p90,
            p95,
            p99,
            p99_9,
            p99_99,
            max: histogram.extremes().map(|(_, maximum)| maximum.as_millis_f64()),
        }
    }
}

/// The percentile in ms, or `None` if the samples do not bound it.
fn bounded_percentile_ms<const DIGITS: u8>(
    histogram: &Histogram<DIGITS>,
    percentile: Percentile,
) -> Option<f64> {
    let is_bounded = histogram.count() >= percentile.samples_needed();
    let rank = percentile.rank(histogram.count());
    is_bounded.then(|| histogram.at_rank(rank).map(Nanos::as_millis_f64)).flatten()
}

#[cfg(test)]
mod tests {
    use super::{Distribution, Percentile};
    use crate::TimeHistogram;
    use loadcurve_plan::Nanos;
    use proptest::prelude::*;

    fn of_samples(count: u64) -> Distribution {
        let mut histogram = TimeHistogram::default();
        for sample in 1..=count {
            histogram.record(Nanos::from_millis(sample));
        }
        Distribution::from(&histogram)
    }

    #[test]
    fn no_samples_give_no_figure() {
        let nothing = of_samples(0);
        assert_eq!(
            (nothing.count, nothing.min, nothing.mean, nothing.p50, nothing.max),
            (0, None, None, None, None)
        );
    }

    #[test]
    fn one_sample_has_a_mean_but_no_deviation_and_no_percentile() {
        let one = of_samples(1);
        assert_eq!((one.min, one.mean, one.max), (Some(1.0), Some(1.0), Some(1.0)));
        assert_eq!((one.stddev, one.p50), (None, None));
    }

    #[test]
    fn the_median_needs_six_samples() {
        // 0.5^5 = 0.03125 > 0.025 >= 0.5^6 = 0.015625.
        assert_eq!(of_samples(5).p50, None);
        assert!(of_samples(6).p50.is_some());
    }

    #[test]
    fn the_99th_percentile_needs_368_samples() {
        // ln 0.025 / ln 0.99 = 367.04.
        assert_eq!(of_samples(367).p99, None);
        assert!(of_samples(368).p99.is_some());
    }

    /// Times in order, each longer than the one before by more than a thousandth, so that no two share a bucket.
    fn times_apart(count: usize) -> Vec<Nanos> {
        std::iter::successors(Some(1), |time| Some(time + time / 1_000 + 1)).take(count).map(Nanos).collect()
    }

    fn assert_every_percentile_is_of_its_rank(count: usize) {
        let sorted = times_apart(count);
        let mut histogram = TimeHistogram::default();
        for time in &sorted {
            histogram.record(*time);
        }
        let distribution = Distribution::from(&histogram);
        let percentiles = [
            (distribution.p50, 5_000),
            (distribution.p75, 7_500),
            (distribution.p90, 9_000),
            (distribution.p95, 9_500),
            (distribution.p99, 9_900),
            (distribution.p99_9, 9_990),
            (distribution.p99_99, 9_999),
        ];
        for (percentile, ten_thousandths) in percentiles {
            let Some(reported_ms) = percentile else { continue };
            // The first of the times that at least such a share of all does not exceed.
            let index = (0..count).position(|index| (index + 1) * 10_000 >= count * ten_thousandths).unwrap();
            let next_ms = sorted.get(index + 1).map_or(f64::INFINITY, |next| next.as_millis_f64());
            let is_it = (sorted[index].as_millis_f64()..next_ms).contains(&reported_ms);
            assert!(is_it, "{ten_thousandths} of 10,000 of {count}: {reported_ms} is not time {index}");
        }
    }

    #[test]
    fn every_percentile_of_20_000_samples_is_of_its_rank() {
        assert_every_percentile_is_of_its_rank(20_000);
    }

    proptest! {
        #[test]
        fn every_percentile_is_the_sample_of_its_rank(
            // Where a share of the samples is a whole number of them, rounding is what may go wrong.
            count in prop_oneof![6_usize..=20_000, (1_usize..=20).prop_map(|thousands| 1_000 * thousands)],
        ) {
            assert_every_percentile_is_of_its_rank(count);
        }
    }

    #[test]
    fn ten_times_as_far_from_the_middle_needs_about_ten_times_as_many_samples() {
        // ln 0.025 / ln 0.999 = 3,687.03 and ln 0.025 / ln 0.9999 = 36,886.95.
        assert_eq!([Percentile(9_990), Percentile(9_999)].map(Percentile::samples_needed), [3_688, 36_887]);
        assert_eq!(Percentile(100).samples_needed(), Percentile(9_900).samples_needed());
    }

    #[test]
    fn percentiles_are_called_what_everybody_calls_them() {
        assert_eq!([Percentile(5_000), Percentile(9_990)].map(|it| it.to_string()), ["p50", "p99.9"]);
    }
}
