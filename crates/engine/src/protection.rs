//! TLS on the connections of a load: what is asked for, looked at before the load, and reported after it.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use loadcurve_plan::{HttpLoad, Messages, Nanos, Sockets, Tls as Plan, Verify};
use loadcurve_quic::connection::Windows;
use loadcurve_quic::{self as quic, Http3};
use loadcurve_record::{Failure, HandshakeTimes};
use loadcurve_tls::{self as tls, Client, InvalidSettings, NoTls, Settings, Tls};
use loadcurve_wire::{Datagrams, HttpExchange, Stream};

use crate::clock;
use crate::dialogue::{Dialogue, Patience, Unanswered};
use crate::error::StartError;
use crate::http3_summary::OwnQuic;
use crate::io::epoll::Epoll;
use crate::io::udp::{SOCKET_BUFFER_BYTES, Udp};
use crate::io::{Event, Io as _, Slot};
use crate::limit::Limit;
use crate::merged::Merged;
use crate::one_connection::epoll;
use crate::opening;
use crate::requests::grpc::calls_of;
use crate::result::{Agreed, Certificate, Handshakes, MeasuredHandshakes, TlsSummary};
use crate::transport::Transport as _;
use crate::visitor::{ExchangeVisitor, Look, Protocol, Spoken};

const SLOT: Slot = 0;
/// How long it is waited for what only explains a failure.
const LONGEST_EXPLANATION: Nanos = Nanos::from_millis(2_000);
/// What is sent on a connection and not acknowledged at most, so that bodies take no more memory.
const UNACKNOWLEDGED_BYTES: u32 = 1024 * 1024;
/// The longest sleep, so that an interruption is noticed soon.
const LONGEST_WAIT: Nanos = Nanos::from_millis(20);

/// Runs `visitor` over TLS.
///
/// A separate handshake looks at the server first, so that what cannot be agreed on is known before anything is
/// measured. A server that cannot be reached has nothing to show yet; the load says why.
///
/// # Errors
/// The settings cannot be used, the server does not agree to them, and as the visitor says.
pub(crate) fn over_tls<E: HttpExchange<Carrier = Stream> + 'static, S: ExchangeVisitor>(
    plan: &HttpLoad,
    limit: Limit<'_>,
    tls: &Plan,
    protocol: Protocol,
    inner: E::Settings,
    visitor: S,
) -> Result<S::Outcome, StartError> {
    let client = new_client(plan, tls, protocol)?;
    let look = looked(plan, limit, &client)?;
    limit.go_on()?;
    let look = match look {
        Ok(look) => Some(look),
        Err(NoTls::Unreachable) => None,
        Err(NoTls::Refused(text)) => {
            return Err(StartError::Machine(format!("TLS failed with {}: {text}", plan.work.authority)));
        }
    };
    if look.is_some() && protocol.may_be_refused {
        // With another client, so that no connection of the load resumes its session.
        let client = new_client(plan, tls, protocol)?;
        let settings = Settings { client, inner: inner.clone() };
        if let Some(text) = opening::refused::<Tls<E>>(plan, limit, &settings)? {
            let (Protocol { title, .. }, authority) = (protocol, &plan.work.authority);
            return Err(StartError::Machine(format!("{title} over TLS failed with {authority}: {text}")));
        }
        limit.go_on()?;
    }
    visitor.visit::<Tls<E>>(Spoken { settings: Settings { client, inner }, look })
}

/// What the connections of a load ask for in their handshakes.
fn new_client(plan: &HttpLoad, tls: &Plan, protocol: Protocol) -> Result<Arc<Client>, StartError> {
    Client::new(tls, plan.model.connections(), protocol.name, protocol.is_required)
        .map_err(|InvalidSettings(text)| StartError::Plan(text))
}

/// One look at the server of a plan, on a connection as the load makes them.
///
/// # Errors
/// A proxy does not lead there.
fn looked(plan: &HttpLoad, limit: Limit<'_>, client: &Client) -> Result<Result<Look, NoTls>, StartError> {
    let mut io = epoll(plan)?;
    match connected(&mut io, limit) {
        Some(connection) => Ok(tls::look(connection, client, || limit.left_duration())),
        None => match (io.refusal(), &plan.work.way.proxied) {
            (Some(text), Some(target)) => {
                let proxy = &plan.work.address;
                Err(StartError::Machine(format!("the proxy {proxy} does not lead to {target}: {text}")))
            }
            _ => Ok(Err(NoTls::Unreachable)),
        },
    }
}

/// The first connection of a backend, if it is made in time.
fn connected(io: &mut Epoll, limit: Limit<'_>) -> Option<OwnedFd> {
    io.connect(SLOT).ok()?;
    let mut left = limit.left();
    while left > Nanos::ZERO {
        io.wait(clock::now() + left.min(LONGEST_WAIT));
        match io.next() {
            Some((_, Event::Connected)) => return io.take(SLOT),
            Some(_) => return None,
            None => left = limit.left(),
        }
    }
    None
}

/// Whether the server of a plan in clear text answers a handshake of TLS.
pub(crate) fn is_spoken(plan: &HttpLoad, limit: Limit<'_>) -> bool {
    let name = plan.work.address.tcp().map_or("localhost".into(), |address| address.ip().to_string());
    let any = Plan { verify: Verify::None, ..Plan::of(&name) };
    let Ok(client) = Client::new(&any, 1, "http/1.1", false) else { return false };
    matches!(looked(plan, limit, &client), Ok(Ok(_)))
}

/// HTTP/3 on QUIC.
pub(crate) type OverQuic = Http3;

/// How this side speaks it.
pub(crate) const QUIC: OwnQuic = OwnQuic {
    congestion_control: quic::congestion::CONGESTION_CONTROL,
    initial_window_bytes: quic::congestion::INITIAL_WINDOW_BYTES,
    packets_per_ack: quic::connection::PACKETS_PER_ACK,
    ack_delay_ms: quic::connection::ACK_DELAY_MS,
    table_bytes: quic::TABLE_BYTES as u64,
    socket_buffer_bytes: SOCKET_BUFFER_BYTES as u64,
};

/// Runs `visitor` over QUIC, as [`over_tls`] does over TLS.
///
/// # Errors
/// The settings cannot be used, the server speaks no HTTP/3 or does not agree to them, and as the visitor says.
pub(crate) fn over_quic<S: ExchangeVisitor>(
    plan: &HttpLoad,
    limit: Limit<'_>,
    tls: &Plan,
    visitor: S,
) -> Result<S::Outcome, StartError> {
    let client = Client::new(tls, plan.model.connections(), "h3", true)
        .map_err(|InvalidSettings(text)| StartError::Plan(text))?;
    let windows = Windows {
        stream_bytes: plan.work.h2.stream_window_bytes,
        connection_bytes: plan.work.h2.connection_window_bytes,
        unacknowledged_bytes: UNACKNOWLEDGED_BYTES,
        requests: 0,
        idle: None,
    };
    let settings = quic::Settings::new(client, &windows, clock::zero());
    let settings = match plan.work.messages.as_ref().and_then(Messages::grpc) {
        Some(grpc) => settings.calling(calls_of(grpc)),
        None => settings,
    };
    let settings = match plan.work.sockets {
        Sockets::Connection => settings,
        Sockets::Thread => settings.sharing_sockets(),
    };
    let patience = Patience {
        timeout: limit.left(),
        counted_bytes_max: 0,
        is_stream: false,
        is_interrupted: limit.is_interrupted,
    };
    let io = Datagrams::alone(plan)?;
    let look = match Dialogue::<_, Http3>::open(io, &settings.looking(&windows), patience) {
        Ok(dialogue) => {
            let look = dialogue.exchange().look().cloned();
            dialogue.say_goodbye();
            look
        }
        Err(unanswered) => {
            limit.go_on()?;
            no_quic(plan, limit, &unanswered)?;
            None
        }
    };
    limit.go_on()?;
    visitor.visit::<Http3>(Spoken { settings, look })
}

/// Says why a server speaks no HTTP/3. Where neither UDP nor TCP is answered, the load says so.
///
/// # Errors
/// It is there, and does not.
fn no_quic(plan: &HttpLoad, limit: Limit<'_>, unanswered: &Unanswered) -> Result<(), StartError> {
    let authority = &plan.work.authority;
    let is_silent =
        matches!(unanswered.failure, Failure::ConnectRefused | Failure::ConnectTimeout | Failure::Timeout);
    if !is_silent {
        let text = &unanswered.text;
        return Err(StartError::Machine(format!("HTTP/3 failed with {authority}: {text}")));
    }
    let Some(address) = plan.work.address.tcp() else { return Ok(()) };
    let port = address.port();
    let Some(there) = tcp_in_words(plan, limit.is_interrupted) else { return Ok(()) };
    let how = match unanswered.failure {
        Failure::ConnectRefused => "UDP port {port} is closed or rejected by a firewall",
        _ => "nothing answers on UDP port {port} within the timeout",
    };
    let how = how.replace("{port}", &port.to_string());
    if let Some(short) = Udp::link_mtu_bytes(plan).filter(|mtu_bytes| *mtu_bytes < least_mtu_bytes(address)) {
        return Err(StartError::Machine(format!(
            "{authority} cannot be reached by HTTP/3: packets of at most {short} bytes pass the link to it, and QUIC \
             requires {} (datagrams of 1,200); raise the link's MTU, or use another version of HTTP",
            least_mtu_bytes(address)
        )));
    }
    Err(StartError::Machine(format!(
        "{authority} does not answer HTTP/3: {how}, while {there}; enable HTTP/3 in the server, let UDP through, or \
        use another version of HTTP"
    )))
}

/// The shortest packet that a link must take for QUIC (RFC 9000 §14), with the headers of UDP and IP.
fn least_mtu_bytes(address: SocketAddr) -> u32 {
    const LEAST_DATAGRAM_BYTES: u32 = 1200;
    const UDP_HEADER_BYTES: u32 = 8;
    LEAST_DATAGRAM_BYTES + UDP_HEADER_BYTES + if address.is_ipv4() { 20 } else { 40 }
}

/// What answers on the TCP port that has the number of the UDP port, if anything does.
fn tcp_in_words(plan: &HttpLoad, is_interrupted: &dyn Fn() -> bool) -> Option<String> {
    let limit = Limit::new(LONGEST_EXPLANATION.min(plan.timeout()), is_interrupted);
    let tls = plan.work.tls.as_ref()?;
    let any = Plan { verify: Verify::None, ..tls.clone() };
    let found = |name: &'static str| {
        // A server that chooses no protocol speaks HTTP/1.1.
        let client = Client::new(&any, 1, name, name == "h2").ok()?;
        looked(plan, limit, &client).ok()
    };
    let port = plan.work.address.tcp()?.port();
    Some(match found("h2")? {
        Err(NoTls::Unreachable) => return None,
        Ok(_) => format!("TCP port {port} answers HTTP/2 over TLS"),
        Err(NoTls::Refused(_)) => match found("http/1.1")? {
            Ok(_) => format!("TCP port {port} answers HTTP/1.1 over TLS"),
            Err(NoTls::Refused(why)) => format!("TCP port {port} accepts connections, but {why}"),
            Err(NoTls::Unreachable) => format!("TCP port {port} accepts connections, but not TLS"),
        },
    })
}

/// What a result says of the handshakes of a load; none in clear text.
pub(crate) fn summary(plan: &HttpLoad, merged: &Merged, look: Option<&Look>) -> Option<TlsSummary> {
    plan.work.tls.as_ref()?;
    let agreements = &merged.recorder.agreements;
    let HandshakeTimes { full, resumed, refused } = &merged.recorder.handshakes_within;
    Some(TlsSummary {
        handshakes: Handshakes { full: agreements.count(false), resumed: agreements.count(true) },
        measured: MeasuredHandshakes {
            full_ms: full.into(),
            resumed_ms: resumed.into(),
            full_per_s: merged.per_second(full.count()),
            resumed_per_s: merged.per_second(resumed.count()),
            refused: *refused,
        },
        agreed: agreements
            .most_frequent()
            .into_iter()
            .map(|(agreement, count)| Agreed {
                version: tls::version_name(agreement.version),
                suite: tls::suite_name(agreement.suite),
                group: agreement.group.map(tls::group_name),
                resumed: agreement.is_resumed,
                count,
            })
            .collect(),
        protocol: look.and_then(|look| look.protocol.clone()),
        certificate: look.and_then(|look| look.certificate.as_ref()).map(|shown| Certificate {
            subject: shown.subject.clone(),
            issuer: shown.issuer.clone(),
            key: shown.key.clone(),
            not_after: shown.not_after.clone(),
            chain_length: shown.chain_length,
        }),
    })
}
