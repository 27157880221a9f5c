//! The thread that a worker runs on: its processor and what it costs.

use std::fs;
use std::num::NonZeroU64;

use loadcurve_plan::Nanos;
use rustix::thread::{CpuSet, sched_setaffinity, set_current_timer_slack};

use crate::part::CpuUse;
use crate::{clock, ranges};

/// Binds the calling thread to one processor.
///
/// # Errors
/// The kernel's reason: the processor does not exist or is not allowed.
pub(crate) fn bind_to_cpu(cpu: usize) -> Result<(), String> {
    let refused = |reason: &str| format!("thread cannot be bound to CPU {cpu}: {reason}");
    if cpu >= CpuSet::MAX_CPU {
        return Err(refused("no such CPU"));
    }
    let mut cpus = CpuSet::new();
    cpus.set(cpu);
    sched_setaffinity(None, &cpus).map_err(|errno| refused(&errno.to_string()))
}

/// How many processors this machine has, those included that this process is kept from: a harness that is bound to the
/// load's side leaves the others to the server.
pub(crate) fn online_cpus() -> Option<usize> {
    let online = ranges::parse(&fs::read_to_string("/sys/devices/system/cpu/online").ok()?)?;
    Some(online.into_iter().map(Iterator::count).sum())
}

/// Lets the kernel wake the calling thread exactly when asked, not up to 50 µs later, which is its default.
pub(crate) fn ask_for_exact_timers() {
    // Without this the timers are merely later, and lateness is measured.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
}

/// Processor time of one thread.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CpuTime {
    total: Nanos,
    user_ticks: u64,
    system_ticks: u64,
    voluntary_switches: u64,
}

impl CpuTime {
    /// What the calling thread has used so far.
    pub(crate) fn read() -> Self {
        let (user_ticks, system_ticks) = ticks().unwrap_or_default();
        let voluntary_switches = voluntary_switches().unwrap_or_default();
        Self { total: clock::thread_cpu_time(), user_ticks, system_ticks, voluntary_switches }
    }

    /// What was used since `earlier`, none of it in looking for work.
    ///
    /// The sum of user and system time is exact; the kernel splits it by ticks of 10 ms, so the parts are rough over a
    /// short time.
    pub(crate) fn since(self, earlier: Self) -> CpuUse {
        let total = self.total - earlier.total;
        let user_ticks = self.user_ticks.saturating_sub(earlier.user_ticks) as f64;
        let system_ticks = self.system_ticks.saturating_sub(earlier.system_ticks) as f64;
        let all_ticks = user_ticks + system_ticks;
        let user_share = if all_ticks > 0.0 { user_ticks / all_ticks } else { 0.0 };
        let user = Nanos::from_secs_f64(total.as_secs_f64() * user_share);
        let voluntary_switches = self.voluntary_switches.saturating_sub(earlier.voluntary_switches);
        CpuUse { user, system: total - user, voluntary_switches, ..CpuUse::default() }
    }
}

/// How long the calling thread could have run and waited for its processor: the second field of its `schedstat` file
/// (Documentation/scheduler/sched-stats.rst).
pub(crate) fn run_delay() -> Option<Nanos> {
    let schedstat = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Nanos(schedstat.split_whitespace().nth(1)?.parse().ok()?))
}

/// The calling thread's user and system ticks: fields 14 and 15 of its `stat` file (proc(5)).
fn ticks() -> Option<(u64, u64)> {
    let stat = fs::read_to_string("/proc/thread-self/stat").ok()?;
    // The second field, the name, may contain spaces and parentheses; the third begins after the last parenthesis.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// How often the calling thread has given up its processor to wait: a line of its `status` file (proc(5)).
fn voluntary_switches() -> Option<u64> {
    let status = fs::read_to_string("/proc/thread-self/status").ok()?;
    status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::{CpuTime, online_cpus};

    #[test]
    fn each_wait_for_what_does_not_come_is_a_voluntary_switch() {
        let (_sender, never) = mpsc::channel::<()>();
        let before = CpuTime::read();
        for _ in 0..20 {
            assert!(never.recv_timeout(Duration::from_millis(1)).is_err());
        }
        let switches = CpuTime::read().since(before).voluntary_switches;
        assert!((20..40).contains(&switches), "{switches}");
    }

    #[test]
    fn this_machine_has_as_many_processors_as_its_kernel_counts_times_for() {
        let stat = std::fs::read_to_string("/proc/stat").unwrap();
        let counted =
            stat.lines().filter(|line| line.starts_with("cpu") && !line.starts_with("cpu ")).count();
        assert_eq!(online_cpus(), Some(counted));
    }
}
