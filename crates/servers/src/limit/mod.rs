//! `limit`: a fixed answer at the least cost the kernel allows, and the faults of a script where one is given.
//!
//! One thread, one read and one write for all requests that came together, and no work twice: a request that equals the
//! one before, byte for byte, gets the same answer without being read again. Whatever a real server does comes on top of
//! this. A script ([`Faults`]) makes it a server with a known fault; without one nothing of it is run.

use std::convert::Infallible;
use std::io;
use std::mem::MaybeUninit;
use std::net::SocketAddr;

use rustix::event::epoll::{self, EventFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SocketFlags};

use crate::content::Content;
use crate::listening;

use answer::Answers;
use clients::{Clients, Connection, LISTENER, Step};
pub(crate) use faults::Faults;
use script::Script;
pub(crate) use tls::Identity;
use tls::{Peer, Tls};

mod answer;
mod clients;
mod faults;
pub(crate) mod options;
mod script;
#[cfg(feature = "tls")]
mod tls;
#[cfg(not(feature = "tls"))]
#[path = "no_tls.rs"]
mod tls;

const EVENTS_PER_WAIT: usize = 64;
const BUFFER_BYTES: usize = 64 * 1024;
/// Answers to requests that came together are written together up to about this length.
const BATCH_BYTES: usize = 64 * 1024;
/// A request header longer than this is refused.
const LONGEST_HEADER_BYTES: usize = 16 * 1024;

/// Serves `content` until the process is ended: in clear text, or with an identity in TLS.
///
/// # Errors
/// When the address cannot be listened on, or the kernel refuses to wait.
pub(crate) fn serve(
    listen: SocketAddr,
    backlog: i32,
    content: Content,
    faults: Faults,
    identity: Option<Identity>,
) -> io::Result<Infallible> {
    let mut clients = Clients::new(listening::listen(listen, backlog, SocketFlags::NONBLOCK)?)?;
    let mut server = Server { identity, ..Server::new(content, Script::of(faults)) };
    if !server.script.as_ref().is_some_and(Script::accepts_slowly) {
        clients.watch_listener()?;
    }
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let mut events = [MaybeUninit::uninit(); EVENTS_PER_WAIT];
        let timeout = server.script.as_ref().and_then(Script::timeout);
        let events = match epoll::wait(&clients.set, &mut events, timeout.as_ref()) {
            Ok((events, _)) => events,
            Err(Errno::INTR) => continue,
            Err(errno) => return Err(errno.into()),
        };
        for event in events {
            if let Some(script) = &server.script {
                script.time_after_stall();
            }
            let token = event.data.u64();
            if token == LISTENER {
                while server.accept(&mut clients) {}
                continue;
            }
            clients.with_token(token, |connection| server.turn(connection, event.flags, &mut buffer));
        }
        server.keep_time(&mut clients);
    }
}

struct Server {
    answers: Answers,
    /// Answers that wait to be written with the next ones.
    batch: Vec<u8>,
    script: Option<Script>,
    /// What clients are shown where they are to speak TLS.
    identity: Option<Identity>,
    /// What was decrypted last.
    plain: Vec<u8>,
}

impl Server {
    fn new(content: Content, script: Option<Script>) -> Self {
        Self { answers: Answers::new(content), batch: Vec::new(), script, identity: None, plain: Vec::new() }
    }

    /// Accepts the next client; false when none waits.
    fn accept(&mut self, clients: &mut Clients) -> bool {
        let Some(connection) = clients.accept() else { return false };
        connection.tls = self.identity.as_ref().map(Tls::begin);
        if let Some(script) = &mut self.script {
            script.welcome(connection);
            script.keep_up_threads(clients.open());
        }
        true
    }

    /// Does what the script has for this time.
    fn keep_time(&mut self, clients: &mut Clients) {
        let Some(script) = &mut self.script else { return };
        script.keep_time(clients);
        if script.is_time_to_accept() {
            self.accept(clients);
        }
    }

    /// Everything that can be done with a connection that is ready.
    fn turn(&mut self, connection: &mut Connection, flags: EventFlags, buffer: &mut [u8]) -> Step {
        if flags.contains(EventFlags::OUT) && !connection.unsent.is_empty() {
            let unsent = std::mem::take(&mut connection.unsent);
            connection.send(&unsent)?;
        }
        let is_readable =
            flags.intersects(EventFlags::IN | EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR);
        if !is_readable {
            return Step::Continue(());
        }
        while !connection.is_ending() {
            match rustix::net::recv(&connection.descriptor, &mut *buffer, RecvFlags::empty()) {
                Ok((0, _)) => return connection.end_of_requests(),
                Ok((received, _)) => {
                    self.take_in(connection, &buffer[..received])?;
                    if received < buffer.len() && !flags.contains(EventFlags::RDHUP) {
                        return Step::Continue(());
                    }
                }
                Err(Errno::AGAIN) => return Step::Continue(()),
                Err(Errno::INTR) => {}
                Err(_) => return Step::Break(()),
            }
        }
        Step::Continue(())
    }

    /// Does what bytes of a client ask for, in clear text or encrypted.
    fn take_in(&mut self, connection: &mut Connection, bytes: &[u8]) -> Step {
        let Some(tls) = &mut connection.tls else { return self.answer_all(connection, bytes) };
        let mut plain = std::mem::take(&mut self.plain);
        plain.clear();
        let peer = tls.open(bytes, &mut plain);
        // Also where there is no request, its handshake may be to be answered.
        let step = if plain.is_empty() { connection.write(&[]) } else { self.answer_all(connection, &plain) };
        self.plain = plain;
        step?;
        match peer {
            Peer::Open => Step::Continue(()),
            Peer::Done => connection.end_of_requests(),
            Peer::Failed => Step::Break(()),
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
        if let Some(script) = &mut self.script {
            return script.answer_from(&mut self.answers, connection, bytes);
        }
        let mut consumed = 0;
        self.batch.clear();
        while let Some(length) = self.answers.prepare(&bytes[consumed..]) {
            consumed += length;
            let answer = self.answers.last();
            connection.close_when_sent |= answer.close;
            let is_last = consumed == bytes.len() || answer.close;
            // What is written at once anyway need not be copied.
            if self.batch.is_empty() && (is_last || answer.bytes.len() >= BATCH_BYTES) {
                connection.write(&answer.bytes)?;
            } else {
                self.batch.extend_from_slice(&answer.bytes);
                if is_last || self.batch.len() >= BATCH_BYTES {
                    connection.write(&self.batch)?;
                    self.batch.clear();
                }
            }
            if answer.close {
                return Step::Continue(bytes.len());
            }
        }
        if !self.batch.is_empty() {
            connection.write(&self.batch)?;
        }
        Step::Continue(consumed)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    use super::clients::{ClientId, Connection, Step};
    use super::{BATCH_BYTES, Server};
    use crate::content::Content;

    /// What a client reads after it has sent `pieces`, and whether the server goes on with the connection.
    fn conversation(body_bytes: usize, pieces: &[&[u8]]) -> (Vec<u8>, Step) {
        let content = Content::from([("/a".into(), vec![b'x'; body_bytes])]);
        let (mut client, server) = UnixStream::pair().unwrap();
        let mut connection = Connection::new(server.into(), ClientId::default());
        let mut server = Server::new(content, None);
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
