//! Which operations a load makes, and where each is counted.

use loadcurve_ycsb::{Kind, Workload};

use crate::plan::Phase;

/// The kinds of operations of a load, in the order of its results.
#[derive(Clone, Debug)]
pub(crate) struct Tallies(Vec<Kind>);

impl Tallies {
    /// Those of a phase of a workload.
    pub(crate) fn new(workload: &Workload, phase: Phase) -> Self {
        match phase {
            Phase::Load => Self(vec![Kind::Insert]),
            Phase::Run => {
                let shares = workload.mix.shares().into_iter();
                Self(shares.filter(|(_, share)| *share > 0.0).map(|(kind, _)| kind).collect())
            }
        }
    }

    /// What results call them.
    pub(crate) fn labels(&self) -> Vec<String> {
        self.0.iter().map(|kind| kind.label().into()).collect()
    }

    /// Where a kind is counted.
    pub(crate) fn of(&self, kind: Kind) -> usize {
        self.0.iter().position(|counted| *counted == kind).unwrap_or_default()
    }
}
