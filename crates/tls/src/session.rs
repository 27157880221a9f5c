//! One connection's TLS: records in, records out, and the plain bytes between.

use std::io::{BufRead, Write};
use std::sync::Arc;

use loadcurve_wire::Agreement;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, Error, HandshakeKind};

use crate::tickets;

/// One connection's TLS.
pub(crate) struct Session {
    connection: ClientConnection,
    /// Plain bytes that have arrived and were not taken.
    arrived: usize,
    /// Whether the peer has said that it sends no more, so that nobody has cut the connection off.
    has_ended: bool,
    /// Whether it has offered to go on with an earlier one.
    is_offered: bool,
    /// How many bytes have arrived since the last that carried plain ones: as large can a ticket be.
    unexplained: usize,
    /// How large the certificates are that the peer has shown, which are kept beside each ticket.
    certificate_bytes: usize,
}

impl Session {
    /// The session of a new connection, whose first bytes are to be sent at once.
    pub(crate) fn new(config: Arc<ClientConfig>, name: ServerName<'static>) -> Result<Self, Error> {
        let (connection, is_offered) = tickets::offering(|| ClientConnection::new(config, name));
        let mut connection = connection?;
        // What is given to be sent is sent, and no more of it is held than one write.
        connection.set_buffer_limit(None);
        Ok(Self {
            connection,
            arrived: 0,
            has_ended: false,
            is_offered,
            unexplained: 0,
            certificate_bytes: 0,
        })
    }

    pub(crate) fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// What the handshake has agreed on, when it is over.
    pub(crate) fn agreement(&self) -> Option<Agreement> {
        if self.is_handshaking() {
            return None;
        }
        Some(Agreement {
            version: self.connection.protocol_version()?.into(),
            suite: self.connection.negotiated_cipher_suite()?.suite().into(),
            group: self.connection.negotiated_key_exchange_group().map(|group| group.name().into()),
            is_offered: self.is_offered,
            is_resumed: self.connection.handshake_kind() == Some(HandshakeKind::Resumed),
        })
    }

    /// The protocol that the peer has chosen.
    pub(crate) fn protocol(&self) -> Option<&[u8]> {
        self.connection.alpn_protocol()
    }

    /// The certificates that the peer has shown, its own first.
    pub(crate) fn certificates(&self) -> &[CertificateDer<'static>] {
        self.connection.peer_certificates().unwrap_or_default()
    }

    /// Whether there are records to be sent that carry nothing of what is above.
    pub(crate) fn has_output(&self) -> bool {
        self.connection.wants_write()
    }

    /// Turns plain bytes into the records that carry them, behind those that wait to be sent.
    pub(crate) fn protect(&mut self, bytes: &mut Vec<u8>) {
        if !bytes.is_empty() {
            self.connection.writer().write_all(bytes).expect("without a limit, all is taken");
            bytes.clear();
        }
        while self.connection.wants_write() {
            self.connection.write_tls(bytes).expect("a vector takes everything");
        }
    }

    /// Appends the record that ends the connection.
    pub(crate) fn end(&mut self, to: &mut Vec<u8>) {
        self.connection.send_close_notify();
        self.protect(to);
    }

    /// Reads bytes from the connection and says how many it has taken: all, or as many as fit.
    pub(crate) fn receive(&mut self, mut bytes: &[u8]) -> Result<usize, Error> {
        let taken = match self.connection.read_tls(&mut bytes) {
            Ok(taken) => taken,
            Err(error) => return Err(Error::General(error.to_string())),
        };
        self.unexplained += taken;
        tickets::coming(self.unexplained + self.certificate_bytes);
        let was_handshaking = self.is_handshaking();
        let state = self.connection.process_new_packets()?;
        let ends_handshake = was_handshaking && !self.is_handshaking();
        if ends_handshake {
            self.certificate_bytes = self.certificates().iter().map(|one| one.len()).sum();
        }
        let plain = state.plaintext_bytes_to_read();
        if ends_handshake || plain > self.arrived {
            self.unexplained = 0;
        }
        self.arrived = plain;
        self.has_ended |= state.peer_has_closed();
        Ok(taken)
    }

    /// Whether plain bytes have arrived that were not taken.
    pub(crate) fn has_arrived(&self) -> bool {
        self.arrived > 0
    }

    /// Hands plain bytes out, of which `take` says how many it has taken.
    pub(crate) fn take<T, F: FnOnce(&[u8]) -> (usize, T)>(&mut self, take: F) -> T {
        let mut reader = self.connection.reader();
        // Where nothing waits, the library calls that an error; nothing is handed out then.
        let (taken, outcome) = take(reader.fill_buf().unwrap_or_default());
        reader.consume(taken);
        self.arrived -= taken;
        outcome
    }

    /// Whether the peer has said that it sends no more.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended
    }
}
