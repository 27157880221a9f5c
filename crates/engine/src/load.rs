//! One load on a web server from start to result.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use loadcurve_plan::{IoChoice, LoadPlan, Share};

use crate::capacity::Capacity;
use crate::error::StartError;
use crate::http::HttpSummary;
use crate::io::Io;
use crate::io::epoll::Epoll;
use crate::io::uring::Uring;
use crate::pacing::Pacing;
use crate::requests::RequestSource;
use crate::result::LoadResult;
use crate::running::RunningLoad;
use crate::team::{CpuMeter, Member, Part, Team};
use crate::thread::online_cpus;
use crate::worker::{Orders, Worker};

/// Starts a load on a web server; its limits are checked before the first connection.
///
/// # Errors
/// When the plan is not sound, or asks for more than this machine allows.
pub fn start(plan: LoadPlan) -> Result<RunningLoad<LoadResult>, StartError> {
    plan.validate()?;
    let requests = RequestSource::open(&plan)?;
    let capacity = Capacity::secure(&plan).map_err(StartError::Machine)?;
    let mut team = Team::new(plan.threads, &plan.cpus)?;
    let (plan_of_all, source) = (&plan, &requests);
    let io = match plan.io {
        IoChoice::Epoll => start_threads(&mut team, plan_of_all, source, epolls(&plan)?)?,
        IoChoice::Uring => start_threads(&mut team, plan_of_all, source, urings(&plan)?)?,
        IoChoice::Auto => match urings(&plan) {
            Ok(backends) => start_threads(&mut team, plan_of_all, source, backends)?,
            Err(_) => start_threads(&mut team, plan_of_all, source, epolls(&plan)?)?,
        },
    };
    Ok(RunningLoad::new(team, move |finished| {
        let capacity = capacity.at_the_end();
        HttpSummary { plan: &plan, requests: &requests, io, capacity: Some(&capacity) }.of(finished)
    }))
}

/// Starts one thread for each backend; returns what results call it.
fn start_threads<I: Io + Send + 'static>(
    team: &mut Team,
    plan: &LoadPlan,
    requests: &Arc<RequestSource>,
    backends: Vec<I>,
) -> Result<&'static str, StartError> {
    // Looking for work takes a whole processor, which only a machine with more of them than threads can spare.
    let spins = online_cpus().is_some_and(|cpus| cpus > plan.threads);
    for (index, io) in backends.into_iter().enumerate() {
        let (share, plan) = (Share::new(index, plan.threads), plan.clone());
        let orders = Orders::new(&plan, share, Arc::clone(requests), spins);
        let worker = Worker::new(io, numbers(&plan, index), orders);
        team.start(move |member| work(worker, &plan, share, &member))?;
    }
    Ok(I::NAME)
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
fn work<I: Io>(mut worker: Worker<I>, plan: &LoadPlan, share: Share, member: &Member) -> Part {
    let should_stop = || member.should_stop();
    worker.open_all(should_stop);
    member.ready();
    while !member.has_begun() && !should_stop() {
        worker.wait_a_moment();
    }
    let mut pacing =
        Pacing::new(&plan.pace(), share, member.epoch()).expect("the plan was validated before the start");
    let window = pacing.window();
    let mut meter = CpuMeter::new(window);
    worker.run(&mut pacing, should_stop, |now, activity| {
        meter.observe(now, activity);
        member.publish(activity);
    });
    let cpu = meter.used(worker.activity());
    let (recorder, ended) = worker.finish(&pacing);
    Part { recorder, window, ended, cpu }
}
