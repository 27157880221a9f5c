//! What the kernel is asked about the connections of slow requests, and of no others: every answer costs a system call.

use loadcurve_plan::Nanos;
use loadcurve_record::Retransmits;

use super::Worker;
use crate::connection::State;
use crate::io::{Carries, Slot};
use crate::work::{CarrierOf, Work};

/// A connection that was established sooner has not sent its SYN again: Linux waits 1 s before it does (RFC 6298, section
/// 2.1). A fifth of that, Linux's shortest timeout for any segment, leaves room for kernels that are set otherwise.
const SHORTEST_RETRANSMISSION: Nanos = Nanos::from_millis(200);

impl<I: Carries<CarrierOf<W>>, W: Work> Worker<I, W> {
    /// How often the SYN of a connection was sent again that was established this moment, after `length`; `None` if the
    /// kernel does not report it.
    pub(super) fn syn_retransmits(&self, slot: Slot, length: Nanos) -> Option<u32> {
        if length < SHORTEST_RETRANSMISSION { Some(0) } else { self.io.retransmits(slot) }
    }

    /// Keeps the slow requests of a slot that have just ended, whose connection has not been closed since.
    pub(super) fn keep_slow(&mut self, slot: Slot) {
        if self.slow_requests.is_empty() {
            return;
        }
        let retransmits = self.retransmits(slot);
        for slow in self.slow_requests.drain(..) {
            self.recorder.keep_slow(slow, retransmits);
        }
    }

    fn retransmits(&self, slot: Slot) -> Option<Retransmits> {
        let all = self.io.retransmits(slot)?;
        let connection = &self.connections[slot];
        let syn = match connection.state {
            State::Open | State::Handshaking | State::Protected => connection.syn_retransmits?,
            // Until it is established a connection sends nothing but its SYN.
            State::Connecting | State::Closed => all,
        };
        Some(Retransmits { syn, established: all.saturating_sub(syn) })
    }
}
