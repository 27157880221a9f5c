//! The files that TLS needs, and what its errors mean for a connection, whichever driver met them.

use std::io::{self, ErrorKind};
use std::path::Path;

use loadcurve_record::Failure;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{AlertDescription, CertificateError, Error};

use crate::database::{Failed, InvalidTarget};

/// The certificates of the file that an option of an address names, at least one.
pub(crate) fn certificates(
    option: &str,
    file: impl AsRef<Path>,
) -> Result<Vec<CertificateDer<'static>>, InvalidTarget> {
    let file = file.as_ref();
    let read: Result<Vec<_>, _> = CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
    match read {
        Ok(certificates) if certificates.is_empty() => Err(unusable(option, file, &pem::Error::NoItemsFound)),
        read => read.map_err(|error| unusable(option, file, &error)),
    }
}

/// The private key of the file that an option of an address names.
pub(crate) fn private_key(
    option: &str,
    file: impl AsRef<Path>,
) -> Result<PrivateKeyDer<'static>, InvalidTarget> {
    PrivateKeyDer::from_pem_file(file.as_ref()).map_err(|error| unusable(option, file.as_ref(), &error))
}

fn unusable(option: &str, file: &Path, error: &pem::Error) -> InvalidTarget {
    let what = match error {
        pem::Error::Io(error) => error.to_string(),
        pem::Error::NoItemsFound => {
            "it holds nothing of that kind in PEM (an encrypted key cannot be used)".into()
        }
        error => error.to_string(),
    };
    InvalidTarget(format!("{option}: {}: {what}", file.display()))
}

/// The failure that TLS met on a socket, if it was TLS. `trusted` is the option of an address that names the certificates
/// to trust.
pub(crate) fn failure_of(error: &io::Error, trusted: &str) -> Option<Failed> {
    let inner = error.get_ref()?;
    if let Some(error) = inner.downcast_ref::<Error>() {
        return Some(explained(error, trusted));
    }
    // These two are told in words only.
    let text = inner.to_string();
    if text == "tls handshake eof" {
        let text = "the server closed the connection instead of a TLS handshake; it may speak no TLS";
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
            refused("the server answers a TLS handshake with something else; it may speak no TLS")
        }
        Error::AlertReceived(alert) => match alert {
            AlertDescription::CertificateRequired
            | AlertDescription::NoCertificate
            | AlertDescription::BadCertificate
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::CertificateRevoked
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateUnknown
            | AlertDescription::UnknownCA
            | AlertDescription::AccessDenied => Failed::new(
                Failure::AccessDenied,
                format!(
                    "the server wants a certificate of the client's that it trusts (TLS alert {alert:?})"
                ),
            ),
            _ => refused(&format!("the server refuses the TLS handshake (alert {alert:?})")),
        },
        other => refused(&format!("no TLS handshake with the server: {other}")),
    }
}

/// What is wrong with a server's certificate, and what can be done about it.
fn flaw_in_words(flaw: &CertificateError, trusted: &str) -> String {
    match flaw {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            format!(
                "the server's certificate is not trusted: name the authority that has issued it with {trusted}"
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
                presented.iter().map(|name| without_kind(name)).collect::<Vec<_>>().join(", ")
            )
        }
        CertificateError::ExpiredContext { .. } => "the server's certificate has expired".into(),
        CertificateError::NotValidYetContext { .. } => "the server's certificate is not valid yet".into(),
        other if is_of_an_authority(other) => format!(
            "the server's certificate is not trusted: it is one of an authority (CA:TRUE), not of a server, \
             and is not named with {trusted} itself"
        ),
        other => format!("the server's certificate cannot be accepted: {other}"),
    }
}

/// A name of a certificate, which comes as `DnsName("host")`.
fn without_kind(name: &str) -> &str {
    name.split('"').nth(1).unwrap_or(name)
}

/// Whether a certificate is fine but for the mark of one that may issue others.
pub(crate) fn is_of_an_authority(flaw: &CertificateError) -> bool {
    // The kind of error is that of a crate below the one whose errors these are.
    matches!(flaw, CertificateError::Other(other) if other.to_string() == "CaUsedAsEndEntity")
}

#[cfg(test)]
mod tests {
    use rustls::InvalidMessage;

    use super::*;

    fn told(error: Error) -> (Failure, String) {
        let failed = failure_of(&io::Error::new(ErrorKind::InvalidData, error), "theOption").unwrap();
        (failed.failure, failed.text)
    }

    #[test]
    fn a_server_that_wants_a_certificate_denies_access() {
        let (failure, text) = told(Error::AlertReceived(AlertDescription::CertificateRequired));
        assert_eq!(failure, Failure::AccessDenied);
        assert!(text.contains("a certificate of the client's"), "{text}");
        assert_eq!(told(Error::AlertReceived(AlertDescription::ProtocolVersion)).0, Failure::ConnectRefused);
    }

    #[test]
    fn a_server_that_is_not_trusted_is_no_connection_and_it_is_said_what_to_do() {
        let (failure, text) = told(Error::InvalidCertificate(CertificateError::UnknownIssuer));
        assert_eq!(failure, Failure::ConnectRefused);
        assert!(text.contains("theOption"), "{text}");
    }

    #[test]
    fn what_is_no_tls_is_told_as_such() {
        let (failure, text) = told(Error::InvalidMessage(InvalidMessage::InvalidContentType));
        assert_eq!(failure, Failure::ConnectRefused);
        assert!(text.contains("no TLS"), "{text}");
        assert_eq!(failure_of(&io::Error::from(ErrorKind::ConnectionReset), ""), None);
        assert_eq!(failure_of(&io::Error::new(ErrorKind::UnexpectedEof, "early eof"), ""), None);
    }
}
