//! What carries the bytes of a connection: its socket, and the encryption around it.

use std::os::fd::OwnedFd;
use std::time::Duration;

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

/// One client's socket.
pub(super) struct Transport {
    pub(super) descriptor: OwnedFd,
    pub(super) tls: Option<Tls>,
    /// What the kernel has not taken yet of the answers, encrypted where they are.
    pub(super) unsent: Vec<u8>,
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
            unsent: Vec::new(),
            close_when_sent: false,
            lingers: false,
            is_shut: false,
        }
    }

    /// Whether the client is to take what waits before more is read of it.
    pub(super) fn is_congested(&self) -> bool {
        self.unsent.len() > MOST_UNSENT_BYTES
    }

    /// Writes an answer behind whatever the connection still has to send.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Step {
        match &mut self.tls {
            None => self.send(bytes),
            Some(tls) => {
                let sealed = tls.sealed(bytes, self.close_when_sent);
                if sealed.is_empty() { Step::Continue(()) } else { self.send(&sealed) }
            }
        }
    }

    /// Sends what the kernel had not taken.
    pub(super) fn send_unsent(&mut self) -> Step {
        let unsent = std::mem::take(&mut self.unsent);
        self.send(&unsent)
    }

    /// Sends bytes as they are.
    fn send(&mut self, bytes: &[u8]) -> Step {
        let taken = if self.unsent.is_empty() {
            match rustix::net::send(&self.descriptor, bytes, SendFlags::NOSIGNAL) {
                Ok(taken) => taken,
                Err(Errno::AGAIN | Errno::INTR) => 0,
                Err(_) => return Step::Break(()),
            }
        } else {
            0
        };
        self.unsent.extend_from_slice(&bytes[taken..]);
        if !self.close_when_sent || !self.unsent.is_empty() {
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
