//! A plan as Python writes it, of whatever kind its work is.

use loadcurve_database::DatabaseLoad;
use loadcurve_engine::{StartError, with_recording};
use loadcurve_plan::HttpLoad;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use serde::Deserialize;

/// The plan of a load under the name of its kind of work.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Plan {
    Http(HttpLoad),
    Ycsb(DatabaseLoad),
}

/// A plan from its JSON, with the moments that a replay has in its list of requests.
pub(crate) fn read_plan(plan: &str) -> PyResult<Plan> {
    match serde_json::from_str(plan).map_err(|error| PyValueError::new_err(error.to_string()))? {
        Plan::Http(load) => {
            // A long list takes a while to read.
            let recorded = Python::attach(|py| py.detach(|| with_recording(load)));
            recorded.map(Plan::Http).map_err(start_error)
        }
        plan @ Plan::Ycsb(_) => Ok(plan),
    }
}

/// Why a load was not started, as the exception that tells the plan's faults from the machine's.
pub(crate) fn start_error(error: StartError) -> PyErr {
    match error {
        StartError::Plan(text) => PyValueError::new_err(text),
        StartError::Machine(text) => PyRuntimeError::new_err(text),
    }
}
