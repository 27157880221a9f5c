//! Watching for pauses of the platform while another load generator sends the load.

use std::sync::{Mutex, PoisonError};

use loadcurve_pauses::{Pause, Period, Side, Watch};
use pyo3::prelude::*;

/// A thread on the CPUs of a load that notes when they did not run, until it is stopped.
///
/// It wakes less often than for our own load, as what it takes is the tool's.
#[pyclass(module = "loadcurve._engine", frozen)]
pub(crate) struct PauseWatch(Mutex<Option<Watch>>);

fn in_seconds(pause: Pause) -> (f64, f64, f64) {
    (pause.earliest.as_secs_f64(), pause.latest.as_secs_f64(), pause.end.as_secs_f64())
}

#[pymethods]
impl PauseWatch {
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "the binding hands over what it has converted")]
    fn new(cpus: Vec<usize>) -> Self {
        Self(Mutex::new(Watch::start(Side::Generator, &cpus, Period::Long)))
    }

    /// Ends the thread; its pauses as (earliest begin, latest begin, end) in seconds of the monotonic clock.
    fn stop(&self, py: Python<'_>) -> Option<Vec<(f64, f64, f64)>> {
        let watch = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        // The thread is waited for, up to a period.
        let found = py.detach(move || watch.as_ref().and_then(Watch::take))?;
        Some(found.into_iter().map(in_seconds).collect())
    }
}
