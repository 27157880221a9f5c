//! What was answered within the last second of a load that is under way, for a display.

use loadcurve_plan::Nanos;

use crate::activity::CoarseLatencies;

/// The shortest time over which the answers are shown.
const LENGTH: Nanos = Nanos::from_millis(1000);

/// What was answered within the last second, or a little more: from one look at the load to the first one a second
/// later.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LastSecond {
    /// How long it was.
    pub length_s: f64,
    /// Requests answered.
    pub answered: u64,
    /// Their latency in ms, wrong by at most 1/32, at the percentiles 50, 90 and 99; `None` if nothing was answered.
    pub latency_ms: Option<[f64; 3]>,
}

/// Looks at a load from time to time and keeps what was answered within the last whole second.
#[derive(Debug)]
pub(crate) struct Watcher {
    /// When the second that is under way began, since the load did.
    began: Nanos,
    until_began: CoarseLatencies,
    last: Option<LastSecond>,
}

impl Default for Watcher {
    fn default() -> Self {
        Self { began: Nanos::ZERO, until_began: CoarseLatencies::NONE, last: None }
    }
}

impl Watcher {
    /// Looks, when this time has elapsed since the load began, at everything that was answered until then. Returns the
    /// last second that is over; none during the first one.
    pub(crate) fn look(&mut self, elapsed: Nanos, until_now: CoarseLatencies) -> Option<LastSecond> {
        if elapsed - self.began >= LENGTH {
            let within = until_now.since(&self.until_began);
            let ms = |share| within.at(share).map(Nanos::as_millis_f64);
            self.last = Some(LastSecond {
                length_s: (elapsed - self.began).as_secs_f64(),
                answered: within.count(),
                latency_ms: (|| Some([ms(0.5)?, ms(0.9)?, ms(0.99)?]))(),
            });
            self.began = elapsed;
            self.until_began = until_now;
        }
        self.last
    }
}

#[cfg(test)]
mod tests {
    use loadcurve_plan::Nanos;

    use super::{LastSecond, Watcher};
    use crate::activity::{Activity, CoarseLatencies};

    /// A watched thread.
    #[derive(Default)]
    struct Watched {
        activity: Activity,
        watcher: Watcher,
    }

    impl Watched {
        fn answered(&self, times: usize, latency_ms: u64) {
            (0..times).for_each(|_| self.activity.answered(Nanos::from_millis(latency_ms)));
        }

        fn look(&mut self, elapsed_ms: u64) -> Option<LastSecond> {
            let latencies = CoarseLatencies::of([&self.activity].into_iter());
            self.watcher.look(Nanos::from_millis(elapsed_ms), latencies)
        }
    }

    #[test]
    fn nothing_is_reported_before_the_first_second_is_over() {
        let mut watched = Watched::default();
        watched.answered(5, 1);
        assert_eq!(watched.look(0), None);
        assert_eq!(watched.look(999), None);
    }

    #[test]
    fn each_second_is_reported_when_it_is_over_and_kept_until_the_next_one_is() {
        let mut watched = Watched::default();
        watched.answered(30, 1);
        let first = watched.look(1000).unwrap();
        watched.answered(10, 100);
        assert_eq!(watched.look(1999), Some(first));
        let second = watched.look(2250).unwrap();
        assert_eq!((first.answered, first.length_s), (30, 1.0));
        assert_eq!((second.answered, second.length_s), (10, 1.25));
    }

    #[test]
    fn percentiles_are_those_of_the_last_second_alone() {
        let mut watched = Watched::default();
        watched.answered(1000, 400);
        watched.look(1000);
        watched.answered(80, 2);
        watched.answered(15, 20);
        watched.answered(5, 200);
        let [p50, p90, p99] = watched.look(2000).unwrap().latency_ms.unwrap();
        for (found, expected) in [(p50, 2.0), (p90, 20.0), (p99, 200.0)] {
            assert!((found / expected - 1.0_f64).abs() <= 1.0 / 32.0, "{found} instead of {expected}");
        }
    }

    #[test]
    fn a_second_without_an_answer_has_no_percentiles() {
        let mut watched = Watched::default();
        watched.answered(7, 1);
        watched.look(1000);
        let silent = watched.look(2000).unwrap();
        assert_eq!((silent.answered, silent.latency_ms), (0, None));
    }
}
