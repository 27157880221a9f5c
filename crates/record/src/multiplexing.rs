//! What the limits of HTTP/2, and the ends that servers announce, did to a load.

use serde::{Deserialize, Serialize};

use crate::TimeHistogram;
use crate::extremes::Extremes;

/// The names of the codes with which HTTP/2 ends connections, each at its number (RFC 9113 §7), and behind them that of all
/// others.
const CODES: [&str; 15] = [
    "NO_ERROR",
    "PROTOCOL_ERROR",
    "INTERNAL_ERROR",
    "FLOW_CONTROL_ERROR",
    "SETTINGS_TIMEOUT",
    "STREAM_CLOSED",
    "FRAME_SIZE_ERROR",
    "REFUSED_STREAM",
    "CANCEL",
    "COMPRESSION_ERROR",
    "CONNECT_ERROR",
    "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY",
    "HTTP_1_1_REQUIRED",
    "unknown",
];

/// Connections whose end a server has announced, by the code of the first announcement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndsByCode([u64; CODES.len()]);

impl EndsByCode {
    /// Counts one more, which ended with this code.
    pub fn add(&mut self, code: u32) {
        let unknown = CODES.len() - 1;
        self.0[usize::try_from(code).map_or(unknown, |code| code.min(unknown))] += 1;
    }

    fn merge(&mut self, other: &Self) {
        for (count, more) in self.0.iter_mut().zip(other.0) {
            *count += more;
        }
    }

    /// All of them.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Those for which an error was the reason.
    #[must_use]
    pub fn by_error(&self) -> u64 {
        self.0[1..].iter().sum()
    }

    /// The names of the codes that came, each with its count.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, u64)> {
        CODES.into_iter().zip(self.0).filter(|(_, count)| *count > 0)
    }
}

/// Over all connections of a load, warm-up included; nothing where the protocol carries one answer after the other.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Multiplexing {
    /// The least and the greatest number of streams at once that a server has allowed, if it has set a limit.
    pub streams_allowed: Extremes,
    /// Connections on which that was less than the load asked for.
    pub connections_limited: u64,
    /// Connections whose end the server has announced.
    pub connections_ended: EndsByCode,
    /// Streams that the server was to answer by such an announcement, and that were under way when it closed the connection.
    pub streams_abandoned: u64,
    /// Streams that the server has refused without looking at them.
    pub streams_refused: u64,
    /// Requests whose bodies had to wait for a window of the server.
    pub bodies_delayed: u64,
    /// How often a server had sent all that the client's windows let it.
    pub windows_used_up: u64,
    /// Short answers that ended behind a long run of another one's data, which began when they were under way.
    pub answers_behind_long: u64,
    /// Answers that had begun, and that their server left behind while it answered others on their connection.
    pub answers_starved: u64,
    /// How long measured requests waited that could not be sent because of the server's limit on streams.
    pub stream_wait: TimeHistogram,
    /// How long measured requests that a server had not looked at waited until they were sent once more.
    pub moved_wait: TimeHistogram,
}

impl Multiplexing {
    /// Adds what another one has counted.
    pub fn merge(&mut self, other: &Self) {
        self.streams_allowed.merge(other.streams_allowed);
        self.connections_limited += other.connections_limited;
        self.connections_ended.merge(&other.connections_ended);
        self.streams_abandoned += other.streams_abandoned;
        self.streams_refused += other.streams_refused;
        self.bodies_delayed += other.bodies_delayed;
        self.windows_used_up += other.windows_used_up;
        self.answers_behind_long += other.answers_behind_long;
        self.answers_starved += other.answers_starved;
        self.stream_wait.merge(&other.stream_wait);
        self.moved_wait.merge(&other.moved_wait);
    }
}
