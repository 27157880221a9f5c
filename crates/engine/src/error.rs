//! Why a load cannot be started.

use std::fmt;

use loadcurve_plan::InvalidPlan;

/// Why a load cannot be started: a sentence for the person who asked for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartError {
    /// The plan asks for something that does not exist or cannot be.
    Plan(String),
    /// This machine, as it is set up, cannot run the plan.
    Machine(String),
}

impl fmt::Display for StartError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Plan(text) | Self::Machine(text)) = self;
        formatter.write_str(text)
    }
}

impl From<InvalidPlan> for StartError {
    fn from(invalid: InvalidPlan) -> Self {
        Self::Plan(invalid.0)
    }
}
