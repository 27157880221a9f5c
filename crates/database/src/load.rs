//! One load on a database from start to result.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use loadcurve_engine::{
    Activity, CpuMeter, Finished, KeptUp, LoadResult, Loaded, Member, Pacing, Part, RunningLoad, StartError,
    Team, Terms, allow_connections,
};
use loadcurve_plan::{Pace, Share};
use loadcurve_record::SlowRequest;
use loadcurve_ycsb::{InsertedKeys, Operations};
use tokio::runtime::{Builder, Runtime};
use tokio::task::LocalSet;

use crate::clock::MonotonicClock;
use crate::database::Database;
use crate::description::{DatabaseDescription, IO};
use crate::generator::{Clients, Orders};
use crate::plan::{DatabasePlan, Phase};
use crate::product::{OnDatabase, Product};
use crate::tallies::Tallies;

/// How long a thread waits between two looks whether the others are ready.
const MOMENT: Duration = Duration::from_millis(1);

/// Starts a load on a database. Whether that is there and holds the records is not asked before.
///
/// # Errors
/// When the plan is not sound, its address or settings are none of a database that is known, or it asks for more
/// than this machine allows.
pub fn start(plan: DatabasePlan) -> Result<RunningLoad<LoadResult<DatabaseDescription>>, StartError> {
    let product = Product::of(&plan.url).map_err(|invalid| StartError::Plan(invalid.0))?;
    let team = product.dispatch(Start(&plan))?;
    Ok(RunningLoad::new(team, move |finished| {
        result(&plan, DatabaseDescription::new(&plan, product), finished)
    }))
}

/// The result of what the threads of a load brought home.
pub(crate) fn result(
    plan: &DatabasePlan,
    description: DatabaseDescription,
    finished: Finished,
) -> LoadResult<DatabaseDescription> {
    let labels = Tallies::new(&plan.workload, plan.phase).labels();
    let terms = Terms {
        description,
        loaded: Loaded::Database,
        pace: plan.pace(),
        // Each record of a batch is an operation of its own.
        kept_up: KeptUp { requests: plan.threads * plan.batch, think_ms: 0.0 },
        threads: plan.generator_threads,
        io: IO,
        tally_labels: &labels,
        label_of: &|slow: &SlowRequest| labels[slow.operation].clone(),
    };
    LoadResult::new(terms, finished)
}

/// The operations of a plan, which its threads divide.
pub(crate) fn operations(plan: &DatabasePlan) -> Result<(Operations, Arc<InsertedKeys>), StartError> {
    plan.validate()?;
    let inserted = Arc::new(InsertedKeys::new(&plan.workload));
    let operations = match plan.phase {
        Phase::Load => Operations::load(&plan.workload, plan.seed),
        Phase::Run => Operations::run(&plan.workload, plan.seed, Arc::clone(&inserted)),
    };
    Ok((operations.map_err(|invalid| StartError::Plan(invalid.to_string()))?, inserted))
}

/// Starts the threads of a plan on the kind of database that it names.
struct Start<'a>(&'a DatabasePlan);

impl OnDatabase for Start<'_> {
    type Output = Result<Team, StartError>;

    fn on<D: Database>(self) -> Self::Output {
        let plan = self.0;
        let (operations, inserted) = operations(plan)?;
        D::check(&plan.target()).map_err(|invalid| StartError::Plan(invalid.0))?;
        allow_connections(plan.threads)?;
        let mut team = Team::new(plan.generator_threads, &plan.cpus)?;
        // They are all made before the first thread starts, so that a refusal is known before anything is sent.
        let runtimes: Vec<_> =
            (0..plan.generator_threads).map(|_| runtime()).collect::<io::Result<_>>().map_err(|error| {
                StartError::Machine(format!("an epoll set or a timer is not available: {error}"))
            })?;
        for (index, (runtime, clock)) in runtimes.into_iter().enumerate() {
            let orders = Orders::new(plan, index, operations.clone(), Arc::clone(&inserted));
            let (pace, share) = (plan.pace(), Share::new(index, plan.generator_threads));
            team.start(move |member| {
                let life = work::<D>(orders, clock, &pace, share, member);
                LocalSet::new().block_on(&runtime, life)
            })?;
        }
        Ok(team)
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
    orders: Orders,
    clock: MonotonicClock,
    pace: &Pace,
    share: Share,
    member: Member,
) -> Part {
    let member = Rc::new(member);
    let should_stop = || member.should_stop();
    let clients = Clients::<D, _>::open(orders, clock, should_stop).await;
    member.ready();
    while !member.has_begun() && !should_stop() {
        tokio::time::sleep(MOMENT).await;
    }
    let pacing = Pacing::new(pace, share, member.epoch()).expect("the plan was validated before the start");
    let window = pacing.window();
    let meter = Rc::new(RefCell::new((CpuMeter::new(window), Activity::default())));
    let (shown, measured) = (Rc::clone(&member), Rc::clone(&meter));
    let observe = move |now, activity| {
        let (meter, latest) = &mut *measured.borrow_mut();
        meter.observe(now, activity);
        *latest = activity;
        shown.publish(activity);
    };
    let (recorder, ended) = clients.run(pacing, should_stop, Box::new(observe)).await;
    let (meter, activity) = &*meter.borrow();
    Part { recorder, window, ended, cpu: meter.used(*activity) }
}
