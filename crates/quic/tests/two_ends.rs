//! Both ends of QUIC talk in memory, on a planned clock: what one sends arrives at the other 5 ms later, or not at all.

use std::collections::{BTreeMap, VecDeque};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use loadcurve_certificates::{Kind, make};
use loadcurve_plan::{Tls, Verify};
use loadcurve_quic::connection::{Arrival, Connection, Event, Lost, ReadTo, Socket, Then, Welcome, Windows};
use loadcurve_quic::{Http3, Settings};
use loadcurve_tls::Client;
use loadcurve_wire::{
    Announced, Body, BodyPart, DatagramBytes, Event as Happened, Exchange as _, Http3Template,
    HttpExchange as _, Malformed, Method, QuicEnd, QuicHandshakeKind, Readiness, Request, Target, Version,
};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

const WAY: Duration = Duration::from_millis(5);
const FROM: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 50_000);
/// HEADERS with `:status: 200` from the static table, and DATA of two bytes.
const ANSWER: &[u8] = &[1, 3, 0, 0, 0xd9, 0, 2, b'o', b'k'];
/// The type of a control stream, and empty SETTINGS.
const CONTROL: &[u8] = &[0, 4, 0];

const WINDOWS: Windows = Windows {
    stream_bytes: 1 << 20,
    connection_bytes: 1 << 20,
    unacknowledged_bytes: 1 << 20,
    requests: 100,
    idle: None,
};

#[expect(clippy::disallowed_methods, reason = "the planned clock begins at any instant")]
fn base() -> Instant {
    Instant::now()
}

/// With a certificate of this many names.
fn server_tls(protocol: &str, names: usize) -> Arc<rustls::ServerConfig> {
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

fn request(bytes: usize) -> Http3Template {
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
fn arrived(way: &mut VecDeque<(Duration, Vec<u8>)>, now: Duration) -> Option<Vec<u8>> {
    way.front().is_some_and(|(at, _)| *at <= now).then(|| way.pop_front())?.map(|(_, datagram)| datagram)
}

/// Both ends, and what is on its way between them.
struct Ends {
    now: Duration,
    client: Http3,
    socket: Socket,
    tls: Arc<rustls::ServerConfig>,
    /// How connections are taken from now on, where that has changed.
    otherwise: Option<Welcome>,
    /// Whether the server first asks each client to begin again.
    retries: bool,
    server: Option<Connection>,
    to_server: VecDeque<(Duration, Vec<u8>)>,
    to_client: VecDeque<(Duration, Vec<u8>)>,
    /// How many datagrams were sent by both.
    sent: usize,
    /// Those that are lost, by their place among them.
    lost: Vec<usize>,
    /// How many bytes the server has got of each request that has not ended.
    requests: BTreeMap<u64, usize>,
    /// Of those that have, in their order.
    received: Vec<usize>,
    server_lost: Option<Lost>,
    /// What has happened at the client.
    happened: Vec<Happened>,
    failed: Option<Malformed>,
}

impl Ends {
    fn new(most: usize, windows: Windows, protocol: &str, full_handshakes: f64) -> Self {
        Self::with_names(most, windows, protocol, full_handshakes, 1)
    }

    fn with_names(most: usize, windows: Windows, protocol: &str, full_handshakes: f64, names: usize) -> Self {
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
            socket: Socket::server(&Welcome::new(Arc::clone(&tls), &windows).unwrap(), base),
            tls,
            otherwise: None,
            retries: false,
            server: None,
            to_server: VecDeque::new(),
            to_client: VecDeque::new(),
            sent: 0,
            lost: vec![],
            requests: BTreeMap::new(),
            received: vec![],
            server_lost: None,
            happened: vec![],
            failed: None,
        }
    }

    fn post(&mut self, bytes: &[u8], cut: DatagramBytes, is_to_server: bool) {
        let each = cut.0.map_or(bytes.len(), std::num::NonZeroUsize::get).max(1);
        for datagram in bytes.chunks(each) {
            let way = if is_to_server { &mut self.to_server } else { &mut self.to_client };
            if !self.lost.contains(&self.sent) {
                way.push_back((self.now + WAY, datagram.to_vec()));
            }
            self.sent += 1;
        }
    }

    fn client_writes(&mut self) {
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

    fn server_writes(&mut self) {
        let mut bytes = Vec::new();
        while let Some(cut) = self.server.as_mut().and_then(|server| server.transmit(self.now, &mut bytes)) {
            let batch = std::mem::take(&mut bytes);
            self.post(&batch, cut, false);
        }
    }

    fn server_reads(&mut self, datagram: &[u8]) {
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

    fn server_goes_on(&mut self) {
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

    fn client_reads(&mut self, datagram: &[u8]) {
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
    fn run(&mut self, length: Duration) {
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
            if let Some(datagram) = arrived(&mut self.to_client, self.now) {
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

    fn ask(&mut self, tag: usize, template: &Http3Template) {
        self.client.advance(self.now);
        self.client.begin(tag, template, None, &mut Vec::new());
    }

    fn statuses(&self) -> Vec<(usize, u16, u64)> {
        let answered = |event: &Happened| match event {
            Happened::Answered(tag, answer) => Some((*tag, answer.status, answer.body_bytes)),
            _ => None,
        };
        self.happened.iter().filter_map(answered).collect()
    }

    /// A second connection, begun when the first one has brought tickets.
    fn again(most: usize) -> Self {
        let mut ends = Self::new(most, WINDOWS, "h3", 0.0);
        ends.run(SECOND);
        assert_eq!(ends.kind(), QuicHandshakeKind::Full);
        ends.sent = 0;
        ends
    }

    /// The server takes connections with these windows from now on, and nothing early on them.
    fn take_nothing_early(&mut self, windows: &Windows) {
        let mut tls = rustls::ServerConfig::clone(&self.tls);
        tls.max_early_data_size = 0;
        self.otherwise = Some(Welcome::new(Arc::new(tls), windows).unwrap());
    }

    /// Begins the next connection, with as many requests at once.
    fn open(&mut self, requests: usize) {
        self.client.advance(self.now);
        self.client.open();
        for tag in 0..requests {
            assert!(self.client.begins_early());
            self.ask(tag, &request(0));
        }
    }

    fn kind(&mut self) -> QuicHandshakeKind {
        self.client.take_http3_counts().unwrap().handshake.unwrap().kind
    }

    fn complaint(&self) -> String {
        self.client.complaint().unwrap_or_default().into_owned()
    }
}

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_request_is_answered_after_a_handshake_of_one_round_trip() {
    let mut ends = Ends::new(1, WINDOWS, "h3", 1.0);
    assert_eq!(ends.client.readiness(), Readiness::Handshaking);
    ends.run(2 * WAY);
    assert_eq!(ends.client.readiness(), Readiness::Ready);
    let agreement = ends.client.agreement().unwrap();
    assert_eq!((agreement.version, agreement.is_offered, agreement.is_resumed), (0x0304, false, false));
    assert_eq!(ends.client.look().unwrap().protocol.as_deref(), Some("h3"));
    ends.ask(0, &request(0));
    ends.run(2 * WAY);
    assert_eq!(ends.statuses(), [(0, 200, 2)]);
    let counts = ends.client.take_http3_counts().unwrap();
    assert_eq!((counts.quic.packets_lost, counts.quic.rtt_min), (0, 2 * WAY));
    let handshake = counts.handshake.unwrap();
    assert_eq!((handshake.kind, handshake.length), (QuicHandshakeKind::Full, 2 * WAY));
    assert!(handshake.certificate_bytes > 200, "{counts:?}");
    let Announced { stream_window_bytes, connection_window_bytes, streams, .. } = counts.announced;
    assert_eq!((stream_window_bytes, connection_window_bytes, streams), (1 << 20, 1 << 20, 100));
    let again = ends.client.take_http3_counts().unwrap();
    assert_eq!((again.handshake, again.quic.packets_sent), (None, 0), "everything is counted once");
}

#[test]
fn keys_are_changed_on_a_long_connection_and_the_change_is_counted() {
    // The library changes them behind a random number of packets below 1,000; then after 2^23 ones alone.
    let mut ends = Ends::new(1, WINDOWS, "h3", 1.0);
    ends.run(SECOND);
    for requests in 1..=1_100 {
        ends.ask(0, &request(0));
        ends.run(4 * WAY);
        assert_eq!((ends.statuses().len(), ends.failed), (requests, None));
        if requests == 4 {
            assert_eq!(ends.client.take_http3_counts().unwrap().quic.key_updates, 0);
        }
    }
    let counts = ends.client.take_http3_counts().unwrap().quic;
    assert!(counts.packets_sent > 1_000, "{counts:?}");
    assert_eq!((counts.key_updates, counts.packets_lost), (1, 0));
}

#[test]
fn whichever_datagram_is_lost_the_request_is_answered_once() {
    let mut undisturbed = Ends::new(1, WINDOWS, "h3", 1.0);
    undisturbed.run(SECOND);
    undisturbed.ask(0, &request(0));
    undisturbed.run(SECOND);
    assert_eq!(undisturbed.statuses().len(), 1);
    assert!(undisturbed.sent >= 6, "{}", undisturbed.sent);
    for lost in 0..undisturbed.sent {
        let mut ends = Ends::new(1, WINDOWS, "h3", 1.0);
        ends.lost = vec![lost];
        ends.run(5 * SECOND);
        ends.ask(0, &request(0));
        ends.run(5 * SECOND);
        assert_eq!((ends.statuses(), ends.failed), (vec![(0, 200, 2)], None), "datagram {lost}");
    }
}

#[test]
fn more_requests_than_the_server_takes_at_once_wait_and_are_all_answered() {
    let mut ends = Ends::new(8, Windows { requests: 3, ..WINDOWS }, "h3", 1.0);
    ends.run(SECOND);
    let template = request(0);
    let mut begun = 0;
    let mut most = 0;
    while begun < 30 {
        let at_once = begun - ends.statuses().len();
        if ends.client.readiness() == Readiness::Ready {
            // Tags in flight are those whose answers are missing.
            let answered: Vec<_> = ends.statuses().iter().map(|(tag, ..)| *tag).collect();
            let tag = (0..8).find(|tag| {
                let asked = (0..begun).filter(|number| number % 8 == *tag).count();
                begun % 8 == *tag && asked == answered.iter().filter(|one| *one == tag).count()
            });
            if let Some(tag) = tag {
                ends.ask(tag, &template);
                begun += 1;
                most = most.max(at_once + 1);
                continue;
            }
        }
        assert!(ends.client.limit().is_some_and(|limit| limit <= 3), "{:?}", ends.client.limit());
        ends.run(2 * WAY);
    }
    ends.run(SECOND);
    assert_eq!((ends.statuses().len(), most), (30, 3));
}

#[test]
fn a_body_that_is_longer_than_all_windows_arrives_whole() {
    let small = Windows { stream_bytes: 5_000, connection_bytes: 7_000, ..WINDOWS };
    let mut ends = Ends::new(1, small, "h3", 1.0);
    ends.run(SECOND);
    ends.ask(0, &request(300_000));
    assert!(ends.client.is_writing_body(0));
    ends.run(20 * SECOND);
    assert_eq!(ends.statuses(), [(0, 200, 2)]);
    assert!(!ends.client.is_writing_body(0));
    // The header of DATA with a length of four bytes, and the fields before it.
    let [received] = ends.received[..] else { panic!("{:?}", ends.received) };
    assert!((300_005..300_100).contains(&received), "{received}");
}

#[test]
fn a_request_that_is_given_up_leaves_its_tag_to_the_next() {
    let mut ends = Ends::new(1, WINDOWS, "h3", 1.0);
    ends.run(SECOND);
    ends.ask(0, &request(0));
    assert!(ends.client.cancel(0));
    ends.run(SECOND);
    assert_eq!(ends.happened, []);
    ends.ask(0, &request(0));
    ends.run(SECOND);
    assert_eq!(ends.statuses(), [(0, 200, 2)]);
}

#[test]
fn the_code_with_which_a_server_ends_a_connection_is_named() {
    let mut ends = Ends::new(1, WINDOWS, "h3", 1.0);
    ends.run(SECOND);
    ends.server.as_mut().unwrap().close(ends.now, 0x107);
    ends.run(SECOND);
    assert_eq!((ends.client.readiness(), ends.failed), (Readiness::Closed, None));
    assert_eq!(ends.client.ended_by(), Some(QuicEnd::Application(0x107)));
    assert!(ends.complaint().contains("H3_EXCESSIVE_LOAD (0x107)"), "{}", ends.complaint());
}

#[test]
fn a_server_learns_that_the_client_has_left() {
    let mut ends = Ends::new(1, WINDOWS, "h3", 1.0);
    ends.run(SECOND);
    let mut goodbye = Vec::new();
    ends.client.advance(ends.now);
    ends.client.end(&mut goodbye);
    ends.post(&goodbye, DatagramBytes::default(), true);
    ends.run(SECOND);
    assert_eq!(ends.server_lost, Some(Lost::Application(0x100, String::new())));
}

#[test]
fn a_connection_on_which_nothing_comes_ends_after_the_idle_timeout() {
    let mut ends = Ends::new(1, Windows { idle: Some(3 * SECOND), ..WINDOWS }, "h3", 1.0);
    ends.run(2 * SECOND);
    assert_eq!(ends.client.readiness(), Readiness::Ready);
    ends.run(4 * SECOND);
    assert_eq!(ends.client.readiness(), Readiness::Closed);
    assert_eq!(ends.client.ended_by(), Some(QuicEnd::Idle));
    assert!(ends.complaint().contains("idle timeout"), "{}", ends.complaint());
}

#[test]
fn a_server_of_another_protocol_is_refused_by_name() {
    let mut ends = Ends::new(1, WINDOWS, "hq-interop", 1.0);
    ends.run(SECOND);
    assert_eq!(ends.failed, Some(Malformed::Protection));
    assert!(ends.complaint().contains("version of HTTP"), "{}", ends.complaint());
}

#[test]
fn a_second_connection_resumes_the_session_where_that_is_asked_for() {
    for (full_handshakes, is_resumed) in [(0.0, true), (1.0, false)] {
        let mut ends = Ends::new(1, WINDOWS, "h3", full_handshakes);
        ends.run(SECOND);
        assert!(!ends.client.agreement().unwrap().is_resumed);
        ends.client.advance(ends.now);
        ends.client.open();
        ends.run(SECOND);
        let agreement = ends.client.agreement().unwrap();
        assert_eq!((agreement.is_offered, agreement.is_resumed), (is_resumed, is_resumed));
        ends.ask(0, &request(0));
        ends.run(SECOND);
        assert_eq!(ends.statuses(), [(0, 200, 2)]);
    }
}

#[test]
fn certificates_longer_than_three_times_the_first_datagram_cost_a_round_trip() {
    // RFC 9000 §8.1: three times what has come from an address, before that has answered. The first flight is 1,200 bytes.
    for names in [1, 40, 80, 200] {
        let mut ends = Ends::with_names(1, WINDOWS, "h3", 1.0, names);
        ends.run(SECOND);
        let handshake = ends.client.take_http3_counts().unwrap().handshake.unwrap();
        let round_trips = if handshake.certificate_bytes > 3 * 1200 { 2 } else { 1 };
        assert_eq!(handshake.length, round_trips * 2 * WAY, "{handshake:?}");
        assert_eq!(handshake.certificate_bytes > 3 * 1200, names >= 80, "{handshake:?}");
    }
}

#[test]
fn a_request_that_leaves_with_the_first_datagrams_is_answered_after_one_round_trip() {
    let mut ends = Ends::again(3);
    ends.open(3);
    assert_eq!(ends.client.readiness(), Readiness::Handshaking);
    ends.run(2 * WAY);
    assert_eq!(ends.statuses(), [(0, 200, 2), (1, 200, 2), (2, 200, 2)]);
    let handshake = ends.client.take_http3_counts().unwrap().handshake.unwrap();
    assert_eq!((handshake.kind, handshake.length), (QuicHandshakeKind::EarlyAccepted, 2 * WAY));
    // What is asked now goes its way as ever.
    assert!(!ends.client.begins_early());
    ends.ask(0, &request(0));
    ends.run(2 * WAY);
    assert_eq!(ends.statuses().len(), 4);
}

#[test]
fn a_connection_on_which_nothing_was_due_early_is_a_resumed_one() {
    let mut ends = Ends::again(1);
    ends.open(0);
    assert!(ends.client.begins_early());
    ends.run(SECOND);
    assert_eq!(ends.kind(), QuicHandshakeKind::Resumed);
    ends.ask(0, &request(0));
    ends.run(SECOND);
    assert_eq!(ends.statuses(), [(0, 200, 2)]);
}

#[test]
fn early_requests_that_the_server_does_not_take_are_sent_again_behind_the_handshake() {
    let mut ends = Ends::again(2);
    ends.take_nothing_early(&WINDOWS);
    ends.open(2);
    ends.run(2 * WAY);
    assert_eq!((ends.statuses(), ends.received.len()), (vec![], 0));
    ends.run(2 * WAY);
    assert_eq!(ends.statuses(), [(0, 200, 2), (1, 200, 2)]);
    assert_eq!(ends.received.len(), 2, "the server has seen each of them once");
    assert_eq!(ends.kind(), QuicHandshakeKind::EarlyRejected);
}

#[test]
fn early_requests_that_are_sent_again_wait_for_streams_that_the_server_does_not_allow_yet() {
    let mut ends = Ends::again(4);
    ends.take_nothing_early(&Windows { requests: 1, ..WINDOWS });
    ends.open(4);
    ends.run(2 * WAY);
    // One that waits for its stream ends without one.
    assert!(ends.client.cancel(2));
    ends.run(SECOND);
    assert_eq!(ends.statuses(), [(0, 200, 2), (1, 200, 2), (3, 200, 2)]);
    assert_eq!(ends.received.len(), 3);
    assert_eq!(ends.failed, None);
}

#[test]
fn an_early_request_that_ends_before_the_handshake_is_over_is_not_sent_again() {
    for is_taken in [true, false] {
        let mut ends = Ends::again(2);
        if !is_taken {
            ends.take_nothing_early(&WINDOWS);
        }
        ends.open(2);
        assert!(ends.client.cancel(0));
        ends.run(SECOND);
        assert_eq!((ends.statuses(), ends.failed), (vec![(1, 200, 2)], None), "{is_taken}");
    }
}

#[test]
fn whichever_datagram_is_lost_an_early_request_is_answered_once() {
    for is_taken in [true, false] {
        let again = |lost: Vec<usize>| {
            let mut ends = Ends::again(1);
            if !is_taken {
                ends.take_nothing_early(&WINDOWS);
            }
            ends.lost = lost;
            ends.open(1);
            ends.run(5 * SECOND);
            assert_eq!((ends.statuses(), ends.failed), (vec![(0, 200, 2)], None), "{:?}", ends.lost);
            ends.sent
        };
        let undisturbed = again(vec![]);
        assert!(undisturbed >= 4, "{undisturbed}");
        for lost in 0..undisturbed {
            again(vec![lost]);
        }
    }
}

#[test]
fn a_handshake_that_the_server_has_begin_again_takes_a_further_round_trip_and_is_one_of_a_class_of_its_kind()
{
    let mut ends = Ends::new(1, WINDOWS, "h3", 0.0);
    ends.retries = true;
    ends.run(SECOND);
    let handshake = ends.client.take_http3_counts().unwrap().handshake.unwrap();
    assert_eq!((handshake.kind, handshake.length), (QuicHandshakeKind::AfterRetry, 4 * WAY));
    ends.ask(0, &request(0));
    ends.run(SECOND);
    // An early request goes with the second attempt, too.
    ends.open(1);
    ends.run(4 * WAY);
    assert_eq!((ends.statuses().len(), ends.received.len()), (2, 2));
    assert_eq!(ends.kind(), QuicHandshakeKind::AfterRetry);
}
