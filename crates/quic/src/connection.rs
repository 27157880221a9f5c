//! One connection of QUIC (RFC 9000): its streams, and the datagrams that carry them.
//!
//! The library of QUIC ends here. What a user of a connection calls is [`Connection::datagram`] for what has arrived,
//! [`transmit`](Connection::transmit) for what leaves, [`deadline`](Connection::deadline) and
//! [`timeout`](Connection::timeout) for its clock, [`open`](Connection::open), [`write`](Connection::write) and
//! [`read`](Connection::read) for its streams, and [`stats`](Connection::stats); it ends by [`close`](Connection::close), and
//! says by [`event`](Connection::event) what has happened.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use loadcurve_tls::{Client, QuicOutcome};
use loadcurve_wire::{Announced, DatagramBytes, Moment, QuicCounts};
pub use quinn_proto::Incoming;
use quinn_proto::crypto::rustls::QuicServerConfig;
use quinn_proto::{
    ClientConfig, ConnectionError, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig,
    EndpointEvent, NoneTokenStore, RandomConnectionIdGenerator, ReadError, ServerConfig, StreamEvent,
    StreamId, TokenMemoryCache, TokenStore, TransportConfig, VarInt, WriteError,
};

use crate::congestion;
use crate::connection_ids::{Number, Numbered};
use crate::handshake::{Handshake, Seen};

/// Datagrams that one call hands over at most: no more than 64 KiB of the usual sizes, which the kernel takes at once.
const DATAGRAMS_PER_TRANSMIT: usize = 40;
/// With how many packets that ask for one an acknowledgement is sent at once (RFC 9000 §13.2.2).
pub const PACKETS_PER_ACK: u32 = 2;
/// For how long one is kept back at most otherwise.
pub const ACK_DELAY_MS: u64 = 25;
/// Where the peer is, as far as a connection on a connected socket has to know: its socket does.
const PEER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 443);
/// What has arrived is copied into pieces of this length.
const INCOMING_BYTES: usize = 64 * 1024;

/// How connections are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    /// How many bytes of one stream the peer may send before more is asked for.
    pub stream_bytes: u32,
    /// The same of all streams together.
    pub connection_bytes: u32,
    /// How many bytes wait to be acknowledged at most.
    pub unacknowledged_bytes: u32,
    /// How many streams the peer may have open in both directions.
    pub requests: u32,
    /// After how long without a datagram the connection has ended, if it does for this.
    pub idle: Option<Moment>,
}

impl Windows {
    fn transport(&self) -> TransportConfig {
        let mut transport = TransportConfig::default();
        transport
            .congestion_controller_factory(Arc::new(congestion::Control::default()))
            .stream_receive_window(self.stream_bytes.into())
            .receive_window(self.connection_bytes.into())
            .send_window(self.unacknowledged_bytes.into())
            .max_concurrent_bidi_streams(self.requests.into())
            .max_idle_timeout(self.idle.and_then(|idle| idle.try_into().ok()))
            .datagram_receive_buffer_size(None);
        transport
    }
}

/// How a client makes its connections.
pub struct Dial {
    client: Arc<Client>,
    are_full: bool,
    transport: Arc<TransportConfig>,
    /// With what a server lets clients prove their address that have been there (RFC 9000, section 8.1.3).
    tokens: Arc<dyn TokenStore>,
}

impl Dial {
    /// By the handshakes of `client`, all of them full ones where that is asked for.
    #[must_use]
    pub fn new(client: Arc<Client>, are_full: bool, windows: &Windows) -> Self {
        let transport = Arc::new(windows.transport());
        Self { client, are_full, transport, tokens: Arc::new(TokenMemoryCache::default()) }
    }

    /// How the next one is made.
    fn next(&self) -> ClientConfig {
        let start = self.client.next_quic_start(self.are_full);
        // A client that resumes no session has never been there: it has no token, and a Retry costs it a round trip.
        let tokens: Arc<dyn TokenStore> =
            if start.is_full() { Arc::new(NoneTokenStore) } else { Arc::clone(&self.tokens) };
        let mut config = ClientConfig::new(Arc::new(Handshake { client: Arc::clone(&self.client), start }));
        config.transport_config(Arc::clone(&self.transport)).token_store(tokens);
        config
    }
}

/// How a server takes connections.
pub struct Welcome {
    config: Arc<ServerConfig>,
}

impl Welcome {
    /// With these settings of TLS, and windows.
    ///
    /// # Errors
    /// The settings of TLS lack what QUIC requires.
    pub fn new(tls: Arc<rustls::ServerConfig>, windows: &Windows) -> Result<Self, String> {
        let tls = QuicServerConfig::try_from(tls).map_err(|error| error.to_string())?;
        let mut config = ServerConfig::with_crypto(Arc::new(tls));
        config.transport_config(Arc::new(windows.transport()));
        Ok(Self { config: Arc::new(config) })
    }
}

/// What the connections of one socket have in common.
pub struct Socket {
    endpoint: Endpoint,
    /// The moment zero.
    base: Instant,
    incoming: BytesMut,
    /// What is said without a connection.
    reply: Vec<u8>,
}

impl Socket {
    /// A client's, on which connections follow one another. A moment of theirs is counted from `base`. Where others share its socket of
    /// UDP, their IDs have its number; otherwise nothing has to tell them apart.
    pub(crate) fn client(base: Instant, number: Option<Number>) -> Self {
        let mut config = EndpointConfig::default();
        config.cid_generator(move || match number {
            None => Box::new(RandomConnectionIdGenerator::new(0)),
            Some(number) => Box::new(Numbered::new(number)),
        });
        Self::new(config, None, base)
    }

    /// A server's, which takes connections as `welcome` says, unless it is said otherwise of one.
    #[must_use]
    pub fn server(welcome: &Welcome, base: Instant) -> Self {
        Self::new(EndpointConfig::default(), Some(Arc::clone(&welcome.config)), base)
    }

    /// A server's whose random choices follow from a seed, for simulations. Quinn leaves out a number of a packet now and then,
    /// at random, to find peers that acknowledge what they have not received; a client acknowledges the packet behind it at once.
    #[must_use]
    pub fn simulated_server(welcome: &Welcome, base: Instant, seed: [u8; 32]) -> Self {
        let mut config = EndpointConfig::default();
        config.rng_seed(Some(seed));
        Self::new(config, Some(Arc::clone(&welcome.config)), base)
    }

    fn new(config: EndpointConfig, server: Option<Arc<ServerConfig>>, base: Instant) -> Self {
        let endpoint = Endpoint::new(Arc::new(config), server, true, None);
        Self { endpoint, base, incoming: BytesMut::new(), reply: Vec::new() }
    }

    fn at(&self, now: Moment) -> Instant {
        self.base + now
    }

    /// A datagram from somewhere: for which connection it is, or what it begins.
    pub fn datagram(&mut self, now: Moment, from: SocketAddr, bytes: &[u8]) -> Arrival {
        if self.incoming.capacity() < bytes.len() {
            self.incoming.reserve(bytes.len().max(INCOMING_BYTES));
        }
        self.incoming.extend_from_slice(bytes);
        let datagram = self.incoming.split();
        self.reply.clear();
        let now = self.at(now);
        match self.endpoint.handle(now, from, None, None, datagram, &mut self.reply) {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => Arrival::Of(handle, event),
            Some(DatagramEvent::NewConnection(incoming)) => Arrival::New(incoming),
            Some(DatagramEvent::Response(_)) => Arrival::Answered,
            None => Arrival::Dropped,
        }
    }

    /// What is sent back where a datagram was answered without a connection.
    #[must_use]
    pub fn reply(&self) -> &[u8] {
        &self.reply
    }

    /// Takes a client's connection, as the socket does or otherwise. Where it cannot be taken, [`reply`](Self::reply) says so to
    /// the client, unless it is empty.
    pub fn accept(
        &mut self,
        now: Moment,
        incoming: Incoming,
        otherwise: Option<&Welcome>,
    ) -> Option<Connection> {
        self.reply.clear();
        let now = self.at(now);
        let config = otherwise.map(|welcome| Arc::clone(&welcome.config));
        let (handle, inner) = self.endpoint.accept(incoming, now, &mut self.reply, config).ok()?;
        Some(Connection { inner, handle, base: self.base })
    }

    /// Has a client show that it is where its datagrams say, before anything is done for it, by what [`reply`](Self::reply)
    /// then sends (Retry). One that has shown it is given back.
    pub fn retry(&mut self, incoming: Incoming) -> Option<Incoming> {
        if incoming.remote_address_validated() {
            return Some(incoming);
        }
        self.reply.clear();
        // Where it goes is known to who has heard of it.
        self.endpoint.retry(incoming, &mut self.reply).err().map(quinn_proto::RetryError::into_incoming)
    }

    /// Refuses a client's connection, by what [`reply`](Self::reply) then sends.
    pub fn refuse(&mut self, incoming: Incoming) {
        self.reply.clear();
        // Where it goes is known to who has heard of it.
        let _ = self.endpoint.refuse(incoming, &mut self.reply);
    }

    /// Leaves a client's connection without an answer, as if its datagram had been lost.
    pub fn ignore(&mut self, incoming: Incoming) {
        self.endpoint.ignore(incoming);
    }

    /// Begins a connection of a client.
    ///
    /// # Errors
    /// It cannot begin, in the words of the library.
    pub fn connect(&mut self, now: Moment, dial: &Dial) -> Result<Connection, String> {
        let now = self.at(now);
        // The name is a setting of TLS, where it may be an address, too.
        let begun = self.endpoint.connect(now, dial.next(), PEER, "server");
        let (handle, inner) = begun.map_err(|error| error.to_string())?;
        Ok(Connection { inner, handle, base: self.base })
    }

    /// Forgets a connection that its owner has left.
    pub fn forget(&mut self, connection: &Connection) {
        if !connection.inner.is_drained() {
            self.endpoint.handle_event(connection.handle, EndpointEvent::drained());
        }
    }
}

/// What a datagram is.
pub enum Arrival {
    /// One of a connection.
    Of(ConnectionHandle, quinn_proto::ConnectionEvent),
    /// The first one of a client.
    New(Incoming),
    /// One to which [`Socket::reply`] is the answer.
    Answered,
    /// Nobody's.
    Dropped,
}

/// Why there is no connection any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lost {
    /// The peer has ended it, with a code of HTTP/3 and its words.
    Application(u64, String),
    /// The peer has ended it, with a code of QUIC, of which those of TLS are a part.
    Transport(u64, String),
    /// The peer has broken QUIC or TLS, and this side has ended it with such a code.
    Broken(u64, String),
    /// The peer does not know it (any more).
    Reset,
    /// Nothing has come for too long.
    Idle,
    /// The peer speaks no version that this side does.
    Version,
    /// This side has ended it.
    Closed,
}

impl From<ConnectionError> for Lost {
    fn from(error: ConnectionError) -> Self {
        let words = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
        match error {
            ConnectionError::VersionMismatch => Self::Version,
            ConnectionError::TransportError(error) => Self::Broken(error.code.into(), error.reason),
            ConnectionError::ConnectionClosed(close) => {
                Self::Transport(close.error_code.into(), words(&close.reason))
            }
            ConnectionError::ApplicationClosed(close) => {
                Self::Application(close.error_code.into(), words(&close.reason))
            }
            ConnectionError::Reset => Self::Reset,
            ConnectionError::TimedOut => Self::Idle,
            ConnectionError::LocallyClosed | ConnectionError::CidsExhausted => Self::Closed,
        }
    }
}

/// What has happened on a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Its handshake is over.
    Connected,
    /// The peer has sent something on a stream, or ended it.
    Readable(u64),
    /// A stream takes bytes again.
    Writable(u64),
    /// The peer does not want what is written on a stream.
    Stopped(u64),
    /// More streams may be opened.
    Available,
    /// It has ended.
    Lost(Lost),
}

/// Which way the bytes of a stream go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Both ways.
    Both,
    /// From this side.
    Out,
}

/// What follows what is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// More of the stream.
    More,
    /// Nothing: the stream ends behind it.
    End,
}

/// How far a stream was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadTo {
    /// To what has come so far.
    Now,
    /// To its end.
    End,
    /// Not to its end: the peer has given it up, with this code.
    Reset(u64),
}

/// One connection.
pub struct Connection {
    inner: quinn_proto::Connection,
    handle: ConnectionHandle,
    base: Instant,
}

impl Connection {
    /// Its number among those of its socket.
    #[must_use]
    pub fn handle(&self) -> ConnectionHandle {
        self.handle
    }

    /// Where the peer is.
    #[must_use]
    pub fn peer(&self) -> SocketAddr {
        self.inner.remote_address()
    }

    /// A datagram has arrived on the socket of a client; says whether it is of this connection.
    pub fn datagram(&mut self, socket: &mut Socket, now: Moment, bytes: &[u8]) -> bool {
        match socket.datagram(now, PEER, bytes) {
            Arrival::Of(handle, event) if handle == self.handle => {
                self.arrived(socket, event);
                true
            }
            _ => false,
        }
    }

    /// A datagram of the connection has arrived.
    pub fn arrived(&mut self, socket: &mut Socket, event: quinn_proto::ConnectionEvent) {
        self.inner.handle_event(event);
        self.settle(socket);
    }

    fn settle(&mut self, socket: &mut Socket) {
        while let Some(event) = self.inner.poll_endpoint_events() {
            if let Some(event) = socket.endpoint.handle_event(self.handle, event) {
                self.inner.handle_event(event);
            }
        }
    }

    /// Puts what is to be sent now, up to some datagrams, into `to`, which is empty; `None` if there is nothing.
    pub fn transmit(&mut self, now: Moment, to: &mut Vec<u8>) -> Option<DatagramBytes> {
        debug_assert!(to.is_empty(), "{} bytes before the datagrams would shift their division", to.len());
        let transmit = self.inner.poll_transmit(self.base + now, DATAGRAMS_PER_TRANSMIT, to)?;
        Some(DatagramBytes(transmit.segment_size.and_then(NonZeroUsize::new)))
    }

    /// When it has something to do although nothing arrives.
    #[must_use]
    pub fn deadline(&mut self) -> Option<Moment> {
        Some(self.inner.poll_timeout()?.saturating_duration_since(self.base))
    }

    /// The moment of [`deadline`](Self::deadline) has passed.
    pub fn timeout(&mut self, socket: &mut Socket, now: Moment) {
        self.inner.handle_timeout(self.base + now);
        self.settle(socket);
    }

    /// Opens a stream; `None` if the peer takes no more now.
    pub fn open(&mut self, direction: Direction) -> Option<u64> {
        let direction = if direction == Direction::Both { Dir::Bi } else { Dir::Uni };
        self.inner.streams().open(direction).map(u64::from)
    }

    /// Writes bytes on a stream; gives how many it takes now. A stream that the peer does not want any more takes all.
    pub fn write(&mut self, stream: u64, bytes: &[u8], then: Then) -> usize {
        let mut stream = self.inner.send_stream(id(stream));
        let mut written = 0;
        while written < bytes.len() {
            match stream.write(&bytes[written..]) {
                Ok(taken) => written += taken,
                Err(WriteError::Blocked) => return written,
                Err(WriteError::Stopped(_) | WriteError::ClosedStream) => return bytes.len(),
            }
        }
        if then == Then::End {
            // One that the peer has stopped has ended before.
            let _ = stream.finish();
        }
        written
    }

    /// Writes pieces on a stream without a copy, as far as it takes them: what it has taken is in them no longer. A stream that the
    /// peer does not want any more takes all.
    pub fn write_pieces(&mut self, stream: u64, pieces: &mut [Bytes]) {
        let mut stream = self.inner.send_stream(id(stream));
        while pieces.iter().any(|piece| !piece.is_empty()) {
            match stream.write_chunks(pieces) {
                Ok(_) => {}
                Err(WriteError::Blocked) => return,
                Err(WriteError::Stopped(_) | WriteError::ClosedStream) => pieces.fill(Bytes::new()),
            }
        }
    }

    /// Ends a stream behind what was written.
    pub fn finish(&mut self, stream: u64) {
        // One that the peer has stopped has ended before.
        let _ = self.inner.send_stream(id(stream)).finish();
    }

    /// On how many streams the peer may still lack something, those that never end included.
    #[must_use]
    pub fn streams_unacknowledged(&mut self) -> usize {
        self.inner.streams().send_streams()
    }

    /// Whether nothing is left of it, not even what answers late datagrams; its number goes to another one then.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.inner.is_drained()
    }

    /// Takes what has come of a stream.
    pub fn read(&mut self, stream: u64, to: &mut VecDeque<Bytes>) -> ReadTo {
        let mut stream = self.inner.recv_stream(id(stream));
        let Ok(mut chunks) = stream.read(true) else { return ReadTo::Now };
        let read_to = loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => to.push_back(chunk.bytes),
                Ok(None) => break ReadTo::End,
                Err(ReadError::Blocked) => break ReadTo::Now,
                Err(ReadError::Reset(code)) => break ReadTo::Reset(code.into()),
            }
        };
        // Whatever is to be said of it is said with what is sent next.
        let _ = chunks.finalize();
        read_to
    }

    /// Gives a stream up, in both directions.
    pub fn abandon(&mut self, stream: u64, code: u64) {
        let (code, stream) = (varint(code), id(stream));
        let is_own = stream.initiator() == self.inner.side();
        if is_own || stream.dir() == Dir::Bi {
            let _ = self.inner.send_stream(stream).reset(code);
        }
        if !is_own || stream.dir() == Dir::Bi {
            let _ = self.inner.recv_stream(stream).stop(code);
        }
    }

    /// What has happened since this was last asked.
    pub fn event(&mut self) -> Option<Event> {
        loop {
            for direction in [Dir::Uni, Dir::Bi] {
                if let Some(stream) = self.inner.streams().accept(direction) {
                    return Some(Event::Readable(stream.into()));
                }
            }
            return Some(match self.inner.poll()? {
                quinn_proto::Event::Connected => Event::Connected,
                quinn_proto::Event::ConnectionLost { reason } => Event::Lost(reason.into()),
                quinn_proto::Event::Stream(StreamEvent::Readable { id }) => Event::Readable(id.into()),
                quinn_proto::Event::Stream(StreamEvent::Writable { id }) => Event::Writable(id.into()),
                quinn_proto::Event::Stream(StreamEvent::Stopped { id, .. }) => Event::Stopped(id.into()),
                quinn_proto::Event::Stream(StreamEvent::Available { dir: Dir::Bi }) => Event::Available,
                _ => continue,
            });
        }
    }

    /// Ends the connection, with a code of HTTP/3; [`transmit`](Self::transmit) says so to the peer.
    pub fn close(&mut self, now: Moment, code: u64) {
        self.inner.close(self.base + now, varint(code), Bytes::new());
    }

    /// What the handshake of a client has come to.
    #[must_use]
    pub fn outcome(&self) -> Option<QuicOutcome> {
        self.seen().map(|seen| seen.outcome)
    }

    /// What the server has announced of itself to a client.
    #[must_use]
    pub fn announced(&self) -> Option<Announced> {
        self.seen()?.announced
    }

    /// Whether the server has asked a client to begin once more, with a token (Retry).
    #[must_use]
    pub fn was_retried(&self) -> bool {
        self.seen().is_some_and(|seen| seen.was_retried)
    }

    /// Whether a client may write on streams before the handshake is over, from its beginning.
    #[must_use]
    pub fn sends_early(&self) -> bool {
        self.inner.has_0rtt() && self.inner.is_handshaking()
    }

    /// Whether the server has taken what a client has sent with its first datagrams; `None` where it could not send any. Of what
    /// it has not taken, all streams are forgotten.
    #[must_use]
    pub fn early(&self) -> Option<bool> {
        self.inner.has_0rtt().then(|| self.inner.accepted_0rtt())
    }

    fn seen(&self) -> Option<Seen> {
        self.inner.crypto_session().handshake_data()?.downcast().ok().map(|seen| *seen)
    }

    /// What was counted of it.
    #[must_use]
    pub fn stats(&self) -> QuicCounts {
        let stats = self.inner.stats();
        let blocked = |frames: &quinn_proto::FrameStats| frames.data_blocked + frames.stream_data_blocked;
        QuicCounts {
            packets_sent: stats.path.sent_packets,
            packets_lost: stats.path.lost_packets,
            congestion_events: congestion::events(self.inner.congestion_state()),
            black_holes: stats.path.black_holes_detected,
            datagrams_sent: stats.udp_tx.datagrams,
            datagrams_received: stats.udp_rx.datagrams,
            bytes_sent: stats.udp_tx.bytes,
            bytes_received: stats.udp_rx.bytes,
            acks_sent: stats.frame_tx.acks,
            acks_received: stats.frame_rx.acks,
            peer_blocked: blocked(&stats.frame_rx),
            blocked: blocked(&stats.frame_tx),
            path_challenges: stats.frame_rx.path_challenge,
            key_updates: self.seen().map_or(0, |seen| seen.key_updates),
            rtt: stats.path.rtt,
            rtt_min: stats.path.min_rtt,
            mtu_bytes: stats.path.current_mtu,
        }
    }
}

fn id(stream: u64) -> StreamId {
    varint(stream).into()
}

fn varint(number: u64) -> VarInt {
    VarInt::from_u64(number).unwrap_or(VarInt::MAX)
}
