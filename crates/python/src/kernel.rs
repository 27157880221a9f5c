//! The kernel's counters while something else than the engine sends a load.

use loadcurve_engine::TcpCounters;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// The counters of this network namespace at one moment.
#[pyclass(module = "loadcurve._engine", frozen)]
pub(crate) struct KernelCounters(TcpCounters);

#[pymethods]
impl KernelCounters {
    #[new]
    fn read() -> Self {
        Self(TcpCounters::read())
    }

    fn since(&self, earlier: &Self) -> PyResult<String> {
        let grown = self.0.since(earlier.0);
        serde_json::to_string(&grown).map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }
}
