//! Where each key of a TOML document is, so that an error can name its line.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use toml::de::{DeTable, DeValue};

/// One key of the document: its path, its line and its column.
type Row = (Vec<String>, usize, usize);

/// The 1-based line and column of each key of the TOML document `text`, as `(path, line, column)` in the order of the
/// document.
///
/// The elements of an array have their index, in decimal, as the last part of their path, and the place of their value.
/// A key that is named more than once, such as `a` in `[a.b]` and `[a.c]`, has the place where it was first named.
/// Columns count characters.
///
/// # Errors
/// `ValueError(message, line, column)` where the text is not TOML.
#[pyfunction]
pub(crate) fn toml_positions(text: &str) -> PyResult<Vec<Row>> {
    let places = Places::new(text);
    let document = DeTable::parse(text).map_err(|error| {
        // A parser that names no place has met the end of the text.
        let (line, column) = places.of(error.span().map_or(text.len(), |span| span.start));
        PyValueError::new_err((error.message().to_owned(), line, column))
    })?;
    let mut rows = Vec::new();
    walk_table(document.get_ref(), &mut Vec::new(), &places, &mut rows);
    rows.sort_by_key(|&(_, line, column)| (line, column));
    Ok(rows)
}

/// Turns byte offsets into lines and columns.
struct Places<'text> {
    text: &'text str,
    /// The byte offset at which each line starts.
    line_starts: Vec<usize>,
}

impl<'text> Places<'text> {
    fn new(text: &'text str) -> Self {
        let after_newlines = text.match_indices('\n').map(|(offset, _)| offset + 1);
        Self { text, line_starts: std::iter::once(0).chain(after_newlines).collect() }
    }

    /// The 1-based line and column of the byte at `offset`.
    fn of(&self, offset: usize) -> (usize, usize) {
        let line = self.line_starts.partition_point(|&start| start <= offset);
        let line_start = self.line_starts[line - 1];
        let before =
            self.text[line_start..].char_indices().take_while(|(index, _)| line_start + index < offset);
        (line, before.count() + 1)
    }
}

fn walk_table(table: &DeTable, path: &mut Vec<String>, places: &Places, rows: &mut Vec<Row>) {
    for (key, value) in table {
        path.push(key.get_ref().to_string());
        push_row(path, key.span().start, places, rows);
        walk_value(value.get_ref(), path, places, rows);
        path.pop();
    }
}

fn walk_value(value: &DeValue, path: &mut Vec<String>, places: &Places, rows: &mut Vec<Row>) {
    match value {
        DeValue::Table(table) => walk_table(table, path, places, rows),
        DeValue::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                path.push(index.to_string());
                push_row(path, element.span().start, places, rows);
                walk_value(element.get_ref(), path, places, rows);
                path.pop();
            }
        }
        DeValue::String(_)
        | DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_) => {}
    }
}

fn push_row(path: &[String], offset: usize, places: &Places, rows: &mut Vec<Row>) {
    let (line, column) = places.of(offset);
    rows.push((path.to_vec(), line, column));
}
