//! What the connections of a load speak: the one place where a plan becomes the type of an exchange.

use loadcurve_plan::{self as plan, Http, HttpLoad, HttpVersion, Messages};
use loadcurve_wire::{
    FanOutWebSocket, Grpc, GrpcSettings, Hpack, Http1, Http2, Http2Settings, HttpExchange, Scheme, Stream,
    WebSocket, WebSocketHttp2,
};

use crate::agreement;
use crate::error::StartError;
use crate::limit::Limit;
use crate::protection;
use crate::requests::grpc::calls_of;
use crate::requests::{websocket_http2_settings, websocket_settings};
use crate::visitor::{ExchangeVisitor, Protocol, ProtocolVisitor, Spoken};

const HTTP1: Protocol =
    Protocol { title: "HTTP/1.1", name: "http/1.1", is_required: false, may_be_refused: false };

/// Over TLS it is HTTP/1.1 that is agreed on, by which it begins.
const WEBSOCKET: Protocol =
    Protocol { title: "WebSocket", name: "http/1.1", is_required: false, may_be_refused: true };

/// Its streams are those of HTTP/2.
const WEBSOCKET_HTTP2: Protocol =
    Protocol { title: "WebSocket over HTTP/2", name: "h2", is_required: true, may_be_refused: true };

/// Nobody has agreed to HTTP/2 who does not name it.
const HTTP2: Protocol = Protocol { title: "HTTP/2", name: "h2", is_required: true, may_be_refused: false };

/// Runs `visitor` with the protocol of a plan's work. Nothing is asked of its server.
///
/// # Errors
/// As the visitor says.
pub(crate) fn visit_protocol<V: ProtocolVisitor>(work: &Http, visitor: V) -> Result<V::Outcome, StartError> {
    if let Some(Messages::WebSocket(websocket)) = &work.messages {
        return visit_websocket(work, websocket, visitor);
    }
    match work.http {
        HttpVersion::Http10 | HttpVersion::Http11 => visitor.visit::<Http1>(HTTP1, ()),
        HttpVersion::Http2 => {
            let http2 = http2_settings(work);
            match &work.messages {
                Some(Messages::Grpc(grpc)) => {
                    visitor.visit::<Grpc>(HTTP2, GrpcSettings { http2, calls: calls_of(*grpc) })
                }
                _ => visitor.visit::<Http2>(HTTP2, http2),
            }
        }
        HttpVersion::Http3 => visitor.visit_http3(),
    }
}

/// Runs `visitor` with the exchange of a plan whose requests are messages of WebSocket.
fn visit_websocket<V: ProtocolVisitor>(
    work: &Http,
    websocket: &plan::WebSocket,
    visitor: V,
) -> Result<V::Outcome, StartError> {
    if work.http == HttpVersion::Http2 {
        let settings = websocket_http2_settings(work, websocket, http2_settings(work))?;
        return visitor.visit::<WebSocketHttp2>(WEBSOCKET_HTTP2, settings);
    }
    let settings = websocket_settings(work, websocket)?;
    match websocket.subscribers {
        None => visitor.visit::<WebSocket>(WEBSOCKET, settings),
        Some(_) => visitor.visit::<FanOutWebSocket>(WEBSOCKET, settings),
    }
}

/// Runs `visitor` with the exchange that a plan asks for. What is asked of the server before has the timeout of the plan, all together, and
/// ends where `is_interrupted` says so.
///
/// # Errors
/// The plan is not sound, its server does not agree to how it is to be spoken with, and as the visitor says.
pub(crate) fn visit_exchange<V: ExchangeVisitor>(
    plan: &HttpLoad,
    is_interrupted: &dyn Fn() -> bool,
    visitor: V,
) -> Result<V::Outcome, StartError> {
    plan.validate()?;
    let limit = Limit::new(plan.timeout(), is_interrupted);
    visit_protocol(&plan.work, Agreeing { plan, limit, visitor })
}

/// What has its server agree to a protocol, in clear text or over TLS, and then runs `visitor`.
struct Agreeing<'a, V> {
    plan: &'a HttpLoad,
    limit: Limit<'a>,
    visitor: V,
}

impl<V: ExchangeVisitor> ProtocolVisitor for Agreeing<'_, V> {
    type Outcome = V::Outcome;

    fn visit<E: HttpExchange<Carrier = Stream> + 'static>(
        self,
        protocol: Protocol,
        settings: E::Settings,
    ) -> Result<V::Outcome, StartError> {
        let Self { plan, limit, visitor } = self;
        match &plan.work.tls {
            None => {
                agreement::agree::<E>(plan, limit, protocol, &settings)?;
                visitor.visit::<E>(Spoken { settings, look: None })
            }
            Some(tls) => protection::over_tls::<E, V>(plan, limit, tls, protocol, settings, visitor),
        }
    }

    fn visit_http3(self) -> Result<V::Outcome, StartError> {
        let Self { plan, limit, visitor } = self;
        let tls = plan.work.tls.as_ref().ok_or_else(|| StartError::Plan("HTTP/3 requires TLS".into()))?;
        protection::over_quic(plan, limit, tls, visitor)
    }
}

/// How an exchange speaks HTTP/2 as a plan has it.
fn http2_settings(work: &Http) -> Http2Settings {
    let h2 = &work.h2;
    Http2Settings {
        hpack: match h2.hpack {
            plan::Hpack::Indexed => Hpack::Indexed,
            plan::Hpack::Literal => Hpack::Literal,
        },
        scheme: if work.tls.is_some() { Scheme::Https } else { Scheme::Http },
        stream_window_bytes: h2.stream_window_bytes,
        connection_window_bytes: h2.connection_window_bytes,
        ..Http2Settings::default()
    }
}
