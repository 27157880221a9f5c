//! What is counted of a connection, and handed on once.

use loadcurve_tls::QuicOutcome;
use loadcurve_wire::{
    self as wire, Http3Counts, Moment, QuicCounts, QuicEnd, QuicHandshake, QuicHandshakeKind,
};

use crate::connection::{Connection, Lost};

/// What of a connection was not handed on.
#[derive(Debug, Default)]
pub(super) struct Counting {
    begun: Moment,
    fresh: Http3Counts,
    /// What QUIC had counted when it was handed on last.
    taken: QuicCounts,
    was_leaving: bool,
}

impl Counting {
    /// A connection is begun now.
    pub(super) fn begun(now: Moment) -> Self {
        Self { begun: now, ..Self::default() }
    }

    /// Its handshake is over, before whose end requests were sent or not.
    pub(super) fn connected(
        &mut self,
        now: Moment,
        connection: &Connection,
        outcome: &QuicOutcome,
        has_early_requests: bool,
    ) {
        let is_resumed = outcome.look.as_ref().is_some_and(|look| look.agreement.is_resumed);
        let kind = match connection.early().filter(|_| has_early_requests) {
            _ if connection.was_retried() => QuicHandshakeKind::AfterRetry,
            Some(true) => QuicHandshakeKind::EarlyAccepted,
            Some(false) => QuicHandshakeKind::EarlyRejected,
            None if is_resumed => QuicHandshakeKind::Resumed,
            None => QuicHandshakeKind::Full,
        };
        self.fresh.handshake = Some(QuicHandshake {
            kind,
            length: now.saturating_sub(self.begun),
            certificate_bytes: outcome.certificate_bytes,
        });
        self.fresh.announced = connection.announced().unwrap_or_default();
    }

    /// No further request can begin now, for the server has not allowed one yet.
    pub(super) fn met_stream_limit(&mut self) {
        self.fresh.stream_limits_met += 1;
    }

    /// The server has not looked at a request.
    pub(super) fn rejected(&mut self) {
        self.fresh.requests_rejected += 1;
    }

    /// The connection has ended.
    pub(super) fn lost(&mut self, lost: &Lost) {
        self.fresh.end = end(lost);
    }

    /// Takes what was not handed on.
    pub(super) fn take(&mut self, connection: &Connection, http3: &mut wire::Http3) -> Http3Counts {
        let quic = connection.stats();
        let is_leaving = http3.is_leaving();
        let announced = self.fresh.announced;
        let counts = Http3Counts {
            quic: quic.since(&self.taken),
            qpack: http3.take_counts(),
            was_announced_to_end: is_leaving && !self.was_leaving,
            ..self.fresh
        };
        self.taken = quic;
        self.was_leaving = is_leaving;
        self.fresh = Http3Counts { announced, ..Http3Counts::default() };
        counts
    }
}

/// How a connection has ended, unless this side has ended it.
pub(super) fn end(lost: &Lost) -> Option<QuicEnd> {
    match lost {
        Lost::Application(code, _) => Some(QuicEnd::Application(*code)),
        Lost::Transport(code, _) => Some(QuicEnd::Transport(*code)),
        Lost::Broken(code, _) => Some(QuicEnd::Broken(*code)),
        Lost::Reset => Some(QuicEnd::Reset),
        Lost::Idle => Some(QuicEnd::Idle),
        Lost::Version => Some(QuicEnd::Version),
        Lost::Closed => None,
    }
}
