//! Whose certificates are accepted.

use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use crate::{certificate, failure};

/// Remembers the certificate that was refused last, so that an error can say whose it is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Refused(Arc<Mutex<Vec<CertificateDer<'static>>>>);

impl Refused {
    /// The certificates that were shown, the server's first.
    pub(crate) fn certificates(&self) -> Vec<CertificateDer<'static>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn remember(&self, first: &CertificateDer<'_>, others: &[CertificateDer<'_>]) {
        let all = std::iter::once(first).chain(others).map(|one| one.clone().into_owned()).collect();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = all;
    }
}

/// Accepts the certificates that some authorities have issued, and those that are named themselves.
#[derive(Debug)]
pub(crate) struct IssuedBy {
    verifier: Arc<WebPkiServerVerifier>,
    /// The certificates of a file, of which one may be the server's.
    named: Vec<CertificateDer<'static>>,
    refused: Refused,
}

impl IssuedBy {
    /// Accepts those of `roots`, and those `named`.
    ///
    /// # Errors
    /// There are no roots.
    pub(crate) fn those_of(
        roots: RootCertStore,
        named: Vec<CertificateDer<'static>>,
        provider: Arc<CryptoProvider>,
        refused: &Refused,
    ) -> Result<Arc<Self>, String> {
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
        let verifier = verifier.map_err(|error| error.to_string())?;
        Ok(Arc::new(Self { verifier, named, refused: refused.clone() }))
    }
}

impl IssuedBy {
    fn names(&self, certificate: &CertificateDer<'_>) -> bool {
        self.named.iter().any(|named| named == certificate)
    }
}

impl ServerCertVerifier for IssuedBy {
    fn verify_server_cert(
        &self,
        first: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = self.verifier.verify_server_cert(first, others, name, ocsp, now);
        let verified = verified.or_else(|error| match &error {
            // A certificate that its owner has signed for itself is often marked as one of an authority.
            Error::InvalidCertificate(flaw) if failure::is_of_an_authority(flaw) && self.names(first) => {
                verify_server_name(&ParsedCertificate::try_from(first)?, name)?;
                certificate::require_validity(first, now)?;
                Ok(ServerCertVerified::assertion())
            }
            _ => Err(error),
        });
        verified.inspect_err(|_| self.refused.remember(first, others))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }
}

/// Accepts any certificate, of which it still checks that who shows it has its key.
#[derive(Debug)]
pub(crate) struct AnyCertificate(pub(crate) Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
