//! Whose certificates are accepted.

use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use crate::failure;

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

/// The certificates that are trusted.
#[derive(Debug)]
pub struct Authorities {
    anchors: RootCertStore,
    /// As they are: a server may have one of them itself.
    certificates: Vec<CertificateDer<'static>>,
}

impl Authorities {
    /// The certificates that can be used; none if there is no such certificate.
    #[must_use]
    pub fn new(certificates: Vec<CertificateDer<'static>>) -> Option<Self> {
        let mut anchors = RootCertStore::empty();
        anchors.add_parsable_certificates(certificates.iter().cloned());
        (!anchors.is_empty()).then_some(Self { anchors, certificates })
    }

    /// What some anchors have issued, and of their certificates those that a server may have itself.
    pub(crate) fn of(anchors: RootCertStore, certificates: Vec<CertificateDer<'static>>) -> Self {
        Self { anchors, certificates }
    }
}

/// What a certificate must prove.
#[derive(Debug)]
pub enum Proof {
    /// Nothing: any is good enough.
    Nothing,
    /// That one of these has issued it.
    Issuer(Authorities),
    /// That one of these has issued it to the host that the address names.
    IssuerAndName(Authorities),
}

/// Checks the certificate of a server; whoever shows one must have its key, whatever else it proves.
#[derive(Debug)]
pub struct Verifier {
    cryptography: Arc<CryptoProvider>,
    proof: Proof,
    refused: Refused,
}

impl Verifier {
    /// Requires this proof of a certificate.
    #[must_use]
    pub fn new(cryptography: Arc<CryptoProvider>, proof: Proof) -> Self {
        Self { cryptography, proof, refused: Refused::default() }
    }

    /// The same, which remembers in `refused` what it refuses.
    pub(crate) fn remembering(self, refused: &Refused) -> Self {
        Self { refused: refused.clone(), ..self }
    }

    fn check(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        now: UnixTime,
    ) -> Result<(), Error> {
        match &self.proof {
            Proof::Nothing => Ok(()),
            Proof::Issuer(authorities) => self.check_issuer(authorities, certificate, intermediates, now),
            Proof::IssuerAndName(authorities) => {
                self.check_issuer(authorities, certificate, intermediates, now)?;
                verify_server_name(&ParsedCertificate::try_from(certificate)?, name)
            }
        }
    }

    fn check_issuer(
        &self,
        authorities: &Authorities,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(), Error> {
        let issued = verify_server_cert_signed_by_trust_anchor(
            &ParsedCertificate::try_from(certificate)?,
            &authorities.anchors,
            intermediates,
            now,
            self.cryptography.signature_verification_algorithms.all,
        );
        match issued {
            // OpenSSL's tools mark what signs itself as an authority. Its time has been found to be right before that.
            Err(Error::InvalidCertificate(flaw))
                if failure::is_of_an_authority(&flaw) && authorities.certificates.contains(certificate) =>
            {
                Ok(())
            }
            issued => issued,
        }
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.check(certificate, intermediates, name, now)
            .inspect_err(|_| self.refused.remember(certificate, intermediates))?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.cryptography.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.cryptography.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.cryptography.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rustls::CertificateError;
    use rustls::crypto::aws_lc_rs;
    use rustls::pki_types::pem::PemObject;

    use super::*;

    /// For localhost, marked as an authority's as `openssl req -x509` does, from 2026-11-21 to 2036-11-18.
    const SELF_SIGNED: &[u8] = b"-----BEGIN CERTIFICATE-----\n\
        MIIBkzCCATmgAwIBAgIUfjXA9KnWiRQWEEP++i3F4d5QtX4wCgYIKoZIzj0EAwIw\n\
        FDESMBAGA1UEAwwJbG9jYWxob3N0MB4XDTI2MTEyMTIyMTQyNVoXDTM2MTExODIy\n\
        MTQyNVowFDESMBAGA1UEAwwJbG9jYWxob3N0MFkwEwYHKoZIzj0CAQYIKoZIzj0D\n\
        AQcDQgAEqK5LmcYC2DuFyYoxftbk+AXpJPtiJDRrVSOMyOwxH4ZrLGSg652EIa9i\n\
        qJP+O28H7qB9uIyQd9DNp8cX6UzpcKNpMGcwHQYDVR0OBBYEFAF9iru9Gj53i1/c\n\
        HunAgFxjQycDMB8GA1UdIwQYMBaAFAF9iru9Gj53i1/cHunAgFxjQycDMA8GA1Ud\n\
        EwEB/wQFMAMBAf8wFAYDVR0RBA0wC4IJbG9jYWxob3N0MAoGCCqGSM49BAMCA0gA\n\
        MEUCICQmbaepax2qsMZMjlMCkyS0PKnr7PKXBcXprOjYaZ75AiEAgK1Dje6FsSBx\n\
        S7OurDgDsrq2inTr1n/icbYbBWzpY3g=\n\
        -----END CERTIFICATE-----";
    /// 2030-01-01.
    const IN_BETWEEN: u64 = 1_893_456_000;
    /// 2040-01-01.
    const TOO_LATE: u64 = 2_208_988_800;

    fn self_signed() -> CertificateDer<'static> {
        CertificateDer::from_pem_slice(SELF_SIGNED).unwrap()
    }

    fn trusting_it() -> Authorities {
        Authorities::new(vec![self_signed()]).unwrap()
    }

    fn verified(proof: Proof, host: &'static str, at: u64) -> Result<(), Error> {
        let verifier = Verifier::new(Arc::new(aws_lc_rs::default_provider()), proof);
        let name = ServerName::try_from(host).unwrap();
        let now = UnixTime::since_unix_epoch(Duration::from_secs(at));
        verifier.verify_server_cert(&self_signed(), &[], &name, &[], now).map(drop)
    }

    #[test]
    fn a_certificate_that_is_named_itself_is_trusted_like_one_that_was_issued() {
        assert_eq!(verified(Proof::Issuer(trusting_it()), "127.0.0.1", IN_BETWEEN), Ok(()));
        assert_eq!(verified(Proof::IssuerAndName(trusting_it()), "localhost", IN_BETWEEN), Ok(()));
    }

    #[test]
    fn it_is_trusted_for_its_name_and_time_alone() {
        let elsewhere = verified(Proof::IssuerAndName(trusting_it()), "127.0.0.1", IN_BETWEEN).unwrap_err();
        assert!(
            matches!(elsewhere, Error::InvalidCertificate(CertificateError::NotValidForNameContext { .. })),
            "{elsewhere:?}"
        );
        let too_late = verified(Proof::Issuer(trusting_it()), "localhost", TOO_LATE).unwrap_err();
        assert!(
            matches!(too_late, Error::InvalidCertificate(CertificateError::ExpiredContext { .. })),
            "{too_late:?}"
        );
    }

    #[test]
    fn without_proof_any_certificate_is_good_enough() {
        assert_eq!(verified(Proof::Nothing, "127.0.0.1", TOO_LATE), Ok(()));
    }
}
