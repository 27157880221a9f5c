//! Joins all readings into samples, each kind within its share of a CPU.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use crate::busiest::{BusiestProcess, BusiestThread, ThreadTimes, busiest};
use crate::clock;
use crate::file::{Buffer, Optional};
use crate::footprint::Footprint;
use crate::listen_queue::Listener;
use crate::machine::Machine;
use crate::members::{Known, Members};
use crate::pace::Pace;
use crate::parse::group;
use crate::round::Round;
use crate::sample::{CpuTime, PressureSample, Sample, Units};
use crate::sockets;
use crate::switches::SwitchCounts;
use crate::threads::{Visit, Visits};
use crate::throttle::Limits;
use crate::tree::Tree;

/// What each kind of reading may cost, as a share of a CPU. Together they stay below 1 %.
mod share {
    /// The processes: all of them at one sample, or none.
    pub(super) const PROCESSES: f64 = 0.0038;
    /// The machine and its network: the same.
    pub(super) const MACHINE: f64 = 0.0020;
    /// Looking for new processes: the same.
    pub(super) const NEWCOMERS: f64 = 0.0004;
    /// These go on over as many samples as they take; the first has what the processes leave of theirs besides.
    pub(super) const THREADS: f64 = 0.0005;
    pub(super) const SWITCHES: f64 = 0.0010;
    pub(super) const FOOTPRINT: f64 = 0.0014;
    /// All sockets at one sample, or none.
    pub(super) const SOCKETS: f64 = 0.0004;
    /// The page cache.
    pub(super) const PAGE_CACHE: f64 = 0.0002;
}

/// From one look at what costs the server itself something, or at every socket of the machine, to the next.
const SLOW_INTERVAL: Duration = Duration::from_secs(1);

/// Why a sample is taken.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// It is time for one.
    Due,
    /// It was asked for, so it has the processes and the machine, whatever that costs: a window ends, and what is not
    /// read on both of its sides is not known of it.
    Asked,
    /// It is the last one.
    Ending,
}

/// Samples a server.
pub(crate) struct Sampler {
    units: Units,
    buffer: Buffer,
    machine: Machine,
    group: Option<Optional>,
    limits: Limits,
    listener: Option<Listener>,
    tree: Tree,
    members: Members,
    /// Processes and threads that the machine had started when it was last looked at.
    forks: Option<u64>,
    /// There may be new processes of the server.
    may_have_newcomers: bool,
    processes_pace: Pace,
    machine_pace: Pace,
    newcomers_pace: Pace,
    threads_round: Round<Visit>,
    thread_times: ThreadTimes,
    switches_round: Round<Visit>,
    switch_counts: SwitchCounts,
    footprint_round: Round<u32>,
    footprint: Footprint,
    sockets_pace: Pace,
    sockets_due: Duration,
    page_cache_pace: Pace,
    page_cache_due: Duration,
}

impl Sampler {
    /// Finds the processes that are known by these marks, and that listen at this address.
    ///
    /// # Errors
    /// When files of the kernel that every Linux has cannot be read, or no more files may be opened.
    pub(crate) fn new(known: Vec<Known>, listen: Option<SocketAddr>, interval: Duration) -> io::Result<Self> {
        let now = clock::now();
        let pace = |share| Pace::new(share, interval, now);
        let mut buffer = Buffer::new();
        let group = known.iter().find_map(|one| one.marks.group.as_ref());
        let group = group.map(|folder| Optional::open(folder.join("cpu.stat")));
        let (mut tree, mut members) = (Tree::default(), Members::new(known)?);
        members.add_newcomers(&mut tree, &mut buffer, now)?;
        let limits = tree.pids().next().map(|pid| Limits::around(pid, &mut buffer)).unwrap_or_default();
        Ok(Self {
            units: Units::of_this_machine(),
            buffer,
            machine: Machine::open()?,
            group,
            limits,
            listener: listen.and_then(Listener::new),
            tree,
            members,
            forks: None,
            may_have_newcomers: false,
            processes_pace: pace(share::PROCESSES),
            machine_pace: pace(share::MACHINE),
            newcomers_pace: pace(share::NEWCOMERS),
            threads_round: Round::new(pace(share::THREADS), Duration::ZERO),
            thread_times: ThreadTimes::default(),
            switches_round: Round::new(pace(share::SWITCHES), Duration::ZERO),
            switch_counts: SwitchCounts::default(),
            footprint_round: Round::new(pace(share::FOOTPRINT), SLOW_INTERVAL),
            footprint: Footprint::empty(),
            sockets_pace: pace(share::SOCKETS),
            sockets_due: now,
            page_cache_pace: pace(share::PAGE_CACHE),
            page_cache_due: now,
        })
    }

    /// Whether no process of the server has been found.
    pub(crate) fn is_without_processes(&self) -> bool {
        self.tree.pids().next().is_none()
    }

    /// Reads everything that is due now, or asked for.
    ///
    /// # Errors
    /// When files of the kernel that every Linux has cannot be read, or no more files may be opened.
    pub(crate) fn sample(&mut self, cause: Cause) -> io::Result<Sample> {
        let asked = cause == Cause::Asked;
        let now = clock::now();
        let mut sample = Sample::at(now);
        let Self { buffer, units, machine, tree, members, .. } = self;
        sample.group =
            self.group.as_ref().and_then(|file| file.read(buffer, group::usage)).map(CpuTime::from);
        let read_machine = || {
            let (cpus, forks) = machine.cpus(buffer)?;
            self.may_have_newcomers |= forks != self.forks;
            self.forks = forks;
            let (tcp, sockets) = machine.tcp(buffer);
            (sample.cpus, sample.tcp, sample.sockets) = (Some(units.cpus(&cpus)), Some(tcp), Some(sockets));
            sample.listen_queue = self.listener.as_mut().and_then(Listener::queue);
            sample.throttling = self.limits.read(buffer);
            sample.pressure = Some(PressureSample::from(machine.pressure(buffer)));
            Ok::<(), io::Error>(())
        };
        within_or_asked(asked, &mut self.machine_pace, now, read_machine).transpose()?;
        if self.may_have_newcomers {
            let looked = within(&mut self.newcomers_pace, now, || members.add_newcomers(tree, buffer, now));
            self.may_have_newcomers = looked.transpose()?.is_none();
        }
        let read_processes = || tree.read(buffer, now);
        if let Some((together, gone)) = within_or_asked(asked, &mut self.processes_pace, now, read_processes)
        {
            sample.tree = Some(units.tree(together));
            sample.busiest_process = tree.busiest_process(units.ticks_per_s).map(BusiestProcess::from);
            // An id that is free again may have been given to a new process before anyone looked.
            self.may_have_newcomers |= gone > 0;
        }
        self.go_on_with_threads(now, &mut sample);
        if sample.tree.is_some() {
            sample.programs = Some(self.units.programs(self.tree.programs(), &self.tree.resident_pages()));
        }
        if now >= self.sockets_due {
            let time_wait = sample.sockets.and_then(|sockets| sockets.time_wait);
            if let Some(counted) = within(&mut self.sockets_pace, now, || sockets::counted(time_wait)) {
                sample.socket_states = counted;
                self.sockets_due = now + SLOW_INTERVAL;
            }
        }
        if asked || now >= self.page_cache_due {
            let Self { buffer, machine, page_cache_pace, .. } = self;
            sample.page_cache = within_or_asked(asked, page_cache_pace, now, || machine.page_cache(buffer));
            if sample.page_cache.is_some() {
                self.page_cache_due = now + SLOW_INTERVAL;
            }
        }
        self.go_on_with_rounds(now, &mut sample);
        sample.probe_cpu_s = clock::own_cpu_time().as_secs_f64();
        Ok(sample)
    }

    /// Looks for the busiest thread: among processes of one thread at once, and among others when a round ends.
    fn go_on_with_threads(&mut self, now: Duration, sample: &mut Sample) {
        let Self { buffer, tree, thread_times, .. } = self;
        let of_several: Vec<u32> =
            tree.thread_counts().filter(|(_, threads)| *threads > 1).map(|(pid, _)| pid).collect();
        let visits = || of_several.iter().copied().map(Visit::Process);
        let is_first = !thread_times.knows_all();
        let visit = |visit, left: &mut Visits| {
            if let Some(waited) = thread_times.visit(visit, left, buffer, now) {
                tree.count_waited(waited);
            }
        };
        self.threads_round.add_s(now, self.processes_pace.take_left_s());
        // What a thread waits before its first visit is never counted, so the first round goes through all at once.
        let has_ended = if is_first {
            self.threads_round.go_whole(now, visits, visit);
            true
        } else {
            self.threads_round.go_on(now, clock::own_cpu_time, visits, visit)
        };
        let found_of_several = if has_ended { thread_times.end_round() } else { None };
        let found = if of_several.is_empty() {
            sample.tree.and_then(|_| tree.busiest_single_thread())
        } else {
            // Before the second round nothing is known of the others.
            found_of_several
                .and_then(|found| busiest(tree.busiest_single_thread().into_iter().chain([found])))
        };
        sample.busiest_thread = found.map(BusiestThread::from);
    }

    /// Continues with what takes several samples, and adds what has come to its end.
    fn go_on_with_rounds(&mut self, now: Duration, sample: &mut Sample) {
        let Self { buffer, tree, switch_counts, footprint, .. } = self;
        let threads = || tree.thread_counts().map(|(pid, threads)| Visit::of_process(pid, threads));
        if self.switches_round.go_on(now, clock::own_cpu_time, threads, |visit, left| {
            switch_counts.visit(visit, left, buffer);
        }) {
            sample.context_switches = Some(switch_counts.end_round());
        }
        if self.footprint_round.go_on(
            now,
            clock::own_cpu_time,
            || tree.pids(),
            |pid, _| {
                footprint.visit(pid, buffer);
            },
        ) {
            sample.footprint = Some(std::mem::replace(footprint, Footprint::empty()));
        }
    }
}

/// Does some work if its pace allows it now.
fn within<T>(pace: &mut Pace, now: Duration, work: impl FnOnce() -> T) -> Option<T> {
    within_or_asked(false, pace, now, work)
}

/// Does some work if it was asked for, or its pace allows it now.
fn within_or_asked<T>(asked: bool, pace: &mut Pace, now: Duration, work: impl FnOnce() -> T) -> Option<T> {
    if !pace.allows(now) && !asked {
        return None;
    }
    let before = clock::own_cpu_time();
    let done = work();
    pace.spend(now, clock::own_cpu_time().saturating_sub(before));
    Some(done)
}
