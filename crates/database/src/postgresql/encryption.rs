//! Whether connections are encrypted, and what is checked of the server then: libpq's options, as libpq means them.
//!
//! What is not in the address is not looked for in the user's home, because a load must not depend on that.

use std::sync::Arc;

use loadcurve_tls::{Authorities, Proof, Verifier};
use percent_encoding::percent_decode_str;
use rustls::ClientConfig;
use rustls::crypto::aws_lc_rs;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, SslNegotiation};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::database::InvalidTarget;
use crate::database::Settings;
use crate::settings::chosen;
use crate::tls;

/// The options of an address that are read here; the driver knows the first alone, and not all its values.
const OPTIONS: [&str; 4] = ["sslmode", ROOT_CERTIFICATE, CERTIFICATE, KEY];
/// The option that names the certificates to trust.
pub(super) const ROOT_CERTIFICATE: &str = "sslrootcert";
const CERTIFICATE: &str = "sslcert";
const KEY: &str = "sslkey";
/// What stands for the certificates that the machine trusts, in the place of a file.
const SYSTEM: &str = "system";
/// What `PostgreSQL`'s protocol is called in a TLS handshake.
const PROTOCOL: &[u8] = b"postgresql";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Disable,
    Allow,
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

const MODES: [(&str, Mode); 6] = [
    ("disable", Mode::Disable),
    ("allow", Mode::Allow),
    ("prefer", Mode::Prefer),
    ("require", Mode::Require),
    ("verify-ca", Mode::VerifyCa),
    ("verify-full", Mode::VerifyFull),
];

/// An address without its options of encryption, and these options; nothing where one of them may be a part of a
/// password that is not percent-encoded.
pub(super) fn taken_from(url: &str) -> Option<(String, Settings)> {
    // As the driver divides addresses: hosts and a database follow the first @, then options.
    let place = url.find('@').unwrap_or_default();
    let Some(question_mark) = url[place..].find('?').map(|at| place + at) else {
        return Some((url.into(), Settings::new()));
    };
    let mut options = Settings::new();
    let mut others = Vec::new();
    for option in url[question_mark + 1..].split('&') {
        match option.split_once('=') {
            Some((name, value)) if OPTIONS.contains(&name) => {
                options.insert(name.into(), percent_decode_str(value).decode_utf8_lossy().into_owned());
            }
            _ => others.push(option),
        }
    }
    let may_be_of_a_password = place > 0 && url[question_mark..].contains('@') && !options.is_empty();
    (!may_be_of_a_password).then(|| (format!("{}?{}", &url[..question_mark], others.join("&")), options))
}

/// How connections are encrypted.
pub(super) struct Encryption {
    mode: Mode,
    pub(super) connector: MakeRustlsConnect,
}

impl Encryption {
    /// By the options of an address.
    pub(super) fn of(options: &Settings) -> Result<Self, InvalidTarget> {
        let given = chosen(options, "sslmode", &MODES)?;
        let of_system = options.get(ROOT_CERTIFICATE).is_some_and(|root| root == SYSTEM);
        let mode = given.unwrap_or(if of_system { Mode::VerifyFull } else { Mode::Prefer });
        if of_system && mode != Mode::VerifyFull {
            // Anybody can have a certificate of these authorities.
            return Err(InvalidTarget("sslrootcert=system requires sslmode=verify-full".into()));
        }
        let cryptography = Arc::new(aws_lc_rs::default_provider());
        let proof = proof(mode, authorities(options)?)?;
        let verifier = Verifier::new(Arc::clone(&cryptography), proof);
        let builder = ClientConfig::builder_with_provider(cryptography)
            .with_safe_default_protocol_versions()
            .expect("the provider knows ciphers of these versions")
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let mut config = match (options.get(CERTIFICATE), options.get(KEY)) {
            (Some(certificate), Some(key)) => builder
                .with_client_auth_cert(
                    tls::certificates(CERTIFICATE, certificate)?,
                    tls::private_key(KEY, key)?,
                )
                .map_err(|error| InvalidTarget(format!("{CERTIFICATE} and {KEY}: {error}")))?,
            (None, None) => builder.with_no_client_auth(),
            _ => {
                return Err(InvalidTarget(format!(
                    "{CERTIFICATE} and {KEY} require each other: set both or neither"
                )));
            }
        };
        config.alpn_protocols = vec![PROTOCOL.into()];
        Ok(Self { mode, connector: MakeRustlsConnect::new(config) })
    }

    /// How to connect, and how to try once more if that is refused.
    pub(super) fn attempts(&self, config: &Config) -> Result<(Config, Option<Config>), InvalidTarget> {
        let is_weak = matches!(self.mode, Mode::Disable | Mode::Allow | Mode::Prefer);
        if is_weak && config.get_ssl_negotiation() == SslNegotiation::Direct {
            return Err(InvalidTarget(
                "sslnegotiation=direct requires sslmode=require or a stricter one".into(),
            ));
        }
        let with = |mode| config.clone().ssl_mode(mode).to_owned();
        // Sockets of files are never encrypted.
        let is_local = config.get_hosts().iter().all(|host| matches!(host, Host::Unix(_)));
        Ok(match self.mode {
            _ if is_local => (with(SslMode::Disable), None),
            Mode::Disable => (with(SslMode::Disable), None),
            Mode::Allow => (with(SslMode::Disable), Some(with(SslMode::Prefer))),
            Mode::Prefer => (with(SslMode::Prefer), Some(with(SslMode::Disable))),
            Mode::Require | Mode::VerifyCa | Mode::VerifyFull => (with(SslMode::Require), None),
        })
    }
}

fn authorities(options: &Settings) -> Result<Option<Authorities>, InvalidTarget> {
    let Some(root) = options.get(ROOT_CERTIFICATE) else { return Ok(None) };
    let certificates = match root.as_str() {
        SYSTEM => rustls_native_certs::load_native_certs().certs,
        file => tls::certificates(ROOT_CERTIFICATE, file)?,
    };
    let unusable = || InvalidTarget(format!("{ROOT_CERTIFICATE}: {root}: contains no usable certificate"));
    Authorities::new(certificates).map(Some).ok_or_else(unusable)
}

/// What a server must prove. Authorities that are given are not given in vain, whatever the mode.
fn proof(mode: Mode, authorities: Option<Authorities>) -> Result<Proof, InvalidTarget> {
    match (mode, authorities) {
        (Mode::VerifyFull, Some(authorities)) => Ok(Proof::IssuerAndName(authorities)),
        (Mode::VerifyCa | Mode::VerifyFull, None) => Err(InvalidTarget(format!(
            "sslmode=verify-ca and verify-full require {ROOT_CERTIFICATE}, the file with the certificates \
            to trust, or {ROOT_CERTIFICATE}={SYSTEM}"
        ))),
        (_, Some(authorities)) => Ok(Proof::Issuer(authorities)),
        (_, None) => Ok(Proof::Nothing),
    }
}
