//! What the sentences of a verdict call the things that a load consists of: a table for each kind of work.

use loadcurve_record::Failure;
use serde::Deserialize;

/// What is under load.
///
/// Plans call it by its work.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
pub enum Loaded {
    /// A web server, which is asked over HTTP.
    #[serde(rename = "http")]
    WebServer,
    /// A database, which is asked through a driver that hides statuses and bytes.
    #[serde(rename = "ycsb")]
    Database,
}

/// What is said of the loads of one kind of work, and what their answers show.
pub(crate) struct WorkRow {
    pub(crate) request: &'static str,
    pub(crate) a_request: &'static str,
    pub(crate) requests: &'static str,
    /// What a request needs to be sent.
    pub(crate) connection: &'static str,
    pub(crate) connections: &'static str,
    pub(crate) server: &'static str,
    /// What became of failed requests, behind their number.
    pub(crate) happened: fn(Failure) -> &'static str,
    /// Whether answers have statuses and bytes, and connections ends that are seen.
    pub(crate) shows_answers: bool,
}

const WEB_SERVER: WorkRow = WorkRow {
    request: "request",
    a_request: "a request",
    requests: "requests",
    connection: "connection",
    connections: "connections",
    server: "server",
    happened: Failure::happened,
    shows_answers: true,
};

const DATABASE: WorkRow = WorkRow {
    request: "operation",
    a_request: "an operation",
    requests: "operations",
    connection: "client",
    connections: "clients",
    server: "database",
    happened: Failure::happened_to_operations,
    shows_answers: false,
};

impl Loaded {
    /// The row of its work.
    pub(crate) fn row(self) -> &'static WorkRow {
        match self {
            Self::WebServer => &WEB_SERVER,
            Self::Database => &DATABASE,
        }
    }
}
