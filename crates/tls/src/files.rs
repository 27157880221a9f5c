//! The files of certificates and keys that a person has named.

use std::path::Path;

use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// The certificates of a file in PEM, at least one.
///
/// # Errors
/// It cannot be read, or holds none; the text names it.
pub fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
    match read {
        Ok(certificates) if certificates.is_empty() => Err(unusable(file, &pem::Error::NoItemsFound)),
        read => read.map_err(|error| unusable(file, &error)),
    }
}

/// The private key of a file in PEM.
///
/// # Errors
/// As for [`certificates`].
pub fn private_key(file: &Path) -> Result<PrivateKeyDer<'static>, String> {
    PrivateKeyDer::from_pem_file(file).map_err(|error| unusable(file, &error))
}

fn unusable(file: &Path, error: &pem::Error) -> String {
    let what = match error {
        pem::Error::Io(error) => error.to_string(),
        pem::Error::NoItemsFound => {
            "it contains no certificate or key of the expected kind in PEM (an encrypted key cannot be \
            used)"
                .into()
        }
        error => error.to_string(),
    };
    format!("{}: {what}", file.display())
}
