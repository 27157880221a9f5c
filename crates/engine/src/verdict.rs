//! Whether the numbers of one load may be used: the generator's part of the verdict.

mod change;
mod codes;
mod endings;
pub(crate) mod evidence;
pub(crate) mod fan_out;
mod outcomes;
mod pace;
pub(crate) mod reasons;
mod reported;
mod resumption;
mod service;
mod stationarity;
#[cfg(test)]
mod tests;
mod wording;

pub use codes::{Code, CodeRow, Kind, Status};
pub use evidence::KeptUp;
pub(crate) use evidence::{
    Busy, Evidence, GeneratorEvidence, OddBody, PeriodMeans, Redirection, Scheduled, TimeSeries,
};
pub use reasons::{Reason, Verdict};
pub use reported::Reported;
pub use wording::Loaded;

impl Verdict {
    /// The verdict that the evidence gives.
    pub(crate) fn of(evidence: &Evidence) -> Self {
        let mut verdict = Self::default();
        verdict.judge_completeness(evidence);
        verdict.judge_begin(evidence);
        verdict.judge_tracking(evidence);
        verdict.judge_service(evidence);
        verdict.judge_fan_out(evidence);
        verdict.judge_failures(evidence);
        verdict.judge_pipelining(evidence);
        verdict.judge_end(evidence);
        verdict.judge_lengths(evidence);
        verdict.judge_error_statuses(evidence);
        verdict.judge_capacity(evidence);
        verdict.judge_sent_rate(evidence);
        verdict.judge_answered_rate(evidence);
        verdict.judge_resumption(evidence);
        verdict.judge_early_data(evidence);
        verdict.judge_lateness(evidence);
        verdict.judge_saturation(evidence);
        verdict.judge_littles_law(evidence);
        verdict.judge_stationarity(evidence);
        verdict.note_broken_off(evidence);
        verdict.note_redirections(evidence);
        verdict.note_declined(evidence);
        verdict.note_unix_socket(evidence);
        verdict.note_missing_percentiles(evidence);
        verdict.note_warm_up(evidence);
        verdict.note_recording(evidence);
        verdict
    }
}
