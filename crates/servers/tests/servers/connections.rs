//! How long connections last, and how much they may ask at once.

use std::io::{ErrorKind, Read, Write};
use std::time::Duration;

use crate::folder::{LARGE, bytes_of};
use crate::process::{KINDS, Server, eventually};

const GET: &str = "GET /a.txt HTTP/1.1\r\nHost: a\r\n\r\n";
/// So long that no client is late with its request, even on a busy machine.
const IDLE_S: &str = "0.5";
const KINDS_THAT_KEEP: [&str; 2] = ["persistent", "pipelined"];

#[test]
fn a_kept_connection_carries_any_number_of_requests() {
    for kind in KINDS_THAT_KEEP {
        let server = Server::start(kind, &[]);
        let mut client = server.connect();
        for _ in 0..1000 {
            client.stream.write_all(GET.as_bytes()).unwrap();
            assert_eq!(client.next(false).field("Connection"), Some("keep-alive"), "{kind}");
        }
        assert_eq!(server.children().len(), 1, "{kind}");
    }
}

#[test]
fn a_silent_client_is_closed_after_the_timeout_and_not_before() {
    for kind in KINDS_THAT_KEEP {
        let soon = Server::start(kind, &["--idle-timeout-s", IDLE_S]);
        let mut client = soon.send(GET);
        client.next(false);
        assert!(client.is_at_end(), "{kind}");

        let late = Server::start(kind, &["--idle-timeout-s", "3600"]);
        let mut client = late.send(GET);
        client.next(false);
        client.stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        assert_eq!(client.stream.read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock, "{kind}");
    }
}

#[test]
fn a_client_that_never_completes_its_request_is_closed_without_an_answer() {
    for kind in KINDS {
        let server = Server::start(kind, &["--idle-timeout-s", IDLE_S]);
        let requests = ["", "GET /a.t", "GET /a.txt HTTP/1.1\r\nHost: a\r\n"];
        for (mut client, request) in requests.map(|request| (server.send(request), request)) {
            assert!(client.is_at_end(), "{kind}: {request:?}");
        }
    }
}

#[test]
fn a_client_that_takes_nothing_is_closed() {
    // More than the sockets of both sides hold.
    let requests = format!("GET /{LARGE} HTTP/1.1\r\nHost: a\r\n\r\n").repeat(100);
    for kind in KINDS_THAT_KEEP {
        let server = Server::start(kind, &["--idle-timeout-s", IDLE_S]);
        let mut client = server.send(&requests);
        client.stream.read_exact(&mut [0]).unwrap();
        eventually("the client's process ends", || server.children().is_empty());
        // What was on its way arrives, and then the end.
        let received_bytes = std::io::copy(&mut client.stream, &mut std::io::sink()).unwrap();
        assert!(received_bytes < 100 * bytes_of(LARGE).len() as u64, "{kind}");
    }
}

#[test]
fn a_head_that_fits_in_the_buffer_is_answered_and_a_longer_one_is_refused() {
    for kind in KINDS {
        let server = Server::start(kind, &["--buffer-bytes", "300"]);
        let status_of_field = |field_bytes: usize| {
            let start = "GET /a.txt HTTP/1.1\r\nHost: a\r\nX: ";
            let end = "\r\n\r\n";
            let request = format!("{start}{}{end}", "x".repeat(field_bytes - start.len() - end.len()));
            server.send(request).next(false).status
        };
        assert_eq!(status_of_field(300), 200, "{kind}");
        assert_eq!(status_of_field(301), 431, "{kind}");
        let long_target = format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "x".repeat(400));
        assert_eq!(server.send(long_target).next(false).status, 414, "{kind}");
        let only_line_ends = "\r\n".repeat(150);
        assert_eq!(server.send(only_line_ends).next(false).status, 431, "{kind}");
    }
}

#[test]
fn a_hundred_fields_are_read_and_more_are_refused() {
    for kind in KINDS {
        let server = Server::start(kind, &[]);
        for (fields, expected) in [(100, 200), (101, 431)] {
            let request = format!("GET /a.txt HTTP/1.1\r\nHost: a\r\n{}\r\n", "X: y\r\n".repeat(fields - 1));
            assert_eq!(server.send(request).next(false).status, expected, "{kind}: {fields}");
        }
    }
}
