//! What a load asks of a database: YCSB's workloads and properties as JSON.

use loadcurve_ycsb::{InvalidProperties, Properties, PropertyFile, Workload};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// What the core workload `preset`, a property file (its name and text) and then properties (`name=value`) say, as JSON.
#[pyfunction]
#[pyo3(signature = (preset, file, properties))]
#[expect(clippy::needless_pass_by_value, reason = "the binding hands over what it has converted")]
pub(crate) fn workload(
    preset: Option<&str>,
    file: Option<(String, String)>,
    properties: Vec<String>,
) -> PyResult<String> {
    let unknown = |name: &str| PyValueError::new_err((("workload", format!("there is no core workload {name:?}")),));
    let base = match preset {
        Some(name) => Workload::preset(name).ok_or_else(|| unknown(name))?,
        None => Workload::default(),
    };
    let file = file.as_ref().map(|(name, text)| PropertyFile { name, text });
    let read = Properties::read(base, file, &properties).map_err(as_value_error)?;
    serde_json::to_string(&read).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// An error whose arguments are pairs of place and text, one for each problem.
fn as_value_error(invalid: InvalidProperties) -> PyErr {
    let problems: Vec<_> = invalid.0.into_iter().map(|problem| (problem.place, problem.text)).collect();
    Python::attach(|py| match pyo3::types::PyTuple::new(py, problems) {
        Ok(arguments) => PyErr::from_type(py.get_type::<PyValueError>(), arguments.unbind()),
        Err(error) => error,
    })
}
