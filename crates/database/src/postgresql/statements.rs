//! The statements, as text.

use loadcurve_ycsb::Selection;

use super::options::Layout;
use crate::database::Target;

/// The column of the keys, which YCSB's tables call so.
const KEY: &str = "ycsb_key";
/// The column of the layout with one column.
const RECORD: &str = "record";
/// What a table's, or schema's, comment says that we made.
pub(super) const MARK: &str = "made by loadcurve";

/// What is asked of the table. A statement is prepared for each on first use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// One record by its key.
    Read(Selection),
    /// Records from a key on.
    Scan(Selection),
    /// A record's fields of these indices are written.
    Update(Vec<usize>),
    /// One record is added.
    Insert,
    /// As many records as the given arrays are long are added.
    InsertMany,
    /// One record is removed.
    Delete,
}

/// The table's names, quoted for statements, and its layout.
pub(super) struct Table {
    pub(super) layout: Layout,
    /// The names of the fields as they are.
    pub(super) fields: Vec<String>,
    pub(super) namespace: String,
    pub(super) table: String,
}

impl Table {
    pub(super) fn of(target: &Target, layout: Layout) -> Self {
        let workload = &target.workload;
        Self {
            layout,
            fields: (0..workload.field_count)
                .map(|index| format!("{}{index}", workload.field_prefix))
                .collect(),
            namespace: target.namespace.clone(),
            table: target.table.clone(),
        }
    }

    fn name(&self) -> String {
        format!("{}.{}", quoted(&self.namespace), quoted(&self.table))
    }

    /// The columns of the selected fields; of the other layout the whole record, or one value of it.
    fn columns(&self, selection: Selection) -> String {
        match (self.layout, selection) {
            (Layout::Columns, Selection::All) => self.all_columns(),
            (Layout::Columns, Selection::One(field)) => quoted(&self.fields[field]),
            (Layout::Jsonb, Selection::All) => format!("{RECORD}::text"),
            (Layout::Jsonb, Selection::One(field)) => format!("{RECORD}->>{}", literal(&self.fields[field])),
        }
    }

    fn all_columns(&self) -> String {
        self.fields.iter().map(|field| quoted(field)).collect::<Vec<_>>().join(", ")
    }

    /// The key and every field as parameters, each of a type.
    fn parameters(&self, of_type: &str) -> String {
        (1..=1 + self.fields.len()).map(|n| format!("${n}{of_type}")).collect::<Vec<_>>().join(", ")
    }

    /// The statement for a request.
    pub(super) fn statement(&self, request: &Request) -> String {
        let name = self.name();
        match (request, self.layout) {
            (Request::Read(selection), _) => {
                format!("SELECT {} FROM {name} WHERE {KEY} = $1", self.columns(*selection))
            }
            (Request::Scan(selection), _) => {
                let columns = self.columns(*selection);
                format!("SELECT {KEY}, {columns} FROM {name} WHERE {KEY} >= $1 ORDER BY {KEY} LIMIT $2")
            }
            (Request::Update(fields), Layout::Columns) => {
                let set = fields
                    .iter()
                    .zip(2..)
                    .map(|(field, n)| format!("{} = ${n}", quoted(&self.fields[*field])));
                format!("UPDATE {name} SET {} WHERE {KEY} = $1", set.collect::<Vec<_>>().join(", "))
            }
            (Request::Update(_), Layout::Jsonb) => {
                format!("UPDATE {name} SET {RECORD} = {RECORD} || $2::text::jsonb WHERE {KEY} = $1")
            }
            (Request::Insert, Layout::Columns) => {
                let (columns, values) = (self.all_columns(), self.parameters(""));
                format!("INSERT INTO {name} ({KEY}, {columns}) VALUES ({values})")
            }
            (Request::Insert, Layout::Jsonb) => {
                format!("INSERT INTO {name} ({KEY}, {RECORD}) VALUES ($1, $2::text::jsonb)")
            }
            (Request::InsertMany, Layout::Columns) => {
                let (columns, arrays) = (self.all_columns(), self.parameters("::text[]"));
                format!("INSERT INTO {name} ({KEY}, {columns}) SELECT * FROM unnest({arrays})")
            }
            (Request::InsertMany, Layout::Jsonb) => format!(
                "INSERT INTO {name} ({KEY}, {RECORD}) SELECT r.k, r.v::jsonb \
                 FROM unnest($1::text[], $2::text[]) AS r(k, v)"
            ),
            (Request::Delete, _) => format!("DELETE FROM {name} WHERE {KEY} = $1"),
        }
    }

    /// Makes the table, and the schema if it is not there; all of it or nothing.
    pub(super) fn creation(&self, with_schema: bool) -> String {
        let (name, schema) = (self.name(), quoted(&self.namespace));
        let schema = if with_schema {
            format!("CREATE SCHEMA {schema}; COMMENT ON SCHEMA {schema} IS {}; ", literal(MARK))
        } else {
            String::new()
        };
        let columns = match self.layout {
            Layout::Columns => self
                .fields
                .iter()
                .map(|field| format!("{} text", quoted(field)))
                .collect::<Vec<_>>()
                .join(", "),
            Layout::Jsonb => format!("{RECORD} jsonb"),
        };
        // Collated by bytes, so that scans are in the order that every other database has.
        let key = format!(r#"{KEY} text COLLATE "C" PRIMARY KEY"#);
        format!(
            "{schema}CREATE TABLE {name} ({key}, {columns}); COMMENT ON TABLE {name} IS {};",
            literal(MARK)
        )
    }

    pub(super) fn removal(&self) -> String {
        format!("DROP TABLE {}", self.name())
    }

    /// Fails where anything is in the schema.
    pub(super) fn schema_removal(&self) -> String {
        format!("DROP SCHEMA {} RESTRICT", quoted(&self.namespace))
    }

    pub(super) fn count(&self) -> String {
        format!("SELECT count(*) FROM {}", self.name())
    }
}

/// A name as statements have it.
fn quoted(name: &str) -> String {
    format!(r#""{}""#, name.replace('"', r#""""#))
}

/// A text as statements have it.
fn literal(text: &str) -> String {
    // The form with E treats backslashes alike whatever the server's settings are.
    format!("E'{}'", text.replace('\\', r"\\").replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_end_their_quotation() {
        assert_eq!(quoted(r#"a"; DROP TABLE b"#), r#""a""; DROP TABLE b""#);
        assert_eq!(literal(r"it's a \"), r"E'it''s a \\'");
    }
}
