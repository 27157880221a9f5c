//! When requests fall due.

use serde::{Deserialize, Serialize};

use crate::random::{Purpose, Random};
use crate::{Nanos, RateProfile, Replay, Share};

/// How arrivals at a rate are spread in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arrivals {
    /// Evenly spaced.
    Constant,
    /// Independent of each other: the times between them are exponential.
    Poisson,
}

/// The undivided arrivals, in their order, as numbers on the time line of a process of rate 1.
#[derive(Clone, Copy, Debug)]
enum Sequence {
    /// The next arrival's number; the k-th arrives at k exactly, so rounding never adds up.
    Constant { next: u64 },
    /// The next arrival, and what draws the ones after it.
    Poisson { next: f64, random: Random },
}

impl Sequence {
    fn new(arrivals: Arrivals, seed: u64) -> Self {
        match arrivals {
            Arrivals::Constant => Self::Constant { next: 0 },
            Arrivals::Poisson => {
                let mut random = Random::new(seed, Purpose::Arrivals);
                Self::Poisson { next: random.next_exponential(), random }
            }
        }
    }

    fn next(&self) -> f64 {
        match self {
            Self::Constant { next } => *next as f64,
            Self::Poisson { next, .. } => *next,
        }
    }

    fn skip(&mut self, count: u64) {
        match self {
            Self::Constant { next } => *next += count,
            Self::Poisson { next, random } => {
                // The arrivals of other workers are drawn, too, so that the union of all shares is one process.
                for _ in 0..count {
                    *next += random.next_exponential();
                }
            }
        }
    }
}

/// The undivided arrivals, and which of them is next.
#[derive(Clone, Debug)]
enum Source {
    /// A rate over time.
    Rated { profile: RateProfile, sequence: Sequence },
    /// The moments of a recording.
    Recorded { replay: Replay, next: u64 },
}

impl Source {
    fn next_due(&self) -> Nanos {
        match self {
            Self::Rated { profile, sequence } => due(profile, sequence),
            Self::Recorded { replay, next } => replay.due(*next),
        }
    }

    fn skip(&mut self, count: u64) {
        match self {
            Self::Rated { sequence, .. } => sequence.skip(count),
            Self::Recorded { next, .. } => *next += count,
        }
    }
}

/// One worker's way through its share of the arrivals: which request is due next, and how many were.
#[derive(Clone, Debug)]
pub struct Schedule {
    source: Source,
    share: Share,
    taken: u64,
    next_due: Nanos,
}

impl Schedule {
    /// The share of the arrivals that `share` names, from its first request on.
    #[must_use]
    pub fn new(profile: RateProfile, arrivals: Arrivals, seed: u64, share: Share) -> Self {
        Self::of(Source::Rated { profile, sequence: Sequence::new(arrivals, seed) }, share)
    }

    /// The share of the requests of a recording that `share` names, from its first request on.
    #[must_use]
    pub fn of_replay(replay: Replay, share: Share) -> Self {
        Self::of(Source::Recorded { replay, next: 0 }, share)
    }

    fn of(mut source: Source, share: Share) -> Self {
        source.skip(share.position(0));
        let next_due = source.next_due();
        Self { source, share, taken: 0, next_due }
    }

    /// When the next request of this share is due, counted from the start; never, after the last one of a recording or of a
    /// rate that ends.
    #[must_use]
    pub fn next_due(&self) -> Nanos {
        self.next_due
    }

    /// Takes the next request, whose due time was [`Self::next_due`].
    pub fn take(&mut self) {
        self.taken += 1;
        self.source.skip(self.share.of());
        self.next_due = self.source.next_due();
    }

    /// How many requests of this share are due from `start` on and before `end`, and have not been taken.
    #[must_use]
    pub fn untaken_between(&self, start: Nanos, end: Nanos) -> u64 {
        self.untaken_before(end) - self.untaken_before(start)
    }

    fn untaken_before(&self, time: Nanos) -> u64 {
        match &self.source {
            Source::Rated { profile, sequence: Sequence::Constant { next } } => {
                // Due times rise with the number, so halving finds the first that is not before `time`.
                let is_before = |own: u64| due_of(profile, next + own * self.share.of()) < time;
                let (mut low, mut high) = (0, 1);
                while is_before(high) {
                    high *= 2;
                }
                while low < high {
                    let middle = u64::midpoint(low, high);
                    if is_before(middle) { low = middle + 1 } else { high = middle }
                }
                low
            }
            Source::Rated { sequence: Sequence::Poisson { .. }, .. } => {
                let mut ahead = self.clone();
                while ahead.next_due < time {
                    ahead.take();
                }
                ahead.taken - self.taken
            }
            Source::Recorded { replay, .. } => {
                self.share.count(replay.count_before(time)).saturating_sub(self.taken)
            }
        }
    }
}

/// When arrival `number` of evenly spaced ones is due.
fn due_of(profile: &RateProfile, number: u64) -> Nanos {
    due(profile, &Sequence::Constant { next: number })
}

fn due(profile: &RateProfile, sequence: &Sequence) -> Nanos {
    Nanos::from_secs_f64(profile.time_of(sequence.next()))
}

#[cfg(test)]
mod tests {
    use super::{Arrivals, Schedule, due_of};
    use crate::{Nanos, RateProfile, RateStretch, Recording, Replay, Share};
    use proptest::prelude::*;

    fn schedule(rate_rps: f64, arrivals: Arrivals, share: Share) -> Schedule {
        Schedule::new(RateProfile::constant(rate_rps).unwrap(), arrivals, 7, share)
    }

    fn taken_before(mut schedule: Schedule, end: Nanos) -> Vec<Nanos> {
        let mut due = Vec::new();
        while schedule.next_due() < end {
            due.push(schedule.next_due());
            schedule.take();
        }
        due
    }

    fn arrivals() -> impl Strategy<Value = Arrivals> {
        prop_oneof![Just(Arrivals::Constant), Just(Arrivals::Poisson)]
    }

    /// Constant rates, and steps and ramps that end in one or at zero.
    fn profiles() -> impl Strategy<Value = RateProfile> {
        let stretch = (0.01_f64..0.3, 0.0_f64..5_000.0, 0.0_f64..5_000.0, any::<bool>()).prop_map(
            |(length_s, from_rps, to_rps, is_step)| {
                (length_s, from_rps, if is_step { from_rps } else { to_rps })
            },
        );
        (prop::collection::vec(stretch, 0..5), 0.5_f64..5_000.0, any::<bool>()).prop_map(
            |(stretches, rps, ends)| {
                let last = (0.01, rps, if ends { 0.0 } else { rps });
                let stretches: Vec<RateStretch> = stretches
                    .into_iter()
                    .chain([last])
                    .map(|(length_s, from_rps, to_rps)| RateStretch { length_s, from_rps, to_rps })
                    .collect();
                RateProfile::of_stretches(&stretches).unwrap()
            },
        )
    }

    /// Up to 200 requests within 0.6 s, many of them at the same moment, at some speed.
    fn replays() -> impl Strategy<Value = Replay> {
        (prop::collection::vec(0_u64..60, 1..200), 0.1_f64..10.0).prop_map(|(mut hundredths, speed)| {
            hundredths.sort_unstable();
            let moments: Vec<Nanos> =
                hundredths.into_iter().map(|moment| Nanos::from_millis(10 * moment)).collect();
            Replay::new(Recording::new(moments).unwrap(), speed)
        })
    }

    #[test]
    fn a_share_of_two_has_every_second_request_of_a_recording_and_then_none() {
        let moments: Vec<Nanos> = [0, 10, 10, 25, 70].map(Nanos::from_millis).to_vec();
        let replay = Replay::new(Recording::new(moments).unwrap(), 1.0);
        let share = |index| Schedule::of_replay(replay.clone(), Share::new(index, 2));
        assert_eq!(taken_before(share(0), Nanos::NEVER), [0, 10, 70].map(Nanos::from_millis));
        assert_eq!(taken_before(share(1), Nanos::NEVER), [10, 25].map(Nanos::from_millis));
        // Of more workers than requests, some have none.
        assert_eq!(Schedule::of_replay(replay, Share::new(6, 7)).next_due(), Nanos::NEVER);
    }

    #[test]
    fn a_thousand_requests_per_second_are_due_every_millisecond() {
        let schedule = schedule(1000.0, Arrivals::Constant, Share::whole());
        let expected: Vec<Nanos> = (0..500).map(Nanos::from_millis).collect();
        assert_eq!(taken_before(schedule, Nanos::from_millis(500)), expected);
    }

    #[test]
    fn a_request_due_at_the_end_itself_is_not_due_before_the_end() {
        let schedule = schedule(1000.0, Arrivals::Constant, Share::whole());
        assert_eq!(schedule.untaken_between(Nanos::ZERO, Nanos::from_millis(10)), 10);
        assert_eq!(schedule.untaken_between(Nanos::ZERO, Nanos(10_000_001)), 11);
        assert_eq!(schedule.untaken_between(Nanos::from_millis(4), Nanos::from_millis(10)), 6);
    }

    #[test]
    fn rounding_does_not_add_up_over_a_day_of_an_uneven_rate() {
        // 86,400 s at 7/3 requests per second are exactly 201,600 requests; the last is due 3/7 s before the end.
        let last = due_of(&RateProfile::constant(7.0 / 3.0).unwrap(), 201_599).as_secs_f64();
        assert!((last - (86_400.0 - 3.0 / 7.0)).abs() < 1e-6, "{last}");
    }

    #[test]
    fn poisson_arrivals_in_a_second_have_the_variance_of_their_mean() {
        let schedule = schedule(100.0, Arrivals::Poisson, Share::whole());
        let seconds = 4_000;
        let mut counts = vec![0_u32; seconds];
        for due in taken_before(schedule, Nanos::from_millis(1000 * seconds as u64)) {
            counts[usize::try_from(due.0 / 1_000_000_000).unwrap()] += 1;
        }
        let mean = counts.iter().map(|count| f64::from(*count)).sum::<f64>() / seconds as f64;
        let variance =
            counts.iter().map(|count| (f64::from(*count) - mean).powi(2)).sum::<f64>() / seconds as f64;
        // The standard error of the mean is 10/√4000 = 0.16; that of the variance is near 100·√(2/4000) = 2.2.
        assert!((mean - 100.0).abs() < 0.64, "{mean}");
        assert!((variance - 100.0).abs() < 9.0, "{variance}");
    }

    #[test]
    fn a_ramp_brings_its_requests_ever_closer_together() {
        let ramp = RateStretch { length_s: 10.0, from_rps: 0.0, to_rps: 100.0 };
        let profile = RateProfile::of_stretches(&[ramp]).unwrap();
        let schedule = Schedule::new(profile, Arrivals::Constant, 0, Share::whole());
        let due = taken_before(schedule, Nanos::from_millis(10_000));
        // The rate is 10·t, so request k is due at √(k/5), and 500 are due within ten seconds.
        assert_eq!(due.len(), 500);
        for (number, due) in due.iter().enumerate() {
            assert!((due.as_secs_f64() - (number as f64 / 5.0).sqrt()).abs() < 1e-8, "request {number}");
        }
    }

    #[test]
    fn a_ramp_down_to_zero_brings_its_requests_ever_further_apart_and_then_none() {
        let ramp = RateStretch { length_s: 10.0, from_rps: 100.0, to_rps: 0.0 };
        let profile = RateProfile::of_stretches(&[ramp]).unwrap();
        let whole = Schedule::new(profile.clone(), Arrivals::Constant, 0, Share::whole());
        let due = taken_before(whole.clone(), Nanos::NEVER);
        // What is left at time t is 5·(10 − t)², so request k is due at 10 − √((500 − k)/5).
        assert_eq!(due.len(), 500);
        for (number, due) in due.iter().enumerate() {
            let expected_s = 10.0 - ((500 - number) as f64 / 5.0).sqrt();
            assert!((due.as_secs_f64() - expected_s).abs() < 1e-7, "request {number}");
        }
        // In the last five seconds a quarter of them.
        assert_eq!(whole.untaken_between(Nanos::from_millis(5_000), Nanos::NEVER), 125);
        let random = Schedule::new(profile, Arrivals::Poisson, 7, Share::whole());
        // The standard deviation of their number is √500.
        let count = taken_before(random, Nanos::NEVER).len() as f64;
        assert!((count - 500.0).abs() < 4.0 * 500_f64.sqrt(), "{count}");
    }

    proptest! {
        #[test]
        fn counting_ahead_agrees_with_taking_one_by_one(
            profile in profiles(), arrivals in arrivals(), replay in replays(), is_recorded in any::<bool>(),
            workers in 1_usize..9, index in 0_usize..9,
            taken in 0_usize..50, start_ms in 0_u64..1_000, length_ms in 0_u64..1_000,
        ) {
            let share = Share::new(index % workers, workers);
            let mut schedule = if is_recorded {
                Schedule::of_replay(replay, share)
            } else {
                Schedule::new(profile, arrivals, 7, share)
            };
            for _ in 0..taken {
                if schedule.next_due() < Nanos::NEVER {
                    schedule.take();
                }
            }
            let (start, end) = (Nanos::from_millis(start_ms), Nanos::from_millis(start_ms + length_ms));
            let one_by_one = taken_before(schedule.clone(), end).iter().filter(|due| **due >= start).count();
            prop_assert_eq!(schedule.untaken_between(start, end), one_by_one as u64);
        }

        #[test]
        fn the_shares_of_any_number_of_workers_make_up_the_undivided_recording(
            replay in replays(), workers in 1_usize..17,
        ) {
            let share_of = |share| taken_before(Schedule::of_replay(replay.clone(), share), Nanos::NEVER);
            let mut union: Vec<Nanos> =
                (0..workers).flat_map(|index| share_of(Share::new(index, workers))).collect();
            union.sort_unstable();
            prop_assert_eq!(union, (0..replay.count()).map(|number| replay.due(number)).collect::<Vec<_>>());
        }

        #[test]
        fn the_shares_of_any_number_of_workers_make_up_the_undivided_schedule(
            profile in profiles(), arrivals in arrivals(), seed in any::<u64>(), workers in 1_usize..17,
        ) {
            let end = Nanos::from_millis(700);
            let share_of = |share| taken_before(Schedule::new(profile.clone(), arrivals, seed, share), end);
            let mut union: Vec<Nanos> =
                (0..workers).flat_map(|index| share_of(Share::new(index, workers))).collect();
            union.sort_unstable();
            prop_assert_eq!(union, share_of(Share::whole()));
        }

        #[test]
        fn due_times_are_evenly_spaced_to_a_nanosecond(rate_rps in 0.1_f64..1e6, k in 0_u64..10_000_000) {
            let profile = RateProfile::constant(rate_rps).unwrap();
            let (due, next) = (due_of(&profile, k), due_of(&profile, k + 1));
            // A due time is a whole number of nanoseconds, rounded from a 53-bit quotient.
            let tolerance_ns = 1.0 + next.0 as f64 * 4.0 * f64::EPSILON;
            prop_assert!(((next - due).0 as f64 - 1e9 / rate_rps).abs() <= tolerance_ns);
        }
    }
}
