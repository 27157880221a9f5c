//! What one process of several did of a load: its row beside the result of all of them.

use std::borrow::Cow;

use loadcurve_pauses::Pause;
use loadcurve_plan::{Nanos, Pace};
use loadcurve_record::{Distribution, FailureCounts};
use serde::Serialize;

use crate::io::Io as _;
use crate::io::epoll::Epoll;
use crate::kernel::TcpCounters;
use crate::merged::pauses_within;
use crate::part::{CpuUse, Finished};
use crate::result::{Generator, LoadResult, PauseSummary, Requests};

/// What one part of a load measured and cost.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)] // The fields are the contract's own; its documentation describes them.
pub struct PartRow {
    pub interrupted: bool,
    /// How long after the common start the first thread began.
    pub began_ms: f64,
    /// How much later than the first thread the last one began.
    pub began_within_ms: f64,
    /// When the last thread stopped, from the common start.
    pub ended_s: f64,
    pub connections_opened: u64,
    pub requests: Requests,
    /// Over the window of all parts, so that the rates of the parts add up.
    pub sent_rps: Option<f64>,
    pub answered_rps: Option<f64>,
    pub latency_ms: Distribution,
    pub errors: FailureCounts,
    /// None for an empty window.
    pub cpu_share: Option<f64>,
    pub generator: Generator,
    /// Of the part's machine, from its start to its end.
    pub kernel: TcpCounters,
}

/// What is kept of a part until the result of all is known, because its row depends on their window.
#[derive(Clone, Debug)]
pub struct PartFigures {
    row: PartRow,
    start: Nanos,
    sent_within: u64,
    answered_within: u64,
    cpu: CpuUse,
    pauses: Option<Vec<Pause>>,
}

impl PartFigures {
    /// Those of what a process recorded, in a load of this pace.
    #[must_use]
    pub fn of(pace: &Pace, finished: &Finished) -> Self {
        let (part, recorder) = (&finished.part, &finished.part.recorder);
        let begin = part.window.start - pace.warmup();
        let io = finished.io.clone().unwrap_or(Cow::Borrowed(Epoll::NAME));
        let row = PartRow {
            interrupted: finished.interrupted,
            began_ms: (part.began - begin).as_millis_f64(),
            began_within_ms: part.began_within.as_millis_f64(),
            ended_s: (part.ended - begin).as_secs_f64(),
            connections_opened: recorder.connections.opened,
            requests: Requests::new(recorder),
            sent_rps: None,
            answered_rps: None,
            latency_ms: (&recorder.latency()).into(),
            errors: recorder.failures,
            cpu_share: None,
            generator: Generator::of(part.threads, io, part.cpu, recorder),
            kernel: finished.kernel,
        };
        Self {
            row,
            start: part.window.start,
            sent_within: recorder.sent_within,
            answered_within: recorder.answered_within,
            cpu: part.cpu,
            pauses: finished.pauses.clone(),
        }
    }

    /// The row beside the result of all parts.
    #[must_use]
    pub fn beside(self, result: &LoadResult) -> PartRow {
        let length_s = result.duration_s;
        let per_second = |count: u64| (length_s > 0.0).then(|| count as f64 / length_s);
        let available_s = length_s * self.row.generator.threads as f64;
        let answered = self.answered_within;
        let pauses: Option<Vec<PauseSummary>> = self
            .pauses
            .as_ref()
            .map(|pauses| pauses_within(pauses, self.start, Nanos::from_secs_f64(length_s)));
        let busy_s = self.cpu.working().as_secs_f64();
        PartRow {
            sent_rps: per_second(self.sent_within),
            answered_rps: per_second(answered),
            cpu_share: (available_s > 0.0).then(|| busy_s / available_s),
            generator: Generator {
                cpu_per_request_us: (answered > 0).then(|| busy_s * 1e6 / answered as f64),
                pauses,
                ..self.row.generator
            },
            ..self.row
        }
    }
}
