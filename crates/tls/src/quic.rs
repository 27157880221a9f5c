//! The handshake of QUIC, whose messages travel in QUIC's frames and not in records (RFC 9001).

use std::sync::Arc;

use loadcurve_wire::Agreement;
use rustls::quic::{ClientConnection, KeyChange, Suite, Version};
use rustls::{AlertDescription, ClientConfig, Error, HandshakeKind, Tls13CipherSuite};

use crate::certificate::Certificate;
use crate::client::Client;
use crate::look::Look;
use crate::{failure, tickets};

/// Alerts of TLS are errors of QUIC from here on (RFC 9001, section 4.8).
const FIRST_ALERT: u64 = 0x100;
const LAST_ALERT: u64 = 0x1ff;

/// The suite that the first packets are protected with (RFC 9001, section 5.2).
///
/// # Panics
/// The library lacks the one suite that every version has.
#[must_use]
pub fn initial_suite() -> Suite {
    let suite = rustls::crypto::aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256.tls13();
    suite.and_then(Tls13CipherSuite::quic_suite).expect("the library has the suite of the first packets")
}

/// What a code with which a QUIC connection was ended says in words, where it is an alert of TLS.
#[must_use]
pub fn alert_in_words(code: u64) -> Option<String> {
    let alert = (FIRST_ALERT..=LAST_ALERT).contains(&code).then(|| code - FIRST_ALERT)?;
    let alert = AlertDescription::from(u8::try_from(alert).ok()?);
    Some(failure::in_words(&Error::AlertReceived(alert)))
}

/// How a handshake of QUIC begins.
pub struct QuicStart {
    config: Arc<ClientConfig>,
    is_full: bool,
}

impl QuicStart {
    /// Whether it resumes no earlier session, as that of a client which has never been there.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.is_full
    }
}

/// The client's end of one handshake of QUIC.
pub struct QuicHandshake {
    connection: ClientConnection,
    required_protocol: Option<&'static str>,
    /// Whether it has offered to go on with an earlier session.
    is_offered: bool,
    complaint: Option<String>,
}

/// What a handshake of QUIC has come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuicOutcome {
    /// What was agreed on, and the certificate that was shown; none before the end.
    pub look: Option<Look>,
    /// Why there is no agreement, where this side has found that.
    pub complaint: Option<String>,
    /// The certificates that the server has shown, in bytes.
    pub certificate_bytes: usize,
}

impl Client {
    /// How the handshake of the next QUIC connection begins, which is a full one where that `is_required`.
    #[must_use]
    pub fn next_quic_start(&self, is_required: bool) -> QuicStart {
        let full = self.full_config();
        let config = if is_required { Arc::clone(&full) } else { self.next_quic_config() };
        let is_full = Arc::ptr_eq(&config, &full);
        QuicStart { config, is_full }
    }

    /// Begins a handshake of QUIC, with these transport parameters; a full one leaves no ticket behind.
    ///
    /// # Errors
    /// The settings have no handshake of QUIC, which requires TLS 1.3.
    pub fn begin_quic(&self, parameters: Vec<u8>, start: &QuicStart) -> Result<QuicHandshake, String> {
        let config = Arc::clone(&start.config);
        let begin = || ClientConnection::new(config, Version::V1, self.server_name.clone(), parameters);
        let (connection, is_offered) = tickets::offering(begin);
        let connection = connection.map_err(|error| failure::in_words(&error))?;
        Ok(QuicHandshake {
            connection,
            required_protocol: self.required_protocol,
            is_offered,
            complaint: None,
        })
    }

    /// What a handshake was refused for, with the certificate that it is about.
    #[must_use]
    pub fn with_refused(&self, complaint: &str) -> String {
        match Certificate::of(&self.refused()) {
            Some(certificate) => format!("{complaint}; {}", certificate.in_words()),
            None => complaint.into(),
        }
    }
}

impl QuicHandshake {
    /// The connection, for what the QUIC library asks of it.
    #[must_use]
    pub fn connection(&self) -> &ClientConnection {
        &self.connection
    }

    /// Reads bytes of the handshake, or of what follows it, in order.
    ///
    /// # Errors
    /// The alert that ends the connection.
    pub fn read(&mut self, bytes: &[u8]) -> Result<(), u64> {
        tickets::coming(bytes.len() + self.certificate_bytes());
        let was_handshaking = self.connection.is_handshaking();
        self.connection.read_hs(bytes).map_err(|error| {
            self.complaint = Some(failure::in_words(&error));
            FIRST_ALERT + self.connection.alert().map_or(80, |alert| u64::from(u8::from(alert)))
        })?;
        if was_handshaking && !self.connection.is_handshaking() {
            let chosen = self.connection.alpn_protocol();
            failure::require_protocol(self.required_protocol, chosen).map_err(|text| {
                self.complaint = Some(text);
                FIRST_ALERT + u64::from(u8::from(AlertDescription::NoApplicationProtocol))
            })?;
        }
        Ok(())
    }

    /// Appends bytes of the handshake that are to be sent, up to the next change of keys.
    pub fn write(&mut self, to: &mut Vec<u8>) -> Option<KeyChange> {
        self.connection.write_hs(to)
    }

    fn certificate_bytes(&self) -> usize {
        self.connection.peer_certificates().unwrap_or_default().iter().map(|one| one.len()).sum()
    }

    /// What it has come to so far.
    #[must_use]
    pub fn outcome(&self) -> QuicOutcome {
        let connection = &self.connection;
        let agreement = || {
            Some(Agreement {
                version: connection.protocol_version()?.into(),
                suite: connection.negotiated_cipher_suite()?.suite().into(),
                group: connection.negotiated_key_exchange_group().map(|group| group.name().into()),
                is_offered: self.is_offered,
                is_resumed: connection.handshake_kind() == Some(HandshakeKind::Resumed),
            })
        };
        let agreement = if connection.is_handshaking() { None } else { agreement() };
        QuicOutcome {
            look: agreement.map(|agreement| Look {
                agreement,
                protocol: connection.alpn_protocol().map(|one| String::from_utf8_lossy(one).into_owned()),
                certificate: Certificate::of(connection.peer_certificates().unwrap_or_default()),
            }),
            complaint: self.complaint.clone(),
            certificate_bytes: self.certificate_bytes(),
        }
    }
}
