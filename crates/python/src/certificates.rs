//! Certificates for servers under test.

#[cfg(feature = "tls")]
use loadcurve_certificates::{Kind, make};
#[cfg(not(feature = "tls"))]
use pyo3::exceptions::PyRuntimeError;
#[cfg(feature = "tls")]
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The certificate of an authority, one that it has signed for a server of these names, and the key of that, in PEM.
#[cfg(feature = "tls")]
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "the binding hands over what it has converted")]
pub(crate) fn make_certificates(kind: &str, names: Vec<String>) -> PyResult<(String, String, String)> {
    let kind = Kind::named(kind).ok_or_else(|| {
        PyValueError::new_err(format!("{kind}: expected ecdsa or rsa as the kind of certificate"))
    })?;
    let made = make(kind, &names).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok((made.authority, made.certificate, made.key))
}

#[cfg(not(feature = "tls"))]
#[pyfunction]
pub(crate) fn make_certificates(kind: &str, names: Vec<String>) -> PyResult<(String, String, String)> {
    let (_, _) = (kind, names);
    Err(PyRuntimeError::new_err(loadcurve_engine::NO_TLS))
}
