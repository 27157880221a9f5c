//! Whether a server speaks in clear text as a plan asks for, which is known before its load.

use loadcurve_plan::{HttpLoad, Nanos};
use loadcurve_wire::{HttpExchange, Readiness, Stream};

use crate::error::StartError;
use crate::limit::Limit;
use crate::opening;
use crate::protection;
use crate::visitor::Protocol;

/// How long it is waited for what only explains a failure.
const LONGEST_EXPLANATION: Nanos = Nanos::from_millis(2_000);

/// Sees whether a server begins to speak a protocol whose two sides agree on something first. One that cannot be reached
/// does not say so yet: the load does.
///
/// # Errors
/// It does not; the sentence says why.
pub(crate) fn agree<E: HttpExchange<Carrier = Stream>>(
    plan: &HttpLoad,
    limit: Limit<'_>,
    protocol: Protocol,
    settings: &E::Settings,
) -> Result<(), StartError> {
    let mut exchange = E::new(1, settings);
    exchange.open();
    if exchange.readiness() != Readiness::Handshaking {
        return Ok(());
    }
    match opening::refused::<E>(plan, limit, settings)? {
        None => limit.go_on(),
        Some(text) => {
            refuse_tls(plan, limit.is_interrupted)?;
            let (Protocol { title, .. }, authority) = (protocol, &plan.work.authority);
            Err(StartError::Machine(format!("{title} in clear text failed with {authority}: {text}")))
        }
    }
}

/// Refuses to speak in clear text with a server that speaks TLS. Whether it does explains why it did not answer as expected,
/// so it is waited for a short time only.
///
/// # Errors
/// It does.
pub(crate) fn refuse_tls(plan: &HttpLoad, is_interrupted: &dyn Fn() -> bool) -> Result<(), StartError> {
    let authority = &plan.work.authority;
    if plan.work.way.proxied.is_some() {
        return Ok(());
    }
    let limit = Limit::new(plan.timeout().min(LONGEST_EXPLANATION), is_interrupted);
    if protection::is_spoken(plan, limit) {
        let text =
            format!("{authority} requires TLS on this port, but the URL asks for clear text: use https://");
        return Err(StartError::Machine(text));
    }
    Ok(())
}
