//! One look at a server, whatever it does behind its handshake.

use std::cell::Cell;
use std::io::{ErrorKind, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread::{JoinHandle, spawn};
use std::time::Duration;

use loadcurve_tls::{Client, Look, NoTls, look};
use rustls::{ServerConnection, Stream};
use server::{any_certificate, server_config};

#[allow(dead_code, reason = "other tests use the rest")]
#[path = "support/server.rs"]
mod server;

/// What a server does when both sides have agreed.
#[derive(Clone, Copy)]
enum Then {
    /// It reads up to the end.
    Listens,
    /// It sends for as long as that is possible.
    Floods,
}

/// A server of one connection; says whether it read an end of it that was no reset.
fn serve(then: Then) -> (SocketAddr, JoinHandle<bool>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let config = server_config();
    let server = spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut connection = ServerConnection::new(config).unwrap();
        while connection.is_handshaking() {
            connection.complete_io(&mut socket).unwrap();
        }
        let mut stream = Stream::new(&mut connection, &mut socket);
        match then {
            Then::Floods => {
                while stream.write_all(&[b'x'; 16 * 1024]).is_ok() {}
                false
            }
            Then::Listens => std::io::copy(&mut stream, &mut std::io::sink()).is_ok(),
        }
    });
    (address, server)
}

/// Looks, in a time of which a millisecond passes whenever somebody asks what is left of it.
fn looked(address: SocketAddr, allowed: Duration) -> Result<Look, NoTls> {
    let client = Client::new(&any_certificate(), 1, "http/1.1", false).unwrap();
    let left = Cell::new(allowed);
    let connection = TcpStream::connect(address).unwrap();
    connection.set_nonblocking(true).unwrap();
    look(connection.into(), &client, || left.replace(left.get().saturating_sub(Duration::from_millis(1))))
}

#[test]
fn a_server_that_says_nothing_more_is_left_without_a_reset() {
    let (address, server) = serve(Then::Listens);
    let shown = looked(address, Duration::from_secs(60)).unwrap();
    assert_eq!(shown.agreement.version, 0x0304);
    assert!(server.join().unwrap());
}

#[test]
fn a_server_that_sends_without_end_behind_its_handshake_is_left_all_the_same() {
    let (address, server) = serve(Then::Floods);
    assert!(looked(address, Duration::from_secs(60)).is_ok());
    server.join().unwrap();
}

#[test]
fn a_server_that_does_not_speak_is_left_when_its_time_is_over() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let Err(NoTls::Refused(text)) = looked(listener.local_addr().unwrap(), Duration::from_millis(5)) else {
        panic!("nobody has answered")
    };
    assert!(text.contains("did not answer the TLS handshake within the timeout"), "{text}");
    // It accepts connections, so the kernel has made one for it.
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_ok());
    assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
}
