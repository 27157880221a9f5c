//! The clock of these tests: the one that the engine reads, so that times of both sides can be compared.

use loadcurve_plan::Nanos;
use rustix::time::{ClockId, Timespec};

/// The monotonic clock's reading.
#[expect(
    clippy::disallowed_methods,
    reason = "what the engine measures is held against a clock of the test's own"
)]
pub(crate) fn now() -> Nanos {
    let time = rustix::time::clock_gettime(ClockId::Monotonic);
    Nanos(time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs())
}

/// Sleeps until that reading, so that one late wake does not delay the next, and returns how late this one was.
pub(crate) fn sleep_until(time: Nanos) -> Nanos {
    let (seconds, rest) = (time.0 / 1_000_000_000, time.0 % 1_000_000_000);
    let request = Timespec { tv_sec: seconds.try_into().unwrap(), tv_nsec: rest.try_into().unwrap() };
    while now() < time {
        // A sleep that a signal has cut short is begun again.
        let _ = rustix::thread::clock_nanosleep_absolute(ClockId::Monotonic, &request);
    }
    now() - time
}
