//! Connections as the kernel lists them (`Documentation/networking/proc_net_tcp.rst`).

use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};

/// The state of an end that has said all and only waits for stray packets (`include/net/tcp_states.h`).
const TIME_WAIT: &str = "06";

/// One end of a connection over TCP.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listed {
    /// Whether it waits for the answer to its SYN.
    pub(crate) is_connecting: bool,
    /// How often it has sent again what it waits for.
    pub(crate) retransmits: u32,
}

impl Listed {
    /// The ends whose other end is at `address`, an IPv4 one. For a minute after a connection its end waits for stray
    /// packets; it is left out, because it may be of an earlier server that had the same port.
    pub(crate) fn connections_to(address: SocketAddr) -> Vec<Self> {
        let IpAddr::V4(ip) = address.ip() else { panic!("{address} is not an IPv4 address") };
        // The address is printed as the number that its bytes are in memory.
        let remote = format!("{:08X}:{:04X}", u32::from_ne_bytes(ip.octets()), address.port());
        let table = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
        let lines = table.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
        lines
            .filter(|fields| fields[2] == remote && fields[3] != TIME_WAIT)
            .map(|fields| Self {
                is_connecting: fields[3] == "02",
                retransmits: u32::from_str_radix(fields[6], 16).unwrap(),
            })
            .collect()
    }
}

#[test]
fn a_connection_that_has_ended_is_not_listed() {
    let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = server.local_addr().unwrap();
    let client = TcpStream::connect(address).unwrap();
    let (mut accepted, _) = server.accept().unwrap();
    assert_eq!(Listed::connections_to(address).len(), 1);
    // The side that closes first is the one that waits.
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(accepted.read(&mut [0]).unwrap(), 0);
    accepted.shutdown(Shutdown::Write).unwrap();
    assert_eq!((&client).read(&mut [0]).unwrap(), 0);
    assert!(Listed::connections_to(address).is_empty());
}
