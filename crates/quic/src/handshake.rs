//! TLS inside of QUIC, as the library of QUIC wants it (RFC 9001).
//!
//! The library's session does not say what was agreed on.

use std::any::Any;
use std::io::Cursor;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use loadcurve_tls::{Client, QuicHandshake, QuicOutcome, QuicStart, initial_suite};
use loadcurve_wire::Announced;
use quinn_proto::crypto::{
    self, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, Session as LibrarySession,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError, TransportErrorCode};
use rustls::quic::{KeyChange, Secrets, Suite, Version};

use crate::parameters;

/// The one version that is spoken.
const VERSION_1: u32 = 1;

/// The key and the nonce that seal a Retry packet (RFC 9001, section 5.8).
const RETRY_KEY: [u8; 16] =
    [0xbe, 0x0c, 0x69, 0x0b, 0x9f, 0x66, 0x57, 0x5a, 0x1d, 0x76, 0x6b, 0x54, 0xe3, 0x68, 0xc8, 0x4e];
const RETRY_NONCE: [u8; 12] = [0x46, 0x15, 0x99, 0xd3, 0x5d, 0x63, 0x2b, 0xf2, 0x23, 0x98, 0x25, 0xbb];
const RETRY_TAG_BYTES: usize = 16;

/// How a handshake begins.
pub(crate) struct Handshake {
    pub(crate) client: Arc<Client>,
    pub(crate) start: QuicStart,
}

impl crypto::ClientConfig for Handshake {
    fn start_session(
        self: Arc<Self>,
        version: u32,
        server_name: &str,
        parameters: &TransportParameters,
    ) -> Result<Box<dyn LibrarySession>, ConnectError> {
        if version != VERSION_1 {
            return Err(ConnectError::UnsupportedVersion);
        }
        let mut encoded = Vec::new();
        parameters.write(&mut encoded);
        let encoded = parameters::without_reserved(&encoded).unwrap_or(encoded);
        let begun = self.client.begin_quic(encoded, &self.start);
        let handshake = begun.map_err(|_| ConnectError::InvalidServerName(server_name.into()))?;
        Ok(Box::new(Session {
            handshake,
            initial: initial_suite(),
            next: None,
            taken: 0,
            is_shown: false,
            was_retried: AtomicBool::new(false),
        }))
    }
}

/// One connection's TLS.
struct Session {
    handshake: QuicHandshake,
    initial: Suite,
    next: Option<Secrets>,
    /// How often keys were taken from there: once for those that follow the first ones, and at each change for the next ones.
    taken: u64,
    /// Whether the library knows that the handshake is over.
    is_shown: bool,
    /// Whether a Retry packet was found to be the server's.
    was_retried: AtomicBool,
}

/// What was seen of a handshake so far.
pub(crate) struct Seen {
    pub(crate) outcome: QuicOutcome,
    /// None before it has come.
    pub(crate) announced: Option<Announced>,
    pub(crate) was_retried: bool,
    /// How often the keys of packets were changed, by either side (RFC 9001 §6).
    pub(crate) key_updates: u64,
}

fn pair(keys: rustls::quic::Keys) -> Keys {
    Keys {
        header: KeyPair { local: Box::new(keys.local.header), remote: Box::new(keys.remote.header) },
        packet: KeyPair { local: Box::new(keys.local.packet), remote: Box::new(keys.remote.packet) },
    }
}

impl LibrarySession for Session {
    fn initial_keys(&self, id: &ConnectionId, _: Side) -> Keys {
        pair(self.initial.keys(id, rustls::Side::Client, Version::V1))
    }

    /// What was [`Seen`].
    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        let parameters = self.handshake.connection().quic_transport_parameters();
        Some(Box::new(Seen {
            outcome: self.handshake.outcome(),
            announced: parameters.and_then(parameters::announced),
            was_retried: self.was_retried.load(Ordering::Relaxed),
            key_updates: self.taken.saturating_sub(1),
        }))
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        let keys = self.handshake.connection().zero_rtt_keys()?;
        Some((Box::new(keys.header), Box::new(keys.packet)))
    }

    fn early_data_accepted(&self) -> Option<bool> {
        Some(self.handshake.connection().is_early_data_accepted())
    }

    fn is_handshaking(&self) -> bool {
        self.handshake.connection().is_handshaking()
    }

    fn read_handshake(&mut self, bytes: &[u8]) -> Result<bool, TransportError> {
        // What this side has found is not for the server.
        self.handshake.read(bytes).map_err(|alert| {
            let alert = u8::try_from(alert & 0xff).unwrap_or(u8::MAX);
            TransportError { code: TransportErrorCode::crypto(alert), frame: None, reason: String::new() }
        })?;
        let is_over = !self.is_handshaking();
        Ok(is_over && !std::mem::replace(&mut self.is_shown, is_over))
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        let Some(encoded) = self.handshake.connection().quic_transport_parameters() else { return Ok(None) };
        Ok(Some(TransportParameters::read(Side::Client, &mut Cursor::new(encoded))?))
    }

    fn write_handshake(&mut self, to: &mut Vec<u8>) -> Option<Keys> {
        Some(pair(match self.handshake.write(to)? {
            KeyChange::Handshake { keys } => keys,
            KeyChange::OneRtt { keys, next } => {
                self.next = Some(next);
                keys
            }
        }))
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        let keys = self.next.as_mut()?.next_packet_keys();
        self.taken += 1;
        Some(KeyPair { local: Box::new(keys.local), remote: Box::new(keys.remote) })
    }

    fn is_valid_retry(&self, first_id: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        let Some(body_bytes) = payload.len().checked_sub(RETRY_TAG_BYTES) else { return false };
        let Ok(id_bytes) = u8::try_from(first_id.len()) else { return false };
        let mut sealed = vec![id_bytes];
        sealed.extend_from_slice(first_id);
        sealed.extend_from_slice(header);
        sealed.extend_from_slice(&payload[..body_bytes]);
        let Ok(key) = UnboundKey::new(&AES_128_GCM, &RETRY_KEY) else { return false };
        let mut tag = payload[body_bytes..].to_vec();
        let nonce = Nonce::assume_unique_for_key(RETRY_NONCE);
        let is_valid = LessSafeKey::new(key).open_in_place(nonce, Aad::from(sealed), &mut tag).is_ok();
        self.was_retried.fetch_or(is_valid, Ordering::Relaxed);
        is_valid
    }

    /// Nobody asks for it.
    fn export_keying_material(
        &self,
        _: &mut [u8],
        _: &[u8],
        _: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        Err(ExportKeyingMaterialError)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};
    use std::time::Instant;

    use loadcurve_plan::{Tls, Verify};
    use loadcurve_tls::Client;
    use quinn_proto::transport_parameters::TransportParameters;
    use quinn_proto::{ClientConfig, ConnectError, Endpoint, EndpointConfig, crypto};

    use super::{Handshake, LibrarySession};
    use crate::parameters::without_reserved;

    /// What the library wants to announce, and the first message of TLS.
    type Seen = (Vec<u8>, Vec<u8>);

    struct Recording {
        handshake: Arc<Handshake>,
        seen: Arc<Mutex<Seen>>,
    }

    impl crypto::ClientConfig for Recording {
        fn start_session(
            self: Arc<Self>,
            version: u32,
            name: &str,
            parameters: &TransportParameters,
        ) -> Result<Box<dyn LibrarySession>, ConnectError> {
            let start = || Arc::clone(&self.handshake).start_session(version, name, parameters);
            let (mut announced, mut hello) = Seen::default();
            parameters.write(&mut announced);
            start()?.write_handshake(&mut hello);
            *self.seen.lock().unwrap() = (announced, hello);
            start()
        }
    }

    fn has(bytes: &[u8], part: &[u8]) -> bool {
        bytes.windows(part.len()).any(|window| window == part)
    }

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "the library counts from a moment that only the clock gives"
    )]
    fn a_server_gets_no_parameter_of_no_meaning() {
        let tls = Tls { verify: Verify::None, ..Tls::of("localhost") };
        let client = Client::new(&tls, 1, "h3", true).unwrap();
        let start = client.next_quic_start(true);
        let seen = Arc::default();
        let recording =
            Recording { handshake: Arc::new(Handshake { client, start }), seen: Arc::clone(&seen) };
        let mut endpoint = Endpoint::new(Arc::new(EndpointConfig::default()), None, false, None);
        let config = ClientConfig::new(Arc::new(recording));
        endpoint.connect(Instant::now(), config, ([127, 0, 0, 1], 443).into(), "localhost").unwrap();
        let (announced, hello) = std::mem::take(&mut *seen.lock().unwrap());
        let meant = without_reserved(&announced).unwrap();
        assert!(meant.len() < announced.len(), "the library adds such a parameter");
        assert!(has(&hello, &meant) && !has(&hello, &announced));
    }
}
