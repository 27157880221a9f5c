//! The plan of one load on a database.

use std::collections::BTreeMap;

use loadcurve_plan::{Arrivals, Arriving, InvalidPlan, Pace, Rate, Stop, Unit, validate_timeout};
use loadcurve_ycsb::Workload;
use serde::{Deserialize, Serialize};

use crate::database::Target;

/// More records in one request are more than databases take in one message.
const MOST_IN_A_BATCH: usize = 100_000;

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

impl DatabasePlan {
    /// When its operations fall due, and when it ends.
    #[must_use]
    pub fn pace(&self) -> Pace {
        let arriving = self.rate_rps.as_ref().map(|rate| Arriving {
            rate: rate.clone(),
            arrivals: self.arrivals.unwrap_or(Arrivals::Constant),
        });
        Pace { unit: Unit::Request, arriving, stop: self.stop, warmup_s: self.warmup_s, seed: self.seed }
    }

    /// The database that it asks.
    #[must_use]
    pub fn target(&self) -> Target {
        Target {
            url: self.url.clone(),
            namespace: self.namespace.clone(),
            table: self.table.clone(),
            settings: self.settings.clone(),
            timeout_s: self.timeout_s,
            workload: self.workload.clone(),
        }
    }

    /// Checks every number of the plan before anything is started; the workload's own are checked by it.
    ///
    /// # Errors
    /// When a number is out of its range, with the number and the range.
    pub fn validate(&self) -> Result<(), InvalidPlan> {
        let refuse = |text: String| Err(InvalidPlan(text));
        if self.threads == 0 {
            return refuse("a load needs at least 1 client".into());
        }
        let (threads, clients) = (self.generator_threads, self.threads);
        if threads == 0 || threads > clients {
            return refuse(format!(
                "{threads} threads of the generator cannot share {clients} clients: give 1 to {clients}"
            ));
        }
        if !(1..=MOST_IN_A_BATCH).contains(&self.batch) {
            return refuse(format!(
                "a batch of {} is not between 1 and {MOST_IN_A_BATCH} records",
                self.batch
            ));
        }
        validate_timeout(self.timeout_s)?;
        self.pace().validate()?;
        match (self.phase, self.stop) {
            (_, Stop::ConnectionsTotal(_)) => {
                refuse("a load on a database ends after a number of operations or a duration".into())
            }
            (Phase::Run, _) if self.batch > 1 => {
                refuse(format!("only the load phase inserts in batches: give no batch of {}", self.batch))
            }
            (Phase::Load, _) if self.warmup_s > 0.0 => refuse(
                "the load phase inserts each record once, so that it has none for a warm-up: give no warm-up"
                    .into(),
            ),
            (Phase::Load, Stop::RequestsTotal(total)) if total == self.workload.load_records() => Ok(()),
            (Phase::Load, _) => refuse(format!(
                "the load phase ends when its {} records are inserted, and not sooner or later",
                self.workload.load_records()
            )),
            (Phase::Run, _) => Ok(()),
        }
    }
}
