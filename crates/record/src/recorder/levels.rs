//! A load that goes from one level to the next without a pause: a recording for each level.
//!
//! Requests that are under way when a level ends are its own by their due time, as at the end of any load, and are
//! waited for while the next level is measured. The recording of the level that is under way is asked first, and
//! hands on what was due before it began: that a request is not a measured one is rare, so a load of one level pays
//! nothing for it.

use loadcurve_plan::Nanos;

use super::{Recorder, SlowCandidate, WarmUpCounts};
use crate::Answer;

impl Recorder {
    /// From now on this is the recording of the next level, which began at `begins`, with the connections that are open.
    /// The one until now stays behind it: see [`Recorder::take_ended_level`].
    pub fn begin_level(&mut self, begins: Nanos) {
        let mut next = Self::new(self.operations.len());
        next.begins = begins;
        next.connections.open = self.connections.open;
        next.connections.concurrent_max = self.connections.open;
        self.earlier = Some(Box::new(std::mem::replace(self, next)));
    }

    /// Takes the recording of the earliest level if it is over: if all of its measured requests have ended.
    pub fn take_ended_level(&mut self) -> Option<Self> {
        let last = self.earlier.as_mut()?;
        if last.earlier.is_some() {
            return last.take_ended_level();
        }
        if last.requests.under_way() != Some(0) {
            return None;
        }
        self.earlier.take().map(|level| level.without_what_goes_on())
    }

    /// Takes the recording of the earliest level that is not the present one, whatever of it is under way.
    pub fn take_earliest_level(&mut self) -> Option<Self> {
        let earlier = self.earlier.as_mut()?;
        earlier
            .take_earliest_level()
            .or_else(|| self.earlier.take().map(|level| level.without_what_goes_on()))
    }

    /// Of a level's warm-up, requests may be under way that have waited through its whole window: their end is not its own.
    fn without_what_goes_on(mut self) -> Self {
        let WarmUpCounts { begun, answered, failed, .. } = self.warm_up;
        self.warm_up.unanswered = begun - answered - failed;
        self
    }

    /// The recording of the level in which a request was due.
    pub(crate) fn level_of(&mut self, due: Nanos) -> &mut Self {
        let mut level = self;
        while due < level.begins && level.earlier.is_some() {
            level = level.earlier.as_mut().expect("it was just looked at");
        }
        level
    }

    /// The recording of the level in which a request was due, where that is an earlier one.
    #[cold]
    pub(super) fn earlier_level_of(&mut self, due: Nanos) -> Option<&mut Self> {
        let is_earlier = due < self.begins && self.earlier.is_some();
        is_earlier.then(|| self.level_of(due))
    }

    /// A request that is sent now, or will never be, waited for this time because the server took no more at once.
    pub fn waited_for_stream(&mut self, due: Nanos, length: Nanos) {
        let level = self.level_of(due);
        if level.window.measures(due) {
            level.multiplexing.stream_wait.record(length);
        }
    }

    /// A request that a server had not looked at was written once more, with this many bytes, after it had waited
    /// for another connection.
    pub fn sent_again(&mut self, due: Nanos, waited: Nanos, bytes: usize) {
        self.sent_more(due, bytes);
        let level = self.level_of(due);
        if level.window.measures(due) {
            level.multiplexing.moved_wait.record(waited);
        }
    }

    /// A request of this level was written during a later one.
    pub(super) fn sent_after_its_end(&mut self, due: Nanos, bytes: usize) {
        if self.window.measures(due) {
            self.requests.sent += 1;
            self.bytes_sent += bytes as u64;
        }
    }

    /// A request of this level was answered during a later one, whose rate it counts for.
    pub(super) fn answered_after_its_end(&mut self, answer: &Answer) -> Option<SlowCandidate> {
        self.last_answer = Some(answer.done);
        self.note_served(answer.connection, answer.due, answer.done);
        if self.window.measures(answer.due) {
            return self.measured_answer(answer);
        }
        self.warm_up.answered += u64::from(answer.due >= self.begins);
        None
    }
}
