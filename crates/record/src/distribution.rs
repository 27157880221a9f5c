//! The summary of a histogram, as it stands in results.

use loadcurve_plan::Nanos;
use serde::Serialize;

use crate::Histogram;

/// A distribution of times in milliseconds.
///
/// A percentile is given only where the samples bound it from both sides: the share `q` of `n` samples has a
/// distribution-free 95 % interval between two order statistics only if `q^n ≤ 0.025` and `(1 − q)^n ≤ 0.025` (Hahn
/// and Meeker, Statistical Intervals, 1991, section 5.2). So p50 needs 6 samples, p99 needs 368, p99.99 needs 36,888.
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
        let percentile = |ten_thousandths| bounded_percentile_ms(histogram, ten_thousandths);
        let millis_from_ns = |ns: f64| ns / 1e6;
        Self {
            count: histogram.count(),
            min: histogram.extremes().map(|(minimum, _)| minimum.as_millis_f64()),
            mean: histogram.mean_ns().map(millis_from_ns),
            stddev: histogram.standard_deviation_ns().map(millis_from_ns),
            p50: percentile(5_000),
            p75: percentile(7_500),
            p90: percentile(9_000),
            p95: percentile(9_500),
            p99: percentile(9_900),
            p99_9: percentile(9_990),
            p99_99: percentile(9_999),
            max: histogram.extremes().map(|(_, maximum)| maximum.as_millis_f64()),
        }
    }
}

/// The percentile in ms, or none where the samples do not bound it.
fn bounded_percentile_ms<const DIGITS: u8>(
    histogram: &Histogram<DIGITS>,
    ten_thousandths: u32,
) -> Option<f64> {
    let quantile = f64::from(ten_thousandths) / 1e4;
    let furthest = quantile.max(1.0 - quantile);
    let bounded = histogram.count() as f64 * furthest.ln() <= 0.025_f64.ln();
    let rank = nearest_rank(histogram.count(), ten_thousandths);
    bounded.then(|| histogram.at_rank(rank).map(Nanos::as_millis_f64)).flatten()
}

/// The rank ⌈q·n⌉ of the quantile q of n samples, in whole numbers, because 99.9 / 100 · 20,000 is more than 19,980 in
/// binary fractions. The product has room for 10¹⁵ samples.
fn nearest_rank(count: u64, ten_thousandths: u32) -> u64 {
    (count * u64::from(ten_thousandths)).div_ceil(10_000)
}

#[cfg(test)]
mod tests {
    use super::Distribution;
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
        let told = Distribution::from(&histogram);
        let percentiles = [
            (told.p50, 5_000),
            (told.p75, 7_500),
            (told.p90, 9_000),
            (told.p95, 9_500),
            (told.p99, 9_900),
            (told.p99_9, 9_990),
            (told.p99_99, 9_999),
        ];
        for (percentile, ten_thousandths) in percentiles {
            let Some(told_ms) = percentile else { continue };
            // The first of the times that at least such a share of all does not exceed.
            let index = (0..count).position(|index| (index + 1) * 10_000 >= count * ten_thousandths).unwrap();
            let next_ms = sorted.get(index + 1).map_or(f64::INFINITY, |next| next.as_millis_f64());
            let is_it = (sorted[index].as_millis_f64()..next_ms).contains(&told_ms);
            assert!(is_it, "{ten_thousandths} of 10,000 of {count}: {told_ms} is not time {index}");
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
}
