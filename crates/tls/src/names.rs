//! The names that IANA has registered for what TLS agrees on, from the numbers that travel, and back.

use rustls::crypto::SupportedKxGroup;
use rustls::crypto::aws_lc_rs::{ALL_CIPHER_SUITES, ALL_KX_GROUPS};
use rustls::{CipherSuite, NamedGroup, ProtocolVersion, SupportedCipherSuite};

/// The name of a version, such as `1.3`.
#[must_use]
pub fn version_name(number: u16) -> String {
    match ProtocolVersion::from(number) {
        ProtocolVersion::TLSv1_2 => "1.2".into(),
        ProtocolVersion::TLSv1_3 => "1.3".into(),
        _ => format!("0x{number:04x}"),
    }
}

/// The name of a cipher suite, such as `TLS_AES_128_GCM_SHA256`.
#[must_use]
pub fn suite_name(number: u16) -> String {
    // The library's names tell the suites of version 1.3 apart, which those of the registry do not.
    format!("{:?}", CipherSuite::from(number)).replace("TLS13_", "TLS_")
}

/// The name of a group for the exchange of keys, such as `x25519`.
#[must_use]
pub fn group_name(number: u16) -> String {
    match NamedGroup::from(number) {
        NamedGroup::X25519 => "x25519".into(),
        NamedGroup::X448 => "x448".into(),
        group => format!("{group:?}").replace("FFDHE", "ffdhe"),
    }
}

/// The suite of a name, in whatever case.
///
/// # Errors
/// There is none; the text says which there are.
pub(crate) fn suite(name: &str) -> Result<SupportedCipherSuite, String> {
    let name_of = |suite: &SupportedCipherSuite| suite_name(suite.suite().into());
    find(name, ALL_CIPHER_SUITES, name_of, "cipher suite")
}

/// The group of a name, in whatever case.
///
/// # Errors
/// There is none; the text says which there are.
pub(crate) fn group(name: &str) -> Result<&'static dyn SupportedKxGroup, String> {
    find(name, ALL_KX_GROUPS, |group| group_name(group.name().into()), "group")
}

fn find<T: Copy>(name: &str, all: &[T], name_of: impl Fn(&T) -> String, kind: &str) -> Result<T, String> {
    all.iter().find(|one| name_of(one).eq_ignore_ascii_case(name)).copied().ok_or_else(|| {
        let names: Vec<String> = all.iter().map(name_of).collect();
        format!("unknown {kind} {name:?}; expected one of {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::{group, group_name, suite, suite_name, version_name};

    // The numbers are those of IANA's registry "Transport Layer Security (TLS) Parameters".
    #[test]
    fn numbers_have_the_names_of_the_registry() {
        assert_eq!(version_name(0x0303), "1.2");
        assert_eq!(version_name(0x0304), "1.3");
        assert_eq!(suite_name(0x1301), "TLS_AES_128_GCM_SHA256");
        assert_eq!(suite_name(0x1303), "TLS_CHACHA20_POLY1305_SHA256");
        assert_eq!(suite_name(0xc02b), "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256");
        assert_eq!(group_name(29), "x25519");
        assert_eq!(group_name(23), "secp256r1");
        assert_eq!(group_name(0x11ec), "X25519MLKEM768");
    }

    #[test]
    fn a_name_is_found_in_whatever_case_and_one_that_is_none_is_answered_with_those_there_are() {
        assert_eq!(u16::from(suite("tls_aes_256_gcm_sha384").unwrap().suite()), 0x1302);
        assert_eq!(u16::from(group("X25519").unwrap().name()), 29);
        assert!(suite("TLS_RSA_WITH_RC4_128_MD5").unwrap_err().contains("TLS_AES_128_GCM_SHA256"));
        assert!(group("secp112r1").unwrap_err().contains("x25519, secp256r1"));
    }
}
