//! Asking the kernel for one listening socket or for all sockets, and its answers: `sock_diag(7)`, `linux/netlink.h`, `linux/inet_diag.h`.

use std::net::{IpAddr, SocketAddr};

/// A message's header: length, type, flags, number and sender.
const HEADER_BYTES: usize = 16;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLMSG_DONE: u16 = 3;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_DUMP: u16 = 0x300;

const IPPROTO_TCP: u8 = 6;
const TCP_TIME_WAIT: u8 = 6;
const TCP_LISTEN: u8 = 10;
/// Two ports, two addresses, an interface and a cookie.
const ADDRESSES_BYTES: usize = 48;
/// Any socket at these addresses, whatever its cookie.
const NO_COOKIE: [u8; 8] = [0xFF; 8];
/// Family, state, timer, retransmits, the socket's addresses, and until when the timer runs.
const BEFORE_QUEUES_BYTES: usize = 4 + 48 + 4;

/// A family of addresses, as the kernel numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    V4 = 2,
    V6 = 10,
}

impl Family {
    fn of(address: SocketAddr) -> Self {
        if address.is_ipv4() { Self::V4 } else { Self::V6 }
    }
}

/// How many connections wait to be accepted, and how many may before more are turned away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Queue {
    pub(crate) waiting: u32,
    pub(crate) backlog: u32,
}

/// The question for the socket that would get a connection to `local` from port `remote_port` of any machine.
pub(crate) fn question(local: SocketAddr, remote_port: u16) -> Vec<u8> {
    let ip = match local.ip() {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    let mut addresses = [local.port().to_be_bytes(), remote_port.to_be_bytes()].concat();
    addresses.extend(&ip);
    // Each address has room for one of IPv6; the other end is any machine, and any interface will do.
    let mut room = [0; ADDRESSES_BYTES];
    room[..addresses.len()].copy_from_slice(&addresses);
    room[ADDRESSES_BYTES - NO_COOKIE.len()..].copy_from_slice(&NO_COOKIE);
    message(NLM_F_REQUEST, Family::of(local), 1 << TCP_LISTEN, &room)
}

/// The question for all sockets of a family in any state but `TIME_WAIT`, of which there may be many times as many.
pub(crate) fn question_for_all(family: Family) -> Vec<u8> {
    message(NLM_F_REQUEST | NLM_F_DUMP, family, !(1 << TCP_TIME_WAIT), &[0; ADDRESSES_BYTES])
}

fn message(flags: u16, family: Family, states: u32, addresses: &[u8; ADDRESSES_BYTES]) -> Vec<u8> {
    let mut body = vec![family as u8, IPPROTO_TCP, 0, 0];
    body.extend(states.to_ne_bytes());
    body.extend(addresses);
    let length = u32::try_from(HEADER_BYTES + body.len()).unwrap_or(u32::MAX);
    let mut message = length.to_ne_bytes().to_vec();
    message.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    message.extend(flags.to_ne_bytes());
    message.extend([0; 8]);
    message.extend(body);
    message
}

/// How an answer to the question for all sockets ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// More is to come.
    Open,
    /// These were all.
    Done,
    /// The kernel does not tell.
    Refused,
}

/// Tells the states of the sockets in a part of the answer, in the kernel's numbers, and how that part ends.
pub(crate) fn states(mut answer: &[u8], mut tell: impl FnMut(u8)) -> End {
    while let Some((header, _)) = answer.split_at_checked(HEADER_BYTES) {
        let (length, kind) = (&header[..4], &header[4..6]);
        let length = length.try_into().map_or(0, u32::from_ne_bytes) as usize;
        let Some((message, _)) = answer.split_at_checked(length) else { return End::Refused };
        match kind.try_into().map_or(0, u16::from_ne_bytes) {
            SOCK_DIAG_BY_FAMILY if length > HEADER_BYTES + 1 => tell(message[HEADER_BYTES + 1]),
            NLMSG_DONE => return End::Done,
            _ => return End::Refused,
        }
        // Messages begin at multiples of four bytes.
        answer = answer.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    End::Open
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
