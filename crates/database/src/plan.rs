//! Work on a database: a workload of YCSB, and which part of it.

use loadcurve_plan::limits::BATCH_MAX;
use loadcurve_plan::{InvalidPlan, IoChoice, Load, Model, Stop, Work};
use loadcurve_ycsb::Workload;
use serde::{Deserialize, Serialize};

use crate::database::{Settings, Target};

/// Which part of a benchmark a load is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Inserts the workload's records, each once.
    Load,
    /// Asks for them, and changes them, in the workload's mix.
    Run,
}

/// A load on a database. Its model's connections are clients, each with one operation under way at most: what YCSB
/// calls threads.
pub type DatabaseLoad = Load<Ycsb>;

/// What is asked of a database.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ycsb {
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
    /// Which part of the benchmark this is; the load phase ends with its records.
    pub phase: Phase,
    /// How many records one request inserts in the load phase.
    pub batch: usize,
}

impl Ycsb {
    /// The database that it asks, with the longest time for an answer.
    #[must_use]
    pub fn target(&self, timeout_s: f64) -> Target {
        Target {
            url: self.url.clone(),
            namespace: self.namespace.clone(),
            table: self.table.clone(),
            settings: self.settings.clone(),
            timeout_s,
            workload: self.workload.clone(),
        }
    }
}

impl Work for Ycsb {
    const CLIENT: &'static str = "client";

    /// The workload's own numbers are checked by it.
    fn validate(&self, load: &Load<Self>) -> Result<(), InvalidPlan> {
        let refuse = |text: String| Err(InvalidPlan(text));
        let &Self { batch, phase, .. } = self;
        if !(1..=BATCH_MAX).contains(&batch) {
            return refuse(format!("a batch of {batch} is not between 1 and {BATCH_MAX} records"));
        }
        if load.io == IoChoice::Uring {
            return refuse("database drivers use epoll: remove the choice of io_uring".into());
        }
        match (phase, load.stop) {
            _ if matches!(load.model, Model::Sessions { .. }) => refuse(
                "clients of a database keep their connections: a load of sessions is not supported".into(),
            ),
            _ if matches!(load.model, Model::Recorded { .. }) => refuse(
                "only requests to web servers can be recorded and replayed, not operations: give a rate"
                    .into(),
            ),
            (_, Stop::ConnectionsTotal(_)) => {
                refuse("a load on a database ends after a number of operations or a duration".into())
            }
            (Phase::Run, _) if batch > 1 => {
                refuse(format!("only the load phase inserts in batches: remove the batch of {batch}"))
            }
            (Phase::Load, _) if load.warmup_s > 0.0 => refuse(
                "the load phase inserts each record once, so it cannot have a warm-up: remove the warm-up"
                    .into(),
            ),
            (Phase::Load, Stop::RequestsTotal(total)) if total == self.workload.load_records() => Ok(()),
            (Phase::Load, _) => refuse(format!(
                "the load phase ends when its {} records are inserted: remove any other end",
                self.workload.load_records()
            )),
            (Phase::Run, _) => Ok(()),
        }
    }
}
