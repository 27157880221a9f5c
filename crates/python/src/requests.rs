//! The files that requests are made from, as far as Python asks about them.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use loadcurve_plan::ExpectedStatus;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The length in bytes of a file that is to be the body of requests.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "the binding hands over what it has converted")]
pub(crate) fn body_length(path: PathBuf) -> PyResult<u64> {
    loadcurve_engine::body_length(&path).map_err(PyValueError::new_err)
}

/// How many bodies the lines of a file are that requests take in turn.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "the binding hands over what it has converted")]
pub(crate) fn body_lines(path: PathBuf) -> PyResult<usize> {
    loadcurve_engine::body_lines(&path).map(|lines| lines.len()).map_err(PyValueError::new_err)
}

/// Whether an answer of a status is as good as one of the expected status.
#[pyfunction]
pub(crate) fn is_expected_status(expected: u16, found: u16) -> bool {
    ExpectedStatus::new(expected).is_some_and(|expected| expected.is_met_by(found))
}

/// A list of requests in a file, opened and checked.
#[pyclass(module = "loadcurve._engine", frozen)]
pub(crate) struct RequestList(Arc<loadcurve_engine::RequestList>);

#[pymethods]
impl RequestList {
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "the binding hands over what it has converted")]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        py.detach(|| loadcurve_engine::RequestList::open(&path))
            .map(|list| Self(Arc::new(list)))
            .map_err(|problems| PyValueError::new_err(problems.join("\n")))
    }

    #[getter]
    fn count(&self) -> u64 {
        self.0.count()
    }

    #[getter]
    fn has_weights(&self) -> bool {
        self.0.has_weights()
    }

    #[getter]
    fn recorded_s(&self) -> Option<f64> {
        self.0.recorded_length().map(loadcurve_plan::Nanos::as_secs_f64)
    }

    #[getter]
    fn short(&self) -> Option<Vec<(String, Option<f64>, u64)>> {
        let requests = self.0.short()?.iter();
        Some(requests.map(|request| (request.target.clone(), request.weight, request.line)).collect())
    }

    #[getter]
    fn has_statuses(&self) -> bool {
        self.0.has_statuses()
    }

    #[expect(clippy::needless_pass_by_value, reason = "the binding hands over what it has converted")]
    fn statuses_of(&self, py: Python<'_>, paths: Vec<String>) -> PyResult<Vec<BTreeSet<u16>>> {
        py.detach(|| loadcurve_engine::expected_statuses(&self.0, &paths)).map_err(PyValueError::new_err)
    }

    fn sample(&self, count: u64, seed: u64) -> PyResult<Vec<String>> {
        loadcurve_engine::sample_targets(&self.0, count, seed).map_err(PyValueError::new_err)
    }
}
