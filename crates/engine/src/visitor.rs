//! What connections speak, before it is known which type of exchange speaks it.

use loadcurve_wire::{HttpExchange, Stream};

use crate::error::StartError;
use crate::transport::Transport;

/// What a server shows of itself in a TLS handshake.
#[cfg(feature = "tls")]
pub(crate) use loadcurve_tls::Look;

/// What no server shows in a build without TLS.
#[cfg(not(feature = "tls"))]
#[derive(Clone, Debug)]
pub(crate) enum Look {}

/// A protocol by its names.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(feature = "tls"), expect(dead_code, reason = "nothing is protected"))]
pub(crate) struct Protocol {
    /// For people.
    pub(crate) title: &'static str,
    /// In a TLS handshake (ALPN).
    pub(crate) name: &'static str,
    /// Whether a server must name it, too.
    pub(crate) is_required: bool,
    /// Whether it begins with a request that a server may refuse, also one that has named it.
    pub(crate) may_be_refused: bool,
}

/// How connections speak, and what the server has shown of itself when it was asked whether it does.
pub(crate) struct Spoken<S> {
    pub(crate) settings: S,
    /// None for clear text, and where the server could not be reached.
    pub(crate) look: Option<Look>,
}

/// Work that is generic over the protocol of a plan, whatever protects it.
pub(crate) trait ProtocolVisitor {
    type Outcome;

    /// Runs the work with the exchange of this protocol in clear text.
    ///
    /// # Errors
    /// Those of the work.
    fn visit<E: HttpExchange<Carrier = Stream> + 'static>(
        self,
        protocol: Protocol,
        settings: E::Settings,
    ) -> Result<Self::Outcome, StartError>;

    /// Runs the work with the exchange of HTTP/3, which is protected by itself.
    ///
    /// # Errors
    /// Those of the work.
    fn visit_http3(self) -> Result<Self::Outcome, StartError>;
}

/// Work that is generic over the exchange of a plan; the caller learns the type only from the plan.
pub(crate) trait ExchangeVisitor {
    type Outcome;

    /// Runs the work with this type of exchange.
    ///
    /// # Errors
    /// Those of the work.
    fn visit<E: HttpExchange<Carrier: Transport> + 'static>(
        self,
        spoken: Spoken<E::Settings>,
    ) -> Result<Self::Outcome, StartError>;
}
