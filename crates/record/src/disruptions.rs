//! How servers ended connections on which requests were under way, beside the classes of their failures.

use serde::{Deserialize, Serialize};

/// How the connection of a request was closed or reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrokenOff {
    /// The first byte of its answer had come.
    AnswerBegun,
    /// No byte had come, and the server had answered others on it.
    KeptConnection,
    /// No byte had come, and the server had answered nothing on it.
    NewConnection,
}

/// How far a pipelined connection came that was left with requests unanswered, after at least one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PipelineEnd {
    /// The server answered the first of those that were written together, and none behind it.
    AnsweredOnce,
    /// It answered some, and was silent from then on.
    AnsweredSome,
    /// Nothing speaks for requests that it has forgotten.
    Other,
}

/// Counts over a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Disruptions {
    /// Measured requests that failed because their connection was closed or reset, by what had come before.
    pub answer_begun: u64,
    pub kept_connection: u64,
    pub new_connection: u64,
    /// Pipelined connections that were left with requests unanswered, after at least one answer; warm-up included.
    pub pipelines: u64,
    /// Those of them on which the first of the requests that were written together was answered alone.
    pub pipelines_answered_once: u64,
    /// Those on which some were answered, and then none.
    pub pipelines_answered_some: u64,
}

impl Disruptions {
    /// Counts a request.
    pub(crate) fn add(&mut self, how: BrokenOff) {
        match how {
            BrokenOff::AnswerBegun => self.answer_begun += 1,
            BrokenOff::KeptConnection => self.kept_connection += 1,
            BrokenOff::NewConnection => self.new_connection += 1,
        }
    }

    /// Counts a pipelined connection.
    pub fn add_pipeline(&mut self, end: PipelineEnd) {
        self.pipelines += 1;
        self.pipelines_answered_once += u64::from(end == PipelineEnd::AnsweredOnce);
        self.pipelines_answered_some += u64::from(end == PipelineEnd::AnsweredSome);
    }

    /// Adds what another recording has counted.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.answer_begun += other.answer_begun;
        self.kept_connection += other.kept_connection;
        self.new_connection += other.new_connection;
        self.pipelines += other.pipelines;
        self.pipelines_answered_once += other.pipelines_answered_once;
        self.pipelines_answered_some += other.pipelines_answered_some;
    }
}
