//! What was counted of a connection of HTTP/3, of its streams and of the QUIC below, as any exchange hands it on.

use std::time::Duration;

use crate::h3::qpack::QpackCounts;

/// What was counted of one connection since it was opened, or since it was last asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Http3Counts {
    /// Its handshake, once; `None` when it was handed on before.
    pub handshake: Option<QuicHandshake>,
    /// What QUIC has counted.
    pub quic: QuicCounts,
    /// What the server has announced of itself.
    pub announced: Announced,
    /// What was used of the table of header fields.
    pub qpack: QpackCounts,
    /// Whether the server has announced the end of the connection (GOAWAY), where that was not handed on before.
    pub was_announced_to_end: bool,
    /// Requests that the server has not looked at, by what it has said of their streams or of its end.
    pub requests_rejected: u64,
    /// How often all streams had begun that the server had allowed so far, whether a request was due then or not.
    pub stream_limits_met: u64,
    /// How it has ended without this side, where it has.
    pub end: Option<QuicEnd>,
}

/// How a handshake of QUIC has gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuicHandshake {
    /// Its class.
    pub kind: QuicHandshakeKind,
    /// From the first datagram to the end.
    pub length: Duration,
    /// The certificates that the server has shown.
    pub certificate_bytes: usize,
}

/// The classes of handshakes, whose times are not to be mixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuicHandshakeKind {
    /// A session has begun.
    Full,
    /// An earlier one has continued.
    Resumed,
    /// Requests were sent with the first datagrams, and taken.
    EarlyAccepted,
    /// They were sent, and refused.
    EarlyRejected,
    /// The server has asked for a further round trip before it did anything, whatever came then.
    AfterRetry,
}

/// How a connection has ended that this side has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuicEnd {
    /// The server has closed it, with a code of HTTP/3.
    Application(u64),
    /// The server has closed it, with a code of QUIC.
    Transport(u64),
    /// The server has broken QUIC, and this side has closed it with this code.
    Broken(u64),
    /// The server did not know it any more (a stateless reset).
    Reset,
    /// Nothing came for as long as both sides had agreed on.
    Idle,
    /// The server spoke no version that this side does.
    Version,
}

/// What QUIC counts, and what it has measured of the way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the count of its name")]
pub struct QuicCounts {
    pub packets_sent: u64,
    /// Of those: found lost. One that was late, and not lost, counts, too.
    pub packets_lost: u64,
    /// How often losses were taken for congestion, and less was sent (RFC 9002 §7.3.2).
    pub congestion_events: u64,
    /// How often packets of a length that had arrived before were all lost.
    pub black_holes: u64,
    pub datagrams_sent: u64,
    pub datagrams_received: u64,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    /// Acknowledgements, each of which may cover many packets.
    pub acks_sent: u64,
    pub acks_received: u64,
    /// How often the server said that a window of this side held it up, of a stream or of all.
    pub peer_blocked: u64,
    /// How often a window of the server held this side up.
    pub blocked: u64,
    /// How often the server asked whether the path still leads here, as it does after a change of address.
    pub path_challenges: u64,
    /// How often the keys of packets were changed, by either side (RFC 9001 §6).
    pub key_updates: u64,
    /// The smoothed time of a round trip, at the end.
    pub rtt: Duration,
    /// The shortest one.
    pub rtt_min: Duration,
    /// The largest datagram that the path was found to take.
    pub mtu_bytes: u16,
}

impl QuicCounts {
    /// What was counted since `earlier`; what was measured is as it is now.
    #[must_use]
    pub fn since(self, earlier: &Self) -> Self {
        Self {
            packets_sent: self.packets_sent - earlier.packets_sent,
            packets_lost: self.packets_lost - earlier.packets_lost,
            congestion_events: self.congestion_events - earlier.congestion_events,
            black_holes: self.black_holes - earlier.black_holes,
            datagrams_sent: self.datagrams_sent - earlier.datagrams_sent,
            datagrams_received: self.datagrams_received - earlier.datagrams_received,
            bytes_sent: self.bytes_sent - earlier.bytes_sent,
            bytes_received: self.bytes_received - earlier.bytes_received,
            acks_sent: self.acks_sent - earlier.acks_sent,
            acks_received: self.acks_received - earlier.acks_received,
            peer_blocked: self.peer_blocked - earlier.peer_blocked,
            blocked: self.blocked - earlier.blocked,
            path_challenges: self.path_challenges - earlier.path_challenges,
            key_updates: self.key_updates - earlier.key_updates,
            ..self
        }
    }
}

/// What a server announces of itself in its transport parameters (RFC 9000 §18.2); what it leaves out has its default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Announced {
    /// How many bytes of all streams together may be sent to it at first.
    pub connection_window_bytes: u64,
    /// How many of one stream that this side opens.
    pub stream_window_bytes: u64,
    /// How many streams this side may open at first, both ways.
    pub streams: u64,
    /// After how long without a datagram it ends the connection; `None` for never.
    pub idle_timeout: Option<Duration>,
    /// For how long it keeps an acknowledgement back at most.
    pub ack_delay: Duration,
    /// Whether it lets this side say how often it is to acknowledge (`ACK_FREQUENCY`).
    pub has_ack_frequency: bool,
    /// Whether it refuses that this side changes its address.
    pub refuses_migration: bool,
}

impl Default for Announced {
    fn default() -> Self {
        Self {
            connection_window_bytes: 0,
            stream_window_bytes: 0,
            streams: 0,
            idle_timeout: None,
            ack_delay: Duration::from_millis(25),
            has_ack_frequency: false,
            refuses_migration: false,
        }
    }
}
