//! Several datagrams in one call: the kernel cuts what is sent (`UDP_SEGMENT`) and joins what has arrived (`UDP_GRO`; udp(7)).

#![expect(unsafe_code, reason = "the kernel reads and writes messages at addresses that it gets")]

mod address;

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::{array, mem, ptr};

use libc::{
    CMSG_DATA, CMSG_FIRSTHDR, CMSG_LEN, CMSG_NXTHDR, CMSG_SPACE, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE,
    IPPROTO_IP, IPPROTO_IPV6, IPV6_MTU_DISCOVER, MSG_NOSIGNAL, SOL_UDP, UDP_GRO, UDP_SEGMENT, c_int, c_void,
    iovec, mmsghdr, msghdr, recvmmsg, recvmsg, sendmmsg, sendmsg, setsockopt, socklen_t,
};
use rustix::io::Errno;

use address::Address;

/// The most messages that one call of [`receive_several`] or [`send_several`] takes.
pub const MESSAGES_MAX: usize = 16;

/// A message that is sent: bytes as datagrams of this length, the last of which may be shorter; without one, as a datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Message<'a> {
    /// The bytes of all datagrams together.
    pub bytes: &'a [u8],
    /// How long each of them but the last is, where there are several.
    pub each: Option<NonZeroUsize>,
}

/// A message that was received: a datagram, or several of a length that the kernel has joined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// The bytes of all datagrams together.
    pub length: usize,
    /// How long each of them but the last is, where there are several.
    pub each: Option<u16>,
    /// Who has sent them, where that was asked for.
    pub from: Option<SocketAddr>,
}

/// Room for one number beside a message, aligned as the kernel wants it.
#[repr(align(8))]
struct Beside([u8; 64]);

fn set(socket: BorrowedFd<'_>, level: c_int, option: c_int, value: c_int) -> bool {
    let size = socklen_t::try_from(size_of_val(&value)).unwrap_or(0);
    // SAFETY: the descriptor is open as long as it is borrowed; the kernel reads `size` bytes of what outlives the call.
    let status =
        unsafe { setsockopt(socket.as_raw_fd(), level, option, (&raw const value).cast::<c_void>(), size) };
    status == 0
}

/// Has a socket join datagrams that arrive together, where the kernel does that, and send none in fragments: the protocol finds
/// out which length the way takes. Says whether it joins them.
#[must_use]
pub fn prepare(socket: BorrowedFd<'_>) -> bool {
    // One of the two is the family of the socket.
    let _ = set(socket, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
    let _ = set(socket, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IP_PMTUDISC_PROBE);
    set(socket, SOL_UDP, UDP_GRO, 1)
}

/// A message of these bytes with this room beside it.
fn message(bytes: &mut iovec, beside: &mut Beside) -> msghdr {
    // SAFETY: all its fields are numbers and addresses, for which zero stands for none.
    let mut message: msghdr = unsafe { mem::zeroed() };
    message.msg_iov = ptr::from_mut(bytes);
    message.msg_iovlen = 1;
    message.msg_control = beside.0.as_mut_ptr().cast::<c_void>();
    message.msg_controllen = beside.0.len();
    message
}

/// Sends bytes as datagrams of this length, the last of which may be shorter, to the peer of a connected socket or to an address.
///
/// # Errors
/// The kernel does not take them; `AGAIN` and `NOBUFS` where it will take them later.
pub fn send(
    socket: BorrowedFd<'_>,
    to: Option<SocketAddr>,
    bytes: &[u8],
    each: Option<NonZeroUsize>,
) -> Result<(), Errno> {
    let mut to = to.map(Address::of);
    let mut part = iovec { iov_base: bytes.as_ptr().cast_mut().cast::<c_void>(), iov_len: bytes.len() };
    let mut beside = Beside([0; 64]);
    let mut message = message(&mut part, &mut beside);
    if let Some(to) = &mut to {
        message.msg_name = to.bytes_mut().as_mut_ptr().cast::<c_void>();
        message.msg_namelen = to.length();
    }
    cut(&mut message, bytes.len(), each)?;
    uninterrupted(|| {
        // SAFETY: the descriptor is open as long as it is borrowed; all that the message leads to outlives the call, and the
        // kernel reads it only.
        unsafe { sendmsg(socket.as_raw_fd(), &raw const message, MSG_NOSIGNAL) }
    })
    .map(drop)
}

/// Has the kernel cut a message of this many bytes into datagrams of this length, where they are several.
fn cut(message: &mut msghdr, bytes: usize, each: Option<NonZeroUsize>) -> Result<(), Errno> {
    let Some(each) = each.map(NonZeroUsize::get).filter(|each| *each < bytes) else {
        message.msg_control = ptr::null_mut();
        message.msg_controllen = 0;
        return Ok(());
    };
    let each = u16::try_from(each).map_err(|_| Errno::MSGSIZE)?;
    let size = u32::try_from(size_of_val(&each)).unwrap_or(0);
    // SAFETY: the room beside the message is larger than one header with a number of two bytes, and aligned for it.
    unsafe {
        message.msg_controllen = CMSG_SPACE(size) as usize;
        let header = CMSG_FIRSTHDR(ptr::from_ref(message));
        (*header).cmsg_level = SOL_UDP;
        (*header).cmsg_type = UDP_SEGMENT;
        (*header).cmsg_len = CMSG_LEN(size) as usize;
        CMSG_DATA(header).cast::<u16>().write_unaligned(each);
    }
    Ok(())
}

/// Sends the first of these messages, up to [`MESSAGES_MAX`], to the peer of a connected socket, in one call and in their order; gives
/// how many the kernel has taken, at least one. It does not say why it took no more: the next call does.
///
/// # Errors
/// The kernel does not take the first one, as for [`send`].
pub fn send_several(socket: BorrowedFd<'_>, messages: &[Message<'_>]) -> Result<usize, Errno> {
    let mut beside = [const { Beside([0; 64]) }; MESSAGES_MAX];
    let mut parts: [iovec; MESSAGES_MAX] =
        array::from_fn(|_| iovec { iov_base: ptr::null_mut(), iov_len: 0 });
    // SAFETY: all its fields are numbers and addresses, for which zero stands for none.
    let mut headers: [mmsghdr; MESSAGES_MAX] = unsafe { mem::zeroed() };
    let mut most = 0;
    for (((one, part), beside), header) in messages.iter().zip(&mut parts).zip(&mut beside).zip(&mut headers)
    {
        *part = iovec { iov_base: one.bytes.as_ptr().cast_mut().cast::<c_void>(), iov_len: one.bytes.len() };
        header.msg_hdr = message(part, beside);
        match cut(&mut header.msg_hdr, one.bytes.len(), one.each) {
            Err(errno) if most == 0 => return Err(errno),
            Err(_) => break,
            Ok(()) => most += 1,
        }
    }
    uninterrupted(|| {
        // SAFETY: the descriptor is open as long as it is borrowed; all that the first `most` messages lead to outlives the call,
        // and the kernel reads it only, and writes the length that was sent into each of them.
        unsafe { sendmmsg(socket.as_raw_fd(), headers.as_mut_ptr(), most, MSG_NOSIGNAL) }
    })
}

/// Takes datagrams that have arrived, all from the same sender.
///
/// # Errors
/// There is none (`AGAIN`), or the kernel reports what has become of those that were sent.
pub fn receive(socket: BorrowedFd<'_>, to: &mut [u8]) -> Result<Received, Errno> {
    received(socket, to, None)
}

/// The same on a socket that is not connected, with who has sent them.
///
/// # Errors
/// As for [`receive`].
pub fn receive_from(socket: BorrowedFd<'_>, to: &mut [u8]) -> Result<Received, Errno> {
    received(socket, to, Some(&mut Address::default()))
}

fn received(
    socket: BorrowedFd<'_>,
    to: &mut [u8],
    mut from: Option<&mut Address>,
) -> Result<Received, Errno> {
    let mut part = iovec { iov_base: to.as_mut_ptr().cast::<c_void>(), iov_len: to.len() };
    let mut beside = Beside([0; 64]);
    let mut message = message(&mut part, &mut beside);
    if let Some(from) = &mut from {
        message.msg_namelen = from.length();
        message.msg_name = from.bytes_mut().as_mut_ptr().cast::<c_void>();
    }
    let length = uninterrupted(|| {
        // SAFETY: the descriptor is open as long as it is borrowed; the kernel writes no more than the lengths in the message
        // allow to what it leads to, which is borrowed for the call.
        unsafe { recvmsg(socket.as_raw_fd(), &raw mut message, 0) }
    })?;
    // SAFETY: the kernel has just received this message.
    let each = unsafe { joined(&message) };
    let from = from.and_then(|from| from.socket_address());
    Ok(Received { length, each, from })
}

/// Takes up to as many messages as `received` has places, in one call; gives how many there were. Each begins at a multiple of
/// the room that `to` has for one of them.
///
/// # Errors
/// As for [`receive`].
pub fn receive_several(
    socket: BorrowedFd<'_>,
    to: &mut [u8],
    received: &mut [Received],
) -> Result<usize, Errno> {
    let most = received.len().min(MESSAGES_MAX);
    let room = to.len() / most.max(1);
    let mut beside = [const { Beside([0; 64]) }; MESSAGES_MAX];
    let mut parts: [iovec; MESSAGES_MAX] =
        array::from_fn(|_| iovec { iov_base: ptr::null_mut(), iov_len: 0 });
    // SAFETY: all its fields are numbers and addresses, for which zero stands for none.
    let mut messages: [mmsghdr; MESSAGES_MAX] = unsafe { mem::zeroed() };
    let rooms = to.chunks_exact_mut(room.max(1)).take(most);
    for (((bytes, part), beside), one) in rooms.zip(&mut parts).zip(&mut beside).zip(&mut messages) {
        *part = iovec { iov_base: bytes.as_mut_ptr().cast::<c_void>(), iov_len: bytes.len() };
        one.msg_hdr = message(part, beside);
    }
    let most = u32::try_from(most).unwrap_or(0);
    let count = uninterrupted(|| {
        // SAFETY: the descriptor is open as long as it is borrowed; the kernel writes no more than the lengths in the first
        // `most` messages allow to what they lead to, which outlives the call.
        unsafe { recvmmsg(socket.as_raw_fd(), messages.as_mut_ptr(), most, 0, ptr::null_mut()) }
    })?;
    for (one, to) in messages[..count].iter().zip(received) {
        // SAFETY: the kernel has just received this message.
        let each = unsafe { joined(&one.msg_hdr) };
        *to = Received { length: one.msg_len as usize, each, from: None };
    }
    Ok(count)
}

/// How long each of the datagrams is that the kernel has joined to this message, but for the last one.
///
/// # Safety
/// The kernel has received the message, and what it leads to is still there.
unsafe fn joined(message: &msghdr) -> Option<u16> {
    // SAFETY: the kernel has filled the room beside the message with whole headers, up to the length that it has set; the
    // macros go no further. A number of this kind has four bytes.
    let each = unsafe {
        let mut header = CMSG_FIRSTHDR(ptr::from_ref(message));
        loop {
            if header.is_null() {
                break None;
            }
            if (*header).cmsg_level == SOL_UDP && (*header).cmsg_type == UDP_GRO {
                break Some(CMSG_DATA(header).cast::<c_int>().read_unaligned());
            }
            header = CMSG_NXTHDR(ptr::from_ref(message), header);
        }
    };
    each.and_then(|each| u16::try_from(each).ok())
}

/// What the kernel holds for a socket, and has not held.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// How much that has arrived it holds at most.
    pub receive_buffer_bytes: u32,
    /// How much that is to be sent.
    pub send_buffer_bytes: u32,
    /// Datagrams that found no room since the socket was opened.
    pub dropped: u32,
}

/// What the kernel says of a socket's memory; `None` where it does not (before Linux 4.12).
#[must_use]
pub fn memory(socket: BorrowedFd<'_>) -> Option<Memory> {
    const RECEIVE_BUFFER: usize = 1;
    const SEND_BUFFER: usize = 3;
    const DROPPED: usize = 8;
    let mut values = [0_u32; DROPPED + 1];
    let read = get(socket, libc::SOL_SOCKET, libc::SO_MEMINFO, &mut values)?;
    (read == size_of_val(&values)).then_some(Memory {
        receive_buffer_bytes: values[RECEIVE_BUFFER],
        send_buffer_bytes: values[SEND_BUFFER],
        dropped: values[DROPPED],
    })
}

/// The longest packet that the link of a connected socket takes, as far as the kernel knows.
#[must_use]
pub fn link_mtu_bytes(socket: BorrowedFd<'_>) -> Option<u32> {
    let known = |level, option| {
        let mut value = [0_u32; 1];
        get(socket, level, option, &mut value).map(|_| value[0])
    };
    // One of the two is the family of the socket.
    known(IPPROTO_IP, libc::IP_MTU).or_else(|| known(IPPROTO_IPV6, libc::IPV6_MTU))
}

/// Reads the numbers that are an option's value; gives how many bytes there are.
fn get(socket: BorrowedFd<'_>, level: c_int, option: c_int, to: &mut [u32]) -> Option<usize> {
    let mut size = socklen_t::try_from(size_of_val(to)).ok()?;
    // SAFETY: the descriptor is open as long as it is borrowed; the kernel writes no more than `size` bytes, which are those of
    // `to`, and whatever they are, they are numbers.
    let status = unsafe {
        libc::getsockopt(socket.as_raw_fd(), level, option, to.as_mut_ptr().cast::<c_void>(), &raw mut size)
    };
    (status == 0).then_some(size as usize)
}

/// Repeats a call of the kernel for as long as signals interrupt it; gives what it counted.
fn uninterrupted<N>(mut call: impl FnMut() -> N) -> Result<usize, Errno>
where
    usize: TryFrom<N>,
{
    loop {
        // A negative number is an error, which the thread then has.
        if let Ok(count) = usize::try_from(call()) {
            return Ok(count);
        }
        match last_error() {
            Errno::INTR => {}
            errno => return Err(errno),
        }
    }
}

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}
