//! How long to rest after attempts to connect that failed.

use crate::Nanos;

/// The rest after a first failed attempt; it doubles with each further one.
const FIRST_REST: Nanos = Nanos::from_millis(10);
/// Rests do not grow beyond this many doublings: 1.28 s.
const MOST_DOUBLINGS: u32 = 7;

/// How often in a row the server could not be reached, so that one that is down is not flooded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackOff {
    failures: u32,
}

impl BackOff {
    /// The server could not be reached: returns when it may be tried again.
    #[must_use]
    pub fn failed(&mut self, now: Nanos) -> Nanos {
        let rest = Nanos(FIRST_REST.0 << self.failures);
        self.failures = (self.failures + 1).min(MOST_DOUBLINGS);
        now + rest
    }

    /// The server was reached.
    pub fn reached(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::BackOff;
    use crate::Nanos;

    #[test]
    fn rests_double_from_10_ms_up_to_1_28_s_and_begin_anew_once_the_server_was_reached() {
        let now = Nanos::from_millis(5_000);
        let mut back_off = BackOff::default();
        let mut rest = || back_off.failed(now);
        for milliseconds in [10, 20, 40, 80, 160, 320, 640, 1_280, 1_280, 1_280] {
            assert_eq!(rest(), now + Nanos::from_millis(milliseconds));
        }
        back_off.reached();
        assert_eq!(back_off.failed(now), now + Nanos::from_millis(10));
    }
}
