//! What a load asks for in its handshakes, as the TLS library wants it.

use std::fmt::{self, Debug};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use loadcurve_plan::{Tls, TlsVersion, Verify};
use rustls::client::{Resumption, Tls12Resumption};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, KeyLog, RootCertStore, SupportedProtocolVersion, version};

use crate::files;
use crate::names;
use crate::tickets::Tickets;
use crate::verifier::{Authorities, Proof, Refused, Verifier};

/// The name of HTTP/3 in handshakes (ALPN).
const HTTP3: &str = "h3";

/// Why settings cannot be used: a sentence for the person who gave them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidSettings(pub String);

impl fmt::Display for InvalidSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// What all connections of a load to one server share.
#[derive(Debug)]
pub struct Client {
    pub(crate) server_name: ServerName<'static>,
    /// The protocol that the server must choose in the handshake (ALPN); without one it need not choose.
    pub(crate) required_protocol: Option<&'static str>,
    /// For connections that begin a session.
    full: Arc<ClientConfig>,
    /// For those that go on with an earlier one where there is a ticket.
    resuming: Arc<ClientConfig>,
    /// For those of QUIC that send requests before their handshake is over where the ticket allows it.
    early: Arc<ClientConfig>,
    full_handshakes: f64,
    early_data: f64,
    opened: AtomicU64,
    /// How many of the connections of QUIC were to go on with a session.
    resumed: AtomicU64,
    refused: Refused,
}

impl Client {
    /// The client of a plan with this number of connections at once, which offers `protocol`; where that `is_required`, a
    /// server must choose it.
    ///
    /// # Errors
    /// A name is unknown to TLS, a file cannot be used, or what is asked for does not go together.
    pub fn new(
        plan: &Tls,
        connections: usize,
        protocol: &'static str,
        is_required: bool,
    ) -> Result<Arc<Self>, InvalidSettings> {
        Self::of(plan, connections, protocol, is_required).map(Arc::new).map_err(InvalidSettings)
    }

    fn of(plan: &Tls, connections: usize, protocol: &'static str, is_required: bool) -> Result<Self, String> {
        let server_name = ServerName::try_from(plan.server_name.clone()).map_err(|_| {
            format!(
                "{:?} is neither a host name nor an IP address, which a certificate can be checked for",
                plan.server_name
            )
        })?;
        let refused = Refused::default();
        if protocol == HTTP3 {
            require_tls13(plan)?;
        }
        let mut full = config(plan, &refused)?;
        full.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        // An answer that is over as fast as this library can has its records checked as any other.
        full.resumption = Resumption::disabled();
        let mut resuming = full.clone();
        resuming.resumption = Resumption::store(Arc::new(Tickets::for_connections(connections)))
            .tls12_resumption(Tls12Resumption::SessionIdOrTickets);
        let mut early = resuming.clone();
        early.enable_early_data = true;
        Ok(Self {
            server_name,
            required_protocol: is_required.then_some(protocol),
            full: Arc::new(full),
            resuming: Arc::new(resuming),
            early: Arc::new(early),
            full_handshakes: plan.full_handshakes,
            early_data: plan.early_data,
            opened: AtomicU64::new(0),
            resumed: AtomicU64::new(0),
            refused,
        })
    }

    /// The settings of the next connection: those of a full handshake for as many as were asked for, spread evenly.
    pub(crate) fn next_config(&self) -> Arc<ClientConfig> {
        let number = self.opened.fetch_add(1, Ordering::Relaxed);
        let config = if is_in_share(number, self.full_handshakes) { &self.full } else { &self.resuming };
        Arc::clone(config)
    }

    /// Those of the next connection of QUIC: early data is sent on as many of those that go on with a session as was asked for.
    pub(crate) fn next_quic_config(&self) -> Arc<ClientConfig> {
        let next = self.next_config();
        if !Arc::ptr_eq(&next, &self.resuming) {
            return next;
        }
        let number = self.resumed.fetch_add(1, Ordering::Relaxed);
        if is_in_share(number, self.early_data) { Arc::clone(&self.early) } else { next }
    }

    /// The certificate that was refused last, with those behind it.
    pub(crate) fn refused(&self) -> Vec<CertificateDer<'static>> {
        self.refused.certificates()
    }

    /// The settings of a full handshake, which leaves no ticket behind.
    pub(crate) fn full_config(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.full)
    }
}

/// Whether connection `number` is one of this share of all.
#[expect(clippy::float_cmp, reason = "two whole numbers are compared, which are equal or not")]
fn is_in_share(number: u64, share: f64) -> bool {
    let before = |number: u64| (number as f64 * share).ceil();
    before(number + 1) != before(number)
}

fn config(plan: &Tls, refused: &Refused) -> Result<ClientConfig, String> {
    let provider = provider(plan)?;
    let versions = versions(&plan.versions);
    require_suite(&provider, &versions)?;
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&versions)
        .map_err(|error| {
            format!("the TLS versions, cipher suites and groups are not compatible with each other: {error}")
        })?;
    let proof = match &plan.verify {
        Verify::System => Proof::IssuerAndName(Authorities::of(system_roots()?, vec![])),
        Verify::File(file) => {
            let named = files::certificates(file)?;
            Proof::IssuerAndName(Authorities::of(roots_of(file, &named)?, named))
        }
        Verify::None => Proof::Nothing,
    };
    let verifier = Verifier::new(provider, proof).remembering(refused);
    let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier));
    let mut config = match &plan.client_certificate {
        None => builder.with_no_client_auth(),
        Some(own) => builder
            .with_client_auth_cert(files::certificates(&own.certificate)?, files::private_key(&own.key)?)
            .map_err(|error| {
                format!("{}: cannot be used as a client certificate: {error}", own.certificate.display())
            })?,
    };
    if let Some(file) = &plan.key_log {
        config.key_log = Arc::new(KeyLogFile::append_to(file)?);
    }
    Ok(config)
}

/// QUIC has no other version (RFC 9001 §4.2).
fn require_tls13(plan: &Tls) -> Result<(), String> {
    if !plan.versions.is_empty() && !plan.versions.contains(&TlsVersion::Tls13) {
        return Err("HTTP/3 has TLS 1.3 alone: allow it, or leave the TLS version out".into());
    }
    require_suite(&*provider(plan)?, &[&version::TLS13])
}

fn provider(plan: &Tls) -> Result<Arc<CryptoProvider>, String> {
    let mut provider = aws_lc_rs::default_provider();
    if !plan.suites.is_empty() {
        provider.cipher_suites =
            plan.suites.iter().map(|name| names::suite(name)).collect::<Result<_, _>>()?;
    }
    if !plan.groups.is_empty() {
        provider.kx_groups = plan.groups.iter().map(|name| names::group(name)).collect::<Result<_, _>>()?;
    }
    Ok(Arc::new(provider))
}

fn versions(asked: &[TlsVersion]) -> Vec<&'static SupportedProtocolVersion> {
    let offers = |version| asked.is_empty() || asked.contains(&version);
    let all = [(TlsVersion::Tls13, &version::TLS13), (TlsVersion::Tls12, &version::TLS12)];
    all.into_iter().filter(|(version, _)| offers(*version)).map(|(_, version)| version).collect()
}

/// Checks that at least one cipher suite belongs to one of the versions.
fn require_suite(
    provider: &CryptoProvider,
    versions: &[&'static SupportedProtocolVersion],
) -> Result<(), String> {
    let suites = &provider.cipher_suites;
    if suites.iter().any(|suite| versions.contains(&suite.version())) {
        return Ok(());
    }
    let asked: Vec<_> = versions.iter().map(|version| names::version_name(version.version.into())).collect();
    let known = aws_lc_rs::ALL_CIPHER_SUITES.iter().filter(|suite| versions.contains(&suite.version()));
    let known: Vec<_> = known.map(|suite| names::suite_name(suite.suite().into())).collect();
    Err(format!(
        "none of the cipher suites belongs to TLS {}; expected one of {}",
        asked.join(" or "),
        known.join(", ")
    ))
}

fn system_roots() -> Result<RootCertStore, String> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        return Err(
            "no trusted certificate authorities are installed on this machine: install them (package \
            ca-certificates), or name a file with the certificate of the server's authority"
                .into(),
        );
    }
    Ok(roots)
}

fn roots_of(file: &Path, certificates: &[CertificateDer<'static>]) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates {
        roots.add(certificate.clone()).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(roots)
}

/// A file to which the secrets of connections are appended, which only its owner can read.
struct KeyLogFile(Mutex<File>);

impl KeyLogFile {
    fn append_to(file: &Path) -> Result<Self, String> {
        // A pipe would be waited for if it were opened before it is looked at.
        if fs::metadata(file).is_ok_and(|found| !found.is_file()) {
            return Err(format!("{}: this is no regular file; expected one for the secrets", file.display()));
        }
        let opened = OpenOptions::new().append(true).create(true).mode(0o600).open(file);
        opened
            .map(|opened| Self(Mutex::new(opened)))
            .map_err(|error| format!("{}: cannot be written: {error}", file.display()))
    }
}

impl Debug for KeyLogFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("KeyLogFile")
    }
}

impl KeyLog for KeyLogFile {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        let line = format!("{label} {} {}\n", hexadecimal(client_random), hexadecimal(secret));
        // A full disk must not end the load: the log is an aid.
        let _ = self.0.lock().unwrap_or_else(PoisonError::into_inner).write_all(line.as_bytes());
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)]))
        .collect()
}

#[cfg(test)]
mod tests {
    use loadcurve_plan::{Tls, TlsVersion, Verify};
    use proptest::prelude::*;

    use super::{Client, is_in_share};

    fn refusal(plan: &Tls) -> String {
        Client::new(plan, 1, "http/1.1", false).expect_err("the settings cannot be used").0
    }

    proptest! {
        #[test]
        fn of_any_first_connections_as_large_a_share_is_full_as_was_asked_for(share in 0.0..=1.0, of in 1_u64..500) {
            let full = (0..of).filter(|number| is_in_share(*number, share)).count();
            // The first of a share above zero is a full one, so that there is a session to go on with.
            prop_assert!((full as f64 - share * of as f64).abs() < 1.0);
            prop_assert_eq!(is_in_share(0, share), share > 0.0);
        }
    }

    #[test]
    fn settings_that_cannot_be_used_are_refused_with_what_could_be() {
        let any = Tls { verify: Verify::None, ..Tls::of("localhost") };
        assert!(Client::new(&any, 1, "http/1.1", false).is_ok());
        for (plan, part) in [
            (Tls::of("not a name"), "neither a host name nor an IP address"),
            (
                Tls { suites: vec!["RC4".into()], ..any.clone() },
                "unknown cipher suite \"RC4\"; expected one of TLS_",
            ),
            (Tls { groups: vec!["p224".into()], ..any.clone() }, "unknown group \"p224\"; expected one of"),
            (Tls { verify: Verify::File("/nowhere.pem".into()), ..any.clone() }, "/nowhere.pem: "),
            (
                Tls {
                    versions: vec![TlsVersion::Tls13],
                    suites: vec!["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256".into()],
                    ..any.clone()
                },
                "none of the cipher suites belongs to TLS 1.3; expected one of TLS_",
            ),
        ] {
            assert!(refusal(&plan).contains(part), "{}", refusal(&plan));
        }
    }
}
