//! What went wrong in a handshake or a record, in words for the person who meets it.

use rustls::{AlertDescription, CertificateError, Error, PeerIncompatible, PeerMisbehaved};

/// The names by which options are known that help.
const ACCEPT: &str =
    "--cacert FILE (tls.verify in a study) names the authority to trust, --insecure accepts any certificate";

/// What an error of the TLS library means.
pub(crate) fn in_words(error: &Error) -> String {
    match error {
        Error::InvalidCertificate(flaw) => flaw_in_words(flaw),
        Error::InvalidMessage(_) => {
            "the server answers a TLS handshake with something else; it may speak no TLS on this port".into()
        }
        Error::AlertReceived(alert) => alert_in_words(*alert),
        Error::PeerIncompatible(reason) => {
            format!("the server offers nothing that was asked for: {}", incompatibility_in_words(reason))
        }
        Error::DecryptError => "a TLS record was changed on its way, or is no record".into(),
        Error::PeerMisbehaved(PeerMisbehaved::SelectedUnofferedApplicationProtocol) => {
            "the server does not speak the asked version of HTTP over TLS: it has chosen one that was not offered"
                .into()
        }
        Error::PeerMisbehaved(reason) => format!("the server breaks the rules of TLS: {reason:?}"),
        other => format!("TLS failed: {other}"),
    }
}

fn incompatibility_in_words(reason: &PeerIncompatible) -> String {
    match reason {
        PeerIncompatible::ServerDoesNotSupportTls12Or13
        | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig => {
            "it speaks other versions of TLS than those that are offered".into()
        }
        PeerIncompatible::NoCipherSuitesInCommon => "it has none of the cipher suites".into(),
        PeerIncompatible::NoKxGroupsInCommon => "it has none of the groups for the exchange of keys".into(),
        other => format!("{other:?}"),
    }
}

fn alert_in_words(alert: AlertDescription) -> String {
    let meaning = match alert {
        alert if requires_client_certificate(alert) => {
            "the server requires a certificate of the client's that it trusts: --cert FILE and --key FILE \
             (tls.certificate and tls.key in a study)"
        }
        AlertDescription::ProtocolVersion => {
            "the server accepts none of the versions of TLS that are offered"
        }
        AlertDescription::HandshakeFailure | AlertDescription::InsufficientSecurity => {
            "the server accepts none of the cipher suites or groups that are offered, or requires a certificate of \
             the client's (--cert FILE and --key FILE)"
        }
        AlertDescription::UnrecognisedName => "the server knows no host of the name that was asked for",
        AlertDescription::NoApplicationProtocol => {
            "the server does not speak the asked version of HTTP over TLS"
        }
        _ => "the server refuses the TLS handshake",
    };
    format!("{meaning} (TLS alert {alert:?})")
}

/// What an error means that comes after the handshake of a version with renegotiation, where it comes from a server that
/// wants another handshake: this client makes none.
pub(crate) fn of_renegotiation(error: &Error) -> Option<String> {
    match error {
        Error::AlertReceived(
            alert @ (AlertDescription::HandshakeFailure | AlertDescription::NoRenegotiation),
        ) => Some(format!(
            "the server ended the connection because it wanted to renegotiate, which is refused (TLS alert {alert:?}); \
             let it ask for everything in the first handshake, or speak TLS 1.3"
        )),
        _ => None,
    }
}

/// Whether an alert of a server is about the certificate of the client, which it lacks or does not trust.
#[must_use]
pub fn requires_client_certificate(alert: AlertDescription) -> bool {
    matches!(
        alert,
        AlertDescription::CertificateRequired
            | AlertDescription::NoCertificate
            | AlertDescription::BadCertificate
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::CertificateRevoked
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateUnknown
            | AlertDescription::UnknownCA
            | AlertDescription::AccessDenied
    )
}

/// What is wrong with a server's certificate, and what accepts it.
fn flaw_in_words(flaw: &CertificateError) -> String {
    match flaw {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            format!("the server's certificate was issued by nobody who is trusted: {ACCEPT}")
        }
        CertificateError::NotValidForNameContext { expected, presented } if presented.is_empty() => format!(
            "the server's certificate is not for {}: it names no host (subjectAltName); --insecure accepts it",
            expected.to_str()
        ),
        CertificateError::NotValidForNameContext { expected, presented } => format!(
            "the server's certificate is not for {}, but for {}; --server-name NAME asks for another one, \
             --insecure accepts any",
            expected.to_str(),
            presented_names(presented)
        ),
        CertificateError::ExpiredContext { .. } | CertificateError::Expired => {
            "the server's certificate has expired; --insecure accepts it".into()
        }
        CertificateError::NotValidYetContext { .. } | CertificateError::NotValidYet => {
            "the server's certificate is not valid yet; --insecure accepts it".into()
        }
        other if is_of_an_authority(other) => format!(
            "the server's certificate is not trusted: it is one of an authority (CA:TRUE) and is not named itself: {ACCEPT}"
        ),
        other => format!("the server's certificate cannot be accepted: {other}; {ACCEPT}"),
    }
}

/// Whether a certificate is fine but for the mark of one that may issue others.
#[must_use]
pub fn is_of_an_authority(flaw: &CertificateError) -> bool {
    // The kind of error is that of a crate below the one whose errors these are.
    matches!(flaw, CertificateError::Other(other) if other.to_string() == "CaUsedAsEndEntity")
}

/// The names of a certificate, of which each comes as `DnsName("host")`, without that around them.
#[must_use]
pub fn presented_names(presented: &[String]) -> String {
    let names: Vec<&str> = presented.iter().map(|name| name.split('"').nth(1).unwrap_or(name)).collect();
    names.join(", ")
}

/// Checks that a server has chosen the protocol that is required.
///
/// # Errors
/// It has not; the text says what it has chosen.
pub(crate) fn require_protocol(required: Option<&str>, chosen: Option<&[u8]>) -> Result<(), String> {
    let Some(required) = required else { return Ok(()) };
    match chosen {
        Some(chosen) if chosen == required.as_bytes() => Ok(()),
        Some(chosen) => Err(format!(
            "the server has chosen {:?} in the TLS handshake where {required:?} was asked for",
            String::from_utf8_lossy(chosen)
        )),
        None => Err(format!(
            "the server does not speak {required:?} over TLS: it has chosen no protocol in the handshake (ALPN)"
        )),
    }
}
