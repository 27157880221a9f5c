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
            "the server did not answer the TLS handshake in TLS; it may not support TLS on this port".into()
        }
        Error::AlertReceived(alert) => alert_in_words(*alert),
        Error::PeerIncompatible(reason) => {
            format!(
                "the server supports none of the requested TLS settings: {}",
                incompatibility_in_words(reason)
            )
        }
        Error::DecryptError => "a TLS record is corrupt".into(),
        Error::PeerMisbehaved(PeerMisbehaved::SelectedUnofferedApplicationProtocol) => {
            "the server does not support the requested version of HTTP over TLS: it chose one that was not \
            offered"
                .into()
        }
        Error::PeerMisbehaved(reason) => format!("the server violated the TLS protocol: {reason:?}"),
        other => format!("TLS failed: {other}"),
    }
}

fn incompatibility_in_words(reason: &PeerIncompatible) -> String {
    match reason {
        PeerIncompatible::ServerDoesNotSupportTls12Or13
        | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig => {
            "it supports none of the offered TLS versions".into()
        }
        PeerIncompatible::NoCipherSuitesInCommon => "it supports none of the offered cipher suites".into(),
        PeerIncompatible::NoKxGroupsInCommon => "it supports none of the offered key exchange groups".into(),
        other => format!("{other:?}"),
    }
}

fn alert_in_words(alert: AlertDescription) -> String {
    let meaning = match alert {
        alert if requires_client_certificate(alert) => {
            "the server requires a client certificate that it trusts: --cert FILE and --key FILE \
            (tls.certificate and tls.key in a study)"
        }
        AlertDescription::ProtocolVersion => "the server accepts none of the offered TLS versions",
        AlertDescription::HandshakeFailure | AlertDescription::InsufficientSecurity => {
            "the server accepts none of the offered cipher suites or groups, or requires a client \
            certificate (--cert FILE and --key FILE)"
        }
        AlertDescription::UnrecognisedName => "the server has no host of the requested name",
        AlertDescription::NoApplicationProtocol => {
            "the server does not support the requested version of HTTP over TLS"
        }
        _ => "the server refused the TLS handshake",
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
            "the server ended the connection because it requested a renegotiation, which Loadcurve does not \
            support (TLS alert {alert:?}); configure the server to request everything in the first \
            handshake, or use TLS 1.3"
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
            format!("the server's certificate was issued by an authority that is not trusted: {ACCEPT}")
        }
        CertificateError::NotValidForNameContext { expected, presented } if presented.is_empty() => format!(
            "the server's certificate is not for {}: it names no host (subjectAltName); --insecure accepts it",
            expected.to_str()
        ),
        CertificateError::NotValidForNameContext { expected, presented } => format!(
            "the server's certificate is not for {}, but for {}; --server-name NAME expects another one, \
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
            "the server's certificate is not trusted: it is an authority's certificate (CA:TRUE) that is \
            not listed as trusted: {ACCEPT}"
        ),
        other => {
            format!(
                "the server's certificate cannot be accepted: {}; {ACCEPT}",
                shortened(&other.to_string())
            )
        }
    }
}

/// Whether a certificate is fine but for the mark of one that may issue others.
#[must_use]
pub fn is_of_an_authority(flaw: &CertificateError) -> bool {
    // The kind of error is that of a crate below the one whose errors these are.
    matches!(flaw, CertificateError::Other(other) if other.to_string() == "CaUsedAsEndEntity")
}

/// How many names of a certificate a sentence has, and how many characters of each.
const NAMES_SHOWN: usize = 5;
const CHARACTERS_SHOWN: usize = 100;

/// The names of a certificate, each of which comes as `DnsName("host")`, without that around them; the first of many.
#[must_use]
pub fn presented_names(presented: &[String]) -> String {
    let name = |name: &String| shortened(name.split('"').nth(1).unwrap_or(name));
    let names: Vec<String> = presented.iter().take(NAMES_SHOWN).map(name).collect();
    let more = presented.len().saturating_sub(NAMES_SHOWN);
    let behind = if more == 0 { String::new() } else { format!(" and {more} more names") };
    format!("{}{behind}", names.join(", "))
}

/// The start of a text of somebody else's.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(CHARACTERS_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into(),
    }
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
            "the server chose {:?} in the TLS handshake (ALPN) instead of {required:?}",
            shortened(&String::from_utf8_lossy(chosen))
        )),
        None => Err(format!(
            "the server does not support {required:?} over TLS: it chose no protocol in the handshake (ALPN)"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::presented_names;

    #[test]
    fn of_a_certificate_with_many_names_a_sentence_has_the_first() {
        let names: Vec<String> =
            (1..=3_000).map(|number| format!("DnsName(\"host-{number}.example\")")).collect();
        assert_eq!(presented_names(&names[..2]), "host-1.example, host-2.example");
        assert_eq!(
            presented_names(&names),
            "host-1.example, host-2.example, host-3.example, host-4.example, host-5.example and 2995 more names"
        );
        let long = format!("DnsName(\"{}\")", "x".repeat(5_000));
        assert_eq!(presented_names(&[long]).chars().count(), 101);
    }
}
