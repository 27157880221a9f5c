//! `PostgreSQL`, through `tokio-postgres`: one connection for each client, and prepared statements.

mod connection;
mod encryption;
mod failures;
mod json;
mod options;
mod statements;

use std::borrow::Cow;
use std::cell::Cell;
use std::rc::Rc;

use loadcurve_record::Failure;
use loadcurve_ycsb::{Key, Selection, Values};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Row, Statement};

use self::connection::{Connection, Connector};
use self::options::Layout;
use self::statements::{MARK, Request, Table};
use crate::database::{Database, Failed, Found, InvalidTarget, NewRecord, Session, Target};

/// A `PostgreSQL` as one thread sees it.
pub struct PostgreSql {
    shared: Rc<Shared>,
    /// A connection that nobody uses at the moment. The first session takes it.
    spare: Cell<Option<Connection>>,
}

/// One client's connection to it, made again after it was lost.
pub struct PostgreSqlSession {
    shared: Rc<Shared>,
    connection: Option<Box<PreparedConnection>>,
}

struct Shared {
    connector: Connector,
    table: Table,
}

/// A connection with the statements that are prepared on it.
struct PreparedConnection {
    connection: Connection,
    prepared: Vec<(Request, Statement)>,
}

type Parameters<'a> = [&'a (dyn ToSql + Sync)];

impl PostgreSql {
    async fn connect(&self) -> Result<Connection, Failed> {
        match self.spare.take() {
            Some(connection) => Ok(connection),
            None => Connection::open(&self.shared.connector).await,
        }
    }

    /// The rows that a statement of management returns.
    async fn rows(&self, statement: &str, parameters: &Parameters<'_>) -> Result<Vec<Row>, Failed> {
        let mut connection = self.connect().await?;
        let rows = connection.answer(|client| client.query(statement, parameters)).await;
        self.put_back(connection, rows)
    }

    /// Runs statements that return nothing, all or none.
    async fn run(&self, statements: &str) -> Result<(), Failed> {
        let mut connection = self.connect().await?;
        let done = connection.answer(|client| client.batch_execute(statements)).await;
        self.put_back(connection, done)
    }

    fn put_back<T>(&self, connection: Connection, answer: Result<T, Failed>) -> Result<T, Failed> {
        if !answer.as_ref().is_err_and(Failed::ends_connection) {
            self.spare.set(Some(connection));
        }
        answer
    }

    /// The comment on the table, empty where it has none; `None` if there is no such table.
    async fn comment_on_table(&self) -> Result<Option<String>, Failed> {
        const ASKED: &str = "SELECT coalesce(obj_description(c.oid, 'pg_class'), '') FROM pg_catalog.pg_class c \
                             JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
                             WHERE n.nspname = $1::text AND c.relname = $2::text";
        let Table { namespace, table, .. } = &self.shared.table;
        first_text(&self.rows(ASKED, &[namespace, table]).await?)
    }

    /// The comment on the schema, likewise.
    async fn comment_on_schema(&self) -> Result<Option<String>, Failed> {
        const ASKED: &str = "SELECT coalesce(obj_description(oid, 'pg_namespace'), '') \
                             FROM pg_catalog.pg_namespace WHERE nspname = $1::text";
        first_text(&self.rows(ASKED, &[&self.shared.table.namespace]).await?)
    }
}

impl Database for PostgreSql {
    type Session = PostgreSqlSession;

    const CONNECTS: bool = true;

    fn check(target: &Target) -> Result<(), InvalidTarget> {
        options::check(target)
    }

    async fn open(target: &Target, _sessions: usize) -> Result<Self, Failed> {
        let invalid = |invalid: InvalidTarget| Failed::new(Failure::Rejected, invalid.0);
        let connector = options::connector(target).map_err(invalid)?;
        let table = Table::of(target, Layout::of(target).map_err(invalid)?);
        let spare = Cell::new(Some(Connection::open(&connector).await?));
        Ok(Self { shared: Rc::new(Shared { connector, table }), spare })
    }

    async fn version(&self) -> Result<String, Failed> {
        let version = first_text(&self.rows("SELECT current_setting('server_version')", &[]).await?)?;
        // Packages add their own version in brackets.
        let version = version.as_deref().and_then(|version| version.split(' ').next()).unwrap_or_default();
        Ok(format!("PostgreSQL {version}"))
    }

    async fn exists(&self) -> Result<bool, Failed> {
        Ok(self.comment_on_table().await?.is_some())
    }

    async fn is_ours(&self) -> Result<bool, Failed> {
        Ok(self.comment_on_table().await?.as_deref() == Some(MARK))
    }

    async fn create(&self) -> Result<(), Failed> {
        let with_schema = self.comment_on_schema().await?.is_none();
        self.run(&self.shared.table.creation(with_schema)).await
    }

    async fn remove(&self) -> Result<(), Failed> {
        self.run(&self.shared.table.removal()).await?;
        if self.comment_on_schema().await?.as_deref() != Some(MARK) {
            return Ok(());
        }
        match self.run(&self.shared.table.schema_removal()).await {
            // Something else is in it.
            Err(failed) if failed.failure == Failure::Rejected => Ok(()),
            done => done,
        }
    }

    async fn count(&self) -> Result<u64, Failed> {
        let rows = self.rows(&self.shared.table.count(), &[]).await?;
        let count = rows
            .first()
            .map(|row| row.try_get::<_, i64>(0))
            .transpose()
            .map_err(|error| failures::failed(&error))?;
        Ok(count.and_then(|count| u64::try_from(count).ok()).unwrap_or_default())
    }

    async fn session(&self) -> Result<PostgreSqlSession, Failed> {
        let connection = self.connect().await?;
        let connection = Some(Box::new(PreparedConnection { connection, prepared: Vec::new() }));
        Ok(PostgreSqlSession { shared: Rc::clone(&self.shared), connection })
    }
}

impl PreparedConnection {
    async fn open(shared: &Shared) -> Result<Self, Failed> {
        let connection = Connection::open(&shared.connector).await?;
        Ok(Self { connection, prepared: Vec::new() })
    }

    /// The place of a request's statement, which is prepared now if it is the first such request.
    async fn place_of(&mut self, request: Request, table: &Table) -> Result<usize, Failed> {
        if let Some(place) = self.prepared.iter().position(|(prepared, _)| *prepared == request) {
            return Ok(place);
        }
        let text = table.statement(&request);
        let statement = self.connection.answer(|client| client.prepare(&text)).await?;
        self.prepared.push((request, statement));
        Ok(self.prepared.len() - 1)
    }
}

impl PostgreSqlSession {
    /// The rows that a request is answered with.
    async fn rows(&mut self, request: Request, parameters: &Parameters<'_>) -> Result<Vec<Row>, Failed> {
        let query = async |connection: &mut Connection, statement: &Statement| {
            connection.answer(|client| client.query(statement, parameters)).await
        };
        self.ask(request, query).await
    }

    /// How many records a request has changed.
    async fn changed(&mut self, request: Request, parameters: &Parameters<'_>) -> Result<u64, Failed> {
        let execute = async |connection: &mut Connection, statement: &Statement| {
            connection.answer(|client| client.execute(statement, parameters)).await
        };
        self.ask(request, execute).await
    }

    async fn ask<T>(
        &mut self,
        request: Request,
        ask: impl AsyncFnOnce(&mut Connection, &Statement) -> Result<T, Failed>,
    ) -> Result<T, Failed> {
        // It is taken meanwhile, so that a request that is given up leaves no connection on which its answer comes.
        let mut prepared = match self.connection.take() {
            Some(prepared) => prepared,
            None => Box::new(PreparedConnection::open(&self.shared).await?),
        };
        let answer = match prepared.place_of(request, &self.shared.table).await {
            Ok(place) => ask(&mut prepared.connection, &prepared.prepared[place].1).await,
            Err(failed) => Err(failed),
        };
        if !answer.as_ref().is_err_and(Failed::ends_connection) {
            self.connection = Some(prepared);
        }
        answer
    }

    /// Visits every selected field of a row, which start at a column.
    fn visit(
        &self,
        key: &str,
        row: &Row,
        from: usize,
        selection: Selection,
        found: &mut impl Found,
    ) -> Result<(), Failed> {
        let fields = &self.shared.table.fields;
        match (self.shared.table.layout, selection) {
            (Layout::Columns, Selection::All) => {
                for (index, name) in fields.iter().enumerate() {
                    tell_text(key, name, row, from + index, found)?;
                }
                Ok(())
            }
            (_, Selection::One(field)) => tell_text(key, &fields[field], row, from, found),
            (Layout::Jsonb, Selection::All) => match text(row, from)? {
                Some(record) => json::visit(key, record, found)
                    .map_err(|error| Failed::new(Failure::Malformed, error.to_string())),
                None => Ok(()),
            },
        }
    }
}

impl Session for PostgreSqlSession {
    async fn read(&mut self, key: &Key, selection: Selection, found: &mut impl Found) -> Result<(), Failed> {
        let rows = self.rows(Request::Read(selection), &[&key.as_str()]).await?;
        let row = rows.first().ok_or_else(not_found)?;
        self.visit(key.as_str(), row, 0, selection, found)
    }

    async fn update(&mut self, key: &Key, values: &Values) -> Result<(), Failed> {
        let request = Request::Update(values.iter().map(|value| value.field).collect());
        let changed = match self.shared.table.layout {
            Layout::Columns => {
                let key = key.as_str();
                let texts: Vec<&str> = values.iter().map(|value| value.text).collect();
                let mut parameters: Vec<&(dyn ToSql + Sync)> = vec![&key];
                parameters.extend(texts.iter().map(|text| text as &(dyn ToSql + Sync)));
                self.changed(request, &parameters).await?
            }
            Layout::Jsonb => {
                let fields = json::written(values, &self.shared.table.fields);
                self.changed(request, &[&key.as_str(), &fields]).await?
            }
        };
        if changed == 0 { Err(not_found()) } else { Ok(()) }
    }

    async fn insert(&mut self, records: &[NewRecord<'_>]) -> Result<(), Failed> {
        let columns = columns(records, &self.shared.table);
        let inserted = if records.len() == 1 {
            let texts: Vec<_> = columns.iter().map(|column| &column[0] as &(dyn ToSql + Sync)).collect();
            self.changed(Request::Insert, &texts).await
        } else {
            let arrays: Vec<_> = columns.iter().map(|column| column as &(dyn ToSql + Sync)).collect();
            self.changed(Request::InsertMany, &arrays).await
        };
        inserted.map(drop).map_err(|failed| failed.without_keys(records.iter().map(|record| record.key)))
    }

    async fn scan(
        &mut self,
        first: &Key,
        records: usize,
        selection: Selection,
        found: &mut impl Found,
    ) -> Result<usize, Failed> {
        let limit = i64::try_from(records).unwrap_or(i64::MAX);
        let rows = self.rows(Request::Scan(selection), &[&first.as_str(), &limit]).await?;
        for row in &rows {
            let key = text(row, 0)?.unwrap_or_default();
            self.visit(key, row, 1, selection, found)?;
        }
        Ok(rows.len())
    }

    async fn delete(&mut self, key: &Key) -> Result<(), Failed> {
        let changed = self.changed(Request::Delete, &[&key.as_str()]).await?;
        if changed == 0 { Err(not_found()) } else { Ok(()) }
    }
}

/// The texts of each column, record by record: first the keys.
fn columns<'a>(records: &[NewRecord<'a>], table: &Table) -> Vec<Vec<Cow<'a, str>>> {
    let keys = records.iter().map(|record| Cow::Borrowed(record.key.as_str())).collect();
    match table.layout {
        Layout::Columns => {
            let mut columns = vec![vec![Cow::default(); records.len()]; 1 + table.fields.len()];
            columns[0] = keys;
            for (place, record) in records.iter().enumerate() {
                for value in record.values.iter() {
                    columns[1 + value.field][place] = Cow::Borrowed(value.text);
                }
            }
            columns
        }
        Layout::Jsonb => {
            let objects =
                records.iter().map(|record| Cow::Owned(json::written(record.values, &table.fields)));
            vec![keys, objects.collect()]
        }
    }
}

fn first_text(rows: &[Row]) -> Result<Option<String>, Failed> {
    rows.first().map_or(Ok(None), |row| Ok(text(row, 0)?.map(str::to_owned)))
}

fn text(row: &Row, column: usize) -> Result<Option<&str>, Failed> {
    row.try_get(column).map_err(|error| failures::failed(&error))
}

fn tell_text(key: &str, name: &str, row: &Row, column: usize, found: &mut impl Found) -> Result<(), Failed> {
    if let Some(text) = text(row, column)? {
        found.field(key, name, text);
    }
    Ok(())
}

fn not_found() -> Failed {
    Failed::new(Failure::NotFound, "no such record")
}
