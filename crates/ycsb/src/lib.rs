//! The core workload of the Yahoo! Cloud Serving Benchmark (Cooper et al. 2010): what is asked of a database.
//!
//! Pure arithmetic on a seed: no clock and no I/O.

mod operation;
mod workload;

pub use operation::{Key, Kind, Operation, Selection, Value};
pub use workload::{Distribution, InsertOrder, InvalidWorkload, Mix, Workload};
