//! What became of the requests of one operation.

use crate::TimeHistogram;

/// The part of one operation.
#[derive(Clone, Debug, Default)]
pub struct OperationTally {
    /// Requests answered.
    pub answered: u64,
    /// Requests failed.
    pub failed: u64,
    /// The shortest and the longest body of an answer of status 2xx, in bytes.
    pub body_bytes: Option<(u64, u64)>,
    /// The length of the first body that was not the verified one.
    pub mismatched_body_bytes: Option<u64>,
    /// From due to done.
    pub latency: TimeHistogram,
}

impl OperationTally {
    /// Takes note of the body of a successful answer.
    pub(crate) fn note_body(&mut self, bytes: u64) {
        let (shortest, longest) = self.body_bytes.unwrap_or((bytes, bytes));
        self.body_bytes = Some((shortest.min(bytes), longest.max(bytes)));
    }

    /// Adds the part of the same operation in another recording.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.answered += other.answered;
        self.failed += other.failed;
        if let Some((shortest, longest)) = other.body_bytes {
            self.note_body(shortest);
            self.note_body(longest);
        }
        self.mismatched_body_bytes = self.mismatched_body_bytes.or(other.mismatched_body_bytes);
        self.latency.merge(&other.latency);
    }
}
