//! What takes the place of TLS in a build without it.

use loadcurve_plan::{HttpLoad, Tls as Plan};
use loadcurve_wire::{HttpExchange, Stream};

use crate::error::StartError;
use crate::http3_summary::OwnQuic;
use crate::limit::Limit;
use crate::merged::Merged;
use crate::result::TlsSummary;
use crate::visitor::{ExchangeVisitor, Look, Protocol};

/// Refuses to speak over TLS.
///
/// # Errors
/// Always.
pub(crate) fn over_tls<E: HttpExchange<Carrier = Stream> + 'static, S: ExchangeVisitor>(
    _: &HttpLoad,
    _: Limit<'_>,
    _: &Plan,
    _: Protocol,
    _: E::Settings,
    _: S,
) -> Result<S::Outcome, StartError> {
    Err(StartError::Plan(crate::NO_TLS.into()))
}

/// What stands for HTTP/3 where nothing speaks it.
pub(crate) type OverQuic = loadcurve_wire::Http1;

/// What nobody asks for.
pub(crate) const QUIC: OwnQuic = OwnQuic {
    congestion_control: "",
    initial_window_bytes: 0,
    packets_per_ack: 0,
    ack_delay_ms: 0,
    table_bytes: 0,
    socket_buffer_bytes: 0,
};

/// Refuses to speak over QUIC.
///
/// # Errors
/// Always.
pub(crate) fn over_quic<S: ExchangeVisitor>(
    _: &HttpLoad,
    _: Limit<'_>,
    _: &Plan,
    _: S,
) -> Result<S::Outcome, StartError> {
    Err(StartError::Plan(crate::NO_TLS.into()))
}

/// Nobody knows.
pub(crate) fn is_spoken(_: &HttpLoad, _: Limit<'_>) -> bool {
    false
}

/// Nothing: no load is over TLS.
pub(crate) fn summary(_: &HttpLoad, _: &Merged, _: Option<&Look>) -> Option<TlsSummary> {
    None
}
