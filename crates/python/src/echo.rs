//! Comparing clocks with another machine.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use loadcurve_engine::{Key, ask_clock};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

/// An echo that reports what the clock here reads, until it is stopped.
#[pyclass(module = "loadcurve._engine")]
pub(crate) struct ClockEcho(Option<loadcurve_engine::ClockEcho>);

#[pymethods]
impl ClockEcho {
    #[staticmethod]
    fn start(address: &str, key: &[u8]) -> PyResult<Self> {
        let address: IpAddr = address.parse()?;
        let echo = loadcurve_engine::ClockEcho::start(address, key_of(key)?);
        echo.map(|echo| Self(Some(echo))).map_err(|error| PyOSError::new_err(error.to_string()))
    }

    #[getter]
    fn address(&self) -> Option<String> {
        self.0.as_ref().map(|echo| echo.address().to_string())
    }

    fn stop(&mut self, py: Python<'_>) {
        let echo = self.0.take();
        py.detach(|| drop(echo));
    }
}

/// Four readings of each exchange with an echo: sent (here), received (there), replied (there), arrived (here).
#[pyfunction]
pub(crate) fn clock_exchanges(
    py: Python<'_>,
    address: &str,
    key: &[u8],
    count: usize,
    patience_s: f64,
) -> PyResult<Vec<(u64, u64, u64, u64)>> {
    let address: SocketAddr = address.parse()?;
    let key = key_of(key)?;
    let patience = Duration::try_from_secs_f64(patience_s)
        .ok()
        .filter(|patience| !patience.is_zero())
        .ok_or_else(|| PyValueError::new_err(format!("{patience_s} s is not a timeout")))?;
    let exchanges = py.detach(|| ask_clock(address, key, count, patience));
    let exchanges = exchanges.map_err(|error| PyOSError::new_err(error.to_string()))?;
    Ok(exchanges.into_iter().map(|one| (one.sent.0, one.received.0, one.replied.0, one.arrived.0)).collect())
}

fn key_of(key: &[u8]) -> PyResult<Key> {
    key.try_into().map_err(|_| PyValueError::new_err(format!("a key has 16 bytes, not {}", key.len())))
}
