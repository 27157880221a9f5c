//! Addresses of sockets, as the kernel's tables in `/proc/net` list them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The address as the kernel's tables name it: IPv4 as such, and this machine for the unspecified address.
pub(crate) fn canonical(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip().to_canonical() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// An address such as `0100007F:1F90`: the bytes of the network in words of this machine, and the port.
pub(crate) fn parse(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let words: Vec<u8> = (0..ip.len())
        .step_by(8)
        .map(|start| Some(u32::from_str_radix(ip.get(start..start + 8)?, 16).ok()?.to_ne_bytes()))
        .collect::<Option<Vec<[u8; 4]>>>()?
        .concat();
    let ip: IpAddr = match words.len() {
        4 => <[u8; 4]>::try_from(words).ok()?.into(),
        _ => <[u8; 16]>::try_from(words).ok()?.into(),
    };
    Some(SocketAddr::new(ip.to_canonical(), u16::from_str_radix(port, 16).ok()?))
}
