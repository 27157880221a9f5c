//! HTTP/2 of `limit` as the real program, over sockets in clear text.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use loadcurve_wire::ErrorCode;
use loadcurve_wire::h2::frame::{flag, kind};

use crate::clock::timed;
use crate::folder::{LARGE, bytes_of};
use crate::frames::{Said, Sent};
use crate::process::{PATIENCE, Server};

const INITIAL_WINDOW_SIZE: u16 = 4;

fn limit(options: &[&str]) -> Server {
    Server::start("limit", &[&["--http2", "true"], options].concat())
}

/// A client of a real server.
struct Client {
    stream: TcpStream,
    said: Said,
}

impl Client {
    fn of(server: &Server, sent: &Sent) -> Self {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(&sent.0).unwrap();
        Self { stream, said: Said::default() }
    }

    /// Hears until something is so; false where the server closes before.
    fn hear_until(&mut self, mut is_so: impl FnMut(&Said) -> bool) -> bool {
        let mut buffer = vec![0; 100_000];
        while !is_so(&self.said) {
            let received = self.stream.read(&mut buffer).unwrap();
            if received == 0 {
                return false;
            }
            self.said.hear(&buffer[..received]);
        }
        true
    }

    fn hear_the_end(&mut self) {
        assert!(!self.hear_until(|_| false));
    }
}

#[test]
fn both_versions_are_spoken_on_one_port_whatever_the_split_of_the_first_bytes() {
    let server = limit(&[]);
    let mut sent = Sent::preface(&[]);
    sent.request(1, "GET", "/a.txt");
    for split in [1, 3, 23, 24, 30] {
        let mut client = Client::of(&server, &Sent(sent.0[..split].to_vec()));
        client.stream.set_nodelay(true).unwrap();
        client.stream.write_all(&sent.0[split..]).unwrap();
        assert!(client.hear_until(|said| said.ended == [1]));
        assert_eq!(client.said.streams[&1].body, b"abc");
    }
    for request in ["GET /a.txt HTTP/1.1\r\nHost: a\r\n\r\n", "PRI /a.txt HTTP/1.1\r\n\r\n"] {
        let response = server.send(request).next(false);
        assert_eq!(response.status, if request.starts_with("GET") { 200 } else { 405 });
    }
}

#[test]
fn without_the_option_http2_is_no_version_that_is_spoken() {
    let server = Server::start("limit", &[]);
    assert_eq!(server.send(Sent::preface(&[]).0).next(false).status, 505);
}

#[test]
fn large_files_come_whole_on_several_streams_at_once() {
    let server = limit(&[]);
    let mut sent = Sent::preface(&[(INITIAL_WINDOW_SIZE, 1 << 30)]);
    sent.grow(0, 1 << 30);
    for stream in [1, 3, 5, 7] {
        sent.request(stream, "GET", &format!("/{LARGE}"));
    }
    let mut client = Client::of(&server, &sent);
    assert!(client.hear_until(|said| said.ended.len() == 4));
    assert!(client.said.streams.values().all(|stream| stream.body == bytes_of(LARGE)));
}

#[test]
fn a_client_that_reads_late_is_answered_all_the_same() {
    let server = limit(&[]);
    let mut sent = Sent::preface(&[(INITIAL_WINDOW_SIZE, 1 << 30)]);
    sent.grow(0, 1 << 30);
    let mut client = Client::of(&server, &sent);
    let requests = 900;
    for number in 0..requests {
        let mut sent = Sent::default();
        sent.request(2 * number + 1, "GET", &format!("/{LARGE}"));
        sent.frame(kind::PING, 0, 0, &[0; 8]);
        client.stream.write_all(&sent.0).unwrap();
    }
    client.stream.set_read_timeout(Some(PATIENCE)).unwrap();
    // Only a part is asked for in the end, so that the test does not take long.
    let mut sent = Sent::default();
    for number in 0..requests - 3 {
        sent.frame(kind::RST_STREAM, 0, 2 * number + 1, &[0, 0, 0, 8]);
    }
    client.stream.write_all(&sent.0).unwrap();
    assert!(client.hear_until(|said| said.ended.contains(&(2 * requests - 1))));
    assert!(client.said.streams[&(2 * requests - 1)].body == bytes_of(LARGE));
}

#[test]
fn a_delayed_answer_never_comes_before_its_time_and_delays_pass_side_by_side() {
    let server = limit(&["--delay", "100ms"]);
    let mut sent = Sent::preface(&[]);
    for stream in 0..100 {
        sent.request(2 * stream + 1, "GET", "/a.txt");
    }
    let mut client = Client::of(&server, &Sent::default());
    let (took, ()) = timed(|| {
        client.stream.write_all(&sent.0).unwrap();
        assert!(client.hear_until(|said| said.ended.len() == 100));
    });
    // One after another they would take ten seconds.
    assert!((Duration::from_millis(100)..Duration::from_secs(9)).contains(&took), "{took:?}");
}

#[test]
fn a_connection_ends_behind_its_last_request() {
    let server = limit(&["--keepalive-requests", "3"]);
    let mut sent = Sent::preface(&[]);
    for stream in [1, 3, 5, 7, 9] {
        sent.request(stream, "GET", "/a.txt");
    }
    let mut client = Client::of(&server, &sent);
    client.hear_the_end();
    assert_eq!(client.said.ended, [1, 3, 5]);
    assert_eq!(client.said.go_aways, [(5, ErrorCode::NoError.into())]);
    // The server reads on, so that what the client sends meanwhile resets nothing.
    let mut more = Sent::default();
    more.request(11, "GET", "/a.txt");
    client.stream.write_all(&more.0).unwrap();
    client.stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(client.stream.read(&mut [0; 1]).map_err(|error| error.kind()), Ok::<_, ErrorKind>(0));
}

#[test]
fn a_client_that_is_silent_for_too_long_learns_that_its_connection_ends() {
    let server = limit(&["--idle-timeout-s", "0.1"]);
    let mut sent = Sent::preface(&[]);
    sent.request(1, "GET", "/a.txt");
    let mut client = Client::of(&server, &sent);
    client.hear_the_end();
    assert_eq!(client.said.ended, [1]);
    assert_eq!(client.said.go_aways, [(1, ErrorCode::NoError.into())]);
}

#[test]
fn a_client_that_sends_nothing_more_gets_the_answers_under_way() {
    let server = limit(&["--delay", "50ms"]);
    let mut sent = Sent::preface(&[]);
    sent.request(1, "GET", "/a.txt");
    sent.frame(kind::HEADERS, flag::END_HEADERS, 3, &[0x83, 0x86, 0x84]);
    let mut client = Client::of(&server, &sent);
    client.stream.shutdown(Shutdown::Write).unwrap();
    client.hear_the_end();
    assert_eq!(client.said.streams[&1].body, b"abc");
    assert_eq!(client.said.ended, [1]);
}

#[test]
fn resets_of_a_script_concern_their_streams_and_no_connection() {
    let server = limit(&["--reset-share", "0.5", "--seed", "3"]);
    let mut sent = Sent::preface(&[]);
    for stream in 0..200 {
        sent.request(2 * stream + 1, "GET", "/a.txt");
    }
    let mut client = Client::of(&server, &sent);
    let ends = |said: &Said| {
        let resets = said.streams.values().filter(|stream| stream.reset.is_some()).count();
        (said.ended.len(), resets)
    };
    assert!(client.hear_until(|said| ends(said).0 + ends(said).1 == 200));
    let (answered, reset) = ends(&client.said);
    // Five standard deviations of 200 draws around the half are 35.
    assert!((65..=135).contains(&answered), "{answered} answered, {reset} reset");
}
