//! How a thread waits: it sleeps, or it polls to be punctual and to spare its server the cost of waking it.

use loadcurve_plan::{Load, Nanos, Waiting as Choice};

use super::Worker;
use crate::io::{Carries, Looked};
use crate::part::Polling;
use crate::scheduler::Scheduler;
use crate::thread;
use crate::work::{CarrierOf, Work};

/// A sleep shorter than this ends so late that the answers it sleeps over seem slow.
const SHORTEST_SLEEP: Nanos = Nanos(80_000);
/// The last stretch before a request is due, in which a thread that may polls instead of sleeping.
const PUNCTUAL: Nanos = Nanos(80_000);

/// For what a thread may keep its processor busy while it waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// For nothing: others want the processor.
    Sleeping,
    /// For requests that are due soon.
    Punctual,
    /// For these, and for answers.
    Polling,
}

impl Waiting {
    /// That of the threads of a load. Polling takes a whole processor, which only a machine with more of them than threads
    /// can spare.
    pub(crate) fn of<P>(plan: &Load<P>) -> Self {
        let can_spare = thread::online_cpus().is_some_and(|cpus| cpus > plan.threads);
        match plan.waiting {
            _ if !can_spare => Self::Sleeping,
            Choice::Sleep => Self::Punctual,
            Choice::Auto => Self::Polling,
        }
    }

    /// Whether it polls for answers.
    pub(super) fn polls(self) -> bool {
        self == Self::Polling
    }
}

impl<I: Carries<CarrierOf<W>>, W: Work> Worker<I, W> {
    /// Turns when something happens or is due.
    ///
    /// A sleeping thread is woken some tens of microseconds late, so the last stretch before a request is due is spent
    /// polling, where that may take a processor for itself.
    pub(super) fn wait_for_work(&mut self, scheduler: &Scheduler) {
        let due = if self.free.is_empty() { None } else { scheduler.next_due(self.now) };
        let wake = self.next_wake(scheduler);
        let is_expected = due == Some(wake) || wake == self.handover;
        let may_be_punctual = self.configuration.waiting != Waiting::Sleeping;
        let is_punctual = may_be_punctual && scheduler.is_scheduled() && is_expected;
        if is_punctual && wake - self.now <= SHORTEST_SLEEP + PUNCTUAL {
            self.poll(scheduler, wake);
            return;
        }
        let sleep_until = if is_punctual { wake - PUNCTUAL } else { wake };
        // Without a request under way there is no answer to poll for.
        let poll_for = if self.in_flight > 0 { self.patience.left() } else { Nanos::ZERO };
        if poll_for > Nanos::ZERO {
            let before = self.now;
            let (looked, found) = self.poll(scheduler, sleep_until.min(before + poll_for));
            if self.patience.polled(looked, self.now - before, found) {
                self.patience.lost_time(self.now, thread::run_delay());
            }
        } else {
            let before = self.now;
            if self.turn(Some(scheduler), sleep_until) {
                self.patience.slept(self.now - before);
            }
        }
    }

    /// Turns as soon as something happens, without sleeping; says whether anything did.
    fn poll(&mut self, scheduler: &Scheduler, until: Nanos) -> (Looked, bool) {
        let pause = self.patience.pause();
        let looked = self.io.look(until, pause);
        self.now = looked.now;
        let found = self.go_on_with_turn(Some(scheduler));
        self.polling.spent = self.polling.spent + looked.spent;
        self.polling.found += u64::from(found && looked.spent > Nanos::ZERO);
        self.polling.longest_pause = self.polling.longest_pause.max(pause);
        (looked, found)
    }

    /// How the worker has waited without sleeping.
    pub(crate) fn polling(&self) -> Polling {
        self.polling
    }
}
