//! Every request that was due comes to exactly one end.

use std::fmt;

use super::{Recorder, RequestCounts, WarmUpCounts};

/// Counts of requests that do not add up: some have come to no end, or to more than one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unbalanced {
    /// Those that were measured.
    Measured(RequestCounts),
    /// Those of the warm-up.
    WarmUp(WarmUpCounts),
}

impl fmt::Display for Unbalanced {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Measured(RequestCounts { due, answered, failed, unanswered, never_sent, .. }) => write!(
                formatter,
                "{due} requests were due, but {answered} answered + {failed} failed + {unanswered} unanswered + \
                 {never_sent} never sent do not add up to that"
            ),
            Self::WarmUp(WarmUpCounts { begun, answered, failed, unanswered }) => write!(
                formatter,
                "{begun} requests of the warm-up began, but {answered} answered + {failed} failed + {unanswered} \
                 unanswered do not add up to that"
            ),
        }
    }
}

impl RequestCounts {
    /// How many of those that were due have come to no end yet; `None` if more have ended than were due.
    pub(super) fn under_way(self) -> Option<u64> {
        rest(self.due, &[self.answered, self.failed, self.unanswered, self.never_sent])
    }
}

impl Recorder {
    /// Checks that everything that was taken up has come to one end, and only one. It holds for every recording of a load
    /// or of a level that has ended, and so for several that are merged.
    ///
    /// # Errors
    /// It has not; the error has the counts.
    pub fn balance(&self) -> Result<(), Unbalanced> {
        if self.requests.under_way() != Some(0) {
            return Err(Unbalanced::Measured(self.requests));
        }
        let WarmUpCounts { begun, answered, failed, unanswered } = self.warm_up;
        if rest(begun, &[answered, failed, unanswered]) != Some(0) {
            return Err(Unbalanced::WarmUp(self.warm_up));
        }
        Ok(())
    }
}

/// What is left of a whole without its parts; `None` if these are more.
fn rest(whole: u64, parts: &[u64]) -> Option<u64> {
    parts.iter().try_fold(whole, |rest, part| rest.checked_sub(*part))
}
