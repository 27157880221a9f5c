//! One thread's part of a load: its clients, opened before the load begins and run to its end.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use loadcurve_engine::{Activity, Heard, Scheduler};
use loadcurve_plan::{BackOff, Nanos, Share};
use loadcurve_record::Recorder;
use loadcurve_ycsb::{Check, InsertedKeys, Operation, Operations};
use tokio::task::{JoinHandle, spawn_local};

use crate::client::{Client, Connected, LazyDatabase, record_attempt};
use crate::client_pool::{ClientPool, PoolConfiguration};
use crate::clock::Clock;
use crate::database::{Database, Target};
use crate::plan::DatabaseLoad;
use crate::tallies::Tallies;

/// The longest time between two looks at the deadlines and at whether to stop.
const LONGEST_LOOK: Duration = Duration::from_millis(20);
const SHORTEST_LOOK: Duration = Duration::from_millis(1);

/// What one thread takes from the plan.
pub(crate) struct WorkerConfiguration {
    target: Target,
    share: Share,
    /// The numbers of its clients.
    clients: Vec<usize>,
    operations: Operations,
    inserted: Arc<InsertedKeys>,
    batch: usize,
    tallies: Tallies,
    activity: Arc<Activity>,
    heard: Arc<Heard>,
}

impl WorkerConfiguration {
    /// The configuration of the thread of a share.
    pub(crate) fn new(
        plan: &DatabaseLoad,
        share: Share,
        operations: Operations,
        inserted: Arc<InsertedKeys>,
    ) -> Self {
        Self {
            target: plan.work.target(plan.timeout_s),
            share,
            clients: clients(plan, share).collect(),
            operations,
            inserted,
            batch: plan.work.batch,
            tallies: Tallies::new(&plan.work.workload, plan.work.phase),
            activity: Arc::default(),
            heard: Arc::default(),
        }
    }

    /// The same for a thread that learns what others of the load hear of the database.
    pub(crate) fn sharing(self, heard: Arc<Heard>) -> Self {
        Self { heard, ..self }
    }

    /// What the thread shows of itself.
    pub(crate) fn activity(&self) -> Arc<Activity> {
        Arc::clone(&self.activity)
    }
}

/// The numbers of the clients of a share.
pub(crate) fn clients(plan: &DatabaseLoad, share: Share) -> impl Iterator<Item = usize> + use<> {
    let clients = plan.model.connections();
    (0..share.count(clients as u64)).map(move |own| usize::try_from(share.position(own)).unwrap_or(clients))
}

/// The clients of one thread, each connected if that was possible.
pub(crate) struct Clients<D: Database, C> {
    configuration: WorkerConfiguration,
    clock: Rc<C>,
    database: Rc<LazyDatabase<D>>,
    connected: Vec<Option<Connected<D::Session>>>,
    recorder: Recorder,
}

impl<D: Database, C: Clock> Clients<D, C> {
    /// Connects all clients before the load begins. One that fails tries again when it has an operation to make.
    pub(crate) async fn open(
        configuration: WorkerConfiguration,
        clock: C,
        should_stop: impl Fn() -> bool,
    ) -> Self {
        let database =
            Rc::new(LazyDatabase::<D>::new(configuration.target.clone(), configuration.clients.len()));
        let mut recorder = Recorder::new(configuration.tallies.labels().len());
        let clock = Rc::new(clock);
        let attempts: Vec<_> = configuration
            .clients
            .iter()
            .map(|_| {
                let (database, clock) = (Rc::clone(&database), Rc::clone(&clock));
                spawn_local(async move { database.connect(&*clock).await.ok() })
            })
            .collect();
        let mut connected = Vec::with_capacity(attempts.len());
        for mut attempt in attempts {
            let ended = unless(&should_stop, &mut attempt).await.and_then(joined).flatten();
            attempt.abort();
            record_attempt(&mut recorder, ended.as_ref());
            connected.push(ended);
        }
        Self { configuration, clock, database, connected, recorder }
    }

    /// Runs the load from its beginning, which may be to come, to its end, or until asked to stop; calls `observe` with the
    /// time of every outcome.
    pub(crate) async fn run(
        self,
        scheduler: Scheduler,
        should_stop: impl Fn() -> bool,
        observe: Box<dyn FnMut(Nanos)>,
    ) -> (Recorder, Nanos) {
        let Self { configuration, clock, database, connected, recorder } = self;
        let is_scheduled = scheduler.is_scheduled();
        if !is_scheduled {
            // The operations of a closed loop are due at any time, so only this keeps them from beginning earlier.
            wait_until(&*clock, scheduler.epoch(), &should_stop).await;
        }
        let check = Check::new(&configuration.target.workload);
        let pool_configuration = PoolConfiguration {
            scheduler,
            share: configuration.share,
            operations: configuration.operations,
            batch: configuration.batch,
            timeout: Nanos::from_secs_f64(configuration.target.timeout_s),
            tallies: configuration.tallies,
            activity: configuration.activity,
            heard: configuration.heard,
        };
        let pool = Rc::new(ClientPool::new(
            clock,
            pool_configuration,
            recorder,
            configuration.clients.into_iter(),
            observe,
        ));
        let clients = connected.into_iter().enumerate().map(|(slot, connected)| Client {
            pool: Rc::clone(&pool),
            database: Rc::clone(&database),
            inserted: Arc::clone(&configuration.inserted),
            slot,
            connected,
            operations: vec![Operation::default(); configuration.batch],
            check: check.clone(),
            back_off: BackOff::default(),
        });
        let mut tasks: Vec<JoinHandle<()>> = clients.map(|client| spawn_local(client.run())).collect();
        if is_scheduled {
            let pool = Rc::clone(&pool);
            tasks.push(spawn_local(async move { pool.dispatch().await }));
        }
        oversee(&pool, &database, look_every(configuration.target.timeout_s), should_stop).await;
        for task in tasks {
            task.abort();
            joined(task.await);
        }
        pool.record(|recorder| database.record_connections(recorder));
        Rc::into_inner(pool).expect("every client has left the pool").finish()
    }
}

/// Waits for a moment, or until asked to stop.
async fn wait_until(clock: &impl Clock, moment: Nanos, should_stop: impl Fn() -> bool) {
    let look = Nanos::from_secs_f64(LONGEST_LOOK.as_secs_f64());
    while !should_stop() {
        let now = clock.now();
        if now >= moment {
            return;
        }
        clock.sleep_until(moment.min(now + look)).await;
    }
}

/// Waits for the end of all clients, and looks after what no client can look after while it waits for its answer.
async fn oversee<D: Database, C: Clock>(
    pool: &ClientPool<C>,
    database: &LazyDatabase<D>,
    every: Duration,
    should_stop: impl Fn() -> bool,
) {
    while !should_stop() {
        let mut look = pin!(tokio::time::sleep(every));
        let all_left = poll_fn(|context| {
            if pool.poll_all_left(context).is_ready() {
                return Poll::Ready(true);
            }
            look.as_mut().poll(context).map(|()| false)
        });
        let all_left = all_left.await;
        pool.look_after_deadlines();
        pool.record(|recorder| database.record_connections(recorder));
        if all_left {
            break;
        }
    }
}

/// A deadline is noticed when it has passed by a tenth of the timeout at most.
fn look_every(timeout_s: f64) -> Duration {
    Duration::from_secs_f64(timeout_s / 10.0).clamp(SHORTEST_LOOK, LONGEST_LOOK)
}

/// What comes of a future, unless the load is asked to stop before.
async fn unless<F: Future + Unpin>(should_stop: impl Fn() -> bool, future: &mut F) -> Option<F::Output> {
    while !should_stop() {
        if let Ok(output) = tokio::time::timeout(LONGEST_LOOK, &mut *future).await {
            return Some(output);
        }
    }
    None
}

/// What a task has returned; `None` if it was asked to end before. A panic is passed on here.
fn joined<T>(ended: Result<T, tokio::task::JoinError>) -> Option<T> {
    match ended {
        Ok(output) => Some(output),
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => None,
    }
}
