//! What another implementation, webpki, makes of the certificates.

use std::time::Duration;

use loadcurve_certificates::{Certificates, Kind, make};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use webpki::{ALL_VERIFICATION_ALGS, EndEntityCert, Error, KeyUsage, anchor_from_trusted_cert};

const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

fn made(kind: Kind) -> Certificates {
    make(kind, &["localhost".into(), "127.0.0.1".into(), "::1".into()])
        .expect("names that a certificate can hold")
}

/// Whether a client that trusts the authority accepts the certificate from a server of a name, at a moment since 1970.
fn verified(certificate: &str, authority: &str, name: &str, moment: Duration) -> Result<(), Error> {
    let [certificate, authority] = [certificate, authority]
        .map(|pem| CertificateDer::from_pem_slice(pem.as_bytes()).expect("a certificate in PEM"));
    let anchor = anchor_from_trusted_cert(&authority)?;
    let leaf = EndEntityCert::try_from(&certificate)?;
    let now = UnixTime::since_unix_epoch(moment);
    leaf.verify_for_usage(ALL_VERIFICATION_ALGS, &[anchor], &[], now, KeyUsage::server_auth(), None, None)?;
    leaf.verify_is_valid_for_subject_name(&ServerName::try_from(name).expect("a name"))
}

#[test]
fn a_client_of_the_authority_trusts_the_server_under_each_of_its_names() {
    for kind in [Kind::Ecdsa, Kind::Rsa] {
        let Certificates { authority, certificate, .. } = made(kind);
        for name in ["localhost", "127.0.0.1", "::1"] {
            assert_eq!(verified(&certificate, &authority, name, 55 * YEAR), Ok(()), "{kind:?} {name}");
        }
        let other = verified(&certificate, &authority, "example.org", 55 * YEAR);
        assert!(matches!(other, Err(Error::CertNotValidForName(_))), "{other:?}");
    }
}

#[test]
fn another_start_s_authority_does_not_vouch_for_the_server() {
    let refused =
        verified(&made(Kind::Ecdsa).certificate, &made(Kind::Ecdsa).authority, "localhost", 55 * YEAR);
    // Both authorities have one name, so that only the signature differs.
    assert_eq!(refused, Err(Error::InvalidSignatureForPublicKey));
}

#[test]
fn a_machine_whose_clock_is_wrong_by_decades_trusts_the_server_as_well() {
    let Certificates { authority, certificate, .. } = made(Kind::Ecdsa);
    for years in [10, 30, 130] {
        assert_eq!(verified(&certificate, &authority, "localhost", years * YEAR), Ok(()));
    }
}

#[test]
fn a_name_that_no_certificate_can_hold_is_refused() {
    assert!(make(Kind::Ecdsa, &["ä".into()]).is_err());
}
