//! What the threads of a load share: that they are ready, when the load begins, and whether it is to end.

#[cfg(not(loom))]
use std::sync::OnceLock;
#[cfg(not(loom))]
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

#[cfg(loom)]
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use loadcurve_plan::Nanos;

use super::{Begins, NotBegun};
use crate::clock;
#[cfg(loom)]
use crate::once_lock::OnceLock;

/// What the threads share.
pub(super) struct Shared {
    stop: AtomicBool,
    begins: Begins,
    threads: usize,
    /// Threads whose connections are open.
    ready: AtomicUsize,
    epoch: OnceLock<Nanos>,
}

impl Shared {
    /// Of a load of this number of threads, none of which is ready.
    pub(super) fn new(threads: usize, begins: Begins) -> Self {
        Self {
            stop: AtomicBool::new(false),
            begins,
            threads,
            ready: AtomicUsize::new(0),
            epoch: OnceLock::new(),
        }
    }

    /// Another thread is ready; the last one sets the epoch for all that begin then.
    pub(super) fn one_is_ready(&self) {
        self.ready.fetch_add(1, Ordering::AcqRel);
        if self.is_ready() && self.begins == Begins::WhenReady {
            let _ = self.epoch.set(clock::now());
        }
    }

    /// Whether all threads are ready.
    pub(super) fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire) == self.threads
    }

    /// Sets the start of a load that [`Begins::OnRequest`]: a moment to come of the monotonic clock.
    ///
    /// # Errors
    /// It cannot begin then, and its start stays unset.
    pub(super) fn begin(&self, at: Nanos) -> Result<(), NotBegun> {
        let now = clock::now();
        if !self.is_ready() {
            return Err(NotBegun::NotReady);
        }
        if at < now {
            return Err(NotBegun::Passed(now - at));
        }
        self.epoch.set(at).map_err(|_| NotBegun::Begun)
    }

    /// When the load begins, once that is known; it may be to come.
    pub(super) fn begins_at(&self) -> Option<Nanos> {
        self.epoch.get().copied()
    }

    /// When the load began; now, where it was stopped before that was known.
    pub(super) fn epoch(&self) -> Nanos {
        *self.epoch.get_or_init(clock::now)
    }

    /// Since the load began; none before.
    pub(super) fn elapsed(&self) -> Option<Nanos> {
        let (epoch, now) = (self.begins_at()?, clock::now());
        (epoch <= now).then(|| now - epoch)
    }

    /// Asks the threads to end.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether the threads were asked to end.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// What holds in every order in which threads may get on, and for every value that the memory model lets them read.
#[cfg(all(test, loom))]
mod models {
    use std::sync::Arc;

    use loadcurve_plan::Nanos;
    use loom::sync::atomic::{AtomicUsize, Ordering};
    use loom::thread;

    use super::Shared;
    use crate::thread_group::{Begins, NotBegun};

    /// The threads of a load.
    const THREADS: usize = 2;

    /// A load, and how many connections its threads have opened before they were ready.
    #[derive(Clone)]
    struct Load {
        shared: Arc<Shared>,
        opened: Arc<[AtomicUsize; THREADS]>,
    }

    impl Load {
        fn new(begins: Begins) -> Self {
            Self {
                shared: Arc::new(Shared::new(THREADS, begins)),
                opened: Arc::new([(); THREADS].map(|()| AtomicUsize::new(0))),
            }
        }

        /// Does what a thread does until it is ready.
        fn open(&self, thread: usize) {
            self.opened[thread].store(1, Ordering::Relaxed);
            self.shared.one_is_ready();
        }

        /// Waits as a thread does; when it begins, none if it is to end.
        fn wait(&self) -> Option<Nanos> {
            loop {
                if let Some(epoch) = self.shared.begins_at() {
                    return Some(epoch);
                }
                if self.shared.is_stopped() {
                    return None;
                }
                thread::yield_now();
            }
        }

        fn opened(&self) -> [usize; THREADS] {
            [0, 1].map(|thread| self.opened[thread].load(Ordering::Relaxed))
        }

        /// A thread's life up to its start: when that was, and what it saw then of what all had done before.
        fn begins(&self, number: usize) -> thread::JoinHandle<Option<(Nanos, [usize; THREADS])>> {
            let load = self.clone();
            thread::spawn(move || {
                load.open(number);
                load.wait().map(|epoch| (epoch, load.opened()))
            })
        }
    }

    #[test]
    fn threads_begin_at_one_moment_and_when_all_are_ready() {
        loom::model(|| {
            let load = Load::new(Begins::WhenReady);
            let threads = [0, 1].map(|number| load.begins(number));
            let began = threads.map(|thread| thread.join().unwrap().unwrap());
            assert_eq!(began[0].0, began[1].0);
            assert_eq!(began.map(|(_, opened)| opened), [[1, 1]; THREADS]);
        });
    }

    #[test]
    fn a_load_begins_on_request_only_when_all_are_ready() {
        loom::model(|| {
            let load = Load::new(Begins::OnRequest);
            let thread = load.begins(0);
            load.open(1);
            let refused = load.shared.begin(Nanos::NEVER);
            if refused.is_ok() {
                assert_eq!(load.opened(), [1, 1]);
                assert_eq!(load.shared.begin(Nanos::NEVER), Err(NotBegun::Begun));
                assert_eq!(thread.join().unwrap(), Some((Nanos::NEVER, [1, 1])));
            } else {
                assert_eq!((refused, load.shared.begins_at()), (Err(NotBegun::NotReady), None));
                load.shared.stop();
                assert_eq!(thread.join().unwrap(), None);
            }
        });
    }

    #[test]
    fn threads_that_are_stopped_before_their_begin_agree_on_it() {
        loom::model(|| {
            let load = Load::new(Begins::OnRequest);
            load.open(0);
            load.open(1);
            let threads = [(); THREADS].map(|()| {
                let shared = Arc::clone(&load.shared);
                thread::spawn(move || shared.epoch())
            });
            let begun = load.shared.begin(Nanos::NEVER);
            let epochs = threads.map(|thread| thread.join().unwrap());
            assert_eq!(epochs, [load.shared.epoch(); THREADS]);
            assert_eq!(begun.is_ok(), epochs[0] == Nanos::NEVER);
        });
    }
}
