//! Both ends, in memory and on a planned clock: what one sends arrives at the other 5 ms later, or not at all.

use std::collections::{BTreeMap, VecDeque};
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use loadcurve_certificates::{Kind, make};
use loadcurve_plan::{Tls, Verify};
use loadcurve_quic::connection::{Arrival, Connection, Event, Lost, ReadTo, Socket, Then, Welcome, Windows};
use loadcurve_quic::{Http3, Settings};
use loadcurve_tls::Client;
use loadcurve_wire::{
    Body, BodyPart, DatagramBytes, Event as Happened, Exchange as _, Http3Template, HttpExchange as _,
    Malformed, Method, QuicHandshakeKind, Request, Target, Version,
};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

pub(crate) const WAY: Duration = Duration::from_millis(5);
pub(crate) const FROM: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 50_000);
/// HEADERS with `:status: 200` from the static table, and DATA of two bytes.
const ANSWER: &[u8] = &[1, 3, 0, 0, 0xd9, 0, 2, b'o', b'k'];
/// The type of a control stream, and empty SETTINGS.
const CONTROL: &[u8] = &[0, 4, 0];

pub(crate) const WINDOWS: Windows = Windows {
    stream_bytes: 1 << 20,
    connection_bytes: 1 << 20,
    unacknowledged_bytes: 1 << 20,
    requests: 100,
    idle: None,
};

#[expect(clippy::disallowed_methods, reason = "the planned clock begins at any instant")]
pub(crate) fn base() -> Instant {
    Instant::now()
}

/// With a certificate of this many names.
pub(crate) fn server_tls(protocol: &str, names: usize) -> Arc<rustls::ServerConfig> {
    let others =
        (1..names).map(|number| format!("{number:04}.a-name-of-fifty-bytes-that-makes-it-long.example"));
    let names: Vec<_> = std::iter::once("localhost".into()).chain(others).collect();
    let made = make(Kind::Ecdsa, &names).unwrap();
    let certificate = CertificateDer::from_pem_slice(made.certificate.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(made.key.as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    config.alpn_protocols = vec![protocol.into()];
    config.max_early_data_size = u32::MAX;
    Arc::new(config)
}

pub(crate) fn request(bytes: usize) -> Http3Template {
    let body = Body::Following(bytes as u64);
    Http3Template::new(&Request {
        version: Version::Http11,
        method: if bytes == 0 { Method::GET } else { Method::new("POST").unwrap() },
        target: Target::Fixed("/"),
        authority: "localhost",
        headers: &[],
        body: if bytes == 0 { Body::Bytes(b"") } else { body },
        is_chunked: false,
    })
    .unwrap()
}

/// What has arrived on one way by now.
pub(crate) fn arrived(way: &mut VecDeque<(Duration, Vec<u8>)>, now: Duration) -> Option<Vec<u8>> {
    way.front().is_some_and(|(at, _)| *at <= now).then(|| way.pop_front())?.map(|(_, datagram)| datagram)
}

/// Both ends, and what is on its way between them.
pub(crate) struct Ends {
    pub(crate) now: Duration,
    pub(crate) client: Http3,
    pub(crate) socket: Socket,
    pub(crate) tls: Arc<rustls::ServerConfig>,
    /// How connections are taken from now on, where that has changed.
    pub(crate) otherwise: Option<Welcome>,
    /// Whether the server first asks each client to begin again.
    pub(crate) retries: bool,
    pub(crate) server: Option<Connection>,
    pub(crate) to_server: VecDeque<(Duration, Vec<u8>)>,
    pub(crate) to_client: VecDeque<(Duration, Vec<u8>)>,
    /// Whether datagrams that arrive at the client together are joined, as a kernel does.
    pub(crate) joins: bool,
    /// The most that were.
    pub(crate) joined_max: usize,
    /// How many datagrams were sent by both.
    pub(crate) sent: usize,
    /// Those that are lost, by their place among them.
    pub(crate) lost: Vec<usize>,
    /// How many bytes the server has got of each request that has not ended.
    pub(crate) requests: BTreeMap<u64, usize>,
    /// Of those that have, in their order.
    pub(crate) received: Vec<usize>,
    pub(crate) server_lost: Option<Lost>,
    /// What has happened at the client.
    pub(crate) happened: Vec<Happened>,
    pub(crate) failed: Option<Malformed>,
}

impl Ends {
    pub(crate) fn new(most: usize, windows: Windows, protocol: &str, full_handshakes: f64) -> Self {
        Self::with_names(most, windows, protocol, full_handshakes, 1)
    }

    pub(crate) fn with_names(
        most: usize,
        windows: Windows,
        protocol: &str,
        full_handshakes: f64,
        names: usize,
    ) -> Self {
        // Nothing is sent early without an earlier session.
        let tls = Tls { verify: Verify::None, full_handshakes, early_data: 1.0, ..Tls::of("localhost") };
        let client = Client::new(&tls, 4, "h3", true).unwrap();
        let base = base();
        let settings = Settings::new(client, &WINDOWS, base);
        let mut client = Http3::new(most, &settings);
        client.open();
        let tls = server_tls(protocol, names);
        Self {
            now: Duration::ZERO,
            client,
            socket: Socket::simulated_server(
                &Welcome::new(Arc::clone(&tls), &windows).unwrap(),
                base,
                [7; 32],
            ),
            tls,
            otherwise: None,
            retries: false,
            server: None,
            to_server: VecDeque::new(),
            to_client: VecDeque::new(),
            joins: false,
            joined_max: 0,
            sent: 0,
            lost: vec![],
            requests: BTreeMap::new(),
            received: vec![],
            server_lost: None,
            happened: vec![],
            failed: None,
        }
    }

    pub(crate) fn post(&mut self, bytes: &[u8], cut: DatagramBytes, is_to_server: bool) {
        let each = cut.0.map_or(bytes.len(), std::num::NonZeroUsize::get).max(1);
        for datagram in bytes.chunks(each) {
            let way = if is_to_server { &mut self.to_server } else { &mut self.to_client };
            if !self.lost.contains(&self.sent) {
                way.push_back((self.now + WAY, datagram.to_vec()));
            }
            self.sent += 1;
        }
    }

    pub(crate) fn client_writes(&mut self) {
        self.client.advance(self.now);
        while self.client.can_write_body() {
            let mut read = |part: BodyPart, to: &mut Vec<u8>| -> Result<(), ()> {
                to.extend(std::iter::repeat_n(7, part.bytes));
                Ok(())
            };
            self.client.write_body(16 * 1024, &mut read, &mut Vec::new()).unwrap();
        }
        while self.client.has_output() {
            let mut bytes = Vec::new();
            let cut = self.client.protect(&mut bytes);
            self.post(&bytes, cut, true);
        }
    }

    pub(crate) fn server_writes(&mut self) {
        let mut bytes = Vec::new();
        while let Some(cut) = self.server.as_mut().and_then(|server| server.transmit(self.now, &mut bytes)) {
            let batch = std::mem::take(&mut bytes);
            self.post(&batch, cut, false);
        }
    }

    pub(crate) fn server_reads(&mut self, datagram: &[u8]) {
        match self.socket.datagram(self.now, FROM, datagram) {
            Arrival::New(incoming) => {
                let taken = if self.retries { self.socket.retry(incoming) } else { Some(incoming) };
                if let Some(incoming) = taken {
                    self.server = self.socket.accept(self.now, incoming, self.otherwise.as_ref());
                }
                let reply = self.socket.reply().to_vec();
                self.post(&reply, DatagramBytes::default(), false);
            }
            Arrival::Of(_, event) => {
                if let Some(server) = &mut self.server {
                    server.arrived(&mut self.socket, event);
                }
            }
            Arrival::Answered => {
                let reply = self.socket.reply().to_vec();
                self.post(&reply, DatagramBytes::default(), false);
            }
            Arrival::Dropped => {}
        }
        self.server_goes_on();
    }

    pub(crate) fn server_goes_on(&mut self) {
        let Some(server) = &mut self.server else { return };
        while let Some(event) = server.event() {
            match event {
                Event::Connected => {
                    let control = server.open(loadcurve_quic::connection::Direction::Out).unwrap();
                    server.write(control, CONTROL, Then::More);
                }
                Event::Readable(stream) => {
                    let mut chunks = VecDeque::new();
                    let read_to = server.read(stream, &mut chunks);
                    // Streams of the client alone are never at an end.
                    let bytes = chunks.iter().map(bytes::Bytes::len).sum::<usize>();
                    *self.requests.entry(stream).or_default() += bytes;
                    if read_to == ReadTo::End {
                        self.received.extend(self.requests.remove(&stream));
                        server.write(stream, ANSWER, Then::End);
                    }
                }
                Event::Lost(lost) => self.server_lost = Some(lost),
                Event::Writable(_) | Event::Stopped(_) | Event::Available => {}
            }
        }
    }

    pub(crate) fn client_reads(&mut self, datagram: &[u8]) {
        self.client.advance(self.now);
        let mut rest = datagram;
        loop {
            match self.client.receive(rest) {
                Ok(received) => self.happened.extend(received.event),
                Err(malformed) => {
                    self.failed = Some(malformed);
                    return;
                }
            }
            rest = &[];
            if !self.client.has_input() {
                return;
            }
        }
    }

    /// Lets time pass up to this much of it, as long as anything is to happen.
    pub(crate) fn run(&mut self, length: Duration) {
        let end = self.now + length;
        loop {
            self.client_writes();
            self.server_writes();
            let arrivals = [self.to_server.front(), self.to_client.front()];
            let arrivals = arrivals.into_iter().flatten().map(|(at, _)| *at);
            let timers = [self.client.wake_at(), self.server.as_mut().and_then(Connection::deadline)];
            let next = arrivals.chain(timers.into_iter().flatten()).min();
            let Some(next) = next.filter(|next| *next <= end) else { break };
            self.now = self.now.max(next);
            if let Some(datagram) = arrived(&mut self.to_server, self.now) {
                self.server_reads(&datagram);
            }
            if let Some(mut datagram) = arrived(&mut self.to_client, self.now) {
                let each = NonZeroUsize::new(datagram.len());
                while self.joins && datagram.len().is_multiple_of(each.map_or(1, usize::from)) {
                    // The last one may be shorter.
                    let fits = |(_, next): &(_, Vec<u8>)| next.len() <= each.map_or(0, usize::from);
                    if !self.to_client.front().is_some_and(fits) {
                        break;
                    }
                    let Some(next) = arrived(&mut self.to_client, self.now) else { break };
                    datagram.extend(next);
                }
                self.joined_max = self.joined_max.max(datagram.len().div_ceil(each.map_or(1, usize::from)));
                self.client.divided(DatagramBytes(each));
                self.client_reads(&datagram);
            }
            if self.client.wake_at().is_some_and(|wake_at| wake_at <= self.now) {
                self.client.advance(self.now);
                self.client.timed_out();
                self.client_reads(&[]);
            }
            if let Some(server) = &mut self.server {
                if server.deadline().is_some_and(|deadline| deadline <= self.now) {
                    server.timeout(&mut self.socket, self.now);
                }
                self.server_goes_on();
            }
        }
        self.now = end;
    }

    pub(crate) fn ask(&mut self, tag: usize, template: &Http3Template) {
        self.client.advance(self.now);
        self.client.begin(tag, template, None, &mut Vec::new());
    }

    pub(crate) fn statuses(&self) -> Vec<(usize, u16, u64)> {
        let answered = |event: &Happened| match event {
            Happened::Answered(tag, answer) => Some((*tag, answer.status, answer.body_bytes)),
            _ => None,
        };
        self.happened.iter().filter_map(answered).collect()
    }

    /// A second connection, begun when the first one has brought tickets.
    pub(crate) fn again(most: usize) -> Self {
        let mut ends = Self::new(most, WINDOWS, "h3", 0.0);
        ends.run(SECOND);
        assert_eq!(ends.kind(), QuicHandshakeKind::Full);
        ends.sent = 0;
        ends
    }

    /// The server takes connections with these windows from now on, and nothing early on them.
    pub(crate) fn take_nothing_early(&mut self, windows: &Windows) {
        let mut tls = rustls::ServerConfig::clone(&self.tls);
        tls.max_early_data_size = 0;
        self.otherwise = Some(Welcome::new(Arc::new(tls), windows).unwrap());
    }

    /// Begins the next connection, with as many requests at once.
    pub(crate) fn open(&mut self, requests: usize) {
        self.client.advance(self.now);
        self.client.open();
        for tag in 0..requests {
            assert!(self.client.begins_early());
            self.ask(tag, &request(0));
        }
    }

    pub(crate) fn kind(&mut self) -> QuicHandshakeKind {
        self.client.take_http3_counts().unwrap().handshake.unwrap().kind
    }

    pub(crate) fn complaint(&self) -> String {
        self.client.complaint().unwrap_or_default().into_owned()
    }
}

pub(crate) const SECOND: Duration = Duration::from_secs(1);
