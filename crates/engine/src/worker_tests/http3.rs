//! Loads over HTTP/3, on both ends of QUIC in memory, against what arithmetic and the theory of queues give.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use loadcurve_certificates::{Kind, make};
use loadcurve_plan::{Arrivals, Conversation, HttpLoad, HttpVersion, Model, Nanos, Rate, Stop, Tls, Verify};
use loadcurve_quic::connection::{
    Arrival, Connection, Direction, Event, Lost, ReadTo, Socket, Then, Welcome, Windows,
};
use loadcurve_quic::{Http3, Settings};
use loadcurve_record::{Failure, TimeHistogram};
use loadcurve_tls::Client;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::md1::{poisson_arrivals, waits};
use super::peer::{self, Delays, Outcome, Peer};
use super::simulated::START;
use super::{
    STALLS, assert_latency_shows, assert_latency_shows_unsent, closed, ms, open, plan, stalling, taking,
};
use crate::clock;
use crate::io::Slot;
use crate::requests::RequestSource;
use violations::Violation;

mod early_data;
mod shared_socket;
mod violations;

/// Of the random choices of the server's QUIC.
const SEED: [u8; 32] = [7; 32];
/// HEADERS with `:status: 200` from the static table.
const ANSWER: &[u8] = &[1, 3, 0, 0, 0xd9];
/// DATA of 2,000 bytes, where the first datagrams have 1,200.
const LONG_BODY: [u8; 2_003] = {
    let mut frame = [0; 2_003];
    (frame[1], frame[2]) = (0x47, 0xd0);
    frame
};
/// The type of a control stream, and empty SETTINGS.
const CONTROL: &[u8] = &[0, 4, 0];
const FROM: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 50_000);
const WINDOWS: Windows = Windows {
    stream_bytes: 1 << 20,
    connection_bytes: 1 << 20,
    unacknowledged_bytes: 1 << 20,
    requests: 1000,
    idle: None,
};

/// What a server does about requests and connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Behaviour {
    /// It answers each request with status 200 and no body.
    Answers,
    /// It answers each request with status 200 and a body of more than one datagram.
    AnswersAtLength,
    /// No datagram ever comes from it.
    Silent,
    /// It ends each connection when that has begun, with a code of HTTP/3.
    Closes(u64),
    /// It gives each request up, with a code of HTTP/3.
    Resets(u64),
    /// It answers each request with these bytes first, and then with these again and again.
    Floods(&'static [u8], &'static [u8]),
    /// It announces on each connection that no request is answered.
    Leaves,
    /// It takes no connection.
    Refuses,
    /// It ends each connection before the handshake is over, for which QUIC has a separate code.
    ClosesAtOnce,
    /// It answers the first request of each connection, and forgets the connection when the second one comes, as one does that was
    /// started afresh.
    Forgets,
    /// It lets each connection end because nothing happens on it.
    Idles,
    /// It speaks no version of QUIC but one that does not exist.
    SpeaksOtherVersions,
    /// It announces with its first answer on each connection that it answers no further request.
    Retires,
    /// It breaks the rules of HTTP/3 in one way.
    Violates(&'static Violation),
}

impl Behaviour {
    /// Opens the streams of a server that has its own; false for all others.
    fn opens_its_streams(self, connection: &mut Connection) -> bool {
        let Self::Violates(violation) = self else { return false };
        violation.open_streams(connection);
        true
    }
}

/// The stream of a client's second request (RFC 9000 §2.1).
const SECOND: u64 = 4;
/// How long a connection lasts on which nothing happens.
const IDLE: Duration = Duration::from_millis(100);

/// How many times a flooding server sends again, and how much.
const FLOOD_PERIOD: Nanos = ms(1);
const FLOOD_BYTES: usize = 16 * 1024;

/// The server's end of one connection.
struct End {
    behaviour: Behaviour,
    socket: Socket,
    connection: Option<Connection>,
    /// Its control stream, once that is open.
    control: Option<u64>,
    /// When which stream is answered.
    due: BinaryHeap<Reverse<(Nanos, u64)>>,
    /// Streams on which a flood has begun.
    flooded: Vec<u64>,
    losses: Rc<RefCell<Vec<Lost>>>,
}

/// A server of HTTP/3 that goes about each request when `service` says.
struct Server<S> {
    behaviour: Behaviour,
    service: S,
    tls: Arc<rustls::ServerConfig>,
    /// How every second connection is taken, where that is another way.
    careful: Option<Welcome>,
    accepted: u64,
    windows: Windows,
    base: Instant,
    ends: BTreeMap<Slot, End>,
    /// How connections have ended for the server.
    losses: Rc<RefCell<Vec<Lost>>>,
}

fn server_tls() -> Arc<rustls::ServerConfig> {
    let made = make(Kind::Ecdsa, &["localhost".into()]).unwrap();
    let certificate = CertificateDer::from_pem_slice(made.certificate.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(made.key.as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider);
    let config = config.with_protocol_versions(&[&rustls::version::TLS13]).unwrap();
    let mut config = config.with_no_client_auth().with_single_cert(vec![certificate], key).unwrap();
    config.alpn_protocols = vec![b"h3".into()];
    config.max_early_data_size = u32::MAX;
    Arc::new(config)
}

fn open_control(connection: &mut Connection) -> u64 {
    let control = connection.open(Direction::Out).unwrap();
    connection.write(control, CONTROL, Then::More);
    control
}

fn moment(now: Nanos) -> Duration {
    Duration::from_nanos(now.0)
}

fn nanos(moment: Duration) -> Nanos {
    Nanos(u64::try_from(moment.as_nanos()).unwrap())
}

impl End {
    /// When it has something to do.
    fn wakes(&mut self) -> Option<Nanos> {
        let timer = self.connection.as_mut().and_then(Connection::deadline).map(nanos);
        let answer = self.due.peek().map(|Reverse((at, _))| *at);
        timer.into_iter().chain(answer).min()
    }

    /// Does what is possible now; gives the datagrams that leave.
    fn serve(&mut self, now: Nanos, service: &mut impl FnMut(Nanos) -> Option<Nanos>) -> Vec<Vec<u8>> {
        let Some(connection) = &mut self.connection else { return Vec::new() };
        let mut is_forgotten = false;
        while let Some(event) = connection.event() {
            match event {
                Event::Connected if self.behaviour.opens_its_streams(connection) => {}
                Event::Connected => {
                    let control = *self.control.get_or_insert_with(|| open_control(connection));
                    match self.behaviour {
                        Behaviour::Closes(code) => connection.close(moment(now), code),
                        // GOAWAY with the first request's stream.
                        Behaviour::Leaves => _ = connection.write(control, &[7, 1, 0], Then::More),
                        _ => {}
                    }
                }
                Event::Readable(stream) if self.behaviour == Behaviour::Forgets && stream == SECOND => {
                    is_forgotten = true;
                }
                Event::Readable(stream) => {
                    let read_to = connection.read(stream, &mut VecDeque::new());
                    // Streams of the client alone are never at an end.
                    if read_to == ReadTo::End
                        && let Some(done) = service(now)
                    {
                        self.due.push(Reverse((done, stream)));
                    }
                }
                // It ends with the connection what the service has begun.
                Event::Lost(lost) => {
                    self.losses.borrow_mut().push(lost);
                    self.due.clear();
                }
                Event::Writable(_) | Event::Stopped(_) | Event::Available => {}
            }
        }
        if is_forgotten {
            self.socket.forget(connection);
            self.connection = None;
            return Vec::new();
        }
        self.answer(now);
        self.connection.as_mut().map_or_else(Vec::new, |connection| leaving(connection, now))
    }

    /// Answers what is due now, as it behaves.
    fn answer(&mut self, now: Nanos) {
        let Some(connection) = &mut self.connection else { return };
        while let Some(Reverse((_, stream))) = self.due.pop_if_due(now) {
            match self.behaviour {
                Behaviour::Answers | Behaviour::Forgets => _ = connection.write(stream, ANSWER, Then::End),
                Behaviour::AnswersAtLength => {
                    connection.write(stream, ANSWER, Then::More);
                    connection.write(stream, &LONG_BODY, Then::End);
                }
                Behaviour::Retires => {
                    let control = *self.control.get_or_insert_with(|| open_control(connection));
                    // GOAWAY with the stream of the second request.
                    connection.write(control, &[7, 1, 4], Then::More);
                    connection.write(stream, ANSWER, Then::End);
                }
                Behaviour::Violates(violation) => violation.answer(connection, stream),
                Behaviour::Resets(code) => connection.abandon(stream, code),
                Behaviour::Floods(first, again) => {
                    if !self.flooded.contains(&stream) {
                        self.flooded.push(stream);
                        connection.write(stream, first, Then::More);
                    }
                    let times = FLOOD_BYTES / again.len();
                    connection.write(stream, &again.repeat(times), Then::More);
                    self.due.push(Reverse((now + FLOOD_PERIOD, stream)));
                }
                _ => {}
            }
        }
    }
}

/// The datagrams that leave.
fn leaving(connection: &mut Connection, now: Nanos) -> Vec<Vec<u8>> {
    let (mut datagrams, mut bytes) = (Vec::new(), Vec::new());
    while let Some(cut) = connection.transmit(moment(now), &mut bytes) {
        let each = cut.0.map_or(bytes.len(), std::num::NonZeroUsize::get).max(1);
        datagrams.extend(bytes.chunks(each).map(<[u8]>::to_vec));
        bytes.clear();
    }
    datagrams
}

/// The answer to a first datagram of a server that speaks no version but one that does not exist (RFC 9000 §17.2.1).
fn version_negotiation(datagram: &[u8]) -> Vec<u8> {
    let (destination, rest) = connection_id(&datagram[5..]);
    let (source, _) = connection_id(rest);
    let mut packet = vec![0x80, 0, 0, 0, 0];
    for id in [source, destination] {
        packet.push(u8::try_from(id.len()).unwrap());
        packet.extend_from_slice(id);
    }
    packet.extend_from_slice(&[0x0a, 0x1a, 0x2a, 0x3a]);
    packet
}

/// A connection's number behind its length, and what follows it.
fn connection_id(bytes: &[u8]) -> (&[u8], &[u8]) {
    bytes[1..].split_at(bytes[0].into())
}

/// Takes what is due from a heap.
trait PopIfDue {
    fn pop_if_due(&mut self, now: Nanos) -> Option<Reverse<(Nanos, u64)>>;
}

impl PopIfDue for BinaryHeap<Reverse<(Nanos, u64)>> {
    fn pop_if_due(&mut self, now: Nanos) -> Option<Reverse<(Nanos, u64)>> {
        self.peek().is_some_and(|Reverse((at, _))| *at <= now).then(|| self.pop())?
    }
}

impl<S: FnMut(Nanos) -> Option<Nanos>> Peer for Server<S> {
    fn answers(&mut self, slot: Slot, now: Nanos, bytes: &[u8]) -> Vec<(Nanos, Vec<u8>)> {
        let Self { behaviour, service, tls, careful, accepted, windows, base, ends, losses } = self;
        if *behaviour == Behaviour::Silent {
            return Vec::new();
        }
        if *behaviour == Behaviour::SpeaksOtherVersions {
            return vec![(now, version_negotiation(bytes))];
        }
        let idle = (*behaviour == Behaviour::Idles).then_some(IDLE);
        let windows = Windows { idle, ..*windows };
        let end = ends.entry(slot).or_insert_with(|| End {
            behaviour: *behaviour,
            flooded: Vec::new(),
            socket: Socket::simulated_server(&Welcome::new(Arc::clone(tls), &windows).unwrap(), *base, SEED),
            connection: None,
            control: None,
            due: BinaryHeap::new(),
            losses: Rc::clone(losses),
        });
        match end.socket.datagram(moment(now), FROM, bytes) {
            Arrival::New(incoming) if *behaviour == Behaviour::Refuses => {
                end.socket.refuse(incoming);
                return vec![(now, end.socket.reply().to_vec())];
            }
            Arrival::New(incoming) => {
                *accepted += 1;
                let is_even = accepted.is_multiple_of(2);
                let otherwise = careful.as_ref().filter(|_| is_even);
                end.connection = end.socket.accept(moment(now), incoming, otherwise);
                end.control = None;
                end.due.clear();
                end.flooded.clear();
                if *behaviour == Behaviour::ClosesAtOnce
                    && let Some(connection) = &mut end.connection
                {
                    connection.close(moment(now), 0x102);
                }
            }
            Arrival::Of(_, event) => {
                if let Some(connection) = &mut end.connection {
                    connection.arrived(&mut end.socket, event);
                }
            }
            Arrival::Answered => return vec![(now, end.socket.reply().to_vec())],
            Arrival::Dropped => {}
        }
        end.serve(now, service).into_iter().map(|datagram| (now, datagram)).collect()
    }

    fn wakes(&mut self) -> Option<Nanos> {
        self.ends.values_mut().filter_map(End::wakes).min()
    }

    fn woken(&mut self, now: Nanos) -> Vec<(Slot, Vec<u8>)> {
        let Self { service, ends, .. } = self;
        let mut leaving = Vec::new();
        for (slot, end) in ends {
            if end.wakes().is_none_or(|wakes| wakes > now) {
                continue;
            }
            if let Some(connection) = &mut end.connection
                && connection.deadline().is_some_and(|deadline| nanos(deadline) <= now)
            {
                connection.timeout(&mut end.socket, moment(now));
            }
            leaving.extend(end.serve(now, service).into_iter().map(|datagram| (*slot, datagram)));
        }
        leaving
    }
}

fn over_http3(
    plan: &HttpLoad,
    streams: usize,
    service: impl FnMut(Nanos) -> Option<Nanos> + 'static,
) -> Outcome {
    meeting(Behaviour::Answers, plan, streams, service)
}

fn meeting(
    behaviour: Behaviour,
    plan: &HttpLoad,
    streams: usize,
    service: impl FnMut(Nanos) -> Option<Nanos> + 'static,
) -> Outcome {
    meeting_server(plan, streams, server(behaviour, service))
}

fn meeting_server<S: FnMut(Nanos) -> Option<Nanos> + 'static>(
    plan: &HttpLoad,
    streams: usize,
    server: Server<S>,
) -> Outcome {
    let plan = plan.clone().with(|http| {
        http.http = HttpVersion::Http3;
        http.conversation = Conversation { streams, ..Conversation::default() };
    });
    let tls = Tls { verify: Verify::None, ..Tls::of("localhost") };
    run(&plan, &tls, server)
}

fn server<S>(behaviour: Behaviour, service: S) -> Server<S> {
    let (base, ends) = (clock::zero(), BTreeMap::new());
    let tls = server_tls();
    let losses = Rc::default();
    Server { behaviour, service, tls, careful: None, accepted: 0, windows: WINDOWS, base, ends, losses }
}

fn run<S: FnMut(Nanos) -> Option<Nanos> + 'static>(plan: &HttpLoad, tls: &Tls, server: Server<S>) -> Outcome {
    let settings = Settings::new(Client::new(tls, 4, "h3", true).unwrap(), &WINDOWS, server.base);
    let requests = RequestSource::<Http3>::open(plan).unwrap();
    peer::run_work(plan, &plan.work.conversation, requests, settings, Delays::default(), server)
}

#[test]
fn a_closed_loop_of_connections_and_streams_keeps_their_product_of_requests_under_way() {
    // 2 connections of 8 streams, 2 ms each: 16 / 0.002 s = 8,000 requests in a second, 2,000 in a quarter of one.
    let plan = HttpLoad { warmup_s: 0.1, ..closed(2, Stop::DurationS(0.25)) };
    let recorder = over_http3(&plan, 8, taking(ms(2))).recorder;
    assert_eq!(recorder.requests.answered, 2_000);
    assert_eq!(recorder.latency().extremes(), Some((ms(2), ms(2))));
    assert_eq!(recorder.service_time.extremes(), Some((ms(2), ms(2))));
}

#[test]
fn an_acknowledgement_leaves_with_the_request_that_follows() {
    // The two datagrams of an answer ask for an acknowledgement at once (RFC 9000 §13.2.2).
    let plan = closed(1, Stop::RequestsTotal(100));
    let outcome = meeting(Behaviour::AnswersAtLength, &plan, 1, taking(ms(2)));
    assert_eq!(outcome.recorder.requests.answered, 100);
    let moments: Vec<Nanos> = outcome.written.iter().map(|(moment, _)| *moment).collect();
    // Each answer but the last is followed by one datagram.
    let behind_an_answer = moments.iter().filter(|moment| **moment > ms(0) && **moment < ms(200));
    assert_eq!(behind_an_answer.count(), 99);
}

#[test]
fn stalls_show_in_the_latency_where_every_request_finds_a_stream() {
    // During the longer stall 0.3 s · 2000 per second = 600 requests wait, on 7 connections of 100 streams.
    for stalls in STALLS {
        let recorder = over_http3(&open(7, 2_000.0, Stop::DurationS(1.0)), 100, stalling(stalls)).recorder;
        assert_eq!(recorder.requests.answered, 2_000);
        assert_latency_shows(stalls, &recorder.latency());
        assert_latency_shows(stalls, &recorder.service_time);
        assert_eq!(recorder.lateness.extremes(), Some((Nanos::ZERO, Nanos::ZERO)));
    }
}

#[test]
fn stalls_show_in_the_latency_even_where_requests_wait_unsent_for_a_stream() {
    for stalls in STALLS {
        let recorder = over_http3(&open(2, 2_000.0, Stop::DurationS(1.0)), 5, stalling(stalls)).recorder;
        assert_latency_shows_unsent(stalls, &recorder, 2_000);
    }
}

#[test]
fn each_request_waits_for_those_before_it_whatever_connection_and_stream_it_has() {
    const RATE_RPS: f64 = 140.0;
    const SERVICE_TIME: Nanos = ms(5);
    const REQUESTS: u64 = 2_000;
    let mut expected = TimeHistogram::default();
    let due = poisson_arrivals(RATE_RPS, 1);
    for wait in waits(due, SERVICE_TIME).take(usize::try_from(REQUESTS).unwrap()) {
        expected.record(wait + SERVICE_TIME);
    }
    for (connections, streams) in [(1, 100), (5, 100)] {
        let model =
            Model::Open { connections, rate_rps: Rate::Constant(RATE_RPS), arrivals: Arrivals::Poisson };
        let plan = HttpLoad { seed: 1, ..plan(model, Stop::RequestsTotal(REQUESTS)) };
        let mut free_at = START;
        let one_after_the_other = move |arrival| {
            free_at = free_at.max(arrival) + SERVICE_TIME;
            Some(free_at)
        };
        let found = over_http3(&plan, streams, one_after_the_other).recorder.latency();
        assert_eq!((found.count(), found.extremes()), (REQUESTS, expected.extremes()));
        assert_eq!(found.mean_ns(), expected.mean_ns());
        assert_eq!(found.standard_deviation_ns(), expected.standard_deviation_ns());
    }
}

/// The most that any of these servers may have the client send for its requests: they end it soon.
const MOST_WRITTEN_BYTES: usize = 300_000;

#[test]
fn whatever_a_server_does_each_request_ends_in_time_and_says_how() {
    const REQUESTS: u64 = 10;
    // HEADERS of 16,383 bytes that say nothing, and of 2^61; interim responses, empty data and frames of an unknown type without
    // end; data of 2^61 bytes, of which the timeout sees no end.
    let useless_head: &[u8] = &[1, 0x7f, 0xff, 0, 0];
    let interim: &[u8] = &[1, 3, 0, 0, 0xd8];
    let huge: &[u8] = &[1, 3, 0, 0, 0xd9, 0, 0xe0, 0, 0, 0, 0, 0, 0, 0];
    let huge_head: &[u8] = &[1, 0xe0, 0, 0, 0, 0, 0, 0, 0];
    // Each with the class of its requests, and what is said of them where more is to be said.
    let cases = [
        (Behaviour::Silent, Failure::ConnectTimeout, ""),
        (Behaviour::Closes(0x100), Failure::ClosedEarly, ""),
        (
            Behaviour::Closes(0x107),
            Failure::H3ConnectionError,
            "ended the connection with H3_EXCESSIVE_LOAD (0x107)",
        ),
        (Behaviour::Closes(0x999), Failure::H3ConnectionError, "the unknown code 0x999"),
        (
            Behaviour::Resets(0x102),
            Failure::H3InternalError,
            "reset the request's stream with H3_INTERNAL_ERROR (0x102)",
        ),
        (Behaviour::Resets(0x107), Failure::H3ExcessiveLoad, "H3_EXCESSIVE_LOAD (0x107)"),
        (Behaviour::Resets(0x10b), Failure::H3RequestRejected, ""),
        (Behaviour::Resets(0x10c), Failure::H3RequestCancelled, "H3_REQUEST_CANCELLED (0x10c)"),
        (Behaviour::Resets(0x10d), Failure::H3RequestIncomplete, "H3_REQUEST_INCOMPLETE (0x10d)"),
        (Behaviour::Resets(0x10e), Failure::H3MessageError, "H3_MESSAGE_ERROR (0x10e)"),
        (Behaviour::Resets(0x101), Failure::H3StreamError, "H3_GENERAL_PROTOCOL_ERROR (0x101)"),
        (Behaviour::Resets(0x999), Failure::H3StreamError, "the unknown code 0x999"),
        (Behaviour::Floods(useless_head, b"x"), Failure::H3Fault, "cannot be decompressed"),
        (Behaviour::Floods(interim, interim), Failure::H3Fault, "(a flood)"),
        (Behaviour::Floods(ANSWER, &[0, 0]), Failure::H3Fault, "(a flood)"),
        (Behaviour::Floods(ANSWER, &[0x21, 0]), Failure::H3Fault, "(a flood)"),
        (Behaviour::Floods(huge, b"x"), Failure::Timeout, ""),
        (Behaviour::Floods(huge_head, b"x"), Failure::Malformed, "the header block is longer than"),
        (Behaviour::Leaves, Failure::H3RequestRejected, ""),
        (Behaviour::Refuses, Failure::QuicRefused, "QUIC's CONNECTION_REFUSED (0x2)"),
        (Behaviour::ClosesAtOnce, Failure::QuicError, "QUIC's APPLICATION_ERROR (0xc)"),
        (Behaviour::Idles, Failure::QuicIdleTimeout, "until the idle timeout of QUIC"),
        (Behaviour::SpeaksOtherVersions, Failure::QuicVersion, "does not speak version 1 of QUIC"),
    ];
    for (behaviour, failure, said) in cases {
        let plan = HttpLoad { timeout_s: 0.2, ..closed(1, Stop::RequestsTotal(REQUESTS)) };
        let Outcome { recorder, written } = meeting(behaviour, &plan, 2, taking(ms(1)));
        let failures = &recorder.failures;
        // The load ends where no connection can be made at all, with those that have waited for one.
        let ended = if behaviour == Behaviour::Silent { 2 } else { REQUESTS };
        assert_eq!(
            (recorder.requests.answered, failures[failure]),
            (0, ended),
            "{behaviour:?}: {failures:?}"
        );
        assert_eq!(recorder.balance(), Ok(()));
        let explanations = recorder.explanations.most_frequent(1);
        assert_eq!(explanations.is_empty(), said.is_empty(), "{behaviour:?}: {explanations:?}");
        assert!(explanations.iter().all(|one| one.text.contains(said)), "{behaviour:?}: {explanations:?}");
        let last = written.last().map(|(time, _)| *time).unwrap();
        assert!(last <= ms(200 * (REQUESTS + 1)), "{behaviour:?}: {last:?}");
        let bytes: usize = written.iter().map(|(_, bytes)| bytes.len()).sum();
        assert!(bytes <= MOST_WRITTEN_BYTES, "{behaviour:?}: {bytes}");
    }
}

#[test]
fn connections_that_could_not_be_established_are_counted_with_what_ended_them() {
    let plan = HttpLoad { timeout_s: 0.2, ..closed(1, Stop::RequestsTotal(1)) };
    let recorder = meeting(Behaviour::ClosesAtOnce, &plan, 1, taking(ms(1))).recorder;
    let [reason] = recorder.connect_failures.most_frequent(5)[..] else { panic!("{recorder:?}") };
    assert_eq!((reason.failure, reason.count), (Failure::QuicError, recorder.connections.failed));
    assert!(reason.text.contains("QUIC's APPLICATION_ERROR (0xc)"), "{reason:?}");
}

#[test]
fn requests_on_a_connection_that_the_server_no_longer_knows_fail_by_its_stateless_reset() {
    let plan = HttpLoad { timeout_s: 10.0, ..closed(1, Stop::RequestsTotal(10)) };
    let recorder = meeting(Behaviour::Forgets, &plan, 1, taking(ms(1))).recorder;
    let (answered, failed) = (recorder.requests.answered, recorder.failures[Failure::QuicStatelessReset]);
    // Of each connection one request is answered, and one is not.
    assert_eq!((answered, failed), (5, 5), "{:?}", recorder.failures);
    let explanations = recorder.explanations.most_frequent(1);
    assert!(explanations[0].text.contains("(stateless reset)"), "{explanations:?}");
    // That says more than that a connection was closed which had answered before.
    assert_eq!(recorder.disruptions.kept_connection, 0);
}
