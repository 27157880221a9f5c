//! One connection: which operations it needs, which are under way, and the bytes it sends.

use std::mem;
use std::os::fd::OwnedFd;

use loadcurve_record::Failure;
use loadcurve_wire::Tunnel;

use crate::io::{Notify, Slot};

/// Up to here bytes are sent at once or, where the connection is full, by a second operation; more hardly fit.
const MOST_BYTES_AT_ONCE: usize = 64 * 1024;

/// What an operation is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Connect,
    Receive,
    /// Sends what the connection takes at once; it is complete when it has been submitted.
    SendNow,
    /// Sends when the connection takes bytes again.
    Send,
}

impl Kind {
    /// Whether the operation may last beyond its submission.
    pub(super) fn lasts(self) -> bool {
        self != Self::SendNow
    }
}

/// Whose operation it is, as the one number that the kernel gives back with its completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) slot: Slot,
    pub(super) generation: u32,
}

impl Token {
    /// The generations of a slot, as a mask: after this many connections they repeat.
    const GENERATIONS: u32 = (1 << 30) - 1;

    pub(super) fn pack(self) -> u64 {
        (self.kind as u64) << 62 | u64::from(self.generation) << 32 | self.slot as u64
    }

    pub(super) fn unpack(number: u64) -> Self {
        let kind = match number >> 62 {
            0 => Kind::Connect,
            1 => Kind::Receive,
            2 => Kind::SendNow,
            _ => Kind::Send,
        };
        #[expect(clippy::cast_possible_truncation, reason = "the parts of the token are cut apart here")]
        let (slot, generation) = (number as u32, (number >> 32) as u32 & Self::GENERATIONS);
        Self { kind, slot: slot as Slot, generation }
    }
}

/// The state of the operation that connects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stage {
    #[default]
    Idle,
    Wanted,
    UnderWay,
}

/// How a connection receives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Receiving {
    /// Not: it is not connected, has ended, or waits for its turn.
    #[default]
    Idle,
    Wanted,
    /// Into one buffer after the other, by one operation.
    Always,
    /// The same, and the operation is being ended.
    Ending,
    /// Into one buffer.
    Once,
}

/// Where the bytes to send are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Sending {
    /// None, or some that no operation has been begun for.
    #[default]
    Collecting,
    /// In an operation that is complete when it has been submitted.
    Now,
    /// The connection is full: they need an operation that lasts.
    Full,
    /// In an operation that lasts.
    UnderWay,
}

#[derive(Default)]
pub(super) struct Socket {
    pub(super) descriptor: Option<OwnedFd>,
    /// Counts the connections of this slot, so that a late completion of an earlier one is recognised.
    pub(super) generation: u32,
    pub(super) connect: Stage,
    /// The tunnel that the connection has asked for and that is not open yet.
    pub(super) tunnel: Option<Tunnel>,
    pub(super) receive: Receiving,
    pub(super) sending: Sending,
    /// The bytes to send. They stay as they are while an operation sends them.
    pub(super) unsent: Vec<u8>,
    /// Bytes to send behind those of the operation under way.
    queued: Vec<u8>,
    /// Whether an event reports that all of them are taken.
    pub(super) notifies: bool,
    /// Why no more can be sent, where receiving will meet the end, too.
    pub(super) send_failure: Option<Failure>,
}

impl Socket {
    /// Ends the connection and makes ready for the one that follows it, in the same memory. Gives the bytes that an
    /// operation under way still sends, which must stay as they are.
    pub(super) fn end(&mut self) -> Option<Vec<u8>> {
        let abandoned = (self.sending == Sending::UnderWay).then(|| mem::take(&mut self.unsent));
        self.broken();
        *self = Self {
            generation: self.generation.wrapping_add(1) & Token::GENERATIONS,
            unsent: mem::take(&mut self.unsent),
            queued: mem::take(&mut self.queued),
            ..Self::default()
        };
        abandoned
    }

    /// The next operation that the connection needs; it is now under way. It receives as `how` says.
    pub(super) fn begin_next(&mut self, how: Receiving) -> Option<Kind> {
        if self.connect == Stage::Wanted {
            self.connect = Stage::UnderWay;
            return Some(Kind::Connect);
        }
        if self.receive == Receiving::Wanted {
            self.receive = how;
            return Some(Kind::Receive);
        }
        let (sending, kind) = match self.sending {
            _ if self.unsent.is_empty() => return None,
            Sending::Collecting if self.unsent.len() <= MOST_BYTES_AT_ONCE => (Sending::Now, Kind::SendNow),
            Sending::Collecting | Sending::Full => (Sending::UnderWay, Kind::Send),
            Sending::Now | Sending::UnderWay => return None,
        };
        self.sending = sending;
        Some(kind)
    }

    /// The bytes to send for which no operation has been begun, on a connection that may take them.
    pub(super) fn unbegun(&self) -> Option<&[u8]> {
        let is_waiting = self.sending == Sending::Collecting && self.connect == Stage::Idle;
        (is_waiting && !self.unsent.is_empty()).then_some(&self.unsent)
    }

    /// Whether an operation that lasts holds the socket open.
    pub(super) fn is_held(&self) -> bool {
        self.connect == Stage::UnderWay
            || matches!(self.receive, Receiving::Always | Receiving::Ending | Receiving::Once)
            || self.sending == Sending::UnderWay
    }

    /// Adds bytes to send.
    pub(super) fn add(&mut self, bytes: &[u8], notify: Notify) {
        self.notifies = notify == Notify::WhenWritten;
        if self.send_failure.is_some() {
            return;
        }
        match self.sending {
            Sending::Collecting | Sending::Full => self.unsent.extend_from_slice(bytes),
            Sending::Now | Sending::UnderWay => self.queued.extend_from_slice(bytes),
        }
    }

    /// The operation that sends is complete, and the connection has taken this many bytes; it may be full. Says whether
    /// the loop awaits a report that it has taken all.
    pub(super) fn taken(&mut self, bytes: usize) -> bool {
        self.unsent.drain(..bytes);
        self.unsent.append(&mut self.queued);
        if !self.unsent.is_empty() {
            self.sending = Sending::Full;
            return false;
        }
        self.sending = Sending::Collecting;
        mem::take(&mut self.notifies)
    }

    /// All that an operation of [`Kind::SendNow`] was to send is sent, if it has not said otherwise.
    pub(super) fn submitted(&mut self) {
        if self.sending == Sending::Now {
            self.sending = Sending::Collecting;
            self.unsent.clear();
        }
    }

    /// The connection takes no more bytes: those that it has not taken are lost.
    pub(super) fn broken(&mut self) {
        self.sending = Sending::Collecting;
        self.unsent.clear();
        self.queued.clear();
    }
}
