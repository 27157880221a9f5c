//! What became of the requests of one operation.

use serde::{Deserialize, Serialize};

use crate::TimeHistogram;

/// The part of one operation, or of all operations where they are counted together.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct OperationTally {
    /// Requests answered.
    pub answered: u64,
    /// Those that were answered with another status than is expected of them.
    pub answered_wrongly: u64,
    /// Requests failed.
    pub failed: u64,
    /// The shortest and the longest body of an answer of status 2xx, in bytes.
    pub body_bytes: Option<(u64, u64)>,
    /// A body that was not of the verified length, the first one of its worker.
    pub mismatched_body: Option<MismatchedBody>,
    /// From due to done.
    pub latency: TimeHistogram,
}

/// A body that was not of the verified length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MismatchedBody {
    /// Which request of the load it answered, in the order of the whole plan.
    pub number: u64,
    /// Its length.
    pub bytes: u64,
}

impl OperationTally {
    /// Takes note of the body of a successful answer.
    pub(crate) fn note_body(&mut self, bytes: u64) {
        let (shortest, longest) = self.body_bytes.unwrap_or((bytes, bytes));
        self.body_bytes = Some((shortest.min(bytes), longest.max(bytes)));
    }

    /// Adds the same part of another recording.
    pub fn merge(&mut self, other: &Self) {
        self.answered += other.answered;
        self.answered_wrongly += other.answered_wrongly;
        self.failed += other.failed;
        if let Some((shortest, longest)) = other.body_bytes {
            self.note_body(shortest);
            self.note_body(longest);
        }
        self.mismatched_body = self.mismatched_body.into_iter().chain(other.mismatched_body).min();
        if other.answered > 0 {
            self.latency.merge(&other.latency);
        }
    }
}
