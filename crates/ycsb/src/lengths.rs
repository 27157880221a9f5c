//! How long things are.

use loadcurve_plan::Random;

use crate::workload::LengthDistribution;
use crate::zipfian::Zipfian;

/// Draws lengths between a shortest and a longest one, both included.
#[derive(Clone, Debug)]
pub(crate) enum Lengths {
    Constant(usize),
    Uniform { least: usize, count: u64 },
    Zipfian { least: usize, numbers: Zipfian },
}

impl Lengths {
    pub(crate) fn new(distribution: LengthDistribution, least: usize, most: usize) -> Self {
        let count = || most.saturating_sub(least) as u64 + 1;
        match distribution {
            LengthDistribution::Constant => Self::Constant(most),
            LengthDistribution::Uniform => Self::Uniform { least, count: count() },
            LengthDistribution::Zipfian { constant } => {
                Self::Zipfian { least, numbers: Zipfian::new(constant, count()) }
            }
        }
    }

    #[allow(clippy::cast_possible_truncation)] // A length is at most the longest one.
    pub(crate) fn draw(&self, random: &mut Random) -> usize {
        match self {
            Self::Constant(length) => *length,
            Self::Uniform { least, count } => least + random.next_below(*count) as usize,
            Self::Zipfian { least, numbers } => least + numbers.at(1.0 - random.next_unit()) as usize,
        }
    }
}
