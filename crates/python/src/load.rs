//! One running load.

use std::collections::BTreeMap;

use loadcurve_engine::{Begins, Progress, RunningLoad, latency_bounds};
use loadcurve_plan::Nanos;
use loadcurve_record::Class;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::interrupts::Interrupts;
use crate::parts::start_part;
use crate::plan::{Plan, read_plan, start_error};

/// Of a last second: its length, its answers, and three percentiles of their latency in ms.
type ShownSecond = (f64, u64, Option<[f64; 3]>);
/// The answers so far by latency, and the sum of their latencies in seconds.
type ShownLatencies = (Vec<u64>, f64);
/// Seconds since the load began, answers, failures by class, the last second, the age of the oldest request, and all
/// latencies.
pub(crate) type ShownProgress =
    (Option<f64>, u64, BTreeMap<&'static str, u64>, Option<ShownSecond>, Option<f64>, ShownLatencies);

/// A load that runs on threads of the engine; Python only looks on.
#[pyclass(module = "loadcurve._engine")]
pub(crate) struct Load(Option<RunningLoad<serde_json::Result<String>>>);

#[pymethods]
impl Load {
    #[staticmethod]
    #[pyo3(signature = (plan, *, begins_on_request=false))]
    fn start(py: Python<'_>, plan: &str, begins_on_request: bool) -> PyResult<Self> {
        let plan = read_plan(plan)?;
        let begins = if begins_on_request { Begins::OnRequest } else { Begins::WhenReady };
        // Before a load over TLS one handshake is waited for.
        let load = py.detach(|| match plan {
            Plan::Http(load) => Interrupts::watching(|interrupts| {
                loadcurve_engine::start_to_begin(&load, begins, &|| interrupts.are_there())
            }),
            Plan::Ycsb(load) => loadcurve_database::start_to_begin(load, begins).map_err(start_error),
        })?;
        Ok(Self(Some(load.map(|result| serde_json::to_string(&result)))))
    }

    #[staticmethod]
    fn start_part(py: Python<'_>, plan: &str, index: usize, count: usize) -> PyResult<Self> {
        Ok(Self(Some(start_part(py, plan, index, count)?)))
    }

    fn is_ready(&self) -> PyResult<bool> {
        Ok(self.running()?.is_ready())
    }

    fn begin(&self, at_ns: u64) -> PyResult<()> {
        let begun = self.running()?.begin(Nanos(at_ns));
        begun.map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }

    fn progress(&mut self) -> PyResult<ShownProgress> {
        Ok(shown(&self.0.as_mut().ok_or_else(already_finished)?.progress()))
    }

    fn stop(&self) -> PyResult<()> {
        self.running()?.stop();
        Ok(())
    }

    fn is_finished(&self) -> PyResult<bool> {
        Ok(self.running()?.is_finished())
    }

    fn finish(&mut self, py: Python<'_>) -> PyResult<String> {
        let load = self.0.take().ok_or_else(already_finished)?;
        py.detach(|| load.finish()).map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }
}

impl Load {
    fn running(&self) -> PyResult<&RunningLoad<serde_json::Result<String>>> {
        self.0.as_ref().ok_or_else(already_finished)
    }
}

/// How far a load is, as Python sees it.
pub(crate) fn shown(progress: &Progress) -> ShownProgress {
    let failures = progress.failures.iter().filter(|(_, count)| *count > 0);
    (
        progress.elapsed_s,
        progress.answered,
        failures.map(|(class, count)| (class.code(), count)).collect(),
        progress.last_second.map(|second| (second.length_s, second.answered, second.latency_ms)),
        progress.oldest_s,
        (progress.latencies.counts.to_vec(), progress.latencies.sum.as_secs_f64()),
    )
}

/// The bounds in seconds between which a load under way shows how many answers there were.
#[pyfunction]
pub(crate) fn latency_bounds_s() -> Vec<f64> {
    latency_bounds().iter().map(|bound| bound.as_secs_f64()).collect()
}

pub(crate) fn already_finished() -> PyErr {
    PyRuntimeError::new_err("the load has been finished and its result taken")
}

/// Why the kernel does not offer `io_uring`; `None` where it does.
#[pyfunction]
pub(crate) fn uring_refusal() -> Option<String> {
    loadcurve_engine::uring_refusal()
}
