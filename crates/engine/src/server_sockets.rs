//! The server's sockets of UDP, as its machine's kernel lists them.

use std::fs;
use std::net::SocketAddr;

/// What is known of the sockets at which a server takes datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerSockets {
    /// Sockets that are bound to its port and connected to nobody.
    pub(crate) sockets: u64,
    /// Datagrams that the kernel has dropped at all sockets of its port, because they were full.
    pub(crate) dropped: u64,
}

impl ServerSockets {
    /// Those of this machine, or of this process's network namespace, at an address; `None` where there are none: the server
    /// runs elsewhere.
    pub(crate) fn at(address: SocketAddr) -> Option<Self> {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let is_own = |text: &str| found(text, address.port());
        let [one, other] = [is_own(&read("/proc/self/net/udp")), is_own(&read("/proc/self/net/udp6"))];
        let together = Self { sockets: one.sockets + other.sockets, dropped: one.dropped + other.dropped };
        (together.sockets > 0).then_some(together)
    }

    /// What was dropped since `earlier`.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self { dropped: self.dropped.saturating_sub(earlier.dropped), ..self }
    }
}

/// The sockets of a port in the kernel's list, a line for each.
fn found(text: &str, port: u16) -> ServerSockets {
    let port_of = |place: &str| u16::from_str_radix(place.rsplit_once(':')?.1, 16).ok();
    let mut all = ServerSockets::default();
    for line in text.lines().skip(1) {
        let mut parts = line.split_whitespace().skip(1);
        let (Some(local), Some(remote)) = (parts.next(), parts.next()) else { continue };
        if port_of(local) != Some(port) {
            continue;
        }
        all.sockets += u64::from(port_of(remote) == Some(0));
        all.dropped += parts.last().and_then(|drops| drops.parse::<u64>().ok()).unwrap_or(0);
    }
    all
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::{ServerSockets, found};

    /// As Linux 6 writes it: two sockets of port 8443, one of them connected, and one of port 53.
    const LIST: &str = "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops            \n\
        \x20 100: 0100007F:20FB 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 20 2 0000000000000000 7         \n\
        \x20 101: 0100007F:20FB 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 21 2 0000000000000000 5         \n\
        \x20 102: 0100007F:0035 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 22 2 0000000000000000 9         \n";

    #[test]
    fn the_sockets_of_a_port_are_those_that_wait_for_anybody_and_all_of_them_drop() {
        assert_eq!(found(LIST, 8443), ServerSockets { sockets: 1, dropped: 12 });
        assert_eq!(found(LIST, 443), ServerSockets::default());
        assert_eq!(found("", 8443), ServerSockets::default());
    }

    #[test]
    fn a_socket_of_this_machine_is_found_and_none_where_nobody_listens() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        assert_eq!(ServerSockets::at(address), Some(ServerSockets { sockets: 1, dropped: 0 }));
        drop(socket);
        assert_eq!(ServerSockets::at(address), None);
    }
}
