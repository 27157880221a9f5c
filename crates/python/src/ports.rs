//! The arithmetic of local ports.

use std::net::SocketAddr;
use std::path::PathBuf;

use pyo3::prelude::*;

/// The local ports that connections to one destination could take.
#[pyclass(module = "loadcurve._engine", frozen)]
pub(crate) struct LocalPorts(loadcurve_engine::LocalPorts);

#[pymethods]
impl LocalPorts {
    #[staticmethod]
    #[expect(clippy::needless_pass_by_value, reason = "the binding hands over what it has converted")]
    fn towards(destination: &str, proc: PathBuf) -> PyResult<Option<Self>> {
        let destination: SocketAddr = destination.parse()?;
        Ok(loadcurve_engine::LocalPorts::towards(destination, &proc).map(Self))
    }

    #[getter]
    fn available(&self) -> usize {
        self.0.available()
    }

    #[getter]
    fn held_for_s(&self) -> f64 {
        self.0.held_for().as_secs_f64()
    }

    #[getter]
    fn settings(&self) -> Vec<String> {
        self.0.settings()
    }

    fn needed_for_ever(&self, turnover_cps: f64) -> u64 {
        self.0.needed_for_ever(turnover_cps)
    }
}
