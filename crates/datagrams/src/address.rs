//! Addresses as the kernel has them in memory (ip(7), ipv6(7)).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

use libc::{AF_INET, AF_INET6, socklen_t};

/// How long an address of either family is.
const IPV4_BYTES: u8 = 16;
const IPV6_BYTES: u8 = 28;

/// An address: its family, its port, and what each family has behind that.
#[derive(Clone, Copy, Debug)]
#[repr(align(8))]
pub(crate) struct Address {
    bytes: [u8; IPV6_BYTES as usize],
    length: u8,
}

impl Default for Address {
    /// Room for one of either family.
    fn default() -> Self {
        Self { bytes: [0; IPV6_BYTES as usize], length: IPV6_BYTES }
    }
}

fn family(family: i32) -> [u8; 2] {
    u16::try_from(family).unwrap_or(0).to_ne_bytes()
}

impl Address {
    pub(crate) fn of(address: SocketAddr) -> Self {
        let mut written = Self::default();
        let Self { bytes, length } = &mut written;
        bytes[2..4].copy_from_slice(&address.port().to_be_bytes());
        match address {
            SocketAddr::V4(address) => {
                bytes[..2].copy_from_slice(&family(AF_INET));
                bytes[4..8].copy_from_slice(&address.ip().octets());
                *length = IPV4_BYTES;
            }
            SocketAddr::V6(address) => {
                bytes[..2].copy_from_slice(&family(AF_INET6));
                bytes[4..8].copy_from_slice(&address.flowinfo().to_be_bytes());
                bytes[8..24].copy_from_slice(&address.ip().octets());
                bytes[24..].copy_from_slice(&address.scope_id().to_ne_bytes());
            }
        }
        written
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    pub(crate) fn length(&self) -> socklen_t {
        self.length.into()
    }

    /// What the kernel has written; nothing where that is of neither family.
    pub(crate) fn socket_address(&self) -> Option<SocketAddr> {
        let (head, rest) = self.bytes.split_first_chunk::<4>()?;
        let port = u16::from_be_bytes([head[2], head[3]]);
        let begin = [head[0], head[1]];
        if begin == family(AF_INET) {
            let ip = Ipv4Addr::from(*rest.first_chunk::<4>()?);
            Some(SocketAddr::new(IpAddr::V4(ip), port))
        } else if begin == family(AF_INET6) {
            let (flow, rest) = rest.split_first_chunk::<4>()?;
            let (ip, rest) = rest.split_first_chunk::<16>()?;
            let scope = u32::from_ne_bytes(*rest.first_chunk::<4>()?);
            let ip = Ipv6Addr::from(*ip);
            Some(SocketAddr::V6(SocketAddrV6::new(ip, port, u32::from_be_bytes(*flow), scope)))
        } else {
            None
        }
    }
}
