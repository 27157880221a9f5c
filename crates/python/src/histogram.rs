//! Histograms of results, merged by the code that has recorded them.

use loadcurve_plan::Nanos;
use loadcurve_record::{Distribution, TimeHistogram, delays};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The cumulative distribution of several histograms together: (percentile from 0 to 100, time in ms).
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "the binding hands over what it has converted")]
pub(crate) fn percentile_curve(encoded: Vec<String>) -> PyResult<Vec<(f64, f64)>> {
    let mut merged = TimeHistogram::default();
    for text in &encoded {
        let histogram =
            TimeHistogram::decode(text).map_err(|error| PyValueError::new_err(error.to_string()))?;
        merged.merge(&histogram);
    }
    Ok(merged.percentile_curve())
}

/// What pauses of these lengths do to requests in a window: the distribution of delays as JSON, and its histogram.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "the binding hands over what it has converted")]
pub(crate) fn pause_delays(lengths_s: Vec<f64>, window_s: f64) -> PyResult<(String, String)> {
    let pauses: Vec<Nanos> = lengths_s.iter().copied().map(Nanos::from_secs_f64).collect();
    let histogram = delays(&pauses, Nanos::from_secs_f64(window_s));
    let distribution = serde_json::to_string(&Distribution::from(&histogram));
    Ok((distribution.map_err(|error| PyValueError::new_err(error.to_string()))?, histogram.encode()))
}

/// The distribution of times that each occurred so often, as JSON, and their histogram.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "the binding hands over what it has converted")]
pub(crate) fn counted_times(times_ns: Vec<u64>, counts: Vec<u64>) -> PyResult<(String, String)> {
    let mut histogram = TimeHistogram::default();
    for (time_ns, count) in times_ns.iter().zip(&counts) {
        histogram.record_many(Nanos(*time_ns), *count);
    }
    let distribution = serde_json::to_string(&Distribution::from(&histogram));
    Ok((distribution.map_err(|error| PyValueError::new_err(error.to_string()))?, histogram.encode()))
}
