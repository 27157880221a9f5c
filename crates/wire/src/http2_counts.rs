//! What the limits of HTTP/2 did to a connection, as any exchange hands it on.

/// What was counted of one connection since it was opened, or since it was last asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Http2Counts {
    /// The least and the greatest number of streams at once that the peer has allowed, if it has set a limit.
    pub streams_allowed: Option<(u32, u32)>,
    /// Whether that was less than the connection was made for, at any time.
    pub was_limited: bool,
    /// Why the peer has announced the end of the connection, if it has: the code of its first GOAWAY. What it says later
    /// is of an end that is under way, and may be about what crossed it.
    pub ended_by: Option<u32>,
    /// Streams that it was to answer by its last GOAWAY, and that were under way when it closed the connection.
    pub streams_abandoned: u64,
    /// Streams that the peer has refused without looking at them (`REFUSED_STREAM`).
    pub streams_refused: u64,
    /// Requests whose bodies had to wait for a window of the peer.
    pub bodies_delayed: u64,
    /// How often the peer had sent all that the client's windows let it, and more was to come.
    pub windows_used_up: u64,
    /// Short answers that ended behind a long run of data of another one, which began when they were under way.
    pub answers_behind_long: u64,
}
