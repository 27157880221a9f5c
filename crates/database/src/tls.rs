//! The files that TLS needs, and what its errors mean for a connection, whichever driver met them.

use std::io::{self, ErrorKind};
use std::path::Path;

use loadcurve_record::Failure;
use loadcurve_tls::{is_of_an_authority, presented_names, requires_client_certificate};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{CertificateError, Error};

use crate::database::{Failed, InvalidTarget};

/// The certificates of the file that an option of an address names, at least one.
pub(crate) fn certificates(
    option: &str,
    file: impl AsRef<Path>,
) -> Result<Vec<CertificateDer<'static>>, InvalidTarget> {
    loadcurve_tls::certificates(file.as_ref()).map_err(|text| InvalidTarget(format!("{option}: {text}")))
}

/// The private key of the file that an option of an address names.
pub(crate) fn private_key(
    option: &str,
    file: impl AsRef<Path>,
) -> Result<PrivateKeyDer<'static>, InvalidTarget> {
    loadcurve_tls::private_key(file.as_ref()).map_err(|text| InvalidTarget(format!("{option}: {text}")))
}

/// The failure that TLS met on a socket, if it was TLS. `trusted` is the option of an address that names the certificates
/// to trust.
pub(crate) fn failure_of(error: &io::Error, trusted: &str) -> Option<Failed> {
    let inner = error.get_ref()?;
    if let Some(error) = inner.downcast_ref::<Error>() {
        return Some(explained(error, trusted));
    }
    // These two are reported in words only.
    let text = inner.to_string();
    if text == "tls handshake eof" {
        let text = "the server closed the connection during the TLS handshake; it may not support TLS";
        return Some(Failed::new(Failure::ConnectRefused, text));
    }
    let is_cut_off = error.kind() == ErrorKind::UnexpectedEof && text.contains("close_notify");
    is_cut_off.then(|| Failed::new(Failure::ClosedEarly, "the server closed the connection"))
}

fn explained(error: &Error, trusted: &str) -> Failed {
    let refused = |text: &str| Failed::new(Failure::ConnectRefused, text);
    match error {
        Error::InvalidCertificate(flaw) => refused(&flaw_in_words(flaw, trusted)),
        Error::InvalidMessage(_) => {
            refused("the server did not answer the TLS handshake in TLS; it may not support TLS")
        }
        Error::AlertReceived(alert) if requires_client_certificate(*alert) => Failed::new(
            Failure::AccessDenied,
            format!("the server requires a client certificate that it trusts (TLS alert {alert:?})"),
        ),
        Error::AlertReceived(alert) => {
            refused(&format!("the server refused the TLS handshake (alert {alert:?})"))
        }
        other => refused(&format!("the TLS handshake failed: {other}")),
    }
}

/// What is wrong with a server's certificate, and what can be done about it.
fn flaw_in_words(flaw: &CertificateError, trusted: &str) -> String {
    match flaw {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            format!(
                "the server's certificate is not trusted: name the authority that issued it with {trusted}"
            )
        }
        CertificateError::NotValidForNameContext { expected, presented } if presented.is_empty() => format!(
            "the server's certificate is not for {}: it names no host as subjectAltName",
            expected.to_str()
        ),
        CertificateError::NotValidForNameContext { expected, presented } => {
            format!(
                "the server's certificate is not for {}, but for {}",
                expected.to_str(),
                presented_names(presented)
            )
        }
        CertificateError::ExpiredContext { .. } => "the server's certificate has expired".into(),
        CertificateError::NotValidYetContext { .. } => "the server's certificate is not valid yet".into(),
        other if is_of_an_authority(other) => format!(
            "the server's certificate is not trusted: it is an authority's certificate (CA:TRUE), not a \
            server's, and {trusted} does not name it"
        ),
        other => format!("the server's certificate cannot be accepted: {other}"),
    }
}

#[cfg(test)]
mod tests {
    use rustls::{AlertDescription, InvalidMessage};

    use super::*;

    fn reported(error: Error) -> (Failure, String) {
        let failed = failure_of(&io::Error::new(ErrorKind::InvalidData, error), "theOption").unwrap();
        (failed.failure, failed.text)
    }

    #[test]
    fn a_server_that_wants_a_certificate_denies_access() {
        let (failure, text) = reported(Error::AlertReceived(AlertDescription::CertificateRequired));
        assert_eq!(failure, Failure::AccessDenied);
        assert!(text.contains("a client certificate"), "{text}");
        assert_eq!(
            reported(Error::AlertReceived(AlertDescription::ProtocolVersion)).0,
            Failure::ConnectRefused
        );
    }

    #[test]
    fn a_server_that_is_not_trusted_is_no_connection_and_it_is_said_what_to_do() {
        let (failure, text) = reported(Error::InvalidCertificate(CertificateError::UnknownIssuer));
        assert_eq!(failure, Failure::ConnectRefused);
        assert!(text.contains("theOption"), "{text}");
    }

    #[test]
    fn what_is_no_tls_is_reported_as_such() {
        let (failure, text) = reported(Error::InvalidMessage(InvalidMessage::InvalidContentType));
        assert_eq!(failure, Failure::ConnectRefused);
        assert!(text.contains("in TLS"), "{text}");
        assert_eq!(failure_of(&io::Error::from(ErrorKind::ConnectionReset), ""), None);
        assert_eq!(failure_of(&io::Error::new(ErrorKind::UnexpectedEof, "early eof"), ""), None);
    }
}
