//! Histograms of results, merged by the code that has recorded them.

use loadcurve_record::TimeHistogram;
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
