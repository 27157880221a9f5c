//! Whether the numbers of one load may be used: the generator's part of the verdict.

use serde::Serialize;

/// Failed requests above this share spoil a result; any at all cast doubt on it.
const INVALID_ERROR_SHARE: f64 = 0.01;
/// A generator whose threads are this busy may itself be the limit.
const SATURATED_CPU_SHARE: f64 = 0.95;
/// Below this share of the asked rate, the load was not the one that was asked for.
const KEPT_RATE_SHARE: f64 = 0.99;
/// Lateness of the generator that casts doubt on open-loop latencies, in ms.
const SUSPECT_LATENESS_MS: f64 = 1.0;
/// Lateness of the generator that spoils open-loop latencies, in ms.
const INVALID_LATENESS_MS: f64 = 10.0;
/// How far connections and throughput times latency may lie apart.
const LITTLES_LAW_TOLERANCE: f64 = 0.1;
/// Answers for each connection that Little's law needs, so that the edges of the window do not matter.
const LITTLES_LAW_ANSWERS: f64 = 20.0;

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

/// One reason against a result, with its evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// The same for every occurrence.
    pub code: &'static str,
    /// A sentence with the numbers.
    pub text: String,
}

/// The verdict on one load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// The worst that any reason says.
    pub status: Status,
    /// The reasons, none for a valid result.
    pub reasons: Vec<Reason>,
}

/// What the verdict is reached from.
#[derive(Clone, Debug)]
pub(crate) struct Evidence {
    /// The requests that a closed loop kept under way or in thought; none in an open loop.
    pub(crate) requests_kept_up: Option<usize>,
    /// How long a client of a closed loop thinks between answer and request.
    pub(crate) think_ms: f64,
    /// The rate at which the requests of an open loop fell due; none in a closed loop.
    pub(crate) due_rps: Option<f64>,
    pub(crate) interrupted: bool,
    pub(crate) due: u64,
    pub(crate) answered: u64,
    pub(crate) ok: u64,
    pub(crate) failed: u64,
    /// The failures that happened, by class.
    pub(crate) failures: Vec<(&'static str, u64)>,
    pub(crate) answered_rps: Option<f64>,
    pub(crate) mean_latency_ms: Option<f64>,
    pub(crate) lateness_p99_ms: Option<f64>,
    /// How busy the generator's threads were, between 0 and 1.
    pub(crate) cpu_share: Option<f64>,
}

impl Verdict {
    /// The verdict that the evidence gives.
    pub(crate) fn of(evidence: &Evidence) -> Self {
        let mut verdict = Self::default();
        if evidence.answered == 0 {
            verdict.add(Status::Invalid, "nothing_answered", "no request was answered".into());
        }
        if evidence.interrupted {
            verdict.add(
                Status::Suspect,
                "interrupted",
                "the load was interrupted, so its window is shorter than planned".into(),
            );
        }
        verdict.judge_errors(evidence);
        verdict.judge_rate(evidence);
        verdict.judge_lateness(evidence);
        verdict.judge_generator(evidence);
        verdict.judge_littles_law(evidence);
        verdict
    }

    fn add(&mut self, status: Status, code: &'static str, text: String) {
        self.status = self.status.max(status);
        self.reasons.push(Reason { code, text });
    }

    fn judge_errors(&mut self, evidence: &Evidence) {
        if evidence.due == 0 {
            return;
        }
        let status_of = |count: u64| {
            if count as f64 / evidence.due as f64 > INVALID_ERROR_SHARE {
                Status::Invalid
            } else {
                Status::Suspect
            }
        };
        if evidence.failed > 0 {
            let classes: Vec<String> =
                evidence.failures.iter().map(|(class, count)| format!("{count} {class}")).collect();
            let text =
                format!("{} of {} requests failed: {}", evidence.failed, evidence.due, classes.join(", "));
            self.add(status_of(evidence.failed), "errors", text);
        }
        let refused = evidence.answered - evidence.ok;
        if refused > 0 {
            let text = format!("{refused} of {} answers have a 4xx or 5xx status", evidence.answered);
            self.add(status_of(refused), "error_status", text);
        }
    }

    fn judge_rate(&mut self, evidence: &Evidence) {
        let (Some(due), Some(answered)) = (evidence.due_rps, evidence.answered_rps) else { return };
        if answered < KEPT_RATE_SHARE * due {
            let text = format!(
                "{due:.0} requests per second fell due and {answered:.0} were answered: beyond its capacity a \
                 server's latency grows with the length of the load"
            );
            self.add(Status::Suspect, "rate_not_reached", text);
        }
    }

    fn judge_lateness(&mut self, evidence: &Evidence) {
        let Some(lateness_ms) = evidence.lateness_p99_ms else { return };
        if lateness_ms > SUSPECT_LATENESS_MS {
            let status = if lateness_ms > INVALID_LATENESS_MS { Status::Invalid } else { Status::Suspect };
            let text = format!(
                "the generator itself sent late: p99 {lateness_ms:.2} ms behind schedule with a connection free"
            );
            self.add(status, "generator_late", text);
        }
    }

    fn judge_generator(&mut self, evidence: &Evidence) {
        let Some(share) = evidence.cpu_share else { return };
        if share > SATURATED_CPU_SHARE {
            let text = format!(
                "the generator's threads were busy {:.0} % of the time: the limit may be the generator's, not the \
                 server's; more threads on more CPUs would tell",
                share * 100.0
            );
            self.add(Status::Suspect, "generator_saturated", text);
        }
    }

    /// Little's law: in a closed loop, requests kept up = throughput × (latency + think time) (Little 1961).
    fn judge_littles_law(&mut self, evidence: &Evidence) {
        let Some(kept_up) = evidence.requests_kept_up.map(|count| count as f64) else { return };
        let (Some(rps), Some(latency_ms)) = (evidence.answered_rps, evidence.mean_latency_ms) else { return };
        if evidence.failed > 0 || (evidence.answered as f64) < LITTLES_LAW_ANSWERS * kept_up {
            return;
        }
        let in_system = rps * (latency_ms + evidence.think_ms) / 1e3;
        if (in_system / kept_up - 1.0).abs() > LITTLES_LAW_TOLERANCE {
            let text = format!(
                "throughput times mean latency gives {in_system:.1} requests under way, but {kept_up} were kept up"
            );
            self.add(Status::Suspect, "littles_law", text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Evidence, Status, Verdict};

    /// Fifty connections, 10,000 requests per second, 5 ms each: nothing to object to.
    fn closed() -> Evidence {
        Evidence {
            requests_kept_up: Some(50),
            think_ms: 0.0,
            due_rps: None,
            interrupted: false,
            due: 100_000,
            answered: 100_000,
            ok: 100_000,
            failed: 0,
            failures: vec![],
            answered_rps: Some(10_000.0),
            mean_latency_ms: Some(5.0),
            lateness_p99_ms: None,
            cpu_share: Some(0.5),
        }
    }

    fn open() -> Evidence {
        Evidence { requests_kept_up: None, due_rps: Some(10_000.0), lateness_p99_ms: Some(0.05), ..closed() }
    }

    fn verdict(evidence: &Evidence) -> (Status, Vec<&'static str>) {
        let verdict = Verdict::of(evidence);
        (verdict.status, verdict.reasons.iter().map(|reason| reason.code).collect())
    }

    #[test]
    fn sound_loads_are_valid_without_a_reason() {
        assert_eq!(verdict(&closed()), (Status::Valid, vec![]));
        assert_eq!(verdict(&open()), (Status::Valid, vec![]));
    }

    #[test]
    fn a_load_without_an_answer_is_invalid() {
        let evidence = Evidence { answered: 0, ok: 0, mean_latency_ms: None, answered_rps: None, ..closed() };
        assert_eq!(verdict(&evidence), (Status::Invalid, vec!["nothing_answered"]));
    }

    #[test]
    fn failures_cast_doubt_and_above_one_percent_spoil_the_result() {
        let failing = |failed| Evidence { failed, failures: vec![("reset", failed)], ..closed() };
        assert_eq!(verdict(&failing(1)), (Status::Suspect, vec!["errors"]));
        assert_eq!(verdict(&failing(1_000)), (Status::Suspect, vec!["errors"]));
        assert_eq!(verdict(&failing(1_001)), (Status::Invalid, vec!["errors"]));
        assert!(Verdict::of(&failing(7)).reasons[0].text.contains("7 of 100000 requests failed: 7 reset"));
    }

    #[test]
    fn answers_with_an_error_status_are_no_answers_to_rank_by() {
        assert_eq!(verdict(&Evidence { ok: 0, ..closed() }), (Status::Invalid, vec!["error_status"]));
    }

    #[test]
    fn a_rate_that_is_not_reached_is_said() {
        assert_eq!(verdict(&Evidence { answered_rps: Some(9_900.0), ..open() }).0, Status::Valid);
        let short = Evidence { answered_rps: Some(9_800.0), ..open() };
        assert_eq!(verdict(&short), (Status::Suspect, vec!["rate_not_reached"]));
    }

    #[test]
    fn a_late_generator_is_said_and_a_very_late_one_spoils_the_result() {
        let late = |ms| Evidence { lateness_p99_ms: Some(ms), ..open() };
        assert_eq!(verdict(&late(2.0)), (Status::Suspect, vec!["generator_late"]));
        assert_eq!(verdict(&late(20.0)), (Status::Invalid, vec!["generator_late"]));
    }

    #[test]
    fn a_saturated_generator_is_said() {
        let saturated = Evidence { cpu_share: Some(0.99), ..closed() };
        assert_eq!(verdict(&saturated), (Status::Suspect, vec!["generator_saturated"]));
    }

    #[test]
    fn latencies_that_do_not_fill_the_connections_break_littles_law() {
        // 10,000 per second of 2 ms keep 20 connections busy, not 50.
        let broken = Evidence { mean_latency_ms: Some(2.0), ..closed() };
        assert_eq!(verdict(&broken), (Status::Suspect, vec!["littles_law"]));
    }

    #[test]
    fn an_interrupted_load_says_so() {
        assert_eq!(
            verdict(&Evidence { interrupted: true, ..closed() }),
            (Status::Suspect, vec!["interrupted"])
        );
    }
}
