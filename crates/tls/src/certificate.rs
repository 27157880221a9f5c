//! What a server's certificate says.

use rustls::pki_types::CertificateDer;
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer;
use x509_parser::public_key::PublicKey;

use crate::failure::shortened;

/// What a server's certificate says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// Whose it is, such as `CN=localhost`.
    pub subject: String,
    /// Who has issued it; the same as the subject where nobody else has.
    pub issuer: String,
    /// The kind of its key, such as `RSA 2048` or `ECDSA 256`.
    pub key: String,
    /// The start of its validity in words.
    pub not_before: String,
    /// The end of its validity in words.
    pub not_after: String,
    /// How many certificates the server has shown, this one among them.
    pub chain_length: usize,
}

impl Certificate {
    /// Reads the first certificate of a chain; `None` if there is none, or it cannot be read.
    pub(crate) fn of(chain: &[CertificateDer<'_>]) -> Option<Self> {
        let (_, certificate) = X509Certificate::from_der(chain.first()?).ok()?;
        Some(Self {
            subject: certificate.subject().to_string(),
            issuer: certificate.issuer().to_string(),
            key: key_in_words(&certificate),
            not_before: certificate.validity().not_before.to_string(),
            not_after: certificate.validity().not_after.to_string(),
            chain_length: chain.len(),
        })
    }

    /// The certificate in words, for errors.
    pub(crate) fn in_words(&self) -> String {
        let issuer = if self.issuer == self.subject {
            "itself (self-signed)".to_owned()
        } else {
            format!("\"{}\"", shortened(&self.issuer))
        };
        format!(
            "the server presented a certificate of \"{}\", issued by {issuer}, valid from {} until {}",
            shortened(&self.subject),
            self.not_before,
            self.not_after
        )
    }
}

fn key_in_words(certificate: &X509Certificate<'_>) -> String {
    match certificate.public_key().parsed() {
        Ok(PublicKey::RSA(key)) => format!("RSA {}", key.key_size()),
        Ok(PublicKey::EC(key)) => format!("ECDSA {}", key.key_size()),
        Ok(PublicKey::Unknown(_))
            if certificate.public_key().algorithm.algorithm.to_id_string() == "1.3.101.112" =>
        {
            "Ed25519".into()
        }
        _ => certificate.public_key().algorithm.algorithm.to_id_string(),
    }
}
