//! What carries the bytes of a connection: its socket, and the encryption around it.

use std::collections::VecDeque;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::time::Duration;

use loadcurve_servers::reply::Reply;
use rustix::io::Errno;
use rustix::net::{SendFlags, Shutdown, sockopt};

use super::step::Step;
use super::tls::Tls;

/// Answers to requests that came together are written together up to about this length.
pub(super) const BATCH_BYTES: usize = 64 * 1024;
/// No more is read from a client while this many bytes wait that it has not taken.
const MOST_UNSENT_BYTES: usize = 256 * 1024;

/// How a connection ends after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Close,
    /// It is reset instead of the answer.
    Reset,
}

/// The rest of a body that is too long to be copied: it is sent from where it lies.
#[derive(Clone, Debug)]
pub(super) struct LongBody {
    pub(super) reply: Reply,
    pub(super) rest: Range<usize>,
}

impl LongBody {
    /// What comes next of it.
    fn next(&self) -> &[u8] {
        let stretch = self.reply.body_from(self.rest.start);
        &stretch[..stretch.len().min(self.rest.len())]
    }
}

/// What is sent when everything before it is.
enum Waiting {
    Bytes(Vec<u8>),
    Body(LongBody),
}

/// Bytes that the kernel has not taken yet, which are not moved whenever it takes some.
#[derive(Default)]
struct Unsent {
    bytes: Vec<u8>,
    taken: usize,
}

impl Unsent {
    fn rest(&self) -> &[u8] {
        &self.bytes[self.taken..]
    }

    fn take(&mut self, count: usize) {
        self.taken += count;
        if self.taken == self.bytes.len() {
            self.bytes.clear();
            self.taken = 0;
        }
    }

    fn append(&mut self, bytes: &[u8]) {
        // What is moved is less than what has been taken, so all of it together costs no more than sending it.
        if self.taken > self.bytes.len() / 2 {
            self.bytes.drain(..self.taken);
            self.taken = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }
}

/// One client's socket.
pub(super) struct Transport {
    pub(super) descriptor: OwnedFd,
    pub(super) tls: Option<Tls>,
    /// What the kernel has not taken yet of the answers, encrypted where they are.
    unsent: Unsent,
    /// What follows it, in clear text.
    waiting: VecDeque<Waiting>,
    pub(super) close_when_sent: bool,
    /// Whether the client, which may still send, is to close first, so that nothing of the answers is lost to a reset.
    pub(super) lingers: bool,
    /// Whether nothing can be sent any more.
    pub(super) is_shut: bool,
}

impl Transport {
    pub(super) fn new(descriptor: OwnedFd) -> Self {
        Self {
            descriptor,
            tls: None,
            unsent: Unsent::default(),
            waiting: VecDeque::new(),
            close_when_sent: false,
            lingers: false,
            is_shut: false,
        }
    }

    /// Whether everything is sent.
    pub(super) fn is_clear(&self) -> bool {
        self.unsent.rest().is_empty() && self.waiting.is_empty()
    }

    /// How many bytes are held for it, not counting bodies that are sent from where they lie.
    #[cfg(test)]
    pub(super) fn held_bytes(&self) -> usize {
        self.unsent.rest().len()
    }

    /// Whether the client is to take what waits before more is read of it.
    pub(super) fn is_congested(&self) -> bool {
        !self.waiting.is_empty() || self.unsent.rest().len() > MOST_UNSENT_BYTES
    }

    /// Writes an answer behind whatever the connection still has to send.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Step {
        self.write_with(bytes, None)
    }

    /// The same, with a body that follows.
    pub(super) fn write_with(&mut self, bytes: &[u8], body: Option<LongBody>) -> Step {
        if self.waiting.is_empty() || bytes.is_empty() {
            self.waiting.extend(body.map(Waiting::Body));
            // Also without bytes, TLS may have something to say.
            self.put(bytes, !self.waiting.is_empty())?;
        } else {
            self.waiting.push_back(Waiting::Bytes(bytes.to_vec()));
            self.waiting.extend(body.map(Waiting::Body));
        }
        self.send_waiting()
    }

    /// Sends what the kernel had not taken.
    pub(super) fn send_unsent(&mut self) -> Step {
        let taken = self.send(self.unsent.rest(), !self.waiting.is_empty())?;
        self.unsent.take(taken);
        self.send_waiting()
    }

    /// Sends what waits as far as the kernel takes it, and ends the connection behind the last of it where that is to be.
    fn send_waiting(&mut self) -> Step {
        while self.unsent.rest().is_empty() {
            match self.waiting.pop_front() {
                None => return self.end(),
                Some(Waiting::Bytes(bytes)) => self.put(&bytes, !self.waiting.is_empty())?,
                Some(Waiting::Body(mut body)) => {
                    let is_taken = self.send_part(&mut body)?;
                    if !body.rest.is_empty() {
                        self.waiting.push_front(Waiting::Body(body));
                    }
                    if !is_taken {
                        break;
                    }
                }
            }
        }
        Step::Continue(())
    }

    /// Sends what comes next of a body that was taken out of the queue; says whether all of that was taken.
    fn send_part(&mut self, body: &mut LongBody) -> Step<bool> {
        let next = body.next();
        if self.tls.is_some() {
            let part = &next[..next.len().min(BATCH_BYTES)];
            let is_followed = part.len() < body.rest.len() || !self.waiting.is_empty();
            self.put(part, is_followed)?;
            body.rest.start += part.len();
            return Step::Continue(true);
        }
        let is_followed = next.len() < body.rest.len() || !self.waiting.is_empty();
        let taken = self.send(next, is_followed)?;
        let is_taken = taken == next.len();
        body.rest.start += taken;
        Step::Continue(is_taken)
    }

    /// Sends bytes behind those that are held, encrypted where that is so, and holds what the kernel does not take.
    fn put(&mut self, bytes: &[u8], is_followed: bool) -> Step {
        let is_last = self.close_when_sent && !is_followed;
        let sealed;
        let bytes = match &mut self.tls {
            None => bytes,
            Some(tls) => {
                sealed = tls.sealed(bytes, is_last);
                &sealed
            }
        };
        let taken = if bytes.is_empty() || !self.unsent.rest().is_empty() {
            0
        } else {
            self.send(bytes, is_followed)?
        };
        self.unsent.append(&bytes[taken..]);
        Step::Continue(())
    }

    /// Sends bytes as they are, and says how many the kernel has taken. Where others follow, it need not send a short packet.
    fn send(&self, bytes: &[u8], is_followed: bool) -> Step<usize> {
        let flags = if is_followed { SendFlags::NOSIGNAL | SendFlags::MORE } else { SendFlags::NOSIGNAL };
        match rustix::net::send(&self.descriptor, bytes, flags) {
            Ok(taken) => Step::Continue(taken),
            Err(Errno::AGAIN | Errno::INTR) => Step::Continue(0),
            Err(_) => Step::Break(()),
        }
    }

    /// Everything is sent: ends the connection where that was to be the end.
    fn end(&mut self) -> Step {
        if !self.close_when_sent {
            return Step::Continue(());
        }
        if self.lingers && rustix::net::shutdown(&self.descriptor, Shutdown::Write).is_ok() {
            self.is_shut = true;
            return Step::Continue(());
        }
        Step::Break(())
    }

    /// Has the connection reset.
    pub(super) fn reset(&self) -> Step {
        // Closing then sends a reset, and drops what the kernel has not sent.
        let _ = sockopt::set_socket_linger(&self.descriptor, Some(Duration::ZERO));
        Step::Break(())
    }
}
