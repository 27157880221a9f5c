//! Keeping what a kind of reading costs within a share of a CPU.

use std::time::Duration;

/// A window of a second has two looks of every kind that can afford it, whenever it begins.
const LONGEST_WAIT: Duration = Duration::from_millis(400);

/// An allowance of processor time that grows by a share of the time that passes, up to what an interval brings.
///
/// Work may begin while some of it is left. What work costs beyond it is a debt that is waited for, so that over time
/// the share is kept whatever a single piece of work costs. The wait is not as long as the debt where that is only one
/// piece's, which had an interrupt or stolen time counted with it: it ends once what work mostly costs has been earned,
/// or after [`LONGEST_WAIT`], so that such a debt is paid off by many pieces of work that come a little later.
pub(crate) struct Pace {
    share: f64,
    most_s: f64,
    left_s: f64,
    refilled: Duration,
    /// When work was last done.
    worked: Option<Duration>,
    /// What the last pieces of work have cost; nothing is said of those before the first, which may be the odd one.
    costs_s: [f64; 3],
}

impl Pace {
    /// An allowance of this share of a CPU, full at first; one interval's worth of it can be saved.
    pub(crate) fn new(share: f64, interval: Duration, now: Duration) -> Self {
        let most_s = share * interval.as_secs_f64();
        Self { share, most_s, left_s: most_s, refilled: now, worked: None, costs_s: [0.0; 3] }
    }

    /// Whether work may begin.
    pub(crate) fn allows(&mut self, now: Duration) -> bool {
        self.refill(now);
        self.left_s > 0.0 || self.worked.is_some_and(|worked| now >= worked + self.longest_wait())
    }

    /// Takes away what is left, which is lost otherwise: the time to the next piece of work brings as much as can be saved.
    pub(crate) fn take_left_s(&mut self) -> f64 {
        let left_s = self.left_s.max(0.0);
        self.left_s -= left_s;
        left_s
    }

    /// Adds what another kind of reading has not used; what was added before and not used either is lost.
    pub(crate) fn add_s(&mut self, now: Duration, left_s: f64) {
        self.left_s = self.left_s.min(self.most_s);
        self.refill(now);
        self.left_s += left_s;
    }

    /// Some work has cost this much, whether or not it was allowed.
    pub(crate) fn spend(&mut self, now: Duration, cost: Duration) {
        self.left_s -= cost.as_secs_f64();
        self.worked = Some(now);
        self.costs_s.rotate_left(1);
        self.costs_s[2] = cost.as_secs_f64();
    }

    /// How long it takes to earn the median of what the last pieces of work have cost, or [`LONGEST_WAIT`].
    fn longest_wait(&self) -> Duration {
        let [first, second, third] = self.costs_s;
        let median_s = first.min(second).max(first.max(second).min(third));
        Duration::from_secs_f64(median_s / self.share).max(LONGEST_WAIT)
    }

    fn refill(&mut self, now: Duration) {
        let passed = now.saturating_sub(self.refilled);
        self.refilled = now;
        let refilled_s = self.left_s + self.share * passed.as_secs_f64();
        // What was added is not cut off.
        self.left_s = refilled_s.min(self.most_s.max(self.left_s));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Pace;

    const INTERVAL: Duration = Duration::from_millis(100);

    /// Of this many intervals, those in which a pace of 1 % of a CPU, 1 ms in each, begins work of `cost_us`.
    fn begun(intervals: u32, cost_us: impl Fn(u32) -> u64) -> Vec<u32> {
        let mut pace = Pace::new(0.01, INTERVAL, Duration::ZERO);
        let allowed = (0..intervals).filter(|interval| {
            let now = *interval * INTERVAL;
            let allowed = pace.allows(now);
            if allowed {
                pace.spend(now, Duration::from_micros(cost_us(*interval)));
            }
            allowed
        });
        allowed.collect()
    }

    #[test]
    fn what_costs_less_than_its_share_is_done_every_time() {
        assert_eq!(begun(1000, |_| 990).len(), 1000);
    }

    #[test]
    fn what_costs_more_is_done_less_often_and_keeps_the_share() {
        // 1000 intervals allow 1 s. The first piece of work may be an odd one, so that the second does not wait for all
        // of its debt, and the last may overdraw by no more than itself.
        for cost_us in [1_500, 3_000, 7_700, 50_000] {
            let spent_us = cost_us * u64::try_from(begun(1000, |_| cost_us).len()).unwrap();
            assert!(spent_us + 1_000 >= 1_000_000, "{cost_us} µs: {spent_us}");
            assert!(spent_us <= 1_000_000 + 2 * cost_us, "{cost_us} µs: {spent_us}");
        }
    }

    #[test]
    fn after_one_dear_piece_of_work_every_second_still_has_two() {
        // 50 ms are five seconds' worth, and the other pieces cost a tenth of their share.
        for dear in [0, 1, 100] {
            let times = begun(300, |interval| if interval == dear { 50_000 } else { 100 });
            for second in 0..29 {
                let within = times.iter().filter(|time| (10 * second..10 * (second + 1)).contains(*time));
                assert!(within.count() >= 2, "second {second} with a dear one at {dear}: {times:?}");
            }
        }
    }

    #[test]
    fn what_one_dear_piece_of_work_has_cost_is_paid_off() {
        let times = begun(300, |interval| if interval == 0 { 50_000 } else { 100 });
        // 300 ms are allowed. Each piece of work leaves 900 µs of its interval, and those that are waited for more.
        let late = times.windows(2).filter(|pair| pair[1] - pair[0] > 1).count();
        assert!((12..=13).contains(&late), "every 400 ms bring 3.9 ms of the 49 ms: {late} waits");
        let spent_us = 50_000 + 100 * (times.len() - 1);
        assert!(spent_us <= 300_000, "{spent_us} µs");
        assert_eq!(times.last(), Some(&299));
    }

    #[test]
    fn what_one_kind_leaves_lets_another_do_more_and_their_shares_together_are_kept() {
        // In each interval there is 1 ms for each kind. The first costs 400 µs, and pieces of the second 100 µs.
        let [mut first, mut second] = [0, 1].map(|_| Pace::new(0.01, INTERVAL, Duration::ZERO));
        let mut pieces = 0;
        for now in (0..1000).map(|interval| interval * INTERVAL) {
            assert!(first.allows(now), "the first kind is done every time");
            first.spend(now, Duration::from_micros(400));
            second.add_s(now, first.take_left_s());
            while second.allows(now) {
                second.spend(now, Duration::from_micros(100));
                pieces += 1;
            }
        }
        assert!((15_900..=16_010).contains(&pieces), "{pieces} pieces, of 16 in each interval");
    }

    #[test]
    fn what_is_not_used_is_saved_for_one_interval_only() {
        let mut pace = Pace::new(0.01, INTERVAL, Duration::ZERO);
        let an_hour = Duration::from_secs(3600);
        assert!(pace.allows(an_hour));
        pace.spend(an_hour, Duration::from_millis(2));
        assert!(!pace.allows(an_hour), "2 ms were spent of the 1 ms that can be saved");
        assert!(pace.allows(an_hour + 2 * INTERVAL));
    }
}
