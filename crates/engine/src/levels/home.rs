//! Where the threads of a load of several levels bring what they have recorded of each.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use loadcurve_pauses::Pause;

use crate::kernel::TcpCounters;
use crate::part::{Finished, Part};

/// What has been brought home of all levels.
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

/// What has been brought home of one level.
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
