//! How the calling thread is scheduled: at once if the system allows it, and else how long it had to wait for a CPU.

use std::fs::File;
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt;

use loadcurve_plan::Nanos;
use rustix::thread::{CpuSet, sched_setaffinity, set_current_timer_slack};

/// Binds the calling thread to these CPUs, as far as they exist; to none in particular where there is none.
pub(crate) fn bind_to(cpus: &[usize]) {
    let mut set = CpuSet::new();
    cpus.iter().filter(|cpu| **cpu < CpuSet::MAX_CPU).for_each(|cpu| set.set(*cpu));
    if set.count() > 0 {
        // Where the kernel refuses, the thread watches the CPUs that it may run on.
        let _ = sched_setaffinity(None, &set);
    }
}

/// What tells a late wake by the platform from one for which other threads were running.
pub(crate) enum Waiting {
    /// The thread runs before all ordinary ones, so it does not wait for them.
    Never,
    /// It waits like all others, and the kernel adds up for how long.
    Counted { schedstat: File, until_now: Nanos },
}

impl Waiting {
    /// Asks for the real-time class, which needs a privilege. None where this is refused and the kernel does not count
    /// either: then nothing can be known.
    pub(crate) fn of_this_thread() -> Option<Self> {
        if became_real_time() {
            return Some(Self::Never);
        }
        // A timer of an ordinary thread may be 50 µs late by default.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        let schedstat = File::open("/proc/thread-self/schedstat").ok()?;
        let until_now = read(&schedstat)?;
        Some(Self::Counted { schedstat, until_now })
    }

    /// For how long the thread has waited for a CPU since it was last asked.
    pub(crate) fn since_last(&mut self) -> Nanos {
        match self {
            Self::Never => Nanos::ZERO,
            Self::Counted { schedstat, until_now } => {
                let Some(now) = read(schedstat) else { return Nanos::ZERO };
                let before = std::mem::replace(until_now, now);
                now - before
            }
        }
    }
}

/// The second number of the file: time on a run queue without a CPU, in ns.
fn read(schedstat: &File) -> Option<Nanos> {
    let mut bytes = [0; 96];
    let length = schedstat.read_at(&mut bytes, 0).ok()?;
    waited(std::str::from_utf8(&bytes[..length]).ok()?)
}

fn waited(schedstat: &str) -> Option<Nanos> {
    let mut numbers = schedstat.split_ascii_whitespace();
    // A kernel that does not count writes zeros, also for the time on a CPU.
    numbers.next().filter(|on_cpu| *on_cpu != "0")?;
    Some(Nanos(numbers.next()?.parse().ok()?))
}

#[expect(unsafe_code, reason = "no safe function changes a thread's class of scheduling")]
fn became_real_time() -> bool {
    // SAFETY: the kernel reads the whole structure, which outlives the call; 0 is the calling thread.
    unsafe {
        let mut lowest: libc::sched_param = std::mem::zeroed();
        lowest.sched_priority = 1;
        libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const lowest) == 0
    }
}

#[cfg(test)]
mod tests {
    use loadcurve_plan::Nanos;

    use super::waited;

    #[test]
    fn time_without_a_cpu_is_the_second_number() {
        assert_eq!(waited("1204 5300 17\n"), Some(Nanos(5300)));
    }

    #[test]
    fn a_kernel_that_does_not_count_says_nothing() {
        assert_eq!(waited("0 0 0\n"), None);
        assert_eq!(waited(""), None);
    }
}
