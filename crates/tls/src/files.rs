//! The files of certificates and keys that a person has named.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Many times what any file of certificates has.
const BYTES_MAX: u64 = 16 * 1024 * 1024;

/// What a file holds; a device may hold bytes without end, and a pipe may never bring any.
fn contents(file: &Path) -> Result<Vec<u8>, pem::Error> {
    // A pipe would be waited for if it were opened before it is looked at.
    if !fs::metadata(file).map_err(pem::Error::Io)?.is_file() {
        return Err(pem::Error::Io(io::Error::other("this is no regular file; expected a file in PEM")));
    }
    let mut read = Vec::new();
    File::open(file)
        .and_then(|file| file.take(BYTES_MAX + 1).read_to_end(&mut read))
        .map_err(pem::Error::Io)?;
    if read.len() as u64 > BYTES_MAX {
        return Err(pem::Error::Io(io::Error::other(
            "the file has more than 16 MiB; expected a file in PEM",
        )));
    }
    Ok(read)
}

/// The certificates of a file in PEM, at least one.
///
/// # Errors
/// It cannot be read, or holds none; the text names it.
pub fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let read: Result<Vec<_>, _> =
        contents(file).and_then(|read| CertificateDer::pem_slice_iter(&read).collect());
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
    let read = contents(file).map_err(|error| unusable(file, &error))?;
    PrivateKeyDer::from_pem_slice(&read).map_err(|error| {
        if is_encrypted(&read) {
            let (file, tool) = (file.display(), "openssl pkey -in FILE -out KEY");
            return format!("{file}: the key is encrypted, which cannot be used: decrypt it, as {tool} does");
        }
        unusable(file, &error)
    })
}

/// Whether the first key in PEM is encrypted: in the form of PKCS #8, or in the traditional one, which says
/// so in a header (RFC 1421), where the library finds characters that are not Base64's.
fn is_encrypted(read: &[u8]) -> bool {
    String::from_utf8_lossy(read).lines().any(|line| {
        line == "-----BEGIN ENCRYPTED PRIVATE KEY-----"
            || line.strip_prefix("Proc-Type:").is_some_and(|what| what.trim() == "4,ENCRYPTED")
    })
}

fn unusable(file: &Path, error: &pem::Error) -> String {
    let what = match error {
        pem::Error::Io(error) => error.to_string(),
        pem::Error::NoItemsFound => "it contains no certificate or key of the expected kind in PEM".into(),
        error => error.to_string(),
    };
    format!("{}: {what}", file.display())
}

#[cfg(test)]
mod tests {
    use std::env::temp_dir;
    use std::path::Path;
    use std::{fs, process};

    use super::{certificates, private_key};

    #[test]
    fn a_device_holds_no_certificates() {
        for device in ["/dev/zero", "/dev/null"] {
            let refused = certificates(Path::new(device)).unwrap_err();
            assert_eq!(refused, format!("{device}: this is no regular file; expected a file in PEM"));
        }
    }

    #[test]
    fn an_encrypted_key_is_named_as_one_in_either_form() {
        let file = temp_dir().join(format!("loadcurve-encrypted-key-{}.pem", process::id()));
        for text in [
            "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,C384974EF4AB9141CA9AC24FC8203F74\n\n\
            AAAA\n-----END RSA PRIVATE KEY-----\n",
            "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
        ] {
            fs::write(&file, text).unwrap();
            let refused = private_key(&file).unwrap_err();
            assert!(refused.ends_with("the key is encrypted, which cannot be used: decrypt it, as openssl pkey -in FILE -out KEY does"), "{refused}");
        }
        fs::write(&file, "no key").unwrap();
        let refused = private_key(&file).unwrap_err();
        assert!(
            refused.ends_with("it contains no certificate or key of the expected kind in PEM"),
            "{refused}"
        );
        fs::remove_file(file).unwrap();
    }
}
