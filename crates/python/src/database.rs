//! Loads on databases, databases outside of a load, and workloads.

use loadcurve_database::{DatabaseLoad as RunningLoad, Failed, ManagedDatabase, TargetDescription};
use loadcurve_ycsb::{Properties, PropertyFile, Workload};
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::load::{already_finished, start_error};

create_exception!(loadcurve._engine, DatabaseError, PyValueError);

/// A load on a database that runs on threads of the engine; Python only looks on.
#[pyclass(module = "loadcurve._engine")]
pub(crate) struct DatabaseLoad(Option<RunningLoad>);

#[pymethods]
impl DatabaseLoad {
    #[new]
    fn start(plan: &str) -> PyResult<Self> {
        let plan = serde_json::from_str(plan).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self(Some(RunningLoad::start(plan).map_err(start_error)?)))
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

impl DatabaseLoad {
    fn running(&self) -> PyResult<&RunningLoad> {
        self.0.as_ref().ok_or_else(already_finished)
    }
}

/// A database outside of a load. Each question waits for its answer without keeping other threads of Python waiting.
#[pyclass(module = "loadcurve._engine", frozen)]
pub(crate) struct Database(ManagedDatabase);

#[pymethods]
impl Database {
    #[new]
    fn of(target: &str) -> PyResult<Self> {
        let target: TargetDescription =
            serde_json::from_str(target).map_err(|error| PyValueError::new_err(error.to_string()))?;
        ManagedDatabase::new(target.into())
            .map(Self)
            .map_err(|invalid| PyValueError::new_err(invalid.to_string()))
    }

    fn version(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| self.0.version()).map_err(|failed| database_error(&failed))
    }

    fn exists(&self, py: Python<'_>) -> PyResult<bool> {
        py.detach(|| self.0.exists()).map_err(|failed| database_error(&failed))
    }

    fn is_ours(&self, py: Python<'_>) -> PyResult<bool> {
        py.detach(|| self.0.is_ours()).map_err(|failed| database_error(&failed))
    }

    fn create(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.0.create()).map_err(|failed| database_error(&failed))
    }

    fn remove(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.0.remove()).map_err(|failed| database_error(&failed))
    }

    fn count(&self, py: Python<'_>) -> PyResult<u64> {
        py.detach(|| self.0.count()).map_err(|failed| database_error(&failed))
    }
}

/// Its arguments are the class, as results name it, and the explanation.
fn database_error(failed: &Failed) -> PyErr {
    let class = serde_json::to_value(failed.failure).unwrap_or_default();
    DatabaseError::new_err((class.as_str().unwrap_or_default().to_owned(), failed.text.clone()))
}

/// A workload as JSON: one of YCSB's by its letter or the defaults, changed by a property file and then by properties
/// of the command line.
#[pyfunction]
#[pyo3(signature = (name, properties, file_name, overrides))]
#[expect(clippy::needless_pass_by_value, reason = "the binding hands over what it has converted")]
pub(crate) fn workload(
    name: Option<&str>,
    properties: Option<&str>,
    file_name: &str,
    overrides: Vec<String>,
) -> PyResult<String> {
    let base = match name {
        None => Workload::default(),
        Some(name) => Workload::preset(name).ok_or_else(|| {
            PyValueError::new_err(format!("there is no workload {name:?}: YCSB's are a, b, c, d, e and f"))
        })?,
    };
    let file = properties.map(|text| PropertyFile { name: file_name, text });
    let properties = Properties::read(base, file, &overrides)
        .map_err(|invalid| PyValueError::new_err(invalid.to_string()))?;
    serde_json::to_string(&properties).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}
