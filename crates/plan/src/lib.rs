//! What a load will do, as arithmetic: schedules, shares of them, stop rules and the plan itself.
//!
//! Nothing here reads a clock or touches I/O: every function takes the time as an argument, so that a schedule is
//! tested on numbers and never by waiting.

mod load;
mod nanos;
mod picker;
mod profile;
mod random;
mod schedule;
mod share;

pub use load::{
    Body, Conversation, HttpVersion, InvalidPlan, IoChoice, LoadPlan, Model, Rate, Request, Stop,
};
pub use nanos::Nanos;
pub use picker::{Pick, Picker};
pub use profile::{InvalidRate, MAXIMUM_RATE_RPS, RateProfile, RateStretch};
pub use random::{Purpose, Random};
pub use schedule::{Arrivals, Schedule};
pub use share::Share;
