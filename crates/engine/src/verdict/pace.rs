//! Whether the load was the one that was asked for, and whether the generator was its limit.

use loadcurve_record::Failure;

use super::{Busy, Code, Evidence, KeptUp, Scheduled, Status, Verdict};
use crate::words::{grouped, percentage, rate};

/// A part of a load that begins this far into the window, as a share of it and in s, was not there for all of it.
const LATE_BEGIN_SHARE: f64 = 0.01;
/// What threads of a busy machine may need to begin, in s.
const LATE_BEGIN_S: f64 = 0.1;
/// A generator whose threads are this busy may itself be the limit.
const SATURATED_CPU_SHARE: f64 = 0.95;
/// Below this share of what fell due, the load was not the one that was asked for.
const KEPT_RATE_SHARE: f64 = 0.99;
/// Lateness of the generator that casts doubt on latencies, in ms.
const SUSPECT_LATENESS_MS: f64 = 1.0;
/// Lateness of the generator that spoils latencies, in ms.
const INVALID_LATENESS_MS: f64 = 10.0;
/// How far requests kept up and throughput times latency may lie apart.
const LITTLES_LAW_TOLERANCE: f64 = 0.1;
/// Answers for each request kept up that Little's law needs, so that the edges of the window do not matter.
const LITTLES_LAW_ANSWERS: f64 = 20.0;

impl Evidence {
    /// Whether the answers kept pace with the schedule; without one there is none to fall behind.
    ///
    /// Those that were still under way at the end do not count against it: a request is answered a latency after it was
    /// due, so by the end of the window those of all but its last latency are.
    pub(super) fn keeps_pace(&self) -> bool {
        self.keeps_pace_with(0)
    }

    /// Whether the schedule was kept but for requests that failed at once, which holds nothing up; failures are another
    /// reason.
    fn misses_only_failures(&self) -> bool {
        let waited = self.failures[Failure::Timeout] + self.failures[Failure::ConnectTimeout];
        self.keeps_pace_with(self.requests.failed.saturating_sub(waited))
    }

    /// Whether the answers, and this many others beside them, kept pace.
    fn keeps_pace_with(&self, others: u64) -> bool {
        let (Some(scheduled), Some(answered_rps), Some(mean_latency_ms)) =
            (self.scheduled, self.answered_rps, self.mean_latency_ms)
        else {
            return true;
        };
        // Where hardly anything is answered within the window, half of it still has to show the rate.
        let answerable_s = (self.duration_s - mean_latency_ms / 1e3).max(self.duration_s / 2.0);
        let expected = KEPT_RATE_SHARE * scheduled.due_rps * answerable_s;
        // One more, because requests are whole.
        answered_rps * self.duration_s + others as f64 + 1.0 >= expected
    }
}

impl Verdict {
    /// What falls due before a part begins is sent at its start, and no connection was free for it before: lateness does
    /// not tell.
    pub(super) fn judge_begin(&mut self, evidence: &Evidence) {
        let late_s = evidence.began_late_s;
        if late_s >= LATE_BEGIN_S.max(LATE_BEGIN_SHARE * evidence.duration_s) {
            let text = format!(
                "a part of the load began {late_s:.2} s after the start of the measured part, so \
                until then the load was lower than planned; keep other work off the generator's \
                CPUs, and start the parts on several machines at a time that all of them know \
                early enough"
            );
            self.add(Status::Suspect, Code::BeganLate, text);
        }
    }

    /// Requests that were not sent although a connection was free were the generator's to send.
    pub(super) fn judge_sent_rate(&mut self, evidence: &Evidence) {
        let Some(Scheduled { due_rps, sent_rps, never_sent_while_free }) = evidence.scheduled else { return };
        let due = evidence.requests.due;
        if never_sent_while_free as f64 > (1.0 - KEPT_RATE_SHARE) * due as f64 {
            let text = format!(
                "{} {} per second fell due and {} were sent: {} of {} ({}) were never sent although a {} was free, \
                 because the generator was delayed; keep other work off its CPUs",
                rate(due_rps),
                evidence.loaded.row().requests,
                rate(sent_rps),
                grouped(never_sent_while_free),
                grouped(due),
                percentage(never_sent_while_free, due),
                evidence.loaded.row().connection
            );
            self.add(Status::Suspect, Code::RateNotSent, text);
        }
    }

    /// Whether the answers kept pace with the schedule.
    pub(super) fn judge_answered_rate(&mut self, evidence: &Evidence) {
        let (Some(scheduled), Some(answered_rps)) = (evidence.scheduled, evidence.answered_rps) else {
            return;
        };
        if evidence.misses_only_failures() || evidence.has_stopped_answering() {
            return;
        }
        let loaded = evidence.loaded;
        let never_sent = match evidence.requests.never_sent - scheduled.never_sent_while_free {
            0 => String::new(),
            count => {
                format!(
                    ", and {} in all were never sent for want of a free {}",
                    grouped(count),
                    loaded.row().connection
                )
            }
        };
        let text = format!(
            "{} {} per second fell due and {} were answered{never_sent}: a {} beyond its \
            capacity falls further and further behind, so its latency grows with the length of \
            the load; reduce the load, or allow more \
             {}",
            rate(scheduled.due_rps),
            loaded.row().requests,
            rate(answered_rps),
            loaded.row().server,
            loaded.row().connections
        );
        self.add(Status::Suspect, Code::RateNotReached, text);
    }

    pub(super) fn judge_lateness(&mut self, evidence: &Evidence) {
        let Some(lateness) = evidence.generator.lateness else { return };
        // Where the requests are too few for a percentile, the latest one speaks.
        let (how_many, lateness_ms) = match (lateness.p99, lateness.max) {
            (Some(p99), _) => (format!("1 of 100 {}", evidence.loaded.row().requests), p99),
            (None, Some(max)) => (evidence.loaded.row().a_request.into(), max),
            (None, None) => return,
        };
        if lateness_ms > SUSPECT_LATENESS_MS {
            let status = if lateness_ms > INVALID_LATENESS_MS { Status::Invalid } else { Status::Suspect };
            let text = format!(
                "the generator itself was late: it sent {how_many} {lateness_ms:.2} ms or more after it was due, \
                 although a {connection} was free, and that counts as latency; keep other work \
                 off its CPUs, give it more threads, or reduce the load",
                connection = evidence.loaded.row().connection
            );
            self.add(status, Code::GeneratorLate, text);
        }
    }

    pub(super) fn judge_saturation(&mut self, evidence: &Evidence) {
        let Some(Busy { threads, cpu_share: share }) = evidence.generator.busy else { return };
        if share > SATURATED_CPU_SHARE {
            let threads = if threads == 1 { "thread was".into() } else { format!("{threads} threads were") };
            let text = format!(
                "the generator's {threads} busy {:.0} % of the time: the limit may be the generator's, not the {}'s; \
                 more threads on more CPUs would show it",
                share * 100.0,
                evidence.loaded.row().server
            );
            self.add(Status::Suspect, Code::GeneratorSaturated, text);
        }
    }

    /// Little's law: in a closed loop, requests kept up = throughput × (latency + think time) (Little 1961).
    pub(super) fn judge_littles_law(&mut self, evidence: &Evidence) {
        let Some(KeptUp { requests, think_ms }) = evidence.kept_up else { return };
        let (Some(rps), Some(latency_ms)) = (evidence.answered_rps, evidence.mean_latency_ms) else { return };
        let kept_up = requests as f64;
        let has_few_answers = (evidence.requests.answered as f64) < LITTLES_LAW_ANSWERS * kept_up;
        if evidence.requests.failed > 0 || has_few_answers {
            return;
        }
        let in_system = rps * (latency_ms + think_ms) / 1e3;
        // What waited through the window was under way, too, and another reason says so.
        let waiting = evidence.unserved.requests as f64;
        let off = |in_system: f64| in_system / kept_up - 1.0;
        if off(in_system) > LITTLES_LAW_TOLERANCE || off(in_system + waiting) < -LITTLES_LAW_TOLERANCE {
            let think =
                if think_ms > 0.0 { format!(" and {think_ms} ms of think time") } else { String::new() };
            let waited = match evidence.unserved.requests {
                0 => String::new(),
                count => format!(" beside the {} that waited through the window", grouped(count)),
            };
            let text = format!(
                "throughput and latency contradict each other (Little's law): {} {what} per second with \
                {latency_ms:.3} ms of latency{think} each make {in_system:.1} {what} under way{waited}, but {} were \
                kept under way; {}",
                rate(rps),
                grouped(requests as u64),
                contradiction(evidence, off(in_system) > 0.0),
                what = evidence.loaded.row().requests
            );
            self.add(Status::Suspect, Code::LittlesLaw, text);
        }
    }
}

/// What a contradiction leaves possible: time that no latency includes is the generator's, and what is too much comes from
/// the edges of the window.
fn contradiction(evidence: &Evidence, is_more: bool) -> String {
    let (requests, connections) = (evidence.loaded.row().requests, evidence.loaded.row().connections);
    if is_more {
        format!(
            "more than that can be under way for no time, so the {requests} that began before the window, or ended \
            after it, differ much from the others; a longer load has fewer of these"
        )
    } else {
        format!(
            "the generator spends time that no latency includes; more threads or fewer {connections} would show it"
        )
    }
}
