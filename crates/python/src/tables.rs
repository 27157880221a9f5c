//! The tables that both sides go by.

use loadcurve_engine::{Code, CodeRow, GrpcStatus};
use loadcurve_record::{Failure, FailureRow, StatusClass, StatusRow};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use serde::Serialize;

#[derive(Serialize)]
struct Tables {
    failures: &'static [FailureRow],
    statuses: &'static [StatusRow],
    codes: &'static [CodeRow],
}

/// All tables as JSON.
#[pyfunction]
pub(crate) fn tables() -> PyResult<String> {
    let tables = Tables { failures: Failure::ROWS, statuses: StatusClass::ROWS, codes: Code::ROWS };
    serde_json::to_string(&tables).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// The names of the statuses of gRPC, each in the place of its number.
#[pyfunction]
pub(crate) fn grpc_statuses() -> Vec<&'static str> {
    GrpcStatus::ALL.map(GrpcStatus::name).to_vec()
}
