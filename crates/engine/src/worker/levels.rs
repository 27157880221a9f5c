//! How one level of a load goes over into the next, on the connections that are open.

use loadcurve_plan::Nanos;
use loadcurve_record::Recorder;

use super::{CONNECTS_PER_TURN, Worker, WorkerConfiguration};
use crate::connection::State;
use crate::io::{Carries, Slot};
use crate::scheduler::Scheduler;
use crate::work::{CarrierOf, Work};

/// What a worker takes from the plan of one level.
pub(crate) struct WorkerLevel<W: Work> {
    pub(crate) configuration: WorkerConfiguration<W>,
    /// How many of its slots the worker uses.
    pub(crate) slots: usize,
    /// When the level after it begins; never after the last one.
    pub(crate) handover: Nanos,
}

impl<I: Carries<CarrierOf<W>>, W: Work> Worker<I, W> {
    /// Prepares the first level, before the connections are opened.
    pub(crate) fn expect_level(&mut self, slots: usize) {
        self.used = slots;
        self.connections[slots..]
            .iter_mut()
            .for_each(|connection| connection.rests_until = Some(Nanos::NEVER));
    }

    /// Runs the first level until the next one begins, as [`Worker::run`].
    pub(crate) fn run_first_level(
        &mut self,
        level: WorkerLevel<W>,
        scheduler: &mut Scheduler,
        should_stop: impl Fn() -> bool,
        observe: impl FnMut(&mut Self),
    ) -> Nanos {
        self.configuration = level.configuration;
        self.handover = level.handover;
        self.run(scheduler, should_stop, observe)
    }

    /// Goes over from the level of `last` to the next one, which begins at `begins`, and runs that until the one after it
    /// begins. Returns when this worker began with it.
    ///
    /// What is under way continues, and is recorded where it was due: see [`Worker::take_ended_level`].
    pub(crate) fn run_next_level(
        &mut self,
        last: &Scheduler,
        begins: Nanos,
        level: WorkerLevel<W>,
        scheduler: &mut Scheduler,
        should_stop: impl Fn() -> bool,
        observe: impl FnMut(&mut Self),
    ) -> Nanos {
        debug_assert!(begins <= self.now, "a level begins before its time");
        self.record_unsent(last);
        self.record_all_counts();
        self.leave_slots(level.slots);
        self.recorder.begin_level(begins);
        self.recorder.open_window(scheduler.window());
        self.configuration = level.configuration;
        self.handover = level.handover;
        self.begun = 0;
        self.held_up = 0;
        self.await_endings();
        let began = self.now;
        self.use_slots(level.slots, scheduler, &should_stop);
        self.go_through(scheduler, should_stop, observe);
        began
    }

    /// Uses only the first `slots` from now on; the others' connections close when their requests have ended.
    fn leave_slots(&mut self, slots: usize) {
        for slot in slots..self.used {
            // As long as it rests, a slot is given nothing.
            self.connections[slot].rests_until = Some(Nanos::NEVER);
            self.surplus.push(slot);
        }
        if slots < self.used {
            self.free.retain(|slot| *slot < slots);
            self.connections[slots..].iter_mut().for_each(|connection| connection.is_listed = false);
            self.used = slots;
        }
        self.close_surplus();
    }

    /// Closes the connections that the level does not use and that carry nothing any more.
    pub(crate) fn close_surplus(&mut self) {
        let mut surplus = std::mem::take(&mut self.surplus);
        surplus.retain(|slot| !self.is_closed(*slot));
        self.surplus = surplus;
    }

    /// Whether a slot that is not used any more has come to rest, its connection closed.
    fn is_closed(&mut self, slot: Slot) -> bool {
        let connection = &mut self.connections[slot];
        if !connection.requests.is_empty() || !matches!(connection.state, State::Open | State::Closed) {
            return false;
        }
        connection.rests_until = Some(Nanos::NEVER);
        connection.spoiled_by = None;
        if connection.state == State::Open {
            self.disconnect(slot);
        }
        true
    }

    /// Uses `slots` from now on. Each of the new ones takes requests when its connection is open, as in a load that
    /// begins; meanwhile the others do.
    fn use_slots(&mut self, slots: usize, scheduler: &mut Scheduler, should_stop: impl Fn() -> bool) {
        let new = self.used..slots;
        self.used = self.used.max(slots);
        self.surplus.retain(|slot| !new.contains(slot));
        for slot in new {
            self.connections[slot].rests_until = None;
            self.connections[slot].free_since = Some(self.now);
            match self.connections[slot].state {
                State::Closed => self.connect(slot),
                State::Open => self.list_if_free(slot),
                State::Connecting | State::Handshaking | State::Protected => {}
            }
            if slot % CONNECTS_PER_TURN == CONNECTS_PER_TURN - 1 && !should_stop() {
                self.begin_due(scheduler);
                self.turn(Some(scheduler), self.now);
            }
        }
    }

    /// Takes the recording of the earliest level that is over, when the last of its requests has ended.
    pub(crate) fn take_ended_level(&mut self) -> Option<Recorder> {
        self.recorder.take_ended_level()
    }

    /// Takes the recordings of the levels before the present one, when the load was asked to stop: what of them is still
    /// under way is unanswered.
    pub(crate) fn take_earlier_levels(&mut self) -> Vec<Recorder> {
        self.give_up_waiting();
        std::iter::from_fn(|| self.recorder.take_earliest_level()).collect()
    }
}
