//! Measured times, held against the truth: alone on the machine as far as this program goes, and again where the
//! machine itself was late.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use loadcurve_plan::{HttpLoad, Nanos};
use serde_json::Value;

use crate::support::{Measured, Seen, Server, clock, start};

/// How far a time may be from the truth: this share of it, or [`TOLERANCE_MS`] where that is more.
const TOLERANCE_SHARE: f64 = 0.02;
const TOLERANCE_MS: f64 = 1.0;

/// A machine that lets a thread wait longer than this for its turn cannot be measured within [`TOLERANCE_MS`].
const PUNCTUAL: Nanos = Nanos(500_000);
/// How often a comparison is made anew on a machine that was not punctual.
const ATTEMPTS: usize = 60;
/// How long in all a comparison waits for the machine to be punctual before it is made anew.
const PATIENCE: Nanos = Nanos::from_millis(60_000);

/// Held by loads that are compared by counts alone, and alone by those whose times are compared.
static LOADS: RwLock<()> = RwLock::new(());

/// Waits until no load is running whose times matter.
pub(crate) fn among_others() -> RwLockReadGuard<'static, ()> {
    // A test that failed while it held the lock has left nothing behind it.
    LOADS.read().unwrap_or_else(PoisonError::into_inner)
}

fn alone() -> RwLockWriteGuard<'static, ()> {
    LOADS.write().unwrap_or_else(PoisonError::into_inner)
}

/// Compares times with the truth while no other load of this program runs.
///
/// The bound of each comparison is fixed. Only where the machine was late, by a clock that is not the engine's or by
/// the engine's own word, is a comparison that failed made anew, a bounded number of times.
///
/// # Panics
/// With the differences, when there are any on a punctual machine or in the last attempt.
pub(crate) fn compare_times(attempt: impl Fn(&mut Comparison) + Sync) {
    let _alone = alone();
    std::thread::scope(|scope| {
        let compared = scope.spawn(|| {
            go_first();
            let until = clock::now() + PATIENCE;
            (1..=ATTEMPTS).find(|number| {
                if *number > 1 {
                    await_a_punctual_machine(until);
                }
                succeeds(&attempt, *number)
            })
        });
        match compared.join() {
            Ok(successful) => {
                assert!(
                    successful.is_some(),
                    "the machine was late in each of {ATTEMPTS} attempts, so nothing is known: try again while less \
                     else runs on it, or where `chrt --fifo` is allowed"
                );
            }
            Err(panic) => std::panic::resume_unwind(panic),
        }
    });
}

/// Whether an attempt finds no difference; one that finds some must have found the machine late, too.
fn succeeds(attempt: impl Fn(&mut Comparison), number: usize) -> bool {
    let mut comparison = Comparison::default();
    let woken_late = late_wakes_during(|| attempt(&mut comparison));
    comparison.note_late(woken_late);
    let Comparison { differences, late } = comparison;
    let is_equal = differences.is_empty();
    let text = format!("attempt {number}, the machine late by {} ms: {differences:#?}", late.as_millis_f64());
    assert!(is_equal || late > PUNCTUAL, "{text}");
    if !is_equal {
        eprintln!("{text}");
    }
    is_equal
}

/// Lets the calling thread and all that it starts go before the other threads of the machine, where that is allowed.
///
/// Elsewhere the machine is late more often, and comparisons are made anew.
fn go_first() {
    #[expect(
        clippy::disallowed_methods,
        reason = "only unsafe code could ask the kernel without another program"
    )]
    let mut chrt = Command::new("chrt");
    let thread = rustix::thread::gettid().to_string();
    let _ = chrt.args(["--fifo", "--pid", "1", &thread]).stdout(Stdio::null()).stderr(Stdio::null()).status();
}

/// What one attempt to compare has found.
#[derive(Default)]
pub(crate) struct Comparison {
    differences: Vec<String>,
    /// The most that a thread was late.
    late: Nanos,
}

impl Comparison {
    /// Runs a load to its end, with the server that it is sent to.
    pub(crate) fn measure(&mut self, plan: HttpLoad, server: Server) -> (Measured, Seen) {
        let measured = Measured::from(&start(plan).finish());
        let seen = server.finish();
        self.note_late(seen.late);
        let generator_late_ms = measured.value("/generator/lateness_ms").get("max").and_then(Value::as_f64);
        self.note_late(Nanos::from_secs_f64(generator_late_ms.unwrap_or(0.0) / 1e3));
        (measured, seen)
    }

    /// Compares figures of the distribution of this name with what they should be, in ms.
    pub(crate) fn distribution(&mut self, measured: &Measured, name: &str, expected: &[(&str, f64)]) {
        for (figure, expected_ms) in expected {
            let found_ms = measured.number(&format!("/{name}/{figure}"));
            if (found_ms - expected_ms).abs() > (TOLERANCE_SHARE * expected_ms).max(TOLERANCE_MS) {
                self.differences.push(format!("{name} {figure}: {found_ms} ms instead of {expected_ms} ms"));
            }
        }
    }

    /// Requires something that a machine which is late may break.
    pub(crate) fn require(&mut self, holds: bool, otherwise: impl FnOnce() -> String) {
        if !holds {
            self.differences.push(otherwise());
        }
    }

    fn note_late(&mut self, late: Nanos) {
        self.late = self.late.max(late);
    }
}

/// The most that a thread which sleeps for a millisecond at a time was woken late meanwhile.
fn late_wakes_during(work: impl FnOnce()) -> Nanos {
    const STEP: Nanos = Nanos::from_millis(1);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let witness = scope.spawn(|| {
            let mut late = Nanos::ZERO;
            while !is_over.load(Ordering::Relaxed) {
                late = late.max(clock::sleep_until(clock::now() + STEP));
            }
            late
        });
        let work_is_under_way = SetsOnDrop(&is_over);
        work();
        drop(work_is_under_way);
        witness.join().unwrap()
    })
}

/// Waits until threads are woken in time, as what disturbs a machine may go on for longer than all attempts take.
fn await_a_punctual_machine(until: Nanos) {
    const LOOK: Nanos = Nanos::from_millis(200);
    let is_late = || late_wakes_during(|| _ = clock::sleep_until(clock::now() + LOOK)) > PUNCTUAL;
    while clock::now() < until && is_late() {}
}

/// Sets its flag even where a panic ends the work: the scope would wait for the witness forever.
struct SetsOnDrop<'a>(&'a AtomicBool);

impl Drop for SetsOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
