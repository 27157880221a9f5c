//! The verdict on a load that another generator has sent, from what that one reports.
//!
//! What a generator does not report is no evidence, neither for nor against it.

use loadcurve_plan::Stop;
use loadcurve_record::{Disruptions, FailureCounts, StatusCounts, Unserved, WarmUpCounts};
use serde::Deserialize;

use super::{Busy, Evidence, GeneratorEvidence, KeptUp, Loaded, Scheduled, TimeSeries, Verdict};
use crate::result::Requests;

/// What a generator reports of its load, and what was seen of its process.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reported {
    work: Loaded,
    stop: Stop,
    interrupted: bool,
    duration_s: f64,
    warmup_s: f64,
    answered: u64,
    /// None if it does not look at statuses.
    ok: Option<u64>,
    failed: u64,
    /// Of those that failed, as far as it tells reasons apart.
    failures: FailureCounts,
    status: Option<StatusCounts>,
    /// The rate of a schedule; none in a closed loop.
    asked_rps: Option<f64>,
    /// Requests that a closed loop kept up.
    requests_at_once: usize,
    mean_latency_ms: Option<f64>,
    /// CPUs that its threads could keep busy, and the share of them that they used.
    threads: usize,
    cpu_share: Option<f64>,
    /// Packets that the kernel dropped meanwhile because its table of tracked connections was full.
    tracking_drops: Option<u64>,
}

impl Reported {
    /// The verdict, as far as the figures reach.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        Verdict::of(&self.evidence())
    }

    fn evidence(&self) -> Evidence {
        let ended = self.answered + self.failed;
        let answered_rps = (self.duration_s > 0.0).then(|| self.answered as f64 / self.duration_s);
        let kept_up = KeptUp { requests: self.requests_at_once, think_ms: 0.0 };
        Evidence {
            loaded: self.work,
            stop: self.stop,
            interrupted: self.interrupted,
            duration_s: self.duration_s,
            requests: Requests {
                due: ended,
                sent: ended,
                answered: self.answered,
                ok: self.ok.unwrap_or(self.answered).min(self.answered),
                failed: self.failed,
                unanswered: 0,
                never_sent: 0,
                moved: 0,
            },
            began_late_s: 0.0,
            silent_at_end_s: None,
            lost: None,
            cut_off: 0,
            warm_up: WarmUpCounts::default(),
            unserved: Unserved::default(),
            at_once: self.requests_at_once,
            failures: self.failures,
            status: self.status,
            statuses: Vec::new(),
            unexpected_status: None,
            disruptions: Disruptions::default(),
            pipelined: false,
            redirection: None,
            tracking_drops: self.tracking_drops.unwrap_or(0),
            is_local: false,
            odd_bodies: Vec::new(),
            descriptors: None,
            ports: None,
            kept_up: self.asked_rps.is_none().then_some(kept_up),
            scheduled: self.asked_rps.map(|due_rps| Scheduled {
                due_rps,
                sent_rps: due_rps,
                never_sent_while_free: 0,
            }),
            declined: 0,
            fan_out: None,
            resumption: None,
            early_data: None,
            answered_rps,
            mean_latency_ms: self.mean_latency_ms,
            time_series: TimeSeries { warmup_s: self.warmup_s, rate_changes: false, periods: Vec::new() },
            generator: GeneratorEvidence {
                lateness: None,
                busy: self.cpu_share.map(|cpu_share| Busy { threads: self.threads, cpu_share }),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Reported;
    use crate::verdict::{Code, Status};
    use serde_json::json;

    /// Fifty connections for ten seconds, 10,000 requests per second, 5 ms each, with some other figures.
    fn reported(other: &serde_json::Value) -> Reported {
        let mut figures = json!({
            "work": "http", "stop": {"duration_s": 10.0}, "interrupted": false, "duration_s": 10.0, "warmup_s": 0.0,
            "answered": 100_000, "ok": 100_000, "failed": 0, "failures": {}, "status": null,
            "asked_rps": null, "requests_at_once": 50, "mean_latency_ms": 5.0, "threads": 1, "cpu_share": 0.5,
        });
        for (name, value) in other.as_object().expect("the other figures have names") {
            figures[name] = value.clone();
        }
        serde_json::from_value(figures).expect("these are the figures of a load")
    }

    fn codes(other: &serde_json::Value) -> (Status, Vec<Code>) {
        let verdict = reported(other).verdict();
        (verdict.status, verdict.reasons.iter().map(|reason| reason.code).collect())
    }

    #[test]
    fn a_load_that_another_generator_kept_up_is_valid() {
        assert_eq!(codes(&json!({})), (Status::Valid, vec![]));
        assert_eq!(codes(&json!({"ok": null, "mean_latency_ms": null})), (Status::Valid, vec![]));
    }

    #[test]
    fn failures_without_a_class_are_counted_as_such() {
        let of_three = json!({"answered": 99_997, "ok": 99_997, "failed": 3, "failures": {"timeout": 1}});
        assert_eq!(codes(&of_three), (Status::Suspect, vec![Code::Errors]));
        let text = reported(&of_three).verdict().reasons[0].text.clone();
        let parts = "1 were not answered within the timeout and 2 for a reason that the generator does not \
            report";
        assert!(text.contains(parts), "{text}");
    }

    #[test]
    fn a_database_is_asked_by_operations() {
        let of_three = json!({"work": "ycsb", "answered": 99_997, "ok": 99_997, "failed": 3, "failures": {}});
        let text = reported(&of_three).verdict().reasons[0].text.clone();
        assert!(text.contains("operations") && !text.contains("request"), "{text}");
    }

    #[test]
    fn error_statuses_count_where_their_classes_are_not_told_apart() {
        assert_eq!(codes(&json!({"ok": 98_000})), (Status::Invalid, vec![Code::ErrorStatus]));
    }

    #[test]
    fn a_rate_that_is_not_answered_and_a_busy_generator_cast_doubt() {
        let of_rate = json!({"asked_rps": 12_000.0});
        assert_eq!(codes(&of_rate), (Status::Suspect, vec![Code::RateNotReached]));
        assert_eq!(codes(&json!({"cpu_share": 0.97})), (Status::Suspect, vec![Code::GeneratorSaturated]));
    }

    #[test]
    fn a_load_without_an_answer_is_invalid() {
        let nothing = json!({"answered": 0, "ok": 0, "mean_latency_ms": null});
        assert_eq!(codes(&nothing), (Status::Invalid, vec![Code::NothingAnswered]));
    }
}
