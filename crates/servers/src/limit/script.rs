//! A script of faults while it is played.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;
use std::thread;
use std::time::Duration;

use loadcurve_plan::{Purpose, Random};
use loadcurve_servers::http2::{Fate, Last};
use loadcurve_servers::reply::Outcome;
use rustix::event::Timespec;

use crate::clock;

use super::clients::{ClientId, Clients, Connection};
use super::faults::Faults;
use super::step::Step;

/// How many additions lie between two looks at the processor time: about a microsecond.
const ADDITIONS_PER_LOOK: u64 = 1000;

/// The faults, and how far the script has come.
pub(super) struct Script {
    faults: Faults,
    started: Duration,
    outcomes: Random,
    delays: Random,
    requests: u64,
    /// When answers are due that are sent late.
    delayed: Deadlines,
    /// When to see whether a client was silent for too long.
    silent: Deadlines,
    next_accept: Option<Duration>,
    threads: usize,
}

impl Script {
    /// The script of these faults, which starts now; `None` if there are no faults.
    pub(super) fn of(faults: Faults) -> Option<Self> {
        if faults == (Faults { seed: faults.seed, ..Faults::default() }) {
            return None;
        }
        let started = clock::monotonic();
        Some(Self {
            started,
            outcomes: Random::new(faults.seed, Purpose::Outcomes),
            delays: Random::new(faults.seed, Purpose::Delays),
            requests: 0,
            delayed: Deadlines::default(),
            silent: Deadlines::default(),
            next_accept: faults.accept_every.map(|every| started.saturating_add(every)),
            threads: 0,
            faults,
        })
    }

    /// Whether clients are accepted one by one at their times, and not as they come.
    pub(super) fn accepts_slowly(&self) -> bool {
        self.faults.accept_every.is_some()
    }

    /// How long the server may wait for an event; none stands for any time.
    pub(super) fn timeout(&self) -> Option<Timespec> {
        let deadlines = [self.delayed.next(), self.silent.next(), self.next_accept];
        let next = deadlines.into_iter().flatten().min()?;
        Timespec::try_from(next.saturating_sub(clock::monotonic())).ok()
    }

    /// The time, once the stall is over that may be under way: the server does nothing until then.
    pub(super) fn time_after_stall(&self) -> Duration {
        let now = clock::monotonic();
        let left = self.faults.stalls.and_then(|stalls| stalls.left(now.saturating_sub(self.started)));
        let Some(left) = left else { return now };
        clock::wait_until(now.saturating_add(left));
        clock::monotonic()
    }

    /// Begins with a connection.
    pub(super) fn welcome(&mut self, connection: &mut Connection) {
        let now = clock::monotonic();
        connection.last_active = now;
        // Any number but 0 has each page written, so that it is in use.
        connection.ballast = vec![1; self.faults.connection_memory_bytes];
        if let Some(idle_timeout) = self.faults.idle_timeout {
            self.silent.add(now.saturating_add(idle_timeout), connection.id);
        }
    }

    /// Starts the threads that this many connections ask for; they do nothing, and stay.
    pub(super) fn keep_up_threads(&mut self, open_connections: usize) {
        let Some(connections_per_thread) = self.faults.connections_per_thread else { return };
        while self.threads < open_connections / connections_per_thread {
            self.threads += 1;
            let started = thread::Builder::new().name("idle".into()).spawn(|| {
                loop {
                    thread::park();
                }
            });
            if let Err(error) = started {
                eprintln!("loadcurve-server: thread {} cannot be started: {error}", self.threads);
            }
        }
    }

    /// Has somebody look at a connection when its next answer is due.
    pub(super) fn watch(&mut self, connection: &mut Connection) {
        if let Some(due) = connection.next_due().filter(|_| !connection.is_awaited) {
            connection.is_awaited = true;
            self.delayed.add(due, connection.id);
        }
    }

    /// Does what has become due: sends answers, closes silent clients.
    pub(super) fn keep_time(&mut self, clients: &mut Clients, batch: &mut Vec<u8>) {
        let now = self.time_after_stall();
        while let Some(client) = self.delayed.next_due(now) {
            clients.with_client(client, |connection| {
                connection.is_awaited = false;
                connection.release(now, batch)?;
                self.watch(connection);
                Step::Continue(())
            });
        }
        let Some(idle_timeout) = self.faults.idle_timeout else { return };
        while let Some(client) = self.silent.next_due(now) {
            clients.with_client(client, |connection| {
                let silent_since = if connection.is_idle() { connection.last_active } else { now };
                let end = silent_since.saturating_add(idle_timeout);
                if end <= now {
                    return connection.close(batch);
                }
                self.silent.add(end, client);
                Step::Continue(())
            });
        }
    }

    /// Whether it is time to accept another client; the next time is then set.
    pub(super) fn is_time_to_accept(&mut self) -> bool {
        let (Some(next), Some(every)) = (self.next_accept, self.faults.accept_every) else { return false };
        let now = self.time_after_stall();
        let is_time = next <= now;
        if is_time {
            self.next_accept = Some(now.saturating_add(every));
        }
        is_time
    }

    /// Uses the processor time and the memory of one request.
    fn use_resources(&self) {
        if self.faults.leak_bytes > 0 {
            black_box(vec![1_u8; self.faults.leak_bytes].leak());
        }
        if self.faults.work > Duration::ZERO {
            let end = clock::thread_cpu_time().saturating_add(self.faults.work);
            while clock::thread_cpu_time() < end {
                black_box((0..ADDITIONS_PER_LOOK).fold(0, |sum, next| black_box(sum + next)));
            }
        }
    }

    /// What becomes of the next request, on a connection that was given this number of answers.
    fn fate(&mut self, answers: &mut u64, came: Duration) -> Fate {
        self.use_resources();
        let (delay, outcome) = self.draw();
        let due = (delay > Duration::ZERO).then_some(came.saturating_add(delay));
        if outcome == Outcome::Reset {
            return Fate { due, outcome, last: None };
        }
        *answers += 1;
        let last = self.faults.last_answer.filter(|last| last.number.get() <= *answers);
        Fate { due, outcome, last: last.map(|last| Last { is_announced: last.is_announced }) }
    }

    /// How late the next request is answered, and how.
    fn draw(&mut self) -> (Duration, Outcome) {
        let number = self.requests;
        self.requests += 1;
        if number < self.faults.spared_requests {
            return (Duration::ZERO, Outcome::Right);
        }
        let delay = self.faults.delay.filter(|delay| self.delays.unit_at(number) <= delay.share);
        let outcome = self.faults.outcomes.outcome(self.outcomes.unit_at(number));
        (delay.map_or(Duration::ZERO, |delay| delay.length), outcome)
    }
}

/// A script that is played on a connection.
pub(super) struct Played<'a> {
    pub(super) script: &'a mut Script,
    /// How many answers the connection was given.
    pub(super) answers: &'a mut u64,
    /// When the requests came.
    pub(super) came: Duration,
}

impl Played<'_> {
    /// What becomes of the next request.
    pub(super) fn fate(&mut self) -> Fate {
        self.script.fate(self.answers, self.came)
    }
}

/// Clients with the times at which something is due for them.
#[derive(Default)]
struct Deadlines {
    waiting: BinaryHeap<Reverse<(Duration, ClientId)>>,
}

impl Deadlines {
    fn add(&mut self, due: Duration, client: ClientId) {
        self.waiting.push(Reverse((due, client)));
    }

    fn next(&self) -> Option<Duration> {
        self.waiting.peek().map(|Reverse((due, _))| *due)
    }

    fn next_due(&mut self, now: Duration) -> Option<ClientId> {
        self.next().filter(|due| *due <= now)?;
        self.waiting.pop().map(|Reverse((_, client))| client)
    }
}
