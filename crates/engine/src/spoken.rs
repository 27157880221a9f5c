//! What the connections of a load speak: the one place where a plan becomes the type of an exchange.

use loadcurve_plan::{self as plan, HttpLoad, HttpVersion};
use loadcurve_wire::{Exchange, Hpack, Http1, Http2, Http2Settings, Scheme};

use crate::agreement;
use crate::error::StartError;
use crate::limit::Limit;
use crate::protection;
use crate::visitor::{ExchangeVisitor, Protocol, Spoken};

/// What HTTP/1.x is called among the protocols of a TLS handshake (ALPN).
const HTTP1: Protocol = Protocol { name: "http/1.1", is_required: false };

/// The same of HTTP/2, to which nobody has agreed who does not name it.
const HTTP2: Protocol = Protocol { name: "h2", is_required: true };

/// Runs `visitor` with the exchange that a plan asks for. What is asked of the server before has the timeout of the plan, all together, and
/// ends where `is_interrupted` says so.
///
/// # Errors
/// The plan is not sound, its server does not agree to how it is to be spoken with, and as the visitor says.
pub(crate) fn visit_exchange<S: ExchangeVisitor>(
    plan: &HttpLoad,
    is_interrupted: &dyn Fn() -> bool,
    visitor: S,
) -> Result<S::Outcome, StartError> {
    plan.validate()?;
    let limit = Limit::new(plan.timeout(), is_interrupted);
    match plan.work.http {
        HttpVersion::Http10 | HttpVersion::Http11 => over::<Http1, S>(plan, limit, HTTP1, (), visitor),
        HttpVersion::Http2 => {
            let scheme = if plan.work.tls.is_some() { Scheme::Https } else { Scheme::Http };
            over::<Http2, S>(plan, limit, HTTP2, http2_settings(&plan.work.h2, scheme), visitor)
        }
    }
}

/// Runs `visitor` in clear text, or over TLS.
fn over<E: Exchange + 'static, S: ExchangeVisitor>(
    plan: &HttpLoad,
    limit: Limit<'_>,
    protocol: Protocol,
    settings: E::Settings,
    visitor: S,
) -> Result<S::Outcome, StartError> {
    match &plan.work.tls {
        None => {
            agreement::agree::<E>(plan, limit, &settings)?;
            visitor.visit::<E>(Spoken { settings, look: None })
        }
        Some(tls) => protection::over_tls::<E, S>(plan, limit, tls, protocol, settings, visitor),
    }
}

/// How an exchange speaks HTTP/2 as a plan has it.
fn http2_settings(h2: &plan::Http2, scheme: Scheme) -> Http2Settings {
    Http2Settings {
        hpack: match h2.hpack {
            plan::Hpack::Indexed => Hpack::Indexed,
            plan::Hpack::Literal => Hpack::Literal,
        },
        scheme,
        stream_window_bytes: h2.stream_window_bytes,
        connection_window_bytes: h2.connection_window_bytes,
        ..Http2Settings::default()
    }
}
