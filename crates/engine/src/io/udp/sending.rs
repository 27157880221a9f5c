//! Datagrams on their way into the kernel.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::os::fd::BorrowedFd;

use loadcurve_datagrams::{MESSAGES_MAX, Message};
use loadcurve_record::{DatagramCounts, Failure};
use loadcurve_wire::DatagramBytes;
use rustix::io::Errno;

use super::refused;

/// What has waited for this long is sent, whatever else is to come: a batch of one connection may have as much.
const UNSENT_BYTES_MAX: usize = 64 * 1024;

/// How much of a batch the kernel has taken.
pub(super) enum Taken {
    All,
    /// This many bytes; it has no room for more now.
    Up(usize),
    Refused(Failure),
}

/// How datagrams leave this machine, and what was counted of it.
pub(super) struct Way<'a> {
    /// Whether the kernel divides what it is given.
    pub(super) divides: &'a mut bool,
    pub(super) counts: &'a mut DatagramCounts,
}

/// Sends a batch, as one where the kernel divides it, and otherwise one datagram after the other.
pub(super) fn send(socket: BorrowedFd<'_>, bytes: &[u8], cut: DatagramBytes, mut way: Way<'_>) -> Taken {
    let each = datagram_bytes(bytes.len(), cut);
    if *way.divides || each >= bytes.len() {
        match loadcurve_datagrams::send(socket, None, bytes, cut.0) {
            Ok(()) => {
                way.counts.sends += 1;
                way.counts.sent += bytes.len().div_ceil(each) as u64;
                return Taken::All;
            }
            Err(errno) => return way.on_batch_error(socket, bytes, each, errno),
        }
    }
    way.send_singly(socket, bytes, each)
}

/// How long the datagrams of a batch of this many bytes are.
fn datagram_bytes(bytes: usize, cut: DatagramBytes) -> usize {
    cut.0.map_or(bytes, NonZeroUsize::get).max(1)
}

impl Way<'_> {
    /// What follows from it that the kernel has not taken a batch of datagrams of `each` bytes.
    fn on_batch_error(&mut self, socket: BorrowedFd<'_>, bytes: &[u8], each: usize, errno: Errno) -> Taken {
        match errno {
            // The way out cannot divide what it gets.
            Errno::IO if each < bytes.len() => {
                self.counts.divisions_refused += 1;
                *self.divides = false;
                self.send_singly(socket, bytes, each)
            }
            // So the kernel says of a batch that its datagrams are too long, which they are one by one as well.
            Errno::INVAL if each < bytes.len() => self.send_singly(socket, bytes, each),
            errno => on_datagram_error(errno, 0, self.counts),
        }
    }

    /// Sends one datagram after the other.
    fn send_singly(&mut self, socket: BorrowedFd<'_>, bytes: &[u8], each: usize) -> Taken {
        let mut taken = 0;
        for datagram in bytes.chunks(each) {
            match loadcurve_datagrams::send(socket, None, datagram, None) {
                Ok(()) => {
                    self.counts.sends += 1;
                    self.counts.sent += 1;
                }
                Err(errno) => match on_datagram_error(errno, taken, self.counts) {
                    Taken::All => {}
                    other => return other,
                },
            }
            taken += datagram.len();
        }
        Taken::All
    }
}

/// What it means that the kernel has not taken datagrams: one that is too large for the way is lost, which the protocol
/// notices.
fn on_datagram_error(errno: Errno, before: usize, counts: &mut DatagramCounts) -> Taken {
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

/// Batches for a socket that the kernel has not got yet, in their order.
#[derive(Default)]
pub(super) struct Unsent {
    bytes: Vec<u8>,
    /// How many of the bytes are sent.
    sent: usize,
    /// How much is left of each batch, and its division.
    batches: VecDeque<(usize, DatagramBytes)>,
}

impl Unsent {
    pub(super) fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }

    /// Whether there is as much as one call takes.
    pub(super) fn is_full(&self) -> bool {
        self.batches.len() >= MESSAGES_MAX || self.bytes.len() - self.sent >= UNSENT_BYTES_MAX
    }

    pub(super) fn add(&mut self, bytes: &[u8], cut: DatagramBytes) {
        self.bytes.extend_from_slice(bytes);
        self.batches.push_back((bytes.len(), cut));
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.sent = 0;
        self.batches.clear();
    }

    /// Sends all, as far as the kernel takes it, several messages in one call.
    pub(super) fn send(&mut self, socket: BorrowedFd<'_>, mut way: Way<'_>) -> Result<(), Failure> {
        while !self.is_empty() {
            let mut messages = [Message::default(); MESSAGES_MAX];
            let count = self.next_messages(*way.divides, &mut messages);
            let taken = match loadcurve_datagrams::send_several(socket, &messages[..count]) {
                Ok(count) => {
                    let sent = &messages[..count];
                    way.counts.sends += 1;
                    way.counts.sent += sent.iter().map(|one| datagrams(*one)).sum::<u64>();
                    sent.iter().map(|one| one.bytes.len()).sum()
                }
                // That is said of the first one.
                Err(errno) => {
                    let Message { bytes, each } = messages[0];
                    match way.on_batch_error(
                        socket,
                        bytes,
                        datagram_bytes(bytes.len(), DatagramBytes(each)),
                        errno,
                    ) {
                        Taken::All => bytes.len(),
                        Taken::Up(taken) => {
                            self.remove(taken);
                            return Ok(());
                        }
                        Taken::Refused(failure) => {
                            self.clear();
                            return Err(failure);
                        }
                    }
                }
            };
            self.remove(taken);
        }
        Ok(())
    }

    /// Puts the messages that come next into `to`; gives how many there are.
    fn next_messages<'a>(&'a self, divides: bool, to: &mut [Message<'a>; MESSAGES_MAX]) -> usize {
        let mut rest = &self.bytes[self.sent..];
        let mut count = 0;
        for (length, cut) in &self.batches {
            let (batch, following) = rest.split_at(*length);
            rest = following;
            let each = if divides { batch.len() } else { datagram_bytes(batch.len(), *cut) };
            for bytes in batch.chunks(each) {
                let Some(place) = to.get_mut(count) else { return count };
                *place = Message { bytes, each: cut.0.filter(|_| divides) };
                count += 1;
            }
        }
        count
    }

    /// This many bytes are sent, or lost.
    fn remove(&mut self, bytes: usize) {
        self.sent += bytes;
        let mut left = bytes;
        while left > 0
            && let Some((length, _)) = self.batches.front_mut()
        {
            let part = left.min(*length);
            *length -= part;
            left -= part;
            if *length == 0 {
                self.batches.pop_front();
            }
        }
        if self.batches.is_empty() {
            self.clear();
        } else if self.sent >= self.bytes.len() / 2 {
            self.bytes.drain(..self.sent);
            self.sent = 0;
        }
    }
}

fn datagrams(message: Message<'_>) -> u64 {
    message.bytes.len().div_ceil(datagram_bytes(message.bytes.len(), DatagramBytes(message.each))) as u64
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use loadcurve_datagrams::{MESSAGES_MAX, Message};
    use loadcurve_record::{DatagramCounts, Failure};
    use loadcurve_wire::DatagramBytes;
    use rustix::io::Errno;

    use super::{Taken, Unsent, on_datagram_error};

    /// How long the messages are that come next, each with its division.
    fn next_messages(unsent: &Unsent, divides: bool) -> Vec<(usize, Option<usize>)> {
        let mut messages = [Message::default(); MESSAGES_MAX];
        let count = unsent.next_messages(divides, &mut messages);
        let lengths = messages[..count].iter().map(|one| (one.bytes.len(), one.each.map(usize::from)));
        lengths.collect()
    }

    #[test]
    fn batches_are_sent_in_order_divided_by_the_kernel_or_one_datagram_after_the_other() {
        let mut unsent = Unsent::default();
        unsent.add(&[1; 25], DatagramBytes(NonZeroUsize::new(10)));
        unsent.add(&[2; 7], DatagramBytes(None));
        assert_eq!(next_messages(&unsent, true), [(25, Some(10)), (7, None)]);
        assert_eq!(next_messages(&unsent, false), [(10, None), (10, None), (5, None), (7, None)]);
        // The kernel has taken two of the datagrams.
        unsent.remove(20);
        assert_eq!(next_messages(&unsent, false), [(5, None), (7, None)]);
        unsent.add(&[3; 1], DatagramBytes(None));
        unsent.remove(5 + 7);
        assert_eq!(next_messages(&unsent, true), [(1, None)]);
        assert!(!unsent.is_empty());
        unsent.remove(1);
        assert!(unsent.is_empty() && next_messages(&unsent, false).is_empty());
    }

    #[test]
    fn no_more_is_gathered_than_one_call_takes() {
        let mut unsent = Unsent::default();
        for _ in 1..MESSAGES_MAX {
            unsent.add(&[1; 100], DatagramBytes(None));
            assert!(!unsent.is_full());
        }
        unsent.add(&[1; 100], DatagramBytes(None));
        assert!(unsent.is_full());
        let mut unsent = Unsent::default();
        unsent.add(&vec![1; 64 * 1024], DatagramBytes(NonZeroUsize::new(1_200)));
        assert!(unsent.is_full());
        // 54 datagrams of 1,200 bytes and one of 736 are more than one call takes.
        assert_eq!(next_messages(&unsent, false).len(), MESSAGES_MAX);
    }

    #[test]
    fn a_datagram_that_this_machine_does_not_let_out_is_lost_and_a_closed_port_is_not() {
        let mut counts = DatagramCounts::default();
        // netfilter's verdict on what is sent is EPERM.
        assert!(matches!(on_datagram_error(Errno::PERM, 0, &mut counts), Taken::All));
        assert!(matches!(on_datagram_error(Errno::MSGSIZE, 0, &mut counts), Taken::All));
        assert!(matches!(on_datagram_error(Errno::AGAIN, 7, &mut counts), Taken::Up(7)));
        let refused = on_datagram_error(Errno::CONNREFUSED, 0, &mut counts);
        assert!(matches!(refused, Taken::Refused(Failure::ConnectRefused)));
        assert_eq!((counts.too_long, counts.sends_put_off), (1, 1));
    }
}
