//! The status that an answer is expected to have, and the statuses that a person expects.

use serde::{Deserialize, Serialize};

use crate::InvalidPlan;
use crate::limits::{STATUS_MAX, STATUS_MIN};

/// The least and the greatest status code of HTTP.
const STATUS_CODES: std::ops::RangeInclusive<u16> = STATUS_MIN..=STATUS_MAX;
/// What answers a request that has a condition or asks for a range (RFC 9110, 15.3.7, 15.4.5, 15.5.13 and 15.5.17).
const OF_CONDITIONS: [u16; 4] = [206, 304, 412, 416];
/// What a server answers, or logs, because of the moment or the client: 408 and 425 (RFC 9110, RFC 8470), 429 (RFC 6585),
/// and nginx's 444 and 499 for a connection that was closed without an answer.
const OF_A_MOMENT: [u16; 5] = [408, 425, 429, 444, 499];
const OK: u16 = 200;
const FIRST_ERROR: u16 = 400;
const FIRST_SERVER_ERROR: u16 = 500;

/// The status that was recorded of a request, and is expected of its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ExpectedStatus(u16);

impl ExpectedStatus {
    /// This status; `None` for a number that is none.
    #[must_use]
    pub fn new(code: u16) -> Option<Self> {
        STATUS_CODES.contains(&code).then_some(Self(code))
    }

    /// The status code.
    #[must_use]
    pub fn code(self) -> u16 {
        self.0
    }

    /// Whether an answer of this status is as good as the expected one.
    ///
    /// A load sends no conditions and no ranges, so what was answered to one may be answered by 200. What failed because
    /// of the moment need not fail again.
    #[must_use]
    pub fn is_met_by(self, code: u16) -> bool {
        let recovers = self.0 >= FIRST_SERVER_ERROR || OF_A_MOMENT.contains(&self.0);
        code == self.0 || (OF_CONDITIONS.contains(&self.0) && code == OK) || (recovers && code < FIRST_ERROR)
    }

    /// Checks the number.
    ///
    /// # Errors
    /// It is no status code.
    pub(crate) fn validate(self) -> Result<(), InvalidPlan> {
        let Self(code) = self;
        STATUS_CODES.contains(&code).then_some(()).ok_or_else(|| {
            InvalidPlan(format!("an expected status of {code} is not between {STATUS_MIN} and {STATUS_MAX}"))
        })
    }
}

/// Which statuses are right for the answers to a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expectation {
    /// The one that was recorded, or one that is as good.
    Recorded(ExpectedStatus),
    /// Those from the first to the second of a pair, both included, and no others.
    Within(Vec<(u16, u16)>),
}

impl Expectation {
    /// Whether an answer of this status is right.
    #[must_use]
    pub fn is_met_by(&self, code: u16) -> bool {
        match self {
            Self::Recorded(status) => status.is_met_by(code),
            Self::Within(ranges) => ranges.iter().any(|(first, last)| (*first..=*last).contains(&code)),
        }
    }

    /// Checks the numbers.
    ///
    /// # Errors
    /// One is no status code, or there is none.
    pub(crate) fn validate(&self) -> Result<(), InvalidPlan> {
        let ranges = match self {
            Self::Recorded(status) => return status.validate(),
            Self::Within(ranges) => ranges,
        };
        let is_range = |(first, last): &(u16, u16)| {
            first <= last && STATUS_CODES.contains(first) && STATUS_CODES.contains(last)
        };
        match ranges.iter().find(|range| !is_range(range)) {
            Some((first, last)) => Err(InvalidPlan(format!(
                "the expected statuses {first} to {last} are no range between {STATUS_MIN} and {STATUS_MAX}"
            ))),
            None if ranges.is_empty() => {
                Err(InvalidPlan("a request requires at least one status that is expected".into()))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Expectation, ExpectedStatus};

    fn met(expected: u16) -> Vec<u16> {
        let expected = ExpectedStatus::new(expected).unwrap();
        [200, 204, 206, 301, 304, 404, 408, 429, 500, 503]
            .into_iter()
            .filter(|code| expected.is_met_by(*code))
            .collect()
    }

    #[test]
    fn the_recorded_status_is_expected_again() {
        for code in [200, 204, 301, 404] {
            assert_eq!(met(code), [code]);
        }
    }

    #[test]
    fn without_its_condition_or_range_a_request_may_be_answered_by_200() {
        assert_eq!((met(304), met(206)), (vec![200, 304], vec![200, 206]));
        assert_eq!((met(412), met(416)), (vec![200], vec![200]));
    }

    #[test]
    fn what_failed_in_its_moment_may_succeed_and_may_not_fail_otherwise() {
        let good = [200, 204, 206, 301, 304];
        for (code, itself) in [(503, vec![503]), (429, vec![429]), (408, vec![408]), (499, vec![])] {
            assert_eq!(met(code), [good.to_vec(), itself].concat());
        }
    }

    #[test]
    fn statuses_that_a_person_expects_are_met_by_no_others() {
        let expected = Expectation::Within(vec![(200, 299), (404, 404)]);
        for (code, is_met) in
            [(199, false), (200, true), (299, true), (300, false), (404, true), (403, false), (503, false)]
        {
            assert_eq!(expected.is_met_by(code), is_met, "{code}");
        }
        // Unlike a recorded one: 200 is not as good as 304.
        assert!(!Expectation::Within(vec![(304, 304)]).is_met_by(200));
        assert!(Expectation::Recorded(ExpectedStatus(304)).is_met_by(200));
    }

    #[test]
    fn ranges_that_are_none_are_refused() {
        for ranges in [vec![], vec![(299, 200)], vec![(99, 200)], vec![(200, 299), (500, 600)]] {
            assert!(Expectation::Within(ranges.clone()).validate().is_err(), "{ranges:?}");
        }
        assert!(Expectation::Within(vec![(100, 599)]).validate().is_ok());
    }

    #[test]
    fn numbers_that_are_no_status_are_refused() {
        assert_eq!([99, 600, 0].map(ExpectedStatus::new), [None; 3]);
        assert!(ExpectedStatus(600).validate().is_err());
    }
}
