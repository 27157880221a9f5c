//! Asking the kernel for one listening socket, and its answer: `sock_diag(7)`, `linux/netlink.h`, `linux/inet_diag.h`.

use std::net::{IpAddr, SocketAddr};

/// A message's header: length, type, flags, number and sender.
const HEADER_BYTES: usize = 16;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST: u16 = 1;

const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
const IPPROTO_TCP: u8 = 6;
const TCP_LISTEN: u8 = 10;
/// Any socket at these addresses, whatever its cookie.
const NO_COOKIE: [u8; 8] = [0xFF; 8];
/// Family, state, timer, retransmits, the socket's addresses, and until when the timer runs.
const BEFORE_QUEUES_BYTES: usize = 4 + 48 + 4;

/// How many connections wait to be accepted, and how many may before more are turned away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Queue {
    pub(crate) waiting: u32,
    pub(crate) backlog: u32,
}

/// The question for the socket that would get a connection to `local` from port `remote_port` of any machine.
pub(crate) fn question(local: SocketAddr, remote_port: u16) -> Vec<u8> {
    let (family, ip) = match local.ip() {
        IpAddr::V4(ip) => (AF_INET, ip.octets().to_vec()),
        IpAddr::V6(ip) => (AF_INET6, ip.octets().to_vec()),
    };
    let mut body = vec![family, IPPROTO_TCP, 0, 0];
    body.extend((1_u32 << TCP_LISTEN).to_ne_bytes());
    body.extend(local.port().to_be_bytes());
    body.extend(remote_port.to_be_bytes());
    body.extend(&ip);
    // Each address has room for one of IPv6; the other end is any machine.
    body.resize(body.len() + 16 - ip.len() + 16, 0);
    // Any interface.
    body.extend(0_u32.to_ne_bytes());
    body.extend(NO_COOKIE);
    let length = u32::try_from(HEADER_BYTES + body.len()).unwrap_or(u32::MAX);
    let mut message = length.to_ne_bytes().to_vec();
    message.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    message.extend(NLM_F_REQUEST.to_ne_bytes());
    message.extend([0; 8]);
    message.extend(body);
    message
}

/// The queue of the socket in an answer; none for an error, such as that nobody listens.
pub(crate) fn queue(answer: &[u8]) -> Option<Queue> {
    let (header, body) = answer.split_at_checked(HEADER_BYTES)?;
    let kind = u16::from_ne_bytes(header[4..6].try_into().ok()?);
    let (before, rest) = body.split_at_checked(BEFORE_QUEUES_BYTES)?;
    if kind != SOCK_DIAG_BY_FAMILY || before[1] != TCP_LISTEN {
        return None;
    }
    // For a listening socket these are the accept queue and its limit.
    let (waiting, rest) = rest.split_at_checked(4)?;
    let (backlog, _) = rest.split_at_checked(4)?;
    let number = |bytes: &[u8]| Some(u32::from_ne_bytes(bytes.try_into().ok()?));
    Some(Queue { waiting: number(waiting)?, backlog: number(backlog)? })
}
