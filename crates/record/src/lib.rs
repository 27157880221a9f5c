//! What happened to the requests: outcomes, histograms and tallies, all of which merge.
//!
//! Workers record on their own and their recordings are merged afterwards; percentiles are computed once, after the
//! last merge, because percentiles of percentiles mean nothing.
//!
//! # Examples
//!
//! Two workers record, and what they have recorded is summarised as one.
//!
//! ```
//! use loadcurve_plan::Nanos;
//! use loadcurve_record::{Distribution, TimeHistogram};
//!
//! let (mut times, mut others) = (TimeHistogram::default(), TimeHistogram::default());
//! times.record_many(Nanos::from_millis(2), 900);
//! others.record_many(Nanos::from_millis(50), 100);
//! times.merge(&others);
//!
//! let latency = Distribution::from(&times);
//! assert_eq!((latency.count, latency.mean, latency.max), (1_000, Some(6.8), Some(50.0)));
//! assert!((latency.p50.unwrap() - 2.0).abs() < 0.002, "a bucket is a thousandth of its times wide");
//! assert_eq!(latency.p99_99, None, "1,000 times are too few for it");
//! ```

mod agreements;
mod classes;
mod compression;
mod datagrams;
mod delays;
mod deliveries;
mod disruptions;
mod distribution;
mod endings;
mod explanation;
mod extremes;
mod gap;
mod histogram;
mod idle_ends;
mod messages;
mod multiplexing;
mod operation;
mod outcome;
mod periods;
mod quic;
mod recorder;
mod series;
mod slowest;
mod statuses;
mod table;
mod window;

pub use agreements::{Agreement, Agreements, Handshake, HandshakeTimes};
pub use classes::{
    Class, Counts, Failure, FailureCounts, FailureRow, Origin, StatusClass, StatusCounts, StatusRow,
};
pub use compression::{Compression, Spared};
pub use datagrams::DatagramCounts;
pub use delays::delays;
pub use deliveries::{Deliveries, Step, Subscribers};
pub use disruptions::{BrokenOff, Disruptions, PipelineEnd};
pub use distribution::{Distribution, PERCENTILES, Percentile};
pub use endings::Endings;
pub use explanation::{Explanation, Explanations};
pub use extremes::Extremes;
pub use gap::{GAPS_MAX, Gap};
pub use histogram::{CoarseHistogram, CompactHistogram, Histogram, HistogramError, TimeHistogram};
pub use idle_ends::IdleEnds;
pub use messages::{Arrival, Messages};
pub use multiplexing::{EndsByCode, Multiplexing};
pub use operation::{MismatchedBody, OperationTally};
pub use outcome::{Answer, FailedRequest, Shown};
pub use periods::{PeriodSum, PeriodSums, encoded_counters};
pub use quic::{Quic, QuicAnnounced, QuicHandshakeKind};
pub use recorder::{
    ConnectionCounts, Loss, LostServer, Recorder, RequestCounts, SlowCandidate, Unbalanced, Unserved,
    WarmUpCounts,
};
pub use series::Period;
pub use slowest::{Retransmits, SlowRequest, Slowest};
pub use statuses::{OfStatus, Statuses};
pub use table::{ColumnKind, ColumnValues, count_of, table_columns};
pub use window::Window;
