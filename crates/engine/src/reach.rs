//! Whether the server of a load can be reached at all: one that cannot be ends a load that would go on by number.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use loadcurve_plan::Nanos;

/// How often in a timeout a thread shows when it last heard of the server.
const SHOWN_PER_TIMEOUT: u64 = 10;

/// When the threads of a load last heard of their server, as far as they have shown it.
#[derive(Debug, Default)]
pub struct Heard(AtomicU64);

impl Heard {
    fn show(&self, last: Nanos) {
        self.0.fetch_max(last.0, Ordering::Relaxed);
    }

    fn last(&self) -> Nanos {
        Nanos(self.0.load(Ordering::Relaxed))
    }
}

/// What one thread knows of its way to the server.
#[derive(Debug)]
pub struct Reach {
    /// What all threads know of it.
    heard: Arc<Heard>,
    timeout: Nanos,
    /// When the server was last heard of, or the load began.
    last: Nanos,
    shown: Nanos,
    /// Whether an attempt to connect has failed since.
    fails: bool,
}

impl Reach {
    /// The way of a thread whose attempts to connect have this time.
    #[must_use]
    pub fn new(heard: Arc<Heard>, timeout: Nanos) -> Self {
        Self { heard, timeout, last: Nanos::ZERO, shown: Nanos::ZERO, fails: false }
    }

    /// The server was heard of: it accepted a connection, or sent something. So it counts at the start of the load.
    pub fn heard(&mut self, now: Nanos) {
        self.last = now;
        self.fails = false;
    }

    /// The server was heard of, if that is so.
    pub(crate) fn heard_if(&mut self, is_heard: bool, now: Nanos) {
        if is_heard {
            self.heard(now);
        }
    }

    /// An attempt to connect has failed, and not for want of something here.
    pub fn failed(&mut self) {
        self.fails = true;
    }

    /// Since when no thread has heard anything, if attempts to connect fail and that is a timeout ago. To be asked often, and
    /// when the thread is done: the others learn by it what this one has heard.
    pub fn lost_since(&mut self, now: Nanos) -> Option<Nanos> {
        if now - self.shown >= Nanos(self.timeout.0 / SHOWN_PER_TIMEOUT) {
            self.show(now);
        }
        if !self.fails || now - self.last < self.timeout {
            return None;
        }
        let last = self.last.max(self.heard.last());
        (now - last >= self.timeout).then_some(last)
    }

    /// Shows the other threads when this one last heard of the server.
    pub fn show(&mut self, now: Nanos) {
        self.heard.show(self.last);
        self.shown = now;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use loadcurve_plan::Nanos;

    use super::{Heard, Reach};

    const TIMEOUT: Nanos = Nanos::from_millis(1_000);

    fn at(milliseconds: u64) -> Nanos {
        Nanos::from_millis(50_000 + milliseconds)
    }

    fn reach(heard: &Arc<Heard>) -> Reach {
        let mut reach = Reach::new(Arc::clone(heard), TIMEOUT);
        reach.heard(at(0));
        reach
    }

    #[test]
    fn a_server_is_lost_a_timeout_after_it_was_last_heard_where_attempts_to_connect_fail() {
        let mut reach = reach(&Arc::default());
        assert_eq!(reach.lost_since(at(5_000)), None, "nothing was tried");
        reach.heard(at(5_000));
        reach.failed();
        assert_eq!(reach.lost_since(at(5_999)), None);
        assert_eq!(reach.lost_since(at(6_000)), Some(at(5_000)));
    }

    #[test]
    fn one_that_is_heard_again_is_not_lost() {
        let mut reach = reach(&Arc::default());
        reach.failed();
        reach.heard(at(999));
        assert_eq!(reach.lost_since(at(1_500)), None);
        assert_eq!(reach.lost_since(at(9_000)), None, "no attempt has failed since");
    }

    #[test]
    fn it_is_not_lost_for_one_thread_while_another_one_hears_of_it() {
        let heard = Arc::default();
        let (mut lost, mut served) = (reach(&heard), reach(&heard));
        lost.failed();
        for milliseconds in (0..=3_000).step_by(20) {
            served.heard(at(milliseconds));
            assert_eq!(served.lost_since(at(milliseconds)), None);
            assert_eq!(lost.lost_since(at(milliseconds)), None);
        }
        // What the other one has heard was shown up to a tenth of the timeout ago.
        let since = (3_900..=4_000).step_by(20).find_map(|milliseconds| lost.lost_since(at(milliseconds)));
        assert!(since.is_some_and(|since| since >= at(2_900) && since <= at(3_000)), "{since:?}");
    }
}
