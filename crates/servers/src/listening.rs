//! The socket that clients connect to.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener};

use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, sockopt};

/// Listens, and says on stdout where; the flags are the socket's.
///
/// # Errors
/// When the address cannot be listened on.
pub(crate) fn listen(address: SocketAddr, backlog: i32, flags: SocketFlags) -> io::Result<TcpListener> {
    let listener = quietly(address, backlog, flags)?;
    announce(&listener)?;
    Ok(listener)
}

/// Says on stdout where somebody listens.
///
/// # Errors
/// When nobody reads that any more.
pub(crate) fn announce(listener: &TcpListener) -> io::Result<()> {
    writeln!(io::stdout(), "listening on {}", listener.local_addr()?)
}

/// Listens without a word.
///
/// # Errors
/// When the address cannot be listened on.
pub(crate) fn quietly(address: SocketAddr, backlog: i32, flags: SocketFlags) -> io::Result<TcpListener> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = flags | SocketFlags::CLOEXEC;
    let listener = rustix::net::socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
    sockopt::set_socket_reuseaddr(&listener, true)?;
    rustix::net::bind(&listener, &address)?;
    rustix::net::listen(&listener, backlog)?;
    Ok(TcpListener::from(listener))
}
