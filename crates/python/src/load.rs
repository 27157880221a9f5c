//! One running load.

use loadcurve_engine::StartError;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

/// A load that runs on threads of the engine; Python only looks on.
#[pyclass(module = "loadcurve._engine")]
pub(crate) struct Load(Option<loadcurve_engine::Load>);

#[pymethods]
impl Load {
    #[new]
    fn start(plan: &str) -> PyResult<Self> {
        let plan = serde_json::from_str(plan).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self(Some(loadcurve_engine::Load::start(plan).map_err(start_error)?)))
    }

    fn progress(&self) -> PyResult<(Option<f64>, u64, u64)> {
        let progress = self.running()?.progress();
        Ok((progress.elapsed_s, progress.answered, progress.failed))
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
        let result = py.detach(|| load.finish());
        serde_json::to_string(&result).map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }
}

impl Load {
    fn running(&self) -> PyResult<&loadcurve_engine::Load> {
        self.0.as_ref().ok_or_else(already_finished)
    }
}

/// Why a load was not started, as the exception that tells the plan's faults from the machine's.
pub(crate) fn start_error(error: StartError) -> PyErr {
    match error {
        StartError::Plan(text) => PyValueError::new_err(text),
        StartError::Machine(text) => PyRuntimeError::new_err(text),
    }
}

pub(crate) fn already_finished() -> PyErr {
    PyRuntimeError::new_err("the load has been finished and its result taken")
}

/// Why the kernel does not offer `io_uring`; `None` where it does.
#[pyfunction]
pub(crate) fn uring_refusal() -> Option<String> {
    loadcurve_engine::uring_refusal()
}
