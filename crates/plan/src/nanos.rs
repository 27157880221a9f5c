//! Time as a number.

use std::ops::{Add, Sub};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Nanoseconds: a reading of the monotonic clock, or the length between two readings.
///
/// Subtraction saturates at zero, because a length is never negative and two readings of one loop turn may be equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Nanos(pub u64);

impl Nanos {
    /// The start of the clock, and the empty length.
    pub const ZERO: Self = Self(0);
    /// Later than every reading: "no deadline".
    pub const NEVER: Self = Self(u64::MAX);

    /// The length of `milliseconds`.
    #[must_use]
    pub const fn from_millis(milliseconds: u64) -> Self {
        Self(milliseconds * 1_000_000)
    }

    /// The length of `seconds`, rounded to the nearest nanosecond; negative and not-a-number give zero.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn from_secs_f64(seconds: f64) -> Self {
        Self((seconds * 1e9).round() as u64)
    }

    /// This moment of a time line whose start is at `from`, on one whose start is at `to`; never stays never.
    #[must_use]
    pub fn moved(self, from: Self, to: Self) -> Self {
        if self == Self::NEVER { self } else { self - from + to }
    }

    /// This length in seconds.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// This length in milliseconds.
    #[must_use]
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl From<Nanos> for Duration {
    fn from(Nanos(nanos): Nanos) -> Self {
        Self::from_nanos(nanos)
    }
}

impl From<Duration> for Nanos {
    /// One that is too long for nanoseconds is never over.
    fn from(length: Duration) -> Self {
        u64::try_from(length.as_nanos()).map_or(Self::NEVER, Self)
    }
}

impl Add for Nanos {
    type Output = Self;

    fn add(self, length: Self) -> Self {
        Self(self.0.saturating_add(length.0))
    }
}

impl Sub for Nanos {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
}
