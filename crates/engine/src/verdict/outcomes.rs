//! What became of the requests.

use std::cmp::Reverse;

use loadcurve_plan::Stop;
use loadcurve_record::{Class, Failure, FailureCounts, Loss, PERCENTILES, StatusCounts};

use super::evidence::Lost;
use super::{Code, Evidence, Loaded, OddBody, Status, Verdict};
use crate::words::{grouped, list, percentage, rate};

/// Failed requests above this share spoil a result, as a gap does above this share of the window; any at all cast
/// doubt on it.
const INVALID_ERROR_SHARE: f64 = 0.01;
/// Shorter gaps at the end of a window are pauses rather than ends, in s.
const LEAST_SILENCE_S: f64 = 0.1;
/// Operations that a sentence names.
const MOST_EXAMPLES: usize = 3;
/// Requests without an end above this share may have been the slowest.
const SUSPECT_UNANSWERED_SHARE: f64 = 0.01;

/// What a server answers to a request that came before its handshake was over (RFC 8470).
const TOO_EARLY: u16 = 425;

/// The end of a window, in which a server that had answered before answered nothing.
pub(super) struct SilenceAtEnd {
    length_s: f64,
    /// Of the window.
    share: f64,
}

impl SilenceAtEnd {
    /// Had the server been asked as before, as large a share of the requests would have failed.
    fn status(&self) -> Status {
        if self.share > INVALID_ERROR_SHARE { Status::Invalid } else { Status::Suspect }
    }
}

impl Evidence {
    /// The gap in which the window ended. A client that cannot connect rests, so a server that is gone gives few
    /// failures, however long it is gone.
    ///
    /// None in a load of a number of requests: in vain or not, it makes all of them.
    fn gap_at_end(&self) -> Option<SilenceAtEnd> {
        let length_s = self.silent_at_end_s.filter(|length_s| *length_s >= LEAST_SILENCE_S)?;
        let is_reported = matches!(self.stop, Stop::DurationS(_)) && self.requests.answered > 0;
        is_reported.then(|| SilenceAtEnd { length_s, share: length_s / self.duration_s })
    }

    /// Whether the server stopped answering so early that a rate below the asked one, or a change of level, needs no
    /// other reason.
    pub(super) fn has_stopped_answering(&self) -> bool {
        self.lost.is_some() || self.gap_at_end().is_some_and(|gap| gap.status() == Status::Invalid)
    }
}

impl Verdict {
    pub(super) fn judge_completeness(&mut self, evidence: &Evidence) {
        let requests = evidence.requests;
        if requests.due == 0 {
            let request = evidence.loaded.row().request;
            let text =
                format!("no {request} fell due in the measured part of the load, so nothing was measured");
            self.add(Status::Invalid, Code::NothingAnswered, text);
        } else if requests.answered == 0 {
            let (due, what) = (grouped(requests.due), evidence.loaded.row().requests);
            let text = match evidence.answered_rps {
                Some(answered_rps) if answered_rps > 0.0 && requests.never_sent == requests.due => format!(
                    "none of the {due} {what} that fell due in the measured part was sent: the {} was busy with those of \
                     the warm-up to the end, and answered {} of them per second; reduce the \
                     load, or allow more {}",
                    evidence.loaded.row().server,
                    rate(answered_rps),
                    evidence.loaded.row().connections
                ),
                _ => format!("none of the {due} {what} that fell due was answered"),
            };
            self.add(Status::Invalid, Code::NothingAnswered, text);
        }
        if evidence.interrupted {
            self.add(Status::Suspect, Code::Interrupted, interruption(evidence));
        }
        if requests.unanswered as f64 > SUSPECT_UNANSWERED_SHARE * requests.due as f64 {
            let text = format!(
                "{} of {} {} ({}) were still under way when the load was interrupted: their latencies, perhaps the \
                 longest, are missing",
                grouped(requests.unanswered),
                grouped(requests.due),
                evidence.loaded.row().requests,
                percentage(requests.unanswered, requests.due)
            );
            self.add(Status::Suspect, Code::Unanswered, text);
        }
    }

    /// Packets that the kernel itself has dropped are no fault of the server: this comes before what they have caused.
    pub(super) fn judge_tracking(&mut self, evidence: &Evidence) {
        if evidence.tracking_drops == 0 {
            return;
        }
        let caused_failures = evidence.requests.failed > 0
            || evidence.requests.answered == 0
            || evidence.has_stopped_answering();
        let status = if caused_failures { Status::Invalid } else { Status::Suspect };
        let text = format!(
            "this machine's kernel dropped {} packets because its table of tracked connections was full: connections \
             failed or waited for that reason, which is not the server's; enlarge net.netfilter.nf_conntrack_max, open \
             fewer connections, or remove the firewall rules that make the kernel track them",
            grouped(evidence.tracking_drops)
        );
        self.add(status, Code::TrackingFull, text);
    }

    pub(super) fn judge_failures(&mut self, evidence: &Evidence) {
        let (failed, due) = (evidence.requests.failed, evidence.requests.due);
        if failed == 0 {
            return;
        }
        let text = format!(
            "{} of {} {what} ({}) failed: {}; failed {what} have no latency, so the latencies \
            cover only the others",
            grouped(failed),
            grouped(due),
            percentage(failed, due),
            list(&failures_in_words(&evidence.failures, failed, evidence.loaded)),
            what = evidence.loaded.row().requests
        );
        self.add(status_of_share(failed, due), Code::Errors, text);
    }

    pub(super) fn judge_end(&mut self, evidence: &Evidence) {
        if let Some(lost) = evidence.lost {
            self.add(Status::Invalid, Code::ServerLost, loss(evidence, lost));
        }
        // Where the kernel has dropped packets, nobody knows whether the server would have answered.
        let Some(gap) = evidence.gap_at_end().filter(|_| evidence.tracking_drops == 0) else { return };
        let loaded = evidence.loaded;
        let text = format!(
            "the {server} stopped answering: in the last {:.1} of {:.1} s ({:.1} %) no answer \
            came, and every attempt failed; the rates include that time, and failures are few \
            only because a {connection} without an answer sends fewer requests; the {server}'s \
            log may show why",
            gap.length_s,
            evidence.duration_s,
            100.0 * gap.share,
            server = loaded.row().server,
            connection = loaded.row().connection
        );
        self.add(gap.status(), Code::StoppedAnswering, text);
    }

    pub(super) fn judge_lengths(&mut self, evidence: &Evidence) {
        let (mut mismatched, mut differing) = (Vec::new(), Vec::new());
        for body in &evidence.odd_bodies {
            match body {
                OddBody::Mismatched { operation, verified_bytes, found_bytes } => {
                    let (found, verified) = (grouped(*found_bytes), grouped(*verified_bytes));
                    mismatched.push(format!("{found} instead of {verified} bytes for {operation}"));
                }
                OddBody::Differing { operation, shortest_bytes, longest_bytes } => {
                    let (shortest, longest) = (grouped(*shortest_bytes), grouped(*longest_bytes));
                    differing.push(format!("from {shortest} to {longest} bytes for {operation}"));
                }
            }
        }
        if !mismatched.is_empty() {
            let (count, due) = (evidence.failures[Failure::Mismatch], evidence.requests.due);
            let text = format!(
                "{} of {} requests ({}) got an answer whose length differs from the verified one, which \
                counts as failed: {}; under load, the server does not do the work that was verified; its \
                log may show why",
                grouped(count),
                grouped(due),
                percentage(count, due),
                list(&examples(mismatched))
            );
            self.add(status_of_share(count, due), Code::Mismatch, text);
        }
        if !differing.is_empty() {
            let text = format!(
                "answers to the same request differ in length: {}; unless each answer is \
                generated anew, some of them are wrong",
                list(&examples(differing))
            );
            self.add(Status::Suspect, Code::LengthsDiffer, text);
        }
    }

    pub(super) fn judge_error_statuses(&mut self, evidence: &Evidence) {
        let answered = evidence.requests.answered;
        let errors = answered - evidence.requests.ok;
        if errors == 0 {
            return;
        }
        let expects = evidence.unexpected_status.is_some();
        let statuses = wrong_statuses(evidence, expects);
        let of_classes = if statuses.is_empty() { String::new() } else { format!(", {}", list(&statuses)) };
        let (share, status) = (percentage(errors, answered), status_of_share(errors, answered));
        let (errors_in_words, answered) = (grouped(errors), grouped(answered));
        let text = if expects {
            format!(
                "{errors_in_words} of {answered} answers ({share}) have another status than the list of requests \
                expects{of_classes}: the server does other work than was recorded; check whether it has the same \
                content, and its log"
            )
        } else {
            format!(
                "{errors_in_words} of {answered} answers ({share}) have an error status{of_classes}: an error page \
                is not the requested work; check the path and the server's log"
            )
        };
        self.add(status, Code::ErrorStatus, text);
    }

    pub(super) fn judge_capacity(&mut self, evidence: &Evidence) {
        let failures = &evidence.failures;
        let shortages = [
            (
                Code::DescriptorsShort,
                failures[Failure::FdUnavailable],
                "file descriptor",
                &evidence.descriptors,
            ),
            (Code::PortsShort, failures[Failure::AddressUnavailable], "local port", &evidence.ports),
        ];
        for (code, count, what, shortage) in shortages {
            if let (1.., Some(shortage)) = (count, shortage) {
                let loaded = evidence.loaded;
                let requests = if count == 1 { loaded.row().request } else { loaded.row().requests };
                let text = format!(
                    "{} {requests} found no free {what} for a connection: {shortage}",
                    grouped(count)
                );
                self.add(Status::Suspect, code, text);
            }
        }
    }

    /// A percentile that the answers do not bound is null, which is no fault of the others.
    pub(super) fn note_missing_percentiles(&mut self, evidence: &Evidence) {
        let answered = evidence.requests.answered;
        let missing: Vec<String> = PERCENTILES
            .into_iter()
            .filter(|percentile| percentile.samples_needed() > answered)
            .map(|percentile| format!("{percentile} requires {}", grouped(percentile.samples_needed())))
            .collect();
        if answered == 0 || missing.is_empty() {
            return;
        }
        let answers_are = if answered == 1 { "answer is" } else { "answers are" };
        let text = format!(
            "{} {answers_are} too few for some percentiles of latency, which are null: {}; a \
            longer load gives more",
            grouped(answered),
            list(&missing)
        );
        self.note(Code::TooFewSamples, text);
    }

    pub(super) fn note_warm_up(&mut self, evidence: &Evidence) {
        let warm_up = evidence.warm_up;
        if warm_up.failed > 0 {
            let text = format!(
                "{} of {} {} of the warm-up ({}) failed; no figure includes them, but a {} that \
                fails at first may require a longer warm-up",
                grouped(warm_up.failed),
                grouped(warm_up.begun),
                evidence.loaded.row().requests,
                percentage(warm_up.failed, warm_up.begun),
                evidence.loaded.row().server
            );
            self.note(Code::WarmupErrors, text);
        }
    }

    pub(super) fn note_recording(&mut self, evidence: &Evidence) {
        if evidence.cut_off > 0 {
            let text = format!(
                "the load is shorter than the recording: {} of the recorded {} were due after its end and are not included; \
                 a longer duration, or none, replays them",
                grouped(evidence.cut_off),
                evidence.loaded.row().requests
            );
            self.note(Code::RecordingCut, text);
        }
    }
}

/// How many answers were of each status that is not what was asked for, the most frequent first; of each class where single
/// statuses are not known.
fn wrong_statuses(evidence: &Evidence, expects: bool) -> Vec<String> {
    if !evidence.statuses.is_empty() {
        let mut wrong: Vec<_> = evidence.statuses.iter().filter(|one| one.wrong > 0).collect();
        wrong.sort_by_key(|one| Reverse(one.wrong));
        return examples(
            wrong.iter().map(|one| format!("{} of {}", grouped(one.wrong), named(one.status))).collect(),
        );
    }
    let classes = evidence.unexpected_status.or(evidence.status);
    (classes.iter().flat_map(StatusCounts::iter))
        .filter(|(class, count)| (expects || class.row().is_error) && *count > 0)
        .map(|(class, count)| format!("{} of {}", grouped(count), class.code()))
        .collect()
}

/// A status, with what it says where that is of the connection and not of the request.
fn named(status: u16) -> String {
    match status {
        TOO_EARLY => {
            format!("{status} (Too Early: the server does not process it before the handshake is over)")
        }
        _ => status.to_string(),
    }
}

fn loss(evidence: &Evidence, lost: Lost) -> String {
    let loaded = evidence.loaded;
    let last_heard = match lost.last_heard_s {
        Some(last_heard_s) => format!("{last_heard_s:.2} s after the start of the measured part"),
        None => "before the measured part".into(),
    };
    let never_sent = match evidence.requests.never_sent {
        0 => String::new(),
        count => format!(
            ", with {} of {} {} never sent",
            grouped(count),
            grouped(evidence.requests.due),
            loaded.row().requests
        ),
    };
    let server = loaded.row().server;
    let tried_s = lost.tried_s;
    let (what, how) = match lost.how {
        Loss::Unreachable => {
            ("could not be reached any more", format!("every attempt to connect failed for {tried_s:.1} s"))
        }
        Loss::Silent => (
            "sent nothing any more",
            format!("connections were accepted, but nothing came on them for {tried_s:.1} s"),
        ),
    };
    format!(
        "the {server} {what}: it was last heard {last_heard}, {how} after that, and so the load ended \
        there{never_sent}; the {server}'s log may show why"
    )
}

fn status_of_share(count: u64, whole: u64) -> Status {
    if count as f64 > INVALID_ERROR_SHARE * whole as f64 { Status::Invalid } else { Status::Suspect }
}

/// The first few of many parts, and how many more there are.
fn examples(mut parts: Vec<String>) -> Vec<String> {
    if parts.len() > MOST_EXAMPLES {
        let more = parts.split_off(MOST_EXAMPLES).len();
        parts.push(format!("{more} more"));
    }
    parts
}

fn interruption(evidence: &Evidence) -> String {
    let (request, requests) = (evidence.loaded.row().request, evidence.loaded.row().requests);
    match (evidence.requests.due, evidence.warm_up.begun) {
        (0, 0) => return format!("the load was interrupted before its first {request}"),
        (0, begun) => {
            let begun = grouped(begun);
            return format!("the load was interrupted in its warm-up, after {begun} {requests} of it");
        }
        _ => {}
    }
    let planned = match evidence.stop {
        Stop::DurationS(seconds) => format!("{seconds} s"),
        Stop::RequestsTotal(total) => format!("{} {requests}", grouped(total)),
        Stop::ConnectionsTotal(total) => format!("{} connections", grouped(total)),
        Stop::Recording => "until the last recorded request".into(),
    };
    format!(
        "the load was interrupted {:.2} s after the start of its measured part, which was to last {planned}: these are \
         the numbers of a shorter load",
        evidence.duration_s
    )
}

/// What happened to this many failed requests, for readers who do not know the names of the classes.
fn failures_in_words(failures: &FailureCounts, failed: u64, loaded: Loaded) -> Vec<String> {
    let happened = failures.iter().filter(|(_, count)| *count > 0);
    let mut words: Vec<String> = happened
        .map(|(failure, count)| format!("{} {}", grouped(count), (loaded.row().happened)(failure)))
        .collect();
    let unreported = failed.saturating_sub(failures.total());
    if unreported > 0 {
        words.push(format!("{} for a reason that the generator does not report", grouped(unreported)));
    }
    words
}
