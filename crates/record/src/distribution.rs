//! The summary of a histogram, as it stands in results.

use loadcurve_plan::Nanos;
use serde::Serialize;

use crate::TimeHistogram;

/// The percentiles that a distribution gives, where [`samples_needed`] are there.
pub const PERCENTILES: [f64; 7] = [50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99];

/// How many samples bound a percentile, given from 0 to 100, from both sides.
///
/// The share `q` of `n` samples has a distribution-free 95 % interval between two order statistics only if
/// `q^n ≤ 0.025` and `(1 − q)^n ≤ 0.025` (Hahn and Meeker, Statistical Intervals, 1991, section 5.2). So p50 needs 6
/// samples, p99 needs 368, p99.99 needs 36,887.
#[must_use]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of samples is whole")]
pub fn samples_needed(percent: f64) -> u64 {
    let quantile = percent / 100.0;
    let furthest = quantile.max(1.0 - quantile);
    (0.025_f64.ln() / furthest.ln()).ceil() as u64
}

/// A distribution of times in milliseconds. A percentile is none where [`samples_needed`] are not there.
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

impl From<&TimeHistogram> for Distribution {
    fn from(histogram: &TimeHistogram) -> Self {
        let [p50, p75, p90, p95, p99, p99_9, p99_99] =
            PERCENTILES.map(|percent| bounded_percentile_ms(histogram, percent));
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

/// The percentile in ms, or none where the samples do not bound it.
fn bounded_percentile_ms(histogram: &TimeHistogram, percent: f64) -> Option<f64> {
    let is_bounded = histogram.count() >= samples_needed(percent);
    is_bounded.then(|| histogram.quantile(percent / 100.0).map(Nanos::as_millis_f64)).flatten()
}

#[cfg(test)]
mod tests {
    use super::{Distribution, samples_needed};
    use crate::TimeHistogram;
    use loadcurve_plan::Nanos;

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

    #[test]
    fn ten_times_as_far_from_the_middle_needs_about_ten_times_as_many_samples() {
        // ln 0.025 / ln 0.999 = 3,687.03 and ln 0.025 / ln 0.9999 = 36,886.95.
        assert_eq!([99.9, 99.99].map(samples_needed), [3_688, 36_887]);
        assert_eq!(samples_needed(1.0), samples_needed(99.0));
    }
}
