//! Whether as many TLS sessions were resumed as the load asked for.

use loadcurve_plan::HttpLoad;
use loadcurve_record::{HandshakeTimes, Quic, QuicHandshakeKind};

use super::{Code, Evidence, Status, Verdict};
use crate::words::{grouped, percentage};

/// Fewer handshakes say nothing of a share.
const LEAST_HANDSHAKES: u64 = 20;
/// How far the share of full handshakes may lie above the asked one, and that of accepted early data below it.
const TOLERANCE: f64 = 0.05;

/// The handshakes within the window, and what was asked of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resumption {
    /// The share of full ones that was asked for.
    pub(crate) asked: f64,
    pub(crate) full: u64,
    pub(crate) resumed: u64,
    /// How many of the full ones had offered to resume a session.
    pub(crate) refused: u64,
    /// Whether requests were to leave before the handshake was over, whose connections may end before a ticket comes.
    pub(crate) is_early: bool,
}

impl Resumption {
    /// That of a load; none in clear text.
    pub(crate) fn of(plan: &HttpLoad, handshakes: &HandshakeTimes) -> Option<Self> {
        let tls = plan.work.tls.as_ref()?;
        let (asked, is_early) = (tls.full_handshakes, tls.sends_early());
        let HandshakeTimes { full, resumed, refused } = handshakes;
        Some(Self { asked, full: full.count(), resumed: resumed.count(), refused: *refused, is_early })
    }

    fn total(self) -> u64 {
        self.full + self.resumed
    }

    /// How many full ones there were beyond those that were asked for and those that the server refused to resume: no session
    /// was left for them.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a number is no larger"
    )]
    fn without_session(self) -> u64 {
        let asked = (self.asked * self.total() as f64).round() as u64;
        self.full.saturating_sub(asked).saturating_sub(self.refused)
    }

    fn is_reached(self) -> bool {
        let total = self.total();
        total < LEAST_HANDSHAKES || self.full as f64 <= (self.asked + TOLERANCE) * total as f64
    }

    /// Why sessions were not resumed, as far as both ends show it.
    fn cause(self) -> String {
        let (refused, without) = (self.refused, self.without_session());
        if refused >= without {
            return format!(
                "the server did not resume {} sessions that it was offered: it no longer knew them, or another of its \
                 processes had begun them",
                grouped(refused)
            );
        }
        let without = grouped(without);
        if self.resumed == 0 && refused == 0 {
            return format!(
                "{without} connections had no session to resume: the server had sent no ticket before"
            );
        }
        if self.is_early {
            return format!(
                "no ticket was left for {without} connections: in TLS 1.3 each is used once, and a connection that ends \
                 with the answer to an early request has ended before the server sends the next one; make more calls on each"
            );
        }
        format!(
            "no ticket was left for {without} connections: in TLS 1.3 each is used once, and the server did not send a \
             new one on every connection"
        )
    }
}

/// The handshakes of QUIC that offered to resume a session and sent early data or resumed it, warm-up included, and what was
/// asked of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EarlyData {
    /// The share of them whose first requests were to leave before the end.
    pub(crate) asked: f64,
    pub(crate) accepted: u64,
    pub(crate) refused: u64,
    /// Those that sent nothing early.
    pub(crate) without: u64,
}

impl EarlyData {
    /// That of a load; `None` of one that was to send nothing early.
    pub(crate) fn of(plan: &HttpLoad, quic: &Quic) -> Option<Self> {
        let tls = plan.work.tls.as_ref().filter(|tls| tls.sends_early())?;
        let count = |kind| quic.handshakes_of(kind).count();
        Some(Self {
            asked: tls.early_data,
            accepted: count(QuicHandshakeKind::EarlyAccepted),
            refused: count(QuicHandshakeKind::EarlyRejected),
            without: count(QuicHandshakeKind::Resumed),
        })
    }

    fn total(self) -> u64 {
        self.accepted + self.refused + self.without
    }

    fn is_reached(self) -> bool {
        let total = self.total();
        total < LEAST_HANDSHAKES || self.accepted as f64 >= (self.asked - TOLERANCE) * total as f64
    }
}

impl Verdict {
    pub(super) fn judge_early_data(&mut self, evidence: &Evidence) {
        let Some(early) = evidence.early_data.filter(|early| !early.is_reached()) else { return };
        let text = format!(
            "less early data was accepted than the load asked for: in {} of {} handshakes that offered to resume a session ({}) \
             instead of {} %; the server refused it in {}, and in {} none was sent, because the ticket allowed none or no \
             request was due; turn on early data in the server, or ask for none",
            grouped(early.accepted),
            grouped(early.total()),
            percentage(early.accepted, early.total()),
            (1000.0 * early.asked).round() / 10.0,
            grouped(early.refused),
            grouped(early.without)
        );
        self.add(Status::Suspect, Code::EarlyDataNotAccepted, text);
    }

    pub(super) fn judge_resumption(&mut self, evidence: &Evidence) {
        let Some(resumption) = evidence.resumption.filter(|resumption| !resumption.is_reached()) else {
            return;
        };
        let text = format!(
            "fewer TLS sessions were resumed than the load asked for: {} of {} handshakes ({}) were full instead of \
             {} %; {}; the figures are those of the measured share",
            grouped(resumption.full),
            grouped(resumption.total()),
            percentage(resumption.full, resumption.total()),
            (1000.0 * resumption.asked).round() / 10.0,
            resumption.cause()
        );
        self.add(Status::Suspect, Code::ResumptionNotReached, text);
    }
}
