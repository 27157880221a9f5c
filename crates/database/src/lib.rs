//! Loads on databases: clients that join the plan, the workload, a database's driver and the record.

mod database;
mod mongodb;
mod network;
mod plan;
mod postgresql;
mod product;
mod settings;

pub use database::{Database, Failed, Found, InvalidTarget, NewRecord, Session, Target};
pub use mongodb::MongoDb;
pub use plan::{DatabasePlan, Phase, Settings};
pub use postgresql::PostgreSql;
pub use product::{OnDatabase, Product};
