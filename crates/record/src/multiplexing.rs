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
    pub was_ended: bool,
    pub was_ended_by_error: bool,
    pub streams_refused: u64,
    pub bodies_delayed: u64,
    pub windows_used_up: u64,
    pub answers_behind_long: u64,
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
    pub connections_ended: u64,
    /// Those of them for which it has given an error as the reason.
    pub connections_ended_by_error: u64,
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
        self.connections_ended += u64::from(connection.was_ended);
        self.connections_ended_by_error += u64::from(connection.was_ended_by_error);
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
        self.connections_ended += other.connections_ended;
        self.connections_ended_by_error += other.connections_ended_by_error;
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
            was_ended: was_limited,
            was_ended_by_error: allowed.is_some(),
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
            assert_eq!((first.connections_limited, first.connections_ended), (1, 1));
            assert_eq!(first.connections_ended_by_error, 2);
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
