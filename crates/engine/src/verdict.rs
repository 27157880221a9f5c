//! Whether the numbers of one load may be used: the generator's part of the verdict.

mod change;
mod codes;
mod endings;
mod evidence;
mod outcomes;
mod pace;
mod reported;
mod resumption;
mod service;
mod stationarity;
#[cfg(test)]
mod tests;
mod wording;

use serde::Serialize;

pub use codes::{Code, CodeRow, Kind};
pub use evidence::KeptUp;
pub(crate) use evidence::{
    Busy, Evidence, GeneratorEvidence, OddBody, PeriodMeans, Redirection, Scheduled, TimeSeries,
};
pub use reported::Reported;
pub(crate) use resumption::Resumption;

/// How far a result may be trusted, in rising order of doubt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Nothing speaks against it.
    #[default]
    Valid,
    /// Something may have bent it.
    Suspect,
    /// It does not say what it seems to say.
    Invalid,
}

/// One reason against a result, or one note on it, with its evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// What it is about.
    pub code: Code,
    /// A sentence with the numbers, and with what to do.
    pub text: String,
}

/// The verdict on one load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// The worst that any reason says.
    pub status: Status,
    /// The reasons, none for a valid result.
    pub reasons: Vec<Reason>,
    /// What a reader should know, although it is no reason for doubt.
    pub notes: Vec<Reason>,
}

impl Verdict {
    /// The verdict that the evidence gives.
    pub(crate) fn of(evidence: &Evidence) -> Self {
        let mut verdict = Self::default();
        verdict.judge_completeness(evidence);
        verdict.judge_begin(evidence);
        verdict.judge_service(evidence);
        verdict.judge_failures(evidence);
        verdict.judge_pipelining(evidence);
        verdict.judge_end(evidence);
        verdict.judge_lengths(evidence);
        verdict.judge_error_statuses(evidence);
        verdict.judge_capacity(evidence);
        verdict.judge_sent_rate(evidence);
        verdict.judge_answered_rate(evidence);
        verdict.judge_resumption(evidence);
        verdict.judge_lateness(evidence);
        verdict.judge_saturation(evidence);
        verdict.judge_littles_law(evidence);
        verdict.judge_stationarity(evidence);
        verdict.note_broken_off(evidence);
        verdict.note_redirections(evidence);
        verdict.note_missing_percentiles(evidence);
        verdict.note_warm_up(evidence);
        verdict.note_recording(evidence);
        verdict
    }

    fn add(&mut self, status: Status, code: Code, text: String) {
        debug_assert!(code.row().may_give(status), "{code:?} makes no load {status:?}");
        self.status = self.status.max(status);
        self.reasons.push(Reason { code, text });
    }

    fn note(&mut self, code: Code, text: String) {
        debug_assert_eq!(code.row().kind, Kind::Note);
        self.notes.push(Reason { code, text });
    }
}
