//! Loads on databases: clients that join the plan, the workload, a database's driver and the record.

mod client;
mod client_pool;
mod clock;
mod database;
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

pub use database::{
    ConnectionEvent, Database, Failed, Found, InvalidTarget, NewRecord, Session, Settings, Target,
};
pub use load::{result_of, start, start_part};
pub use management::ManagedDatabase;
pub use mongodb::MongoDb;
pub use plan::{DatabaseLoad, Phase, Ycsb};
pub use postgresql::PostgreSql;
pub use product::{OnDatabase, Product};
