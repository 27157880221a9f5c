//! The threads of one load, whatever it asks for: their common start, their common end, and what they bring home.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

use loadcurve_plan::Nanos;
use loadcurve_record::{Recorder, Window};

use crate::clock;
use crate::error::StartError;
use crate::kernel::TcpCounters;
use crate::thread::{CpuTime, ask_for_exact_timers, bind_to_cpu};

/// Where a load stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Since the load began, warm-up included; none while the connections are being opened.
    pub elapsed_s: Option<f64>,
    /// Requests answered so far, warm-up included.
    pub answered: u64,
    /// Requests failed so far, warm-up included.
    pub failed: u64,
}

/// What a thread shows of itself while it runs, warm-up included.
#[derive(Clone, Copy, Debug, Default)]
pub struct Activity {
    /// Requests answered so far.
    pub answered: u64,
    /// Requests failed so far.
    pub failed: u64,
    /// How long it has looked for work where it could have slept.
    pub spun: Nanos,
}

/// Processor time between the start of the window and the end.
#[derive(Clone, Copy, Debug, Default)]
pub struct CpuUse {
    pub(crate) user: Nanos,
    pub(crate) system: Nanos,
    /// The part of both that went into looking for work punctually.
    pub(crate) spun: Nanos,
}

/// What one thread brings home.
pub struct Part {
    /// What it recorded.
    pub recorder: Recorder,
    /// The measured window.
    pub window: Window,
    /// When the thread stopped: after the window, or before its end when interrupted.
    pub ended: Nanos,
    /// What it cost.
    pub cpu: CpuUse,
}

/// What the threads share. Each writes its own counters and reads the rest.
struct Shared {
    stop: AtomicBool,
    /// Threads whose connections are open.
    ready: AtomicUsize,
    epoch: OnceLock<Nanos>,
    activities: Vec<SharedActivity>,
}

/// One thread's counters, on a cache line of their own so that threads do not slow each other.
#[derive(Default)]
#[repr(align(64))]
struct SharedActivity {
    answered: AtomicU64,
    failed: AtomicU64,
}

/// The threads of one load.
pub struct Team {
    shared: Arc<Shared>,
    /// The processor of each thread; empty leaves them unbound.
    cpus: Vec<usize>,
    threads: Vec<JoinHandle<Part>>,
    counters_before: TcpCounters,
}

/// What a load's threads have brought home when all have ended.
pub struct Finished {
    /// One of each thread.
    pub parts: Vec<Part>,
    /// How much the machine's TCP counters have grown.
    pub kernel: TcpCounters,
    /// Whether the load was told to stop before its end.
    pub interrupted: bool,
}

impl Team {
    /// A team of so many threads, bound to `cpus` in turn, each of which is tried before anything is started.
    ///
    /// # Errors
    /// When a processor does not exist or is not allowed.
    pub fn new(threads: usize, cpus: &[usize]) -> Result<Self, StartError> {
        let tried = cpus.to_vec();
        std::thread::spawn(move || tried.into_iter().try_for_each(bind_to_cpu))
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            .map_err(StartError::Plan)?;
        let shared = Shared {
            stop: AtomicBool::new(false),
            ready: AtomicUsize::new(0),
            epoch: OnceLock::new(),
            activities: (0..threads).map(|_| SharedActivity::default()).collect(),
        };
        Ok(Self {
            shared: Arc::new(shared),
            cpus: cpus.to_vec(),
            threads: Vec::with_capacity(threads),
            counters_before: TcpCounters::read(),
        })
    }

    /// Starts the next thread with its work; a load begins when all of its threads are ready.
    ///
    /// # Errors
    /// When the machine has no thread left; those that did start are told to stop, for they would wait for it.
    pub fn start(&mut self, work: impl FnOnce(Member) -> Part + Send + 'static) -> Result<(), StartError> {
        let index = self.threads.len();
        let cpu = self.cpus.iter().copied().cycle().nth(index);
        let member = Member { shared: Arc::clone(&self.shared), index };
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
        Ok(())
    }

    /// Where the load stands now.
    #[must_use]
    pub fn progress(&self) -> Progress {
        let sum = |counter: fn(&SharedActivity) -> &AtomicU64| {
            self.shared.activities.iter().map(|activity| counter(activity).load(Ordering::Relaxed)).sum()
        };
        Progress {
            elapsed_s: self.shared.epoch.get().map(|epoch| (clock::now() - *epoch).as_secs_f64()),
            answered: sum(|activity| &activity.answered),
            failed: sum(|activity| &activity.failed),
        }
    }

    /// Tells the threads to end now; what was measured is kept.
    pub fn stop(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }

    /// Whether all threads have ended.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.threads.iter().all(JoinHandle::is_finished)
    }

    /// Waits for the end of all threads.
    ///
    /// # Panics
    /// When one of them has panicked, with the same panic.
    #[must_use]
    pub fn finish(self) -> Finished {
        let parts = self
            .threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect();
        Finished {
            parts,
            kernel: TcpCounters::read().since(self.counters_before),
            interrupted: self.shared.stop.load(Ordering::Relaxed),
        }
    }
}

/// One thread's way to the others of its team.
pub struct Member {
    shared: Arc<Shared>,
    index: usize,
}

impl Member {
    /// Whether the thread is to end now.
    #[must_use]
    pub fn should_stop(&self) -> bool {
        self.shared.stop.load(Ordering::Relaxed)
    }

    /// Says that this thread could begin; the last one to be ready sets the epoch for all.
    pub fn ready(&self) {
        if self.shared.ready.fetch_add(1, Ordering::AcqRel) + 1 == self.shared.activities.len() {
            let _ = self.shared.epoch.set(clock::now());
        }
    }

    /// Whether all threads are ready, so that the load has begun.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.shared.epoch.get().is_some()
    }

    /// When the load began; now, where it was stopped before all threads were ready.
    #[must_use]
    pub fn epoch(&self) -> Nanos {
        *self.shared.epoch.get_or_init(clock::now)
    }

    /// Shows what the thread has done.
    pub fn publish(&self, activity: Activity) {
        let shown = &self.shared.activities[self.index];
        shown.answered.store(activity.answered, Ordering::Relaxed);
        shown.failed.store(activity.failed, Ordering::Relaxed);
    }
}

impl Drop for Member {
    /// Tells the other threads to stop when this one panics: they would wait for it forever.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.shared.stop.store(true, Ordering::Relaxed);
        }
    }
}

/// The processor time of the calling thread within a window.
pub struct CpuMeter {
    window: Window,
    at_start: Option<(CpuTime, Nanos)>,
    at_end: Option<(CpuTime, Nanos)>,
}

impl CpuMeter {
    /// Measures in this window.
    #[must_use]
    pub fn new(window: Window) -> Self {
        Self { window, at_start: None, at_end: None }
    }

    /// Looks whether the window has begun or ended; to be called often, with the time of the loop's turn.
    pub fn observe(&mut self, now: Nanos, activity: Activity) {
        if self.at_start.is_none() && now >= self.window.start {
            self.at_start = Some((CpuTime::read(), activity.spun));
        }
        if self.at_end.is_none() && now >= self.window.end {
            self.at_end = Some((CpuTime::read(), activity.spun));
        }
    }

    /// What the thread has used in the window, as far as that has gone.
    #[must_use]
    pub fn used(&self, activity: Activity) -> CpuUse {
        let Some((at_start, spun_at_start)) = self.at_start else { return CpuUse::default() };
        let (at_end, spun_at_end) = self.at_end.unwrap_or_else(|| (CpuTime::read(), activity.spun));
        let (user, system) = at_end.since(at_start);
        CpuUse { user, system, spun: spun_at_end - spun_at_start }
    }
}
