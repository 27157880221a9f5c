//! Where connections go, and which of this machine's addresses they come from.

#![expect(unsafe_code, reason = "the kernel reads an option's value at an address that it gets")]

use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use libc::{IP_BIND_ADDRESS_NO_PORT, IPPROTO_IP, c_int, c_void, setsockopt, socklen_t};
use loadcurve_plan::HttpLoad;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, sockopt};

use super::Slot;

/// The two ends of one thread's connections.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    to: SocketAddr,
    /// The addresses that take turns; without any the kernel chooses.
    from: Arc<[IpAddr]>,
    /// Whose turn it is for the first slot, and how much later it is that of the next one's.
    first: usize,
    step: usize,
}

impl Route {
    /// To an address, from the one that the kernel chooses.
    pub(crate) fn to(address: SocketAddr) -> Self {
        Self { to: address, from: Arc::default(), first: 0, step: 1 }
    }

    /// That of one thread of a load among all of its process: together their connections come from each of the load's
    /// addresses equally often, give or take one.
    pub(crate) fn of(plan: &HttpLoad, thread: usize, threads: usize) -> Self {
        let from = plan.work.source_addresses.as_slice().into();
        Self { to: plan.work.address, from, first: thread, step: threads }
    }

    /// Where the connections go.
    pub(crate) fn address(&self) -> SocketAddr {
        self.to
    }

    /// How many of this machine's addresses take turns.
    pub(crate) fn sources(&self) -> usize {
        self.from.len().max(1)
    }

    /// Makes sure that this machine has the addresses.
    ///
    /// # Errors
    /// It lacks one, or does not let this process use it; the sentence says which.
    pub(crate) fn require_sources(&self) -> Result<(), String> {
        self.from.iter().enumerate().try_for_each(|(place, source)| {
            // The slot of the first thread whose turn it is.
            let alone = Self { first: place, ..self.clone() };
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

    /// A socket for the connection of a slot.
    pub(super) fn socket(&self, slot: Slot, flags: SocketFlags) -> Result<OwnedFd, Errno> {
        let family = if self.to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let descriptor = rustix::net::socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
        sockopt::set_tcp_nodelay(&descriptor, true)?;
        if !self.from.is_empty() {
            let source = self.from[(self.first + slot * self.step) % self.from.len()];
            leave_port_to_connect(&descriptor);
            rustix::net::bind(&descriptor, &SocketAddr::new(source, 0))?;
        }
        Ok(descriptor)
    }
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
