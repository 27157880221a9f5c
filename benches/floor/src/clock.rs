//! The only place of this program that reads a clock.

use std::time::Duration;

use rustix::time::{ClockId, Timespec};

/// The monotonic clock, since some fixed moment.
pub(crate) fn now() -> Duration {
    read(ClockId::Monotonic)
}

/// The processor time that the calling thread has used.
pub(crate) fn thread_cpu_time() -> Duration {
    read(ClockId::ThreadCPUTime)
}

/// A length, or a moment of the monotonic clock, as the kernel's type.
pub(crate) fn timespec(length: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(length.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: length.subsec_nanos().into(),
    }
}

#[expect(clippy::disallowed_methods, reason = "this module is where the clock is read")]
fn read(clock: ClockId) -> Duration {
    let time = rustix::time::clock_gettime(clock);
    Duration::from_secs(time.tv_sec.unsigned_abs()) + Duration::from_nanos(time.tv_nsec.unsigned_abs())
}
