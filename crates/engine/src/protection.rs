//! TLS on the connections of a load: what is asked for, looked at before the load, and reported after it.

use std::os::fd::OwnedFd;

use loadcurve_plan::{HttpLoad, Nanos, Tls as Plan, Verify};
use loadcurve_record::HandshakeTimes;
use loadcurve_tls::{self as tls, Client, InvalidSettings, NoTls, Settings, Tls};
use loadcurve_wire::HttpExchange;

use crate::clock;
use crate::error::StartError;
use crate::io::epoll::Epoll;
use crate::io::{Event, Io as _, Slot};
use crate::limit::Limit;
use crate::merged::Merged;
use crate::one_connection::epoll;
use crate::result::{Agreed, Certificate, Handshakes, MeasuredHandshakes, TlsSummary};
use crate::visitor::{ExchangeVisitor, Look, Protocol, Spoken};

const SLOT: Slot = 0;
/// The longest sleep, so that an interruption is noticed soon.
const LONGEST_WAIT: Nanos = Nanos::from_millis(20);

/// Runs `visitor` over TLS.
///
/// A separate handshake looks at the server first, so that what cannot be agreed on is known before anything is
/// measured. A server that cannot be reached has nothing to show yet; the load says why.
///
/// # Errors
/// The settings cannot be used, the server does not agree to them, and as the visitor says.
pub(crate) fn over_tls<E: HttpExchange + 'static, S: ExchangeVisitor>(
    plan: &HttpLoad,
    limit: Limit<'_>,
    tls: &Plan,
    protocol: Protocol,
    inner: E::Settings,
    visitor: S,
) -> Result<S::Outcome, StartError> {
    let client = Client::new(tls, plan.model.connections(), protocol.name, protocol.is_required)
        .map_err(|InvalidSettings(text)| StartError::Plan(text))?;
    let look = looked(plan, limit, &client)?;
    limit.go_on()?;
    let look = match look {
        Ok(look) => Some(look),
        Err(NoTls::Unreachable) => None,
        Err(NoTls::Refused(text)) => {
            return Err(StartError::Machine(format!("TLS failed with {}: {text}", plan.work.authority)));
        }
    };
    visitor.visit::<Tls<E>>(Spoken { settings: Settings { client, inner }, look })
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
