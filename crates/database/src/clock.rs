//! What time it is, and waiting for a moment.

use std::io;
use std::os::fd::OwnedFd;

use loadcurve_plan::Nanos;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

const SECOND_NS: u64 = 1_000_000_000;

/// The clock that a load runs by: the machine's, or in tests a simulated one.
pub(crate) trait Clock: 'static {
    /// The time now.
    fn now(&self) -> Nanos;

    /// Waits for a moment, to the microsecond as far as the machine can.
    async fn sleep_until(&self, moment: Nanos);
}

/// The machine's monotonic clock, with a timer of the kernel's: those of the runtime are a millisecond apart.
pub(crate) struct MonotonicClock {
    timer: AsyncFd<OwnedFd>,
}

impl MonotonicClock {
    /// To be made where the thread's runtime is entered.
    #[expect(
        deprecated,
        reason = "the new constructor asks for unsafe code; an owned descriptor needs none of its care"
    )]
    pub(crate) fn new() -> io::Result<Self> {
        let timer =
            timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        Ok(Self { timer: AsyncFd::with_interest(timer, Interest::READABLE)? })
    }

    async fn wait(&self, moment: Nanos) -> io::Result<()> {
        let value = Timespec {
            tv_sec: i64::try_from(moment.0 / SECOND_NS).unwrap_or(i64::MAX),
            tv_nsec: i64::try_from(moment.0 % SECOND_NS).unwrap_or(0),
        };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
        timerfd_settime(self.timer.get_ref(), TimerfdTimerFlags::ABSTIME, &once)?;
        while self.now() < moment {
            // Setting the timer anew makes it unreadable again, so it need not be read.
            self.timer.readable().await?.clear_ready();
        }
        Ok(())
    }
}

impl Clock for MonotonicClock {
    fn now(&self) -> Nanos {
        loadcurve_engine::now()
    }

    async fn sleep_until(&self, moment: Nanos) {
        // The kernel refuses no such timer; if it did, requests would only be sent late, and lateness is measured.
        if self.wait(moment).await.is_err() {
            tokio::task::yield_now().await;
        }
    }
}
