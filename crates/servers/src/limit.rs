//! `limit`: a fixed answer at the least cost the kernel allows.
//!
//! One thread, one read and one write for all requests that came together, and no work twice: a request that equals the
//! one before, byte for byte, gets the same answer without being read again. Whatever a real server does comes on top of
//! this.

use std::convert::Infallible;
use std::io;
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;

use memchr::memmem;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, ipproto, sockopt};

use crate::content::Content;

const EVENTS_PER_WAIT: usize = 64;
const BUFFER_BYTES: usize = 64 * 1024;
/// Answers to requests that came together are written together up to about this length.
const BATCH_BYTES: usize = 64 * 1024;
/// A request header longer than this is refused.
const LONGEST_HEADER_BYTES: usize = 16 * 1024;
/// The token of the listening socket; connections have their slot's number.
const LISTENER: u64 = u64::MAX;

/// An answer, ready to be written.
#[derive(Default)]
struct Answer {
    bytes: Vec<u8>,
    close: bool,
}

struct Connection {
    descriptor: OwnedFd,
    /// The beginning of a request whose end has not arrived.
    partial: Vec<u8>,
    /// What the kernel has not taken yet of the answers.
    unsent: Vec<u8>,
    close_when_sent: bool,
}

impl Connection {
    fn new(descriptor: OwnedFd) -> Self {
        Self { descriptor, partial: Vec::new(), unsent: Vec::new(), close_when_sent: false }
    }
}

/// Goes on with a connection, or breaks off because it is to be closed.
type Step<T = ()> = ControlFlow<(), T>;

struct Server {
    content: Content,
    last_request: Vec<u8>,
    last_answer: Answer,
    /// Answers that wait to be written with the next ones.
    batch: Vec<u8>,
}

/// Serves `content` until the process is ended.
///
/// # Errors
/// When the address cannot be listened on, or the kernel refuses to wait.
pub(crate) fn serve(listen: SocketAddr, backlog: i32, content: Content) -> io::Result<Infallible> {
    let listener = listening_socket(listen, backlog)?;
    let set = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    epoll::add(&set, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
    let mut server = Server::new(content);
    let mut connections: Vec<Option<Connection>> = Vec::new();
    let mut vacant: Vec<usize> = Vec::new();
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let mut events = [MaybeUninit::uninit(); EVENTS_PER_WAIT];
        let events = match epoll::wait(&set, &mut events, None) {
            Ok((events, _)) => events,
            Err(Errno::INTR) => continue,
            Err(errno) => return Err(errno.into()),
        };
        for event in events {
            let token = event.data.u64();
            if token == LISTENER {
                accept_all(&listener, &set, &mut connections, &mut vacant);
                continue;
            }
            let Ok(slot) = usize::try_from(token) else { continue };
            let Some(connection) = &mut connections[slot] else { continue };
            if server.turn(connection, event.flags, &mut buffer).is_break() {
                connections[slot] = None;
                vacant.push(slot);
            }
        }
    }
}

fn listening_socket(listen: SocketAddr, backlog: i32) -> io::Result<OwnedFd> {
    let family = if listen.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let listener = rustix::net::socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
    sockopt::set_socket_reuseaddr(&listener, true)?;
    rustix::net::bind(&listener, &listen)?;
    rustix::net::listen(&listener, backlog)?;
    Ok(listener)
}

fn accept_all(
    listener: &OwnedFd,
    set: &OwnedFd,
    connections: &mut Vec<Option<Connection>>,
    vacant: &mut Vec<usize>,
) {
    // Any error, a lack of descriptors included, leaves the rest in the listen queue for later.
    while let Ok(descriptor) =
        rustix::net::accept_with(listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC)
    {
        let slot = vacant.pop().unwrap_or_else(|| {
            connections.push(None);
            connections.len() - 1
        });
        // Edge-triggered for both directions, so that no connection is ever registered again.
        let interest = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        let added = sockopt::set_tcp_nodelay(&descriptor, true)
            .and_then(|()| epoll::add(set, &descriptor, EventData::new_u64(slot as u64), interest));
        if added.is_err() {
            vacant.push(slot);
            continue;
        }
        connections[slot] = Some(Connection::new(descriptor));
    }
}

impl Server {
    fn new(content: Content) -> Self {
        Self { content, last_request: Vec::new(), last_answer: Answer::default(), batch: Vec::new() }
    }

    /// Everything that can be done with a connection that is ready.
    fn turn(&mut self, connection: &mut Connection, flags: EventFlags, buffer: &mut [u8]) -> Step {
        if flags.contains(EventFlags::OUT) && !connection.unsent.is_empty() {
            let unsent = std::mem::take(&mut connection.unsent);
            write(connection, &unsent)?;
        }
        let is_readable =
            flags.intersects(EventFlags::IN | EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR);
        if !is_readable || connection.close_when_sent {
            return Step::Continue(());
        }
        loop {
            match rustix::net::recv(&connection.descriptor, &mut *buffer, RecvFlags::empty()) {
                Ok((0, _)) => return Step::Break(()),
                Ok((received, _)) => {
                    self.answer_all(connection, &buffer[..received])?;
                    if received < buffer.len() && !flags.contains(EventFlags::RDHUP) {
                        return Step::Continue(());
                    }
                }
                Err(Errno::AGAIN) => return Step::Continue(()),
                Err(Errno::INTR) => {}
                Err(_) => return Step::Break(()),
            }
        }
    }

    /// Answers every complete request of `bytes` and keeps the rest.
    fn answer_all(&mut self, connection: &mut Connection, bytes: &[u8]) -> Step {
        if connection.partial.is_empty() {
            let consumed = self.answer_from(connection, bytes)?;
            connection.partial.extend_from_slice(&bytes[consumed..]);
        } else {
            let mut joined = std::mem::take(&mut connection.partial);
            joined.extend_from_slice(bytes);
            let consumed = self.answer_from(connection, &joined)?;
            joined.drain(..consumed);
            connection.partial = joined;
        }
        if connection.partial.len() > LONGEST_HEADER_BYTES { Step::Break(()) } else { Step::Continue(()) }
    }

    /// Answers the complete requests of `bytes`, up to one that ends the connection; returns how many bytes they have.
    fn answer_from(&mut self, connection: &mut Connection, bytes: &[u8]) -> Step<usize> {
        let mut consumed = 0;
        self.batch.clear();
        while let Some(length) = self.prepare_answer(&bytes[consumed..]) {
            consumed += length;
            let answer = &self.last_answer;
            connection.close_when_sent |= answer.close;
            let is_last = consumed == bytes.len() || answer.close;
            // What is written at once anyway need not be copied.
            if self.batch.is_empty() && (is_last || answer.bytes.len() >= BATCH_BYTES) {
                write(connection, &answer.bytes)?;
            } else {
                self.batch.extend_from_slice(&answer.bytes);
                if is_last || self.batch.len() >= BATCH_BYTES {
                    write(connection, &self.batch)?;
                    self.batch.clear();
                }
            }
            if answer.close {
                return Step::Continue(bytes.len());
            }
        }
        if !self.batch.is_empty() {
            write(connection, &self.batch)?;
        }
        Step::Continue(consumed)
    }

    /// Makes `last_answer` the answer to the first request of `bytes`; returns that request's length if it is whole.
    fn prepare_answer(&mut self, bytes: &[u8]) -> Option<usize> {
        if !self.last_request.is_empty() && bytes.starts_with(&self.last_request) {
            return Some(self.last_request.len());
        }
        let length = memmem::find(bytes, b"\r\n\r\n")? + 4;
        self.last_answer = answer_to(&bytes[..length], &self.content);
        self.last_request = bytes[..length].to_vec();
        Some(length)
    }
}

/// Writes bytes behind whatever the connection still has to send.
fn write(connection: &mut Connection, bytes: &[u8]) -> Step {
    let taken = if connection.unsent.is_empty() {
        match rustix::net::send(&connection.descriptor, bytes, SendFlags::NOSIGNAL) {
            Ok(taken) => taken,
            Err(Errno::AGAIN | Errno::INTR) => 0,
            Err(_) => return Step::Break(()),
        }
    } else {
        0
    };
    connection.unsent.extend_from_slice(&bytes[taken..]);
    let is_done = connection.close_when_sent && connection.unsent.is_empty();
    if is_done { Step::Break(()) } else { Step::Continue(()) }
}

/// The answer to one request header.
fn answer_to(request: &[u8], content: &Content) -> Answer {
    let text = String::from_utf8_lossy(request);
    let mut lines = text.split("\r\n");
    let mut parts = lines.next().unwrap_or_default().split(' ');
    let (Some(method), Some(target), Some(version), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return plain_answer("400 Bad Request", true);
    };
    let wants = |wish: &str| {
        lines.clone().filter_map(|line| line.split_once(':')).any(|(name, value)| {
            name.eq_ignore_ascii_case("connection") && value.trim().eq_ignore_ascii_case(wish)
        })
    };
    let persists_by_default = match version {
        "HTTP/1.1" => true,
        "HTTP/1.0" => false,
        _ => return plain_answer("505 HTTP Version Not Supported", true),
    };
    let close = if persists_by_default { wants("close") } else { !wants("keep-alive") };
    if !matches!(method, "GET" | "HEAD") {
        // A body may follow, which this server does not read.
        return plain_answer("405 Method Not Allowed", true);
    }
    let path = target.split_once('?').map_or(target, |(path, _)| path);
    let Some(body) = content.get(path) else { return plain_answer("404 Not Found", close) };
    // The answer is of HTTP/1.1, which persists unless it says otherwise; an HTTP/1.0 client wants to be told that.
    let connection = match (persists_by_default, close) {
        (_, true) => "Connection: close\r\n",
        (false, false) => "Connection: keep-alive\r\n",
        (true, false) => "",
    };
    let mut bytes =
        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n{connection}\r\n", body.len()).into_bytes();
    if method == "GET" {
        bytes.extend_from_slice(body);
    }
    Answer { bytes, close }
}

fn plain_answer(status: &str, close: bool) -> Answer {
    let connection = if close { "Connection: close\r\n" } else { "" };
    Answer {
        bytes: format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n{connection}\r\n").into_bytes(),
        close,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    use super::{BATCH_BYTES, Connection, Server, Step, answer_to};
    use crate::content::Content;

    fn answer(request: &str) -> (String, bool) {
        let content = Content::from([("/a.txt".into(), b"abc".to_vec())]);
        let answer = answer_to(request.as_bytes(), &content);
        (String::from_utf8(answer.bytes).unwrap(), answer.close)
    }

    #[test]
    fn a_file_is_answered_with_its_length_and_its_bytes() {
        let expected = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc";
        assert_eq!(answer("GET /a.txt HTTP/1.1\r\nHost: a\r\n\r\n"), (expected.into(), false));
        assert_eq!(answer("GET /a.txt?b=c HTTP/1.1\r\nHost: a\r\n\r\n"), (expected.into(), false));
    }

    #[test]
    fn the_answer_to_head_has_the_length_and_no_body() {
        let expected = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n";
        assert_eq!(answer("HEAD /a.txt HTTP/1.1\r\nHost: a\r\n\r\n"), (expected.into(), false));
    }

    #[test]
    fn a_connection_is_kept_or_closed_as_the_version_and_the_client_say() {
        let closes = |request: &str| answer(request).1;
        assert!(!closes("GET /a.txt HTTP/1.1\r\n\r\n"));
        assert!(closes("GET /a.txt HTTP/1.1\r\nConnection: close\r\n\r\n"));
        assert!(closes("GET /a.txt HTTP/1.0\r\n\r\n"));
        assert!(answer("GET /a.txt HTTP/1.0\r\n\r\n").0.contains("Connection: close"));
        assert!(!closes("GET /a.txt HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"));
        assert!(
            answer("GET /a.txt HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n")
                .0
                .contains("Connection: keep-alive")
        );
    }

    #[test]
    fn what_is_not_served_gets_its_status() {
        let status = |request: &str| answer(request).0[9..12].to_owned();
        assert_eq!(status("GET /b.txt HTTP/1.1\r\n\r\n"), "404");
        assert_eq!(status("GET /../a.txt HTTP/1.1\r\n\r\n"), "404");
        assert_eq!(status("POST /a.txt HTTP/1.1\r\n\r\n"), "405");
        assert_eq!(status("GET /a.txt HTTP/3.0\r\n\r\n"), "505");
        assert_eq!(status("rubbish\r\n\r\n"), "400");
    }

    /// What a client reads after it has sent `pieces`, and whether the server goes on with the connection.
    fn conversation(body_bytes: usize, pieces: &[&[u8]]) -> (Vec<u8>, Step) {
        let content = Content::from([("/a".into(), vec![b'x'; body_bytes])]);
        let (mut client, server) = UnixStream::pair().unwrap();
        let mut connection = Connection::new(server.into());
        let mut server = Server::new(content);
        let step = pieces.iter().try_for_each(|piece| server.answer_all(&mut connection, piece));
        assert_eq!(connection.unsent.len(), 0, "the socket took everything");
        drop(connection);
        let mut answers = Vec::new();
        client.read_to_end(&mut answers).unwrap();
        (answers, step)
    }

    #[test]
    fn requests_that_come_together_are_each_answered_in_order_whatever_the_split() {
        let burst = b"GET /a HTTP/1.1\r\n\r\nHEAD /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\n\r\n".repeat(5);
        let one = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nxxxHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n\
                   HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
        for split in 0..=burst.len() {
            let (left, right) = burst.split_at(split);
            assert_eq!(
                conversation(3, &[left, right]),
                (one.repeat(5).into_bytes(), Step::Continue(())),
                "{split}"
            );
        }
    }

    #[test]
    fn long_answers_in_a_burst_come_whole() {
        let (answers, _) = conversation(BATCH_BYTES / 2, &[&b"GET /a HTTP/1.1\r\n\r\n".repeat(3)]);
        assert_eq!(String::from_utf8(answers).unwrap().matches('x').count(), 3 * BATCH_BYTES / 2);
    }

    #[test]
    fn nothing_behind_the_last_request_of_a_connection_is_answered() {
        let closing = b"GET /b HTTP/1.1\r\n\r\nGET /a HTTP/1.0\r\n\r\nGET /b HTTP/1.1\r\n\r\n";
        let (answers, step) = conversation(3, &[closing]);
        assert_eq!(step, Step::Break(()));
        assert!(answers.ends_with(b"Connection: close\r\n\r\nxxx"));
    }
}
