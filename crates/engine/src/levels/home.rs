//! Where the threads of a load of several levels bring what they have recorded of each.

use std::sync::PoisonError;
#[cfg(not(loom))]
use std::sync::atomic::{AtomicUsize, Ordering};
#[cfg(not(loom))]
use std::sync::{Mutex, MutexGuard};

#[cfg(loom)]
use loom::sync::atomic::{AtomicUsize, Ordering};
#[cfg(loom)]
use loom::sync::{Mutex, MutexGuard};

use loadcurve_pauses::Pause;

use crate::kernel::TcpCounters;
use crate::part::{Finished, Part};

/// What has been recorded of all levels.
pub(crate) struct Home {
    /// How many levels have begun for some thread.
    begun: AtomicUsize,
    state: Mutex<State>,
}

struct State {
    levels: Vec<Level>,
    /// How many of them have been taken.
    taken: usize,
    /// All pauses that have been noticed so far, where they can be.
    pauses: Option<Vec<Pause>>,
}

/// What has been recorded of one level.
struct Level {
    /// How many threads take part in it.
    threads: usize,
    parts: Vec<Part>,
    is_stopped: bool,
    /// The machine's TCP counters when it began; none before.
    counters: Option<TcpCounters>,
}

impl Home {
    /// Of levels with this number of threads each; `counters` are those before the first one.
    pub(crate) fn new(threads: impl Iterator<Item = usize>, counters: TcpCounters) -> Self {
        let mut levels: Vec<Level> = threads
            .map(|threads| Level { threads, parts: Vec::new(), is_stopped: false, counters: None })
            .collect();
        levels[0].counters = Some(counters);
        let state = State { levels, taken: 0, pauses: Some(Vec::new()) };
        Self { begun: AtomicUsize::new(1), state: Mutex::new(state) }
    }

    /// A thread has gone over to this level: the first one to do so reads the machine's counters.
    pub(crate) fn level_has_begun(&self, level: usize) {
        if self.begun.load(Ordering::Relaxed) > level {
            return;
        }
        if self.begun.fetch_max(level + 1, Ordering::Relaxed) <= level {
            let counters = TcpCounters::read();
            self.state().levels[level].counters = Some(counters);
        }
    }

    /// A thread brings what it has recorded of a level, which was stopped before its end or not.
    pub(crate) fn bring(&self, level: usize, part: Part, is_stopped: bool) {
        let level = &mut self.state().levels[level];
        assert!(level.parts.len() < level.threads, "a thread has brought its part of a level twice");
        level.parts.push(part);
        level.is_stopped |= is_stopped;
    }

    /// Keeps the pauses that were noticed meanwhile.
    pub(crate) fn note_pauses(&self, pauses: Option<Vec<Pause>>) {
        let state = &mut *self.state();
        state.pauses = state.pauses.take().zip(pauses).map(|(known, new)| [known, new].concat());
    }

    /// Takes the next level, once all of its threads have brought their parts.
    pub(crate) fn take(&self) -> Option<(usize, Finished)> {
        let state = &mut *self.state();
        let number = state.taken;
        let level = state.levels.get(number)?;
        if level.parts.len() < level.threads {
            return None;
        }
        let before = level.counters?;
        let after = state.levels.get(number + 1).and_then(|next| next.counters);
        let kernel = after.unwrap_or_else(TcpCounters::read).since(before);
        let level = &mut state.levels[number];
        let finished = Finished::of(std::mem::take(&mut level.parts), kernel, level.is_stopped);
        state.taken += 1;
        Some((number, Finished { pauses: state.pauses.clone(), ..finished }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What holds in every order in which threads may get on.
#[cfg(all(test, loom))]
mod models {
    use std::sync::Arc;

    use loadcurve_plan::Nanos;
    use loadcurve_record::{Recorder, Window};
    use loom::thread;

    use super::Home;
    use crate::kernel::TcpCounters;
    use crate::part::{CpuUse, Part};

    const LEVELS: usize = 2;
    const THREADS: usize = 2;

    /// A thread's way through the levels.
    fn go_through(home: &Home) {
        for level in 0..LEVELS {
            home.level_has_begun(level);
            let recorded = Recorder::new(1);
            let part =
                Part::of_thread(recorded, Window::NOT_YET, Nanos::ZERO, Nanos::ZERO, CpuUse::default());
            home.bring(level, part, false);
        }
    }

    #[test]
    fn each_level_is_taken_once_in_order_and_with_what_all_threads_bring() {
        // All orders are too many: those in which a thread is stopped twice have each pair of neighbouring steps.
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(2);
        model.check(|| {
            let home = Arc::new(Home::new([THREADS; LEVELS].into_iter(), TcpCounters::default()));
            let threads = [(); THREADS].map(|()| {
                let home = Arc::clone(&home);
                thread::spawn(move || go_through(&home))
            });
            let mut taken: Vec<_> = home.take().into_iter().collect();
            for thread in threads {
                thread.join().unwrap();
            }
            taken.extend(std::iter::from_fn(|| home.take()));
            let taken: Vec<_> =
                taken.iter().map(|(level, finished)| (*level, finished.part.threads)).collect();
            assert_eq!(taken, [(0, THREADS), (1, THREADS)]);
        });
    }
}
