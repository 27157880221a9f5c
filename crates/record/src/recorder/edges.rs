//! What is under way when a window begins or ends, and which connections were served in it.
//!
//! A request is a measured one by its due time. One that was due before the window and has not ended by its end is so in
//! none of its figures: it is counted here, with the measured ones that were due at its very start and came to no
//! answer, and connections are told apart by whether any answer came on them.

use loadcurve_plan::Nanos;
use serde::{Deserialize, Serialize};

use super::Recorder;
use crate::{Answer, FailedRequest, Origin, Window};

/// What is due in this share of the window, at its start, and has not ended at its end has waited through it: of one over
/// this.
const BEGIN_SHARE: u64 = 100;

/// Some of the connections of a load, by their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Connections(Vec<u64>);

impl Connections {
    fn add(&mut self, number: usize) {
        let (word, bit) = (number / 64, 1 << (number % 64));
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= bit;
    }

    fn merge(&mut self, other: &Self) {
        if other.0.len() > self.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(ours, theirs)| *ours |= theirs);
    }

    fn count(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}

/// A request that was under way when its window began, or from then on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Waiting {
    connection: usize,
    due: Nanos,
    /// When it ended; never, where that is known to be after the window.
    until: Nanos,
    /// Whether it is among the failed requests of the warm-up as if it had failed before the end of the window.
    failed: bool,
}

/// How a request ended that was due before the window.
#[derive(Clone, Copy)]
pub(super) struct EarlierEnd {
    pub(super) connection: usize,
    pub(super) due: Nanos,
    pub(super) sent: Option<Nanos>,
    pub(super) ended: Nanos,
    pub(super) failed: bool,
}

/// What one worker has seen of the edges of its window.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Edges {
    /// Connections on which an answer came in the window, or to a measured request.
    served: Connections,
    /// Connections on which a measured request came to no answer.
    in_vain: Connections,
    waiting: Vec<Waiting>,
    /// Failed requests of the warm-up that failed after the window.
    failed_after: u64,
    /// Whether the end of the window was noted: what ends later was under way then.
    #[serde(skip)]
    has_ended: bool,
}

/// What of a load was not served in its window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unserved {
    /// Requests that were under way from the start of the window to its end.
    pub requests: u64,
    /// Connections that carried them.
    pub connections: u64,
    /// How long the oldest of them had waited at the end of the window.
    pub oldest: Nanos,
    /// Connections that had requests to make.
    pub asked: u64,
    /// Those of them on which an answer came.
    pub served: u64,
}

impl Recorder {
    /// The window ends, with these requests under way, each with its connection and its due time. To be called once, at
    /// the first moment that is not before the end.
    pub fn window_ended(&mut self, under_way: impl Iterator<Item = (usize, Nanos)>) {
        if std::mem::replace(&mut self.edges.has_ended, true) {
            return;
        }
        for (connection, due) in under_way.filter(|(_, due)| !self.window.measures(*due)) {
            self.edges.waiting.push(Waiting { connection, due, until: Nanos::NEVER, failed: false });
        }
    }

    /// Whether the end of the window has come without being noted.
    #[must_use]
    pub fn has_window_to_end(&self, now: Nanos) -> bool {
        now >= self.window.end && !self.edges.has_ended
    }

    /// The load ended now, before the request due then was answered.
    pub fn unanswered(&mut self, connection: usize, due: Nanos, now: Nanos) {
        let begun = now > self.window.start;
        if begun && !self.edges.has_ended && !self.window.measures(due) {
            self.edges.waiting.push(Waiting { connection, due, until: Nanos::NEVER, failed: false });
        }
        let level = self.level_of(due);
        level.requests.unanswered += u64::from(level.window.measures(due));
        if level.window.measures(due) {
            level.measured_in_vain(connection, due, now, Nanos::NEVER);
        } else {
            level.warm_up.unanswered += u64::from(due >= level.begins);
        }
    }

    /// An answer came on a connection, to a request due then.
    pub(super) fn note_served(&mut self, connection: usize, due: Nanos, done: Nanos) {
        if self.window.measures(due) || self.window.contains(done) {
            self.edges.served.add(connection);
        }
    }

    /// A request ended that was due before the window.
    pub(super) fn note_earlier_end(&mut self, end: EarlierEnd) {
        let EarlierEnd { connection, due, sent, ended, failed } = end;
        let is_of_level = due >= self.begins;
        if ended >= self.window.end {
            self.edges.failed_after += u64::from(failed && is_of_level);
            if !self.edges.has_ended {
                self.edges.waiting.push(Waiting { connection, due, until: Nanos::NEVER, failed: false });
            }
        } else if self.window.end == Nanos::NEVER && ended > self.window.start {
            // What was sent in the window was not under way at its start, and there is no limit to how many these are.
            if sent.is_none_or(|sent| sent <= self.window.start) {
                self.may_have_waited(Waiting { connection, due, until: ended, failed });
            }
        }
    }

    /// A measured request has failed without an answer.
    pub(super) fn note_failure(&mut self, request: &FailedRequest) {
        // What this machine could not send was no request to the server.
        if request.failure.row().origin != Origin::Generator {
            let FailedRequest { connection, due, failed, .. } = *request;
            self.measured_in_vain(connection, due, failed, failed);
        }
    }

    /// A measured request came to no answer: it ended `at` this moment, and counts as waiting `until` then.
    fn measured_in_vain(&mut self, connection: usize, due: Nanos, at: Nanos, until: Nanos) {
        self.edges.in_vain.add(connection);
        let Window { start, end } = self.window;
        let length = at.min(end) - start;
        if (until >= end || end == Nanos::NEVER) && due - start <= Nanos(length.0 / BEGIN_SHARE) {
            self.may_have_waited(Waiting { connection, due, until, failed: false });
        }
    }

    /// Keeps a request that has waited through all of the window so far. Where a number of requests ends that, the next
    /// outcome shows that it continues.
    fn may_have_waited(&mut self, request: Waiting) {
        if self.edges.waiting.last().is_some_and(|last| self.last_outcome > Some(last.until)) {
            self.edges.waiting.clear();
        }
        self.edges.waiting.push(request);
    }

    /// What was not served in the window, which ended then.
    #[must_use]
    pub fn unserved(&self, end: Nanos) -> Unserved {
        let waiting: Vec<&Waiting> = self.waiting_at(end).collect();
        let (mut carrying, mut asked) = (Connections::default(), self.edges.in_vain.clone());
        for request in &waiting {
            carrying.add(request.connection);
        }
        asked.merge(&carrying);
        asked.merge(&self.edges.served);
        let oldest = waiting.iter().map(|request| request.due).min();
        Unserved {
            requests: waiting.len() as u64,
            connections: carrying.count(),
            oldest: oldest.map_or(Nanos::ZERO, |due| end - due),
            asked: asked.count(),
            served: self.edges.served.count(),
        }
    }

    /// How many requests of the warm-up failed before the window, which ended then, was over.
    #[must_use]
    pub fn warm_up_failures(&self, end: Nanos) -> u64 {
        let later = self.waiting_at(end).filter(|request| request.failed).count() as u64;
        self.warm_up.failed - self.edges.failed_after - later
    }

    fn waiting_at(&self, end: Nanos) -> impl Iterator<Item = &Waiting> {
        self.edges.waiting.iter().filter(move |request| request.until >= end)
    }
}

impl From<&Answer> for EarlierEnd {
    fn from(answer: &Answer) -> Self {
        let Answer { connection, due, sent, done, .. } = *answer;
        Self { connection, due, sent: Some(sent), ended: done, failed: false }
    }
}

impl From<&FailedRequest> for EarlierEnd {
    fn from(request: &FailedRequest) -> Self {
        let FailedRequest { connection, due, sent, failed, .. } = *request;
        Self { connection, due, sent, ended: failed, failed: true }
    }
}

impl Edges {
    pub(super) fn merge(&mut self, other: &Self) {
        self.served.merge(&other.served);
        self.in_vain.merge(&other.in_vain);
        self.waiting.extend_from_slice(&other.waiting);
        self.failed_after += other.failed_after;
    }

    /// The same where a time line's start is not at `from`, but at `to`.
    pub(super) fn moved(mut self, from: Nanos, to: Nanos) -> Self {
        for waiting in &mut self.waiting {
            waiting.due = waiting.due.moved(from, to);
            waiting.until = waiting.until.moved(from, to);
        }
        self
    }
}
