//! The only place that reads a clock.

use loadcurve_plan::Nanos;
use rustix::time::{ClockId, Timespec};

/// The monotonic clock, which also runs on other processes' time lines of this machine.
#[must_use]
pub fn now() -> Nanos {
    read(ClockId::Monotonic)
}

/// Keeps the processor until then, and returns the clock's reading.
pub(crate) fn spin_until(end: Nanos) -> Nanos {
    loop {
        let now = now();
        if now >= end {
            return now;
        }
        std::hint::spin_loop();
    }
}

/// The processor time that the calling thread has used.
pub(crate) fn thread_cpu_time() -> Nanos {
    read(ClockId::ThreadCPUTime)
}

/// The length as the kernel's type.
pub(crate) fn timespec(length: Nanos) -> Timespec {
    const SECOND_NS: u64 = 1_000_000_000;
    Timespec {
        tv_sec: i64::try_from(length.0 / SECOND_NS).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(length.0 % SECOND_NS).unwrap_or(0),
    }
}

#[expect(clippy::disallowed_methods, reason = "this module is where the clock is read")]
fn read(clock: ClockId) -> Nanos {
    let time = rustix::time::clock_gettime(clock);
    Nanos(time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs())
}

/// An instant that stands for the moment zero, for protocols that count in instants: only what lies between two of theirs
/// counts.
#[cfg(feature = "tls")]
#[expect(clippy::disallowed_methods, reason = "this module is where the clock is read")]
pub(crate) fn zero() -> std::time::Instant {
    std::time::Instant::now()
}
