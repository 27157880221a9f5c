//! One line of the output: what was read at one moment.
//!
//! Times and counters count from the start of the process or the machine, so that any two lines give what happened
//! between them. What was not read at this moment, or is not reported by this kernel, is null.

use std::collections::BTreeMap;
use std::time::Duration;

use loadcurve_pauses::{Nanos, Pause};
use serde::Serialize;

use crate::busiest::{BusiestProcess, BusiestThread};
use crate::family::Counts;
use crate::footprint::Footprint;
use crate::listen_queue::ListenQueue;
use crate::machine::{PageCache, Pressure, Sockets, TcpCounters};
use crate::parse::group::GroupUsage;
use crate::parse::machine::{CpuTicks, Stalled};
use crate::parse::process::ProgramName;
use crate::programs::Spent;
use crate::sockets::SocketStates;
use crate::switches::SwitchesFound;
use crate::throttle::Throttling;
use crate::tree::Together;

/// The first line.
#[derive(Debug, Serialize)]
pub(crate) struct Header {
    pub(crate) format: &'static str,
    pub(crate) interval_s: f64,
}

/// Every other line.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Sample {
    /// The monotonic clock.
    pub(crate) t_s: f64,
    /// Processor time of the probe itself.
    pub(crate) probe_cpu_s: f64,
    /// Processor time of the server's control group: exact, whatever comes and goes.
    pub(crate) group: Option<CpuTime>,
    pub(crate) tree: Option<TreeSample>,
    /// What each program of the server has used and waited for.
    pub(crate) programs: Option<BTreeMap<String, ProgramSample>>,
    pub(crate) busiest_process: Option<BusiestProcess>,
    pub(crate) busiest_thread: Option<BusiestThread>,
    pub(crate) context_switches: Option<SwitchesFound>,
    pub(crate) footprint: Option<Footprint>,
    pub(crate) cpus: Option<CpusSample>,
    pub(crate) tcp: Option<TcpCounters>,
    pub(crate) sockets: Option<Sockets>,
    /// Of the address at which the server listens.
    pub(crate) listen_queue: Option<ListenQueue>,
    pub(crate) socket_states: Option<SocketStates>,
    pub(crate) throttling: Option<Throttling>,
    pub(crate) pressure: Option<PressureSample>,
    pub(crate) page_cache: Option<PageCache>,
    /// Those of the server's CPUs that ended since the sample before.
    pub(crate) pauses: Option<Vec<PauseSample>>,
}

impl Sample {
    /// A sample of this moment in which nothing has been read.
    pub(crate) fn at(now: Duration) -> Self {
        Self { t_s: now.as_secs_f64(), ..Self::default() }
    }
}

/// Processor time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct CpuTime {
    cpu_user_s: f64,
    cpu_system_s: f64,
}

/// The server's processes together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct TreeSample {
    #[serde(flatten)]
    cpu: CpuTime,
    /// Resident memory; a page that several processes share counts for each of them.
    memory_bytes: u64,
    processes: u64,
    threads: u64,
    /// Pages that were not there when they were needed, and came without reading a disk.
    minor_faults: u64,
    major_faults: u64,
}

/// The processes of one program.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct ProgramSample {
    cpu_s: f64,
    /// For how long their threads could run and waited for a CPU, all together.
    run_delay_s: Option<f64>,
    /// Resident memory; a page that several processes share counts for each of them.
    memory_bytes: u64,
}

/// What each CPU did, in the order of `cpu`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct CpusSample {
    cpu: Vec<u32>,
    user_s: Vec<f64>,
    system_s: Vec<f64>,
    irq_s: Vec<f64>,
    softirq_s: Vec<f64>,
    steal_s: Vec<f64>,
    idle_s: Vec<f64>,
}

/// For how long some work, or all of it, waited for a resource.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct PressureSample {
    cpu_some_s: Option<f64>,
    memory_some_s: Option<f64>,
    memory_full_s: Option<f64>,
    io_some_s: Option<f64>,
    io_full_s: Option<f64>,
}

/// A stretch in which a CPU did not run, by the monotonic clock: it began between the first two moments.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct PauseSample {
    earliest_s: f64,
    latest_s: f64,
    end_s: f64,
}

/// The kernel's units.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Units {
    pub(crate) ticks_per_s: f64,
    page_bytes: u64,
}

impl Units {
    /// Those of this machine.
    pub(crate) fn of_this_machine() -> Self {
        Self {
            ticks_per_s: rustix::param::clock_ticks_per_second() as f64,
            page_bytes: rustix::param::page_size() as u64,
        }
    }

    /// The processes, in seconds and bytes.
    pub(crate) fn tree(self, together: Together) -> TreeSample {
        TreeSample {
            cpu: self.cpu_time(together.used),
            memory_bytes: together.resident_pages.saturating_mul(self.page_bytes),
            processes: together.processes,
            threads: together.threads,
            minor_faults: together.used.faults.minor,
            major_faults: together.used.faults.major,
        }
    }

    /// The CPUs, in seconds.
    pub(crate) fn cpus(self, cpus: &[CpuTicks]) -> CpusSample {
        let column = |part: fn(&CpuTicks) -> u64| cpus.iter().map(|cpu| self.seconds(part(cpu))).collect();
        CpusSample {
            cpu: cpus.iter().map(|cpu| cpu.cpu).collect(),
            user_s: column(|cpu| cpu.user),
            system_s: column(|cpu| cpu.system),
            irq_s: column(|cpu| cpu.irq),
            softirq_s: column(|cpu| cpu.softirq),
            steal_s: column(|cpu| cpu.steal),
            idle_s: column(|cpu| cpu.idle),
        }
    }

    fn cpu_time(self, used: Counts) -> CpuTime {
        CpuTime { cpu_user_s: self.seconds(used.user), cpu_system_s: self.seconds(used.system) }
    }

    /// What the programs of the server have used and waited for, in seconds.
    pub(crate) fn programs<'a>(
        self,
        spent: impl Iterator<Item = (&'a ProgramName, Spent)>,
        resident_pages: &BTreeMap<ProgramName, u64>,
    ) -> BTreeMap<String, ProgramSample> {
        let sample = |name: &ProgramName, spent: Spent| ProgramSample {
            cpu_s: self.seconds(spent.ticks),
            run_delay_s: spent.waited_ns.map(|waited_ns| waited_ns as f64 / 1e9),
            memory_bytes: resident_pages.get(name).unwrap_or(&0).saturating_mul(self.page_bytes),
        };
        spent.map(|(name, spent)| (name.to_string(), sample(name, spent))).collect()
    }

    fn seconds(self, ticks: u64) -> f64 {
        ticks as f64 / self.ticks_per_s
    }
}

impl From<GroupUsage> for CpuTime {
    fn from(usage: GroupUsage) -> Self {
        Self { cpu_user_s: seconds_of_us(usage.user_us), cpu_system_s: seconds_of_us(usage.system_us) }
    }
}

impl From<Pressure> for PressureSample {
    fn from(pressure: Pressure) -> Self {
        let some = |stalled: Option<Stalled>| stalled.map(|stalled| seconds_of_us(stalled.some_us));
        let full = |stalled: Option<Stalled>| stalled.and_then(|stalled| stalled.full_us).map(seconds_of_us);
        Self {
            cpu_some_s: some(pressure.cpu),
            memory_some_s: some(pressure.memory),
            memory_full_s: full(pressure.memory),
            io_some_s: some(pressure.io),
            io_full_s: full(pressure.io),
        }
    }
}

impl From<Pause> for PauseSample {
    fn from(pause: Pause) -> Self {
        let [earliest_s, latest_s, end_s] = [pause.earliest, pause.latest, pause.end].map(Nanos::as_secs_f64);
        Self { earliest_s, latest_s, end_s }
    }
}

fn seconds_of_us(us: u64) -> f64 {
    us as f64 / 1e6
}
