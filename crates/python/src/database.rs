//! Databases outside of a load, and workloads.

use loadcurve_database::{Failed, ManagedDatabase, Target};
use loadcurve_record::Class;
use loadcurve_ycsb::{Properties, PropertyFile, Workload};
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

create_exception!(loadcurve._engine, DatabaseError, PyValueError);

/// A database outside of a load. Each question waits for its answer without keeping other threads of Python waiting.
#[pyclass(module = "loadcurve._engine", frozen)]
pub(crate) struct Database(ManagedDatabase);

#[pymethods]
impl Database {
    #[new]
    fn of(target: &str) -> PyResult<Self> {
        let target: Target =
            serde_json::from_str(target).map_err(|error| PyValueError::new_err(error.to_string()))?;
        ManagedDatabase::new(target).map(Self).map_err(|invalid| PyValueError::new_err(invalid.to_string()))
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
    DatabaseError::new_err((failed.failure.code(), failed.text.clone()))
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
            PyValueError::new_err(format!(
                "unknown workload {name:?}; YCSB's workloads are a, b, c, d, e \
                and f"
            ))
        })?,
    };
    let file = properties.map(|text| PropertyFile { name: file_name, text });
    let properties = Properties::read(base, file, &overrides)
        .map_err(|invalid| PyValueError::new_err(invalid.to_string()))?;
    serde_json::to_string(&properties).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}
