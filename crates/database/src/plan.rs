//! The plan of one load on a database.

use std::collections::BTreeMap;

use loadcurve_plan::{Arrivals, Rate, Stop};
use loadcurve_ycsb::Workload;
use serde::{Deserialize, Serialize};

/// Settings of a driver by name; each database's module says which it knows.
pub type Settings = BTreeMap<String, String>;

/// Which part of a benchmark a load is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Inserts the workload's records, each once.
    Load,
    /// Asks for them, and changes them, in the workload's mix.
    Run,
}

/// The plan of one load on a database.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatabasePlan {
    /// Where the database is; the scheme says which one: `mongodb`, `mongodb+srv`, `postgresql`, `postgres`.
    pub url: String,
    /// The namespace that holds the table: a database of `MongoDB`, a schema of `PostgreSQL`.
    pub namespace: String,
    /// The table or collection.
    pub table: String,
    /// What differs from the driver's defaults.
    #[serde(default)]
    pub settings: Settings,
    /// What is asked.
    pub workload: Workload,
    /// What the workload was called, for results: `a`, or a file's name; none for one of the person's own.
    #[serde(default)]
    pub workload_name: Option<String>,
    /// Which part of the benchmark this is.
    pub phase: Phase,
    /// Clients, each with one operation under way at most: what YCSB calls threads.
    pub threads: usize,
    /// How many records one request inserts in the load phase.
    pub batch: usize,
    /// Operations per second, over all clients; none for a closed loop.
    pub rate_rps: Option<Rate>,
    /// How operations are spread in time where there is a rate.
    #[serde(default)]
    pub arrivals: Option<Arrivals>,
    /// When the measured window ends; the load phase ends with its records.
    pub stop: Stop,
    /// How long operations are sent before the measured window opens.
    pub warmup_s: f64,
    /// How long connecting may take, and how long an answer may take.
    pub timeout_s: f64,
    /// Repeats everything that is drawn at random.
    #[serde(default)]
    pub seed: u64,
    /// How many threads of this process the clients share.
    pub generator_threads: usize,
    /// The processors that those threads are bound to in turn; empty leaves them unbound.
    #[serde(default)]
    pub cpus: Vec<usize>,
}
