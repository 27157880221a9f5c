//! Whether a server speaks in clear text as a plan asks for, which is known before its load.

use loadcurve_plan::HttpLoad;
use loadcurve_record::Failure;
use loadcurve_wire::{Exchange, Readiness};

use crate::dialogue::{Dialogue, Patience, Unanswered};
use crate::error::StartError;
use crate::io::epoll::Epoll;
use crate::io::route::Route;
use crate::protection;

/// Sees whether a server begins to speak a protocol whose two sides agree on something first. One that cannot be reached
/// does not say so yet: the load does.
///
/// # Errors
/// It does not; the sentence says why.
pub(crate) fn agree<E: Exchange>(plan: &HttpLoad, settings: &E::Settings) -> Result<(), StartError> {
    let mut exchange = E::new(1, settings);
    exchange.open();
    if exchange.readiness() != Readiness::Handshaking {
        return Ok(());
    }
    let patience = Patience { timeout: plan.timeout(), counted_bytes_max: 0, is_interrupted: &|| false };
    match Dialogue::<_, E>::open(epoll(plan)?, settings, patience) {
        Ok(dialogue) => {
            dialogue.say_goodbye();
            Ok(())
        }
        Err(Unanswered { failure: Failure::ConnectRefused | Failure::ConnectTimeout, .. }) => Ok(()),
        Err(Unanswered { text, .. }) => {
            refuse_tls(plan)?;
            let authority = &plan.work.authority;
            Err(StartError::Machine(format!("HTTP/2 in clear text failed with {authority}: {text}")))
        }
    }
}

/// Refuses to speak in clear text with a server that speaks TLS.
///
/// # Errors
/// It does.
pub(crate) fn refuse_tls(plan: &HttpLoad) -> Result<(), StartError> {
    let authority = &plan.work.authority;
    if protection::is_spoken(plan) {
        let text =
            format!("{authority} requires TLS on this port, but the URL asks for clear text: use https://");
        return Err(StartError::Machine(text));
    }
    Ok(())
}

/// The backend for one connection, whatever the kernel offers.
///
/// # Errors
/// The system refuses it.
pub(crate) fn epoll(plan: &HttpLoad) -> Result<Epoll, StartError> {
    Epoll::new(Route::of(plan, 0, 1), 1)
        .map_err(|errno| StartError::Machine(format!("epoll is not available: {errno}")))
}
