//! One load on a database from start to result.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use loadcurve_engine::{
    Activity, Begins, CpuMeter, Finished, KeptUp, LoadResult, Loaded, Member, Part, RunningLoad, Scheduler,
    StartError, Terms, ThreadGroup, allow_connections,
};
use loadcurve_plan::{Pace, Share};
use loadcurve_record::SlowRequest;
use loadcurve_ycsb::{InsertedKeys, Operations};
use tokio::runtime::{Builder, Runtime};
use tokio::task::LocalSet;

use crate::clock::MonotonicClock;
use crate::database::Database;
use crate::generator::{Clients, WorkerConfiguration};
use crate::plan::{DatabaseLoad, Phase};
use crate::product::{OnDatabase, Product};
use crate::tallies::Tallies;

/// What results call the way in which the drivers wait for the kernel: that of their runtime.
const IO: &str = "epoll";

/// How long a thread waits between two looks whether the others are ready.
const MOMENT: Duration = Duration::from_millis(1);

/// Starts a load on a database. Whether that is there and holds the records is not asked before.
///
/// # Errors
/// When the plan is not sound, its address or settings are none of a database that is known, or it asks for more
/// than this machine allows.
pub fn start(plan: DatabaseLoad) -> Result<RunningLoad<LoadResult>, StartError> {
    let product = Product::of(&plan.work.url).map_err(|invalid| StartError::Plan(invalid.0))?;
    let group = product.dispatch(Start(&plan))?;
    Ok(RunningLoad::new(group, move |finished| result(&plan, finished)))
}

/// The result of what the threads of a load brought home.
pub(crate) fn result(plan: &DatabaseLoad, finished: Finished) -> LoadResult {
    let work = &plan.work;
    let labels = Tallies::new(&work.workload, work.phase).labels();
    let terms = Terms {
        loaded: Loaded::Database,
        pace: plan.pace(),
        // Each record of a batch is an operation of its own.
        kept_up: KeptUp { requests: plan.model.connections() * work.batch, think_ms: 0.0 },
        io: IO,
        tally_labels: &labels,
        label_of: &|slow: &SlowRequest| labels[slow.operation].clone(),
    };
    LoadResult::new(terms, &[finished])
}

/// The operations of a plan, which its threads divide.
pub(crate) fn operations(plan: &DatabaseLoad) -> Result<(Operations, Arc<InsertedKeys>), StartError> {
    plan.validate()?;
    let work = &plan.work;
    let inserted = Arc::new(InsertedKeys::new(&work.workload));
    let operations = match work.phase {
        Phase::Load => Operations::load(&work.workload, plan.seed),
        Phase::Run => Operations::run(&work.workload, plan.seed, Arc::clone(&inserted)),
    };
    Ok((operations.map_err(|invalid| StartError::Plan(invalid.to_string()))?, inserted))
}

/// Starts the threads of a plan on the kind of database that it names.
struct Start<'a>(&'a DatabaseLoad);

impl OnDatabase for Start<'_> {
    type Output = Result<ThreadGroup, StartError>;

    fn on<D: Database>(self) -> Self::Output {
        let plan = self.0;
        let (operations, inserted) = operations(plan)?;
        D::check(&plan.work.target(plan.timeout_s)).map_err(|invalid| StartError::Plan(invalid.0))?;
        allow_connections(plan.model.connections())?;
        let mut group = ThreadGroup::new(plan.threads, &plan.cpus, Begins::WhenReady)?;
        // They are all made before the first thread starts, so that a refusal is known before anything is sent.
        let runtimes: Vec<_> =
            (0..plan.threads).map(|_| runtime()).collect::<io::Result<_>>().map_err(|error| {
                StartError::Machine(format!("an epoll set or a timer is not available: {error}"))
            })?;
        for (index, (runtime, clock)) in runtimes.into_iter().enumerate() {
            let configuration =
                WorkerConfiguration::new(plan, index, operations.clone(), Arc::clone(&inserted));
            let (pace, share) = (plan.pace(), Share::new(index, plan.threads));
            group.start(move |member| {
                let life = work::<D>(configuration, clock, &pace, share, member);
                LocalSet::new().block_on(&runtime, life)
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
    let member = Rc::new(member);
    let should_stop = || member.should_stop();
    let clients = Clients::<D, _>::open(configuration, clock, should_stop).await;
    member.ready();
    while member.begins_at().is_none() && !should_stop() {
        tokio::time::sleep(MOMENT).await;
    }
    let epoch = member.epoch();
    let scheduler = Scheduler::new(pace, share, epoch).expect("the plan was validated before the start");
    let window = scheduler.window();
    let meter = Rc::new(RefCell::new((CpuMeter::new(window), Activity::default())));
    let (shown, measured) = (Rc::clone(&member), Rc::clone(&meter));
    let observe = move |now, activity| {
        let (meter, latest) = &mut *measured.borrow_mut();
        meter.observe(now, activity);
        *latest = activity;
        shown.publish(activity);
    };
    let began = loadcurve_engine::now().max(epoch);
    let (recorder, ended) = clients.run(scheduler, should_stop, Box::new(observe)).await;
    let (meter, activity) = &*meter.borrow();
    Part::of_thread(recorder, window, began, ended, meter.used(*activity))
}
