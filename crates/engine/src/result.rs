//! The result of one load: the object that `load --json` prints.

use loadcurve_plan::{LoadPlan, Nanos, Stop};
use loadcurve_record::{
    ConnectionCounts, Distribution, Failure, FailureCounts, Period, Recorder, Silence, SlowRequest,
    StatusCounts, TimeHistogram,
};
use serde::Serialize;

use crate::capacity::Capacity;
use crate::description::LoadDescription;
use crate::kernel::TcpCounters;
use crate::load::{CpuUse, Part};
use crate::requests::RequestSource;
use crate::verdict::{Evidence, Verdict};

/// Everything measured by one load. Times are in milliseconds and rates per second unless the name says otherwise.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)] // The fields are the contract's own; its documentation describes them.
pub struct LoadResult {
    pub format: &'static str,
    pub load: LoadDescription,
    pub interrupted: bool,
    /// When the window began, on the machine's monotonic clock, by which other records of that time are aligned with it.
    pub window_start_monotonic_s: f64,
    pub duration_s: f64,
    pub requests: Requests,
    pub rate_rps: Rate,
    pub latency_ms: Distribution,
    pub service_time_ms: Distribution,
    pub connect_ms: Distribution,
    pub first_byte_ms: Distribution,
    pub transfer_ms: Distribution,
    pub connections: Connections,
    pub bytes: Bytes,
    pub status: StatusCounts,
    pub errors: FailureCounts,
    pub generator: Generator,
    pub kernel: TcpCounters,
    pub operations: Vec<Operation>,
    pub slowest: Vec<Slow>,
    pub silences: Vec<SilentStretch>,
    pub series: Vec<SeriesPeriod>,
    pub histograms: Histograms,
    pub verdict: Verdict,
}

/// What became of the requests: due = answered + failed + unanswered + `never_sent`.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Requests {
    pub due: u64,
    pub sent: u64,
    pub answered: u64,
    pub ok: u64,
    pub failed: u64,
    pub unanswered: u64,
    pub never_sent: u64,
}

/// Requests per second over the window.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Rate {
    pub asked: Option<f64>,
    pub sent: Option<f64>,
    pub answered: Option<f64>,
}

/// The connections of the whole load.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Connections {
    pub opened: u64,
    pub failed: u64,
    pub reused: u64,
    pub concurrent_max: u64,
    pub rate_cps: Option<f64>,
    pub replies_per_connection: Option<f64>,
    pub lifetime_ms: Distribution,
}

/// Bytes of the measured requests and answers.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Bytes {
    pub sent: u64,
    pub received: u64,
    pub header: u64,
    pub body: u64,
}

/// What the load cost the generator.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Generator {
    pub threads: usize,
    pub io: &'static str,
    pub cpu_user_s: f64,
    pub cpu_system_s: f64,
    /// The part of the two that went into looking for work instead of sleeping, to be punctual.
    pub cpu_spun_s: f64,
    pub cpu_per_request_us: Option<f64>,
    pub lateness_ms: Option<Lateness>,
}

/// How late the generator itself was; none in a closed loop, which has no times to be late against.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Lateness {
    pub p50: Option<f64>,
    pub p99: Option<f64>,
    pub p99_9: Option<f64>,
    pub max: Option<f64>,
}

/// The part of one operation.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Operation {
    pub operation: String,
    pub answered: u64,
    pub failed: u64,
    pub latency_ms: Distribution,
}

/// One of the slowest requests; `due_s` counts from the start of the window, `error` is none where it was answered, and
/// what was sent again is its connection's.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Slow {
    pub operation: String,
    pub due_s: f64,
    pub connect_ms: Option<f64>,
    pub first_byte_ms: Option<f64>,
    pub service_time_ms: Option<f64>,
    pub latency_ms: f64,
    pub error: Option<Failure>,
    pub syn_retransmits: Option<u32>,
    pub retransmits: Option<u32>,
    pub connection: usize,
}

/// A stretch of the window in which nothing was answered; `start_s` counts from its start.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs)]
pub struct SilentStretch {
    pub start_s: f64,
    pub length_ms: f64,
}

/// What was completed in one period of the window: `t_s` is its start.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct SeriesPeriod {
    pub t_s: f64,
    /// The same for all periods but the last, which ends with the window.
    pub width_s: f64,
    pub answered: u64,
    pub failed: u64,
    pub body_bytes: u64,
    pub latency_ms: Distribution,
    /// Like those of the whole load, but of two significant digits: a series holds many.
    pub latency_histogram: String,
}

/// `HdrHistogram`s of nanoseconds, V2 with deflate, base64.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Histograms {
    pub latency: String,
    pub service_time: String,
    pub connect: String,
    pub first_byte: String,
    pub transfer: String,
}

impl LoadResult {
    /// Merges what the threads measured, and summarises it once.
    pub(crate) fn new(
        plan: &LoadPlan,
        requests: &RequestSource,
        parts: Vec<Part>,
        io: &'static str,
        kernel: TcpCounters,
        capacity: Option<&Capacity>,
        interrupted: bool,
    ) -> Self {
        let merged = Merged::new(plan, parts, interrupted);
        let recorder = &merged.recorder;
        let latency = recorder.latency();
        let rate = merged.rate(plan);
        let generator = merged.generator(plan.threads, io);
        let labels = requests.tally_labels();
        let mut result = Self {
            format: "loadcurve-load/1",
            load: LoadDescription::new(plan, labels, io),
            interrupted,
            window_start_monotonic_s: merged.start.as_secs_f64(),
            duration_s: merged.length.as_secs_f64(),
            requests: Requests::from(recorder),
            rate_rps: rate,
            latency_ms: (&latency).into(),
            service_time_ms: (&recorder.service_time).into(),
            connect_ms: (&recorder.connect).into(),
            first_byte_ms: (&recorder.first_byte).into(),
            transfer_ms: (&recorder.transfer).into(),
            connections: merged.connections(),
            bytes: Bytes::from(recorder),
            status: recorder.status,
            errors: recorder.failures,
            generator,
            kernel,
            operations: operations(recorder, labels),
            slowest: recorder.slowest.in_order().iter().map(|slow| Slow::new(slow, requests)).collect(),
            silences: recorder.silences(merged.length).into_iter().map(SilentStretch::from).collect(),
            series: recorder.periods(merged.length).iter().map(SeriesPeriod::from).collect(),
            histograms: Histograms::new(recorder, &latency),
            verdict: Verdict::default(),
        };
        result.verdict = Verdict::of(&Evidence::of(&result, plan, requests, &merged, capacity));
        result
    }
}

/// The parts of all threads as one.
pub(crate) struct Merged {
    pub(crate) recorder: Recorder,
    /// The start of the window.
    pub(crate) start: Nanos,
    /// The length of the window; shorter than planned when interrupted.
    pub(crate) length: Nanos,
    /// From the start of the warm-up to the end of the last thread.
    pub(crate) whole: Nanos,
    cpu: CpuUse,
}

impl Merged {
    fn new(plan: &LoadPlan, parts: Vec<Part>, interrupted: bool) -> Self {
        let ended = parts.iter().map(|part| part.ended).max().unwrap_or_default();
        let cpu = parts.iter().fold(CpuUse::default(), |sum, part| CpuUse {
            user: sum.user + part.cpu.user,
            system: sum.system + part.cpu.system,
            spun: sum.spun + part.cpu.spun,
        });
        let mut parts = parts.into_iter();
        let first = parts.next().expect("a plan has at least one thread");
        let (window, mut recorder) = (first.window, first.recorder);
        for part in parts {
            recorder.merge(&part.recorder);
        }
        let end = match plan.stop {
            Stop::DurationS(_) if interrupted => window.end.min(ended),
            // An open loop is done when its last request is, and its window still lasts to the end.
            Stop::DurationS(_) => window.end,
            Stop::RequestsTotal(_) | Stop::ConnectionsTotal(_) if interrupted => ended,
            Stop::RequestsTotal(_) | Stop::ConnectionsTotal(_) => recorder.last_outcome.unwrap_or(ended),
        };
        let whole = ended - (window.start - plan.warmup());
        Self { recorder, start: window.start, length: end - window.start, whole, cpu }
    }

    fn per_second(&self, count: u64) -> Option<f64> {
        (self.length > Nanos::ZERO).then(|| count as f64 / self.length.as_secs_f64())
    }

    fn rate(&self, plan: &LoadPlan) -> Rate {
        Rate {
            asked: plan.asked_rps(self.length),
            sent: self.per_second(self.recorder.sent_within),
            answered: self.per_second(self.recorder.answered_within),
        }
    }

    fn connections(&self) -> Connections {
        let ConnectionCounts { opened, failed, reused, concurrent_max, .. } = self.recorder.connections;
        let rate_cps = (self.whole > Nanos::ZERO).then(|| opened as f64 / self.whole.as_secs_f64());
        let replies = self.recorder.replies;
        Connections {
            opened,
            failed,
            reused,
            concurrent_max,
            rate_cps,
            replies_per_connection: (opened > 0).then(|| replies as f64 / opened as f64),
            lifetime_ms: (&self.recorder.lifetime).into(),
        }
    }

    fn generator(&self, threads: usize, io: &'static str) -> Generator {
        let answered = self.recorder.answered_within;
        let CpuUse { user, system, spun } = self.cpu;
        let cpu_us = (user + system - spun).0 as f64 / 1e3;
        Generator {
            threads,
            io,
            cpu_user_s: user.as_secs_f64(),
            cpu_system_s: system.as_secs_f64(),
            cpu_spun_s: spun.as_secs_f64(),
            cpu_per_request_us: (answered > 0).then(|| cpu_us / answered as f64),
            lateness_ms: lateness(&self.recorder.lateness),
        }
    }
}

fn lateness(histogram: &TimeHistogram) -> Option<Lateness> {
    let distribution = Distribution::from(histogram);
    (distribution.count > 0).then_some(Lateness {
        p50: distribution.p50,
        p99: distribution.p99,
        p99_9: distribution.p99_9,
        max: distribution.max,
    })
}

fn operations(recorder: &Recorder, labels: &[String]) -> Vec<Operation> {
    recorder
        .operations
        .iter()
        .zip(labels)
        .map(|(tally, label)| Operation {
            operation: label.clone(),
            answered: tally.answered,
            failed: tally.failed,
            latency_ms: (&tally.latency).into(),
        })
        .collect()
}

impl From<&Recorder> for Requests {
    fn from(recorder: &Recorder) -> Self {
        let counts = recorder.requests;
        Self {
            due: counts.due,
            sent: counts.sent,
            answered: counts.answered,
            ok: recorder.status.ok(),
            failed: counts.failed,
            unanswered: counts.unanswered,
            never_sent: counts.never_sent,
        }
    }
}

impl From<&Recorder> for Bytes {
    fn from(recorder: &Recorder) -> Self {
        let (header, body) = (recorder.header_bytes, recorder.body_bytes);
        Self { sent: recorder.bytes_sent, received: header + body + recorder.framing_bytes, header, body }
    }
}

impl Slow {
    fn new(slow: &SlowRequest, requests: &RequestSource) -> Self {
        Self {
            operation: requests.label(slow.number),
            due_s: slow.due.as_secs_f64(),
            connect_ms: slow.connect.map(Nanos::as_millis_f64),
            first_byte_ms: slow.first_byte.map(Nanos::as_millis_f64),
            service_time_ms: slow.service_time.map(Nanos::as_millis_f64),
            latency_ms: slow.latency.as_millis_f64(),
            error: slow.failure,
            syn_retransmits: slow.retransmits.map(|retransmits| retransmits.syn),
            retransmits: slow.retransmits.map(|retransmits| retransmits.established),
            connection: slow.connection,
        }
    }
}

impl From<Silence> for SilentStretch {
    fn from(silence: Silence) -> Self {
        Self { start_s: silence.start.as_secs_f64(), length_ms: silence.length.as_millis_f64() }
    }
}

impl From<&Period> for SeriesPeriod {
    fn from(period: &Period) -> Self {
        let latency = period.latency.expand();
        Self {
            t_s: period.start.as_secs_f64(),
            width_s: period.width.as_secs_f64(),
            answered: period.answered,
            failed: period.failed,
            body_bytes: period.body_bytes,
            latency_ms: (&latency).into(),
            latency_histogram: latency.encode(),
        }
    }
}

impl Histograms {
    fn new(recorder: &Recorder, latency: &TimeHistogram) -> Self {
        Self {
            latency: latency.encode(),
            service_time: recorder.service_time.encode(),
            connect: recorder.connect.encode(),
            first_byte: recorder.first_byte.encode(),
            transfer: recorder.transfer.encode(),
        }
    }
}
