//! The header by which a proxy tells a server whose connection it forwards (the PROXY protocol of `HAProxy`, versions 1 and
//! 2).

use std::net::{IpAddr, SocketAddr};

const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
/// Version 2, and a connection that is forwarded.
const FORWARDED: u8 = 0x21;
/// A stream over IPv4.
const TCP4: u8 = 0x11;
/// A stream over IPv6.
const TCP6: u8 = 0x21;
/// A connection without a word about its ends.
const UNSPECIFIED: u8 = 0x00;

/// The two ends of a connection: the client's, and the one that it went to. Both are of one family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// Where it comes from.
    pub from: SocketAddr,
    /// Where it goes.
    pub to: SocketAddr,
}

/// The header of version 1, a line; without ends, for a connection that is not of TCP.
#[must_use]
pub fn proxy_line(ends: Option<Ends>) -> Vec<u8> {
    let Some(Ends { from, to }) = ends else { return b"PROXY UNKNOWN\r\n".into() };
    let family = if from.is_ipv4() { "TCP4" } else { "TCP6" };
    let (here, there) = (from.ip(), to.ip());
    format!("PROXY {family} {here} {there} {} {}\r\n", from.port(), to.port()).into()
}

/// The header of version 2, in binary; without ends, for a connection that is not of TCP.
#[must_use]
pub fn proxy_header(ends: Option<Ends>) -> Vec<u8> {
    let (family, addresses) = match ends {
        None => (UNSPECIFIED, Vec::new()),
        Some(Ends { from, to }) => {
            let mut addresses = octets(from.ip());
            addresses.extend(octets(to.ip()));
            addresses.extend(from.port().to_be_bytes());
            addresses.extend(to.port().to_be_bytes());
            (if from.is_ipv4() { TCP4 } else { TCP6 }, addresses)
        }
    };
    let length = u16::try_from(addresses.len()).unwrap_or(u16::MAX).to_be_bytes();
    [SIGNATURE, &[FORWARDED, family], &length, &addresses].concat()
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().into(),
        IpAddr::V6(address) => address.octets().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Ends, proxy_header, proxy_line};

    fn ends(from: &str, to: &str) -> Ends {
        Ends { from: from.parse().unwrap(), to: to.parse().unwrap() }
    }

    // The examples of the specification, haproxy.org/download/2.8/doc/proxy-protocol.txt, 2.1.
    #[test]
    fn the_line_is_that_of_the_specification() {
        let line = |ends| String::from_utf8(proxy_line(ends)).unwrap();
        assert_eq!(
            line(Some(ends("192.168.0.1:56324", "192.168.0.11:443"))),
            "PROXY TCP4 192.168.0.1 192.168.0.11 56324 443\r\n"
        );
        let six = line(Some(ends("[2001:db8::1]:1", "[2001:db8::2]:65535")));
        assert_eq!(six, "PROXY TCP6 2001:db8::1 2001:db8::2 1 65535\r\n");
        assert_eq!(line(None), "PROXY UNKNOWN\r\n");
    }

    #[test]
    fn the_binary_header_has_the_layout_of_the_specification() {
        let signature = [0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A];
        let four = proxy_header(Some(ends("192.0.2.1:258", "192.0.2.9:443")));
        assert_eq!(four[..12], signature);
        assert_eq!(four[12..16], [0x21, 0x11, 0, 12]);
        assert_eq!(four[16..], [192, 0, 2, 1, 192, 0, 2, 9, 1, 2, 1, 187]);
        let six = proxy_header(Some(ends("[::1]:1", "[::2]:2")));
        assert_eq!((six.len(), &six[12..16]), (16 + 36, &[0x21, 0x21, 0, 36][..]));
        assert_eq!(proxy_header(None)[12..], [0x21, 0x00, 0, 0]);
    }
}
