//! Counts what the calling thread allocates, in a test that has this module.

use std::cell::Cell;

mod allocator;

thread_local! {
    /// What this thread has asked for: the harness of the tests has another thread, which does not count.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// How often the calling thread has asked for memory.
pub(crate) fn allocations() -> u64 {
    ALLOCATIONS.get()
}

fn count_one() {
    // Where the thread is ending, and its variables with it, nobody looks any more.
    let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
}
