//! What the kernel reports of a connection by `TCP_INFO` (tcp(7)), an option that `rustix` does not read.

#![expect(unsafe_code, reason = "the kernel writes the answer at an address that it gets")]

use std::mem::offset_of;
use std::os::fd::{AsRawFd, BorrowedFd};

use libc::{IPPROTO_TCP, TCP_INFO, c_void, getsockopt, socklen_t, tcp_info};

/// The number of bytes of the answer up to the end of the one field that is read.
const ANSWER_BYTES: usize = offset_of!(tcp_info, tcpi_total_retrans) + size_of::<u32>();

/// How many segments the socket has sent again since it was made, its SYN among them; `None` if the kernel does not
/// tell: an older one answers with fewer bytes.
pub(super) fn retransmits(socket: BorrowedFd<'_>) -> Option<u32> {
    let mut answer = [0_u8; ANSWER_BYTES];
    let whole = socklen_t::try_from(ANSWER_BYTES).ok()?;
    let mut length = whole;
    // SAFETY: the descriptor is open as long as it is borrowed. The kernel writes at most `length` bytes to the array,
    // which has that many, and their number to `length`; both outlive the call.
    let status = unsafe {
        getsockopt(
            socket.as_raw_fd(),
            IPPROTO_TCP,
            TCP_INFO,
            answer.as_mut_ptr().cast::<c_void>(),
            &raw mut length,
        )
    };
    if status != 0 || length < whole {
        return None;
    }
    let [.., a, b, c, d] = answer;
    Some(u32::from_ne_bytes([a, b, c, d]))
}
