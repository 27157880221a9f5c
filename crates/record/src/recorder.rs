//! Where one worker's outcomes are counted.

use loadcurve_plan::Nanos;
use serde::{Deserialize, Serialize};

use crate::gap::{Answered, Gap};
use crate::series::{Period, Series};
use crate::{
    Agreements, Answer, BrokenOff, Compression, Deliveries, Disruptions, Endings, Explanations,
    FailedRequest, Failure, FailureCounts, Handshake, HandshakeTimes, IdleEnds, Messages, MismatchedBody,
    Multiplexing, OperationTally, Quic, Retransmits, Shown, SlowRequest, Slowest, Statuses, TimeHistogram,
    Window,
};

mod balance;
mod edges;
mod levels;
mod merging;

pub use balance::Unbalanced;
pub use edges::Unserved;

/// What became of the measured requests: due = answered + failed + unanswered + never sent, always.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct RequestCounts {
    pub due: u64,
    pub sent: u64,
    pub answered: u64,
    pub failed: u64,
    pub unanswered: u64,
    pub never_sent: u64,
    /// Requests that a server had not processed and that were sent again; not an outcome, and zero if nothing moves.
    #[serde(default)]
    pub moved: u64,
}

/// The connections of a whole load, warm-up included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionCounts {
    /// Connections established.
    pub opened: u64,
    /// Attempts that failed.
    pub failed: u64,
    /// Requests that found a connection open.
    pub reused: u64,
    /// Connections established now.
    pub open: u64,
    /// The most that were established at once.
    pub concurrent_max: u64,
}

/// The requests of the warm-up, which are in no other figure of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarmUpCounts {
    /// Requests taken up: answered, failed or unanswered, always.
    pub begun: u64,
    /// Requests answered, whenever that was.
    #[serde(default)]
    pub answered: u64,
    /// Requests failed, whenever that was.
    pub failed: u64,
    /// Requests under way at the end of the load, or when its next level took its place.
    #[serde(default)]
    pub unanswered: u64,
}

/// How a server is lost for a load by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Loss {
    /// It could not be reached any more.
    Unreachable,
    /// It accepted connections, and sent nothing any more.
    Silent,
}

/// A server that could not be reached any more, or sent nothing any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostServer {
    /// How it was lost.
    pub how: Loss,
    /// When it was last reached, or sent something.
    pub since: Nanos,
    /// When the load was given up.
    pub given_up: Nanos,
}

/// A request that is among the slowest so far, until it is known what its connection has sent again.
#[derive(Clone, Copy, Debug)]
pub struct SlowCandidate {
    request: SlowRequest,
    /// On the clock: it says whose of the slowest it is where one level of a load has followed another.
    due: Nanos,
}

/// One worker's recording of one load. Recordings merge; see [`Recorder::merge`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[allow(missing_docs)] // The fields are the figures of their names.
pub struct Recorder {
    pub(crate) window: Window,
    pub requests: RequestCounts,
    pub warm_up: WarmUpCounts,
    /// Requests that were never sent although a connection was free.
    pub never_sent_while_free: u64,
    pub connections: ConnectionCounts,
    /// Idle connections that a server has ended by an answer to no request, by its status; warm-up included.
    #[serde(default)]
    pub idle_ends: IdleEnds,
    #[serde(default)]
    pub disruptions: Disruptions,
    /// Where answers have redirected to: of several places the one that sorts first.
    #[serde(default)]
    pub redirected_to: Option<String>,
    pub statuses: Statuses,
    /// Answers whose status was known before.
    #[serde(default)]
    pub expected_statuses: u64,
    pub failures: FailureCounts,
    pub explanations: Explanations,
    /// Why connections could not be established, warm-up included; a text is empty where the class says all.
    pub connect_failures: Explanations,
    pub operations: Vec<OperationTally>,
    pub service_time: TimeHistogram,
    pub connect: TimeHistogram,
    /// How long the handshakes took that followed connecting, warm-up included; nothing where a protocol has none.
    pub handshake: TimeHistogram,
    /// The times of those that leave a choice, within the window alone.
    #[serde(default)]
    pub handshakes_within: HandshakeTimes,
    /// What was agreed on in those that leave a choice, warm-up included.
    pub agreements: Agreements,
    /// What a protocol's limits on requests that are under way together did; nothing where it has none.
    #[serde(default)]
    pub multiplexing: Multiplexing,
    /// What was counted of compressed messages; nothing where none were offered.
    #[serde(default)]
    pub compression: Compression,
    /// What was counted of QUIC and of HTTP/3 on it; nothing where they are not spoken.
    #[serde(default)]
    pub quic: Quic,
    /// What came on streams of messages; nothing where an answer is a whole.
    #[serde(default)]
    pub messages: Messages,
    /// What became of messages that one client publishes and many receive; nothing where an answer goes to who has asked.
    #[serde(default)]
    pub deliveries: Box<Deliveries>,
    /// Which connections the server has ended, and which have lasted.
    #[serde(default)]
    pub endings: Endings,
    /// From the start of connecting to the close, of the connections that were closed.
    pub lifetime: TimeHistogram,
    pub first_byte: TimeHistogram,
    pub transfer: TimeHistogram,
    pub lateness: TimeHistogram,
    pub slowest: Slowest,
    /// Requests written within the window.
    pub sent_within: u64,
    /// Requests answered in the whole load, warm-up included.
    pub replies: u64,
    /// Requests answered within the window, whenever they were due.
    pub answered_within: u64,
    pub bytes_sent: u64,
    pub header_bytes: u64,
    pub body_bytes: u64,
    pub framing_bytes: u64,
    /// When the last measured request that was taken up was due.
    pub last_due: Option<Nanos>,
    /// When the last measured request was answered or failed.
    pub last_outcome: Option<Nanos>,
    /// When an answer last came, good or bad, whenever its request was due.
    last_answer: Option<Nanos>,
    /// When a request last failed for want of an answer, whenever it was due.
    last_without_answer: Option<Nanos>,
    series: Series,
    answered_slots: Answered,
    /// When the server was given up, in a load by number.
    #[serde(default)]
    pub lost: Option<LostServer>,
    #[serde(default)]
    edges: edges::Edges,
    /// When its level began, where the load continues an earlier one. What was due before is that one's.
    #[serde(skip)]
    begins: Nanos,
    /// The recording of the level before, while requests of it, or of those before it, are under way.
    #[serde(skip)]
    earlier: Option<Box<Recorder>>,
}

impl LostServer {
    /// As two workers have seen it: the last that any of them heard.
    fn and(self, other: Self) -> Self {
        Self {
            how: self.how.max(other.how),
            since: self.since.max(other.since),
            given_up: self.given_up.max(other.given_up),
        }
    }

    fn moved(self, from: Nanos, to: Nanos) -> Self {
        Self { how: self.how, since: self.since.moved(from, to), given_up: self.given_up.moved(from, to) }
    }
}

impl Recorder {
    /// An empty recording with this many tallies: one for each operation, or a single one for all of them together.
    #[must_use]
    pub fn new(tallies: usize) -> Self {
        // Made one by one, and not copied, the histograms take memory when they count something.
        let operations = (0..tallies).map(|_| OperationTally::default()).collect();
        Self { operations, ..Self::default() }
    }

    /// From now on requests due in `window` are measured.
    pub fn open_window(&mut self, window: Window) {
        debug_assert!(window.start <= window.end, "a window ends before it starts: {window:?}");
        self.window = window;
    }

    /// A connection was established, after `length`.
    pub fn connected(&mut self, length: Nanos) {
        self.connect.record(length);
        self.connections.opened += 1;
        self.connections.open += 1;
        self.connections.concurrent_max = self.connections.concurrent_max.max(self.connections.open);
    }

    /// Both sides of a connection, which was established at `connected`, agreed at `agreed` how to go on; on what, where
    /// there was a choice.
    pub fn agreed(&mut self, connected: Nanos, agreed: Nanos, handshake: Option<Handshake>) {
        let length = agreed - connected;
        self.handshake.record(length);
        let Some(handshake) = handshake else { return };
        self.agreements.add(handshake.agreement, 1);
        if self.window.contains(agreed) {
            self.handshakes_within.record(length, handshake);
        }
    }

    /// A connection could not be established.
    pub fn connect_failed(&mut self) {
        self.connections.failed += 1;
    }

    /// The same for a known reason, of which `text` says more unless it is empty.
    pub fn connect_failed_by(&mut self, failure: Failure, text: &str) {
        self.connect_failed();
        self.connect_failures.add(failure, 0, text, None, 1);
    }

    /// An established connection is no more, `lifetime` after connecting began where that is known.
    pub fn disconnected(&mut self, lifetime: Option<Nanos>) {
        self.connections.open -= 1;
        if let Some(lifetime) = lifetime {
            self.lifetime.record(lifetime);
        }
    }

    /// A request due then was taken up.
    pub fn begun(&mut self, due: Nanos) {
        if self.window.measures(due) {
            self.requests.due += 1;
            self.last_due = self.last_due.max(Some(due));
        } else {
            self.warm_up.begun += 1;
        }
    }

    /// A request was written, or the first `bytes` of a long one, on a connection that was `reused` or made for it.
    pub fn sent(&mut self, due: Nanos, sent: Nanos, bytes: usize, reused: bool) {
        if self.window.measures(due) {
            self.requests.sent += 1;
            self.bytes_sent += bytes as u64;
        } else if let Some(earlier) = self.earlier_level_of(due) {
            earlier.sent_after_its_end(due, bytes);
        }
        if self.window.contains(sent) {
            self.sent_within += 1;
        }
        self.connections.reused += u64::from(reused);
    }

    /// A request that was sent is to be sent once more, because the server has not looked at it.
    pub fn will_be_sent_again(&mut self, due: Nanos) {
        if self.window.measures(due) {
            self.requests.moved += 1;
        }
    }

    /// This many more bytes of a long request due then were written.
    pub fn sent_more(&mut self, due: Nanos, bytes: usize) {
        if self.window.measures(due) {
            self.bytes_sent += bytes as u64;
        } else if let Some(earlier) = self.earlier_level_of(due) {
            earlier.sent_more(due, bytes);
        }
    }

    /// The generator itself, not the server, was this late with a request due then.
    pub fn late_by(&mut self, due: Nanos, lateness: Nanos) {
        if self.window.measures(due) {
            self.lateness.record(lateness);
        }
    }

    /// A request was answered. It is returned if it is among the slowest so far, to be kept there when it is known what
    /// its connection has sent again.
    #[must_use = "a slow request is kept by Recorder::keep_slow"]
    pub fn answered(&mut self, answer: &Answer) -> Option<SlowCandidate> {
        let latency = answer.done - answer.due;
        self.replies += 1;
        self.last_answer = Some(answer.done);
        self.note_served(answer.connection, answer.due, answer.done);
        if self.window.contains(answer.done) {
            self.answered_within += 1;
            let body_bytes = answer.shown.map_or(0, |shown| shown.body_bytes);
            self.series.answered(answer.done - self.window.start, latency, body_bytes);
            self.answered_slots.mark(answer.done - self.window.start);
        }
        if !self.window.measures(answer.due) {
            return self.earlier_answer(answer);
        }
        self.measured_answer(answer)
    }

    /// An answer came to a request that was due before the window.
    fn earlier_answer(&mut self, answer: &Answer) -> Option<SlowCandidate> {
        self.note_earlier_end(answer.into());
        if let Some(earlier) = self.earlier_level_of(answer.due) {
            return earlier.answered_after_its_end(answer);
        }
        self.warm_up.answered += u64::from(answer.due >= self.begins);
        None
    }

    fn measured_answer(&mut self, answer: &Answer) -> Option<SlowCandidate> {
        let latency = answer.done - answer.due;
        self.requests.answered += 1;
        let operation = self.tally(answer.operation);
        operation.answered += 1;
        operation.latency.record(latency);
        self.service_time.record(answer.done - answer.sent);
        if let Some(shown) = &answer.shown {
            self.answer_shown(answer, shown);
        }
        self.last_outcome = Some(answer.done);
        self.slowest.admits(latency).then(|| SlowCandidate {
            request: SlowRequest::answered(answer, self.window.start),
            due: answer.due,
        })
    }

    fn answer_shown(&mut self, answer: &Answer, shown: &Shown) {
        self.statuses.add(shown.status, shown.is_right);
        self.expected_statuses += u64::from(shown.was_expected);
        if !shown.is_right {
            self.tally(answer.operation).answered_wrongly += 1;
        }
        if shown.has_content {
            self.tally(answer.operation).note_body(shown.content_bytes);
        }
        self.first_byte.record(shown.first_byte - answer.sent);
        self.transfer.record(answer.done - shown.first_byte);
        self.header_bytes += shown.header_bytes;
        self.body_bytes += shown.body_bytes;
        self.framing_bytes += shown.framing_bytes;
    }

    /// A request failed. It is returned as by [`Recorder::answered`].
    #[must_use = "a slow request is kept by Recorder::keep_slow"]
    pub fn failed(&mut self, request: &FailedRequest) -> Option<SlowCandidate> {
        if request.was_answered() {
            self.last_answer = Some(request.failed);
            self.note_served(request.connection, request.due, request.failed);
        } else {
            self.last_without_answer = Some(request.failed);
        }
        if self.window.contains(request.failed) {
            self.series.failed(request.failed - self.window.start);
        }
        if !self.window.measures(request.due) {
            self.note_earlier_end(request.into());
            if let Some(earlier) = self.earlier_level_of(request.due) {
                return earlier.failed(request);
            }
            self.warm_up.failed += u64::from(request.due >= self.begins);
            return None;
        }
        if !request.was_answered() {
            self.note_failure(request);
        }
        self.requests.failed += 1;
        self.tally(request.operation).failed += 1;
        self.failures.add(request.failure);
        self.last_outcome = Some(request.failed);
        let latency = request.failed - request.due;
        self.slowest.admits(latency).then(|| SlowCandidate {
            request: SlowRequest::failed(request, self.window.start),
            due: request.due,
        })
    }

    /// A request was answered with something else than it had asked for, and so has failed. It is returned as by
    /// [`Recorder::answered`].
    #[must_use = "a slow request is kept by Recorder::keep_slow"]
    pub fn wrong(&mut self, answer: &Answer, failure: Failure) -> Option<SlowCandidate> {
        if failure == Failure::Mismatch {
            self.mismatched(answer)
        } else {
            self.failed(&answer.failed(failure))
        }
    }

    /// A request was answered with a body of another length than the verified one, and so has failed. It is returned as
    /// by [`Recorder::answered`].
    #[must_use = "a slow request is kept by Recorder::keep_slow"]
    pub fn mismatched(&mut self, answer: &Answer) -> Option<SlowCandidate> {
        let level = self.level_of(answer.due);
        if let (true, Some(shown)) = (level.window.measures(answer.due), &answer.shown) {
            let found = MismatchedBody { number: answer.number, bytes: shown.content_bytes };
            level.tally(answer.operation).mismatched_body.get_or_insert(found);
        }
        self.failed(&answer.failed(Failure::Mismatch))
    }

    /// Keeps a slow request, now that it is known what its connection has sent again.
    pub fn keep_slow(&mut self, slow: SlowCandidate, retransmits: Option<Retransmits>) {
        let SlowCandidate { request, due } = slow;
        self.level_of(due).slowest.keep(SlowRequest { retransmits, ..request });
    }

    /// The peer explained the failure of a request due then.
    ///
    /// `example` is a part of what the peer has sent, where it shows what the text is about.
    pub fn explained(
        &mut self,
        due: Nanos,
        failure: Failure,
        operation: usize,
        text: &str,
        example: Option<&str>,
    ) {
        let level = self.level_of(due);
        if level.window.measures(due) {
            level.explanations.add(failure, operation, text, example, 1);
        }
    }

    /// The body of an answer of this status, which is not what was asked for, begins so; its request was due then.
    pub fn body_began(&mut self, due: Nanos, status: u16, bytes: &[u8]) {
        let level = self.level_of(due);
        if level.window.measures(due) {
            level.statuses.note_body(status, bytes);
        }
    }

    /// The connection of a request due then, which has failed, was closed or reset, or was not.
    pub fn broken_off(&mut self, due: Nanos, how: Option<BrokenOff>) {
        let Some(how) = how else { return };
        let level = self.level_of(due);
        if level.window.measures(due) {
            level.disruptions.add(how);
        }
    }

    /// The load is given up, because its server is lost.
    pub fn lost_server(&mut self, lost: LostServer) {
        self.lost = Some(lost);
    }

    /// The load ended before `count` measured requests that were due could be taken up.
    pub fn never_sent(&mut self, count: u64) {
        self.requests.due += count;
        self.requests.never_sent += count;
    }

    /// The same recording where a time line's start is not at `from`, but at `to`.
    #[must_use]
    pub fn moved(self, from: Nanos, to: Nanos) -> Self {
        let moved = |time: Option<Nanos>| time.map(|time| time.moved(from, to));
        Self {
            window: self.window.moved(from, to),
            last_due: moved(self.last_due),
            last_outcome: moved(self.last_outcome),
            last_answer: moved(self.last_answer),
            last_without_answer: moved(self.last_without_answer),
            edges: self.edges.moved(from, to),
            lost: self.lost.map(|lost| lost.moved(from, to)),
            ..self
        }
    }

    fn tally(&mut self, operation: usize) -> &mut OperationTally {
        let tally = if self.operations.len() == 1 { 0 } else { operation };
        &mut self.operations[tally]
    }

    /// Latency over all operations.
    #[must_use]
    pub fn latency(&self) -> TimeHistogram {
        let mut all = TimeHistogram::default();
        for operation in self.operations.iter().filter(|operation| operation.answered > 0) {
            all.merge(&operation.latency);
        }
        all
    }

    /// The periods of a window of this length.
    #[must_use]
    pub fn periods(&self, length: Nanos) -> Vec<Period> {
        self.series.clone().periods(length)
    }

    /// The longest stretches of a window of this length in which nothing was answered, the longest first.
    #[must_use]
    pub fn gaps(&self, length: Nanos) -> Vec<Gap> {
        self.answered_slots.gaps(length)
    }

    /// For how long at the end of a window of this length no answer came any more, where requests failed for want of
    /// one. None where one came after the window: then the last requests were only under way.
    #[must_use]
    pub fn silent_at_end(&self, length: Nanos) -> Option<Nanos> {
        let Window { start, .. } = self.window;
        let silent_from = self.last_answer.unwrap_or(start).max(start);
        let end = start + length;
        (self.last_without_answer > Some(silent_from) && silent_from < end).then(|| end - silent_from)
    }
}

#[cfg(test)]
mod tests;
