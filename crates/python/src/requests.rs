//! The files that requests are made from, as far as Python asks about them.

use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The length in bytes of a file that is to be the body of requests.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "the binding hands over what it has converted")]
pub(crate) fn body_length(path: PathBuf) -> PyResult<u64> {
    loadcurve_engine::body_length(&path).map_err(PyValueError::new_err)
}
