//! What a load will do, as arithmetic: schedules, shares of them, stop rules and the plan itself.
//!
//! Nothing here reads a clock or touches I/O: every function takes the time as an argument, so that a schedule is
//! tested on numbers and never by waiting.

mod load;
mod nanos;
mod schedule;
mod share;

pub use load::{Arrivals, InvalidPlan, LoadPlan, Model, Request, Stop};
pub use nanos::Nanos;
pub use schedule::{ConstantRate, InvalidRate, Schedule};
pub use share::Share;
