//! What the limits of HTTP/2, and the ends that servers announce, did to a load.

use loadcurve_plan::Nanos;
use serde::{Deserialize, Serialize};

use crate::TimeHistogram;

/// What was counted of one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // As the protocol that counts describes them.
pub struct ConnectionLimits {
    pub streams_allowed: Option<(u32, u32)>,
    pub was_limited: bool,
    pub ended_by: Option<u32>,
    pub streams_abandoned: u64,
    pub streams_refused: u64,
    pub bodies_delayed: u64,
    pub windows_used_up: u64,
    pub answers_behind_long: u64,
}

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
    fn add(&mut self, code: u32) {
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
    pub streams_allowed: Option<(u32, u32)>,
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
    /// How long measured requests waited that could not be sent because of the server's limit on streams.
    pub stream_wait: TimeHistogram,
    /// How long measured requests that a server had not looked at waited until they were sent once more.
    pub moved_wait: TimeHistogram,
}

impl Multiplexing {
    /// Adds what was counted of a connection.
    pub fn add(&mut self, connection: &ConnectionLimits) {
        self.note_allowed(connection.streams_allowed);
        self.connections_limited += u64::from(connection.was_limited);
        if let Some(code) = connection.ended_by {
            self.connections_ended.add(code);
        }
        self.streams_abandoned += connection.streams_abandoned;
        self.streams_refused += connection.streams_refused;
        self.bodies_delayed += connection.bodies_delayed;
        self.windows_used_up += connection.windows_used_up;
        self.answers_behind_long += connection.answers_behind_long;
    }

    /// A request that was due in the measured window waited for this time for a stream.
    pub(crate) fn waited(&mut self, length: Nanos) {
        self.stream_wait.record(length);
    }

    /// Adds what another one has counted.
    pub fn merge(&mut self, other: &Self) {
        self.note_allowed(other.streams_allowed);
        self.connections_limited += other.connections_limited;
        self.connections_ended.merge(&other.connections_ended);
        self.streams_abandoned += other.streams_abandoned;
        self.streams_refused += other.streams_refused;
        self.bodies_delayed += other.bodies_delayed;
        self.windows_used_up += other.windows_used_up;
        self.answers_behind_long += other.answers_behind_long;
        self.stream_wait.merge(&other.stream_wait);
        self.moved_wait.merge(&other.moved_wait);
    }

    fn note_allowed(&mut self, allowed: Option<(u32, u32)>) {
        let Some((least, most)) = allowed else { return };
        let (known_least, known_most) = self.streams_allowed.unwrap_or((least, most));
        self.streams_allowed = Some((least.min(known_least), most.max(known_most)));
    }
}

#[cfg(test)]
mod tests {
    use loadcurve_plan::Nanos;

    use super::{ConnectionLimits, Multiplexing};

    fn connection(allowed: Option<(u32, u32)>, was_limited: bool) -> ConnectionLimits {
        ConnectionLimits {
            streams_allowed: allowed,
            was_limited,
            ended_by: allowed.map(|(least, _)| if was_limited { 0 } else { least }),
            streams_abandoned: 5,
            streams_refused: 1,
            bodies_delayed: 2,
            windows_used_up: 3,
            answers_behind_long: 4,
        }
    }

    #[test]
    fn connections_add_up_and_limits_widen_in_whatever_order_recordings_merge() {
        let connections =
            [connection(Some((8, 8)), true), connection(None, false), connection(Some((128, 256)), false)];
        for split in 0..=connections.len() {
            let (mut first, mut second) = (Multiplexing::default(), Multiplexing::default());
            connections[..split].iter().for_each(|one| first.add(one));
            connections[split..].iter().for_each(|one| second.add(one));
            first.waited(Nanos(1_000));
            second.waited(Nanos(3_000));
            first.merge(&second);
            assert_eq!(first.streams_allowed, Some((8, 256)));
            assert_eq!(first.connections_limited, 1);
            // NO_ERROR is 0, and nothing is 128.
            let ended: Vec<_> = first.connections_ended.named().collect();
            assert_eq!(ended, [("NO_ERROR", 1), ("unknown", 1)]);
            assert_eq!((first.connections_ended.total(), first.connections_ended.by_error()), (2, 1));
            assert_eq!(first.streams_abandoned, 15);
            assert_eq!((first.streams_refused, first.bodies_delayed), (3, 6));
            assert_eq!((first.windows_used_up, first.answers_behind_long), (9, 12));
            assert_eq!(first.stream_wait.extremes(), Some((Nanos(1_000), Nanos(3_000))));
        }
    }

    #[test]
    fn where_no_server_has_set_a_limit_none_is_reported() {
        let mut all = Multiplexing::default();
        all.add(&connection(None, false));
        assert_eq!(all.streams_allowed, None);
    }
}
