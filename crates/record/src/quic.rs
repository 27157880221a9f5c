//! What was counted of the connections of HTTP/3 of a load.

use loadcurve_plan::Nanos;
use serde::{Deserialize, Serialize};

use crate::TimeHistogram;
use crate::datagrams::DatagramCounts;
use crate::extremes::Extremes;

/// The classes of handshakes of QUIC, whose times are never mixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuicHandshakeKind {
    /// A session has begun.
    Full,
    /// An earlier one has continued.
    Resumed,
    /// Requests were sent with the first datagrams, and taken.
    EarlyAccepted,
    /// They were sent, and refused.
    EarlyRejected,
    /// The server has asked for a further round trip first.
    AfterRetry,
}

impl QuicHandshakeKind {
    /// All of them, in the order of results.
    pub const ALL: [Self; 5] =
        [Self::Full, Self::Resumed, Self::EarlyAccepted, Self::EarlyRejected, Self::AfterRetry];
}

/// How connections have ended that this side has not ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct QuicEnds {
    /// Closed by the server without an error.
    pub closed: u64,
    /// Closed with another code of HTTP/3.
    pub application_errors: u64,
    /// Closed with a code of QUIC that is an error.
    pub transport_errors: u64,
    /// The server did not know the connection any more.
    pub stateless_resets: u64,
    /// Nothing came until the idle timeout.
    pub idle_timeouts: u64,
    /// The server spoke another version.
    pub other_versions: u64,
}

impl QuicEnds {
    fn merge(&mut self, other: &Self) {
        self.closed += other.closed;
        self.application_errors += other.application_errors;
        self.transport_errors += other.transport_errors;
        self.stateless_resets += other.stateless_resets;
        self.idle_timeouts += other.idle_timeouts;
        self.other_versions += other.other_versions;
    }
}

/// What servers have announced of themselves, the least and the greatest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "each is what its name says")]
pub struct QuicAnnounced {
    pub connection_window_bytes: Extremes,
    pub stream_window_bytes: Extremes,
    pub streams: Extremes,
    /// Those that end idle connections.
    pub idle_timeout_ms: Extremes,
    pub ack_delay_ms: Extremes,
    /// On how many connections the client might say how often to acknowledge.
    pub ack_frequency: u64,
    /// On how many connections the client was not to change its address.
    pub migration_refused: u64,
}

impl QuicAnnounced {
    fn merge(&mut self, other: &Self) {
        self.connection_window_bytes.merge(other.connection_window_bytes);
        self.stream_window_bytes.merge(other.stream_window_bytes);
        self.streams.merge(other.streams);
        self.idle_timeout_ms.merge(other.idle_timeout_ms);
        self.ack_delay_ms.merge(other.ack_delay_ms);
        self.ack_frequency += other.ack_frequency;
        self.migration_refused += other.migration_refused;
    }
}

/// What was used of the tables of header fields (QPACK).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct QpackUse {
    /// The largest table that a server has asked for.
    pub capacity_bytes: Extremes,
    /// The most that its entries have counted together.
    pub used_bytes: Extremes,
    /// Entries that servers have put into it.
    pub entries: u64,
    /// Heads of answers.
    pub sections: u64,
    /// Those of them that needed the table.
    pub sections_with_entries: u64,
    /// Those of them that had to wait for it.
    pub sections_blocked: u64,
}

impl QpackUse {
    fn merge(&mut self, other: &Self) {
        self.capacity_bytes.merge(other.capacity_bytes);
        self.used_bytes.merge(other.used_bytes);
        self.entries += other.entries;
        self.sections += other.sections;
        self.sections_with_entries += other.sections_with_entries;
        self.sections_blocked += other.sections_blocked;
    }
}

/// Over all connections of a load, warm-up included; nothing where they do not speak HTTP/3.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "each is the count of its name")]
pub struct Quic {
    /// The times of the handshakes, by [`QuicHandshakeKind::ALL`].
    pub handshakes: [TimeHistogram; QuicHandshakeKind::ALL.len()],
    pub certificate_bytes: Extremes,
    pub packets_sent: u64,
    pub packets_lost: u64,
    pub congestion_events: u64,
    pub black_holes: u64,
    pub datagrams_sent: u64,
    pub datagrams_received: u64,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    pub acks_sent: u64,
    pub acks_received: u64,
    /// How often servers said that a window of the client held them up.
    pub peer_blocked: u64,
    /// How often a window of a server held the client up.
    pub blocked: u64,
    pub path_challenges: u64,
    /// How often the keys of packets were changed, by either side.
    pub key_updates: u64,
    /// The smoothed time of a round trip, of each connection at its end.
    pub rtt: TimeHistogram,
    /// The shortest one of each connection.
    pub rtt_min: TimeHistogram,
    pub mtu_bytes: Extremes,
    pub announced: QuicAnnounced,
    pub qpack: QpackUse,
    /// Connections whose end the server has announced (GOAWAY).
    pub goaways: u64,
    /// Requests that a server has not looked at.
    pub requests_rejected: u64,
    /// How often a connection had begun all streams that the server had allowed so far.
    pub stream_limits_met: u64,
    pub ends: QuicEnds,
    pub datagrams: DatagramCounts,
}

impl Quic {
    /// Counts a handshake of this class and length.
    pub fn handshake(&mut self, kind: QuicHandshakeKind, length: Nanos) {
        self.handshakes[kind as usize].record(length);
    }

    /// The times of the handshakes of a class.
    #[must_use]
    pub fn handshakes_of(&self, kind: QuicHandshakeKind) -> &TimeHistogram {
        &self.handshakes[kind as usize]
    }

    /// Adds what another one has counted.
    pub fn merge(&mut self, other: &Self) {
        for (times, more) in self.handshakes.iter_mut().zip(&other.handshakes) {
            times.merge(more);
        }
        self.certificate_bytes.merge(other.certificate_bytes);
        self.packets_sent += other.packets_sent;
        self.packets_lost += other.packets_lost;
        self.congestion_events += other.congestion_events;
        self.black_holes += other.black_holes;
        self.datagrams_sent += other.datagrams_sent;
        self.datagrams_received += other.datagrams_received;
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        self.acks_sent += other.acks_sent;
        self.acks_received += other.acks_received;
        self.peer_blocked += other.peer_blocked;
        self.blocked += other.blocked;
        self.path_challenges += other.path_challenges;
        self.key_updates += other.key_updates;
        self.rtt.merge(&other.rtt);
        self.rtt_min.merge(&other.rtt_min);
        self.mtu_bytes.merge(other.mtu_bytes);
        self.announced.merge(&other.announced);
        self.qpack.merge(&other.qpack);
        self.goaways += other.goaways;
        self.requests_rejected += other.requests_rejected;
        self.stream_limits_met += other.stream_limits_met;
        self.ends.merge(&other.ends);
        self.datagrams.merge(&other.datagrams);
    }
}
