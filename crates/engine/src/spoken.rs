//! What the connections of a load speak: the one place where a plan becomes the type of an exchange.

use loadcurve_plan::{HttpLoad, HttpVersion};
use loadcurve_wire::{Exchange, Http1, Http2, Scheme};

use crate::error::StartError;
use crate::http::http2_settings;
use crate::protection::{self, Look};

/// What HTTP/1.x is called among the protocols of a TLS handshake (ALPN).
const HTTP1: Protocol = Protocol { name: "http/1.1", is_required: false };

/// The same of HTTP/2, to which nobody has agreed who does not name it.
const HTTP2: Protocol = Protocol { name: "h2", is_required: true };

/// A protocol as it is named in a TLS handshake.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(feature = "tls"), expect(dead_code, reason = "nothing is protected"))]
pub(crate) struct Protocol {
    pub(crate) name: &'static str,
    /// Whether a server must name it, too.
    pub(crate) is_required: bool,
}

/// How connections speak, and what the server has shown of itself when it was asked whether it does.
pub(crate) struct Spoken<S> {
    pub(crate) settings: S,
    /// None for clear text, and where the server could not be reached.
    pub(crate) look: Option<Look>,
}

/// What is done with the exchange of a plan, whatever its type.
pub(crate) trait Speaker {
    type Outcome;

    /// Does it.
    ///
    /// # Errors
    /// As the speaker says.
    fn speak<E: Exchange + 'static>(self, spoken: Spoken<E::Settings>) -> Result<Self::Outcome, StartError>;
}

/// Lets `speaker` speak as a plan asks for.
///
/// # Errors
/// The plan is not sound, its server does not agree to how it is to be spoken with, and as the speaker says.
pub(crate) fn speak<S: Speaker>(plan: &HttpLoad, speaker: S) -> Result<S::Outcome, StartError> {
    plan.validate()?;
    match plan.work.http {
        HttpVersion::Http10 | HttpVersion::Http11 => over::<Http1, S>(plan, HTTP1, (), speaker),
        HttpVersion::Http2 => {
            let scheme = if plan.work.tls.is_some() { Scheme::Https } else { Scheme::Http };
            over::<Http2, S>(plan, HTTP2, http2_settings(&plan.work.h2, scheme), speaker)
        }
    }
}

/// Lets `speaker` speak in clear text, or protected.
fn over<E: Exchange + 'static, S: Speaker>(
    plan: &HttpLoad,
    protocol: Protocol,
    settings: E::Settings,
    speaker: S,
) -> Result<S::Outcome, StartError> {
    match &plan.work.tls {
        None => speaker.speak::<E>(Spoken { settings, look: None }),
        Some(tls) => protection::over_tls::<E, S>(plan, tls, protocol, settings, speaker),
    }
}
