//! The only place that reads a clock and waits.

use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::time::ClockId;

/// The monotonic clock, which every program of this machine reads alike.
pub(crate) fn now() -> Duration {
    read(ClockId::Monotonic)
}

/// The processor time that this process has used.
pub(crate) fn own_cpu_time() -> Duration {
    read(ClockId::ProcessCPUTime)
}

/// What the standard input was like at the end of a wait.
pub(crate) enum Input {
    /// Nothing came.
    Quiet,
    /// It can be read, or is closed.
    Ready,
}

/// Waits until `deadline`, or until there is something to read from the standard input or it is closed.
pub(crate) fn wait_for_input(deadline: Duration) -> Input {
    let stdin = std::io::stdin();
    loop {
        let left = deadline.saturating_sub(now());
        let Ok(timeout) = Timespec::try_from(left) else { return Input::Quiet };
        let mut watched = [PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut watched, Some(&timeout)) {
            Ok(0) => return Input::Quiet,
            Err(Errno::INTR) => {}
            // What goes wrong here will be reported by the reading.
            Ok(_) | Err(_) => return Input::Ready,
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "this module is where the clock is read")]
fn read(clock: ClockId) -> Duration {
    let time = rustix::time::clock_gettime(clock);
    Duration::try_from(time).unwrap_or_default()
}
