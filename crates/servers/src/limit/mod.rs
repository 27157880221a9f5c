//! `limit`: a fixed answer at the least cost the kernel allows, and the faults of a script where one is given.
//!
//! One thread, one read and one write for all requests that came together, and no work twice: a request that equals the
//! one before, byte for byte, gets the same answer without being read again. Whatever a real server does comes on top of
//! this. A script ([`Faults`]) makes it a server with a known fault; without one nothing of it is run.

use std::convert::Infallible;
use std::io;
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpListener};
use std::num::NonZeroU64;
use std::os::fd::AsFd as _;

use loadcurve_servers::http2::{Connection as Http2, PREFACE};
use loadcurve_servers::reply::{Content, Reply};
use loadcurve_servers::websocket::Echo;
use rustix::event::epoll::{self, EventFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SocketFlags};

use crate::clock;
use crate::listening;

use clients::{Clients, Connection, LISTENER, Protocol};
pub(crate) use faults::Faults;
use http1::{Answering, Answers, Http1, Upgraded};
use http2::{Replies, Streams};
use http3::{DATAGRAMS, Datagrams};
use playback::Playback;
use script::Played;
use step::Step;
pub(crate) use tls::Identity;
use tls::{Peer, Tls};
use transport::Transport;

mod clients;
mod faults;
mod http1;
mod http2;
#[cfg(feature = "tls")]
mod http3;
#[cfg(not(feature = "tls"))]
#[path = "no_http3.rs"]
mod http3;
pub(crate) mod options;
mod playback;
mod script;
mod step;
#[cfg(feature = "tls")]
mod tls;
#[cfg(not(feature = "tls"))]
#[path = "no_tls.rs"]
mod tls;
mod transport;
mod websocket;

const EVENTS_PER_WAIT: usize = 64;
const BUFFER_BYTES: usize = 64 * 1024;

/// How the server is to be.
pub(crate) struct Settings {
    pub(crate) listen: SocketAddr,
    pub(crate) backlog: i32,
    pub(crate) faults: Faults,
    /// What clients are shown where they are to speak TLS.
    pub(crate) identity: Option<Identity>,
    /// Whether clients may speak HTTP/2 as well.
    pub(crate) speaks_http2: bool,
    /// Whether they may speak HTTP/3 as well, on the UDP port of the same number.
    pub(crate) speaks_http3: bool,
    /// What calls of gRPC are answered with.
    pub(crate) to_call: Reply,
    /// What of QUIC they meet before a handshake is over.
    pub(crate) admission: Admission,
}

/// What clients of HTTP/3 meet before their handshake is over.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Admission {
    /// The share of the connections on which requests are taken before it is.
    pub(crate) early_data_share: f64,
    /// Whether a client has to begin again, to show that it is where its datagrams say (Retry).
    pub(crate) retries: bool,
    /// For how many seconds HTTP/1.x has told them that it is spoken; not at all without a number.
    pub(crate) announced_s: Option<NonZeroU64>,
}

impl Admission {
    /// Whether nothing was asked for.
    pub(crate) fn is_usual(self) -> bool {
        self.early_data_share <= 0.0 && !self.retries && self.announced_s.is_none()
    }
}

/// Serves `content` until the process is ended: in clear text, or with an identity in TLS.
///
/// # Errors
/// When the address cannot be listened on, or the kernel refuses to wait.
pub(crate) fn serve(settings: Settings, content: Content) -> io::Result<Infallible> {
    let (listener, mut datagrams) = listen_on_both(&settings)?;
    let Settings { faults, identity, speaks_http2, to_call, admission, .. } = settings;
    let port = listener.local_addr()?.port();
    listening::announce(&listener)?;
    let mut clients = Clients::new(listener)?;
    let mut server = Server { identity, speaks_http2, to_call, ..Server::new(content, Playback::of(faults)) };
    if let Some(seconds) = admission.announced_s {
        server.answers.announce_http3(port, seconds);
    }
    if let Some(datagrams) = &datagrams {
        datagrams.watch(clients.set.as_fd())?;
    }
    if !server.playback.as_ref().is_some_and(|playback| playback.script.accepts_slowly()) {
        clients.watch_listener()?;
    }
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let mut events = [MaybeUninit::uninit(); EVENTS_PER_WAIT];
        let timeouts = [
            server.playback.as_ref().and_then(Playback::timeout),
            datagrams.as_ref().and_then(Datagrams::timeout),
        ];
        let timeout = timeouts.into_iter().flatten().min();
        let events = match epoll::wait(&clients.set, &mut events, timeout.as_ref()) {
            Ok((events, _)) => events,
            Err(Errno::INTR) => continue,
            Err(errno) => return Err(errno.into()),
        };
        for event in events {
            if let Some(playback) = &server.playback {
                playback.script.time_after_stall();
            }
            let token = event.data.u64();
            if token == LISTENER {
                while server.accept(&mut clients) {}
                continue;
            }
            if token == DATAGRAMS {
                if let Some(datagrams) = &mut datagrams {
                    server.datagrams(datagrams, event.flags, clients.open());
                }
                continue;
            }
            clients.with_token(token, |connection| server.turn(connection, event.flags, &mut buffer));
            if !server.broadcast.is_empty() {
                clients.broadcast(token, &server.broadcast);
                server.broadcast.clear();
            }
        }
        server.keep_time(&mut clients, datagrams.as_mut());
        if let Some(datagrams) = &mut datagrams {
            datagrams.watch_room(clients.set.as_fd())?;
        }
    }
}

/// How often a free port is asked for until UDP has the same one free.
const ATTEMPTS: usize = 20;

/// Listens for connections, and for datagrams on the UDP port of the same number where that is asked for.
fn listen_on_both(settings: &Settings) -> io::Result<(TcpListener, Option<Datagrams>)> {
    let Settings { listen, backlog, .. } = *settings;
    let mut attempt = 1;
    loop {
        let listener = listening::quietly(listen, backlog, SocketFlags::NONBLOCK)?;
        if !settings.speaks_http3 {
            return Ok((listener, None));
        }
        let at = listener.local_addr()?;
        match Datagrams::listen(at, backlog, settings.identity.as_ref(), settings.admission) {
            Ok(datagrams) => return Ok((listener, Some(datagrams))),
            Err(error) if error.kind() != io::ErrorKind::AddrInUse => return Err(error),
            Err(_) if listen.port() == 0 && attempt < ATTEMPTS => attempt += 1,
            Err(error) => return Err(io::Error::other(format!("UDP port: {error}"))),
        }
    }
}

struct Server {
    answers: Answers,
    /// Answers that wait to be written with the next ones.
    batch: Vec<u8>,
    /// Messages that go to the other clients of the broadcast; empty in between.
    broadcast: Vec<u8>,
    /// What is played for the clients, if there is a script.
    playback: Option<Playback>,
    /// What clients are shown where they are to speak TLS.
    identity: Option<Identity>,
    speaks_http2: bool,
    to_call: Reply,
    /// What was decrypted last.
    plain: Vec<u8>,
}

impl Server {
    fn new(content: Content, playback: Option<Playback>) -> Self {
        Self {
            answers: Answers::new(content),
            batch: Vec::new(),
            broadcast: Vec::new(),
            playback,
            identity: None,
            speaks_http2: false,
            to_call: Reply::to_call(1),
            plain: Vec::new(),
        }
    }

    /// Accepts the next client; false when none waits.
    fn accept(&mut self, clients: &mut Clients) -> bool {
        let Some(connection) = clients.accept() else { return false };
        connection.transport.tls = self.identity.as_ref().map(Tls::begin);
        if self.speaks_http2 {
            connection.protocol = Protocol::Undecided(Vec::new());
        }
        if let Some(playback) = &mut self.playback {
            playback.welcome(connection);
            playback.script.keep_up_threads(clients.open());
        }
        true
    }

    /// Does what the datagrams of clients ask for.
    fn datagrams(&mut self, datagrams: &mut Datagrams, flags: EventFlags, others: usize) {
        let Self { answers, playback, to_call, .. } = self;
        let replies = Replies { content: &answers.content, to_call };
        let mut script = playback.as_mut().map(|playback| &mut playback.script);
        if flags.contains(EventFlags::OUT) {
            datagrams.go_on(replies, script.as_deref_mut());
        }
        datagrams.hear(replies, script.as_deref_mut());
        if let Some(script) = script {
            script.keep_up_threads(datagrams.open() + others);
        }
    }

    /// Does what the script, and QUIC, have for this time.
    fn keep_time(&mut self, clients: &mut Clients, mut datagrams: Option<&mut Datagrams>) {
        let is_time_to_accept = self.playback.as_mut().is_some_and(|playback| {
            playback.keep_time(clients, &mut self.batch);
            playback.script.is_time_to_accept()
        });
        let has_accepted = is_time_to_accept && self.accept(clients);
        let Some(datagrams) = &mut datagrams else { return };
        let Self { answers, playback, to_call, .. } = self;
        let replies = Replies { content: &answers.content, to_call };
        let mut script = playback.as_mut().map(|playback| &mut playback.script);
        if is_time_to_accept && !has_accepted {
            datagrams.accept_waiting(replies, script.as_deref_mut());
        }
        datagrams.keep_time(replies, script);
    }

    /// Everything that can be done with a connection that is ready.
    fn turn(&mut self, connection: &mut Connection, flags: EventFlags, buffer: &mut [u8]) -> Step {
        if flags.contains(EventFlags::OUT) {
            connection.go_on(&mut self.batch)?;
        }
        let is_readable =
            flags.intersects(EventFlags::IN | EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR);
        if !is_readable && !connection.is_paused {
            return Step::Continue(());
        }
        while !connection.is_ending() {
            connection.is_paused = connection.transport.is_congested();
            if connection.is_paused {
                return Step::Continue(());
            }
            match rustix::net::recv(&connection.transport.descriptor, &mut *buffer, RecvFlags::empty()) {
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
        let Some(tls) = &mut connection.transport.tls else { return self.answer(connection, bytes) };
        if connection.transport.is_shut {
            return Step::Continue(());
        }
        let mut plain = std::mem::take(&mut self.plain);
        plain.clear();
        let peer = tls.open(bytes, &mut plain);
        // Also where there is no request, its handshake may be to be answered.
        let step =
            if plain.is_empty() { connection.transport.write(&[]) } else { self.answer(connection, &plain) };
        self.plain = plain;
        step?;
        match peer {
            Peer::Open => Step::Continue(()),
            Peer::Done => connection.end_of_requests(),
            Peer::Failed => Step::Break(()),
        }
    }

    /// Answers what bytes of a client ask for, in what it speaks.
    fn answer(&mut self, connection: &mut Connection, bytes: &[u8]) -> Step {
        if let Protocol::Undecided(begun) = &mut connection.protocol {
            let mut first = std::mem::take(begun);
            first.extend_from_slice(bytes);
            let Some(protocol) = self.decided(&mut connection.transport, &first) else {
                connection.protocol = Protocol::Undecided(first);
                return Step::Continue(());
            };
            connection.protocol = protocol;
            return self.answer(connection, &first);
        }
        let Connection { transport, protocol, answers: count, last_active, .. } = connection;
        let played = self.playback.as_mut().map(|playback| {
            *last_active = clock::monotonic();
            Played { script: &mut playback.script, answers: count, came: *last_active }
        });
        match protocol {
            Protocol::Undecided(_) => {}
            Protocol::Http1(http1) => {
                let mut answering = Answering { answers: &mut self.answers, played, batch: &mut self.batch };
                http1.answer(transport, bytes, &mut answering)?;
                if let Some((upgraded, behind)) = http1.take_behind_upgrade() {
                    connection.protocol = match upgraded {
                        Upgraded::Echo { is_deflated } => Protocol::WebSocket(Echo::deflated(is_deflated)),
                        Upgraded::Broadcast => Protocol::Broadcast(Box::new(Echo::apart())),
                    };
                    return self.answer(connection, &behind);
                }
            }
            Protocol::Http2(http2) => {
                let mut streams = Streams {
                    replies: Replies { content: &self.answers.content, to_call: &self.to_call },
                    played,
                };
                http2::answer(http2, transport, bytes, &mut streams, &mut self.batch)?;
            }
            Protocol::WebSocket(echo) => websocket::answer(echo, transport, bytes, &mut self.batch)?,
            Protocol::Broadcast(echo) => {
                websocket::answer(echo, transport, bytes, &mut self.batch)?;
                echo.take_messages(&mut self.broadcast);
            }
        }
        if let Some(playback) = &mut self.playback {
            playback.watch(connection);
        }
        Step::Continue(())
    }

    /// What a client speaks that has begun with these bytes; none while they may be the beginning of either.
    fn decided(&mut self, transport: &mut Transport, first: &[u8]) -> Option<Protocol> {
        let is_http2 = match &transport.tls {
            Some(tls) => tls.has_agreed_on_http2(),
            None if first.len() < PREFACE.len() && PREFACE.starts_with(first) => return None,
            None => first.starts_with(PREFACE),
        };
        if !is_http2 {
            return Some(Protocol::Http1(Http1::default()));
        }
        transport.lingers = true;
        Some(Protocol::Http2(Box::new(Http2::open(&mut self.batch))))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    use loadcurve_servers::reply::Content;

    use super::Server;
    use super::clients::{ClientId, Connection};
    use super::step::Step;
    use super::transport::BATCH_BYTES;

    /// What a client reads after it has sent `pieces`, and whether the server continues with the connection.
    fn conversation(body_bytes: usize, pieces: &[&[u8]]) -> (Vec<u8>, Step) {
        let content = Content::from([("/a".into(), vec![b'x'; body_bytes].into())]);
        let (mut client, server) = UnixStream::pair().unwrap();
        let mut connection = Connection::new(server.into(), ClientId::default());
        let mut server = Server::new(content, None);
        let step = pieces.iter().try_for_each(|piece| server.answer(&mut connection, piece));
        assert!(connection.transport.is_clear(), "the socket took everything");
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

    /// What a server did for a client that reads all that there is each time.
    struct Work {
        /// How often it wrote.
        turns: usize,
        /// How many bytes it held each time, all in all.
        held_bytes: usize,
        read: Vec<u8>,
        step: Step,
    }

    fn work(body_bytes: usize, requests: &[u8]) -> Work {
        let content = Content::from([("/a".into(), vec![b'x'; body_bytes].into())]);
        let (mut client, server) = UnixStream::pair().unwrap();
        for socket in [&client, &server] {
            socket.set_nonblocking(true).unwrap();
        }
        let mut connection = Connection::new(server.into(), ClientId::default());
        let mut server = Server::new(content, None);
        let step = server.answer(&mut connection, requests);
        let mut work = Work { turns: 1, held_bytes: 0, read: Vec::new(), step };
        loop {
            // It ends with the error that nothing is there to be read.
            let _ = client.read_to_end(&mut work.read);
            if work.step.is_break() || connection.transport.is_clear() {
                return work;
            }
            work.turns += 1;
            work.held_bytes += connection.transport.held_bytes();
            work.step = connection.go_on(&mut server.batch);
        }
    }

    #[test]
    fn an_answer_four_times_as_long_is_four_times_the_work() {
        let [once, four_times] =
            [5_000_000, 20_000_000].map(|body_bytes| work(body_bytes, b"GET /a HTTP/1.1\r\n\r\n"));
        assert!(four_times.turns <= 6 * once.turns, "{} of {}", four_times.turns, once.turns);
        assert!(four_times.held_bytes <= 6 * once.held_bytes);
    }

    #[test]
    fn answers_behind_long_ones_come_in_order_and_the_last_ends_the_connection_when_it_is_whole() {
        let long = 1_000_000;
        let burst =
            b"GET /a HTTP/1.1\r\n\r\nHEAD /a HTTP/1.1\r\n\r\nGET /a HTTP/1.1\r\n\r\nGET /a HTTP/1.0\r\n\r\n";
        let Work { read, step, .. } = work(long, burst);
        let [head, body] = [format!("HTTP/1.1 200 OK\r\nContent-Length: {long}\r\n"), "x".repeat(long)];
        let expected =
            format!("{head}\r\n{body}{head}\r\n{head}\r\n{body}{head}Connection: close\r\n\r\n{body}");
        assert!(String::from_utf8(read).unwrap() == expected);
        assert_eq!(step, Step::Break(()));
    }

    #[test]
    fn nothing_behind_the_last_request_of_a_connection_is_answered() {
        let closing = b"GET /b HTTP/1.1\r\n\r\nGET /a HTTP/1.0\r\n\r\nGET /b HTTP/1.1\r\n\r\n";
        let (answers, step) = conversation(3, &[closing]);
        assert_eq!(step, Step::Break(()));
        assert!(answers.ends_with(b"Connection: close\r\n\r\nxxx"));
    }
}
