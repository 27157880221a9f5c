//! The way to a server: where connections go, and what comes before everything else on them.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::limits::SOCKET_PATH_BYTES_MAX;

/// What a Unix socket's path comes behind where a destination is a text.
const UNIX: &str = "unix:";

/// Where connections go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Destination {
    /// A TCP port.
    Tcp(SocketAddr),
    /// A Unix socket of this machine.
    Unix(PathBuf),
}

impl Destination {
    /// The address of a TCP port; none of a Unix socket.
    #[must_use]
    pub fn tcp(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(address) => Some(*address),
            Self::Unix(_) => None,
        }
    }
}

impl From<SocketAddr> for Destination {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp(address)
    }
}

impl FromStr for Destination {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some(path) = text.strip_prefix(UNIX) else {
            return text.parse().map(Self::Tcp).map_err(|_| {
                format!("{text:?} is neither a numeric address with a port, nor \"unix:\" with a path")
            });
        };
        if path.is_empty() || path.len() > SOCKET_PATH_BYTES_MAX || path.contains('\0') {
            return Err(format!(
                "{path:?} is no path of a Unix socket: it has 1 to {SOCKET_PATH_BYTES_MAX} bytes"
            ));
        }
        Ok(Self::Unix(path.into()))
    }
}

impl TryFrom<String> for Destination {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Destination> for String {
    fn from(destination: Destination) -> Self {
        destination.to_string()
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(formatter),
            Self::Unix(path) => write!(formatter, "{UNIX}{}", path.display()),
        }
    }
}

/// The version of the PROXY protocol, by which a proxy tells a server whose connection it forwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub enum ProxyProtocol {
    /// A line of text.
    One,
    /// A header in binary.
    Two,
}

impl TryFrom<u8> for ProxyProtocol {
    type Error = String;

    fn try_from(version: u8) -> Result<Self, String> {
        match version {
            1 => Ok(Self::One),
            2 => Ok(Self::Two),
            other => Err(format!("{other} is no version of the PROXY protocol, which has 1 and 2")),
        }
    }
}

impl From<ProxyProtocol> for u8 {
    fn from(version: ProxyProtocol) -> Self {
        match version {
            ProxyProtocol::One => 1,
            ProxyProtocol::Two => 2,
        }
    }
}

/// What has a socket of UDP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sockets {
    /// Each connection.
    #[default]
    Connection,
    /// Each thread, for all of its connections between the same two addresses.
    Thread,
}

/// What is special of the way to a server; nothing unless it is given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Way {
    /// Further addresses, with which the destination takes turns: connection by connection.
    pub other_addresses: Vec<SocketAddr>,
    /// Each connection begins with a header of it.
    pub proxy_protocol: Option<ProxyProtocol>,
    /// The server's host and port, where the destination is an HTTP proxy that leads there.
    pub proxied: Option<String>,
    /// The credentials for that proxy: the value of `Proxy-Authorization`, a secret.
    pub proxy_authorization: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::{Destination, Way};

    #[test]
    fn a_destination_is_read_as_it_is_written() {
        for text in ["127.0.0.1:80", "[::1]:8080", "unix:/run/app.sock", "unix:relative.sock"] {
            let destination: Destination = serde_json::from_value(text.into()).unwrap();
            assert_eq!(destination.to_string(), text);
            assert_eq!(serde_json::to_value(&destination).unwrap(), text);
        }
    }

    #[test]
    fn what_is_no_destination_is_refused() {
        for text in ["", "localhost:80", "127.0.0.1", "unix:", &format!("unix:/{}", "x".repeat(107))] {
            assert!(text.parse::<Destination>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_proxy_protocol_has_two_versions() {
        let way = |version: u8| serde_json::from_value::<Way>(serde_json::json!({"proxy_protocol": version}));
        assert!(way(1).is_ok() && way(2).is_ok());
        assert!(way(0).is_err() && way(3).is_err());
    }
}
