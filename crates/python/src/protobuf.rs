//! Messages of gRPC from JSON.

use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// The message of a call, encoded, and whether the method streams requests and answers.
type Encoded<'py> = (Bound<'py, PyBytes>, bool, bool);

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
) -> PyResult<Encoded<'py>> {
    let encoded = || {
        let method = loadcurve_protobuf::Schema::read(&schema, &folders)?.method(method)?;
        Ok::<_, String>((method.encode(json)?, method.streams_requests(), method.streams_answers()))
    };
    let (bytes, requests, answers) = encoded().map_err(PyValueError::new_err)?;
    Ok((PyBytes::new(py, &bytes), requests, answers))
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
) -> PyResult<Encoded<'py>> {
    let text = "this build reads no .proto files, which a first demo leaves out: build it with `make setup`, install \
        the wheel, or give the encoded message as @FILE";
    Err(PyValueError::new_err(text))
}
