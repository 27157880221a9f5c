//! A load that goes through several levels without a pause, on the connections that are open.
//!
//! Each level has its own plan, window, recording and result. Every thread goes over by its own clock at the moment at
//! which the next level begins; what is under way then belongs to the level in which it was due, and a level is over
//! when the last of its requests has ended, while the next one is measured.

mod home;

use std::collections::VecDeque;
use std::sync::Arc;

use loadcurve_plan::{HttpLoad, Load, Nanos, Pace, Share, Stop, Unit};
use loadcurve_record::{Recorder, Window};
use loadcurve_wire::HttpExchange;

use crate::capacity::Capacity;
use crate::error::StartError;
use crate::gathered::Gathered;
use crate::http::HttpSummary;
use crate::io::Carries;
use crate::part::{CpuUse, Finished, Part};
use crate::requests::RequestSource;
use crate::result::LoadResult;
use crate::scheduler::Scheduler;
use crate::spoken::visit_exchange;
use crate::thread_group::{Begins, CpuMeter, Member, Progress, ThreadGroup};
use crate::transport::{Starts, Transport, numbers};
use crate::visitor::{ExchangeVisitor, Spoken};
use crate::work::{CarrierOf, Work};
use crate::worker::{Waiting, Worker, WorkerConfiguration, WorkerLevel};

pub(crate) use home::Home;

/// A load of several levels that is running, on separate threads.
pub struct RunningLevels {
    group: ThreadGroup<()>,
    home: Arc<Home>,
    conclude: Box<dyn Fn(usize, Finished) -> LoadResult + Send + Sync>,
}

/// Starts a load that goes through these levels, each from the very end of the one before; its limits are checked before
/// the first connection.
///
/// # Errors
/// When a plan is not sound, when one cannot follow another, or when they ask for more than this machine allows.
pub fn start_levels(
    plans: Vec<HttpLoad>,
    is_interrupted: &dyn Fn() -> bool,
) -> Result<RunningLevels, StartError> {
    let Some(first) = plans.first() else {
        return Err(StartError::Plan("a load requires at least 1 level".into()));
    };
    for plan in &plans {
        plan.validate()?;
        check_follows(plan, first).map_err(StartError::Plan)?;
    }
    let widest = widest(&plans)?;
    visit_exchange(&widest, is_interrupted, Levels { plans, widest: &widest })
}

/// Checks that a level can be of one load with the first one: what of it may differ is the model with its numbers, and how
/// long it lasts.
fn check_follows(plan: &HttpLoad, first: &HttpLoad) -> Result<(), String> {
    if plan.model.unit() != Unit::Request {
        return Err("sessions close their connections, so they cannot continue from level to level".into());
    }
    if !matches!(plan.stop, Stop::DurationS(_)) {
        return Err("a level that another one follows requires a duration".into());
    }
    if plan.work.subscribers().is_some() {
        return Err("a load with subscribers has one level".into());
    }
    let mut same = HttpLoad {
        model: first.model.clone(),
        stop: first.stop,
        warmup_s: first.warmup_s,
        threads: first.threads,
        ..plan.clone()
    };
    same.work.conversation.think_s = first.work.conversation.think_s;
    if same == *first {
        return Ok(());
    }
    Err("levels of one load may differ only in their model, connections, rate and times".into())
}

/// The plan with the most connections, for which all threads have slots.
fn widest(plans: &[HttpLoad]) -> Result<HttpLoad, StartError> {
    let widest = plans.iter().max_by_key(|plan| plan.model.connections()).expect("there is a level");
    let threads = plans.iter().map(|plan| plan.threads).max().expect("there is a level");
    let widest = HttpLoad { threads, ..widest.clone() };
    widest.validate()?;
    let has_room =
        |plan: &HttpLoad, index| slots_of(plan, index) <= numbers(&widest, Share::new(index, threads)).len();
    if plans.iter().all(|plan| (0..threads).all(|index| has_room(plan, index))) {
        return Ok(widest);
    }
    let text =
        "a level with fewer threads would put more connections on one of them than the widest level does";
    Err(StartError::Plan(text.into()))
}

/// How many slots a thread has in a level, which may be for fewer threads than others.
fn slots_of<P>(plan: &Load<P>, index: usize) -> usize {
    if index < plan.threads { numbers(plan, Share::new(index, plan.threads)).len() } else { 0 }
}

/// The levels of a load, and the plan for which all threads have slots.
struct Levels<'a> {
    plans: Vec<HttpLoad>,
    widest: &'a HttpLoad,
}

impl ExchangeVisitor for Levels<'_> {
    type Outcome = RunningLevels;

    fn visit<E: HttpExchange<Carrier: Transport> + 'static>(
        self,
        spoken: Spoken<E::Settings>,
    ) -> Result<Self::Outcome, StartError> {
        start::<E>(self.plans, self.widest, spoken)
    }
}

fn start<E: HttpExchange<Carrier: Transport> + 'static>(
    plans: Vec<HttpLoad>,
    widest: &HttpLoad,
    spoken: Spoken<E::Settings>,
) -> Result<RunningLevels, StartError> {
    let Spoken { settings, look } = spoken;
    let requests = RequestSource::<E>::open(widest)?;
    let connections = widest.model.connections();
    let capacity = Capacity::secure(widest, connections).map_err(StartError::Machine)?;
    let mut group = ThreadGroup::new(widest.threads, &widest.cpus, Begins::WhenReady)?;
    let home = Arc::new(Home::new(plans.iter().map(|plan| plan.threads), group.counters_before()));
    let shares: Vec<Share> = (0..widest.threads).map(|index| Share::new(index, widest.threads)).collect();
    let threads =
        Threads { plans: &plans, widest, requests: &requests, settings, home: &home, group: &mut group };
    let io = E::Carrier::start(widest, &shares, threads)?;
    let conclude = move |level: usize, finished| {
        let capacity = Some(&capacity.clone().at_the_end());
        let (plan, look) = (&plans[level], look.as_ref());
        HttpSummary { plan, requests: &requests, io: io.into(), capacity, look, server_sockets: None }
            .of(Gathered::from_iter([finished]))
    };
    Ok(RunningLevels { group, home, conclude: Box::new(conclude) })
}

/// What the threads of a load are started with.
struct Threads<'a, E: HttpExchange> {
    plans: &'a [HttpLoad],
    widest: &'a HttpLoad,
    requests: &'a Arc<RequestSource<E>>,
    settings: E::Settings,
    home: &'a Arc<Home>,
    group: &'a mut ThreadGroup<()>,
}

impl<E: HttpExchange + 'static> Starts<E::Carrier> for Threads<'_, E> {
    fn start<I: Carries<E::Carrier> + Send + 'static>(
        self,
        backends: Vec<I>,
    ) -> Result<&'static str, StartError> {
        for (index, io) in backends.into_iter().enumerate() {
            let share = Share::new(index, self.widest.threads);
            let worker = Worker::new(io, numbers(self.widest, share), self.configuration(self.widest, share));
            let levels = self.plans.iter().map(|plan| self.level(plan, index)).collect();
            let thread = Thread::new(worker, Arc::clone(self.home));
            self.group.start(thread.worker.activity(), move |member| thread.work(levels, &member))?;
        }
        Ok(I::NAME)
    }
}

impl<E: HttpExchange + 'static> Threads<'_, E> {
    fn configuration(&self, plan: &HttpLoad, share: Share) -> WorkerConfiguration<RequestSource<E>> {
        let (requests, waiting) = (Arc::clone(self.requests), Waiting::of(self.widest));
        let conversation = &plan.work.conversation;
        WorkerConfiguration::new(plan, conversation, share, requests, self.settings.clone(), waiting)
            .streaming(plan.work.events())
    }

    fn level(&self, plan: &HttpLoad, index: usize) -> Level<RequestSource<E>> {
        Level::of(plan, index, |share| self.configuration(plan, share))
    }
}

/// One level for one thread.
pub(crate) struct Level<W: Work> {
    configuration: WorkerConfiguration<W>,
    pace: Pace,
    share: Share,
    slots: usize,
    takes_part: bool,
}

impl<W: Work> Level<W> {
    /// What a level is for a thread. In one that is for fewer threads it has no connection, and so nothing to do.
    pub(crate) fn of<P>(
        plan: &Load<P>,
        index: usize,
        configuration: impl FnOnce(Share) -> WorkerConfiguration<W>,
    ) -> Self {
        let takes_part = index < plan.threads;
        let share = if takes_part { Share::new(index, plan.threads) } else { Share::whole() };
        let pace = plan.pace();
        let pace = if takes_part { pace } else { Pace { arriving: None, ..pace } };
        Self { configuration: configuration(share), pace, share, slots: slots_of(plan, index), takes_part }
    }
}

/// A level of which requests are under way, as far as it is known.
struct Pending {
    level: usize,
    takes_part: bool,
    window: Window,
    began: Nanos,
    ended: Nanos,
    cpu: CpuUse,
}

/// One thread of the load.
pub(crate) struct Thread<I, W: Work> {
    home: Arc<Home>,
    worker: Worker<I, W>,
    /// Levels that it has left and whose last requests are under way, the earliest first.
    pending: VecDeque<Pending>,
}

impl<I: Carries<CarrierOf<W>>, W: Work> Thread<I, W> {
    pub(crate) fn new(worker: Worker<I, W>, home: Arc<Home>) -> Self {
        Self { home, worker, pending: VecDeque::new() }
    }

    /// Its whole life.
    fn work(mut self, levels: Vec<Level<W>>, member: &Member) {
        let should_stop = || member.should_stop();
        self.open(&levels[0], should_stop);
        member.ready();
        self.worker.wait_for_begin(|| member.begins_at(), should_stop);
        self.go_through(levels, member.epoch(), should_stop);
    }

    /// Opens the connections of the first level.
    pub(crate) fn open(&mut self, first: &Level<W>, should_stop: impl Fn() -> bool) {
        self.worker.expect_level(first.slots);
        self.worker.open_all(should_stop);
    }

    /// Goes through the levels, of which the first begins at `begins`, and collects what is recorded of each.
    pub(crate) fn go_through(
        mut self,
        levels: Vec<Level<W>>,
        mut begins: Nanos,
        should_stop: impl Fn() -> bool + Copy,
    ) {
        let count = levels.len();
        let mut last: Option<Scheduler> = None;
        for (number, level) in levels.into_iter().enumerate() {
            let Level { configuration, pace, share, slots, takes_part } = level;
            let mut scheduler =
                Scheduler::new(&pace, share, begins).expect("the plan was validated before the start");
            let window = scheduler.window();
            let handover = if number + 1 < count { window.end } else { Nanos::NEVER };
            let level = WorkerLevel { configuration, slots, handover };
            let mut meter = CpuMeter::new(window);
            let (home, pending) = (&self.home, &mut self.pending);
            let observe = |worker: &mut Worker<I, W>| {
                meter.observe(worker.now(), worker.polling());
                home.level_has_begun(number);
                worker.close_surplus();
                while let Some(recorder) = worker.take_ended_level() {
                    bring_home(home, pending.pop_front(), recorder, false);
                }
            };
            let began = match &last {
                None => self.worker.run_first_level(level, &mut scheduler, should_stop, observe),
                Some(last) => {
                    self.worker.run_next_level(last, begins, level, &mut scheduler, should_stop, observe)
                }
            };
            let (ended, cpu) = (self.worker.now(), meter.used(self.worker.polling()));
            self.pending.push_back(Pending { level: number, takes_part, window, began, ended, cpu });
            begins = window.end;
            last = Some(scheduler);
            if should_stop() {
                break;
            }
        }
        let is_stopped = should_stop();
        for recorder in self.worker.take_earlier_levels() {
            bring_home(&self.home, self.pending.pop_front(), recorder, is_stopped);
        }
        let last = last.expect("there is a level");
        let (recorder, _) = self.worker.finish(&last);
        bring_home(&self.home, self.pending.pop_front(), recorder, is_stopped);
    }
}

/// Collects what a thread has recorded of a level that is over, where it took part in it.
fn bring_home(home: &Home, level: Option<Pending>, recorder: Recorder, is_stopped: bool) {
    let Pending { level, takes_part, window, began, ended, cpu } = level.expect("its level was left before");
    if takes_part {
        home.bring(level, Part::of_thread(recorder, window, began, ended, cpu), is_stopped);
    }
}

impl RunningLevels {
    /// How far the load is now, from its first level on.
    #[must_use]
    pub fn progress(&mut self) -> Progress {
        self.group.progress()
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

    /// The result of the next level, once the last of its requests has ended; each is given once, in their order.
    #[must_use]
    pub fn take_result(&mut self) -> Option<LoadResult> {
        self.home.note_pauses(self.group.take_pauses());
        let (level, finished) = self.home.take()?;
        Some((self.conclude)(level, finished))
    }

    /// Waits for the end and returns the results of the levels that have not been taken. One that was under way when the
    /// load was asked to stop is the last of them.
    ///
    /// # Panics
    /// When a thread of the load has panicked, with the same panic.
    #[must_use]
    pub fn finish(mut self) -> Vec<LoadResult> {
        self.group.join();
        std::iter::from_fn(|| self.take_result()).collect()
    }
}
