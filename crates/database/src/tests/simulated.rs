//! Loads on a clock that jumps from one event to the next.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use loadcurve_engine::{CpuUse, Finished, LoadResult, Part, Scheduler, TcpCounters};
use loadcurve_plan::{Nanos, Share};
use tokio::runtime::Builder;
use tokio::task::LocalSet;
use tokio::time::Instant;

use super::memory::{Memory, Server, install};
use crate::clock::Clock;
use crate::generator::{Clients, WorkerConfiguration};
use crate::load::{operations, result_of};
use crate::plan::DatabaseLoad;

/// When every simulation starts, on its clock.
const START: Nanos = Nanos::from_millis(1_000);

/// The runtime's paused clock: when all tasks wait, it goes to the next timer.
#[derive(Clone)]
struct SimulatedClock {
    started: Instant,
    /// Until when, since the start, the thread does not run although it could wake.
    held_up_until: Rc<Cell<Duration>>,
}

impl Clock for SimulatedClock {
    fn now(&self) -> Nanos {
        START + Nanos(u64::try_from(self.started.elapsed().as_nanos()).unwrap())
    }

    async fn sleep_until(&self, moment: Nanos) {
        let since_start = Duration::from_nanos((moment - START).0).max(self.held_up_until.get());
        tokio::time::sleep_until(self.started + since_start).await;
    }
}

/// One simulated load.
pub(super) struct Simulation {
    pub(super) plan: DatabaseLoad,
    /// How many machines divide it, each with the threads of the plan.
    pub(super) machines: usize,
    /// When the load is asked to stop, since its start; never for most.
    pub(super) stop_at: Duration,
    /// Until when, since the start, nothing is handed out that falls due.
    pub(super) held_up_until: Duration,
    /// How long after its clients are connected the load begins.
    pub(super) lead: Duration,
}

/// What came of a load, and the server that it was on.
pub(super) struct Outcome {
    pub(super) result: LoadResult,
    pub(super) server: Server,
}

impl Simulation {
    pub(super) fn of(plan: DatabaseLoad) -> Self {
        Self {
            plan,
            machines: 1,
            stop_at: Duration::MAX,
            held_up_until: Duration::ZERO,
            lead: Duration::ZERO,
        }
    }

    /// Runs the threads of all machines one after the other, each from the same start.
    pub(super) fn run(&self, server: Server) -> Outcome {
        install(server);
        let shares = (0..self.machines).map(|index| Share::new(index, self.machines));
        let result = result_of(&self.plan, shares.map(|share| self.machine(share)).collect());
        let counts = result.requests;
        let ends = counts.answered + counts.failed + counts.unanswered + counts.never_sent;
        assert_eq!(counts.due, ends, "operations got lost: {counts:?}");
        Outcome { result, server: install(Server::taking(0)) }
    }

    /// Runs the threads of one machine's share.
    fn machine(&self, share: Share) -> Finished {
        let (operations, inserted) = operations(&self.plan, share).unwrap();
        let parts = (0..self.plan.threads)
            .map(|index| {
                let share = share.part(index, self.plan.threads);
                let configuration =
                    WorkerConfiguration::new(&self.plan, share, operations.clone(), Arc::clone(&inserted));
                self.part(configuration, share)
            })
            .collect();
        Finished::of(parts, TcpCounters::default(), self.stop_at != Duration::MAX)
    }

    fn part(&self, configuration: WorkerConfiguration, share: Share) -> Part {
        let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        LocalSet::new().block_on(&runtime, async {
            let started = Instant::now();
            let clock = SimulatedClock { started, held_up_until: Rc::new(Cell::new(self.held_up_until)) };
            let should_stop = || started.elapsed() >= self.stop_at;
            let activity = configuration.activity();
            let clients = Clients::<Memory, _>::open(configuration, clock.clone(), should_stop).await;
            let epoch = clock.now() + Nanos::from_secs_f64(self.lead.as_secs_f64());
            let scheduler = Scheduler::new(&self.plan.pace(), share, epoch).unwrap();
            let window = scheduler.window();
            let (recorder, ended) = clients.run(scheduler, should_stop, Box::new(|_| {})).await;
            let shown = (activity.answers(), activity.failures().total());
            let failed = recorder.requests.failed + recorder.warm_up.failed;
            assert_eq!(shown, (recorder.replies, failed), "what anybody can see");
            Part::of_thread(recorder, window, window.start, ended, CpuUse::default())
        })
    }
}
