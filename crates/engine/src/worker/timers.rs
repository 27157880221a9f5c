//! What protocols do because time has passed, and not because anything has arrived.

use std::cmp::Reverse;

use loadcurve_plan::Nanos;
use loadcurve_wire::Exchange;

use super::Worker;
use crate::io::{Carries, Slot};
use crate::work::{CarrierOf, Work};

impl<I: Carries<CarrierOf<W>>, W: Work> Worker<I, W> {
    /// Notes when a slot's protocol wants to be woken. A moment that is put off stays on the list, and is looked at when it
    /// has come: that most timers are put off again and again costs nothing.
    #[inline]
    pub(super) fn note_timer(&mut self, slot: Slot) {
        let connection = &mut self.connections[slot];
        let Some(wake_at) = connection.exchange.wake_at().map(Nanos::from) else { return };
        if connection.wakes_at.is_none_or(|noted| wake_at < noted) {
            connection.wakes_at = Some(wake_at);
            self.timers.push(Reverse((wake_at, slot)));
        }
    }

    /// Takes a slot whose protocol was to be woken by now, and has been.
    pub(super) fn take_timed_out(&mut self) -> Option<Slot> {
        loop {
            let (wake_at, slot) = self.timers.peek().map(|Reverse(timer)| *timer)?;
            if wake_at > self.now {
                return None;
            }
            self.timers.pop();
            let connection = &mut self.connections[slot];
            // An earlier moment has taken its place, or another connection.
            if connection.wakes_at != Some(wake_at) {
                continue;
            }
            connection.wakes_at = None;
            if connection.exchange.wake_at().is_some_and(|wake_at| Nanos::from(wake_at) <= self.now) {
                connection.exchange.advance(self.now.into());
                connection.exchange.timed_out();
                return Some(slot);
            }
            self.note_timer(slot);
        }
    }
}
