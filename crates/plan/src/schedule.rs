//! When requests fall due.

use std::fmt;

use crate::{Nanos, Share};

/// Why a rate cannot be scheduled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InvalidRate(f64);

impl fmt::Display for InvalidRate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "no schedule holds a rate of {} requests per second: it must be above 0 and at most {}",
            self.0,
            ConstantRate::MAXIMUM_RPS
        )
    }
}

/// Arrivals at a constant rate: request `k` is due `k / rate` after the start.
///
/// Each due time is computed from `k` alone, so rounding never adds up and any worker can compute its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConstantRate {
    interval_ns: f64,
}

impl ConstantRate {
    /// Above one request per nanosecond two due times would fall together.
    pub const MAXIMUM_RPS: f64 = 1e9;

    /// A schedule of `rate_rps` requests per second.
    ///
    /// # Errors
    /// When the rate is not above zero, not finite or above [`Self::MAXIMUM_RPS`].
    pub fn new(rate_rps: f64) -> Result<Self, InvalidRate> {
        if rate_rps > 0.0 && rate_rps <= Self::MAXIMUM_RPS {
            Ok(Self { interval_ns: 1e9 / rate_rps })
        } else {
            Err(InvalidRate(rate_rps))
        }
    }

    /// When request `k` (from zero) is due, counted from the start.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn due(self, k: u64) -> Nanos {
        Nanos((k as f64 * self.interval_ns) as u64)
    }

    /// How many requests are due before `time`, counted from the start.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn due_before(self, time: Nanos) -> u64 {
        // The division may land one off either way; the due times themselves decide.
        let mut count = (time.0 as f64 / self.interval_ns) as u64;
        while count > 0 && self.due(count - 1) >= time {
            count -= 1;
        }
        while self.due(count) < time {
            count += 1;
        }
        count
    }
}

/// One worker's way through its share of the arrivals: which request is due next, and how many were.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    rate: ConstantRate,
    share: Share,
    taken: u64,
}

impl Schedule {
    /// The share of `rate` that `share` names, from its first request on.
    #[must_use]
    pub fn new(rate: ConstantRate, share: Share) -> Self {
        Self { rate, share, taken: 0 }
    }

    /// When the next request of this share is due, counted from the start.
    #[must_use]
    pub fn next_due(&self) -> Nanos {
        self.rate.due(self.share.position(self.taken))
    }

    /// Takes the next request, whose due time was [`Self::next_due`].
    pub fn take(&mut self) {
        self.taken += 1;
    }

    /// How many requests of this share are due before `time`, taken or not.
    #[must_use]
    pub fn due_before(&self, time: Nanos) -> u64 {
        self.share.count(self.rate.due_before(time))
    }
}

#[cfg(test)]
mod tests {
    use super::{ConstantRate, Schedule};
    use crate::{Nanos, Share};
    use proptest::prelude::*;

    fn taken_before(mut schedule: Schedule, end: Nanos) -> Vec<Nanos> {
        let mut due = Vec::new();
        while schedule.next_due() < end {
            due.push(schedule.next_due());
            schedule.take();
        }
        due
    }

    #[test]
    fn a_thousand_requests_per_second_are_due_every_millisecond() {
        let rate = ConstantRate::new(1000.0).unwrap();
        assert_eq!(rate.due(0), Nanos::ZERO);
        assert_eq!(rate.due(1), Nanos::from_millis(1));
        assert_eq!(rate.due(3_600_000), Nanos::from_millis(3_600_000));
    }

    #[test]
    fn a_request_due_at_the_end_itself_is_not_due_before_the_end() {
        let rate = ConstantRate::new(1000.0).unwrap();
        assert_eq!(rate.due_before(Nanos::from_millis(10)), 10);
        assert_eq!(rate.due_before(Nanos(10_000_001)), 11);
        assert_eq!(rate.due_before(Nanos::ZERO), 0);
    }

    #[test]
    fn rates_that_no_schedule_holds_are_refused() {
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY, 1.1e9] {
            assert!(ConstantRate::new(rate).is_err(), "{rate} was accepted");
        }
    }

    #[test]
    fn rounding_does_not_add_up_over_a_day_of_an_uneven_rate() {
        // 86,400 s at 7/3 requests per second are exactly 201,600 requests; the last is due 3/7 s before the end.
        let rate = ConstantRate::new(7.0 / 3.0).unwrap();
        let last = rate.due(201_599).as_secs_f64();
        assert!((last - (86_400.0 - 3.0 / 7.0)).abs() < 1e-6, "{last}");
    }

    proptest! {
        #[test]
        fn counting_by_arithmetic_agrees_with_counting_one_by_one(
            rate_rps in 0.5_f64..5_000.0, end_ms in 0_u64..2_000, workers in 1_usize..9, index in 0_usize..9,
        ) {
            let share = Share::new(index % workers, workers);
            let schedule = Schedule::new(ConstantRate::new(rate_rps).unwrap(), share);
            let end = Nanos::from_millis(end_ms);
            prop_assert_eq!(schedule.due_before(end), taken_before(schedule, end).len() as u64);
        }

        #[test]
        fn the_shares_of_any_number_of_workers_make_up_the_undivided_schedule(
            rate_rps in 0.5_f64..5_000.0, workers in 1_usize..17,
        ) {
            let rate = ConstantRate::new(rate_rps).unwrap();
            let end = Nanos::from_millis(700);
            let mut union: Vec<Nanos> = (0..workers)
                .flat_map(|index| taken_before(Schedule::new(rate, Share::new(index, workers)), end))
                .collect();
            union.sort_unstable();
            prop_assert_eq!(union, taken_before(Schedule::new(rate, Share::whole()), end));
        }

        #[test]
        fn due_times_are_evenly_spaced_to_a_nanosecond(rate_rps in 0.1_f64..1e6, k in 0_u64..10_000_000) {
            let rate = ConstantRate::new(rate_rps).unwrap();
            let spacing = rate.due(k + 1).0.abs_diff(rate.due(k).0) as f64;
            // A due time is a whole number of nanoseconds, cut from a 53-bit product.
            let tolerance_ns = 1.0 + rate.due(k + 1).0 as f64 * 4.0 * f64::EPSILON;
            prop_assert!((spacing - 1e9 / rate_rps).abs() <= tolerance_ns);
        }
    }
}
