//! What a script does to the clients while it is played.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use rustix::event::Timespec;

use crate::clock;

use super::clients::{ClientId, Clients, Connection};
use super::faults::Faults;
use super::script::Script;
use super::step::Step;

/// A script, and the clients with the times at which something is due for them.
pub(super) struct Playback {
    pub(super) script: Script,
    /// When answers are due that are sent late.
    delayed: Deadlines,
    /// When to see whether a client was silent for too long.
    silent: Deadlines,
}

impl Playback {
    /// That of the script of these faults, which starts now; `None` if there are no faults.
    pub(super) fn of(faults: Faults) -> Option<Self> {
        let script = Script::of(faults)?;
        Some(Self { script, delayed: Deadlines::default(), silent: Deadlines::default() })
    }

    /// How long the server may wait for an event; none stands for any time.
    pub(super) fn timeout(&self) -> Option<Timespec> {
        let deadlines = [self.delayed.next(), self.silent.next(), self.script.next_accept()];
        let next = deadlines.into_iter().flatten().min()?;
        Timespec::try_from(next.saturating_sub(clock::monotonic())).ok()
    }

    /// Begins with a connection.
    pub(super) fn welcome(&mut self, connection: &mut Connection) {
        let now = clock::monotonic();
        let faults = self.script.faults();
        connection.last_active = now;
        // Any number but 0 has each page written, so that it is in use.
        connection.ballast = vec![1; faults.connection_memory_bytes];
        if let Some(idle_timeout) = faults.idle_timeout {
            self.silent.add(now.saturating_add(idle_timeout), connection.id);
        }
    }

    /// Has somebody look at a connection when its next answer is due.
    pub(super) fn watch(&mut self, connection: &mut Connection) {
        if let Some(due) = connection.next_due().filter(|_| !connection.is_awaited) {
            connection.is_awaited = true;
            self.delayed.add(due, connection.id);
        }
    }

    /// Does what has become due: sends answers, closes silent clients.
    pub(super) fn keep_time(&mut self, clients: &mut Clients, batch: &mut Vec<u8>) {
        let now = self.script.time_after_stall();
        while let Some(client) = self.delayed.next_due(now) {
            clients.with_client(client, |connection| {
                connection.is_awaited = false;
                connection.release(now, batch)?;
                self.watch(connection);
                Step::Continue(())
            });
        }
        let Some(idle_timeout) = self.script.faults().idle_timeout else { return };
        while let Some(client) = self.silent.next_due(now) {
            clients.with_client(client, |connection| {
                let silent_since = if connection.is_idle() { connection.last_active } else { now };
                let end = silent_since.saturating_add(idle_timeout);
                if end <= now {
                    return connection.close(batch);
                }
                self.silent.add(end, client);
                Step::Continue(())
            });
        }
    }
}

/// Clients with the times at which something is due for them.
#[derive(Default)]
struct Deadlines {
    waiting: BinaryHeap<Reverse<(Duration, ClientId)>>,
}

impl Deadlines {
    fn add(&mut self, due: Duration, client: ClientId) {
        self.waiting.push(Reverse((due, client)));
    }

    fn next(&self) -> Option<Duration> {
        self.waiting.peek().map(|Reverse((due, _))| *due)
    }

    fn next_due(&mut self, now: Duration) -> Option<ClientId> {
        self.next().filter(|due| *due <= now)?;
        self.waiting.pop().map(|Reverse((_, client))| client)
    }
}
