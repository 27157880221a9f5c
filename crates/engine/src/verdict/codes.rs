//! The codes of verdicts, one table: what may be said of a load, of a run or of what was seen of a server.
//!
//! Some rows are for what only the harness knows. The Python side, the schemas and METHODOLOGY's tables are made of them.

use loadcurve_record::{Origin, table};
use serde::Serialize;

/// How far a result may be trusted, in rising order of doubt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Nothing speaks against it.
    #[default]
    Valid,
    /// Something may have bent it.
    Suspect,
    /// It does not say what it seems to say.
    Invalid,
}

/// What a code is attached to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A reason against a result.
    Reason,
    /// A note on a result that casts no doubt on it.
    Note,
    /// What must be known of a whole run, or of the figures of a server.
    Caveat,
}

/// The row of a code.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CodeRow {
    /// What results call it.
    pub code: &'static str,
    /// What it is attached to.
    pub kind: Kind,
    /// What it says; with limits, the figure that these are of.
    pub meaning: &'static str,
    /// Where it makes a result suspect.
    pub suspect: Option<&'static str>,
    /// Where it makes a result invalid.
    pub invalid: Option<&'static str>,
    /// Whose doing it is, where that is known.
    pub origin: Option<Origin>,
}

impl CodeRow {
    const BLANK: Self =
        Self { code: "", kind: Kind::Reason, meaning: "", suspect: None, invalid: None, origin: None };

    /// Whether it is a reason for this status.
    pub(super) fn may_give(&self, status: Status) -> bool {
        let limit = match status {
            Status::Valid => None,
            Status::Suspect => self.suspect,
            Status::Invalid => self.invalid,
        };
        self.kind == Kind::Reason && limit.is_some()
    }
}

table! {
    /// What a verdict or a caveat is about.
    Code: CodeRow
    NothingAnswered {
        code: "nothing_answered", origin: Some(Origin::Server),
        meaning: "no request was answered",
        invalid: Some("always"),
    }
    Interrupted {
        code: "interrupted",
        meaning: "the window is shorter than planned",
        suspect: Some("always"),
    }
    Unanswered {
        code: "unanswered",
        meaning: "share of requests under way when the load was interrupted",
        suspect: Some("above 1 %"),
    }
    TrackingFull {
        code: "tracking_full",
        meaning: "packets that the kernel of the load dropped because its table of tracked connections (conntrack) was full",
        suspect: Some("any"), invalid: Some("any, with failed requests"),
    }
    NeverServed {
        code: "never_served", origin: Some(Origin::Server),
        meaning: "share of connections with requests on which no answer came in the window, or of requests at once that \
        waited through it",
        suspect: Some("any"), invalid: Some("above 1 %"),
    }
    Errors {
        code: "errors", origin: Some(Origin::Server),
        meaning: "share of failed requests",
        suspect: Some("any"), invalid: Some("above 1 %"),
    }
    SubscribersMissing {
        code: "subscribers_missing", origin: Some(Origin::Server),
        meaning: "share of subscribers that could not be opened, or were closed before the load ended",
        suspect: Some("any"), invalid: Some("above 1 %"),
    }
    Reach {
        code: "reach", origin: Some(Origin::Server),
        meaning: "share of deliveries of a fan-out that did not come",
        suspect: Some("any"), invalid: Some("above 1 %"),
    }
    NotPipelined {
        code: "not_pipelined", origin: Some(Origin::Answer),
        meaning: "the server answers only the first of the requests that are pipelined on a connection, or leaves some unanswered",
        invalid: Some("on half of the connections that were left with requests under way"),
    }
    StoppedAnswering {
        code: "stopped_answering", origin: Some(Origin::Server),
        meaning: "share of the window, at its end, in which nothing was answered and every \
        attempt failed",
        suspect: Some("from 0.1 s"), invalid: Some("above 1 %"),
    }
    ServerLost {
        code: "server_lost", origin: Some(Origin::Server),
        meaning: "load by number: nothing could be reached for a timeout, or nothing was sent by the server for three timeouts \
        and 10 s, so the load ended there",
        invalid: Some("always"),
    }
    Mismatch {
        code: "mismatch", origin: Some(Origin::Answer),
        meaning: "share of answers whose length differs from the verified one",
        suspect: Some("any"), invalid: Some("above 1 %"),
    }
    LengthsDiffer {
        code: "lengths_differ", origin: Some(Origin::Answer),
        meaning: "answers to one request differ in length, and none was verified",
        suspect: Some("any"),
    }
    ErrorStatus {
        code: "error_status", origin: Some(Origin::Answer),
        meaning: "share of 4xx and 5xx, or of a status that the list of requests does not expect",
        suspect: Some("any"), invalid: Some("above 1 %"),
    }
    Contradictory {
        code: "contradictory", origin: Some(Origin::Generator),
        meaning: "another load generator's output contradicts itself by more than its rounding, such as a rate with the \
        requests and the time that it is of",
        suspect: Some("any"),
    }
    RecordsMissing {
        code: "records_missing",
        meaning: "loading a database: the table does not contain as many records as should have \
        been loaded",
        invalid: Some("always"),
    }
    RecordsUncounted {
        code: "records_uncounted",
        meaning: "loading a database: the records could not be counted afterwards",
        suspect: Some("always"),
    }
    BeganLate {
        code: "began_late", origin: Some(Origin::Generator),
        meaning: "how late in the window a part of the load began; a warm-up absorbs it",
        suspect: Some("from 0.1 s and 1 %"),
    }
    DescriptorsShort {
        code: "descriptors_short", origin: Some(Origin::Generator),
        meaning: "requests without a file descriptor for their connection",
        suspect: Some("any"),
    }
    PortsShort {
        code: "ports_short", origin: Some(Origin::Generator),
        meaning: "requests without a local port for their connection",
        suspect: Some("any"),
    }
    RateNotSent {
        code: "rate_not_sent", origin: Some(Origin::Generator),
        meaning: "on a schedule: share of requests never sent although a connection was free",
        suspect: Some("above 1 %"),
    }
    RateNotReached {
        code: "rate_not_reached", origin: Some(Origin::Server),
        meaning: "on a schedule: share answered of what fell due, up to a mean latency before the end",
        suspect: Some("below 99 %"),
    }
    ResumptionNotReached {
        code: "resumption_not_reached", origin: Some(Origin::Server),
        meaning: "share of full handshakes among at least 20 in the window, beyond the share that was asked for",
        suspect: Some("above 5 points"),
    }
    EarlyDataNotAccepted {
        code: "early_data_not_accepted", origin: Some(Origin::Server),
        meaning: "over HTTP/3: share of accepted early data (0-RTT) among at least 20 handshakes that offered to resume a \
        session, below the share that was asked for",
        suspect: Some("by more than 5 points"),
    }
    GeneratorLate {
        code: "generator_late", origin: Some(Origin::Generator),
        meaning: "p99 of lateness",
        suspect: Some("above 1 ms"), invalid: Some("above 10 ms"),
    }
    GeneratorSaturated {
        code: "generator_saturated", origin: Some(Origin::Generator),
        meaning: "CPU use of the generator's threads",
        suspect: Some("above 95 %"),
    }
    GeneratorPaused {
        code: "generator_paused", origin: Some(Origin::Generator),
        meaning: "pauses of the CPUs of the load, or of the process that sends it: their share of the window, or the \
                  longest",
        suspect: Some("from 1 % or 0.5 s"), invalid: Some("from 10 %"),
    }
    GeneratorThrottled {
        code: "generator_throttled", origin: Some(Origin::Generator),
        meaning: "share of the window in which a CPU limit throttled the process that sends the \
        load",
        suspect: Some("from 1 %"), invalid: Some("from 10 %"),
    }
    PlatformPaused {
        code: "platform_paused",
        meaning: "pauses of the CPUs of the server: their share of the window, or the longest",
        suspect: Some("from 1 % or 0.5 s"), invalid: Some("from 10 %"),
    }
    Steal {
        code: "steal",
        meaning: "share of the window for which the host did not run a CPU of the server or the load that had work",
        suspect: Some("from 5 % and 50 ms"), invalid: Some("from 25 %"),
    }
    CpuTaken {
        code: "cpu_taken",
        meaning: "share of the time of the CPUs of the server or the load that other programs took, less what the \
        kernel's ticks leave open",
        suspect: Some("from 5 % and 50 ms"), invalid: Some("from 20 % and 50 ms"),
    }
    MemoryPressure {
        code: "memory_pressure",
        meaning: "share of the window in which all processes of the machine waited for memory",
        suspect: Some("from 1 %"),
    }
    MachineSuspended {
        code: "machine_suspended", origin: Some(Origin::Generator),
        meaning: "how long the machine was suspended during the load and its warm-up",
        suspect: Some("from 0.1 s"),
    }
    MachineLost {
        code: "machine_lost", origin: Some(Origin::Generator),
        meaning: "load from several machines: one was lost, and with it its part of the load",
        invalid: Some("always"),
    }
    MachineEndedEarly {
        code: "machine_ended_early", origin: Some(Origin::Generator),
        meaning: "load from several machines: one ended its part before the others",
        invalid: Some("always"),
    }
    MachineLate {
        code: "machine_late", origin: Some(Origin::Generator),
        meaning: "load from several machines: how long after the common start one started",
        suspect: Some("above 1 ms"), invalid: Some("above 100 ms"),
    }
    MachineClock {
        code: "machine_clock", origin: Some(Origin::Generator),
        meaning: "load from several machines: how far the clock of one may be off from the measured offset",
        suspect: Some("above 1 ms"), invalid: Some("above 100 ms"),
    }
    LittlesLaw {
        code: "littles_law",
        meaning: "closed loop: throughput × (mean latency + think time) against the requests kept under way",
        suspect: Some("off by 10 %"),
    }
    Unsettled {
        code: "unsettled",
        meaning: "change within the window, beyond its fluctuation, of throughput or mean latency",
        suspect: Some("from 3 % or 10 %"),
    }
    RigCeiling {
        code: "rig_ceiling", origin: Some(Origin::Generator),
        meaning: "answers per second against the rig's ceiling at as many connections",
        suspect: Some("from 90 %"),
    }
    AnswersCutOff {
        code: "answers_cut_off", kind: Kind::Note,
        meaning: "requests whose connection was closed or reset after the first byte of their answer",
    }
    KeptConnectionsClosed {
        code: "kept_connections_closed", kind: Kind::Note,
        meaning: "requests that were on their way when the server closed or reset a connection on which it had answered before",
    }
    NewConnectionsClosed {
        code: "new_connections_closed", kind: Kind::Note,
        meaning: "requests whose connection was closed or reset before the server had answered anything on it",
    }
    Redirected {
        code: "redirected", kind: Kind::Note,
        meaning: "every answer is a redirection, and where the first leads",
    }
    UnixSocket {
        code: "unix_socket", kind: Kind::Note,
        meaning: "the connections are those of a Unix socket, so what the kernel counts of TCP is null",
    }
    CompressionDeclined {
        code: "compression_declined", kind: Kind::Note,
        meaning: "WebSockets whose server declined to compress their messages, which were sent uncompressed",
    }
    TooFewSamples {
        code: "too_few_samples", kind: Kind::Note,
        meaning: "percentiles of latency that are null because there are too few answers, and \
        how many each requires",
    }
    PausesExplain {
        code: "pauses_explain", kind: Kind::Note,
        meaning: "percentiles of the latency of which pauses of the platform explain half or more",
    }
    CpuTakenNoted {
        code: "cpu_taken_noted", kind: Kind::Note,
        meaning: "other programs took from 2 % of the time of the CPUs of the server or the load, or more where \
        that is expected",
    }
    RowsLeftOut {
        code: "rows_left_out", kind: Kind::Note,
        meaning: "rows of another load generator's file that no figure includes: sums of other rows, or lines that cannot \
        be read",
    }
    FiguresLeftOut {
        code: "figures_left_out", kind: Kind::Note,
        meaning: "figures of another load generator's file that are null, or limited, and why",
    }
    WarmupErrors {
        code: "warmup_errors", kind: Kind::Note,
        meaning: "failed requests of the warm-up, which no figure includes",
    }
    RecordingCut {
        code: "recording_cut", kind: Kind::Note,
        meaning: "replay: recorded requests that were due only after the end of the load, which no figure includes",
    }
    ClockSet {
        code: "clock_set", kind: Kind::Note,
        meaning: "the wall clock was set during the load, by 0.1 s or more: times of day are \
        off, the figures are not affected",
    }
    CpusShared {
        code: "cpus_shared", kind: Kind::Caveat,
        meaning: "of a run: servers and load share a CPU",
    }
    NotAlone {
        code: "not_alone", kind: Kind::Caveat,
        meaning: "of a run and of points: another run was in progress on the machine",
    }
    KilledForMemory {
        code: "killed_for_memory", kind: Kind::Caveat,
        meaning: "of a point: the kernel killed processes of the server at its memory limit, \
        and the server continues without them",
    }
    Imported {
        code: "imported", kind: Kind::Caveat,
        meaning: "of a run: its figures were read from files of another load generator; what they count from, and \
        what they leave out, is that generator's choice",
    }
    ProcessesUnknown {
        code: "processes_unknown", kind: Kind::Caveat,
        meaning: "of a point: the server was not started by the run, and its processes, or some of what they used, \
        could not be seen",
    }
    ClockDrift {
        code: "clock_drift", kind: Kind::Caveat,
        meaning: "of a point: the clock of the server's machine drifted by more than the interval of the \
        probe, or is not known that precisely, so the probe's samples may belong to another moment",
    }
    CpuIncomplete {
        code: "cpu_incomplete", kind: Kind::Caveat,
        meaning: "of a point: the kernel discards the CPU time of the server's ended child \
        processes, so CPU is null",
    }
    ProbeNotStarted {
        code: "probe_not_started", kind: Kind::Caveat,
        meaning: "of a point: the probe could not be started, so it has no figures",
    }
    ProbeUnreadable {
        code: "probe_unreadable", kind: Kind::Caveat,
        meaning: "of a point: the probe's output cannot be read or summed up",
    }
    ProbeDied {
        code: "probe_died", kind: Kind::Caveat,
        meaning: "of a point: the probe ended too early",
    }
    ProbeSilent {
        code: "probe_silent", kind: Kind::Caveat,
        meaning: "of a point: the probe wrote no sample in time",
    }
}
