//! How connections are protected: what a client asks for in the handshakes of TLS.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::InvalidPlan;

/// TLS on every connection of a load. What is left empty is what the TLS library offers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// The name or address that the server's certificate must be for. A name is sent in the handshake, too (SNI).
    pub server_name: String,
    /// The versions that are offered.
    #[serde(default)]
    pub versions: Vec<TlsVersion>,
    /// The cipher suites that are offered, by their IANA names, the preferred one first.
    #[serde(default)]
    pub suites: Vec<String>,
    /// The groups for the exchange of keys, by their IANA names, the preferred one first.
    #[serde(default)]
    pub groups: Vec<String>,
    /// Whose certificates are accepted.
    #[serde(default)]
    pub verify: Verify,
    /// What the client shows of itself where the server asks.
    #[serde(default)]
    pub client_certificate: Option<ClientCertificate>,
    /// The share of the connections that begin a new session, from 0 to 1; the others go on with an earlier one
    /// where the server has given a ticket for it.
    #[serde(default = "all")]
    pub full_handshakes: f64,
    /// The share of those others, over QUIC, whose first requests leave before the handshake is over (0-RTT), from 0 to 1.
    #[serde(default)]
    pub early_data: f64,
    /// A file to which the secrets of the connections are appended, in the format of `SSLKEYLOGFILE`.
    #[serde(default)]
    pub key_log: Option<PathBuf>,
}

fn all() -> f64 {
    1.0
}

/// A version of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TlsVersion {
    /// RFC 5246.
    #[serde(rename = "1.2")]
    Tls12,
    /// RFC 8446.
    #[serde(rename = "1.3")]
    Tls13,
}

/// Whose certificates are accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verify {
    /// Those that an authority of this machine's list has issued.
    #[default]
    System,
    /// Those that an authority of a file has issued, which holds certificates in PEM.
    File(PathBuf),
    /// Any: nothing is known of who answers.
    None,
}

/// A certificate with its key, both in PEM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientCertificate {
    /// The certificate, and behind it those of the authorities between it and the root.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

impl Tls {
    /// The settings of a library's defaults for a server of this name.
    #[must_use]
    pub fn of(server_name: impl Into<String>) -> Self {
        Self {
            server_name: server_name.into(),
            versions: vec![],
            suites: vec![],
            groups: vec![],
            verify: Verify::default(),
            client_certificate: None,
            full_handshakes: all(),
            early_data: 0.0,
            key_log: None,
        }
    }

    /// Checks the numbers.
    ///
    /// # Errors
    /// When one is out of its range, with the number and the range.
    pub(crate) fn validate(&self) -> Result<(), InvalidPlan> {
        let Self { full_handshakes, early_data, .. } = *self;
        for (share, of) in [(full_handshakes, "full handshakes"), (early_data, "connections with early data")]
        {
            if !(0.0..=1.0).contains(&share) {
                return Err(InvalidPlan(format!("{share} is not a share of {of}: expected 0 to 1")));
            }
        }
        if early_data > 0.0 && full_handshakes >= 1.0 {
            return Err(InvalidPlan(
                "early data is sent by connections that resume a session, and all handshakes are full: expected a share of \
                 full handshakes below 1"
                    .into(),
            ));
        }
        Ok(())
    }

    /// Whether requests may leave before a handshake is over.
    #[must_use]
    pub fn sends_early(&self) -> bool {
        self.early_data > 0.0
    }
}
