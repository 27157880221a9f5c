//! The clock of these tests.

use std::time::{Duration, Instant};

/// How long something took, and what came of it.
#[expect(clippy::disallowed_methods, reason = "what a server does at its time is held against a clock")]
pub(crate) fn timed<T>(act: impl FnOnce() -> T) -> (Duration, T) {
    let start = Instant::now();
    let result = act();
    (start.elapsed(), result)
}
