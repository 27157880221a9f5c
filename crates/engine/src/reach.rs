//! Whether the server of a load can be reached, and sends anything: one that does not ends a load that would go on by number.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use loadcurve_plan::Nanos;
use loadcurve_record::{Loss, LostServer};

/// How often in a timeout a thread shows when it last reached the server, and heard of it.
const SHOWN_PER_TIMEOUT: u64 = 10;
/// For how many timeouts a server may send nothing while it accepts connections, since its system does that for it,
const SILENT_TIMEOUTS: u64 = 3;
/// and how long it may at the least: a server that pauses has no longer pauses because a load's timeout is short.
const SILENCE_MIN: Nanos = Nanos::from_millis(10_000);

/// When the threads of a load last reached their server, and heard of it, as far as they have shown it.
#[derive(Debug, Default)]
pub struct Heard {
    reached: AtomicU64,
    heard: AtomicU64,
}

impl Heard {
    fn show(&self, reached: Nanos, heard: Nanos) {
        self.reached.fetch_max(reached.0, Ordering::Relaxed);
        self.heard.fetch_max(heard.0, Ordering::Relaxed);
    }
}

/// What one thread knows of its way to the server.
#[derive(Debug)]
pub struct Reach {
    /// What all threads know of it.
    all: Arc<Heard>,
    timeout: Nanos,
    /// When the server last accepted a connection or sent something, or the load began.
    reached: Nanos,
    /// When the server last sent something, or the load began.
    heard: Nanos,
    shown: Nanos,
    /// Whether an attempt to connect has failed since the server was reached.
    fails: bool,
    /// Whether something has waited for the server in vain since it was heard of.
    is_overdue: bool,
}

impl Reach {
    /// The way of a thread whose attempts to connect have this time, and whose requests have it, too.
    #[must_use]
    pub fn new(all: Arc<Heard>, timeout: Nanos) -> Self {
        let (reached, heard, shown) = (Nanos::ZERO, Nanos::ZERO, Nanos::ZERO);
        Self { all, timeout, reached, heard, shown, fails: false, is_overdue: false }
    }

    /// The server sent something. So it counts at the start of the load.
    pub fn heard(&mut self, now: Nanos) {
        self.reached(now);
        self.heard = now;
        self.is_overdue = false;
    }

    /// The server was heard of, if that is so.
    pub(crate) fn heard_if(&mut self, is_heard: bool, now: Nanos) {
        if is_heard {
            self.heard(now);
        }
    }

    /// The server, or its system, accepted a connection.
    pub(crate) fn reached(&mut self, now: Nanos) {
        self.reached = now;
        self.fails = false;
    }

    /// An attempt to connect has failed, and not for want of something here.
    pub fn failed(&mut self) {
        self.fails = true;
        self.is_overdue = true;
    }

    /// A request has waited for its answer in vain.
    pub fn overdue(&mut self) {
        self.is_overdue = true;
    }

    /// How the server is lost, if it is: attempts to connect fail, and no thread has reached it for a timeout; or what is sent
    /// waits in vain, and no thread has heard of it for some. To be asked often, and when the thread is done: the others
    /// learn by it what this one has heard.
    pub fn lost(&mut self, now: Nanos) -> Option<LostServer> {
        if now - self.shown >= Nanos(self.timeout.0 / SHOWN_PER_TIMEOUT) {
            self.show(now);
        }
        let silence = Nanos(self.timeout.0.saturating_mul(SILENT_TIMEOUTS)).max(SILENCE_MIN);
        let unreachable = (Loss::Unreachable, self.fails, self.reached, &self.all.reached, self.timeout);
        let silent = (Loss::Silent, self.is_overdue, self.heard, &self.all.heard, silence);
        [unreachable, silent].into_iter().find_map(|(how, is_likely, own, all, longest)| {
            if !is_likely || now - own < longest {
                return None;
            }
            let since = own.max(Nanos(all.load(Ordering::Relaxed)));
            (now - since >= longest).then_some(LostServer { how, since, given_up: now })
        })
    }

    /// Shows the other threads when this one last reached the server, and heard of it.
    pub fn show(&mut self, now: Nanos) {
        self.all.show(self.reached, self.heard);
        self.shown = now;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use loadcurve_plan::Nanos;
    use loadcurve_record::Loss;

    use super::{Heard, Reach};

    const TIMEOUT: Nanos = Nanos::from_millis(1_000);

    fn at(milliseconds: u64) -> Nanos {
        Nanos::from_millis(50_000 + milliseconds)
    }

    fn lost_since(reach: &mut Reach, now: Nanos) -> Option<Nanos> {
        reach.lost(now).map(|lost| lost.since)
    }

    fn reach(heard: &Arc<Heard>) -> Reach {
        let mut reach = Reach::new(Arc::clone(heard), TIMEOUT);
        reach.heard(at(0));
        reach
    }

    #[test]
    fn a_server_is_lost_a_timeout_after_it_was_last_heard_where_attempts_to_connect_fail() {
        let mut reach = reach(&Arc::default());
        assert_eq!(lost_since(&mut reach, at(5_000)), None, "nothing was tried");
        reach.heard(at(5_000));
        reach.failed();
        assert_eq!(lost_since(&mut reach, at(5_999)), None);
        assert_eq!(lost_since(&mut reach, at(6_000)), Some(at(5_000)));
    }

    #[test]
    fn one_that_is_heard_again_is_not_lost() {
        let mut reach = reach(&Arc::default());
        reach.failed();
        reach.heard(at(999));
        assert_eq!(lost_since(&mut reach, at(1_500)), None);
        assert_eq!(lost_since(&mut reach, at(9_000)), None, "no attempt has failed since");
    }

    #[test]
    fn it_is_not_lost_for_one_thread_while_another_one_hears_of_it() {
        let heard = Arc::default();
        let (mut lost, mut served) = (reach(&heard), reach(&heard));
        lost.failed();
        for milliseconds in (0..=3_000).step_by(20) {
            served.heard(at(milliseconds));
            assert_eq!(lost_since(&mut served, at(milliseconds)), None);
            assert_eq!(lost_since(&mut lost, at(milliseconds)), None);
        }
        // What the other one has heard was shown up to a tenth of the timeout ago.
        let since =
            (3_900..=4_000).step_by(20).find_map(|milliseconds| lost_since(&mut lost, at(milliseconds)));
        assert!(since.is_some_and(|since| since >= at(2_900) && since <= at(3_000)), "{since:?}");
    }
    #[test]
    fn one_that_accepts_connections_and_sends_nothing_is_lost_after_some_timeouts_and_10_s() {
        for (timeout_ms, lost_ms) in [(1_000, 10_000), (5_000, 15_000)] {
            let mut reach = Reach::new(Arc::default(), Nanos::from_millis(timeout_ms));
            reach.heard(at(0));
            // Its system accepts a connection each second.
            for milliseconds in (0..lost_ms).step_by(1_000) {
                reach.reached(at(milliseconds));
                reach.overdue();
                assert_eq!(reach.lost(at(milliseconds)), None);
            }
            let lost = reach.lost(at(lost_ms)).unwrap();
            assert_eq!((lost.how, lost.since, lost.given_up), (Loss::Silent, at(0), at(lost_ms)));
        }
    }

    #[test]
    fn one_that_sends_something_now_and_then_or_is_asked_nothing_is_not_lost() {
        let mut drips = reach(&Arc::default());
        for milliseconds in (0..60_000).step_by(1_000) {
            drips.overdue();
            drips.heard(at(milliseconds));
            assert_eq!(drips.lost(at(milliseconds + 999)), None);
        }
        assert_eq!(drips.lost(at(600_000)), None, "nothing has waited since");
    }
}
