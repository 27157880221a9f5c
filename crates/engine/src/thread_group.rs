//! The threads of one load, whatever it asks for: their common start, their common end, and what they record.

use std::fmt;
use std::sync::Arc;
use std::thread::JoinHandle;

use loadcurve_pauses::{Pause, Period, Side, Watch};
use loadcurve_plan::Nanos;
use loadcurve_record::{FailureCounts, Window};

use crate::activity::{Activity, CoarseLatencies, LatencyCounts};
use crate::clock;
use crate::error::StartError;
use crate::kernel::TcpCounters;
use crate::last_second::{LastSecond, Watcher};
use crate::part::{CpuUse, Finished, Part, Polling};
use crate::reach::Heard;
use crate::thread::{CpuTime, ask_for_exact_timers, bind_to_cpu};
use crate::thread_group::shared::Shared;

mod shared;

/// How far a load is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Since the load began, warm-up included; none while the connections are being opened.
    pub elapsed_s: Option<f64>,
    /// Requests answered so far, warm-up included.
    pub answered: u64,
    /// The same by latency.
    pub latencies: LatencyCounts,
    /// Requests failed so far, warm-up included.
    pub failures: FailureCounts,
    /// The last second that is over; none during the first one.
    pub last_second: Option<LastSecond>,
    /// How long the oldest request under way has been so; none where none is.
    pub oldest_s: Option<f64>,
}

/// When a load begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begins {
    /// When the last thread has opened its connections.
    WhenReady,
    /// On request, once all threads have opened theirs: see [`ThreadGroup::begin`].
    OnRequest,
}

/// Why a load cannot begin at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotBegun {
    /// Some threads have not opened their connections yet.
    NotReady,
    /// The moment passed this time ago.
    Passed(Nanos),
    /// It has begun, or its start is set already.
    Begun,
}

impl fmt::Display for NotBegun {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotReady => {
                formatter.write_str("the load's connections are still being opened; wait until they are")
            }
            Self::Passed(ago) => {
                write!(formatter, "the start time was {} ms ago; set one in the future", ago.as_millis_f64())
            }
            Self::Begun => formatter.write_str("the start of the load is already set; it can be set once"),
        }
    }
}

/// The threads of one load, each of which produces a `T`.
pub struct ThreadGroup<T = Part> {
    shared: Arc<Shared>,
    /// What they have heard of the server.
    heard: Arc<Heard>,
    /// The processor of each thread; empty leaves them unbound.
    cpus: Vec<usize>,
    threads: Vec<JoinHandle<T>>,
    /// What each thread shows of itself.
    activities: Vec<Arc<Activity>>,
    watcher: Watcher,
    counters_before: TcpCounters,
    /// Of pauses of these CPUs.
    watch: Option<Watch>,
}

impl<T: Send + 'static> ThreadGroup<T> {
    /// A group of `threads` threads whose load begins as `begins` says, bound to `cpus` in turn; each processor is tried
    /// before anything is started.
    ///
    /// # Errors
    /// When a processor does not exist or is not allowed.
    pub fn new(threads: usize, cpus: &[usize], begins: Begins) -> Result<Self, StartError> {
        let tried = cpus.to_vec();
        std::thread::spawn(move || tried.into_iter().try_for_each(bind_to_cpu))
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            .map_err(StartError::Plan)?;
        Ok(Self {
            shared: Arc::new(Shared::new(threads, begins)),
            heard: Arc::default(),
            cpus: cpus.to_vec(),
            threads: Vec::with_capacity(threads),
            activities: Vec::with_capacity(threads),
            watcher: Watcher::default(),
            counters_before: TcpCounters::read(),
            watch: Watch::start(Side::Generator, cpus, Period::Short),
        })
    }

    /// Starts the next thread with its work, of which it shows `activity`; a load begins no sooner than all of its
    /// threads are ready.
    ///
    /// # Errors
    /// When the machine has no thread left; those that did start are asked to stop, for they would wait for it.
    pub fn start(
        &mut self,
        activity: Arc<Activity>,
        work: impl FnOnce(Member) -> T + Send + 'static,
    ) -> Result<(), StartError> {
        let index = self.threads.len();
        let cpu = self.cpus.iter().copied().cycle().nth(index);
        let member = Member { shared: Arc::clone(&self.shared) };
        let life = move || {
            if let Some(cpu) = cpu {
                // The processors were tried before the start, so this can fail only if one was taken away since.
                let _ = bind_to_cpu(cpu);
            }
            ask_for_exact_timers();
            work(member)
        };
        let thread =
            std::thread::Builder::new().name(format!("load-{index}")).spawn(life).map_err(|error| {
                self.stop();
                StartError::Machine(format!("a thread could not be started: {error}"))
            })?;
        self.threads.push(thread);
        self.activities.push(activity);
        Ok(())
    }

    /// What the threads have heard of their server.
    #[must_use]
    pub fn heard(&self) -> Arc<Heard> {
        Arc::clone(&self.heard)
    }

    /// Whether all threads have opened their connections.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.shared.is_ready()
    }

    /// Sets the start of a load that [`Begins::OnRequest`]: a moment to come of the monotonic clock.
    ///
    /// # Errors
    /// It cannot begin then, and its start stays unset.
    pub fn begin(&self, at: Nanos) -> Result<(), NotBegun> {
        self.shared.begin(at)
    }

    /// How far the load is now.
    #[must_use]
    pub fn progress(&mut self) -> Progress {
        let elapsed = self.shared.elapsed();
        let latencies = CoarseLatencies::of(self.activities.iter().map(Arc::as_ref));
        let mut failures = FailureCounts::default();
        self.activities.iter().for_each(|activity| failures.merge(&activity.failures()));
        let oldest = self.activities.iter().filter_map(|activity| activity.oldest()).min();
        Progress {
            elapsed_s: elapsed.map(Nanos::as_secs_f64),
            answered: latencies.count(),
            latencies: latencies.counts(),
            failures,
            last_second: elapsed.and_then(|elapsed| self.watcher.look(elapsed, latencies)),
            oldest_s: oldest.map(|oldest| (clock::now() - oldest).as_secs_f64()),
        }
    }

    /// Ends the threads now; what was measured is kept.
    pub fn stop(&self) {
        self.shared.stop();
    }

    /// Whether all threads have ended.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.threads.iter().all(JoinHandle::is_finished)
    }

    /// Whether the threads were asked to end.
    pub(crate) fn is_stopped(&self) -> bool {
        self.shared.is_stopped()
    }

    /// The machine's TCP counters as they were before the load.
    pub(crate) fn counters_before(&self) -> TcpCounters {
        self.counters_before
    }

    /// The pauses of its CPUs since they were last taken; `None` where that is not known.
    pub(crate) fn take_pauses(&self) -> Option<Vec<Pause>> {
        self.watch.as_ref().and_then(Watch::take)
    }

    /// Waits for the end of all threads, and returns what they record.
    ///
    /// # Panics
    /// When one of them has panicked, with the same panic.
    pub(crate) fn join(&mut self) -> Vec<T> {
        let threads = self.threads.drain(..);
        threads.map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    }
}

impl ThreadGroup {
    /// Waits for the end of all threads.
    ///
    /// # Panics
    /// When one of them has panicked, with the same panic.
    #[must_use]
    pub fn finish(mut self) -> Finished {
        let parts = self.join();
        let kernel = TcpCounters::read().since(self.counters_before);
        let pauses = self.take_pauses();
        Finished { pauses, ..Finished::of(parts, kernel, self.is_stopped()) }
    }
}

/// One thread's way to the others of its group.
pub struct Member {
    shared: Arc<Shared>,
}

impl Member {
    /// Whether the thread is to end now.
    #[must_use]
    pub fn should_stop(&self) -> bool {
        self.shared.is_stopped()
    }

    /// Reports that this thread could begin; the last one to be ready sets the epoch for all that begin then.
    pub fn ready(&self) {
        self.shared.one_is_ready();
    }

    /// When the load begins, once that is known; it may be to come.
    #[must_use]
    pub fn begins_at(&self) -> Option<Nanos> {
        self.shared.begins_at()
    }

    /// When the load began; now, where it was stopped before that was known.
    #[must_use]
    pub fn epoch(&self) -> Nanos {
        self.shared.epoch()
    }
}

impl Drop for Member {
    /// Stops the other threads when this one panics: they would wait for it forever.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.shared.stop();
        }
    }
}

/// The processor time of the calling thread within a window.
pub struct CpuMeter {
    window: Window,
    at_start: Option<(CpuTime, Polling)>,
    at_end: Option<(CpuTime, Polling)>,
}

impl CpuMeter {
    /// Measures in this window.
    #[must_use]
    pub fn new(window: Window) -> Self {
        Self { window, at_start: None, at_end: None }
    }

    /// Looks whether the window has begun or ended; to be called often, with the time of the loop's turn, and how the
    /// thread has waited without sleeping.
    pub fn observe(&mut self, now: Nanos, polling: Polling) {
        if self.at_start.is_none() && now >= self.window.start {
            self.at_start = Some((CpuTime::read(), polling));
        }
        if self.at_end.is_none() && now >= self.window.end {
            self.at_end = Some((CpuTime::read(), polling));
        }
    }

    /// What the thread has used in the window, as far as that has gone.
    #[must_use]
    pub fn used(&self, polling: Polling) -> CpuUse {
        let Some((at_start, polling_before)) = self.at_start else { return CpuUse::default() };
        let (at_end, polling) = self.at_end.unwrap_or_else(|| (CpuTime::read(), polling));
        CpuUse { polling: polling.since(polling_before), ..at_end.since(at_start) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use loadcurve_plan::Nanos;
    use loadcurve_record::{Failure, FailureCounts, Recorder, Window};

    use super::{Begins, Member, NotBegun, ThreadGroup};
    use crate::activity::Activity;
    use crate::clock;
    use crate::part::{CpuUse, Part};

    /// A thread that is ready at once and ends when it has begun.
    fn begin_and_end(member: &Member) -> Part {
        member.ready();
        while !member.should_stop() && member.begins_at().is_none_or(|epoch| clock::now() < epoch) {
            std::thread::yield_now();
        }
        let now = clock::now();
        Part::of_thread(Recorder::new(1), Window::NOT_YET, now, now, CpuUse::default())
    }

    #[test]
    fn the_progress_of_a_load_is_that_of_all_its_threads() {
        let mut group = ThreadGroup::new(2, &[], Begins::WhenReady).unwrap();
        for failure in [Failure::Timeout, Failure::Reset] {
            let activity = Arc::new(Activity::default());
            activity.answered(Nanos::from_millis(1));
            activity.failed(failure);
            activity.under_way_since(clock::now() - Nanos::from_millis(50));
            group.start(activity, |member| begin_and_end(&member)).unwrap();
        }
        let progress = group.progress();
        let failures = FailureCounts::from([(Failure::Timeout, 1), (Failure::Reset, 1)]);
        assert_eq!((progress.answered, progress.failures), (2, failures));
        assert!(progress.oldest_s.is_some_and(|oldest_s| oldest_s >= 0.05));
        let _ = group.finish();
    }

    #[test]
    fn a_load_begins_when_it_is_asked_to_and_not_sooner() {
        let mut group = ThreadGroup::new(2, &[], Begins::OnRequest).unwrap();
        group.start(Arc::default(), |member| begin_and_end(&member)).unwrap();
        assert_eq!(group.begin(Nanos::NEVER), Err(NotBegun::NotReady));
        group.start(Arc::default(), |member| begin_and_end(&member)).unwrap();
        while !group.is_ready() {
            std::thread::yield_now();
        }
        let Err(NotBegun::Passed(ago)) = group.begin(Nanos(1)) else { panic!("the moment has passed") };
        assert!(ago < clock::now());
        let at = clock::now() + Nanos::from_millis(300);
        assert_eq!(group.begin(at), Ok(()));
        assert_eq!(group.begin(at + Nanos(1)), Err(NotBegun::Begun));
        let finished = group.finish();
        assert!(finished.part.began >= at);
        assert_eq!(finished.part.threads, 2);
    }
}
