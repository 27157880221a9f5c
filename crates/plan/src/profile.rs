//! How the rate of arrivals changes over time.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::limits::{RATE_MAX, STRETCH_S_MAX};

/// A stretch of time in which the rate is constant or changes evenly.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateStretch {
    /// How long the stretch lasts, in seconds.
    pub length_s: f64,
    /// The rate at its start, in requests per second.
    pub from_rps: f64,
    /// The rate at its end; equal to the start's for a step.
    pub to_rps: f64,
}

/// Why a rate cannot be scheduled: a sentence for the person who asked for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidRate(String);

impl fmt::Display for InvalidRate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A rate over time: stretches one after the other, and the last one's end rate from then on; where that is 0, nothing
/// more arrives.
///
/// What matters is its integral, the number of arrivals expected by a time, and the inverse of that: arrival number
/// `n` of a process of rate 1 happens, at this rate, when the integral reaches `n` (time rescaling, Çinlar 1975). The
/// same inversion serves evenly spaced arrivals, where `n` is a whole number, and random ones, where it is not.
#[derive(Clone, Debug, PartialEq)]
pub struct RateProfile {
    /// Each stretch, with the time at its start in seconds and the arrivals expected before it.
    stretches: Vec<(RateStretch, f64, f64)>,
    end_s: f64,
    end_arrivals: f64,
    final_rps: f64,
}

impl RateProfile {
    /// A rate that does not change.
    ///
    /// # Errors
    /// When the rate is not above zero or above [`RATE_MAX`].
    pub fn constant(rate_rps: f64) -> Result<Self, InvalidRate> {
        if rate_rps > 0.0 && rate_rps <= RATE_MAX {
            Ok(Self { stretches: Vec::new(), end_s: 0.0, end_arrivals: 0.0, final_rps: rate_rps })
        } else {
            Err(InvalidRate(format!(
                "a rate of {rate_rps} requests per second is out of range: it must be above 0 and at most \
                {RATE_MAX}"
            )))
        }
    }

    /// A rate that steps or ramps through `stretches` and then stays.
    ///
    /// # Errors
    /// When there is no stretch, a length is not above zero, a rate is negative or above [`RATE_MAX`], or all are zero.
    pub fn of_stretches(stretches: &[RateStretch]) -> Result<Self, InvalidRate> {
        let Some(last) = stretches.last() else {
            return Err(InvalidRate("a changing rate requires at least one stretch".into()));
        };
        let mut profile =
            Self { stretches: Vec::new(), end_s: 0.0, end_arrivals: 0.0, final_rps: last.to_rps };
        for stretch in stretches {
            let RateStretch { length_s, from_rps, to_rps } = *stretch;
            if !(length_s > 0.0 && length_s <= STRETCH_S_MAX) {
                return Err(InvalidRate(format!(
                    "a stretch of {length_s} s is not between 0 and {STRETCH_S_MAX} s long"
                )));
            }
            if let Some(rate) = [from_rps, to_rps].iter().find(|rate| !(0.0..=RATE_MAX).contains(*rate)) {
                return Err(InvalidRate(format!(
                    "a rate of {rate} requests per second is out of range: it must be between 0 and \
                    {RATE_MAX}"
                )));
            }
            profile.stretches.push((*stretch, profile.end_s, profile.end_arrivals));
            profile.end_s += length_s;
            profile.end_arrivals += length_s * f64::midpoint(from_rps, to_rps);
        }
        if profile.end_arrivals == 0.0 && profile.final_rps == 0.0 {
            return Err(InvalidRate("a rate of 0 throughout asks for nothing".into()));
        }
        Ok(profile)
    }

    /// From when on, in seconds, nothing more arrives; `None` if it never ends.
    #[must_use]
    pub fn silent_from_s(&self) -> Option<f64> {
        if self.final_rps > 0.0 {
            return None;
        }
        let sounding = self.stretches.iter().rev().find(|(one, ..)| one.from_rps.max(one.to_rps) > 0.0);
        sounding.map(|(stretch, start_s, _)| start_s + stretch.length_s)
    }

    /// How many arrivals are expected before `time_s`, as a real number.
    #[must_use]
    pub fn arrivals_before(&self, time_s: f64) -> f64 {
        if time_s >= self.end_s {
            return self.end_arrivals + (time_s - self.end_s) * self.final_rps;
        }
        let index = self.stretches.partition_point(|(_, start_s, _)| *start_s <= time_s).saturating_sub(1);
        let (stretch, start_s, before) = self.stretches[index];
        let within_s = time_s - start_s;
        let slope = (stretch.to_rps - stretch.from_rps) / stretch.length_s;
        before + within_s * (stretch.from_rps + slope * within_s / 2.0)
    }

    /// When `arrivals` are expected, in seconds: the inverse of [`Self::arrivals_before`]; infinite where the rate has ended
    /// before.
    #[must_use]
    pub fn time_of(&self, arrivals: f64) -> f64 {
        if arrivals >= self.end_arrivals {
            if self.final_rps == 0.0 {
                return f64::INFINITY;
            }
            return self.end_s + (arrivals - self.end_arrivals) / self.final_rps;
        }
        let index = self.stretches.partition_point(|(_, _, before)| *before <= arrivals).saturating_sub(1);
        let (stretch, start_s, before) = self.stretches[index];
        let wanted = arrivals - before;
        let slope = (stretch.to_rps - stretch.from_rps) / stretch.length_s;
        // The root of slope/2·t² + from·t = wanted, in the form that does not cancel for a small slope.
        let discriminant = (stretch.from_rps * stretch.from_rps + 2.0 * slope * wanted).max(0.0);
        let denominator = stretch.from_rps + discriminant.sqrt();
        start_s + if denominator > 0.0 { 2.0 * wanted / denominator } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::{RateProfile, RateStretch};
    use proptest::prelude::*;

    fn stretch(length_s: f64, from_rps: f64, to_rps: f64) -> RateStretch {
        RateStretch { length_s, from_rps, to_rps }
    }

    fn assert_near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} instead of {expected}");
    }

    #[test]
    fn a_step_from_ten_to_twenty_has_thirty_arrivals_in_two_seconds() {
        let profile =
            RateProfile::of_stretches(&[stretch(1.0, 10.0, 10.0), stretch(1.0, 20.0, 20.0)]).unwrap();
        assert_near(profile.arrivals_before(1.0), 10.0);
        assert_near(profile.arrivals_before(2.0), 30.0);
        assert_near(profile.time_of(20.0), 1.5);
        assert_near(profile.time_of(50.0), 3.0);
    }

    #[test]
    fn a_ramp_from_zero_to_a_hundred_over_ten_seconds_has_half_the_arrivals_of_the_full_rate() {
        let profile = RateProfile::of_stretches(&[stretch(10.0, 0.0, 100.0)]).unwrap();
        // The integral of 10·t is 5·t².
        assert_near(profile.arrivals_before(10.0), 500.0);
        assert_near(profile.arrivals_before(4.0), 80.0);
        assert_near(profile.time_of(80.0), 4.0);
        assert_near(profile.time_of(0.0), 0.0);
    }

    #[test]
    fn a_rate_may_rest_at_zero() {
        let pause = RateProfile::of_stretches(&[stretch(1.0, 0.0, 0.0), stretch(1.0, 10.0, 10.0)]).unwrap();
        assert_near(pause.arrivals_before(1.0), 0.0);
        assert_near(pause.time_of(5.0), 1.5);
        assert_eq!(pause.silent_from_s(), None);
    }

    #[test]
    fn after_a_ramp_down_to_zero_nothing_arrives() {
        let ramps = [stretch(30.0, 0.0, 100.0), stretch(30.0, 100.0, 0.0), stretch(5.0, 0.0, 0.0)];
        let profile = RateProfile::of_stretches(&ramps).unwrap();
        // Each ramp has 30 s × 50 per second. Of the second one, 15 s before its end, a quarter is left.
        assert_near(profile.arrivals_before(60.0), 3_000.0);
        assert_near(profile.arrivals_before(45.0), 3_000.0 - 375.0);
        assert_near(profile.time_of(2_625.0), 45.0);
        assert_near(profile.arrivals_before(1e6), 3_000.0);
        assert!(profile.time_of(2_999.0) < 60.0);
        assert!(profile.time_of(3_000.0).is_infinite());
        assert_eq!(profile.silent_from_s(), Some(60.0));
    }

    #[test]
    fn rates_that_no_schedule_holds_are_refused() {
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY, 1.1e9] {
            assert!(RateProfile::constant(rate).is_err(), "{rate} was accepted");
        }
        assert!(RateProfile::of_stretches(&[]).is_err());
        assert!(RateProfile::of_stretches(&[stretch(0.0, 1.0, 1.0)]).is_err());
        assert!(RateProfile::of_stretches(&[stretch(1.0, -1.0, 1.0)]).is_err());
        assert!(RateProfile::of_stretches(&[stretch(1.0, 0.0, 0.0), stretch(2.0, 0.0, 0.0)]).is_err());
    }

    proptest! {
        #[test]
        fn the_inverse_undoes_the_integral(
            lengths in prop::collection::vec(0.01_f64..20.0, 1..6),
            rates in prop::collection::vec(0.1_f64..50_000.0, 12),
            share in 0.0_f64..1.5,
        ) {
            let stretches: Vec<RateStretch> = lengths
                .iter()
                .enumerate()
                .map(|(index, length_s)| stretch(*length_s, rates[2 * index], rates[2 * index + 1]))
                .collect();
            let profile = RateProfile::of_stretches(&stretches).unwrap();
            let time_s = share * lengths.iter().sum::<f64>();
            let back_s = profile.time_of(profile.arrivals_before(time_s));
            prop_assert!((back_s - time_s).abs() <= 1e-9 * time_s.max(1.0), "{back_s} instead of {time_s}");
        }
    }
}
