//! The recordings of all threads of all processes as one, and the figures of a result that follow from them.

use std::borrow::Cow;

use loadcurve_pauses::Pause;
use loadcurve_plan::{Nanos, Pace, Stop};
use loadcurve_record::{ConnectionCounts, Recorder, Unserved};

use crate::kernel::TcpCounters;
use crate::part::{CpuUse, Finished, Part};
use crate::result::{
    Connections, FailedConnections, Generator, IdleEnded, PauseSummary, Rate, WaitedThrough,
};

/// How many reasons of connections that could not be established are reported.
const MOST_REASONS: usize = 5;

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
    pub(crate) kernel: TcpCounters,
    pub(crate) interrupted: bool,
    /// Of all processes, where each of them can tell.
    pauses: Option<Vec<Pause>>,
}

impl Merged {
    /// The parts of a load together.
    ///
    /// # Panics
    /// When their counts of requests do not add up: what is wrong is not published.
    pub(crate) fn new(pace: &Pace, whole: Finished) -> Self {
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
        if let Err(unbalanced) = recorder.balance() {
            panic!("the requests of a load do not add up: {unbalanced}");
        }
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

    pub(crate) fn rate(&self, pace: &Pace) -> Rate {
        Rate {
            asked: pace.asked_rps(self.length),
            sent: self.per_second(self.recorder.sent_within),
            answered: self.per_second(self.recorder.answered_within),
        }
    }

    /// `are_of_requests` where they carry requests, and not operations of a database's driver.
    pub(crate) fn connections(&self, are_of_requests: bool) -> Connections {
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
            failures: FailedConnections::of(&self.recorder.connect_failures, MOST_REASONS),
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

    pub(crate) fn waited_through(&self) -> Option<WaitedThrough> {
        let Unserved { requests, connections, oldest, asked, .. } = self.unserved();
        (requests > 0).then(|| WaitedThrough {
            requests,
            connections,
            of_connections: asked,
            oldest_ms: oldest.as_millis_f64(),
        })
    }

    pub(crate) fn generator(&self, io: Cow<'static, str>) -> Generator {
        let answered = self.recorder.answered_within;
        let cpu_us = self.cpu.working().0 as f64 / 1e3;
        Generator {
            cpu_per_request_us: (answered > 0).then(|| cpu_us / answered as f64),
            pauses: self.pauses_within(),
            ..Generator::of(self.threads, io, self.cpu, &self.recorder)
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
