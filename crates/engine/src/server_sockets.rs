//! The server's sockets of UDP, as its machine's kernel lists them.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use crate::listed_address;

/// What is known of the sockets at which a server takes datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerSockets {
    /// Sockets that take what is sent to its addresses, from anybody.
    pub(crate) sockets: u64,
    /// Datagrams that the kernel has dropped at these, and at those that take what one peer sends there, because they were full.
    pub(crate) dropped: u64,
}

impl ServerSockets {
    /// Those of this machine, or of this process's network namespace, at these addresses; `None` where there are none, or an address
    /// is another machine's: the server runs elsewhere.
    pub(crate) fn at(addresses: &[SocketAddr]) -> Option<Self> {
        if !addresses.iter().all(|address| is_own(*address)) {
            return None;
        }
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let lists = [read("/proc/self/net/udp"), read("/proc/self/net/udp6")];
        let all: Vec<Listed> =
            lists.iter().flat_map(|list| list.lines().skip(1).filter_map(listed)).collect();
        let found = found(&all, addresses);
        (found.sockets > 0).then_some(found)
    }

    /// What was dropped since `earlier`.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self { dropped: self.dropped.saturating_sub(earlier.dropped), ..self }
    }
}

/// Whether an address is this machine's: a socket can have no other one.
fn is_own(address: SocketAddr) -> bool {
    let mut own = address;
    own.set_port(0);
    UdpSocket::bind(own).is_ok()
}

/// A line of the kernel's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Listed {
    local: SocketAddr,
    /// Whether it takes what one peer sends, and nothing else.
    is_connected: bool,
    dropped: u64,
}

impl Listed {
    /// How much another socket is preferred to this one for what is sent to an address; `None` where it gets nothing of that.
    fn rank(&self, address: SocketAddr) -> Option<u8> {
        if self.local.port() != address.port() {
            return None;
        }
        match (self.local.ip(), listed_address::canonical(address).ip()) {
            (own, to) if own == to => Some(0),
            (IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V4(_))
            | (IpAddr::V6(Ipv6Addr::UNSPECIFIED), IpAddr::V6(_)) => Some(1),
            (IpAddr::V6(Ipv6Addr::UNSPECIFIED), IpAddr::V4(_)) => Some(2),
            _ => None,
        }
    }
}

fn listed(line: &str) -> Option<Listed> {
    let mut parts = line.split_whitespace().skip(1);
    let (local, remote) = (listed_address::parse(parts.next()?)?, listed_address::parse(parts.next()?)?);
    Some(Listed { local, is_connected: remote.port() != 0, dropped: parts.last()?.parse().unwrap_or(0) })
}

/// The sockets that take what is sent to any of the addresses: the kernel gives it to those that are bound to the address, or else to
/// those of all addresses.
fn found(all: &[Listed], addresses: &[SocketAddr]) -> ServerSockets {
    let first = |address: SocketAddr| {
        all.iter().filter(|one| !one.is_connected).filter_map(|one| one.rank(address)).min()
    };
    let takes = |one: &&Listed| {
        addresses.iter().any(|address| {
            let rank = one.rank(*address);
            rank.is_some() && (rank == first(*address) || one.is_connected && rank == Some(0))
        })
    };
    all.iter().filter(takes).fold(ServerSockets::default(), |sum, one| ServerSockets {
        sockets: sum.sockets + u64::from(!one.is_connected),
        dropped: sum.dropped + one.dropped,
    })
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, UdpSocket};

    use super::{ServerSockets, found, is_own, listed};

    /// As Linux 6 writes them on a machine of little-endian numbers: port 8443 on 127.0.0.1, there connected, on 127.0.0.2 and on `::1`;
    /// port 443 on all addresses of either family; port 53.
    const LIST: [&str; 8] = [
        " 100: 0100007F:20FB 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 20 2 0000000000000000 7",
        " 101: 0100007F:20FB 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 21 2 0000000000000000 5",
        " 102: 0200007F:20FB 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 22 2 0000000000000000 900",
        " 103: 00000000000000000000000001000000:20FB 00000000000000000000000000000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 23 2 0000000000000000 3",
        " 104: 00000000:01BB 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 24 2 0000000000000000 11",
        " 105: 00000000000000000000000000000000:01BB 00000000000000000000000000000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 25 2 0000000000000000 13",
        " 106: 0000000000000000FFFF00000100007F:0050 00000000000000000000000000000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 26 2 0000000000000000 17",
        " 107: 00000000000000000000000000000000:0035 00000000000000000000000000000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 27 2 0000000000000000 19",
    ];

    #[test]
    #[cfg(target_endian = "little")]
    fn the_sockets_of_a_server_are_those_that_the_kernel_gives_what_is_sent_to_its_addresses() {
        let all: Vec<_> = LIST.iter().filter_map(|line| listed(line)).collect();
        assert_eq!(all.len(), LIST.len());
        let at = |addresses: &[&str]| {
            let addresses: Vec<SocketAddr> = addresses.iter().map(|one| one.parse().unwrap()).collect();
            let ServerSockets { sockets, dropped } = found(&all, &addresses);
            (sockets, dropped)
        };
        // Another server has the same port on another address.
        assert_eq!(at(&["127.0.0.1:8443"]), (1, 12));
        assert_eq!(at(&["127.0.0.2:8443"]), (1, 900));
        assert_eq!(at(&["[::1]:8443"]), (1, 3));
        assert_eq!(at(&["127.0.0.1:8443", "[::1]:8443"]), (2, 15));
        assert_eq!(at(&["127.0.0.3:8443"]), (0, 0));
        // What is sent to no address in particular comes to this machine.
        assert_eq!(at(&["0.0.0.0:8443"]), (1, 12));
        // Of sockets of all addresses that of IPv4 gets what is sent over it, and one of IPv6 where there is no other.
        assert_eq!(at(&["127.0.0.1:443"]), (1, 11));
        assert_eq!(at(&["[::1]:443"]), (1, 13));
        assert_eq!(at(&["127.0.0.1:53"]), (1, 19));
        assert_eq!(at(&["127.0.0.1:80"]), (1, 17));
    }

    #[test]
    fn a_socket_of_this_machine_is_found_and_none_where_nobody_listens() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        let elsewhere = SocketAddr::from(([127, 0, 0, 2], address.port()));
        assert_eq!(ServerSockets::at(&[address]), Some(ServerSockets { sockets: 1, dropped: 0 }));
        assert_eq!(ServerSockets::at(&[elsewhere]), None);
        drop(socket);
        assert_eq!(ServerSockets::at(&[address]), None);
    }

    #[test]
    fn an_address_of_documentation_is_no_machines_and_that_of_loopback_is_everyones() {
        // RFC 5737.
        assert!(!is_own(([192, 0, 2, 1], 8443).into()));
        assert!(is_own(([127, 0, 0, 2], 8443).into()));
    }
}
