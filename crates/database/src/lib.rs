//! Loads on databases: clients that join the plan, the workload, a database's driver and the record.

mod client;
mod client_pool;
mod clock;
mod database;
mod generator;
mod load;
mod management;
#[cfg(feature = "drivers")]
mod mongodb;
#[cfg(feature = "drivers")]
mod network;
mod plan;
#[cfg(feature = "drivers")]
mod postgresql;
mod product;
#[cfg(feature = "drivers")]
mod settings;
mod tallies;
#[cfg(all(test, feature = "drivers"))]
mod tests;
#[cfg(feature = "drivers")]
mod tls;

pub use database::{
    ConnectionEvent, Database, Failed, Found, InvalidTarget, NewRecord, Session, Settings, Target,
};
pub use load::{result_of, start, start_part, start_to_begin};
pub use management::ManagedDatabase;
#[cfg(feature = "drivers")]
pub use mongodb::MongoDb;
pub use plan::{DatabaseLoad, Phase, Ycsb};
#[cfg(feature = "drivers")]
pub use postgresql::PostgreSql;
pub use product::{OnDatabase, Product};
