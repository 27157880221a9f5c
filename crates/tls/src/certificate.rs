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
        Ok(PublicKey::EC(key)) => format!("ECDSA {}", curve_bits(key.key_size())),
        Ok(PublicKey::Unknown(_))
            if certificate.public_key().algorithm.algorithm.to_id_string() == "1.3.101.112" =>
        {
            "Ed25519".into()
        }
        _ => certificate.public_key().algorithm.algorithm.to_id_string(),
    }
}

/// How many bits a key has whose coordinates take that many in whole bytes: those of P-521 alone do not fill them.
fn curve_bits(of_coordinate: usize) -> usize {
    const P521_BITS: usize = 521;
    if of_coordinate == P521_BITS.next_multiple_of(8) { P521_BITS } else { of_coordinate }
}

#[cfg(test)]
mod tests {
    use rcgen::{
        CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ECDSA_P521_SHA512,
    };

    use super::Certificate;

    #[test]
    fn a_key_has_as_many_bits_as_its_curve() {
        for (algorithm, key) in [
            (&PKCS_ECDSA_P256_SHA256, "ECDSA 256"),
            (&PKCS_ECDSA_P384_SHA384, "ECDSA 384"),
            (&PKCS_ECDSA_P521_SHA512, "ECDSA 521"),
        ] {
            let pair = KeyPair::generate_for(algorithm).unwrap();
            let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
            let shown = [params.self_signed(&pair).unwrap().der().clone()];
            assert_eq!(Certificate::of(&shown).unwrap().key, key);
        }
    }
}
