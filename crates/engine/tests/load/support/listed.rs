//! Connections as the kernel lists them (`Documentation/networking/proc_net_tcp.rst`).

use std::net::{IpAddr, SocketAddr};

/// One end of a connection over TCP.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listed {
    /// Whether it waits for the answer to its SYN.
    pub(crate) is_connecting: bool,
    /// How often it has sent again what it waits for.
    pub(crate) retransmits: u32,
}

impl Listed {
    /// The ends whose other end is at `address`, an IPv4 one.
    pub(crate) fn connections_to(address: SocketAddr) -> Vec<Self> {
        let IpAddr::V4(ip) = address.ip() else { panic!("{address} is not an IPv4 address") };
        // The address is printed as the number that its bytes are in memory.
        let remote = format!("{:08X}:{:04X}", u32::from_ne_bytes(ip.octets()), address.port());
        let table = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
        let lines = table.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
        lines
            .filter(|fields| fields[2] == remote)
            .map(|fields| Self {
                is_connecting: fields[3] == "02",
                retransmits: u32::from_str_radix(fields[6], 16).unwrap(),
            })
            .collect()
    }
}
