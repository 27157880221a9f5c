//! Tables with a line for each request, whose values numpy takes as they are.

use loadcurve_record::ColumnKind;
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
