//! TLS below the requests and answers of `limit`.

use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;

use rustls::crypto::aws_lc_rs::{self, Ticketer};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::ServerSessionMemoryCache;
use rustls::{ServerConfig, ServerConnection};

/// What a record adds to what it carries, at the most (RFC 8446, section 5.2), and how much that is.
const RECORD_OVERHEAD_BYTES: usize = 5 + 256;
const RECORD_BYTES: usize = 16 * 1024;

/// The name that HTTP/2 has in a handshake (RFC 9113 §3.1).
const HTTP2: &[u8] = b"h2";

/// The name of HTTP/3 (RFC 9114 §3.1).
const HTTP3: &[u8] = b"h3";

/// How many sessions are kept whose clients may send requests early; each is continued once.
const SESSIONS_KEPT: usize = 16 * 1024;

/// What all encrypted connections have in common.
#[derive(Clone)]
pub(crate) struct Identity {
    config: Arc<ServerConfig>,
    /// The same without tickets that hold sessions.
    without_tickets: Arc<ServerConfig>,
}

impl Identity {
    /// Reads a certificate and its key (PEM). Clients may agree on HTTP/1.1, and on HTTP/2 where that is spoken.
    ///
    /// # Errors
    /// When one of the files cannot be read, or they do not belong to each other.
    pub(crate) fn read(certificate: &Path, key: &Path, speaks_http2: bool) -> Result<Self, String> {
        let unusable = |file: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
        let chain = CertificateDer::pem_file_iter(certificate).and_then(Iterator::collect);
        let chain: Vec<_> = chain.map_err(|error| unusable(certificate, &error))?;
        let private = PrivateKeyDer::from_pem_file(key).map_err(|error| unusable(key, &error))?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|config| config.with_no_client_auth().with_single_cert(chain, private))
            .map_err(|error| unusable(certificate, &error))?;
        let protocols: &[&[u8]] = if speaks_http2 { &[HTTP2, b"http/1.1"] } else { &[b"http/1.1"] };
        config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        let without_tickets = Arc::new(config.clone());
        // Tickets hold the sessions, so that any number of clients can resume theirs and none is searched for.
        config.ticketer = Ticketer::new().map_err(|error| error.to_string())?;
        Ok(Self { config: Arc::new(config), without_tickets })
    }

    /// The same for QUIC, where clients may agree on HTTP/3 alone.
    pub(super) fn of_quic(&self) -> Arc<ServerConfig> {
        let mut config = ServerConfig::clone(&self.config);
        config.alpn_protocols = vec![HTTP3.to_vec()];
        Arc::new(config)
    }

    /// The same where clients may send requests before the handshake is over, and then where they may not. Sessions are common to
    /// both.
    pub(super) fn of_quic_with_early_data(&self) -> [Arc<ServerConfig>; 2] {
        let mut config = ServerConfig::clone(&self.without_tickets);
        config.alpn_protocols = vec![HTTP3.to_vec()];
        // The library takes early data of sessions that it keeps, for which a ticket can be used once, so that nobody can repeat it.
        config.session_storage = ServerSessionMemoryCache::new(SESSIONS_KEPT);
        [u32::MAX, 0].map(|early_bytes| {
            let mut config = config.clone();
            config.max_early_data_size = early_bytes;
            Arc::new(config)
        })
    }
}

/// What is left of a connection after bytes of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Peer {
    Open,
    /// It has said that it sends nothing more (`close_notify`).
    Done,
    /// It has broken the protocol, or gives up.
    Failed,
}

/// One client's encryption, boxed so that a connection in clear text has next to nothing of it.
pub(super) struct Tls(Box<ServerConnection>);

impl Tls {
    /// Begins with a client, who is to speak first.
    pub(super) fn begin(identity: &Identity) -> Self {
        let mut connection = ServerConnection::new(Arc::clone(&identity.config))
            .expect("the settings are what the library takes");
        // What the kernel does not take is kept by the connection anyway.
        connection.set_buffer_limit(None);
        Self(Box::new(connection))
    }

    /// Whether the client has agreed on HTTP/2.
    pub(super) fn has_agreed_on_http2(&self) -> bool {
        self.0.alpn_protocol() == Some(HTTP2)
    }

    /// Takes in bytes of the client and appends to `plain` what they carry; the server's part of a handshake is then
    /// in [`Self::sealed`].
    pub(super) fn open(&mut self, mut sealed: &[u8], plain: &mut Vec<u8>) -> Peer {
        while !sealed.is_empty() {
            if self.0.read_tls(&mut sealed).is_err() {
                return Peer::Failed;
            }
            let Ok(state) = self.0.process_new_packets() else { return Peer::Failed };
            let begin = plain.len();
            plain.resize(begin + state.plaintext_bytes_to_read(), 0);
            if self.0.reader().read_exact(&mut plain[begin..]).is_err() {
                return Peer::Failed;
            }
            if state.peer_has_closed() {
                return Peer::Done;
            }
        }
        Peer::Open
    }

    /// Everything that is to be sent: what belongs to the handshake, then this, then at the end that nothing follows.
    pub(super) fn sealed(&mut self, plain: &[u8], is_last: bool) -> Vec<u8> {
        let records = plain.len() / RECORD_BYTES + 1;
        let mut sealed = Vec::with_capacity(plain.len() + records * RECORD_OVERHEAD_BYTES);
        // Without a limit of its buffer, a connection takes everything, and a vector does, too.
        let taken = self.0.writer().write_all(plain);
        debug_assert!(taken.is_ok());
        if is_last {
            self.0.send_close_notify();
        }
        while self.0.wants_write() && self.0.write_tls(&mut sealed).is_ok() {}
        sealed
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::sync::Arc;

    use loadcurve_certificates::{Kind, make};
    use rustls::crypto::{CryptoProvider, aws_lc_rs};
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, ServerName};
    use rustls::{
        ClientConfig, ClientConnection, NamedGroup, RootCertStore, SupportedProtocolVersion, version,
    };

    use super::{Identity, Peer, Tls};

    /// A server's identity, and a client that trusts it.
    fn both(version: &'static SupportedProtocolVersion) -> (Identity, ClientConnection) {
        both_with(version, aws_lc_rs::default_provider())
    }

    fn both_with(
        version: &'static SupportedProtocolVersion,
        provider: CryptoProvider,
    ) -> (Identity, ClientConnection) {
        let made = make(Kind::Ecdsa, &["localhost".into()]).unwrap();
        // Tests run beside each other, each in its own thread.
        let (process, thread) = (std::process::id(), std::thread::current().id());
        let folder = std::env::temp_dir().join(format!("limit-tls-{process}-{thread:?}"));
        std::fs::create_dir_all(&folder).unwrap();
        let [certificate, key] = ["certificate.pem", "key.pem"].map(|name| folder.join(name));
        std::fs::write(&certificate, &made.certificate).unwrap();
        std::fs::write(&key, &made.key).unwrap();
        let identity = Identity::read(&certificate, &key, true).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(made.authority.as_bytes()).unwrap()).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(provider))
            .with_protocol_versions(&[version])
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from("localhost").unwrap();
        (identity, ClientConnection::new(Arc::new(config), name).unwrap())
    }

    /// What a client has to say, in pieces of this number of bytes, and what the server makes of it.
    fn heard(client: &mut ClientConnection, server: &mut Tls, piece_bytes: usize) -> (Vec<u8>, Peer) {
        let (mut sent, mut plain, mut peer) = (Vec::new(), Vec::new(), Peer::Open);
        while client.wants_write() {
            client.write_tls(&mut sent).unwrap();
        }
        for piece in sent.chunks(piece_bytes) {
            peer = server.open(piece, &mut plain);
            assert_ne!(peer, Peer::Failed);
        }
        (plain, peer)
    }

    fn said(client: &mut ClientConnection, mut sealed: &[u8]) -> Vec<u8> {
        let mut plain = Vec::new();
        while !sealed.is_empty() {
            client.read_tls(&mut sealed).unwrap();
            let state = client.process_new_packets().unwrap();
            let begin = plain.len();
            plain.resize(begin + state.plaintext_bytes_to_read(), 0);
            client.reader().read_exact(&mut plain[begin..]).unwrap();
        }
        plain
    }

    #[test]
    fn a_client_and_the_server_understand_each_other_whatever_the_split_in_both_versions() {
        for version in [&version::TLS12, &version::TLS13] {
            for piece_bytes in [1, 7, 100, 100_000] {
                let (identity, mut client) = both(version);
                let mut server = Tls::begin(&identity);
                while client.is_handshaking() {
                    assert_eq!(heard(&mut client, &mut server, piece_bytes), (Vec::new(), Peer::Open));
                    said(&mut client, &server.sealed(&[], false));
                }
                client.writer().write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
                let request = heard(&mut client, &mut server, piece_bytes);
                assert_eq!(request, (b"GET / HTTP/1.1\r\n\r\n".to_vec(), Peer::Open));
                let answer = vec![b'x'; 100_000];
                assert_eq!(said(&mut client, &server.sealed(&answer, false)), answer);
                client.send_close_notify();
                assert_eq!(heard(&mut client, &mut server, piece_bytes), (Vec::new(), Peer::Done));
            }
        }
    }

    #[test]
    fn keys_are_exchanged_by_the_post_quantum_group_with_a_client_that_offers_no_other() {
        let groups = vec![aws_lc_rs::kx_group::X25519MLKEM768];
        let provider = CryptoProvider { kx_groups: groups, ..aws_lc_rs::default_provider() };
        let (identity, mut client) = both_with(&version::TLS13, provider);
        let mut server = Tls::begin(&identity);
        while client.is_handshaking() {
            assert_ne!(heard(&mut client, &mut server, 100_000).1, Peer::Failed);
            said(&mut client, &server.sealed(&[], false));
        }
        let group = client.negotiated_key_exchange_group().map(rustls::crypto::SupportedKxGroup::name);
        assert_eq!(group, Some(NamedGroup::X25519MLKEM768));
        client.writer().write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        assert_eq!(heard(&mut client, &mut server, 100_000).0, b"GET / HTTP/1.1\r\n\r\n");
    }

    #[test]
    fn the_last_answer_is_followed_by_the_notice_that_it_was_the_last() {
        let (identity, mut client) = both(&version::TLS13);
        let mut server = Tls::begin(&identity);
        while client.is_handshaking() {
            heard(&mut client, &mut server, 100_000);
            said(&mut client, &server.sealed(&[], false));
        }
        let sealed = server.sealed(b"bye", true);
        client.read_tls(&mut &sealed[..]).unwrap();
        assert!(client.process_new_packets().unwrap().peer_has_closed());
    }

    #[test]
    fn bytes_that_are_no_tls_are_answered_by_an_alert() {
        let (identity, _) = both(&version::TLS13);
        let mut server = Tls::begin(&identity);
        assert_eq!(server.open(b"GET / HTTP/1.1\r\n\r\n", &mut Vec::new()), Peer::Failed);
        // The content type of alerts (RFC 8446, section 5.1).
        assert_eq!(server.sealed(&[], false)[0], 21);
    }
}
