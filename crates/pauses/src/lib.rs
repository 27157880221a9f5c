//! Pauses of the platform: stretches in which the CPUs of one side of a load did not run, whoever stopped them.
//!
//! A [`Meter`] is arithmetic over wake times; a [`Watch`] is the thread that wakes, on the CPUs that it watches.

mod clock;
mod meter;
mod scheduling;
mod watch;

pub use loadcurve_plan::Nanos;

pub use meter::{Grid, Meter, Pause, Period};
pub use watch::{Side, Watch};
