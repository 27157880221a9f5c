//! A server for tests, on its own threads, that counts what it sees.

use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::thread::{JoinHandle, spawn};
use std::time::Duration;

use loadcurve_plan::Nanos;
use rustix::net::{AddressFamily, SocketType, sockopt};

use crate::support::{Listed, Reply, Then, clock};

/// Longer than any test takes, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks at what only the kernel knows.
const PAUSE: Duration = Duration::from_millis(5);

/// What a server has seen of a load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Connections accepted.
    pub(crate) accepted: u64,
    /// Where they came from.
    pub(crate) peers: Vec<IpAddr>,
    /// Complete requests, as method and target, in the order in which they were read.
    pub(crate) requests: Vec<String>,
    /// Bytes of their bodies.
    pub(crate) body_bytes: u64,
    /// Those of their bodies that were to be kept.
    pub(crate) bodies: Vec<Vec<u8>>,
    /// Complete answers written.
    pub(crate) answered: u64,
    /// Connections reset.
    pub(crate) resets: u64,
    /// The most that a write of a reply was behind its script.
    pub(crate) late: Nanos,
}

/// A request as a script sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    /// Its method and target.
    pub(crate) label: &'a str,
    /// Its number over all connections, from zero.
    pub(crate) number: usize,
    /// Its number on its connection, from zero.
    pub(crate) on_connection: usize,
    /// When its head was read, on the clock.
    pub(crate) arrived: Nanos,
}

type Script = dyn Fn(Asked<'_>) -> Reply + Send + Sync;

#[derive(Default)]
struct Shared {
    /// Requests of which the head was read.
    asked: AtomicUsize,
    seen: Mutex<Seen>,
    grown: Condvar,
    /// Connections that stay open without being read.
    held: Mutex<Vec<TcpStream>>,
    /// Where the connection comes from that ends the server.
    last_peer: Mutex<Option<SocketAddr>>,
}

impl Shared {
    fn count(&self, count: impl FnOnce(&mut Seen)) {
        count(&mut self.seen.lock().unwrap());
        self.grown.notify_all();
    }
}

/// A running server.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
    /// Tells the acceptor to begin.
    begin: mpsc::Sender<()>,
    acceptor: JoinHandle<()>,
}

impl Server {
    /// A server that replies to each request as the script says.
    pub(crate) fn scripted(script: impl Fn(Asked<'_>) -> Reply + Send + Sync + 'static) -> Self {
        let server = Self::idle(listener(), Some(Arc::new(script)));
        server.accept_connections();
        server
    }

    /// A server that gives every request the same reply.
    pub(crate) fn replying(reply: Reply) -> Self {
        Self::scripted(move |_| reply.clone())
    }

    /// A server that accepts connections and never reads from them.
    pub(crate) fn deaf() -> Self {
        let server = Self::idle(listener(), None);
        server.accept_connections();
        server
    }

    /// A server that accepts no connection until it is asked to. Its listen queue holds `listen_queue` of them; as long
    /// as those are there, the kernel drops the SYN of any other.
    pub(crate) fn busy(listen_queue: i32, reply: Reply) -> Self {
        let (socket, _) = bound_socket();
        // The kernel's queue holds one more than it is asked for.
        rustix::net::listen(&socket, listen_queue - 1).unwrap();
        Self::idle(TcpListener::from(socket), Some(Arc::new(move |_| reply.clone())))
    }

    fn idle(listener: TcpListener, script: Option<Arc<Script>>) -> Self {
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared::default());
        let (begin, asked_to_begin) = mpsc::channel();
        let acceptor = {
            let shared = Arc::clone(&shared);
            spawn(move || {
                asked_to_begin.recv().expect("a server is asked to accept connections before it ends");
                accept_all(&listener, &shared, script.as_ref());
            })
        };
        Self { address, shared, begin, acceptor }
    }

    /// Accepts connections from now on.
    pub(crate) fn accept_connections(&self) {
        self.begin.send(()).unwrap();
    }

    /// Returns the connections to this server, as the kernel lists those who made them, when they are as awaited.
    pub(crate) fn wait_for_connections(&self, are_as_awaited: impl Fn(&[Listed]) -> bool) -> Vec<Listed> {
        for _ in 0..PATIENCE.as_millis() / PAUSE.as_millis() {
            let listed = Listed::connections_to(self.address);
            if are_as_awaited(&listed) {
                return listed;
            }
            std::thread::park_timeout(PAUSE);
        }
        panic!("the connections are not as awaited: {:?}", Listed::connections_to(self.address));
    }

    /// Returns when this many complete requests were read.
    pub(crate) fn wait_for_requests(&self, count: usize) {
        let seen = self.shared.seen.lock().unwrap();
        let missing = |seen: &mut Seen| seen.requests.len() < count;
        let (_seen, wait) = self.shared.grown.wait_timeout_while(seen, PATIENCE, missing).unwrap();
        assert!(!wait.timed_out(), "the server waited for {count} requests in vain");
    }

    /// Ends the server after a load and returns what it has seen.
    ///
    /// Connections are accepted in the order in which they were made: the one made here is the last, so every
    /// connection of the load has been counted when it is accepted.
    pub(crate) fn finish(self) -> Seen {
        let (last, address) = bound_socket();
        *self.shared.last_peer.lock().unwrap() = Some(address);
        rustix::net::connect(&last, &self.address).unwrap();
        self.acceptor.join().unwrap();
        self.shared.seen.lock().unwrap().clone()
    }
}

/// An address that refuses connections as long as the socket lives, which is bound to it and does not listen.
pub(crate) fn refusing_address() -> (OwnedFd, SocketAddr) {
    bound_socket()
}

fn listener() -> TcpListener {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap()
}

fn bound_socket() -> (OwnedFd, SocketAddr) {
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    rustix::net::bind(&socket, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
    let address = rustix::net::getsockname(&socket).unwrap();
    (socket, address.try_into().unwrap())
}

fn accept_all(listener: &TcpListener, shared: &Arc<Shared>, script: Option<&Arc<Script>>) {
    let mut unread = Vec::new();
    let mut served = Vec::new();
    loop {
        let (stream, peer) = listener.accept().unwrap();
        if *shared.last_peer.lock().unwrap() == Some(peer) {
            break;
        }
        shared.count(|seen| {
            seen.accepted += 1;
            seen.peers.push(peer.ip());
        });
        match script {
            None => unread.push(stream),
            Some(script) => {
                let (shared, script) = (Arc::clone(shared), Arc::clone(script));
                // A connection that breaks is an end like any other; what was counted until then is kept.
                served.push(spawn(move || drop(serve(&stream, &shared, &*script))));
            }
        }
    }
    for connection in served {
        connection.join().unwrap();
    }
}

/// Serves one connection until its script or its peer ends it.
fn serve(stream: &TcpStream, shared: &Shared, script: &Script) -> io::Result<()> {
    stream.set_nodelay(true)?;
    // The kernel may wake a thread up to 50 µs late, unless it is instructed otherwise.
    rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?;
    let (mut reader, mut writer) = (BufReader::new(stream), BufWriter::new(stream));
    for on_connection in 0.. {
        let Some(head) = read_head(&mut reader)? else { break };
        let number = shared.asked.fetch_add(1, Ordering::Relaxed);
        let reply = script(Asked { label: &head.label, number, on_connection, arrived: clock::now() });
        let first = head.body_bytes.min(reply.body_bytes_first);
        let rest = head.body_bytes - first;
        let mut body = KeptBody(reply.keeps_body.then(Vec::new));
        read_exactly(&mut reader, first, &mut body)?;
        if rest > 0 {
            write(&mut writer, &reply, shared)?;
            writer.flush()?;
        }
        let is_read_whole = reply.then == Then::ReadOn || rest == 0;
        if is_read_whole {
            read_exactly(&mut reader, rest, &mut body)?;
        }
        shared.count(|seen| {
            seen.requests.push(head.label);
            seen.body_bytes += if is_read_whole { head.body_bytes } else { first };
            seen.bodies.extend(body.0);
        });
        if rest == 0 {
            write(&mut writer, &reply, shared)?;
        }
        // Answers to requests that came together leave together.
        if reader.buffer().is_empty() || reply.then != Then::ReadOn {
            writer.flush()?;
        }
        shared.count(|seen| {
            seen.answered += u64::from(reply.is_complete);
            seen.resets += u64::from(reply.then == Then::Reset);
        });
        match reply.then {
            Then::ReadOn => {}
            Then::Close => break,
            Then::Hold => {
                shared.held.lock().unwrap().push(stream.try_clone()?);
                break;
            }
            Then::Reset => {
                sockopt::set_socket_linger(stream, Some(Duration::ZERO))?;
                break;
            }
        }
    }
    Ok(())
}

struct Head {
    label: String,
    body_bytes: u64,
}

/// Reads a request up to its blank line, or nothing where the peer sends no more.
fn read_head(reader: &mut impl BufRead) -> io::Result<Option<Head>> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let label = line.trim_end().trim_end_matches(" HTTP/1.1").to_owned();
    let mut body_bytes = 0;
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        if line == "\r\n" {
            return Ok(Some(Head { label, body_bytes }));
        }
        if let Some(value) = line.strip_prefix("Content-Length: ") {
            body_bytes = value.trim_end().parse().unwrap();
        }
    }
}

/// Where the bytes of a body go.
struct KeptBody(Option<Vec<u8>>);

impl Write for KeptBody {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.as_mut().map_or(Ok(bytes.len()), |kept| kept.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn read_exactly(reader: &mut impl Read, bytes: u64, to: &mut impl Write) -> io::Result<()> {
    let read = io::copy(&mut reader.take(bytes), to)?;
    if read == bytes { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

fn write(writer: &mut impl Write, reply: &Reply, shared: &Shared) -> io::Result<()> {
    let mut at = reply.at;
    for piece in reply.bytes.chunks(reply.piece_bytes) {
        if at > clock::now() {
            writer.flush()?;
        }
        if at > Nanos::ZERO {
            let late = clock::sleep_until(at);
            shared.count(|seen| seen.late = seen.late.max(late));
            at = at + reply.pause;
        }
        writer.write_all(piece)?;
        if piece.len() < reply.bytes.len() {
            writer.flush()?;
        }
    }
    Ok(())
}
