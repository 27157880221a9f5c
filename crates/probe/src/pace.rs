//! Keeping what a kind of reading costs within a share of a CPU.

use std::time::Duration;

/// An allowance of processor time that grows by a share of the time that passes, up to what an interval brings.
///
/// Work may begin while some of it is left. What work costs beyond it is a debt that is waited for, so that over time
/// the share is kept whatever a single piece of work costs.
pub(crate) struct Pace {
    share: f64,
    most_s: f64,
    left_s: f64,
    refilled: Duration,
}

impl Pace {
    /// An allowance of this share of a CPU, full at first, of which one interval's worth can be saved.
    pub(crate) fn new(share: f64, interval: Duration, now: Duration) -> Self {
        let most_s = share * interval.as_secs_f64();
        Self { share, most_s, left_s: most_s, refilled: now }
    }

    /// Whether work may begin.
    pub(crate) fn allows(&mut self, now: Duration) -> bool {
        self.refill(now);
        self.left_s > 0.0
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

    /// Some work has cost this much.
    pub(crate) fn spend(&mut self, cost: Duration) {
        self.left_s -= cost.as_secs_f64();
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

    /// How often work of `cost` is begun in so many intervals by a pace of 1 % of a CPU, which is 1 ms in each.
    fn begun(cost: Duration, intervals: u32) -> u32 {
        let mut pace = Pace::new(0.01, INTERVAL, Duration::ZERO);
        let times = (0..intervals).filter(|interval| {
            let allowed = pace.allows(*interval * INTERVAL);
            if allowed {
                pace.spend(cost);
            }
            allowed
        });
        u32::try_from(times.count()).unwrap()
    }

    #[test]
    fn what_costs_less_than_its_share_is_done_every_time() {
        assert_eq!(begun(Duration::from_micros(990), 1000), 1000);
    }

    #[test]
    fn what_costs_more_is_done_less_often_and_keeps_the_share() {
        // 1000 intervals allow 1 s, and the last piece of work may overdraw by no more than itself.
        for cost_us in [1_500, 3_000, 7_700, 50_000] {
            let spent = begun(Duration::from_micros(cost_us), 1000) * Duration::from_micros(cost_us);
            let allowed = Duration::from_secs(1);
            assert!(spent + INTERVAL / 100 >= allowed, "{cost_us} µs: {spent:?}");
            assert!(spent <= allowed + Duration::from_micros(cost_us), "{cost_us} µs: {spent:?}");
        }
    }

    #[test]
    fn what_one_kind_leaves_lets_another_do_more_and_their_shares_together_are_kept() {
        // In each interval there is 1 ms for each kind. The first costs 400 µs, and pieces of the second 100 µs.
        let [mut first, mut second] = [0, 1].map(|_| Pace::new(0.01, INTERVAL, Duration::ZERO));
        let mut pieces = 0;
        for now in (0..1000).map(|interval| interval * INTERVAL) {
            assert!(first.allows(now), "the first kind is done every time");
            first.spend(Duration::from_micros(400));
            second.add_s(now, first.take_left_s());
            while second.allows(now) {
                second.spend(Duration::from_micros(100));
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
        pace.spend(Duration::from_millis(2));
        assert!(!pace.allows(an_hour), "2 ms were spent of the 1 ms that can be saved");
        assert!(pace.allows(an_hour + 2 * INTERVAL));
    }
}
