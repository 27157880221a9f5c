//! A certificate for a server under test, and the authority that has signed it: both are made anew for each start, so
//! that no key outlives the server that it was made for, and clients trust this one authority instead of nothing.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, Error, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, PKCS_RSA_SHA256,
};

/// Characters on a line of PEM (RFC 7468, section 2).
const PEM_LINE: usize = 64;

/// What the keys are, of the server and of the authority alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// ECDSA on the curve P-256.
    Ecdsa,
    /// RSA of 2048 bits.
    Rsa,
}

impl Kind {
    /// The kind that a study calls by this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "ecdsa" => Some(Self::Ecdsa),
            "rsa" => Some(Self::Rsa),
            _ => None,
        }
    }

    fn new_key(self) -> Result<KeyPair, Error> {
        KeyPair::generate_for(match self {
            Self::Ecdsa => &PKCS_ECDSA_P256_SHA256,
            // Without another size given, that is one of 2048 bits.
            Self::Rsa => &PKCS_RSA_SHA256,
        })
    }

    fn key_usages(self) -> Vec<KeyUsagePurpose> {
        match self {
            Self::Ecdsa => vec![KeyUsagePurpose::DigitalSignature],
            // TLS 1.2 has suites in which the client encrypts its secret with the key of the certificate.
            Self::Rsa => vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment],
        }
    }
}

/// What a server presents, and what its clients trust, as texts in PEM.
pub struct Certificates {
    /// The authority's own certificate. Its key is gone: it signs nothing more.
    pub authority: String,
    /// The server's certificate. There is none between it and the authority's.
    pub certificate: String,
    /// The key of the server's certificate (PKCS #8).
    pub key: String,
}

/// Makes an authority and a certificate for a server that is reached under these names or addresses.
///
/// Both are valid at any time, so that no clock has to be right.
///
/// # Errors
///
/// A certificate cannot hold a name, or the system has no randomness for a key.
pub fn make(kind: Kind, names: &[String]) -> Result<Certificates, Error> {
    let authority = CertifiedIssuer::self_signed(authority_params(), kind.new_key()?)?;
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name.push(DnType::CommonName, "Loadcurve server under test");
    params.key_usages = kind.key_usages();
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    let key = kind.new_key()?;
    let certificate = params.signed_by(&key, &authority)?;
    Ok(Certificates {
        authority: pem("CERTIFICATE", authority.der()),
        certificate: pem("CERTIFICATE", certificate.der()),
        key: pem("PRIVATE KEY", key.serialized_der()),
    })
}

fn authority_params() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "Loadcurve authority of one start");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

/// A structure in the textual encoding of RFC 7468.
fn pem(label: &str, der: &[u8]) -> String {
    let mut text = format!("-----BEGIN {label}-----\n");
    let mut rest = STANDARD.encode(der);
    while !rest.is_empty() {
        let behind = rest.split_off(rest.len().min(PEM_LINE));
        text += &rest;
        text.push('\n');
        rest = behind;
    }
    text + &format!("-----END {label}-----\n")
}
