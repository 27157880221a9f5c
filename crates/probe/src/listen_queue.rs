//! The queue of connections that the server has yet to accept, which the kernel reports through a separate socket.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};
use serde::Serialize;

use crate::parse::inet_diag::{Queue, question, queue};

/// An answer takes some 130 bytes.
const ANSWER_BYTES: usize = 4096;

/// The queue of the server's listening socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ListenQueue {
    /// Connections that wait to be accepted.
    waiting: u32,
    /// How many may: the least of what the server asked for and `net.core.somaxconn` when it did.
    backlog: u32,
}

/// A listening socket that is looked at.
pub(crate) struct Listener {
    kernel: OwnedFd,
    address: SocketAddr,
    /// Where several sockets share the address, the kernel chooses by the other end, so that another one is taken each time.
    remote_port: u16,
}

impl Listener {
    /// Prepares to look at what listens at this address; `None` if the kernel cannot be asked.
    pub(crate) fn new(address: SocketAddr) -> Option<Self> {
        Some(Self { kernel: kernel_socket()?, address, remote_port: 0 })
    }

    /// The queue now; `None` if nobody listens, or the kernel does not tell.
    pub(crate) fn queue(&mut self) -> Option<ListenQueue> {
        self.remote_port = self.remote_port.wrapping_add(1);
        send(&self.kernel, &question(self.address, self.remote_port), SendFlags::empty()).ok()?;
        let mut answer = [0; ANSWER_BYTES];
        // The kernel has answered before it returns from the question.
        let (length, _) = recv(&self.kernel, &mut answer, RecvFlags::DONTWAIT).ok()?;
        let Queue { waiting, backlog } = queue(&answer[..length])?;
        Some(ListenQueue { waiting, backlog })
    }
}

/// A socket over which the kernel reports sockets; `None` if it reports none.
pub(crate) fn kernel_socket() -> Option<OwnedFd> {
    let (family, kind, protocol) = (AddressFamily::NETLINK, SocketType::DGRAM, netlink::SOCK_DIAG);
    socket_with(family, kind, SocketFlags::CLOEXEC, Some(protocol)).ok()
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, TcpStream};
    use std::os::fd::OwnedFd;

    use rustix::net::{AddressFamily, SocketType, bind, getsockname, listen, socket};

    use super::{ListenQueue, Listener};

    /// A socket that is bound to this address, and which port it has got.
    fn bound(address: &str) -> (OwnedFd, SocketAddr) {
        let address: SocketAddr = address.parse().unwrap();
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let socket = socket(family, SocketType::STREAM, None).unwrap();
        bind(&socket, &address).unwrap();
        let bound = getsockname(&socket).unwrap().try_into().unwrap();
        (socket, bound)
    }

    /// A socket that listens at this address with this backlog.
    fn listening(address: &str, backlog: i32) -> (OwnedFd, SocketAddr) {
        let (socket, bound) = bound(address);
        listen(&socket, backlog).unwrap();
        (socket, bound)
    }

    #[test]
    fn connections_that_nobody_accepts_wait_in_a_queue_of_the_length_that_was_asked_for() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let (_socket, address) = listening(address, 17);
            let mut listener = Listener::new(address).unwrap();
            assert_eq!(listener.queue(), Some(ListenQueue { waiting: 0, backlog: 17 }));
            let _clients: Vec<_> = (0..5).map(|_| TcpStream::connect(address).unwrap()).collect();
            assert_eq!(listener.queue(), Some(ListenQueue { waiting: 5, backlog: 17 }));
        }
    }

    #[test]
    fn a_server_that_listens_at_every_address_is_found_at_each() {
        let (_socket, address) = listening("0.0.0.0:0", 9);
        let mut listener = Listener::new(([127, 0, 0, 1], address.port()).into()).unwrap();
        assert_eq!(listener.queue(), Some(ListenQueue { waiting: 0, backlog: 9 }));
    }

    #[test]
    fn where_nobody_listens_there_is_no_queue() {
        // A socket that is bound and does not listen keeps its port from everybody else.
        let (_socket, address) = bound("127.0.0.1:0");
        assert_eq!(Listener::new(address).unwrap().queue(), None);
    }
}
