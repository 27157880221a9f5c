//! How connections ended with requests under way, and where answers led.

use loadcurve_record::{Disruptions, StatusClass, StatusCounts};

use super::{Code, Evidence, Redirection, Status, Verdict};
use crate::words::grouped;

/// What a server does with pipelined requests that it does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Forgets {
    AllButTheFirst,
    Some,
}

impl Evidence {
    /// What the server forgets of pipelined requests, where that shows on at least half of the connections that were left
    /// with requests unanswered.
    fn forgets(&self) -> Option<Forgets> {
        let Disruptions { pipelines, pipelines_answered_once: once, pipelines_answered_some: some, .. } =
            self.disruptions;
        let is_most = |count: u64| count > 0 && 2 * count >= pipelines;
        match self.pipelined {
            true if is_most(once) => Some(Forgets::AllButTheFirst),
            true if is_most(once + some) => Some(Forgets::Some),
            _ => None,
        }
    }
}

impl Verdict {
    /// A server that ignores what is pipelined behind a request answers later ones in its place, as far as a client sees.
    pub(super) fn judge_pipelining(&mut self, evidence: &Evidence) {
        let Some(forgets) = evidence.forgets() else { return };
        let Disruptions { pipelines, pipelines_answered_once: once, pipelines_answered_some: some, .. } =
            evidence.disruptions;
        let (does, shown) = match forgets {
            Forgets::AllButTheFirst => ("answers only the first of pipelined requests", once),
            Forgets::Some => ("leaves some of the pipelined requests unanswered", once + some),
        };
        let text = format!(
            "the server {does}, as on {} of the {} connections that were left with requests unanswered; answers may have \
             been taken for those of other requests, so no figure of this load holds; load it without a pipeline",
            grouped(shown),
            grouped(pipelines)
        );
        self.add(Status::Invalid, Code::NotPipelined, text);
    }

    /// Three causes of failures that look alike by their class.
    pub(super) fn note_broken_off(&mut self, evidence: &Evidence) {
        let endings = evidence.disruptions;
        let answers = if endings.answer_begun == 1 { "answer was" } else { "answers were" };
        let kept = if endings.kept_connection == 1 { "request was" } else { "requests were" };
        let new = if endings.new_connection == 1 { "request" } else { "requests" };
        let pipeline = if evidence.pipelined { ", or that take no pipelined requests" } else { "" };
        for (count, code, text) in [
            (
                endings.answer_begun,
                Code::AnswersCutOff,
                format!(
                    "{answers} cut off: the server closed or reset the connection after the first byte, as by the end of a \
                     process, a limit on the time of an answer, or a length that is not that of the body; its error log may show which"
                ),
            ),
            (
                endings.kept_connection,
                Code::KeptConnectionsClosed,
                format!(
                    "{kept} on the way when the server closed or reset a connection on which it had answered before, as \
                     servers do after an idle time or a number of requests; that is no limit of what it can serve, and \
                     clients send such a request again; keep pauses between requests shorter than the server's idle timeout, or raise that \
                     and its limit on requests per connection"
                ),
            ),
            (
                endings.new_connection,
                Code::NewConnectionsClosed,
                format!(
                    "{new} got no answer because the server closed or reset a connection on which it had answered nothing, as \
                     servers do at their limit on connections, or where they expect something else on this port, such as \
                     TLS or the PROXY protocol{pipeline}; compare the number of connections with the server's limit, and read its log"
                ),
            ),
        ] {
            // What a server does not do with a pipeline is no idle timeout.
            let has_other_cause = code == Code::KeptConnectionsClosed && evidence.forgets().is_some();
            if count > 0 && !has_other_cause {
                self.note(code, format!("{} {text}", grouped(count)));
            }
        }
    }

    /// A load that was to be compressed, and is not, measures something else.
    pub(super) fn note_declined(&mut self, evidence: &Evidence) {
        if evidence.declined > 0 {
            let websockets = grouped(evidence.declined);
            let text = format!(
                "the server declined to compress messages on {websockets} WebSockets: these were sent and answered without; \
                 see what its settings allow of permessage-deflate"
            );
            self.note(Code::CompressionDeclined, text);
        }
    }

    pub(super) fn note_unix_socket(&mut self, evidence: &Evidence) {
        if evidence.is_local {
            let text = "the connections are those of a Unix socket: there are no segments, so what the kernel counts of TCP \
                        is null";
            self.note(Code::UnixSocket, text.into());
        }
    }

    /// A redirection is seldom what was to be measured.
    pub(super) fn note_redirections(&mut self, evidence: &Evidence) {
        let redirections =
            evidence.status.as_ref().map_or(0, |status: &StatusCounts| status[StatusClass::Redirection]);
        let answered = evidence.requests.answered;
        if let (1.., Some(Redirection { place, is_only })) = (redirections, &evidence.redirection)
            && redirections == answered
            && evidence.unexpected_status.is_none()
        {
            let (redirections, answered) = (grouped(redirections), grouped(answered));
            let (place, what) = if *is_only {
                (format!(" to {place}"), "that path")
            } else {
                (format!(", such as to {place}"), "those paths")
            };
            let text = format!(
                "{redirections} of {answered} answers redirect{place}: load {what}, unless the redirections are what is to be \
                 measured"
            );
            self.note(Code::Redirected, text);
        }
    }
}
