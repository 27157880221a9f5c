//! How datagrams went through the sockets of a load.

use serde::{Deserialize, Serialize};

use crate::extremes::Extremes;

/// Over all sockets of a load, warm-up included; nothing where connections are streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DatagramCounts {
    /// Sockets that were opened: one for each connection, or one for those of a thread.
    pub sockets: u64,
    /// Those for which the kernel joins datagrams that arrive together (`UDP_GRO`).
    pub sockets_joining: u64,
    /// Those whose batches the kernel divides (`UDP_SEGMENT`), unless it refuses that.
    pub sockets_dividing: u64,
    /// System calls that sent something.
    pub sends: u64,
    /// The datagrams that were sent.
    pub sent: u64,
    /// How often the kernel refused to divide what it was given (`UDP_SEGMENT`).
    pub divisions_refused: u64,
    /// How often the kernel took nothing, because a buffer or a queue was full.
    pub sends_put_off: u64,
    /// Datagrams that were longer than the way takes, and are lost.
    pub too_long: u64,
    /// Messages that were received, of which a call may give several.
    pub receives: u64,
    /// The datagrams that were received.
    pub received: u64,
    /// Of those, what came to a shared socket for none of its open connections.
    pub unattributed: u64,
    /// Datagrams that the kernel has dropped at these sockets, because they were full.
    pub dropped: u64,
    /// What the kernel grants each socket to hold what has arrived, in bytes.
    pub receive_buffer_bytes: Extremes,
    /// The same for what is to be sent.
    pub send_buffer_bytes: Extremes,
    /// The longest packet that the link takes.
    pub link_mtu_bytes: Extremes,
}

impl DatagramCounts {
    /// Adds what another one has counted.
    pub fn merge(&mut self, other: &Self) {
        self.sockets += other.sockets;
        self.sockets_joining += other.sockets_joining;
        self.sockets_dividing += other.sockets_dividing;
        self.sends += other.sends;
        self.sent += other.sent;
        self.divisions_refused += other.divisions_refused;
        self.sends_put_off += other.sends_put_off;
        self.too_long += other.too_long;
        self.receives += other.receives;
        self.received += other.received;
        self.unattributed += other.unattributed;
        self.dropped += other.dropped;
        self.receive_buffer_bytes.merge(other.receive_buffer_bytes);
        self.send_buffer_bytes.merge(other.send_buffer_bytes);
        self.link_mtu_bytes.merge(other.link_mtu_bytes);
    }
}
