//! Connections that share a real socket, to a server at another one.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use loadcurve_plan::{Conversation, HttpLoad, HttpVersion, Share, Sockets, Stop, Tls, Verify};
use loadcurve_quic::connection::{Arrival, Connection, Event, ReadTo, Socket, Then, Welcome};
use loadcurve_quic::{Http3, Settings};
use loadcurve_record::{Failure, Recorder};
use loadcurve_tls::Client;

use super::super::closed;
use super::{ANSWER, SECOND, SEED, WINDOWS, leaving, nanos, open_control, server_tls};
use crate::clock;
use crate::io::route::Route;
use crate::io::udp::Udp;
use crate::requests::RequestSource;
use crate::scheduler::Scheduler;
use crate::transport::numbers;
use crate::worker::{Waiting, Worker, WorkerConfiguration};

/// A server that answers each request, but for the second one of the first connection, which it has forgotten by then where it forgets.
struct Answering {
    socket: UdpSocket,
    quic: Socket,
    forgets: bool,
    connections: HashMap<usize, Connection>,
    /// From where datagrams have come.
    heard: BTreeSet<SocketAddr>,
}

impl Answering {
    fn new(socket: UdpSocket, forgets: bool) -> Self {
        socket.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        let welcome = Welcome::new(server_tls(), &WINDOWS).unwrap();
        let quic = Socket::simulated_server(&welcome, clock::zero(), SEED);
        Self { socket, quic, forgets, connections: HashMap::new(), heard: BTreeSet::new() }
    }

    /// Serves until the load is over; gives from how many sockets that came.
    fn serve(mut self, is_over: &AtomicBool) -> usize {
        let mut buffer = [0; 2_000];
        while !is_over.load(Ordering::Relaxed) {
            match self.socket.recv_from(&mut buffer) {
                Ok((length, from)) => self.heard(from, &buffer[..length]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => panic!("{error}"),
            }
            self.go_on();
        }
        self.heard.len()
    }

    fn heard(&mut self, from: SocketAddr, bytes: &[u8]) {
        self.heard.insert(from);
        let now = clock::now().into();
        match self.quic.datagram(now, from, bytes) {
            Arrival::New(incoming) => {
                let connection = self.quic.accept(now, incoming, None).unwrap();
                self.connections.insert(connection.handle().into(), connection);
            }
            Arrival::Of(handle, event) => {
                if let Some(connection) = self.connections.get_mut(&handle.into()) {
                    connection.arrived(&mut self.quic, event);
                }
            }
            Arrival::Answered => _ = self.socket.send_to(self.quic.reply(), from).unwrap(),
            Arrival::Dropped => {}
        }
    }

    fn go_on(&mut self) {
        let now = clock::now();
        let mut forgotten = None;
        for (handle, connection) in &mut self.connections {
            if connection.deadline().is_some_and(|deadline| nanos(deadline) <= now) {
                connection.timeout(&mut self.quic, now.into());
            }
            while let Some(event) = connection.event() {
                match event {
                    Event::Connected => _ = open_control(connection),
                    Event::Readable(SECOND) if self.forgets && *handle == 0 => forgotten = Some(*handle),
                    Event::Readable(stream)
                        if connection.read(stream, &mut VecDeque::new()) == ReadTo::End =>
                    {
                        connection.write(stream, ANSWER, Then::End);
                    }
                    _ => {}
                }
            }
            for datagram in leaving(connection, now) {
                self.socket.send_to(&datagram, connection.peer()).unwrap();
            }
        }
        if let Some(connection) = forgotten.and_then(|handle| self.connections.remove(&handle)) {
            self.quic.forget(&connection);
            self.forgets = false;
        }
    }
}

/// Runs a closed loop of this many connections, and gives from how many sockets the server was asked.
fn run(connections: usize, requests: u64, forgets: bool) -> (Recorder, usize) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let server: JoinHandle<usize> = {
        let is_over = Arc::clone(&is_over);
        thread::spawn(move || Answering::new(socket, forgets).serve(&is_over))
    };
    let plan = HttpLoad { timeout_s: 30.0, ..closed(connections, Stop::RequestsTotal(requests)) };
    let plan = plan.with(|http| {
        (http.http, http.sockets) = (HttpVersion::Http3, Sockets::Thread);
        http.conversation = Conversation { streams: 2, ..Conversation::default() };
    });
    let tls = Tls { verify: Verify::None, ..Tls::of("localhost") };
    let client = Client::new(&tls, 4, "h3", true).unwrap();
    let settings = Settings::new(client, &WINDOWS, clock::zero()).sharing_sockets();
    let (share, work) = (Share::whole(), RequestSource::<Http3>::open(&plan).unwrap());
    let configuration =
        WorkerConfiguration::new(&plan, &plan.work.conversation, share, work, settings, Waiting::Sleeping);
    let io = Udp::new(Route::to(address), connections, plan.work.sockets).unwrap();
    let mut worker = Worker::new(io, numbers(&plan, share), configuration);
    worker.open_all(|| false);
    let mut scheduler = Scheduler::new(&plan.pace(), share, clock::now()).unwrap();
    worker.run(&mut scheduler, || false, |_| {});
    let (recorder, _) = worker.finish(&scheduler);
    is_over.store(true, Ordering::Relaxed);
    (recorder, server.join().unwrap())
}

#[test]
fn all_requests_of_connections_that_share_a_socket_are_answered() {
    let (recorder, sockets) = run(5, 200, false);
    assert_eq!((recorder.requests.answered, recorder.connections.opened, sockets), (200, 5, 1));
    let datagrams = &recorder.quic.datagrams;
    assert_eq!((datagrams.sockets, datagrams.dropped, datagrams.unattributed), (1, 0, 0));
    // What one connection after the other has counted is what went through the socket.
    assert_eq!(datagrams.sent, recorder.quic.datagrams_sent);
    assert_eq!(datagrams.received, recorder.quic.datagrams_received);
    assert_eq!(recorder.balance(), Ok(()));
}

#[test]
fn a_stateless_reset_ends_the_one_connection_of_a_shared_socket_that_the_server_has_forgotten() {
    let (recorder, sockets) = run(3, 60, true);
    // Two were under way on it at most.
    let failed = recorder.failures[Failure::QuicStatelessReset];
    assert!((1..=2).contains(&failed), "{:?}", recorder.failures);
    assert_eq!((recorder.requests.answered, recorder.quic.ends.stateless_resets), (60 - failed, 1));
    assert_eq!((recorder.connections.opened, sockets), (4, 1));
    assert_eq!(recorder.balance(), Ok(()));
}
