//! When the next request may begin: the load models as values of one type.

use loadcurve_plan::{InvalidPlan, Nanos, Pace, Schedule, Share, Stop};
use loadcurve_record::Window;

/// One worker's share of a load on the clock's time line.
pub struct Scheduler {
    /// The arrivals of requests or sessions; a closed loop begins a request whenever a slot is free.
    schedule: Option<Schedule>,
    /// The measured arrivals of this worker, where their number ends the load.
    budget: Option<u64>,
    epoch: Nanos,
    window: Window,
    /// Measured arrivals begun.
    begun: u64,
    /// Whether nothing more is to begin, because the server cannot be reached.
    is_given_up: bool,
}

impl Scheduler {
    /// The share of the load that `share` names, when it begins at `epoch`.
    ///
    /// # Errors
    /// When no schedule holds the rate.
    pub fn new(pace: &Pace, share: Share, epoch: Nanos) -> Result<Self, InvalidPlan> {
        let start = epoch + pace.warmup();
        let (end, budget) = match pace.stop {
            Stop::DurationS(seconds) => (start + Nanos::from_secs_f64(seconds), None),
            Stop::RequestsTotal(total) | Stop::ConnectionsTotal(total) => {
                // The arrivals of the warm-up take their places among the shares, too.
                let before = pace
                    .schedule(Share::whole())?
                    .map_or(0, |whole| whole.untaken_between(Nanos::ZERO, pace.warmup()));
                (Nanos::NEVER, Some(share.count(before + total) - share.count(before)))
            }
            Stop::Recording => (Nanos::NEVER, None),
        };
        let schedule = pace.schedule(share)?;
        Ok(Self { schedule, budget, epoch, window: Window { start, end }, begun: 0, is_given_up: false })
    }

    /// When the load begins, with its warm-up.
    #[must_use]
    pub fn epoch(&self) -> Nanos {
        self.epoch
    }

    /// The measured window.
    #[must_use]
    pub fn window(&self) -> Window {
        self.window
    }

    /// When the next request or session is due; in a closed loop that is now. None when no more are to begin.
    #[must_use]
    pub fn next_due(&self, now: Nanos) -> Option<Nanos> {
        if self.is_given_up {
            return None;
        }
        let due = self.schedule.as_ref().map_or(now, |schedule| self.epoch + schedule.next_due());
        // The budget is for the measured arrivals alone: a worker without any still takes its share of the warm-up.
        let within_budget =
            !self.window.measures(due) || self.budget.is_none_or(|budget| self.begun < budget);
        (within_budget && due < self.window.end && now < self.window.end).then_some(due)
    }

    /// Whether nothing may begin any more, for the time is over or the load was given up.
    #[must_use]
    pub fn is_over(&self, now: Nanos) -> bool {
        now >= self.window.end || self.is_given_up
    }

    /// Whether the load ends by a number, however long that takes, and has not been given up.
    #[must_use]
    pub fn may_be_given_up(&self) -> bool {
        self.window.end == Nanos::NEVER && !self.is_given_up
    }

    /// From now on nothing begins: the server cannot be reached.
    pub fn give_up(&mut self) {
        self.is_given_up = true;
    }

    /// Takes the request or session that was due then.
    pub fn take(&mut self, due: Nanos) {
        if let Some(schedule) = &mut self.schedule {
            schedule.take();
        }
        self.begun += u64::from(self.window.measures(due));
        debug_assert!(
            self.budget.is_none_or(|budget| self.begun <= budget),
            "more measured requests began than the load has: {} of {:?}",
            self.begun,
            self.budget
        );
    }

    /// Whether the lateness of a request means something: a closed loop has no time to be late against.
    #[must_use]
    pub fn is_scheduled(&self) -> bool {
        self.schedule.is_some()
    }

    /// How many measured requests or sessions were due before `end` (at most the window's) and have not begun; all that have
    /// not, where the load was given up.
    #[must_use]
    pub fn never_begun(&self, end: Nanos) -> u64 {
        let left = self.budget.map_or(u64::MAX, |budget| budget - self.begun);
        let Some(schedule) = &self.schedule else {
            // In a closed loop nothing is due before it begins, but for what the load was to make and was given up.
            return if self.is_given_up { left } else { 0 };
        };
        let until = if self.is_given_up { Nanos::NEVER } else { end.min(self.window.end) };
        let start = self.window.start.min(until);
        let untaken = schedule.untaken_between(start - self.epoch, until - self.epoch);
        untaken.min(left)
    }
}

#[cfg(test)]
mod tests {
    use super::Scheduler;
    use crate::worker_tests;
    use loadcurve_plan::{Arrivals, HttpLoad, Model, Nanos, Rate, Recording, Share, Stop};

    const EPOCH: Nanos = Nanos::from_millis(5_000);

    fn plan(model: Model, stop: Stop, warmup_s: f64) -> HttpLoad {
        HttpLoad { warmup_s, ..worker_tests::plan(model, stop) }
    }

    fn open(rate_rps: f64) -> Model {
        Model::Open { connections: 1, rate_rps: Rate::Constant(rate_rps), arrivals: Arrivals::Constant }
    }

    fn scheduler(plan: &HttpLoad) -> Scheduler {
        Scheduler::new(&plan.pace(), Share::whole(), EPOCH).unwrap()
    }

    /// Takes every request at its due time, on a clock that jumps from one to the next.
    fn take_all(scheduler: &mut Scheduler) -> Vec<Nanos> {
        let mut taken = Vec::new();
        let mut now = EPOCH;
        while let Some(due) = scheduler.next_due(now) {
            now = now.max(due);
            scheduler.take(due);
            taken.push(due - EPOCH);
        }
        taken
    }

    #[test]
    fn an_open_loop_of_ten_per_second_for_half_a_second_has_five_requests_a_tenth_apart() {
        let mut scheduler = scheduler(&plan(open(10.0), Stop::DurationS(0.5), 0.0));
        assert_eq!(take_all(&mut scheduler), [0, 100, 200, 300, 400].map(Nanos::from_millis));
    }

    #[test]
    fn the_warm_up_runs_on_the_same_schedule_and_does_not_count_for_the_number_of_requests() {
        let mut scheduler = scheduler(&plan(open(10.0), Stop::RequestsTotal(3), 0.2));
        assert_eq!(take_all(&mut scheduler), [0, 100, 200, 300, 400].map(Nanos::from_millis));
    }

    #[test]
    fn a_replay_takes_each_request_at_its_moment_and_then_no_more() {
        let moments: Vec<Nanos> = [0, 30, 30, 900].map(Nanos::from_millis).to_vec();
        let replay = Model::Recorded { connections: 1, speed: 3.0, recording: Recording::default() };
        let plan = plan(replay, Stop::Recording, 0.005).replaying(Recording::new(moments).unwrap());
        let mut scheduler = scheduler(&plan);
        assert_eq!(take_all(&mut scheduler), [0, 10, 10, 300].map(Nanos::from_millis));
        assert_eq!(scheduler.never_begun(Nanos::NEVER), 0);
    }

    #[test]
    fn a_worker_without_a_measured_request_takes_its_share_of_the_warm_up() {
        // Due every 100 ms: the first is of the warm-up and the first of four workers', the other three are measured.
        let plan = plan(open(10.0), Stop::RequestsTotal(3), 0.1);
        let taken = |index| take_all(&mut Scheduler::new(&plan.pace(), Share::new(index, 4), EPOCH).unwrap());
        assert_eq!(
            (0..4).map(taken).collect::<Vec<_>>(),
            [0, 100, 200, 300].map(|due| vec![Nanos::from_millis(due)])
        );
    }

    #[test]
    fn a_closed_loop_is_due_at_once_until_the_window_ends() {
        let scheduler = scheduler(&plan(Model::Closed { connections: 1 }, Stop::DurationS(1.0), 1.0));
        let just_before_the_end = EPOCH + Nanos(1_999_999_999);
        assert_eq!(scheduler.next_due(just_before_the_end), Some(just_before_the_end));
        assert_eq!(scheduler.next_due(EPOCH + Nanos::from_millis(2_000)), None);
    }

    #[test]
    fn requests_that_were_due_and_not_begun_are_counted_up_to_an_early_end() {
        let mut scheduler = scheduler(&plan(open(10.0), Stop::DurationS(2.0), 1.0));
        // Ten requests of the warm-up and two of the window were begun; fifteen of the window were due by 2.5 s.
        for _ in 0..12 {
            let due = scheduler.next_due(EPOCH + Nanos::from_millis(2_500)).unwrap();
            scheduler.take(due);
        }
        assert_eq!(scheduler.never_begun(EPOCH + Nanos::from_millis(2_500)), 13);
        assert_eq!(scheduler.never_begun(EPOCH + Nanos::from_millis(99_000)), 18);
    }
}
