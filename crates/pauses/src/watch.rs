//! The thread that watches for pauses of the CPUs it runs on.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;

use loadcurve_plan::Nanos;

use crate::clock;
use crate::meter::{Grid, Meter, Pause, Period};
use crate::scheduling::{Waiting, bind_to};

/// Whose CPUs are watched; the two sides wake half a period apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Those of the generator.
    Generator,
    /// Those of the server.
    Server,
}

impl Side {
    fn grid(self, period: Period) -> Grid {
        let offset = match self {
            Self::Generator => Nanos::ZERO,
            Self::Server => Nanos(period.length().0 / 2),
        };
        Grid { period, offset }
    }
}

/// The pauses of some CPUs from its start until it is dropped.
///
/// All watches of a process on the same CPUs with the same period share one thread, so that several loads do not disturb each other with
/// several threads that show the same.
#[derive(Debug)]
pub struct Watch {
    meter: MeterId,
    watcher: Arc<Watcher>,
}

type MeterId = u64;

/// A thread that wakes for the meters of all watches on its CPUs.
#[derive(Debug)]
struct Watcher {
    grid: Grid,
    cpus: Vec<usize>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    meters: Mutex<Vec<(MeterId, Meter)>>,
    /// The thread can tell pauses from waiting for other threads.
    knows: AtomicBool,
    stop: AtomicBool,
}

/// Those of this process that run, and some that have ended.
static WATCHERS: Mutex<Vec<Weak<Watcher>>> = Mutex::new(Vec::new());
static NEXT_METER: AtomicU64 = AtomicU64::new(0);

impl Watch {
    /// Begins to watch these CPUs; those that the thread may run on where there is none. None where there is no thread
    /// left.
    #[must_use]
    pub fn start(side: Side, cpus: &[usize], period: Period) -> Option<Self> {
        let (meter, grid) = (NEXT_METER.fetch_add(1, Ordering::Relaxed), side.grid(period));
        let watcher = Watcher::on(grid, cpus)?;
        watcher.shared.meters().push((meter, Meter::new(grid, clock::now())));
        Some(Self { meter, watcher })
    }

    /// The pauses since they were last taken; `None` if this kernel does not let them be distinguished from
    /// other threads' work.
    #[must_use]
    pub fn take(&self) -> Option<Vec<Pause>> {
        if !self.watcher.shared.knows.load(Ordering::Relaxed) {
            return None;
        }
        let mut meters = self.watcher.shared.meters();
        meters.iter_mut().find(|(meter, _)| *meter == self.meter).map(|(_, meter)| meter.take())
    }
}

impl Drop for Watch {
    /// Ends the thread with its last watch, which takes a period at most.
    fn drop(&mut self) {
        self.watcher.shared.meters().retain(|(meter, _)| *meter != self.meter);
    }
}

impl Watcher {
    /// The one that watches these CPUs, started where there is none.
    fn on(grid: Grid, cpus: &[usize]) -> Option<Arc<Self>> {
        let mut watchers = WATCHERS.lock().unwrap_or_else(PoisonError::into_inner);
        watchers.retain(|watcher| watcher.strong_count() > 0);
        let running =
            watchers.iter().filter_map(Weak::upgrade).find(|one| one.grid == grid && one.cpus == cpus);
        if running.is_some() {
            return running;
        }
        let started = Arc::new(Self::start(grid, cpus)?);
        watchers.push(Arc::downgrade(&started));
        Some(started)
    }

    fn start(grid: Grid, cpus: &[usize]) -> Option<Self> {
        let shared = Arc::new(Shared {
            meters: Mutex::default(),
            knows: AtomicBool::new(true),
            stop: AtomicBool::new(false),
        });
        let (cpus_of_thread, of_thread) = (cpus.to_vec(), Arc::clone(&shared));
        let builder = std::thread::Builder::new().name("pauses".into()).stack_size(64 * 1024);
        let thread = builder
            .spawn(move || {
                bind_to(&cpus_of_thread);
                of_thread.watch(grid);
            })
            .ok()?;
        Some(Self { grid, cpus: cpus.to_vec(), shared, thread: Some(thread) })
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn meters(&self) -> MutexGuard<'_, Vec<(MeterId, Meter)>> {
        self.meters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watch(&self, grid: Grid) {
        let Some(mut waiting) = Waiting::of_this_thread() else {
            self.knows.store(false, Ordering::Relaxed);
            return;
        };
        let mut woke = clock::now();
        while !self.stop.load(Ordering::Relaxed) {
            clock::sleep_until(grid.next_after(woke));
            woke = clock::now();
            let waited = waiting.since_last();
            self.meters().iter_mut().for_each(|(_, meter)| meter.wakes(woke, waited));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use loadcurve_plan::Nanos;

    use super::{Side, Watch};
    use crate::meter::Period::{Long, Short};

    #[test]
    fn a_watch_ends_when_it_is_dropped() {
        let watch = Watch::start(Side::Server, &[], Short).unwrap();
        assert!(watch.take().is_some());
        drop(watch);
    }

    #[test]
    fn watches_of_the_same_cpus_and_period_share_a_thread_and_each_takes_the_pauses_for_itself() {
        let [one, other] = [(); 2].map(|()| Watch::start(Side::Generator, &[0], Short).unwrap());
        assert!(Arc::ptr_eq(&one.watcher, &other.watcher));
        for (side, period) in [(Side::Server, Short), (Side::Generator, Long)] {
            let elsewhere = Watch::start(side, &[0], period).unwrap();
            assert!(!Arc::ptr_eq(&one.watcher, &elsewhere.watcher), "{side:?} {period:?}");
        }
        let pause = || {
            let mut meters = one.watcher.shared.meters();
            let due = meters.iter().map(|(_, meter)| meter.due()).max().unwrap();
            meters.iter_mut().for_each(|(_, meter)| meter.wakes(due + Nanos(10_000_000_000), Nanos::ZERO));
        };
        pause();
        let long = |watch: &Watch| {
            watch.take().unwrap().iter().filter(|p| p.end - p.latest > Nanos(5_000_000_000)).count()
        };
        assert_eq!([long(&one), long(&one), long(&other)], [1, 0, 1]);
        drop(one);
        assert!(other.take().is_some());
    }
}
