//! What the verdict is reached from.

use loadcurve_plan::{HttpLoad, Nanos, Pace, Stop};
use loadcurve_record::{
    Disruptions, FailureCounts, Loss, LostServer, OfStatus, Recorder, StatusCounts, Unserved, WarmUpCounts,
};

use super::fan_out::FanOutEvidence;
use super::resumption::{EarlyData, Resumption};
use super::wording::Loaded;
use crate::merged::Merged;
use crate::result::{Lateness, LoadResult, Requests, SeriesPeriod};

/// What the verdict is reached from.
#[derive(Clone, Debug)]
pub(crate) struct Evidence {
    pub(crate) loaded: Loaded,
    /// What was to end the load.
    pub(crate) stop: Stop,
    pub(crate) interrupted: bool,
    /// How long the window was.
    pub(crate) duration_s: f64,
    pub(crate) requests: Requests,
    /// How long after the start of the window the last part of the load began; zero for most.
    pub(crate) began_late_s: f64,
    /// For how long at the end of the window nothing was answered any more while requests failed; `None` if that is not
    /// so.
    pub(crate) silent_at_end_s: Option<f64>,
    /// `None` where it could be reached, or the load ends by time.
    pub(crate) lost: Option<Lost>,
    /// How many recorded requests were due only after the planned end of the load.
    pub(crate) cut_off: u64,
    /// Those that failed failed before the window was over.
    pub(crate) warm_up: WarmUpCounts,
    pub(crate) unserved: Unserved,
    /// Requests that could be under way at once.
    pub(crate) at_once: usize,
    pub(crate) failures: FailureCounts,
    /// `None` where answers have no status.
    pub(crate) status: Option<StatusCounts>,
    /// By single statuses; empty where these are not known.
    pub(crate) statuses: Vec<OfStatus>,
    /// Of another status than the list expects; None where it expects none.
    pub(crate) unexpected_status: Option<StatusCounts>,
    /// How connections ended with requests under way; zero where that is not known.
    pub(crate) disruptions: Disruptions,
    /// Whether connections of HTTP/1.x carried several requests at once.
    pub(crate) pipelined: bool,
    /// Where answers led, if they did.
    pub(crate) redirection: Option<Redirection>,
    /// Packets that the kernel dropped because its table of tracked connections was full.
    pub(crate) tracking_drops: u64,
    /// Whether the connections went to a Unix socket.
    pub(crate) is_local: bool,
    /// The operations whose answers were not all of one length.
    pub(crate) odd_bodies: Vec<OddBody>,
    /// What the load needed of open files, what there was and what to change; `None` if it is not known.
    pub(crate) descriptors: Option<String>,
    /// The same of local ports.
    pub(crate) ports: Option<String>,
    /// `None` where requests arrive on a schedule.
    pub(crate) kept_up: Option<KeptUp>,
    /// WebSockets whose server has declined to compress messages.
    pub(crate) declined: u64,
    /// `None` where messages do not go to subscribers.
    pub(crate) fan_out: Option<FanOutEvidence>,
    /// None in a closed loop, and where no window had begun.
    pub(crate) scheduled: Option<Scheduled>,
    /// None without TLS, and where it is not known.
    pub(crate) resumption: Option<Resumption>,
    pub(crate) early_data: Option<EarlyData>,
    pub(crate) answered_rps: Option<f64>,
    pub(crate) mean_latency_ms: Option<f64>,
    pub(crate) time_series: TimeSeries,
    /// Of several generators the slowest counts.
    pub(crate) generator: GeneratorEvidence,
}

/// How well a generator kept up with its own part.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct GeneratorEvidence {
    pub(crate) lateness: Option<Lateness>,
    /// How busy its threads were.
    pub(crate) busy: Option<Busy>,
}

/// How busy threads were.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Busy {
    pub(crate) threads: usize,
    /// Between 0 and 1.
    pub(crate) cpu_share: f64,
}

impl GeneratorEvidence {
    /// That of a generator with this lateness, and with this CPU time on all its threads, in a window of this length.
    pub(crate) fn new(lateness: Option<Lateness>, worked: Nanos, threads: usize, length: Nanos) -> Self {
        let available_s = length.as_secs_f64() * threads as f64;
        let cpu_share = worked.as_secs_f64() / available_s;
        Self { lateness, busy: (available_s > 0.0).then_some(Busy { threads, cpu_share }) }
    }

    /// The evidence of two generators: one that is late or busy is not excused by another that is neither.
    pub(crate) fn or_slower(self, other: Self) -> Self {
        let later = |one: Lateness, other: Lateness| if other.latest() > one.latest() { other } else { one };
        let busier = |one: Busy, other: Busy| if other.cpu_share > one.cpu_share { other } else { one };
        Self {
            lateness: self.lateness.into_iter().chain(other.lateness).reduce(later),
            busy: self.busy.into_iter().chain(other.busy).reduce(busier),
        }
    }
}

impl Lateness {
    /// The 99th percentile; the latest, where requests are too few for that.
    fn latest(&self) -> Option<f64> {
        self.p99.or(self.max)
    }
}

/// How the load went over time.
#[derive(Clone, Debug)]
pub(crate) struct TimeSeries {
    /// How long requests were sent before the window.
    pub(crate) warmup_s: f64,
    /// Whether the load itself changed on purpose: its rate stepped or ramped, or was a recording's.
    pub(crate) rate_changes: bool,
    pub(crate) periods: Vec<PeriodMeans>,
}

/// What was answered in one period of the window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeriodMeans {
    pub(crate) width_s: f64,
    pub(crate) answered: u64,
    /// None without an answer.
    pub(crate) mean_latency_ms: Option<f64>,
}

/// What a closed loop kept going.
#[derive(Clone, Copy, Debug)]
pub struct KeptUp {
    /// Requests under way or in thought.
    pub requests: usize,
    /// How long a client thinks between answer and request.
    pub think_ms: f64,
}

/// A server that could not be reached any more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lost {
    pub(crate) how: Loss,
    /// How long after the start of the window it was last heard of; `None` where that was before.
    pub(crate) last_heard_s: Option<f64>,
    /// How long it was tried in vain.
    pub(crate) tried_s: f64,
}

impl Lost {
    fn of(lost: LostServer, start: Nanos) -> Self {
        let LostServer { how, since, given_up } = lost;
        Self {
            how,
            last_heard_s: (since >= start).then(|| (since - start).as_secs_f64()),
            tried_s: (given_up - since).as_secs_f64(),
        }
    }
}

/// Where an answer redirected to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Redirection {
    pub(crate) place: String,
    /// Whether the load asked for nothing else.
    pub(crate) is_only: bool,
}

/// What a schedule asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scheduled {
    /// The rate at which the requests fell due.
    pub(crate) due_rps: f64,
    pub(crate) sent_rps: f64,
    /// Requests that were never sent although a connection was free.
    pub(crate) never_sent_while_free: u64,
}

/// An operation whose successful answers were not all of one length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OddBody {
    /// Some were not of the length that was verified before the load, the first of them of the length found.
    Mismatched { operation: String, verified_bytes: u64, found_bytes: u64 },
    /// No length was verified, and they were not of the same.
    Differing { operation: String, shortest_bytes: u64, longest_bytes: u64 },
}

impl Evidence {
    /// The evidence that every kind of load gives; its kind adds what else there is.
    pub(crate) fn of(
        result: &LoadResult,
        loaded: Loaded,
        pace: &Pace,
        kept_up: KeptUp,
        merged: &Merged,
        generator: GeneratorEvidence,
    ) -> Self {
        Self {
            loaded,
            stop: pace.stop,
            interrupted: result.interrupted,
            duration_s: result.duration_s,
            requests: result.requests,
            began_late_s: merged.began_late.as_secs_f64(),
            silent_at_end_s: merged.silent_at_end_s(),
            lost: merged.recorder.lost.map(|lost| Lost::of(lost, merged.start)),
            cut_off: pace.cut_off().unwrap_or(0),
            warm_up: WarmUpCounts { failed: merged.warm_up_failures(), ..merged.recorder.warm_up },
            unserved: merged.unserved(),
            at_once: kept_up.requests,
            failures: result.errors,
            status: result.status,
            statuses: result.statuses.clone().unwrap_or_default(),
            unexpected_status: result.unexpected_status,
            disruptions: Disruptions::default(),
            pipelined: false,
            redirection: None,
            tracking_drops: result.kernel.tracking_drops.unwrap_or(0),
            is_local: false,
            odd_bodies: Vec::new(),
            descriptors: None,
            ports: None,
            kept_up: pace.arriving.is_none().then_some(kept_up),
            scheduled: Scheduled::of(result, pace, merged),
            declined: 0,
            fan_out: None,
            resumption: None,
            early_data: None,
            answered_rps: result.rate_rps.answered,
            mean_latency_ms: result.latency_ms.mean,
            time_series: TimeSeries::of(&result.series, pace),
            generator,
        }
    }

    /// Whether handshakes of TLS were those that a load asked for; nothing in clear text.
    pub(crate) fn consider_handshakes(&mut self, plan: &HttpLoad, recorder: &Recorder) {
        self.resumption = Resumption::of(plan, &recorder.handshakes_within);
        self.early_data = EarlyData::of(plan, &recorder.quic);
    }

    /// What clients have done with streams of messages changes what can be judged of a load.
    pub(crate) fn consider_messages(&mut self, subscribers: Option<usize>, recorder: &Recorder) {
        self.fan_out = subscribers.map(|asked| FanOutEvidence::of(asked, recorder));
        self.declined = recorder.compression.declined;
        let messages = &recorder.messages;
        if messages.ended_by_client > 0 {
            // A stream that continues until the client ends it is no answer that is waited for.
            self.unserved = Unserved::default();
            // When it ends is the client's choice: whether the schedule was kept shows in what was sent.
            if self.scheduled.is_some() && 100 * self.requests.never_sent <= self.requests.due {
                self.answered_rps = None;
            }
        }
        if messages.reconnects > 0 {
            // A client that waits before it opens its stream again has none under way.
            self.kept_up = None;
        }
    }
}

impl TimeSeries {
    fn of(series: &[SeriesPeriod], pace: &Pace) -> Self {
        let rate_changes = pace.arriving.as_ref().is_some_and(|arriving| !arriving.is_even());
        let mut periods: Vec<PeriodMeans> = series
            .iter()
            .map(|period| PeriodMeans {
                width_s: period.width_s,
                answered: period.answered,
                mean_latency_ms: period.latency_ms.mean,
            })
            .collect();
        // A rest of a period is too short to be compared with whole ones.
        if let [.., before, last] = periods.as_slice()
            && last.width_s < before.width_s / 2.0
        {
            periods.pop();
        }
        Self { warmup_s: pace.warmup_s, rate_changes, periods }
    }
}

impl Scheduled {
    fn of(result: &LoadResult, pace: &Pace, merged: &Merged) -> Option<Self> {
        pace.arriving.as_ref()?;
        let due = result.requests.due as f64;
        let due_rps = match (pace.stop, merged.recorder.last_due) {
            // The window of a number of requests lasts until the last answer, but they fell due before: `due - 1`
            // steps of the schedule lie between the first and the last.
            (Stop::RequestsTotal(_) | Stop::ConnectionsTotal(_) | Stop::Recording, Some(last_due))
                if !result.interrupted =>
            {
                (due - 1.0) / (last_due - merged.start).as_secs_f64()
            }
            _ => due / result.duration_s,
        };
        due_rps.is_finite().then_some(Self {
            due_rps,
            sent_rps: result.rate_rps.sent?,
            never_sent_while_free: merged.recorder.never_sent_while_free,
        })
    }
}
