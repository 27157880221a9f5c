//! One running load of several levels.

use loadcurve_engine::{LoadResult, RunningLevels, start_levels};
use loadcurve_plan::HttpLoad;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::interrupts::Interrupts;
use crate::load::{ShownProgress, already_finished, shown};
use crate::plan::{Plan, read_plan};

/// A load that goes through several levels on threads of the engine; Python only looks on.
#[pyclass(module = "loadcurve._engine")]
pub(crate) struct Levels(Option<RunningLevels>);

#[pymethods]
impl Levels {
    #[staticmethod]
    #[expect(clippy::needless_pass_by_value, reason = "the binding hands over what it has converted")]
    fn start(py: Python<'_>, plans: Vec<String>) -> PyResult<Self> {
        let plans = plans.iter().map(|plan| web_plan(plan)).collect::<PyResult<Vec<HttpLoad>>>()?;
        // Before a load over TLS one handshake is waited for.
        let load =
            py.detach(|| Interrupts::watching(|interrupts| start_levels(plans, &|| interrupts.are_there())))?;
        Ok(Self(Some(load)))
    }

    fn progress(&mut self) -> PyResult<ShownProgress> {
        Ok(shown(&self.0.as_mut().ok_or_else(already_finished)?.progress()))
    }

    fn stop(&self) -> PyResult<()> {
        self.0.as_ref().ok_or_else(already_finished)?.stop();
        Ok(())
    }

    fn is_finished(&self) -> PyResult<bool> {
        Ok(self.0.as_ref().ok_or_else(already_finished)?.is_finished())
    }

    fn take_result(&mut self, py: Python<'_>) -> PyResult<Option<String>> {
        let load = self.0.as_mut().ok_or_else(already_finished)?;
        py.detach(|| load.take_result()).as_ref().map(json).transpose()
    }

    fn finish(&mut self, py: Python<'_>) -> PyResult<Vec<String>> {
        let load = self.0.take().ok_or_else(already_finished)?;
        py.detach(|| load.finish()).iter().map(json).collect()
    }
}

/// The plan of a level, which is one of a load on a web server.
fn web_plan(plan: &str) -> PyResult<HttpLoad> {
    match read_plan(plan)? {
        Plan::Http(load) => Ok(load),
        Plan::Ycsb(_) => Err(PyValueError::new_err("loads on databases cannot continue from level to level")),
    }
}

fn json(result: &LoadResult) -> PyResult<String> {
    serde_json::to_string(result).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}
