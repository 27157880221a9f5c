//! The only place where the servers read a clock or wait for a time.

use std::time::{Duration, SystemTime};

use rustix::event::{Timespec, poll};
use rustix::time::ClockId;

/// The time of day, for the date of an answer.
#[expect(clippy::disallowed_methods, reason = "this module is where the servers read the clock")]
pub(crate) fn now() -> SystemTime {
    SystemTime::now()
}

/// The monotonic clock, for what a script does at its time.
pub(crate) fn monotonic() -> Duration {
    read(ClockId::Monotonic)
}

/// The instant at which the monotonic clock was zero, for a protocol that counts in instants.
#[cfg(feature = "tls")]
#[expect(clippy::disallowed_methods, reason = "this module is where the servers read the clock")]
pub(crate) fn zero() -> std::time::Instant {
    let now = std::time::Instant::now();
    now.checked_sub(monotonic()).unwrap_or(now)
}

/// The processor time that this thread has used.
pub(crate) fn thread_cpu_time() -> Duration {
    read(ClockId::ThreadCPUTime)
}

/// Waits until the monotonic clock has reached `time`.
pub(crate) fn wait_until(time: Duration) {
    loop {
        let left = time.saturating_sub(monotonic());
        let Ok(timeout) = Timespec::try_from(left) else { return };
        if left.is_zero() {
            return;
        }
        // A signal that ends the wait early makes it begin again.
        let _ = poll(&mut [], Some(&timeout));
    }
}

#[expect(clippy::disallowed_methods, reason = "this module is where the servers read the clock")]
fn read(clock: ClockId) -> Duration {
    Duration::try_from(rustix::time::clock_gettime(clock)).unwrap_or_default()
}
