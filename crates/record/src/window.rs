//! The part of a load that is measured.

use loadcurve_plan::Nanos;
use serde::{Deserialize, Serialize};

/// The measured window on the monotonic clock.
///
/// A request belongs to the measured ones by its due time, so that none escapes by being slow; a rate counts what was
/// completed between start and end, whenever it was due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// When the warm-up is over.
    pub start: Nanos,
    /// When no more requests fall due.
    pub end: Nanos,
}

impl Default for Window {
    fn default() -> Self {
        Self::NOT_YET
    }
}

impl Window {
    /// Before the start is known, nothing is measured.
    pub const NOT_YET: Self = Self { start: Nanos::NEVER, end: Nanos::NEVER };

    /// Whether a request due then is a measured one; none is begun after the end.
    #[must_use]
    pub fn measures(self, due: Nanos) -> bool {
        due >= self.start
    }

    /// The same window where a time line's start is not at `from`, but at `to`.
    #[must_use]
    pub fn moved(self, from: Nanos, to: Nanos) -> Self {
        Self { start: self.start.moved(from, to), end: self.end.moved(from, to) }
    }

    pub(crate) fn contains(self, time: Nanos) -> bool {
        time >= self.start && time < self.end
    }
}
