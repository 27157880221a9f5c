//! From wake times to pauses: arithmetic on time as an argument.

use loadcurve_plan::Nanos;
use serde::{Deserialize, Serialize};

/// A wake that is later shows a pause.
const LATE: Nanos = Nanos::from_millis(2);
/// More pauses are not kept: then the shorter half is dropped.
const MOST_PAUSES: usize = 1 << 16;

/// From one moment at which the thread should wake to the next. A wake costs 5 to 15 µs, on slow machines up to 30 µs.
///
/// A pause begins at most a period before the wake is due that shows it, so one of a period and 2 ms is always found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// 3 ms: 0.2 to 0.5 % of a CPU, and a pause of 5 ms is always found.
    Short,
    /// 9 ms: a third of that, and a pause of 11 ms is always found.
    Long,
}

impl Period {
    pub(crate) const fn length(self) -> Nanos {
        match self {
            Self::Short => Nanos::from_millis(3),
            Self::Long => Nanos::from_millis(9),
        }
    }
}

/// A stretch in which a CPU did not run: it began after `earliest` and not after `latest`, and ended at `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    /// The thread still ran then.
    pub earliest: Nanos,
    /// The thread should have run then.
    pub latest: Nanos,
    /// The thread ran again, or could have.
    pub end: Nanos,
}

impl Pause {
    /// How long it lasted at least.
    fn shortest(self) -> Nanos {
        self.end - self.latest
    }

    /// The same pause where a time line's start is not at `from`, but at `to`.
    #[must_use]
    pub fn moved(self, from: Nanos, to: Nanos) -> Self {
        Self {
            earliest: self.earliest.moved(from, to),
            latest: self.latest.moved(from, to),
            end: self.end.moved(from, to),
        }
    }
}

/// The moments at which a thread should wake: all those of the clock that are `offset` after a multiple of the period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// From one moment to the next.
    pub period: Period,
    /// From the multiple of the period to the moment.
    pub offset: Nanos,
}

impl Grid {
    /// The first moment of the grid after `woke`.
    #[must_use]
    pub fn next_after(self, woke: Nanos) -> Nanos {
        let (offset, period) = (self.offset.0, self.period.length().0);
        let since = woke.0.saturating_sub(offset);
        Nanos(offset + (since / period + 1) * period)
    }
}

/// Finds pauses by wakes that come later than they should.
///
/// All meters of a machine with the same grid share its moments. So two meters of one period whose offsets are half of it
/// apart, and that both see a pause, together know its start to half a period.
#[derive(Debug)]
pub struct Meter {
    grid: Grid,
    woke: Nanos,
    pauses: Vec<Pause>,
}

impl Meter {
    /// A meter that begins now.
    #[must_use]
    pub fn new(grid: Grid, now: Nanos) -> Self {
        // On most machines this is room for all of them, so that nothing is allocated during a load.
        Self { grid, woke: now, pauses: Vec::with_capacity(256) }
    }

    /// When the thread should wake next.
    #[must_use]
    pub fn due(&self) -> Nanos {
        self.grid.next_after(self.woke)
    }

    /// The thread runs at `now`; before that it `waited` for other threads, which is no doing of the platform's.
    pub fn wakes(&mut self, now: Nanos, waited: Nanos) {
        let (earliest, latest) = (self.woke, self.due());
        if now < latest {
            // A signal woke it.
            return;
        }
        self.woke = now;
        let end = now - waited.min(now - latest);
        if end - latest >= LATE {
            self.pauses.push(Pause { earliest, latest, end });
            if self.pauses.len() >= MOST_PAUSES {
                self.keep_longer_half();
            }
        }
    }

    /// The pauses that were found since they were last taken, in order.
    pub fn take(&mut self) -> Vec<Pause> {
        std::mem::take(&mut self.pauses)
    }

    fn keep_longer_half(&mut self) {
        let mut lengths: Vec<Nanos> = self.pauses.iter().map(|pause| pause.shortest()).collect();
        let (_, median, _) = lengths.select_nth_unstable(MOST_PAUSES / 2);
        let median = *median;
        self.pauses.retain(|pause| pause.shortest() > median);
    }
}

#[cfg(test)]
mod tests {
    use loadcurve_plan::Nanos;
    use proptest::prelude::*;

    use super::{Grid, MOST_PAUSES, Meter, Pause, Period};

    const MS: u64 = 1_000_000;
    /// How late timers are on a machine that runs.
    const ORDINARY_LATENESS: u64 = 150_000;

    const SHORT: Grid = Grid { period: Period::Short, offset: Nanos::ZERO };
    const LONG: Grid = Grid { period: Period::Long, offset: Nanos::ZERO };

    /// Runs a meter on a simulated clock, on which nothing runs during these pauses (start and length in ns).
    fn found(pauses: &[(u64, u64)], grid: Grid, until: u64, lateness: impl Fn(u64) -> u64) -> Vec<Pause> {
        let mut meter = Meter::new(grid, Nanos(7 * MS));
        loop {
            let mut now = meter.due().0 + lateness(meter.due().0);
            for (start, length) in pauses {
                if (*start..start + length).contains(&now) {
                    now = start + length + lateness(now);
                }
            }
            meter.wakes(Nanos(now), Nanos::ZERO);
            if now >= until {
                return meter.take();
            }
        }
    }

    #[test]
    fn a_quiet_machine_has_no_pauses() {
        assert_eq!(found(&[], SHORT, 60_000 * MS, |due| due / 7 % ORDINARY_LATENESS), []);
    }

    #[test]
    fn waiting_for_other_threads_is_no_pause() {
        let mut meter = Meter::new(SHORT, Nanos(0));
        meter.wakes(Nanos(43 * MS), Nanos(40 * MS));
        assert_eq!(meter.take(), []);
        // Of 40 ms, 30 were spent waiting behind others: the CPU ran again 10 ms after the wake was due.
        let due = meter.due();
        meter.wakes(due + Nanos(40 * MS), Nanos(30 * MS));
        assert_eq!(
            meter.take(),
            [Pause { earliest: Nanos(43 * MS), latest: due, end: due + Nanos(10 * MS) }]
        );
    }

    #[test]
    fn a_wake_by_a_signal_is_none_that_was_due() {
        let mut meter = Meter::new(SHORT, Nanos(0));
        meter.wakes(Nanos(MS), Nanos::ZERO);
        assert_eq!((meter.due(), meter.take()), (Nanos(3 * MS), vec![]));
    }

    #[test]
    fn of_too_many_pauses_the_longer_half_is_kept() {
        let mut meter = Meter::new(SHORT, Nanos(0));
        for number in 0..MOST_PAUSES as u64 {
            meter.wakes(meter.due() + Nanos(5 * MS + number), Nanos::ZERO);
        }
        let kept = meter.take();
        assert_eq!(kept.len(), MOST_PAUSES / 2 - 1);
        assert!(kept.iter().all(|pause| pause.shortest().0 > 5 * MS + MOST_PAUSES as u64 / 2));
    }

    proptest! {
        #[test]
        fn every_pause_of_five_or_eleven_milliseconds_is_found_with_its_begin_to_a_period_and_its_end(
            start in 20 * MS..60 * MS, longer in 0..2_000 * MS, lateness in 0..ORDINARY_LATENESS
        ) {
            for (grid, period, shortest) in [(SHORT, 3 * MS, 5 * MS), (LONG, 9 * MS, 11 * MS)] {
                let length = shortest + longer;
                let found = found(&[(start, length)], grid, start + length + 100 * MS, |_| lateness);
                let [pause] = found[..] else { panic!("{grid:?}: {found:?}") };
                prop_assert!(pause.earliest.0 <= start && start <= pause.latest.0 + lateness);
                prop_assert!(pause.latest.0 - pause.earliest.0 <= period);
                prop_assert_eq!(pause.end.0, start + length + lateness);
            }
        }

        #[test]
        fn two_meters_half_a_period_apart_know_time_and_length_within_a_millisecond(
            start in 20 * MS..60 * MS, length in 5 * MS..2_000 * MS, lateness in 0..ORDINARY_LATENESS
        ) {
            let [one, other] = [0, 1_500_000].map(|offset| {
                let grid = Grid { offset: Nanos(offset), ..SHORT };
                let found = found(&[(start, length)], grid, start + length + 100 * MS, |_| lateness);
                *found.first().expect("it is long enough")
            });
            let (earliest, latest) = (one.earliest.max(other.earliest), one.latest.min(other.latest));
            let begin = u64::midpoint(earliest.0, latest.0);
            prop_assert!(begin.abs_diff(start) < MS);
            prop_assert!((one.end.0 - begin).abs_diff(length) < MS);
        }
    }
}
