//! One load from start to result: the threads, their common start, their common end.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

use loadcurve_plan::{HttpVersion, InvalidPlan, IoChoice, LoadPlan, Nanos, Share};
use loadcurve_record::{Recorder, Window};
use loadcurve_wire::{Method, Request, Version};

use crate::capacity::Capacity;
use crate::clock;
use crate::connection::EncodedRequest;
use crate::io::Io;
use crate::io::epoll::Epoll;
use crate::io::uring::Uring;
use crate::kernel::TcpCounters;
use crate::pacing::Pacing;
use crate::result::LoadResult;
use crate::thread::{CpuTime, ask_for_exact_timers, bind_to_cpu, online_cpus};
use crate::worker::{Activity, Orders, Worker};

/// Why a load cannot be started: a sentence for the person who asked for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartError {
    /// The plan asks for something that does not exist or cannot be.
    Plan(String),
    /// This machine, as it is set up, cannot run the plan.
    Machine(String),
}

impl fmt::Display for StartError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Plan(text) | Self::Machine(text)) = self;
        formatter.write_str(text)
    }
}

impl From<InvalidPlan> for StartError {
    fn from(invalid: InvalidPlan) -> Self {
        Self::Plan(invalid.0)
    }
}

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

/// What the threads share. Each worker writes its own counters and reads the rest.
struct Shared {
    stop: AtomicBool,
    /// Threads whose connections are open.
    ready: AtomicUsize,
    epoch: OnceLock<Nanos>,
    activities: Vec<SharedActivity>,
}

/// One worker's counters, on a cache line of their own so that workers do not slow each other.
#[derive(Default)]
#[repr(align(64))]
struct SharedActivity {
    answered: AtomicU64,
    failed: AtomicU64,
}

/// What one thread brings home.
pub(crate) struct Part {
    pub(crate) recorder: Recorder,
    pub(crate) window: Window,
    /// When the thread stopped: after the window, or before its end when interrupted.
    pub(crate) ended: Nanos,
    pub(crate) cpu: CpuUse,
}

/// Processor time between the start of the window and the end.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CpuUse {
    pub(crate) user: Nanos,
    pub(crate) system: Nanos,
    /// The part of both that went into looking for work punctually.
    pub(crate) spun: Nanos,
}

/// A load that is running, on threads of its own.
pub struct Load {
    plan: LoadPlan,
    /// What results call the backend.
    io: &'static str,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<Part>>,
    capacity: Capacity,
    counters_before: TcpCounters,
}

impl Load {
    /// Starts a load; its limits are checked before the first connection.
    ///
    /// # Errors
    /// When the plan is not sound, or asks for more than this machine allows.
    pub fn start(plan: LoadPlan) -> Result<Self, StartError> {
        plan.validate()?;
        let requests = encode(&plan)?;
        let capacity = Capacity::secure(&plan).map_err(StartError::Machine)?;
        let shared = Arc::new(Shared {
            stop: AtomicBool::new(false),
            ready: AtomicUsize::new(0),
            epoch: OnceLock::new(),
            activities: (0..plan.threads).map(|_| SharedActivity::default()).collect(),
        });
        let cpus = checked_cpus(&plan)?;
        // Looking for work takes a whole processor, which only a machine with more of them than threads can spare.
        let spins = online_cpus().is_some_and(|cpus| cpus > plan.threads);
        let counters_before = TcpCounters::read();
        let team = Team { plan: &plan, requests: &requests, shared: &shared, cpus: &cpus, spins };
        let (io, threads) = match plan.io {
            IoChoice::Epoll => (Epoll::NAME, team.start(epolls(&plan)?)?),
            IoChoice::Uring => (Uring::NAME, team.start(urings(&plan)?)?),
            IoChoice::Auto => match urings(&plan) {
                Ok(backends) => (Uring::NAME, team.start(backends)?),
                Err(_) => (Epoll::NAME, team.start(epolls(&plan)?)?),
            },
        };
        Ok(Self { plan, io, shared, threads, capacity, counters_before })
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

    /// Tells the load to end now; what was measured is kept.
    pub fn stop(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }

    /// Whether the load has ended.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.threads.iter().all(JoinHandle::is_finished)
    }

    /// Waits for the end and returns what was measured.
    ///
    /// # Panics
    /// When a thread of the load has panicked, with the same panic.
    #[must_use]
    pub fn finish(self) -> LoadResult {
        let parts: Vec<Part> = self
            .threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect();
        let kernel = TcpCounters::read().since(self.counters_before);
        let interrupted = self.shared.stop.load(Ordering::Relaxed);
        let capacity = self.capacity.at_the_end();
        LoadResult::new(&self.plan, parts, self.io, kernel, Some(&capacity), interrupted)
    }
}

/// What every thread of a load is started with.
struct Team<'a> {
    plan: &'a LoadPlan,
    requests: &'a Arc<[EncodedRequest]>,
    shared: &'a Arc<Shared>,
    cpus: &'a [usize],
    spins: bool,
}

impl Team<'_> {
    /// Starts one thread for each backend.
    fn start<I: Io + Send + 'static>(&self, backends: Vec<I>) -> Result<Vec<JoinHandle<Part>>, StartError> {
        let threads = backends.into_iter().enumerate().map(|(index, io)| {
            let (plan, shared, cpu) =
                (self.plan.clone(), Arc::clone(self.shared), self.cpus.get(index).copied());
            let share = Share::new(index, plan.threads);
            let orders = Orders::new(&plan, share, Arc::clone(self.requests), self.spins);
            let worker = Worker::new(io, numbers(&plan, index), orders);
            std::thread::Builder::new()
                .name(format!("load-{index}"))
                .spawn(move || work(worker, &plan, share, index, cpu, &shared))
                .map_err(|error| StartError::Machine(format!("a thread could not be started: {error}")))
        });
        // The threads that did start would wait for the one that did not.
        threads.collect::<Result<_, _>>().inspect_err(|_| self.shared.stop.store(true, Ordering::Relaxed))
    }
}

/// The numbers of the connections of one thread.
pub(crate) fn numbers(plan: &LoadPlan, index: usize) -> impl ExactSizeIterator<Item = usize> + use<> {
    (index..plan.model.connections()).step_by(plan.threads)
}

/// One backend for each thread.
fn epolls(plan: &LoadPlan) -> Result<Vec<Epoll>, StartError> {
    let make = |index| Epoll::new(plan.address, numbers(plan, index).len());
    (0..plan.threads)
        .map(make)
        .collect::<Result<_, _>>()
        .map_err(|errno| StartError::Machine(format!("epoll is not available: {errno}")))
}

/// One backend for each thread. They are made here, where a failure ends the start; each belongs to the thread that
/// first waits for it.
fn urings(plan: &LoadPlan) -> Result<Vec<Uring>, StartError> {
    let make = |index| Uring::new(plan.address, numbers(plan, index).len());
    (0..plan.threads)
        .map(make)
        .collect::<Result<_, _>>()
        .map_err(|unavailable| StartError::Machine(unavailable.to_string()))
}

/// Why the kernel does not offer `io_uring` to this process; none where it does.
#[must_use]
pub fn uring_refusal() -> Option<String> {
    let anywhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    Uring::new(anywhere, 0).err().map(|unavailable| unavailable.to_string())
}

/// The whole life of one thread.
fn work<I: Io>(
    mut worker: Worker<I>,
    plan: &LoadPlan,
    share: Share,
    index: usize,
    cpu: Option<usize>,
    shared: &Shared,
) -> Part {
    if let Some(cpu) = cpu {
        // The processors were tried before the start, so this can fail only if one was taken away since.
        let _ = bind_to_cpu(cpu);
    }
    ask_for_exact_timers();
    let _ends_the_others = StopOnPanic(&shared.stop);
    let should_stop = || shared.stop.load(Ordering::Relaxed);
    worker.open_all(should_stop);
    shared.one_more_is_ready();
    while shared.epoch.get().is_none() && !should_stop() {
        worker.wait_a_moment();
    }
    let epoch = *shared.epoch.get_or_init(clock::now);
    let mut pacing = Pacing::new(plan, share, epoch).expect("the plan was validated before the start");
    let mut meter = CpuMeter::new(pacing.window());
    worker.run(&mut pacing, should_stop, |now, activity| {
        meter.observe(now, activity);
        shared.activities[index].publish(activity);
    });
    let cpu = meter.used(worker.activity());
    let (recorder, ended) = worker.finish(&pacing);
    Part { recorder, window: pacing.window(), ended, cpu }
}

impl Shared {
    /// The last thread to be ready sets the epoch for all.
    fn one_more_is_ready(&self) {
        if self.ready.fetch_add(1, Ordering::AcqRel) + 1 == self.activities.len() {
            let _ = self.epoch.set(clock::now());
        }
    }
}

/// Tells the other threads to stop when this one panics: they would wait for it forever.
struct StopOnPanic<'a>(&'a AtomicBool);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

impl SharedActivity {
    fn publish(&self, activity: Activity) {
        self.answered.store(activity.answered, Ordering::Relaxed);
        self.failed.store(activity.failed, Ordering::Relaxed);
    }
}

/// The processor time of the calling thread within a window.
struct CpuMeter {
    window: Window,
    at_start: Option<(CpuTime, Nanos)>,
    at_end: Option<(CpuTime, Nanos)>,
}

impl CpuMeter {
    fn new(window: Window) -> Self {
        Self { window, at_start: None, at_end: None }
    }

    fn observe(&mut self, now: Nanos, activity: Activity) {
        if self.at_start.is_none() && now >= self.window.start {
            self.at_start = Some((CpuTime::read(), activity.spun));
        }
        if self.at_end.is_none() && now >= self.window.end {
            self.at_end = Some((CpuTime::read(), activity.spun));
        }
    }

    fn used(&self, activity: Activity) -> CpuUse {
        let Some((at_start, spun_at_start)) = self.at_start else { return CpuUse::default() };
        let (at_end, spun_at_end) = self.at_end.unwrap_or_else(|| (CpuTime::read(), activity.spun));
        let (user, system) = at_end.since(at_start);
        CpuUse { user, system, spun: spun_at_end - spun_at_start }
    }
}

fn encode(plan: &LoadPlan) -> Result<Arc<[EncodedRequest]>, StartError> {
    plan.requests
        .iter()
        .map(|request| {
            let encode = || {
                let headers: Vec<(&str, &str)> =
                    request.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
                let method = Method::new(&request.method)?;
                let encoded = Request {
                    version: match plan.http {
                        HttpVersion::Http10 => Version::Http10,
                        HttpVersion::Http11 => Version::Http11,
                    },
                    method,
                    target: &request.target,
                    authority: &plan.authority,
                    headers: &headers,
                    body: request.body.as_bytes(),
                };
                Ok(EncodedRequest {
                    bytes: encoded.encode()?,
                    kind: method.kind(),
                    expected_body_bytes: request.expected_body_bytes,
                })
            };
            encode().map_err(|invalid: loadcurve_wire::InvalidRequest| StartError::Plan(invalid.to_string()))
        })
        .collect()
}

/// The processor of each thread; every one is tried on a thread of its own before anything is started.
fn checked_cpus(plan: &LoadPlan) -> Result<Vec<usize>, StartError> {
    let cpus = plan.cpus.clone();
    std::thread::spawn(move || cpus.into_iter().try_for_each(bind_to_cpu))
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        .map_err(StartError::Plan)?;
    Ok(plan.cpus.iter().copied().cycle().take(plan.threads).collect())
}
