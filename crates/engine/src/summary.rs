//! From what the threads of a load measured to its result: merged first, summarised once.

use loadcurve_plan::{Nanos, Pace, Stop};
use loadcurve_record::{ConnectionCounts, Distribution, Recorder, SlowRequest, TimeHistogram};

use crate::result::{
    Bytes, Connections, ErrorMessage, Generator, Histograms, Lateness, LoadResult, Operation, Rate, Requests,
    SeriesPeriod, SilentStretch, Slow,
};
use crate::team::{CpuUse, Finished, Part};
use crate::verdict::{Evidence, KeptUp, Verdict};

/// How many explanations of failures a result tells.
const MOST_MESSAGES: usize = 20;

/// What is under load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loaded {
    /// A web server, which is asked over HTTP.
    WebServer,
    /// A database, which is asked through a driver that hides statuses and bytes.
    Database,
}

/// What a load was to be, as far as its result tells and judges by it.
pub struct Terms<'a, Description> {
    /// The load as it was run, as results show it.
    pub description: Description,
    /// What was under load.
    pub loaded: Loaded,
    /// When it asked, and until when.
    pub pace: Pace,
    /// What it kept up where it was a closed loop.
    pub kept_up: KeptUp,
    /// Threads of the generator.
    pub threads: usize,
    /// What results call the backend.
    pub io: &'static str,
    /// What each tally is called.
    pub tally_labels: &'a [String],
    /// What one of the slowest requests is called.
    pub label_of: &'a dyn Fn(&SlowRequest) -> String,
}

impl<Description> LoadResult<Description> {
    /// Merges what the threads measured, summarises it once, and judges it.
    #[must_use]
    pub fn new(terms: Terms<'_, Description>, finished: Finished) -> Self {
        Summary::new(terms, finished).judged()
    }
}

/// A result before its verdict, with what that is reached from.
pub(crate) struct Summary<Description> {
    pub(crate) result: LoadResult<Description>,
    pub(crate) merged: Merged,
    pub(crate) evidence: Evidence,
}

impl<Description> Summary<Description> {
    pub(crate) fn new(terms: Terms<'_, Description>, finished: Finished) -> Self {
        let Terms { description, loaded, pace, kept_up, threads, io, tally_labels, label_of } = terms;
        let Finished { parts, kernel, interrupted } = finished;
        let merged = Merged::new(&pace, parts, interrupted);
        let recorder = &merged.recorder;
        let latency = recorder.latency();
        let speaks_http = loaded == Loaded::WebServer;
        let status = speaks_http.then_some(recorder.status);
        let slow = |slow: &SlowRequest| Slow::new(slow, label_of(slow));
        let result = LoadResult {
            format: "loadcurve-load/1",
            load: description,
            interrupted,
            window_start_monotonic_s: merged.start.as_secs_f64(),
            duration_s: merged.length.as_secs_f64(),
            requests: Requests::new(recorder, status),
            rate_rps: merged.rate(&pace),
            latency_ms: (&latency).into(),
            service_time_ms: (&recorder.service_time).into(),
            connect_ms: (&recorder.connect).into(),
            first_byte_ms: (&recorder.first_byte).into(),
            transfer_ms: (&recorder.transfer).into(),
            connections: merged.connections(),
            bytes: speaks_http.then(|| Bytes::from(recorder)),
            status,
            errors: recorder.failures,
            error_messages: error_messages(recorder, tally_labels),
            generator: merged.generator(threads, io),
            kernel,
            operations: operations(recorder, tally_labels),
            slowest: recorder.slowest.in_order().iter().map(slow).collect(),
            silences: recorder.silences(merged.length).into_iter().map(SilentStretch::from).collect(),
            series: recorder.periods(merged.length).iter().map(SeriesPeriod::from).collect(),
            histograms: Histograms::new(recorder, &latency),
            verdict: Verdict::default(),
        };
        let evidence = Evidence::of(&result, loaded, &pace, kept_up, &merged);
        Self { result, merged, evidence }
    }

    /// The result with the verdict that its evidence gives.
    pub(crate) fn judged(self) -> LoadResult<Description> {
        LoadResult { verdict: Verdict::of(&self.evidence), ..self.result }
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
    fn new(pace: &Pace, parts: Vec<Part>, interrupted: bool) -> Self {
        let ended = parts.iter().map(|part| part.ended).max().unwrap_or_default();
        let cpu = parts.iter().fold(CpuUse::default(), |sum, part| CpuUse {
            user: sum.user + part.cpu.user,
            system: sum.system + part.cpu.system,
            spun: sum.spun + part.cpu.spun,
        });
        let mut parts = parts.into_iter();
        let first = parts.next().expect("a load has at least one thread");
        let (window, mut recorder) = (first.window, first.recorder);
        for part in parts {
            recorder.merge(&part.recorder);
        }
        let end = match pace.stop {
            Stop::DurationS(_) if interrupted => window.end.min(ended),
            // An open loop is done when its last request is, and its window still lasts to the end.
            Stop::DurationS(_) => window.end,
            Stop::RequestsTotal(_) | Stop::ConnectionsTotal(_) if interrupted => ended,
            Stop::RequestsTotal(_) | Stop::ConnectionsTotal(_) => recorder.last_outcome.unwrap_or(ended),
        };
        let whole = ended - (window.start - pace.warmup());
        Self { recorder, start: window.start, length: end - window.start, whole, cpu }
    }

    /// For how long at the end of the window nothing was answered any more while requests failed.
    pub(crate) fn silent_at_end_s(&self) -> Option<f64> {
        self.recorder.silent_at_end(self.length).map(Nanos::as_secs_f64)
    }

    fn per_second(&self, count: u64) -> Option<f64> {
        (self.length > Nanos::ZERO).then(|| count as f64 / self.length.as_secs_f64())
    }

    fn rate(&self, pace: &Pace) -> Rate {
        Rate {
            asked: pace.asked_rps(self.length),
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

fn error_messages(recorder: &Recorder, labels: &[String]) -> Vec<ErrorMessage> {
    let told = recorder.explanations.most_frequent(MOST_MESSAGES).into_iter();
    told.map(|explanation| ErrorMessage {
        error: explanation.failure,
        operation: labels[explanation.operation].clone(),
        text: explanation.text.clone(),
        count: explanation.count,
    })
    .collect()
}
