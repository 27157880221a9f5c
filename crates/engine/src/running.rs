//! A load from its start to its result, whatever it asks for.

use loadcurve_plan::Nanos;

use crate::part::Finished;
use crate::thread_group::{NotBegun, Progress, ThreadGroup};

/// A load that is running, on its own threads, and comes to a result of this type.
pub struct RunningLoad<R> {
    group: ThreadGroup,
    conclude: Box<dyn FnOnce(Finished) -> R + Send + Sync>,
}

impl<R: 'static> RunningLoad<R> {
    /// The load of a group whose threads have been started; `conclude` makes the result of what they record.
    pub fn new(group: ThreadGroup, conclude: impl FnOnce(Finished) -> R + Send + Sync + 'static) -> Self {
        Self { group, conclude: Box::new(conclude) }
    }

    /// The same load, which comes to what `change` makes of its result.
    #[must_use]
    pub fn map<T>(self, change: impl FnOnce(R) -> T + Send + Sync + 'static) -> RunningLoad<T> {
        let conclude = self.conclude;
        RunningLoad { group: self.group, conclude: Box::new(|finished| change(conclude(finished))) }
    }

    /// How far the load is now.
    #[must_use]
    pub fn progress(&mut self) -> Progress {
        self.group.progress()
    }

    /// Whether all connections have been opened, as far as that was possible.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.group.is_ready()
    }

    /// Sets the start of a load that waits for it: a moment to come of the monotonic clock.
    ///
    /// # Errors
    /// It cannot begin then, and its start stays unset.
    pub fn begin(&self, at: Nanos) -> Result<(), NotBegun> {
        self.group.begin(at)
    }

    /// Ends the load now; what was measured is kept.
    pub fn stop(&self) {
        self.group.stop();
    }

    /// Whether the load has ended.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.group.is_finished()
    }

    /// Waits for the end and returns what was measured.
    ///
    /// # Panics
    /// When a thread of the load has panicked, with the same panic.
    #[must_use]
    pub fn finish(self) -> R {
        (self.conclude)(self.group.finish())
    }
}
