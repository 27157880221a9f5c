//! The verdict on what another generator reports.

use loadcurve_engine::Reported;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The verdict on the figures of a load (JSON), as JSON.
#[pyfunction]
pub(crate) fn judge(figures: &str) -> PyResult<String> {
    let invalid = |error: serde_json::Error| PyValueError::new_err(error.to_string());
    let reported: Reported = serde_json::from_str(figures).map_err(invalid)?;
    serde_json::to_string(&reported.verdict()).map_err(invalid)
}
