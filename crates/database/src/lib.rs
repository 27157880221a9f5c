//! Loads on databases: clients that join the plan, the workload, a database's driver and the record.

mod database;
mod plan;

pub use database::{Database, Failed, Found, NewRecord, Session, Target};
pub use plan::{DatabasePlan, Phase, Settings};
