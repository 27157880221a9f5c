//! Loads on databases: clients that join the plan, the workload, a database's driver and the record.

mod client;
mod clock;
mod database;
mod description;
mod desk;
mod generator;
mod load;
mod management;
mod mongodb;
mod network;
mod plan;
mod postgresql;
mod product;
mod settings;
mod tallies;
#[cfg(test)]
mod tests;
mod tls;

pub use database::{ConnectionEvent, Database, Failed, Found, InvalidTarget, NewRecord, Session, Target};
pub use description::DatabaseDescription;
pub use load::start;
pub use management::{ManagedDatabase, TargetDescription};
pub use mongodb::MongoDb;
pub use plan::{DatabasePlan, Phase, Settings};
pub use postgresql::PostgreSql;
pub use product::{OnDatabase, Product};
