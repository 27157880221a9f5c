//! Datagrams that were handed over together, and whose they are.

use std::num::NonZeroUsize;
use std::ops::Range;

use loadcurve_datagrams::{MESSAGES_MAX, Received};
use loadcurve_quic::connection_ids::{Number, addressee, may_be_reset, sender};
use loadcurve_wire::DatagramBytes;

use super::MESSAGE_BYTES;
use crate::io::Slot;

/// Datagrams of one connection: its slot, where they are in the buffer, and how they are divided.
pub(super) type Delivery = (Slot, Range<usize>, DatagramBytes);

/// Which connections the sockets have.
pub(super) enum Assignment {
    /// Each has the one of the slot with its number.
    Each,
    /// Each has several, told apart by their IDs.
    Several(Owners),
}

/// Whose a datagram is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    Of(Slot),
    /// It may end any of the connections, of which it does not say which.
    Anyones,
    Nobodys,
}

/// Which slots have the exchanges whose numbers are in the IDs of their connections.
#[derive(Default)]
pub(super) struct Owners {
    /// By the number of the exchange.
    slots: Vec<Option<Slot>>,
    /// Whether the number of a slot is known.
    known: Vec<bool>,
}

impl Owners {
    pub(super) fn new(slots: usize) -> Self {
        Self { slots: Vec::new(), known: vec![false; slots] }
    }

    /// Learns the number of a slot's exchange from what that writes first.
    #[inline]
    pub(super) fn learn(&mut self, slot: Slot, written: &[u8]) {
        if !self.known[slot] {
            self.learn_number(slot, written);
        }
    }

    fn learn_number(&mut self, slot: Slot, written: &[u8]) {
        let Some(number) = sender(written) else {
            debug_assert!(false, "slot {slot} shares a socket, and has no connection ID that says so");
            return;
        };
        let most = self.slots.len().max(number.place() + 1);
        self.slots.resize(most, None);
        self.slots[number.place()] = Some(slot);
        self.known[slot] = true;
    }

    fn whose(&self, datagram: &[u8]) -> Whose {
        let place = addressee(datagram).map(Number::place);
        match place.and_then(|place| self.slots.get(place).copied().flatten()) {
            Some(slot) => Whose::Of(slot),
            None if may_be_reset(datagram) => Whose::Anyones,
            None => Whose::Nobodys,
        }
    }
}

/// Messages of one socket that were handed over together, and how far they are delivered.
#[derive(Clone, Copy, Default)]
pub(super) struct Batch {
    socket: usize,
    messages: [Received; MESSAGES_MAX],
    count: usize,
    /// The message that is delivered next, and how much of it was.
    message: usize,
    delivered: usize,
    /// Which slot is the next that gets what is anyone's.
    anyone: Slot,
    /// Datagrams of this batch and those before it that no open connection has got.
    unattributed: u64,
}

impl Batch {
    /// Room for what is handed over next.
    pub(super) fn room(&mut self) -> &mut [Received; MESSAGES_MAX] {
        &mut self.messages
    }

    /// This many messages of a socket are in the buffer; gives how many datagrams these are.
    pub(super) fn filled(&mut self, socket: usize, count: usize) -> usize {
        *self = Self { socket, count, message: 0, delivered: 0, anyone: 0, ..*self };
        // One without content is a datagram, too.
        self.messages[..count].iter().map(|one| one.length.div_ceil(datagram_bytes(one)).max(1)).sum()
    }

    pub(super) fn socket(&self) -> usize {
        self.socket
    }

    /// How many datagrams no open connection has got since this was asked last.
    pub(super) fn take_unattributed(&mut self) -> u64 {
        std::mem::take(&mut self.unattributed)
    }

    /// Whether something of it is not delivered.
    pub(super) fn is_left(&self) -> bool {
        self.message < self.count
    }

    /// The next message, all of which is of the socket's one connection.
    #[inline]
    pub(super) fn next_message(&mut self) -> Option<Delivery> {
        let message = self.messages[..self.count].get(self.message)?;
        let start = self.message * MESSAGE_BYTES;
        self.message += 1;
        Some((self.socket, start..start + message.length, division(message)))
    }

    /// The next datagrams of one connection that lie beside each other in a message. What is anyone's goes to each slot in turn that
    /// `hears` the socket, as long as more of that `may_follow`: it may take a turn for each of many connections.
    pub(super) fn next_run(
        &mut self,
        buffer: &[u8],
        owners: &Owners,
        hears: impl Fn(Slot) -> bool,
        mut may_follow: impl FnMut() -> bool,
    ) -> Option<Delivery> {
        loop {
            let message = self.messages[..self.count].get(self.message)?;
            let first = self.message * MESSAGE_BYTES;
            let (start, end) = (first + self.delivered, first + message.length);
            let each = datagram_bytes(message);
            let mut datagrams = buffer[start..end].chunks(each);
            let Some(datagram) = datagrams.next() else {
                self.unattributed += u64::from(message.length == 0);
                self.message += 1;
                self.delivered = 0;
                continue;
            };
            let whose = owners.whose(datagram);
            match whose {
                Whose::Of(slot) => {
                    let others = datagrams.take_while(|other| owners.whose(other) == whose).map(<[u8]>::len);
                    let length = datagram.len() + others.sum::<usize>();
                    self.delivered += length;
                    if hears(slot) {
                        return Some((slot, start..start + length, division(message)));
                    }
                    self.unattributed += length.div_ceil(each) as u64;
                }
                Whose::Anyones => {
                    if let Some(slot) = (self.anyone..owners.known.len()).find(|slot| hears(*slot)) {
                        if !may_follow() {
                            return None;
                        }
                        self.anyone = slot + 1;
                        return Some((slot, start..start + datagram.len(), DatagramBytes::default()));
                    }
                    // Where connections got it, they know whether it was for one of them.
                    self.unattributed += u64::from(self.anyone == 0);
                    self.anyone = 0;
                    self.delivered += datagram.len();
                }
                Whose::Nobodys => {
                    self.unattributed += 1;
                    self.delivered += datagram.len();
                }
            }
        }
    }
}

/// How long the datagrams of a message are, but for the last one; at least 1.
fn datagram_bytes(message: &Received) -> usize {
    message.each.map_or(message.length, usize::from).max(1)
}

fn division(message: &Received) -> DatagramBytes {
    DatagramBytes(message.each.and_then(|each| NonZeroUsize::new(each.into())))
}
