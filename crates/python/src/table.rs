//! Tables with a line for each request, whose values numpy takes as they are.

use loadcurve_plan::Nanos;
use loadcurve_record::{ColumnKind, PeriodSum};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// The values of a column, and the texts that they stand for.
type Column<'py> = (Bound<'py, PyBytes>, Vec<String>);

/// The values of the used columns of a block, each with the texts that its numbers stand for; `None` where a line is not
/// plain.
///
/// `kinds` has a letter for each column: `w` for whole numbers (int64), `d` for decimal ones (float64), `f` for `true` or
/// `false` (a byte), `t` for texts (uint32), and `-` for what is not read.
#[pyfunction]
pub(crate) fn table_columns<'py>(
    py: Python<'py>,
    block: &[u8],
    separator: u8,
    kinds: &str,
) -> PyResult<Option<Vec<Column<'py>>>> {
    let kinds: Vec<ColumnKind> = kinds.chars().map(kind_of).collect::<PyResult<_>>()?;
    let found = py.detach(|| loadcurve_record::table_columns(block, separator, &kinds));
    Ok(found.map(|columns| {
        columns.into_iter().map(|column| (PyBytes::new(py, &column.bytes), column.texts)).collect()
    }))
}

/// How often a byte occurs in a block, before `end` where that is given.
#[pyfunction]
#[pyo3(signature = (byte, block, end=None))]
pub(crate) fn count_of(byte: u8, block: &[u8], end: Option<usize>) -> usize {
    loadcurve_record::count_of(byte, &block[..end.unwrap_or(block.len()).min(block.len())])
}

/// Counters in the order of their indices, as the interchange format of histograms has them.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "the binding hands over what it has converted")]
pub(crate) fn encoded_counters(
    py: Python<'_>,
    indices: PyBuffer<i64>,
    counts: PyBuffer<i64>,
) -> PyResult<Bound<'_, PyBytes>> {
    let (indices, counts) = (indices.to_vec(py)?, counts.to_vec(py)?);
    let unsigned = |numbers: Vec<i64>| numbers.into_iter().map(|number| u64::try_from(number).unwrap_or(0));
    Ok(PyBytes::new(py, &loadcurve_record::encoded_counters(unsigned(indices).zip(unsigned(counts)))))
}

/// The answers of a period: how many, the shortest and the longest time and the sum of all in ns, the sum of the lengths of
/// bodies, and the counters of the histogram (int64).
type Period<'py> = (u64, i64, i64, i128, i64, Bound<'py, PyBytes>);

/// What is summed up of the answers in each period of a window.
#[pyclass(module = "loadcurve._engine")]
pub(crate) struct PeriodSums(loadcurve_record::PeriodSums);

#[pymethods]
impl PeriodSums {
    #[new]
    fn new(periods: usize, width_ns: u64, digits: u8) -> PyResult<Self> {
        if periods == 0 || width_ns == 0 || !(1..=5).contains(&digits) {
            return Err(PyValueError::new_err("expected periods of some width, and 1 to 5 digits"));
        }
        Ok(Self(loadcurve_record::PeriodSums::new(periods, Nanos(width_ns), digits)))
    }

    /// Add answers, given by arrays of the moments when they were done, of their times and of the lengths of bodies.
    #[pyo3(signature = (done_ns, times_ns, body_bytes=None))]
    #[expect(clippy::needless_pass_by_value, reason = "the binding hands over what it has converted")]
    fn add(
        &mut self,
        py: Python<'_>,
        done_ns: PyBuffer<i64>,
        times_ns: PyBuffer<i64>,
        body_bytes: Option<PyBuffer<i64>>,
    ) -> PyResult<()> {
        let (done, times) = (done_ns.to_vec(py)?, times_ns.to_vec(py)?);
        let bodies = body_bytes.map_or_else(|| Ok(vec![0; done.len()]), |bodies| bodies.to_vec(py))?;
        if times.len() != done.len() || bodies.len() != done.len() {
            return Err(PyValueError::new_err("expected arrays of one length"));
        }
        py.detach(|| {
            for ((done, time), body) in done.into_iter().zip(times).zip(bodies) {
                self.0.add(done, time, body);
            }
        });
        Ok(())
    }

    /// The sums of the periods, in their order.
    fn periods<'py>(&self, py: Python<'py>) -> Vec<Period<'py>> {
        self.0.periods().iter().map(|period| of_python(py, period)).collect()
    }
}

fn of_python<'py>(py: Python<'py>, period: &PeriodSum) -> Period<'py> {
    let counters: Vec<u8> = period.counters.iter().flat_map(|count| count.to_ne_bytes()).collect();
    let (shortest, longest) = period.extremes_ns.unwrap_or_default();
    let PeriodSum { answered, sum_ns, body_bytes, .. } = *period;
    (answered, shortest, longest, sum_ns, body_bytes, PyBytes::new(py, &counters))
}

fn kind_of(letter: char) -> PyResult<ColumnKind> {
    Ok(match letter {
        '-' => ColumnKind::Unused,
        'w' => ColumnKind::Whole,
        'd' => ColumnKind::Decimal,
        'f' => ColumnKind::Flag,
        't' => ColumnKind::Text,
        _ => return Err(PyValueError::new_err(format!("{letter}: no kind of column"))),
    })
}
