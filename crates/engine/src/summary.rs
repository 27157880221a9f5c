//! From what the threads of a load measured to its result: merged first, summarised once.

use std::borrow::Cow;

use loadcurve_pauses::Pause;
use loadcurve_plan::{Nanos, Pace, Stop};
use loadcurve_record::{ConnectionCounts, Recorder, SlowRequest, Unserved};
use serde::Deserialize;

use crate::gathered::Gathered;
use crate::kernel::TcpCounters;
use crate::part::{CpuUse, Finished, Part};
use crate::result::{
    Bytes, Connections, ErrorMessage, GapSummary, Generator, Histograms, IdleEnded, Lateness, LoadResult,
    Operation, PauseSummary, Rate, Requests, SeriesPeriod, Slow, WaitedThrough,
};
use crate::verdict::{Evidence, KeptUp, Verdict};

/// How many explanations of failures a result has.
const MOST_MESSAGES: usize = 20;

/// What is under load.
///
/// Plans call it by its work.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
pub enum Loaded {
    /// A web server, which is asked over HTTP.
    #[serde(rename = "http")]
    WebServer,
    /// A database, which is asked through a driver that hides statuses and bytes.
    #[serde(rename = "ycsb")]
    Database,
}

/// What a load was to be, as far as its result shows it and its verdict needs it.
pub struct Terms<'a> {
    /// What was under load.
    pub loaded: Loaded,
    /// When it asked, and until when.
    pub pace: Pace,
    /// What it kept up where it was a closed loop.
    pub kept_up: KeptUp,
    /// What results call the backend.
    pub io: Cow<'static, str>,
    /// What each tally is called.
    pub tally_labels: &'a [String],
    /// What one of the slowest requests is called.
    pub label_of: &'a dyn Fn(&SlowRequest) -> String,
}

impl LoadResult {
    /// Summarises once what one or several processes recorded, and judges it.
    ///
    /// # Panics
    /// Without a process.
    #[must_use]
    pub fn new(terms: Terms<'_>, gathered: Gathered) -> Self {
        Summary::new(terms, gathered).judged()
    }
}

/// A result before its verdict, with what that is reached from.
pub(crate) struct Summary {
    pub(crate) result: LoadResult,
    pub(crate) merged: Merged,
    pub(crate) evidence: Evidence,
}

impl Summary {
    pub(crate) fn new(terms: Terms<'_>, gathered: Gathered) -> Self {
        let Terms { loaded, pace, kept_up, io, tally_labels, label_of } = terms;
        let (whole, slowest_within) = gathered.together();
        let merged = Merged::new(&pace, whole);
        let recorder = &merged.recorder;
        let latency = recorder.latency();
        let speaks_http = loaded == Loaded::WebServer;
        let status = speaks_http.then_some(recorder.status);
        let slow = |slow: &SlowRequest| Slow::new(slow, label_of(slow));
        let result = LoadResult {
            interrupted: merged.interrupted,
            window_start_monotonic_s: merged.start.as_secs_f64(),
            duration_s: merged.length.as_secs_f64(),
            requests: Requests::new(recorder),
            waited_through: merged.waited_through(),
            rate_rps: merged.rate(&pace),
            latency_ms: (&latency).into(),
            service_time_ms: (&recorder.service_time).into(),
            connect_ms: (&recorder.connect).into(),
            handshake_ms: (&recorder.handshake).into(),
            first_byte_ms: (&recorder.first_byte).into(),
            transfer_ms: (&recorder.transfer).into(),
            connections: merged.connections(speaks_http),
            tls: None,
            http2: None,
            bytes: speaks_http.then(|| Bytes::from(recorder)),
            status,
            unexpected_status: (recorder.expected_statuses > 0).then_some(recorder.wrong_status),
            errors: recorder.failures,
            error_messages: error_messages(recorder, tally_labels),
            broken_off: None,
            redirected_to: None,
            generator: merged.generator(io),
            kernel: merged.kernel,
            operations: operations(recorder, tally_labels),
            slowest: recorder.slowest.in_order().iter().map(slow).collect(),
            silences: recorder.gaps(merged.length).into_iter().map(GapSummary::from).collect(),
            series: recorder.periods(merged.length).iter().map(SeriesPeriod::from).collect(),
            histograms: Histograms::new(recorder, &latency),
            verdict: Verdict::default(),
        };
        let slowest = slowest_within(merged.length);
        let evidence = Evidence::of(&result, loaded, &pace, kept_up, &merged, slowest);
        Self { result, merged, evidence }
    }

    /// The result with the verdict that its evidence gives.
    pub(crate) fn judged(self) -> LoadResult {
        LoadResult { verdict: Verdict::of(&self.evidence), ..self.result }
    }
}

/// The parts of all threads of all processes as one.
pub(crate) struct Merged {
    pub(crate) recorder: Recorder,
    /// The start of the window.
    pub(crate) start: Nanos,
    /// How long after that the last thread began; zero for most.
    pub(crate) began_late: Nanos,
    /// The length of the window; shorter than planned when interrupted.
    pub(crate) length: Nanos,
    /// From the start of the warm-up to the end of the last thread.
    pub(crate) whole: Nanos,
    cpu: CpuUse,
    threads: usize,
    kernel: TcpCounters,
    interrupted: bool,
    /// Of all processes, where each of them can tell.
    pauses: Option<Vec<Pause>>,
}

impl Merged {
    fn new(pace: &Pace, whole: Finished) -> Self {
        let Finished { part, kernel, interrupted, pauses, .. } = whole;
        let began_late = part.last_began() - part.window.start;
        let Part { recorder, window, ended, cpu, threads, .. } = part;
        let end = match pace.stop {
            Stop::DurationS(_) if interrupted => window.end.min(ended),
            // An open loop is done when its last request is, and its window still lasts to the end.
            Stop::DurationS(_) => window.end,
            Stop::RequestsTotal(_) | Stop::ConnectionsTotal(_) | Stop::Recording if interrupted => ended,
            Stop::RequestsTotal(_) | Stop::ConnectionsTotal(_) | Stop::Recording => {
                recorder.last_outcome.unwrap_or(ended)
            }
        };
        debug_assert!(
            recorder.is_balanced(),
            "requests got lost: {:?}, {:?}",
            recorder.requests,
            recorder.warm_up
        );
        let whole = ended - (window.start - pace.warmup());
        let length = end - window.start;
        Self {
            recorder,
            start: window.start,
            began_late,
            length,
            whole,
            cpu,
            threads,
            kernel,
            interrupted,
            pauses,
        }
    }

    /// For how long at the end of the window nothing was answered any more while requests failed.
    pub(crate) fn silent_at_end_s(&self) -> Option<f64> {
        self.recorder.silent_at_end(self.length).map(Nanos::as_secs_f64)
    }

    pub(crate) fn per_second(&self, count: u64) -> Option<f64> {
        (self.length > Nanos::ZERO).then(|| count as f64 / self.length.as_secs_f64())
    }

    fn rate(&self, pace: &Pace) -> Rate {
        Rate {
            asked: pace.asked_rps(self.length),
            sent: self.per_second(self.recorder.sent_within),
            answered: self.per_second(self.recorder.answered_within),
        }
    }

    /// `are_of_requests` where they carry requests, and not operations of a database's driver.
    fn connections(&self, are_of_requests: bool) -> Connections {
        let ConnectionCounts { opened, failed, reused, concurrent_max, .. } = self.recorder.connections;
        let rate_cps = (self.whole > Nanos::ZERO).then(|| opened as f64 / self.whole.as_secs_f64());
        let replies = self.recorder.replies;
        let Unserved { asked, served, .. } = self.unserved();
        let idle_ended = self.recorder.idle_ends.iter();
        Connections {
            asked,
            served,
            opened,
            failed,
            reused,
            concurrent_max,
            rate_cps,
            replies_per_connection: (opened > 0).then(|| replies as f64 / opened as f64),
            idle_ended: idle_ended.map(|(status, count)| IdleEnded { status, count }).collect(),
            lifetime_ms: (&self.recorder.lifetime).into(),
            ended_by_server: are_of_requests.then(|| (&self.recorder.endings).into()),
            lasting: are_of_requests.then_some(self.recorder.endings.lasting),
        }
    }

    /// What was not served in the window.
    pub(crate) fn unserved(&self) -> Unserved {
        self.recorder.unserved(self.start + self.length)
    }

    /// How many requests of the warm-up failed before the window was over.
    pub(crate) fn warm_up_failures(&self) -> u64 {
        self.recorder.warm_up_failures(self.start + self.length)
    }

    fn waited_through(&self) -> Option<WaitedThrough> {
        let Unserved { requests, connections, oldest, asked, .. } = self.unserved();
        (requests > 0).then(|| WaitedThrough {
            requests,
            connections,
            of_connections: asked,
            oldest_ms: oldest.as_millis_f64(),
        })
    }

    fn generator(&self, io: Cow<'static, str>) -> Generator {
        let answered = self.recorder.answered_within;
        let CpuUse { user, system, polling, voluntary_switches } = self.cpu;
        let cpu_us = self.cpu.working().0 as f64 / 1e3;
        Generator {
            threads: self.threads,
            io,
            cpu_user_s: user.as_secs_f64(),
            cpu_system_s: system.as_secs_f64(),
            cpu_spun_s: polling.spent.as_secs_f64(),
            waiting: self.cpu.waiting(),
            polled_waits: polling.found,
            poll_pause_max_us: polling.longest_pause.as_millis_f64() * 1e3,
            voluntary_context_switches: voluntary_switches,
            cpu_per_request_us: (answered > 0).then(|| cpu_us / answered as f64),
            lateness_ms: Lateness::of(&self.recorder.lateness),
            pauses: self.pauses_within(),
        }
    }

    /// The pauses that reach into the window.
    fn pauses_within(&self) -> Option<Vec<PauseSummary>> {
        Some(pauses_within(self.pauses.as_ref()?, self.start, self.length))
    }
}

/// The pauses that reach into a window.
pub(crate) fn pauses_within(pauses: &[Pause], start: Nanos, length: Nanos) -> Vec<PauseSummary> {
    let reaches = |pause: &&Pause| pause.end > start && pause.latest < start + length;
    pauses.iter().filter(reaches).map(|pause| PauseSummary::new(*pause, start)).collect()
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
    let reported = recorder.explanations.most_frequent(MOST_MESSAGES).into_iter();
    reported
        .map(|explanation| ErrorMessage {
            error: explanation.failure,
            operation: labels[explanation.operation].clone(),
            text: explanation.text.clone(),
            example: explanation.example.clone(),
            count: explanation.count,
        })
        .collect()
}
