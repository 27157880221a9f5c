//! One load on a database from start to result.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use loadcurve_engine::{
    Begins, CpuMeter, Finished, Gathered, KeptUp, LoadResult, Loaded, Member, Part, Polling, RunningLoad,
    Scheduler, StartError, Terms, ThreadGroup, allow_connections,
};
use loadcurve_plan::{Pace, Share};
use loadcurve_record::SlowRequest;
use loadcurve_ycsb::{InsertedKeys, Operations};
use tokio::runtime::{Builder, Runtime};
use tokio::task::LocalSet;

use crate::clock::MonotonicClock;
use crate::database::Database;
use crate::generator::{Clients, WorkerConfiguration, clients};
use crate::plan::{DatabaseLoad, Phase};
use crate::product::{OnDatabase, Product};
use crate::tallies::Tallies;

/// What results call the way in which the drivers wait for the kernel: that of their runtime.
const IO: &str = "epoll";

/// How long a thread waits between two looks whether the others are ready.
const MOMENT: Duration = Duration::from_millis(1);

/// Starts a load on a database. Whether that is there and holds the records is not asked before. It begins when its
/// clients are connected.
///
/// # Errors
/// When the plan is not sound, its address or settings fit no known database, or it asks for more
/// than this machine allows.
pub fn start(plan: DatabaseLoad) -> Result<RunningLoad<LoadResult>, StartError> {
    start_to_begin(plan, Begins::WhenReady)
}

/// Starts a load on a database as [`start`], which begins as `begins` says.
///
/// # Errors
/// As for [`start`].
pub fn start_to_begin(plan: DatabaseLoad, begins: Begins) -> Result<RunningLoad<LoadResult>, StartError> {
    let group = start_threads(&plan, Share::whole(), begins)?;
    Ok(RunningLoad::new(group, move |finished| result_of(&plan, Gathered::from_iter([finished]))))
}

/// Starts a machine's share of a load on a database, as [`start`]. Its clients connect at once; the load begins on
/// [`RunningLoad::begin`]. A record that one machine adds is asked for by that machine alone.
///
/// # Errors
/// As for [`start`], and when there are more threads than clients in the share.
pub fn start_part(plan: &DatabaseLoad, share: Share) -> Result<RunningLoad<Finished>, StartError> {
    let group = start_threads(plan, share, Begins::OnRequest)?;
    Ok(RunningLoad::new(group, |finished| Finished { io: Some(IO.into()), ..finished }))
}

fn start_threads(plan: &DatabaseLoad, share: Share, begins: Begins) -> Result<ThreadGroup, StartError> {
    let product = Product::of(&plan.work.url).map_err(|invalid| StartError::Plan(invalid.0))?;
    product.dispatch(Start { plan, share, begins })
}

/// The result of a load from the recordings of its machines, at least one.
#[must_use]
pub fn result_of(plan: &DatabaseLoad, gathered: Gathered) -> LoadResult {
    let work = &plan.work;
    let labels = Tallies::new(&work.workload, work.phase).labels();
    let terms = Terms {
        loaded: Loaded::Database,
        pace: plan.pace(),
        // Each record of a batch is a separate operation.
        kept_up: KeptUp { requests: plan.model.connections() * work.batch, think_ms: 0.0 },
        io: IO.into(),
        tally_labels: &labels,
        label_of: &|slow: &SlowRequest| labels[slow.operation].clone(),
    };
    LoadResult::new(terms, gathered)
}

/// The operations of a plan, which its threads divide, and the records that those of a machine's share add.
pub(crate) fn operations(
    plan: &DatabaseLoad,
    share: Share,
) -> Result<(Operations, Arc<InsertedKeys>), StartError> {
    plan.validate()?;
    let work = &plan.work;
    if share != Share::whole() && work.phase == Phase::Run && work.workload.mix.delete > 0.0 {
        let text = "a workload with deletes cannot be divided among machines, because the others would \
            still ask for the deleted records: use one machine, or a workload without deletes";
        return Err(StartError::Plan(text.into()));
    }
    let inserted = Arc::new(InsertedKeys::new(&work.workload, share));
    let operations = match work.phase {
        Phase::Load => Operations::load(&work.workload, plan.seed),
        Phase::Run => Operations::run(&work.workload, plan.seed, Arc::clone(&inserted)),
    };
    Ok((operations.map_err(|invalid| StartError::Plan(invalid.to_string()))?, inserted))
}

/// Starts the threads of a share of a plan on the kind of database that it names.
struct Start<'a> {
    plan: &'a DatabaseLoad,
    share: Share,
    begins: Begins,
}

impl OnDatabase for Start<'_> {
    type Output = Result<ThreadGroup, StartError>;

    fn on<D: Database>(self) -> Self::Output {
        let Self { plan, share, begins } = self;
        let (operations, inserted) = operations(plan, share)?;
        let clients = clients(plan, share).count();
        if plan.threads > clients {
            let text = format!(
                "{} threads require at least as many clients, but a share of this load has \
                {clients}: use fewer threads or more clients",
                plan.threads
            );
            return Err(StartError::Plan(text));
        }
        D::check(&plan.work.target(plan.timeout_s)).map_err(|invalid| StartError::Plan(invalid.0))?;
        allow_connections(clients)?;
        let mut group = ThreadGroup::new(plan.threads, &plan.cpus, begins)?;
        // They are all made before the first thread starts, so that a refusal is known before anything is sent.
        let runtimes: Vec<_> =
            (0..plan.threads).map(|_| runtime()).collect::<io::Result<_>>().map_err(|error| {
                StartError::Machine(format!("the kernel refused an epoll instance or a timer: {error}"))
            })?;
        for (index, (runtime, clock)) in runtimes.into_iter().enumerate() {
            let (pace, share) = (plan.pace(), share.part(index, plan.threads));
            let configuration =
                WorkerConfiguration::new(plan, share, operations.clone(), Arc::clone(&inserted));
            let configuration = configuration.sharing(group.heard());
            group.start(configuration.activity(), move |member| {
                let life = work::<D>(configuration, clock, &pace, share, member);
                let part = LocalSet::new().block_on(&runtime, life);
                // A name server that is still being asked for an address is not waited for.
                runtime.shutdown_background();
                part
            })?;
        }
        Ok(group)
    }
}

/// The runtime of one thread, with its clock.
fn runtime() -> io::Result<(Runtime, MonotonicClock)> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let clock = {
        let _entered = runtime.enter();
        MonotonicClock::new()?
    };
    Ok((runtime, clock))
}

/// The whole life of one thread.
async fn work<D: Database>(
    configuration: WorkerConfiguration,
    clock: MonotonicClock,
    pace: &Pace,
    share: Share,
    member: Member,
) -> Part {
    let should_stop = || member.should_stop();
    let clients = Clients::<D, _>::open(configuration, clock, should_stop).await;
    member.ready();
    while member.begins_at().is_none() && !should_stop() {
        tokio::time::sleep(MOMENT).await;
    }
    let epoch = member.epoch();
    let scheduler = Scheduler::new(pace, share, epoch).expect("the plan was validated before the start");
    let window = scheduler.window();
    let meter = Rc::new(RefCell::new(CpuMeter::new(window)));
    let measured = Rc::clone(&meter);
    // The runtime sleeps where there is nothing to do.
    let observe = move |now| measured.borrow_mut().observe(now, Polling::default());
    let began = loadcurve_engine::now().max(epoch);
    let (recorder, ended) = clients.run(scheduler, should_stop, Box::new(observe)).await;
    let cpu = meter.borrow().used(Polling::default());
    Part::of_thread(recorder, window, began, ended, cpu)
}
