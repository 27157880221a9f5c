//! Where connections go, which of this machine's addresses they come from, and what comes first on them.

#![expect(unsafe_code, reason = "the kernel reads an option's value at an address that it gets")]

use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use libc::{IP_BIND_ADDRESS_NO_PORT, IPPROTO_IP, c_int, c_void, setsockopt, socklen_t};
use loadcurve_plan::{Destination, HttpLoad, ProxyProtocol};
use loadcurve_record::Failure;
use loadcurve_wire::{Ends, Tunnel, connect_request, proxy_header, proxy_line};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SendFlags, SocketAddrAny, SocketAddrUnix, SocketFlags, SocketType, ipproto, sockopt,
};

use super::Slot;

/// The two ends of one thread's connections.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    /// The addresses that take turns; at least one.
    to: Arc<[SocketAddrAny]>,
    /// The addresses of this machine that take turns; without any the kernel chooses.
    from: Arc<[IpAddr]>,
    /// Whose turn it is for the first slot, and how much later it is that of the next one's.
    first: usize,
    step: usize,
    entrance: Entrance,
}

/// What is sent on a connection before everything else.
#[derive(Clone, Debug, Default)]
struct Entrance {
    /// The header of a proxy.
    proxy_protocol: Option<ProxyProtocol>,
    /// The request for a tunnel, whose answer is awaited.
    tunnel: Option<Arc<[u8]>>,
}

impl Route {
    /// To an address, from the one that the kernel chooses.
    pub(crate) fn to(address: SocketAddr) -> Self {
        Self {
            to: Arc::from([address.into()]),
            from: Arc::default(),
            first: 0,
            step: 1,
            entrance: Entrance::default(),
        }
    }

    /// That of one thread of a load among all of its process: together their connections come from each of the load's
    /// addresses equally often, give or take one, and go to each of the server's.
    ///
    /// # Errors
    /// A path that no socket can have.
    pub(crate) fn of(plan: &HttpLoad, thread: usize, threads: usize) -> Result<Self, Errno> {
        let work = &plan.work;
        let first = match &work.address {
            Destination::Tcp(address) => (*address).into(),
            Destination::Unix(path) => SocketAddrUnix::new(path.as_path())?.into(),
        };
        let others = work.way.other_addresses.iter().map(|address| (*address).into());
        let target = work.way.proxied.as_deref().filter(|_| work.tls.is_some());
        Ok(Self {
            to: std::iter::once(first).chain(others).collect(),
            from: work.source_addresses.as_slice().into(),
            first: thread,
            step: threads,
            entrance: Entrance {
                proxy_protocol: work.way.proxy_protocol,
                tunnel: target
                    .map(|target| connect_request(target, work.way.proxy_authorization.as_deref()).into()),
            },
        })
    }

    fn turn(&self, slot: Slot) -> usize {
        self.first + slot * self.step
    }

    /// Where the connection of a slot goes.
    pub(super) fn address(&self, slot: Slot) -> &SocketAddrAny {
        &self.to[self.turn(slot) % self.to.len()]
    }

    /// Which of the pairs of an address of the server and one of this machine the connection of a slot has, from 0 on.
    #[cfg(feature = "tls")]
    pub(super) fn pair(&self, slot: Slot) -> usize {
        self.turn(slot) % self.pairs()
    }

    /// How many of these pairs there are.
    pub(crate) fn pairs(&self) -> usize {
        self.to.len() * self.sources()
    }

    /// Where the first one goes, and how many others there are; none for a Unix socket, which has no ports.
    pub(crate) fn destinations(&self) -> Option<(SocketAddr, usize)> {
        Some((self.to[0].clone().try_into().ok()?, self.to.len()))
    }

    /// Whether connections go to a Unix socket: they are made at once, or its queue is full, and then nothing says when
    /// there is room again.
    pub(super) fn is_local(&self) -> bool {
        self.to[0].address_family() == AddressFamily::UNIX
    }

    /// Whether connections stay within this machine, by the address of one end.
    #[cfg(feature = "tls")]
    pub(super) fn is_loopback(&self) -> bool {
        let address = |to: &SocketAddrAny| SocketAddr::try_from(to.clone()).ok();
        self.to.iter().filter_map(address).any(|to| to.ip().is_loopback())
    }

    /// How many of this machine's addresses take turns.
    pub(crate) fn sources(&self) -> usize {
        self.from.len().max(1)
    }

    /// Whether something comes first on connections.
    #[inline]
    pub(super) fn has_entrance(&self) -> bool {
        self.entrance.proxy_protocol.is_some() || self.entrance.tunnel.is_some()
    }

    /// Sends what comes first on a connection that has just been made; gives the tunnel whose answer is awaited.
    pub(super) fn enter(&self, socket: BorrowedFd<'_>) -> Result<Option<Tunnel>, Failure> {
        let mut first = match self.entrance.proxy_protocol {
            None => Vec::new(),
            Some(ProxyProtocol::One) => proxy_line(ends_of(socket)),
            Some(ProxyProtocol::Two) => proxy_header(ends_of(socket)),
        };
        first.extend(self.entrance.tunnel.iter().flat_map(|request| request.iter()));
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        // A connection that has sent nothing takes as little as this at once.
        match rustix::io::retry_on_intr(|| rustix::net::send(socket, &first, flags)) {
            Ok(sent) if sent == first.len() => Ok(self.entrance.tunnel.as_ref().map(|_| Tunnel::default())),
            Ok(_) | Err(_) => Err(Failure::ConnectRefused),
        }
    }

    /// Makes sure that this machine has the addresses.
    ///
    /// # Errors
    /// It lacks one, or does not let this process use it; the sentence says which.
    pub(crate) fn require_sources(&self) -> Result<(), String> {
        self.from.iter().enumerate().try_for_each(|(place, source)| {
            // The slot of the first thread whose turn it is.
            let alone = Self { first: place * self.to.len(), ..self.clone() };
            alone.socket(0, SocketFlags::CLOEXEC).map(drop).map_err(|errno| match errno {
                Errno::ADDRNOTAVAIL => format!(
                    "{source} is not an address of this machine, so it cannot be a source address: add it \
                    to an interface (as root: ip address add {source} dev INTERFACE), or remove it from the \
                    source addresses"
                ),
                errno => format!("{source} cannot be used as a source address: {errno}"),
            })
        })
    }

    /// A socket for the datagrams of a slot's connection.
    #[cfg(feature = "tls")]
    pub(super) fn datagram_socket(&self, slot: Slot) -> Result<OwnedFd, Errno> {
        let family = self.address(slot).address_family();
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let descriptor = rustix::net::socket_with(family, SocketType::DGRAM, flags, Some(ipproto::UDP))?;
        if !self.from.is_empty() {
            let source = self.from[self.turn(slot) / self.to.len() % self.from.len()];
            rustix::net::bind(&descriptor, &SocketAddr::new(source, 0))?;
        }
        Ok(descriptor)
    }

    /// A socket for the connection of a slot.
    pub(super) fn socket(&self, slot: Slot, flags: SocketFlags) -> Result<OwnedFd, Errno> {
        let family = self.address(slot).address_family();
        if family == AddressFamily::UNIX {
            return rustix::net::socket_with(family, SocketType::STREAM, flags, None);
        }
        let descriptor = rustix::net::socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
        sockopt::set_tcp_nodelay(&descriptor, true)?;
        if !self.from.is_empty() {
            // Each address of the server is reached from each of this machine's.
            let source = self.from[self.turn(slot) / self.to.len() % self.from.len()];
            leave_port_to_connect(&descriptor);
            rustix::net::bind(&descriptor, &SocketAddr::new(source, 0))?;
        }
        Ok(descriptor)
    }
}

/// The ends of a connection of TCP.
fn ends_of(socket: BorrowedFd<'_>) -> Option<Ends> {
    let from = rustix::net::getsockname(socket).ok()?.try_into().ok()?;
    let to = rustix::net::getpeername(socket).ok()??.try_into().ok()?;
    Some(Ends { from, to })
}

/// Lets the kernel choose the port when it knows both ends: a port that is chosen before serves one destination alone.
fn leave_port_to_connect(socket: &OwnedFd) {
    let yes: c_int = 1;
    let size = socklen_t::try_from(size_of_val(&yes)).unwrap_or(0);
    // SAFETY: the descriptor is open as long as it is borrowed; the kernel reads `size` bytes of what outlives the call.
    let status = unsafe {
        setsockopt(
            socket.as_raw_fd(),
            IPPROTO_IP,
            IP_BIND_ADDRESS_NO_PORT,
            (&raw const yes).cast::<c_void>(),
            size,
        )
    };
    // A kernel that lacks it (before Linux 4.2) chooses a port at once, and there are only fewer of them.
    debug_assert_eq!(status, 0, "the option is known to every kernel with io_uring");
}
