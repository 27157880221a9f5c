//! A script of faults: what becomes of each request, and when.

use std::hint::black_box;
use std::thread;
use std::time::Duration;

use loadcurve_plan::{Purpose, Random};
use loadcurve_servers::http2::{Fate, Last};
use loadcurve_servers::reply::Outcome;

use crate::clock;

use super::faults::Faults;

/// How many additions lie between two looks at the processor time: about a microsecond.
const ADDITIONS_PER_LOOK: u64 = 1000;

/// The faults, and how far the script has come.
pub(super) struct Script {
    faults: Faults,
    started: Duration,
    outcomes: Random,
    delays: Random,
    requests: u64,
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
            next_accept: faults.accept_every.map(|every| started.saturating_add(every)),
            threads: 0,
            faults,
        })
    }

    /// What it consists of.
    pub(super) fn faults(&self) -> &Faults {
        &self.faults
    }

    /// When the next client is accepted, where they are accepted one by one.
    pub(super) fn next_accept(&self) -> Option<Duration> {
        self.next_accept
    }

    /// Whether clients are accepted one by one at their times, and not as they come.
    pub(super) fn accepts_slowly(&self) -> bool {
        self.faults.accept_every.is_some()
    }

    /// The time, once the stall is over that may be under way: the server does nothing until then.
    pub(super) fn time_after_stall(&self) -> Duration {
        let now = clock::monotonic();
        let left = self.faults.stalls.and_then(|stalls| stalls.left(now.saturating_sub(self.started)));
        let Some(left) = left else { return now };
        clock::wait_until(now.saturating_add(left));
        clock::monotonic()
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
            return Fate { due, outcome, ..Fate::default() };
        }
        *answers += 1;
        let last = self.faults.last_answer.filter(|last| last.number.get() <= *answers);
        let events = self.faults.events.filter(|_| outcome == Outcome::Right && last.is_none());
        Fate {
            due,
            outcome,
            last: last.map(|last| Last { is_announced: last.is_announced }),
            events: events.map(|events| events.from(due.unwrap_or(came))),
        }
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
