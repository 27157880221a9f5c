//! The only place that reads a clock and waits.

use loadcurve_plan::Nanos;
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec};

const SECOND_NS: u64 = 1_000_000_000;

/// The monotonic clock, which all processes of a machine share.
#[expect(clippy::disallowed_methods, reason = "this module is where the clock is read")]
pub(crate) fn now() -> Nanos {
    let time = rustix::time::clock_gettime(ClockId::Monotonic);
    Nanos(time.tv_sec.unsigned_abs() * SECOND_NS + time.tv_nsec.unsigned_abs())
}

/// Sleeps until a moment of the monotonic clock, or until a signal.
pub(crate) fn sleep_until(moment: Nanos) {
    let until = Timespec {
        tv_sec: i64::try_from(moment.0 / SECOND_NS).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(moment.0 % SECOND_NS).unwrap_or(0),
    };
    // Who wakes too early sees it on the clock.
    let _ = clock_nanosleep_absolute(ClockId::Monotonic, &until);
}
