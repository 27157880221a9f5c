//! Whether all connections were served.

use super::{Code, Evidence, Status, Verdict};
use crate::words::grouped;

/// Above this share of connections that were not served, or of requests at once that waited through the window, the
/// figures are those of another load.
const INVALID_SHARE: f64 = 0.01;

impl Verdict {
    /// Requests that no figure includes, and connections that no figure is about.
    pub(super) fn judge_service(&mut self, evidence: &Evidence) {
        let unserved = evidence.unserved;
        let unanswered = unserved.asked - unserved.served;
        // Where nothing is answered on any connection, and requests have ended, that is another reason.
        if unserved.requests == 0 && (unanswered == 0 || unserved.served == 0) {
            return;
        }
        let share_of = |count: u64, whole: u64| count as f64 / whole.max(1) as f64;
        let waited = share_of(unserved.requests, evidence.at_once as u64);
        let status = if waited.max(share_of(unanswered, unserved.asked)) > INVALID_SHARE {
            Status::Invalid
        } else {
            Status::Suspect
        };
        let text = format!("{}: {}", waiting(evidence), consequence(evidence));
        self.add(status, Code::NeverServed, text);
    }
}

/// Who waited, or was asked in vain.
fn waiting(evidence: &Evidence) -> String {
    let (unserved, loaded) = (evidence.unserved, evidence.loaded);
    let (connections, of) = (loaded.row().connections, grouped(unserved.asked));
    if unserved.requests == 0 {
        let unanswered = grouped(unserved.asked - unserved.served);
        return format!(
            "on {unanswered} of {of} {connections} no {} was answered in the whole window",
            loaded.row().request
        );
    }
    let requests = if unserved.requests == 1 { loaded.row().request } else { loaded.row().requests };
    let oldest_s = unserved.oldest.as_secs_f64();
    format!(
        "{} {requests}, on {} of {of} {connections}, waited through the whole window; the oldest {oldest_s:.1} s",
        grouped(unserved.requests),
        grouped(unserved.connections),
    )
}

/// What the figures are of, and what to do.
fn consequence(evidence: &Evidence) -> String {
    let (unserved, loaded) = (evidence.unserved, evidence.loaded);
    let (server, connections) = (loaded.row().server, loaded.row().connections);
    if unserved.served == 0 {
        return format!(
            "no latency includes them; a longer load shows whether the {server} is slow or answers nobody"
        );
    }
    if unserved.served == unserved.asked {
        return format!(
            "no latency includes them, though all {connections} had other answers; a longer load shows whether the \
            {server} ever answers them"
        );
    }
    format!(
        "the latencies and rates are those of the other {}; let the {server} serve more {connections} at once, or load \
        it with fewer",
        grouped(unserved.served)
    )
}
