//! What happened to the requests: outcomes, histograms and tallies, all of which merge.
//!
//! Workers record on their own and their recordings are merged afterwards; percentiles are computed once, after the
//! last merge, because percentiles of percentiles mean nothing.

mod distribution;
mod histogram;
mod outcome;
mod recorder;
mod series;
mod slowest;

pub use distribution::Distribution;
pub use histogram::{CoarseHistogram, CompactHistogram, Histogram, HistogramError, TimeHistogram};
pub use outcome::{Answer, FailedRequest, Failure, FailureCounts, StatusCounts};
pub use recorder::{ConnectionCounts, OperationTally, Recorder, RequestCounts, Window};
pub use series::Period;
pub use slowest::{Retransmits, SlowRequest, Slowest};
