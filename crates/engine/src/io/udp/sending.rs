//! A batch of datagrams on its way into the kernel.

use std::num::NonZeroUsize;
use std::os::fd::BorrowedFd;

use loadcurve_record::{DatagramCounts, Failure};
use loadcurve_wire::DatagramBytes;
use rustix::io::Errno;

use super::refused;

/// How much of a batch the kernel has taken.
pub(super) enum Taken {
    All,
    /// This many bytes; it has no room for more now.
    Up(usize),
    Refused(Failure),
}

/// Sends a batch, as one where the kernel divides it, and otherwise one datagram after the other.
pub(super) fn send(
    socket: BorrowedFd<'_>,
    bytes: &[u8],
    cut: DatagramBytes,
    divides: &mut bool,
    counts: &mut DatagramCounts,
) -> Taken {
    let each = cut.0.map_or(bytes.len(), NonZeroUsize::get).max(1);
    if *divides || each >= bytes.len() {
        match loadcurve_datagrams::send(socket, None, bytes, cut.0) {
            Ok(()) => {
                counts.sends += 1;
                counts.sent += bytes.len().div_ceil(each) as u64;
                return Taken::All;
            }
            // The way out cannot divide what it gets.
            Err(Errno::IO) if each < bytes.len() => {
                counts.divisions_refused += 1;
                *divides = false;
            }
            // So the kernel says of a batch that its datagrams are too long, which they are one by one as well.
            Err(Errno::INVAL) if each < bytes.len() => {}
            Err(errno) => return not_taken(errno, 0, counts),
        }
    }
    let mut taken = 0;
    for datagram in bytes.chunks(each) {
        match loadcurve_datagrams::send(socket, None, datagram, None) {
            Ok(()) => {
                counts.sends += 1;
                counts.sent += 1;
            }
            Err(errno) => match not_taken(errno, taken, counts) {
                Taken::All => {}
                other => return other,
            },
        }
        taken += datagram.len();
    }
    Taken::All
}

/// What it means that the kernel has not taken datagrams: one that is too large for the way is lost, which the protocol
/// notices.
fn not_taken(errno: Errno, before: usize, counts: &mut DatagramCounts) -> Taken {
    match errno {
        Errno::AGAIN | Errno::NOBUFS => {
            counts.sends_put_off += 1;
            Taken::Up(before)
        }
        Errno::MSGSIZE => {
            counts.too_long += 1;
            Taken::All
        }
        // A firewall of this machine has dropped it, as one elsewhere would have without a word.
        Errno::PERM => Taken::All,
        errno => Taken::Refused(refused(errno)),
    }
}

#[cfg(test)]
mod tests {
    use loadcurve_record::{DatagramCounts, Failure};
    use rustix::io::Errno;

    use super::{Taken, not_taken};

    #[test]
    fn a_datagram_that_this_machine_does_not_let_out_is_lost_and_a_closed_port_is_not() {
        let mut counts = DatagramCounts::default();
        // netfilter's verdict on what is sent is EPERM.
        assert!(matches!(not_taken(Errno::PERM, 0, &mut counts), Taken::All));
        assert!(matches!(not_taken(Errno::MSGSIZE, 0, &mut counts), Taken::All));
        assert!(matches!(not_taken(Errno::AGAIN, 7, &mut counts), Taken::Up(7)));
        let refused = not_taken(Errno::CONNREFUSED, 0, &mut counts);
        assert!(matches!(refused, Taken::Refused(Failure::ConnectRefused)));
        assert_eq!((counts.too_long, counts.sends_put_off), (1, 1));
    }
}
