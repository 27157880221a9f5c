//! The core workload of the Yahoo! Cloud Serving Benchmark (Cooper et al. 2010): what is asked of a database.
//!
//! Pure arithmetic on a seed: no clock and no I/O.

mod check;
mod decimal;
mod expected;
#[cfg(test)]
mod goodness;
mod hash;
mod inserted;
mod lengths;
#[cfg(loom)]
mod once_lock;
mod operation;
mod operations;
mod properties;
mod records;
mod text;
mod validation;
mod values;
mod workload;
mod zipfian;

pub use check::Check;
pub use inserted::InsertedKeys;
pub use operation::{InsertOrder, Key, Kind, Operation, Selection};
pub use operations::Operations;
pub use properties::{InvalidProperties, Problem, Properties, PropertyFile, RunProperties};
pub use validation::{Flaw, InvalidWorkload};
pub use values::{Value, Values};
pub use workload::{LengthDistribution, Mix, RequestDistribution, Workload};
