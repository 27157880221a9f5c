//! What pauses alone do to requests: how long one would wait that is due at any moment of a window.

use loadcurve_plan::Nanos;

use crate::histogram::TimeHistogram;

/// From one of the moments to the next.
const STEP: Nanos = Nanos::from_millis(1);

/// The delay at each moment of the window, a millisecond apart: within a pause it is what is left of the pause, and
/// elsewhere 0. That is how jHiccup corrects for the moments that a pause hides.
#[must_use]
pub fn delays(pauses: &[Nanos], window: Nanos) -> TimeHistogram {
    let mut histogram = TimeHistogram::default();
    let mut moments = window.0 / STEP.0;
    for pause in pauses {
        let mut left = *pause;
        while left > Nanos::ZERO && moments > 0 {
            histogram.record(left);
            left = left - STEP;
            moments -= 1;
        }
    }
    histogram.record_many(Nanos::ZERO, moments);
    histogram
}

#[cfg(test)]
mod tests {
    use loadcurve_plan::Nanos;

    use super::delays;
    use crate::Distribution;

    #[test]
    fn a_pause_delays_each_moment_of_it_by_what_is_left_of_it() {
        // Of 1,000 moments 20 lie in a pause, delayed by 20, 19, … 1 ms, so 10 are delayed by more than 10 ms.
        let histogram = delays(&[Nanos::from_millis(20)], Nanos::from_millis(1000));
        let distribution = Distribution::from(&histogram);
        assert_eq!((distribution.count, distribution.max), (1000, Some(20.0)));
        assert!((distribution.mean.unwrap() - 0.21).abs() < 1e-9);
        assert!((distribution.p99.unwrap() - 10.0).abs() < 0.02, "{:?}", distribution.p99);
        assert!(distribution.p50.unwrap() < 1e-3);
    }

    #[test]
    fn without_a_pause_nothing_is_delayed() {
        let distribution = Distribution::from(&delays(&[], Nanos::from_millis(1000)));
        assert_eq!((distribution.count, distribution.max), (1000, Some(0.0)));
    }

    #[test]
    fn pauses_longer_than_the_window_fill_it() {
        assert_eq!(delays(&[Nanos::from_millis(900); 3], Nanos::from_millis(1000)).count(), 1000);
    }
}
