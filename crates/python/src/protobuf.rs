//! Messages of gRPC from JSON.

use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Encodes the message of a call by the schema of a file.
#[cfg(feature = "protobuf")]
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "the binding hands over what it has converted")]
pub(crate) fn encode_message<'py>(
    py: Python<'py>,
    schema: PathBuf,
    folders: Vec<PathBuf>,
    method: &str,
    json: &str,
) -> PyResult<Bound<'py, PyBytes>> {
    let encoded = || loadcurve_protobuf::Schema::read(&schema, &folders)?.method(method)?.encode(json);
    Ok(PyBytes::new(py, &encoded().map_err(PyValueError::new_err)?))
}

/// Whether a method streams its requests and its answers, by the schema of a file.
#[cfg(feature = "protobuf")]
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "the binding hands over what it has converted")]
pub(crate) fn method_streams(schema: PathBuf, folders: Vec<PathBuf>, method: &str) -> PyResult<(bool, bool)> {
    let found = loadcurve_protobuf::Schema::read(&schema, &folders).and_then(|schema| schema.method(method));
    let method = found.map_err(PyValueError::new_err)?;
    Ok((method.streams_requests(), method.streams_answers()))
}

/// Refuses to read a schema in a build that knows none.
#[cfg(not(feature = "protobuf"))]
#[pyfunction]
pub(crate) fn encode_message<'py>(
    _py: Python<'py>,
    _schema: PathBuf,
    _folders: Vec<PathBuf>,
    _method: &str,
    _json: &str,
) -> PyResult<Bound<'py, PyBytes>> {
    Err(PyValueError::new_err(NO_SCHEMAS))
}

/// Refuses to read a schema in a build that knows none.
#[cfg(not(feature = "protobuf"))]
#[pyfunction]
pub(crate) fn method_streams(
    _schema: PathBuf,
    _folders: Vec<PathBuf>,
    _method: &str,
) -> PyResult<(bool, bool)> {
    Err(PyValueError::new_err(NO_SCHEMAS))
}

#[cfg(not(feature = "protobuf"))]
const NO_SCHEMAS: &str = "this build reads no .proto files, which a first demo leaves out: build it with `make setup`, \
    install the wheel, or give the encoded message as @FILE";
