//! What the clients of one thread share: the next operation of the plan, the record, and who waits for what.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use loadcurve_engine::{Activity, Heard, Reach, Scheduler};
use loadcurve_plan::{Nanos, Share};
use loadcurve_record::{Answer, FailedRequest, Failure, Origin, Recorder};
use loadcurve_ycsb::{Operation, Operations};

use crate::clock::Clock;
use crate::database::Failed;
use crate::tallies::Tallies;

/// What a client has to make: one operation, or a batch of them, with one due time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Assignment {
    pub(crate) due: Nanos,
    pub(crate) operations: usize,
    /// From when on the client could have begun.
    pub(crate) free_since: Nanos,
}

/// How an operation was sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sending {
    pub(crate) at: Nanos,
    /// Whether the client was connected already.
    pub(crate) reused: bool,
    /// How long connecting took, where the client had to and that is known.
    pub(crate) connect: Option<Nanos>,
}

/// What a client gets that waits for something to fall due.
#[derive(Clone, Copy, Debug)]
enum Handed {
    Work(Assignment),
    /// Nothing falls due any more.
    End,
}

/// The place of one client among those of its thread.
struct ClientSlot {
    /// The number of the client in the whole load.
    client: usize,
    /// What has begun and not ended.
    under_way: Option<Assignment>,
    /// Until when that must be answered.
    deadline: Nanos,
    /// Whether it was not answered until then.
    is_overdue: bool,
    /// What it was handed while it waited.
    handed: Option<Handed>,
    free_since: Nanos,
    waker: Option<Waker>,
}

/// What the clients of one thread share. They take turns, so nothing of it stays borrowed while one waits.
pub(crate) struct ClientPool<C> {
    pub(crate) clock: Rc<C>,
    state: RefCell<State>,
}

struct State {
    scheduler: Scheduler,
    share: Share,
    operations: Operations,
    /// Operations made by this thread.
    made: u64,
    batch: usize,
    timeout: Nanos,
    tallies: Tallies,
    recorder: Recorder,
    activity: Arc<Activity>,
    reach: Reach,
    observe: Box<dyn FnMut(Nanos)>,
    slots: Vec<ClientSlot>,
    /// Clients that have not come to their end.
    clients: usize,
    /// Those that wait for an operation to fall due, the longest free one first.
    free: VecDeque<usize>,
    /// What fell due and was not begun by the end of the window although a client was free.
    held_up: u64,
    /// Wakes who hands out what falls due.
    dispatcher: Option<Waker>,
    /// Wakes who waits for the end of all clients.
    supervisor: Option<Waker>,
}

/// What a pool is made of.
pub(crate) struct PoolConfiguration {
    pub(crate) scheduler: Scheduler,
    pub(crate) share: Share,
    pub(crate) operations: Operations,
    pub(crate) batch: usize,
    pub(crate) timeout: Nanos,
    pub(crate) tallies: Tallies,
    /// What anybody can see of what became of the operations.
    pub(crate) activity: Arc<Activity>,
    /// What the threads of the load have heard of the database.
    pub(crate) heard: Arc<Heard>,
}

impl<C: Clock> ClientPool<C> {
    /// A pool for clients of these numbers, which have recorded how they were connected.
    pub(crate) fn new(
        clock: Rc<C>,
        configuration: PoolConfiguration,
        mut recorder: Recorder,
        clients: impl Iterator<Item = usize>,
        observe: Box<dyn FnMut(Nanos)>,
    ) -> Self {
        let PoolConfiguration { scheduler, share, operations, batch, timeout, tallies, activity, heard } =
            configuration;
        let mut reach = Reach::new(heard, timeout);
        reach.heard(clock.now());
        recorder.open_window(scheduler.window());
        let slot = |client| ClientSlot {
            client,
            under_way: None,
            deadline: Nanos::NEVER,
            is_overdue: false,
            handed: None,
            free_since: Nanos::ZERO,
            waker: None,
        };
        let slots: Vec<ClientSlot> = clients.map(slot).collect();
        let state = State {
            scheduler,
            share,
            operations,
            made: 0,
            batch,
            timeout,
            tallies,
            recorder,
            activity,
            reach,
            observe,
            clients: slots.len(),
            free: VecDeque::with_capacity(slots.len()),
            slots,
            held_up: 0,
            dispatcher: None,
            supervisor: None,
        };
        Self { clock, state: RefCell::new(state) }
    }

    /// What a client that is free from `now` on has to make next, and when it begins with it; none when there is no
    /// more. Where nothing is due yet it waits.
    pub(crate) async fn next(&self, slot: usize, now: Nanos) -> Option<(Assignment, Nanos)> {
        {
            let mut state = self.state.borrow_mut();
            if let Some(taken) = state.take(now, now) {
                state.slots[slot].under_way = Some(taken);
                return Some((taken, now));
            }
            state.scheduler.next_due(now)?;
            state.slots[slot].free_since = now;
            state.free.push_back(slot);
            wake(state.dispatcher.as_ref());
        }
        match poll_fn(|context| self.state.borrow_mut().slots[slot].poll_handed(context)).await {
            Handed::Work(taken) => Some((taken, self.clock.now())),
            Handed::End => None,
        }
    }

    /// Hands what falls due to the clients that wait for it, until no more does.
    pub(crate) async fn dispatch(&self) {
        loop {
            let now = self.clock.now();
            let next = self.state.borrow_mut().hand_out(now);
            match next {
                None => return,
                Some(due) => {
                    self.clock.sleep_until(due).await;
                    poll_fn(|context| self.state.borrow_mut().poll_free(context)).await;
                }
            }
        }
    }

    /// Makes the operations that a client has taken, in the place of those it made before.
    pub(crate) fn make(&self, operations: &mut [Operation]) {
        let state = &mut *self.state.borrow_mut();
        for operation in operations {
            state.operations.make(state.share.position(state.made), operation);
            state.made += 1;
        }
    }

    /// A client sends what it has taken.
    pub(crate) fn sent(&self, slot: usize, taken: Assignment, sending: Sending) {
        let state = &mut *self.state.borrow_mut();
        let Sending { at, reused, .. } = sending;
        state.slots[slot].deadline = at + state.timeout;
        state.slots[slot].is_overdue = false;
        for _ in 0..taken.operations {
            state.recorder.sent(taken.due, at, 0, reused);
            // A client that had to connect first was not ready when the operation fell due.
            if reused && state.scheduler.is_scheduled() {
                state.recorder.late_by(taken.due, at - taken.due.max(taken.free_since));
            }
        }
    }

    /// Whether the client's operation should have been answered by now; otherwise it is woken when that comes true.
    pub(crate) fn is_overdue(&self, slot: usize, context: &Context<'_>) -> bool {
        let slot = &mut self.state.borrow_mut().slots[slot];
        slot.remember(context);
        slot.is_overdue
    }

    /// The database has answered a client.
    pub(crate) fn answered(
        &self,
        slot: usize,
        taken: Assignment,
        operations: &[Operation],
        sending: Sending,
        done: Nanos,
    ) {
        let state = &mut *self.state.borrow_mut();
        state.note_window_end(done);
        for operation in operations {
            let answer = Answer {
                number: operation.record,
                operation: state.tallies.of(operation.kind),
                connection: state.slots[slot].client,
                due: taken.due,
                sent: sending.at,
                done,
                connect: sending.connect,
                shown: None,
            };
            if let Some(slow) = state.recorder.answered(&answer) {
                state.recorder.keep_slow(slow, None);
            }
            state.activity.answered(done - taken.due);
        }
        state.reach.heard(done);
        state.ended(slot, done);
    }

    /// The operations of a client have failed, before they were sent or after.
    pub(crate) fn failed(
        &self,
        slot: usize,
        taken: Assignment,
        operations: &[Operation],
        sending: Option<Sending>,
        done: Nanos,
        why: &Failed,
    ) {
        let state = &mut *self.state.borrow_mut();
        state.note_window_end(done);
        for operation in operations {
            let tally = state.tallies.of(operation.kind);
            let failed = FailedRequest {
                number: operation.record,
                operation: tally,
                connection: state.slots[slot].client,
                due: taken.due,
                sent: sending.map(|sending| sending.at),
                first_byte: None,
                failed: done,
                connect: sending.and_then(|sending| sending.connect),
                failure: why.failure,
            };
            if let Some(slow) = state.recorder.failed(&failed) {
                state.recorder.keep_slow(slow, None);
            }
            if !why.text.is_empty() {
                state.recorder.explained(taken.due, why.failure, tally, &why.text, None);
            }
            state.activity.failed(why.failure);
        }
        match why.failure {
            Failure::ConnectRefused | Failure::ConnectTimeout => state.reach.failed(),
            Failure::Timeout => state.reach.overdue(),
            failure if failure.row().origin == Origin::Answer => state.reach.heard(done),
            _ => {}
        }
        state.ended(slot, done);
    }

    /// A client has connected.
    pub(crate) fn connected(&self) {
        self.state.borrow_mut().reach.heard(self.clock.now());
    }

    /// What is recorded of the clients' connections.
    pub(crate) fn record(&self, record: impl FnOnce(&mut Recorder)) {
        record(&mut self.state.borrow_mut().recorder);
    }

    /// A client has come to its end.
    pub(crate) fn leave(&self) {
        let mut state = self.state.borrow_mut();
        state.clients -= 1;
        if state.clients == 0 {
            wake(state.supervisor.as_ref());
        }
    }

    /// Ready when all clients have come to their end.
    pub(crate) fn poll_all_left(&self, context: &Context<'_>) -> Poll<()> {
        let mut state = self.state.borrow_mut();
        if state.clients == 0 {
            return Poll::Ready(());
        }
        state.supervisor = Some(context.waker().clone());
        Poll::Pending
    }

    /// Wakes the clients whose operations should have been answered.
    pub(crate) fn look_after_deadlines(&self) {
        let now = self.clock.now();
        let state = &mut *self.state.borrow_mut();
        for slot in state.slots.iter_mut().filter(|slot| slot.deadline <= now) {
            slot.deadline = Nanos::NEVER;
            slot.is_overdue = true;
            wake(slot.waker.as_ref());
        }
        state.note_window_end(now);
        state.give_up_if_lost(now);
        let oldest = state.slots.iter().filter_map(|slot| slot.under_way).map(|taken| taken.due).min();
        state.activity.under_way_since(oldest.unwrap_or(Nanos::NEVER));
        (state.observe)(now);
    }

    /// Ends the record: what is under way is unanswered, what was due and never begun is never sent.
    pub(crate) fn finish(self) -> (Recorder, Nanos) {
        let ended = self.clock.now();
        let mut state = self.state.into_inner();
        state.reach.show(ended);
        for slot in &state.slots {
            slot.operations().for_each(|(client, due)| state.recorder.unanswered(client, due, ended));
        }
        state.recorder.never_sent(state.scheduler.never_begun(ended));
        state.recorder.never_sent_while_free = state.held_up;
        (state.recorder, ended)
    }
}

impl State {
    /// Takes what is due for a client, as many operations as go into a batch; `None` if nothing is due.
    fn take(&mut self, now: Nanos, free_since: Nanos) -> Option<Assignment> {
        let due = self.scheduler.next_due(now).filter(|due| *due <= now)?;
        let mut operations = 0;
        while operations < self.batch {
            // The others of a batch need not be due: it goes when its first is.
            let Some(next) = self.scheduler.next_due(now) else { break };
            self.scheduler.take(next);
            self.recorder.begun(due);
            operations += 1;
        }
        Some(Assignment { due, operations, free_since })
    }

    /// Hands what is due to free clients. Returns when the next is; none when no more falls due, which the clients that
    /// wait are woken.
    fn hand_out(&mut self, now: Nanos) -> Option<Nanos> {
        while let Some(&slot) = self.free.front() {
            let free_since = self.slots[slot].free_since;
            let Some(taken) = self.take(now, free_since) else { break };
            self.free.pop_front();
            let slot = &mut self.slots[slot];
            slot.under_way = Some(taken);
            slot.handed = Some(Handed::Work(taken));
            wake(slot.waker.as_ref());
        }
        let next = self.scheduler.next_due(now);
        if next.is_none() {
            let longest_free = self.free.front().map(|slot| self.slots[*slot].free_since);
            let was_given_up = self.recorder.lost.is_some();
            if !was_given_up && longest_free.is_some_and(|since| since < self.scheduler.window().end) {
                self.held_up = self.scheduler.never_begun(now);
            }
            for slot in self.free.drain(..) {
                let slot = &mut self.slots[slot];
                slot.handed = Some(Handed::End);
                wake(slot.waker.as_ref());
            }
        }
        next
    }

    /// Ends a load by number whose database is lost: it would go on for hours.
    fn give_up_if_lost(&mut self, now: Nanos) {
        if !self.scheduler.may_be_given_up() {
            return;
        }
        if let Some(lost) = self.reach.lost(now) {
            self.scheduler.give_up();
            self.recorder.lost_server(lost);
            wake(self.dispatcher.as_ref());
        }
    }

    /// Records what is under way at the end of the window, when that has come.
    fn note_window_end(&mut self, now: Nanos) {
        if self.recorder.has_window_to_end(now) {
            self.recorder.window_ended(self.slots.iter().flat_map(ClientSlot::operations));
        }
    }

    fn poll_free(&mut self, context: &Context<'_>) -> Poll<()> {
        if self.free.is_empty() {
            self.dispatcher = Some(context.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(())
    }

    fn ended(&mut self, slot: usize, done: Nanos) {
        let slot = &mut self.slots[slot];
        slot.under_way = None;
        slot.deadline = Nanos::NEVER;
        (self.observe)(done);
    }
}

impl ClientSlot {
    /// What has begun and not ended: for each operation the number of the client and when it was due.
    fn operations(&self) -> impl Iterator<Item = (usize, Nanos)> {
        let under_way = self.under_way.into_iter();
        under_way.flat_map(|taken| std::iter::repeat_n((self.client, taken.due), taken.operations))
    }

    fn poll_handed(&mut self, context: &Context<'_>) -> Poll<Handed> {
        if let Some(handed) = self.handed.take() {
            return Poll::Ready(handed);
        }
        self.remember(context);
        Poll::Pending
    }

    /// Remembers which task to wake; a client is the same task all its life, so that is mostly known.
    fn remember(&mut self, context: &Context<'_>) {
        if !self.waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
            self.waker = Some(context.waker().clone());
        }
    }
}

fn wake(waker: Option<&Waker>) {
    if let Some(waker) = waker {
        waker.wake_by_ref();
    }
}
