//! The result of one load: the object that `load --json` prints.

use std::borrow::Cow;

use loadcurve_pauses::Pause;
use loadcurve_plan::Nanos;
use loadcurve_record::{
    Distribution, Endings, Explanations, Failure, FailureCounts, Gap, Multiplexing, OfStatus, Period,
    Recorder, SlowRequest, StatusCounts, TimeHistogram,
};
use serde::Serialize;

use crate::compression::CompressionSummary;
use crate::deliveries::DeliveriesSummary;
use crate::http3_summary::Http3Summary;
use crate::kernel::TcpCounters;
use crate::messages::MessagesSummary;
use crate::part::{CpuUse, WaitedBy};
use crate::verdict::reasons::Verdict;

/// Everything measured by one load; what the load was, who started it knows. Times are in milliseconds and rates per
/// second unless the name says otherwise.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)] // The fields are the contract's own; its documentation describes them.
pub struct LoadResult {
    pub interrupted: bool,
    /// When the window began, on the machine's monotonic clock, by which other records of that time are aligned with it.
    pub window_start_monotonic_s: f64,
    pub duration_s: f64,
    pub requests: Requests,
    /// `None` where no request waited through the whole window.
    pub waited_through: Option<WaitedThrough>,
    pub rate_rps: Rate,
    pub latency_ms: Distribution,
    pub service_time_ms: Distribution,
    pub connect_ms: Distribution,
    /// Of what follows connecting before requests can be sent; empty if a protocol has nothing of the kind.
    pub handshake_ms: Distribution,
    pub first_byte_ms: Distribution,
    pub transfer_ms: Distribution,
    pub connections: Connections,
    /// `None` where connections carry clear text.
    pub tls: Option<TlsSummary>,
    /// Absent if connections do not speak HTTP/2.
    pub http2: Option<Http2Summary>,
    /// Absent if connections do not speak HTTP/3.
    pub http3: Option<Box<Http3Summary>>,
    /// Absent where an answer is a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<Box<MessagesSummary>>,
    /// Absent where messages do not go to subscribers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deliveries: Option<Box<DeliveriesSummary>>,
    /// Absent where no compression of messages was offered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compression: Option<Box<CompressionSummary>>,
    /// `None` where the driver does not report it.
    pub bytes: Option<Bytes>,
    /// `None` where answers have no status.
    pub status: Option<StatusCounts>,
    /// The same by single statuses.
    pub statuses: Option<Vec<OfStatus>>,
    /// Answers of another status than the one that their list expects; `None` where it expects none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unexpected_status: Option<StatusCounts>,
    pub errors: FailureCounts,
    pub error_messages: Vec<ErrorMessage>,
    /// `None` where a driver hides how connections end.
    pub broken_off: Option<BrokenOff>,
    /// `None` where nothing was redirected, or the protocol's exchange does not look.
    pub redirected_to: Option<String>,
    pub generator: Generator,
    pub kernel: TcpCounters,
    pub operations: Vec<Operation>,
    pub slowest: Vec<Slow>,
    pub silences: Vec<GapSummary>,
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
    /// Of those that were sent: how many were sent once more, because the server had not looked at them.
    pub moved: u64,
}

/// Requests that were under way from the start of the window to its end: none of its other figures includes them.
///
/// Measured ones are among them, as failed or unanswered ones, where they were due in the first hundredth of the window.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs)]
pub struct WaitedThrough {
    pub requests: u64,
    /// That carried them.
    pub connections: u64,
    /// That had requests to make.
    pub of_connections: u64,
    /// How long the oldest of them had waited at the end of the window.
    pub oldest_ms: f64,
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
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Connections {
    pub opened: u64,
    pub failed: u64,
    /// Why those that failed could not be established, the most frequent first.
    pub failures: Vec<FailedConnections>,
    pub reused: u64,
    pub concurrent_max: u64,
    /// That had requests to make in the window, or in its warm-up and no answer until its end.
    pub asked: u64,
    /// Those of them on which an answer came in the window, or to one of its requests.
    pub served: u64,
    pub rate_cps: Option<f64>,
    pub replies_per_connection: Option<f64>,
    /// Those that the server has ended by an answer to no request.
    pub idle_ended: Vec<IdleEnded>,
    pub lifetime_ms: Distribution,
    /// `None` where connections are not those of requests, or their driver's.
    pub ended_by_server: Option<EndedByServer>,
    /// Connections that were open from the start of the load to its end, and carried answers; none likewise.
    pub lasting: Option<u64>,
}

/// Connections that could not be established for the same reason.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct FailedConnections {
    pub error: Failure,
    /// What the class does not say.
    pub text: Option<String>,
    pub count: u64,
}

impl FailedConnections {
    /// At most `most` reasons.
    pub(crate) fn of(failures: &Explanations, most: usize) -> Vec<Self> {
        let reasons = failures.most_frequent(most).into_iter();
        reasons
            .map(|one| Self {
                error: one.failure,
                text: (!one.text.is_empty()).then(|| one.text.clone()),
                count: one.count,
            })
            .collect()
    }
}

/// The connections that the server has ended, announced or not.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs)]
pub struct EndedByServer {
    pub count: u64,
    /// How many answers each of them had carried; none without one.
    pub answers: Option<AnswersEach>,
}

/// The answers that one connection has carried.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs)]
pub struct AnswersEach {
    pub min: u64,
    pub mean: f64,
    pub max: u64,
}

impl From<&Endings> for EndedByServer {
    fn from(endings: &Endings) -> Self {
        let mean = endings.answers as f64 / endings.count as f64;
        let answers = endings.extremes.0.map(|(min, max)| AnswersEach { min, mean, max });
        Self { count: endings.count, answers }
    }
}

/// How many idle connections the server has ended by an answer of this status.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs)]
pub struct IdleEnded {
    pub status: u16,
    pub count: u64,
}

/// What the limits of HTTP/2 and the ends of its connections did, over the whole load, warm-up included.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Http2Summary {
    /// Absent if no connection has a limit.
    pub streams_allowed: Option<StreamsAllowed>,
    pub connections_limited: u64,
    /// Of the measured requests that could not be sent because of that limit, until they were.
    pub stream_wait_ms: Distribution,
    /// Of the measured requests that moved, from the end of their first attempt until they were sent once more.
    pub moved_wait_ms: Distribution,
    pub streams_refused: u64,
    pub connections_ended: u64,
    pub connections_ended_by_error: u64,
    /// The codes of the first announcements.
    pub connections_ended_by: Vec<EndedBy>,
    /// Streams that it was to answer by that, and has not.
    pub streams_abandoned: u64,
    pub bodies_delayed: u64,
    pub windows_used_up: u64,
    pub answers_behind_long: u64,
    pub answers_starved: u64,
}

/// Of how many connections the end was announced with this code of HTTP/2.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs)]
pub struct EndedBy {
    pub code: &'static str,
    pub count: u64,
}

/// How many streams at once servers have allowed on a connection.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs)]
pub struct StreamsAllowed {
    pub min: u64,
    pub max: u64,
}

impl From<&Multiplexing> for Http2Summary {
    fn from(counted: &Multiplexing) -> Self {
        Self {
            streams_allowed: counted.streams_allowed.0.map(|(min, max)| StreamsAllowed { min, max }),
            connections_limited: counted.connections_limited,
            stream_wait_ms: (&counted.stream_wait).into(),
            moved_wait_ms: (&counted.moved_wait).into(),
            streams_refused: counted.streams_refused,
            connections_ended: counted.connections_ended.total(),
            connections_ended_by_error: counted.connections_ended.by_error(),
            connections_ended_by: (counted.connections_ended.named())
                .map(|(code, count)| EndedBy { code, count })
                .collect(),
            streams_abandoned: counted.streams_abandoned,
            bodies_delayed: counted.bodies_delayed,
            windows_used_up: counted.windows_used_up,
            answers_behind_long: counted.answers_behind_long,
            answers_starved: counted.answers_starved,
        }
    }
}

/// What the handshakes of TLS have agreed on, over the whole load, warm-up included.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct TlsSummary {
    pub handshakes: Handshakes,
    pub measured: MeasuredHandshakes,
    /// The most frequent first.
    pub agreed: Vec<Agreed>,
    /// The protocol that the server has chosen (ALPN); `None` if it has chosen none, or several machines send the load.
    pub protocol: Option<String>,
    /// `None` where it was not seen.
    pub certificate: Option<Certificate>,
}

/// How many handshakes there were.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Handshakes {
    pub full: u64,
    pub resumed: u64,
}

/// Those handshakes that ended within the measured window.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs)]
pub struct MeasuredHandshakes {
    pub full_ms: Distribution,
    pub resumed_ms: Distribution,
    /// Absent if the window has no length.
    pub full_per_s: Option<f64>,
    pub resumed_per_s: Option<f64>,
    /// How many of the full ones had offered to resume a session.
    pub refused: u64,
}

/// What some of the handshakes have agreed on, by the names that IANA has registered.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Agreed {
    pub version: String,
    pub suite: String,
    /// `None` where no keys were exchanged.
    pub group: Option<String>,
    pub resumed: bool,
    pub count: u64,
}

/// The certificate that a server has shown.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Certificate {
    pub subject: String,
    pub issuer: String,
    pub key: String,
    pub not_after: String,
    pub chain_length: usize,
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

/// How often requests failed with a text of the server or its driver.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct ErrorMessage {
    pub error: Failure,
    pub operation: String,
    pub text: String,
    /// A part of what the server has sent, where it shows what the text is about.
    pub example: Option<String>,
    pub count: u64,
}

/// Requests that failed because their connection was closed or reset, by what had come before.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs)]
pub struct BrokenOff {
    /// The answer had begun.
    pub answer_begun: u64,
    /// No byte had come, and the connection had answered others.
    pub kept_connection: u64,
    /// No byte had come, and the connection had answered nothing.
    pub new_connection: u64,
}

/// What the load cost the generator.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Generator {
    pub threads: usize,
    pub io: Cow<'static, str>,
    pub cpu_user_s: f64,
    pub cpu_system_s: f64,
    /// The part of the two that went into waiting without sleeping.
    pub cpu_spun_s: f64,
    pub waiting: WaitedBy,
    /// How many waits without sleeping have found something.
    pub polled_waits: u64,
    /// The longest pause between two looks for answers: an answer can be timed so much late.
    pub poll_pause_max_us: f64,
    /// How often its threads went to sleep, because nothing had arrived.
    pub voluntary_context_switches: u64,
    pub cpu_per_request_us: Option<f64>,
    pub lateness_ms: Option<Lateness>,
    pub pauses: Option<Vec<PauseSummary>>,
}

impl Generator {
    /// What threads used for what was recorded, without what depends on the window of all.
    pub(crate) fn of(threads: usize, io: Cow<'static, str>, cpu: CpuUse, recorder: &Recorder) -> Self {
        let CpuUse { user, system, polling, voluntary_switches } = cpu;
        Self {
            threads,
            io,
            cpu_user_s: user.as_secs_f64(),
            cpu_system_s: system.as_secs_f64(),
            cpu_spun_s: polling.spent.as_secs_f64(),
            waiting: cpu.waiting(),
            polled_waits: polling.found,
            poll_pause_max_us: polling.longest_pause.as_millis_f64() * 1e3,
            voluntary_context_switches: voluntary_switches,
            cpu_per_request_us: None,
            lateness_ms: Lateness::of(&recorder.lateness),
            pauses: None,
        }
    }
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

/// A stretch in which the generator's CPUs did not run, by the start of the window: it began between the first two moments.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs)]
pub struct PauseSummary {
    pub earliest_s: f64,
    pub latest_s: f64,
    pub end_s: f64,
}

/// The part of one operation.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Operation {
    pub operation: String,
    pub answered: u64,
    pub ok: u64,
    pub failed: u64,
    pub latency_ms: Distribution,
}

/// One of the slowest requests; `due_s` counts from the start of the window, `error` is `None` if it was answered, and
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
pub struct GapSummary {
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

impl Requests {
    /// The counts of a recording; where answers have no status, every one is a good one.
    pub(crate) fn new(recorder: &Recorder) -> Self {
        let counts = recorder.requests;
        Self {
            due: counts.due,
            sent: counts.sent,
            answered: counts.answered,
            ok: counts.answered - recorder.statuses.wrong().total(),
            failed: counts.failed,
            unanswered: counts.unanswered,
            never_sent: counts.never_sent,
            moved: counts.moved,
        }
    }
}

impl From<&Recorder> for Bytes {
    fn from(recorder: &Recorder) -> Self {
        let (header, body) = (recorder.header_bytes, recorder.body_bytes);
        Self { sent: recorder.bytes_sent, received: header + body + recorder.framing_bytes, header, body }
    }
}

impl Lateness {
    /// None without a request that could be late.
    pub(crate) fn of(histogram: &TimeHistogram) -> Option<Self> {
        let Distribution { count, p50, p99, p99_9, max, .. } = Distribution::from(histogram);
        (count > 0).then_some(Self { p50, p99, p99_9, max })
    }
}

impl Slow {
    pub(crate) fn new(slow: &SlowRequest, operation: String) -> Self {
        Self {
            operation,
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

impl From<Gap> for GapSummary {
    fn from(gap: Gap) -> Self {
        Self { start_s: gap.start.as_secs_f64(), length_ms: gap.length.as_millis_f64() }
    }
}

impl PauseSummary {
    pub(crate) fn new(pause: Pause, start: Nanos) -> Self {
        let since = |moment: Nanos| moment.as_secs_f64() - start.as_secs_f64();
        Self { earliest_s: since(pause.earliest), latest_s: since(pause.latest), end_s: since(pause.end) }
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
    pub(crate) fn new(recorder: &Recorder, latency: &TimeHistogram) -> Self {
        Self {
            latency: latency.encode(),
            service_time: recorder.service_time.encode(),
            connect: recorder.connect.encode(),
            first_byte: recorder.first_byte.encode(),
            transfer: recorder.transfer.encode(),
        }
    }
}
