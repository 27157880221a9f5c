//! Connections to a Unix socket: they are made at once, or wait for room in its queue, of which the kernel reports nothing.

use std::mem;

use loadcurve_plan::Nanos;
use rustix::io::Errno;

use super::Slot;
use crate::clock;

/// How long it is waited before a connection is tried again for which a queue had no room.
const MOMENT: Nanos = Nanos::from_millis(1);

/// Connections that wait for room, by their slot and its generation.
#[derive(Debug, Default)]
pub(super) struct Queued {
    waiting: Vec<(Slot, u32)>,
}

impl Queued {
    /// What becomes of a first attempt: one for which there was no room is tried again. Says whether it has succeeded.
    pub(super) fn attempted(
        &mut self,
        slot: Slot,
        generation: u32,
        outcome: Result<(), Errno>,
    ) -> Result<bool, Errno> {
        match outcome {
            Ok(()) => Ok(true),
            Err(Errno::AGAIN) => {
                self.waiting.push((slot, generation));
                Ok(false)
            }
            Err(errno) => Err(errno),
        }
    }

    /// Tries each of them again with `connect`, which gives none for one that has been closed meanwhile; returns those that
    /// do not wait any more.
    pub(super) fn try_again(
        &mut self,
        mut connect: impl FnMut(Slot, u32) -> Option<Result<(), Errno>>,
    ) -> Vec<(Slot, Result<(), Errno>)> {
        let mut done = Vec::new();
        for (slot, generation) in mem::take(&mut self.waiting) {
            match connect(slot, generation) {
                Some(Err(Errno::AGAIN)) => self.waiting.push((slot, generation)),
                Some(outcome) => done.push((slot, outcome)),
                None => {}
            }
        }
        done
    }

    /// Until when a wait may last that could last until then.
    pub(super) fn wait_until(&self, until: Nanos) -> Nanos {
        if self.waiting.is_empty() { until } else { until.min(clock::now() + MOMENT) }
    }
}
