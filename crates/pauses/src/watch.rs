//! The thread that watches for pauses of the CPUs it runs on.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use loadcurve_plan::Nanos;

use crate::clock;
use crate::meter::{Meter, PERIOD, Pause};
use crate::scheduling::{Waiting, bind_to};

/// Whose CPUs are watched; the two sides wake half a period apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Those of the generator.
    Generator,
    /// Those of the server.
    Server,
}

impl Side {
    fn offset(self) -> Nanos {
        match self {
            Self::Generator => Nanos::ZERO,
            Self::Server => Nanos(PERIOD.0 / 2),
        }
    }
}

/// A thread that notes pauses until it is dropped.
#[derive(Debug)]
pub struct Watch {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    meter: Mutex<Meter>,
    /// The thread can tell pauses from waiting for other threads.
    knows: AtomicBool,
    stop: AtomicBool,
}

impl Watch {
    /// Begins to watch these CPUs; those that the thread may run on where there is none. None where there is no thread
    /// left.
    #[must_use]
    pub fn start(side: Side, cpus: &[usize]) -> Option<Self> {
        let shared = Arc::new(Shared {
            meter: Mutex::new(Meter::new(side.offset(), clock::now())),
            knows: AtomicBool::new(true),
            stop: AtomicBool::new(false),
        });
        let (cpus, of_thread) = (cpus.to_vec(), Arc::clone(&shared));
        let builder = std::thread::Builder::new().name("pauses".into()).stack_size(64 * 1024);
        let thread = builder
            .spawn(move || {
                bind_to(&cpus);
                of_thread.watch();
            })
            .ok()?;
        Some(Self { shared, thread: Some(thread) })
    }

    /// The pauses since they were last taken; `None` if this kernel does not let them be told from other threads' work.
    #[must_use]
    pub fn take(&self) -> Option<Vec<Pause>> {
        let knows = self.shared.knows.load(Ordering::Relaxed);
        knows.then(|| self.shared.meter.lock().unwrap_or_else(PoisonError::into_inner).take())
    }
}

impl Drop for Watch {
    /// Ends the thread, which takes a period at most.
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn watch(&self) {
        let Some(mut waiting) = Waiting::of_this_thread() else {
            self.knows.store(false, Ordering::Relaxed);
            return;
        };
        let lock = || self.meter.lock().unwrap_or_else(PoisonError::into_inner);
        while !self.stop.load(Ordering::Relaxed) {
            let due = lock().due();
            clock::sleep_until(due);
            let (now, waited) = (clock::now(), waiting.since_last());
            lock().wakes(now, waited);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Side, Watch};

    #[test]
    fn a_watch_ends_when_it_is_dropped() {
        let watch = Watch::start(Side::Server, &[]).unwrap();
        assert!(watch.take().is_some());
        drop(watch);
    }
}
