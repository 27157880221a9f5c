//! A server of HTTP/1.x over TLS in the same process, and a client's talk with it, without a socket between them.

use std::io::{Read, Write};
use std::sync::Arc;

use loadcurve_plan::{Tls as Plan, Verify};
use loadcurve_tls::{Client, Settings, Tls};
use loadcurve_wire::{
    Body, Event, Exchange, Http1, HttpExchange, Malformed, Method, Readiness, Request, Target, Version,
};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ConfigBuilder, ServerConfig, ServerConnection, WantsVerifier};

/// The other end of the connection, which answers each read of a request.
pub(crate) struct Server {
    pub(crate) connection: ServerConnection,
    answer: &'static [u8],
}

impl Server {
    pub(crate) fn of(config: &Arc<ServerConfig>, answer: &'static [u8]) -> Self {
        Self { connection: ServerConnection::new(Arc::clone(config)).unwrap(), answer }
    }

    /// Takes what the client has sent, and gives what the server sends.
    pub(crate) fn serve(&mut self, mut bytes: &[u8]) -> Vec<u8> {
        while !bytes.is_empty() {
            self.connection.read_tls(&mut bytes).unwrap();
            let state = self.connection.process_new_packets().unwrap();
            let mut plain = vec![0; state.plaintext_bytes_to_read()];
            self.connection.reader().read_exact(&mut plain).unwrap();
            let requests = plain.windows(4).filter(|end| end == b"\r\n\r\n").count();
            // One record carries them all.
            self.connection.writer().write_all(&self.answer.repeat(requests)).unwrap();
        }
        self.output()
    }

    pub(crate) fn output(&mut self) -> Vec<u8> {
        let mut output = Vec::new();
        while self.connection.wants_write() {
            self.connection.write_tls(&mut output).unwrap();
        }
        output
    }
}

pub(crate) const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

pub(crate) fn server_config() -> Arc<ServerConfig> {
    with_certificate(ServerConfig::builder())
}

/// The configuration with a certificate that it has signed itself.
pub(crate) fn with_certificate(builder: ConfigBuilder<ServerConfig, WantsVerifier>) -> Arc<ServerConfig> {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let config = builder.with_no_client_auth();
    Arc::new(config.with_single_cert(vec![made.cert.der().clone()], key).unwrap())
}

pub(crate) fn any_certificate() -> Plan {
    Plan { verify: Verify::None, ..Plan::of("localhost") }
}

/// Settings of a load with one connection at a time.
pub(crate) fn settings(plan: &Plan, protocol: &'static str, is_required: bool) -> Settings<()> {
    Settings { client: Client::new(plan, 1, protocol, is_required).unwrap(), inner: () }
}

pub(crate) fn request() -> <Http1 as Exchange>::Template {
    let request = Request {
        version: Version::Http11,
        method: Method::GET,
        target: Target::Fixed("/"),
        authority: "localhost",
        headers: &[],
        body: Body::Bytes(&[]),
        is_chunked: false,
    };
    Tls::<Http1>::template(&request).unwrap()
}

/// What the client sends next.
pub(crate) fn written(client: &mut Tls<Http1>) -> Vec<u8> {
    let mut bytes = Vec::new();
    client.write_output(&mut bytes);
    client.protect(&mut bytes);
    bytes
}

/// Lets the client read bytes in pieces of these lengths in turn, and gives what happened.
pub(crate) fn read(
    client: &mut Tls<Http1>,
    bytes: &[u8],
    lengths: &[usize],
) -> Result<Vec<Event>, Malformed> {
    let (mut events, mut rest) = (Vec::new(), bytes);
    for length in lengths.iter().cycle() {
        let (mut piece, behind) = rest.split_at((*length).min(rest.len()));
        while !piece.is_empty() || client.has_input() {
            let received = client.receive(piece)?;
            piece = &piece[received.consumed..];
            events.extend(received.event);
        }
        rest = behind;
        if rest.is_empty() {
            break;
        }
    }
    Ok(events)
}

/// Lets both sides shake hands, with what comes from the server in pieces.
pub(crate) fn shake_hands(
    client: &mut Tls<Http1>,
    server: &mut Server,
    lengths: &[usize],
) -> Result<(), Malformed> {
    client.open();
    while client.readiness() == Readiness::Handshaking {
        let answer = server.serve(&written(client));
        assert!(!answer.is_empty() || client.readiness() != Readiness::Handshaking, "both sides wait");
        read(client, &answer, lengths)?;
    }
    Ok(())
}
