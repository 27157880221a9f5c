//! Readings that cost too much for every sample: rounds through many things, a few at each sample.

use std::collections::VecDeque;
use std::time::Duration;

use crate::pace::Pace;

/// A round of visits that continues at each sample as far as its allowance lasts.
pub(crate) struct Round<T> {
    pace: Pace,
    /// From the start of one round to the start of the next, at least.
    shortest: Duration,
    begun: Option<Duration>,
    left: VecDeque<T>,
}

impl<T> Round<T> {
    /// Rounds that keep to a pace, and that begin no sooner than `shortest` one after the other.
    pub(crate) fn new(pace: Pace, shortest: Duration) -> Self {
        Self { pace, shortest, begun: None, left: VecDeque::new() }
    }

    /// Lets the round go on for longer, by what another kind of reading has not used.
    pub(crate) fn add_s(&mut self, now: Duration, left_s: f64) {
        self.pace.add_s(now, left_s);
    }

    /// Goes through a round at once, whatever it costs: it is the first, and its cost is not of the allowance.
    pub(crate) fn go_whole<I: IntoIterator<Item = T>>(
        &mut self,
        now: Duration,
        first: impl FnOnce() -> I,
        mut visit: impl FnMut(T, &mut VecDeque<T>),
    ) {
        self.begun = Some(now);
        self.left.extend(first());
        while let Some(next) = self.left.pop_front() {
            visit(next, &mut self.left);
        }
    }

    /// Continues with the round, or begins the next if it is time; whether it has come to its end.
    ///
    /// `first` gives what a new round visits; a visit may add what is to be visited next. `cpu_time` is what this
    /// process has used so far.
    pub(crate) fn go_on<I: IntoIterator<Item = T>>(
        &mut self,
        now: Duration,
        cpu_time: impl Fn() -> Duration,
        first: impl FnOnce() -> I,
        mut visit: impl FnMut(T, &mut VecDeque<T>),
    ) -> bool {
        if self.left.is_empty() {
            if self.begun.is_some_and(|begun| now < begun + self.shortest) {
                return false;
            }
            self.begun = Some(now);
            self.left.extend(first());
        }
        let mut spent = cpu_time();
        while self.pace.allows(now) {
            let Some(next) = self.left.pop_front() else { break };
            visit(next, &mut self.left);
            let cost = cpu_time().saturating_sub(spent);
            spent += cost;
            self.pace.spend(now, cost);
        }
        self.left.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::time::Duration;

    use super::Round;
    use crate::pace::Pace;

    const INTERVAL: Duration = Duration::from_millis(100);
    const SECOND: Duration = Duration::from_secs(1);
    /// A tenth of what the pace of the tests allows in an interval.
    const VISIT_COSTS: Duration = Duration::from_micros(100);

    /// Rounds through this many things, over this many samples: when each ended, and every visit in its order.
    fn rounds(things: u32, samples: u32) -> (Vec<u32>, Vec<u32>) {
        let mut round = Round::new(Pace::new(0.01, INTERVAL, Duration::ZERO), SECOND);
        let used = Cell::new(Duration::ZERO);
        let (mut ends, mut visits) = (Vec::new(), Vec::new());
        for sample in 0..samples {
            let ended = round.go_on(
                sample * INTERVAL,
                || used.get(),
                || 0..things,
                |thing, _| {
                    visits.push(thing);
                    used.set(used.get() + VISIT_COSTS);
                },
            );
            if ended {
                ends.push(sample);
            }
        }
        (ends, visits)
    }

    #[test]
    fn a_short_round_ends_at_the_sample_that_begins_it_once_a_second() {
        let (ends, visits) = rounds(3, 25);
        assert_eq!(ends, [0, 10, 20]);
        assert_eq!(visits, [0, 1, 2, 0, 1, 2, 0, 1, 2]);
    }

    #[test]
    fn a_long_round_is_spread_over_samples_and_visits_everything_once() {
        // Ten visits are allowed at each sample, so that 125 take 13 samples; the next round begins at the one after.
        let (ends, visits) = rounds(125, 26);
        assert_eq!(ends, [12, 25]);
        assert_eq!(visits, (0..125).chain(0..125).collect::<Vec<_>>());
    }

    #[test]
    fn a_visit_may_lead_to_others_within_the_same_round() {
        let mut round = Round::new(Pace::new(0.01, INTERVAL, Duration::ZERO), SECOND);
        let mut visits = Vec::new();
        let visit = |thing, left: &mut std::collections::VecDeque<i32>| {
            visits.push(thing);
            left.extend((thing < 3).then_some(thing + 1));
        };
        assert!(round.go_on(Duration::ZERO, || Duration::ZERO, || [1], visit));
        assert_eq!(visits, [1, 2, 3]);
    }

    #[test]
    fn a_whole_round_visits_everything_and_the_next_begins_as_after_any_other() {
        let mut round = Round::new(Pace::new(0.01, INTERVAL, Duration::ZERO), SECOND);
        let mut visits = Vec::new();
        let mut visit = |thing: u32, left: &mut std::collections::VecDeque<u32>| {
            visits.push(thing);
            left.extend((thing == 7).then_some(1_000));
        };
        round.go_whole(Duration::ZERO, || 0..125, &mut visit);
        assert!(!round.go_on(SECOND / 2, || Duration::ZERO, || 0..3, &mut visit));
        assert!(round.go_on(SECOND, || Duration::ZERO, || 0..3, &mut visit));
        assert_eq!(visits, (0..125).chain([1_000]).chain(0..3).collect::<Vec<_>>());
    }

    #[test]
    fn a_round_through_nothing_ends_at_once() {
        assert_eq!(rounds(0, 1).0, [0]);
    }
}
