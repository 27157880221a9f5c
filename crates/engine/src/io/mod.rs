//! How bytes travel: one trait, which speaks in completions, so that a readiness backend and a completion backend
//! serve the same loop.

use crate::clock;
use loadcurve_plan::Nanos;
use loadcurve_record::{DatagramCounts, Failure};
use loadcurve_wire::{Carrier, Stream};
use rustix::io::Errno;

pub(crate) mod epoll;
mod local;
pub(crate) mod readiness;
pub(crate) mod route;
mod tcp_info;
#[cfg(test)]
mod tests;
#[cfg(feature = "tls")]
pub(crate) mod udp;
pub(crate) mod uring;

/// Events taken in one turn. All of them share the turn's clock reading, so a turn must stay short: at a few
/// microseconds for each event this keeps the reading within about 0.1 ms. For the same reason an event is good for
/// one full read in each turn: a long answer takes several turns, and its last byte is timed when it is read.
pub(crate) const EVENTS_PER_TURN: usize = 32;

/// One of the connections that a backend was made for, numbered from zero.
pub(crate) type Slot = usize;

/// What happened on a connection.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Event<'a> {
    /// The connection asked for is established.
    Connected,
    /// The connection asked for could not be established.
    ConnectFailed(Failure),
    /// Bytes arrived; of a backend that carries datagrams, some of them, [divided](Carries::next_divided) as it says.
    Received(&'a [u8]),
    /// The connection has taken all bytes of a send with [`Notify::WhenWritten`].
    Written,
    /// The peer will send no more.
    Closed,
    /// The connection broke.
    Broken(Failure),
}

/// What a wait without sleeping was like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Looked {
    /// The clock's reading at its end: the one of this loop turn.
    pub(crate) now: Nanos,
    /// Processor time that went into looking in vain.
    pub(crate) spent: Nanos,
    /// Time in which the thread did not run although it was looking.
    pub(crate) lost: Nanos,
}

impl Looked {
    /// A look that takes longer than this met a time in which the thread did not run. Neither a look nor an interrupt takes
    /// as long.
    const LONGEST_LOOK: Nanos = Nanos(5_000);

    /// Looks by waits of no length, each of which gives the clock's reading and whether there is something now.
    #[inline]
    fn by_waits(until: Nanos, pause: Nanos, mut wait: impl FnMut() -> (Nanos, bool)) -> Self {
        let mut looked = Self { now: clock::now(), ..Self::default() };
        loop {
            let (now, has_something) = wait();
            if has_something {
                return Self { now, ..looked };
            }
            looked.add(now - looked.now);
            looked.now = now;
            if now >= until {
                return looked;
            }
            looked.now = looked.pause(now, pause, until);
        }
    }

    /// Counts one look in vain.
    fn add(&mut self, length: Nanos) {
        self.count(length, Self::LONGEST_LOOK);
    }

    /// Pauses before the next look, for nothing more than `until`; returns the clock's reading behind it.
    fn pause(&mut self, now: Nanos, pause: Nanos, until: Nanos) -> Nanos {
        if pause == Nanos::ZERO {
            return now;
        }
        let ended = clock::spin_until(until.min(now + pause));
        self.count(ended - now, Self::LONGEST_LOOK + pause);
        ended
    }

    /// Counts this time as spent, or as lost where the thread was too long away.
    fn count(&mut self, length: Nanos, longest: Nanos) {
        let part = if length < longest { &mut self.spent } else { &mut self.lost };
        *part = *part + length;
    }
}

/// When an event reports that a send has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notify {
    /// Never: the answer shows it.
    Never,
    /// When the connection has taken all of it, by [`Event::Written`]: more follows, and should not pile up.
    WhenWritten,
}

/// A set of connections to one address.
///
/// A failed or ended connection keeps its slot until [`Io::close`]; after that no event of it is delivered any more.
pub(crate) trait Io {
    /// What results call this backend.
    const NAME: &'static str;

    /// Whether a connection that is established shows that the server, or its system, is there.
    const HEARS_ON_CONNECT: bool = true;

    /// Begins to connect the slot, which must not be in use.
    fn connect(&mut self, slot: Slot) -> Result<(), Failure>;

    /// Sends all of `bytes`, now or as soon as the connection takes them.
    ///
    /// Where the peer has ended the connection, what it has sent before comes first: it may be the answer to a request
    /// of which it does not want the rest.
    fn send(&mut self, slot: Slot, bytes: &[u8], notify: Notify) -> Result<(), Failure>;

    /// How many segments the slot's connection has sent again so far, its SYN among them; `None` if there is no
    /// connection, or the kernel does not report it. To be asked sparingly: the answer costs a system call.
    fn retransmits(&self, slot: Slot) -> Option<u32>;

    /// Closes the slot, whatever its state. What was sent last leaves before, as far as the connection takes it at once.
    fn close(&mut self, slot: Slot);

    /// Waits for events, at the latest until `until`, and returns the clock's reading: the one of this loop turn.
    fn wait(&mut self, until: Nanos) -> Nanos;

    /// Waits for events as [`Io::wait`] does, and keeps its processor meanwhile, where there is one to keep: it looks for
    /// them again and again, with a pause between two looks.
    fn look(&mut self, until: Nanos, pause: Nanos) -> Looked {
        let _ = pause;
        Looked { now: self.wait(until), ..Looked::default() }
    }

    /// The clock's reading now, which is not before that of the last wait.
    #[inline]
    fn now(&self) -> Nanos {
        clock::now()
    }

    /// The next event that the last wait has found.
    fn next(&mut self) -> Option<(Slot, Event<'_>)>;

    /// Takes what was counted of datagrams since this was last asked; nothing where connections are streams.
    fn take_datagram_counts(&mut self) -> DatagramCounts {
        DatagramCounts::default()
    }
}

/// Backends that carry what a protocol writes as it travels.
pub(crate) trait Carries<C: Carrier>: Io {
    /// The next event as [`Io::next`] gives it, and how its bytes are divided; by default they are not.
    #[inline]
    fn next_divided(&mut self) -> Option<(Slot, Event<'_>, C::Cut)> {
        let (slot, event) = self.next()?;
        Some((slot, event, C::Cut::default()))
    }

    /// Sends what one write hands over, as [`Io::send`], divided as `cut` says.
    fn write(&mut self, slot: Slot, bytes: &[u8], cut: C::Cut, notify: Notify) -> Result<(), Failure>;
}

impl<I: Io> Carries<Stream> for I {
    #[inline]
    fn write(&mut self, slot: Slot, bytes: &[u8], (): (), notify: Notify) -> Result<(), Failure> {
        self.send(slot, bytes, notify)
    }
}

/// The failure that an error of the kernel means while connecting.
pub(crate) fn connect_failure(errno: Errno) -> Failure {
    match errno {
        Errno::TIMEDOUT => Failure::ConnectTimeout,
        Errno::MFILE | Errno::NFILE => Failure::FdUnavailable,
        Errno::ADDRNOTAVAIL | Errno::ADDRINUSE => Failure::AddressUnavailable,
        // An address that cannot be reached refuses as finally as a closed port.
        _ => Failure::ConnectRefused,
    }
}

/// Whether a send has failed because the peer has ended the connection, which a read will meet, too.
pub(crate) fn is_end_by_peer(errno: Errno) -> bool {
    matches!(errno, Errno::PIPE | Errno::CONNRESET)
}

/// The failure that an error of the kernel means on an established connection.
pub(crate) fn broken_failure(errno: Errno) -> Failure {
    match errno {
        Errno::TIMEDOUT => Failure::Timeout,
        Errno::PIPE => Failure::ClosedEarly,
        _ => Failure::Reset,
    }
}
