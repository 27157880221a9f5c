//! The two queues shared with the kernel: operations go in, completions come out.

#![expect(unsafe_code, reason = "the kernel reads and writes memory that the operations name by address")]

use std::fmt;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{EnterFlags, IoUring, opcode, squeue};
use loadcurve_plan::Nanos;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, SocketAddrAny};

use crate::io::uring::buffers::{BUFFER_GROUP, BufferRing};

/// A turn begins about as many operations as it has had events; more of them, as at the start of a load, go to the
/// kernel in several portions.
const SUBMISSION_ENTRIES: u32 = 256;
/// Completions that have no room wait in the kernel, so this bounds nothing but speed.
const COMPLETION_ENTRIES: u32 = 4096;

/// The token of what ends another operation, which no other one has.
const ENDS: u64 = u64::MAX;

/// Why the kernel does not give this process a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unavailable(Errno);

impl fmt::Display for Unavailable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what_to_do = match self.0 {
            Errno::PERM => {
                "set kernel.io_uring_disabled to 0 with sysctl, or allow it in the container's seccomp profile, or \
                 choose epoll"
            }
            Errno::NOSYS => "allow it in the container's seccomp profile if there is one, or choose epoll",
            Errno::INVAL => "it needs Linux 6.0 or newer; choose epoll",
            Errno::NOMEM => "raise the limit of locked memory (ulimit -l), or choose epoll",
            _ => "choose epoll",
        };
        write!(formatter, "io_uring is not available: {}: {what_to_do}", self.0)
    }
}

impl From<Errno> for Unavailable {
    fn from(errno: Errno) -> Self {
        Self(errno)
    }
}

impl From<std::io::Error> for Unavailable {
    fn from(error: std::io::Error) -> Self {
        Self(Errno::from_io_error(&error).unwrap_or(Errno::IO))
    }
}

/// How long [`Ring::enter`] waits for a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// It only submits.
    No,
    /// At most this long.
    AtMost(Nanos),
}

/// Something for the kernel to do.
pub(super) enum Operation<'a> {
    Connect(&'a SocketAddrAny),
    /// Receives into buffers of the ring until the end, one completion for each.
    Receive,
    /// Receives into one buffer of the ring.
    ReceiveOnce,
    /// Sends all of the bytes at once. If the connection does not take all of them, or if that is to be reported in any case,
    /// there is a completion when the operation has been submitted; it says how many were taken.
    SendNow {
        bytes: &'a [u8],
        notifies: bool,
    },
    /// Sends all of the bytes, as soon as the connection takes them.
    Send(&'a [u8]),
}

/// The kernel's answer to an operation.
#[derive(Clone, Copy)]
pub(super) struct Completion {
    pub(super) token: u64,
    /// A number of bytes, or why the operation failed.
    pub(super) result: Result<usize, Errno>,
    /// The buffer that was filled.
    pub(super) buffer: Option<u16>,
    /// Whether the operation continues.
    pub(super) more: bool,
}

/// A ring of one thread: the one that first enters it.
pub(super) struct Ring {
    ring: IoUring,
    enabled: bool,
}

impl Ring {
    /// A ring that is set up and not yet anybody's.
    pub(super) fn new() -> Result<Self, Unavailable> {
        let build = |deferred: bool| {
            let mut builder = IoUring::builder();
            builder.dontfork().setup_cqsize(COMPLETION_ENTRIES).setup_submit_all().setup_r_disabled();
            // Linux 6.0 brought this flag, and with it operations that receive many times: a kernel that knows the one
            // knows the other, about which it cannot be asked.
            builder.setup_single_issuer();
            if deferred {
                builder.setup_defer_taskrun()
            } else {
                builder.setup_coop_taskrun()
            };
            builder.build(SUBMISSION_ENTRIES)
        };
        // Linux 6.1 completes operations only when the thread waits, which saves interruptions.
        let ring = build(true).or_else(|_| build(false))?;
        Ok(Self { ring, enabled: false })
    }

    /// Lets operations of this ring receive into `buffers`.
    ///
    /// # Safety
    /// The memory of `buffers` must stay valid until the ring is dropped and no operation is under way any more.
    pub(super) unsafe fn register(&self, buffers: &BufferRing) -> Result<(), Unavailable> {
        // SAFETY: the address is that of a page-aligned array of exactly that many entries, which is valid as long as
        // the caller promises.
        unsafe {
            self.ring.submitter().register_buf_ring_with_flags(
                buffers.address(),
                BufferRing::COUNT,
                BUFFER_GROUP,
                0,
            )?;
        }
        Ok(())
    }

    /// Queues an operation on a socket, to be submitted when the ring is entered next.
    ///
    /// # Safety
    /// What the operation borrows must stay valid and unchanged until the operation is complete: for
    /// [`Operation::SendNow`] until it has been submitted, for the others until their last completion.
    pub(super) unsafe fn push(&mut self, socket: BorrowedFd<'_>, operation: &Operation<'_>, token: u64) {
        let socket = Fd(socket.as_raw_fd());
        let entry = match operation {
            Operation::Connect(address) => {
                opcode::Connect::new(socket, address.as_ptr().cast(), address.addr_len()).build()
            }
            Operation::Receive => opcode::RecvMulti::new(socket, BUFFER_GROUP).build(),
            // The length is that of the buffer.
            Operation::ReceiveOnce => opcode::Recv::new(socket, std::ptr::null_mut(), 0)
                .buf_group(BUFFER_GROUP)
                .build()
                .flags(squeue::Flags::BUFFER_SELECT),
            Operation::SendNow { bytes, notifies } => {
                let unless_notified =
                    if *notifies { squeue::Flags::empty() } else { squeue::Flags::SKIP_SUCCESS };
                send(socket, bytes, SendFlags::DONTWAIT).flags(unless_notified)
            }
            Operation::Send(bytes) => send(socket, bytes, SendFlags::empty()),
        };
        // SAFETY: the caller promises that what the entry points to lives as long as the operation.
        unsafe { self.push_entry(&entry.user_data(token)) };
    }

    /// Queues the end of the operation of a token, which then completes as cancelled unless it is complete before.
    pub(super) fn push_end(&mut self, token: u64) {
        let entry = opcode::AsyncCancel::new(token).build().flags(squeue::Flags::SKIP_SUCCESS);
        // SAFETY: the entry points to nothing.
        unsafe { self.push_entry(&entry.user_data(ENDS)) };
    }

    /// # Safety
    /// What the entry points to must live as long as its operation.
    unsafe fn push_entry(&mut self, entry: &squeue::Entry) {
        // SAFETY: the caller promises it.
        while unsafe { self.ring.submission().push(entry) }.is_err() {
            self.enter(Wait::No);
        }
    }

    /// Whether operations wait to be submitted.
    pub(super) fn has_queued(&mut self) -> bool {
        !self.ring.submission().is_empty()
    }

    /// Submits what is queued and waits for a completion, all in one call of the kernel.
    pub(super) fn enter(&mut self, wait: Wait) {
        if !self.enabled {
            // From here on the ring belongs to this thread.
            self.ring
                .submitter()
                .register_enable_rings()
                .expect("a ring that was made disabled can be enabled");
            self.enabled = true;
        }
        let queued = self.ring.submission().len();
        #[expect(clippy::cast_possible_truncation, reason = "a queue has at most that many entries")]
        let queued = queued as u32;
        let submitter = self.ring.submitter();
        let entered = match wait {
            // SAFETY: there is no argument that could be wrong.
            Wait::No => unsafe { submitter.enter::<()>(queued, 0, 0, None) },
            Wait::AtMost(Nanos::ZERO) => {
                let flags = EnterFlags::GETEVENTS.bits();
                // SAFETY: as above.
                unsafe { submitter.enter::<()>(queued, 0, flags, None) }
            }
            Wait::AtMost(longest) => {
                let length = Timespec::from(Duration::from_nanos(longest.0));
                let arguments = SubmitArgs::new().timespec(&length);
                let mut flags = EnterFlags::GETEVENTS | EnterFlags::EXT_ARG;
                if self.ring.params().is_feature_no_iowait() {
                    // Waiting for a server is not waiting for a disk, and shall not be accounted as if it were.
                    flags |= EnterFlags::NO_IOWAIT;
                }
                // SAFETY: with EXT_ARG the argument is this struct, and the length that it points to outlives the call.
                unsafe { submitter.enter(queued, 1, flags.bits(), Some(&arguments)) }
            }
        };
        match entered.map_err(|error| Errno::from_io_error(&error)) {
            // What could not be submitted stays in the queue.
            Ok(_) | Err(Some(Errno::TIME | Errno::INTR | Errno::AGAIN | Errno::BUSY)) => {}
            Err(errno) => panic!("the kernel refused to wait on the io_uring ring: {errno:?}"),
        }
    }

    /// The next completion that the kernel has left, but for what became of ends of others.
    pub(super) fn next_completion(&mut self) -> Option<Completion> {
        let entry = self.ring.completion().find(|entry| entry.user_data() != ENDS)?;
        Some(Completion {
            token: entry.user_data(),
            result: usize::try_from(entry.result()).map_err(|_| Errno::from_raw_os_error(-entry.result())),
            buffer: io_uring::cqueue::buffer_select(entry.flags()),
            more: io_uring::cqueue::more(entry.flags()),
        })
    }
}

fn send(socket: Fd, bytes: &[u8], flags: SendFlags) -> squeue::Entry {
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    let flags = (flags | SendFlags::NOSIGNAL).bits() | RecvFlags::WAITALL.bits();
    let flags = i32::try_from(flags).expect("the flags of messages are small numbers");
    opcode::Send::new(socket, bytes.as_ptr(), length).flags(flags).build()
}

#[cfg(test)]
mod tests {
    use super::Unavailable;
    use rustix::io::Errno;

    #[test]
    fn a_kernel_that_refuses_is_quoted_and_every_refusal_says_what_to_do() {
        for (errno, remedy) in [
            (Errno::PERM, "kernel.io_uring_disabled"),
            (Errno::NOSYS, "seccomp"),
            (Errno::INVAL, "Linux 6.0"),
            (Errno::NOMEM, "ulimit -l"),
            (Errno::MFILE, "epoll"),
        ] {
            let text = Unavailable::from(std::io::Error::from(errno)).to_string();
            assert!(text.contains(remedy) && text.contains(&errno.to_string()), "{text}");
        }
    }
}
