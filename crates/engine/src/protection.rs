//! TLS on the connections of a load: what is asked for, looked at before the load, and reported after it.

use std::sync::Arc;
use std::time::Duration;

use loadcurve_plan::{HttpLoad, Tls};
use loadcurve_record::Recorder;
use loadcurve_tls::{self as tls, Client, InvalidSettings, Look, NoTls};

use crate::clock;
use crate::error::StartError;
use crate::result::{Agreed, Certificate, Handshakes, TlsSummary};

/// Looks at the server by one handshake of its own, so that what cannot be agreed on is known before anything is measured.
/// A server that cannot be reached has nothing to show yet; the load says why.
///
/// # Errors
/// The settings cannot be used, or the server does not agree to them.
pub(crate) fn agree(
    plan: &HttpLoad,
    tls: &Tls,
    protocol: &'static str,
    is_required: bool,
) -> Result<(Arc<Client>, Option<Look>), StartError> {
    let client =
        Client::new(tls, protocol, is_required).map_err(|InvalidSettings(text)| StartError::Plan(text))?;
    let end = clock::now() + plan.timeout();
    let left = || Duration::from_nanos((end - clock::now()).0);
    match tls::look(plan.work.address, &client, left) {
        Ok(look) => Ok((client, Some(look))),
        Err(NoTls::Unreachable) => Ok((client, None)),
        Err(NoTls::Refused(text)) => {
            Err(StartError::Machine(format!("no TLS with {}: {text}", plan.work.authority)))
        }
    }
}

/// What a result says of the handshakes of a load.
pub(crate) fn summary(recorder: &Recorder, look: Option<&Look>) -> TlsSummary {
    let agreements = &recorder.agreements;
    TlsSummary {
        handshakes: Handshakes { full: agreements.count(false), resumed: agreements.count(true) },
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
    }
}
