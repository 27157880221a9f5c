//! Ways to a server other than straight to one address: Unix sockets, several addresses, and what comes first on connections.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use loadcurve_plan::{Destination, Http, HttpLoad, Model, ProxyProtocol, Stop, Tls};
use loadcurve_record::Failure;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};

use super::{Backend, PATIENCE, SHORT, Taken, await_event, listener, next};
use crate::clock;
use crate::io::Notify;
use crate::io::route::Route;
use crate::worker_tests;

/// A path at which a socket can be bound; nothing is left there.
struct SocketPath(PathBuf);

impl SocketPath {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        Self(std::env::temp_dir().join(format!("loadcurve-{}-{number}.sock", std::process::id())))
    }
}

impl Drop for SocketPath {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// A backend for a load that differs from others by `change`.
fn along<I: Backend>(slots: usize, change: impl FnOnce(&mut Http)) -> I {
    let plan: HttpLoad =
        worker_tests::plan(Model::Closed { connections: slots }, Stop::DurationS(1.0)).with(change);
    I::along(Route::of(&plan, 0, 1).unwrap(), slots).unwrap()
}

fn local<I: Backend>(path: &SocketPath) -> I {
    along(1, |http| http.address = Destination::Unix(path.0.clone()))
}

fn patient(peer: UnixStream) -> UnixStream {
    peer.set_read_timeout(Some(Duration::from_nanos(PATIENCE.0))).unwrap();
    peer
}

pub(super) fn bytes_travel_over_a_unix_socket_in_both_directions<I: Backend>() {
    let path = SocketPath::new();
    let listener = UnixListener::bind(&path.0).unwrap();
    let mut io: I = local(&path);
    for _ in 0..2 {
        io.connect(0).unwrap();
        assert_eq!(await_event(&mut io), (0, Taken::Connected));
        let mut peer = patient(listener.accept().unwrap().0);
        io.send(0, b"asked", Notify::Never).unwrap();
        io.wait(clock::now());
        let mut asked = [0; 5];
        peer.read_exact(&mut asked).unwrap();
        assert_eq!(&asked, b"asked");
        peer.write_all(b"answered").unwrap();
        assert_eq!(await_event(&mut io), (0, Taken::Received(b"answered".into())));
        assert_eq!(io.retransmits(0), None, "nothing is sent again by what is no network");
        drop(peer);
        assert_eq!(await_event(&mut io), (0, Taken::Closed));
        io.close(0);
    }
}

pub(super) fn a_path_at_which_nobody_listens_refuses<I: Backend>() {
    let path = SocketPath::new();
    let mut io: I = local(&path);
    assert_eq!(io.connect(0), Err(Failure::ConnectRefused), "there is no such file");
    drop(UnixListener::bind(&path.0).unwrap());
    assert_eq!(io.connect(0), Err(Failure::ConnectRefused), "its server has ended");
}

/// A Unix socket whose queue is full until its one connection, which is also returned, is accepted.
fn full_socket(path: &SocketPath) -> (UnixListener, UnixStream) {
    let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
    rustix::net::bind(&socket, &SocketAddrUnix::new(&*path.0).unwrap()).unwrap();
    // A queue of length 0 holds one connection.
    rustix::net::listen(&socket, 0).unwrap();
    (socket.into(), UnixStream::connect(&path.0).unwrap())
}

pub(super) fn a_connection_waits_for_room_in_the_queue_of_a_unix_socket<I: Backend>() {
    let path = SocketPath::new();
    let (listener, _first) = full_socket(&path);
    let mut io: I = local(&path);
    for looks in [false, true] {
        io.connect(0).unwrap();
        io.wait(clock::now() + SHORT);
        assert_eq!(next(&mut io), None);
        let accepted = listener.accept().unwrap();
        if looks {
            io.look(clock::now() + PATIENCE, loadcurve_plan::Nanos::ZERO);
        }
        assert_eq!(await_event(&mut io), (0, Taken::Connected));
        // It is the one that fills the queue now.
        drop(accepted);
        io.close(0);
    }
}

pub(super) fn one_that_waits_is_refused_when_the_server_ends<I: Backend>() {
    let path = SocketPath::new();
    let (listener, _first) = full_socket(&path);
    let mut io: I = local(&path);
    io.connect(0).unwrap();
    io.wait(clock::now() + SHORT);
    drop(listener);
    assert_eq!(await_event(&mut io), (0, Taken::ConnectFailed(Failure::ConnectRefused)));
    io.close(0);
    // One that is closed while it waits is heard of no more.
    let path = SocketPath::new();
    let (listener, _first) = full_socket(&path);
    let mut io: I = local(&path);
    io.connect(0).unwrap();
    io.close(0);
    listener.accept().unwrap();
    io.wait(clock::now() + SHORT);
    assert_eq!(next(&mut io), None);
}

fn accepted(listener: &std::net::TcpListener) -> (TcpStream, SocketAddr) {
    let (peer, from) = listener.accept().unwrap();
    peer.set_read_timeout(Some(Duration::from_nanos(PATIENCE.0))).unwrap();
    (peer, from)
}

pub(super) fn connections_go_to_several_addresses_in_turn<I: Backend>() {
    let (one, other) = (listener(), listener());
    let mut io: I = along(4, |http| {
        http.address = one.1.into();
        http.way.other_addresses = vec![other.1];
    });
    let mut peers = Vec::new();
    for slot in 0..4 {
        io.connect(slot).unwrap();
        assert_eq!(await_event(&mut io), (slot, Taken::Connected));
        // The other one has no connection that could be accepted.
        let (listener, idle) = if slot % 2 == 0 { (&one.0, &other.0) } else { (&other.0, &one.0) };
        peers.push(accepted(listener));
        idle.set_nonblocking(true).unwrap();
        assert!(idle.accept().is_err());
        idle.set_nonblocking(false).unwrap();
    }
}

pub(super) fn the_header_of_a_proxy_comes_first_and_names_both_ends<I: Backend>() {
    let (listener, address) = listener();
    let mut io: I = along(1, |http| {
        http.address = address.into();
        http.way.proxy_protocol = Some(ProxyProtocol::One);
    });
    io.connect(0).unwrap();
    assert_eq!(await_event(&mut io), (0, Taken::Connected));
    let (mut peer, from) = accepted(&listener);
    io.send(0, b"GET", Notify::Never).unwrap();
    io.wait(clock::now());
    let expected = format!("PROXY TCP4 127.0.0.1 127.0.0.1 {} {}\r\nGET", from.port(), address.port());
    let mut read = vec![0; expected.len()];
    peer.read_exact(&mut read).unwrap();
    assert_eq!(String::from_utf8(read), Ok(expected));

    let path = SocketPath::new();
    let listener = UnixListener::bind(&path.0).unwrap();
    let mut io: I = along(1, |http| {
        http.address = Destination::Unix(path.0.clone());
        http.way.proxy_protocol = Some(ProxyProtocol::Two);
    });
    io.connect(0).unwrap();
    assert_eq!(await_event(&mut io), (0, Taken::Connected));
    let mut header = [0; 16];
    patient(listener.accept().unwrap().0).read_exact(&mut header).unwrap();
    assert_eq!(header[12..], [0x21, 0, 0, 0], "a connection that is not of TCP has no ends to name");
}

/// A backend that asks the listener for tunnels to a host.
fn tunnelling<I: Backend>(address: SocketAddr) -> I {
    along(1, |http| {
        http.address = address.into();
        http.tls = Some(Tls::of("example.org"));
        http.way.proxied = Some("example.org:443".into());
        http.way.proxy_authorization = Some("Basic bWU6eA==".into());
    })
}

pub(super) fn a_connection_through_a_proxy_is_made_when_that_has_opened_the_tunnel<I: Backend>() {
    let (listener, address) = listener();
    let mut io: I = tunnelling(address);
    for _ in 0..2 {
        io.connect(0).unwrap();
        io.wait(clock::now() + SHORT);
        assert_eq!(next(&mut io), None, "the proxy has not answered");
        let (mut peer, _) = accepted(&listener);
        let expected = concat!(
            "CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n",
            "Proxy-Authorization: Basic bWU6eA==\r\n\r\n",
        );
        let mut read = vec![0; expected.len()];
        peer.read_exact(&mut read).unwrap();
        assert_eq!(String::from_utf8(read), Ok(expected.into()));
        peer.write_all(b"HTTP/1.1 200 OK\r\n").unwrap();
        io.wait(clock::now() + SHORT);
        assert_eq!(next(&mut io), None, "its answer is not complete");
        peer.write_all(b"\r\n").unwrap();
        assert_eq!(await_event(&mut io), (0, Taken::Connected));
        peer.write_all(b"through").unwrap();
        assert_eq!(await_event(&mut io), (0, Taken::Received(b"through".into())));
        io.close(0);
    }
}

pub(super) fn a_proxy_that_opens_no_tunnel_refuses_the_connection<I: Backend>() {
    let (listener, address) = listener();
    let mut io: I = tunnelling(address);
    for answer in [&b"HTTP/1.1 403 Forbidden\r\n\r\n"[..], b""] {
        io.connect(0).unwrap();
        io.wait(clock::now() + SHORT);
        let (mut peer, _) = accepted(&listener);
        peer.write_all(answer).unwrap();
        peer.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(await_event(&mut io), (0, Taken::ConnectFailed(Failure::ConnectRefused)));
        io.close(0);
    }
}
