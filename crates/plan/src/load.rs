//! The plan of one load: everything that decides what is sent, when, and until when.

use std::fmt;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::{
    Arrivals, Arriving, Nanos, Pace, Pick, RateProfile, RateStretch, Requests, Unit, validate_timeout,
};

/// More requests under way on one connection measure its buffers, not its server.
const MOST_PIPELINED: usize = 1024;

/// A rate in requests per second, over all threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Rate {
    /// The same from start to end.
    Constant(f64),
    /// One that steps or ramps, from the start of the warm-up on, and stays where the last stretch ends.
    Changing(Vec<RateStretch>),
}

impl Rate {
    /// The rate over time.
    ///
    /// # Errors
    /// When no schedule holds the rate.
    pub fn profile(&self) -> Result<RateProfile, InvalidPlan> {
        match self {
            Self::Constant(rate_rps) => RateProfile::constant(*rate_rps),
            Self::Changing(stretches) => RateProfile::of_stretches(stretches),
        }
        .map_err(|invalid| InvalidPlan(invalid.to_string()))
    }
}

/// The load model with its numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "model", rename_all = "lowercase")]
pub enum Model {
    /// Each connection sends its next request when the previous one is answered.
    Closed {
        /// How many connections are kept open.
        connections: usize,
    },
    /// Requests fall due on a schedule, whatever the server does.
    Open {
        /// How many connections the requests are spread over.
        connections: usize,
        /// How many requests fall due, over all threads.
        rate_rps: Rate,
        /// How the requests are spread in time.
        arrivals: Arrivals,
    },
    /// Connections arrive on a schedule; each makes its calls and closes.
    Sessions {
        /// How many connections arrive, over all threads.
        connection_rate_cps: Rate,
        /// How the connections are spread in time.
        arrivals: Arrivals,
        /// How many may be open at once; one that arrives while so many are waits, and its wait is latency.
        connections: usize,
    },
}

impl Model {
    /// What studies and results call the model.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Closed { .. } => "closed",
            Self::Open { .. } => "open",
            Self::Sessions { .. } => "sessions",
        }
    }

    /// What arrives.
    #[must_use]
    pub fn unit(&self) -> Unit {
        match self {
            Self::Closed { .. } | Self::Open { .. } => Unit::Request,
            Self::Sessions { .. } => Unit::Session,
        }
    }

    /// How many connections may be open at once.
    #[must_use]
    pub fn connections(&self) -> usize {
        match self {
            Self::Closed { connections }
            | Self::Open { connections, .. }
            | Self::Sessions { connections, .. } => *connections,
        }
    }

    /// The rate of requests asked for, where requests arrive on a schedule.
    #[must_use]
    pub fn rate_rps(&self) -> Option<&Rate> {
        match self {
            Self::Open { rate_rps, .. } => Some(rate_rps),
            Self::Closed { .. } | Self::Sessions { .. } => None,
        }
    }

    /// The rate of connections asked for, where connections arrive on a schedule.
    #[must_use]
    pub fn connection_rate_cps(&self) -> Option<&Rate> {
        match self {
            Self::Sessions { connection_rate_cps, .. } => Some(connection_rate_cps),
            Self::Closed { .. } | Self::Open { .. } => None,
        }
    }

    /// How the arrivals are spread in time; a closed loop has no arrivals of its own.
    #[must_use]
    pub fn arrivals(&self) -> Option<Arrivals> {
        match self {
            Self::Closed { .. } => None,
            Self::Open { arrivals, .. } | Self::Sessions { arrivals, .. } => Some(*arrivals),
        }
    }
}

/// When the measured window ends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// After this many seconds.
    DurationS(f64),
    /// After this many requests, over all threads.
    RequestsTotal(u64),
    /// After this many connections of the sessions model, over all threads.
    ConnectionsTotal(u64),
}

/// What happens on one connection.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Conversation {
    /// How many requests may be under way at once. In the sessions model: how many are written together, and answered
    /// before the next.
    pub pipeline: usize,
    /// After how many requests the connection is closed; none for never.
    pub calls: Option<u64>,
    /// How long the client thinks between an answer and its next request; in the sessions model, between two bursts.
    pub think_s: f64,
}

impl Default for Conversation {
    fn default() -> Self {
        Self { pipeline: 1, calls: None, think_s: 0.0 }
    }
}

/// The version of HTTP that requests speak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum HttpVersion {
    /// Without a header field that asks to keep it, a connection ends with the answer.
    #[serde(rename = "1.0")]
    Http10,
    /// A connection stays until one side ends it.
    #[default]
    #[serde(rename = "1.1")]
    Http11,
}

/// How the bytes travel between the engine and the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IoChoice {
    /// The one that costs less, where the kernel allows it; the result says which it was.
    #[default]
    Auto,
    /// Readiness by epoll.
    Epoll,
    /// Completions by `io_uring`.
    Uring,
}

/// The plan of one load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadPlan {
    /// Where the connections go.
    pub address: SocketAddr,
    /// The `Host` that the requests name.
    pub authority: String,
    /// The version of HTTP that the requests speak.
    #[serde(default)]
    pub http: HttpVersion,
    /// The requests to take from.
    pub requests: Requests,
    /// The load model.
    #[serde(flatten)]
    pub model: Model,
    /// What happens on one connection.
    #[serde(default)]
    pub conversation: Conversation,
    /// How requests are taken from their list.
    #[serde(default)]
    pub pick: Pick,
    /// When the measured window ends.
    pub stop: Stop,
    /// How long requests are sent before the measured window opens.
    pub warmup_s: f64,
    /// How long connecting may take, and how long an answer may take.
    pub timeout_s: f64,
    /// Repeats everything that is drawn at random.
    #[serde(default)]
    pub seed: u64,
    /// How many threads send.
    pub threads: usize,
    /// The processors that the threads are bound to in turn; empty leaves them unbound.
    pub cpus: Vec<usize>,
    /// How the bytes travel between the engine and the kernel.
    #[serde(default)]
    pub io: IoChoice,
}

/// Why a plan cannot be run: a sentence for the person who asked for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidPlan(pub String);

impl fmt::Display for InvalidPlan {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl LoadPlan {
    /// When its requests or sessions arrive, and when it ends.
    #[must_use]
    pub fn pace(&self) -> Pace {
        let arriving = match &self.model {
            Model::Closed { .. } => None,
            Model::Open { rate_rps: rate, arrivals, .. }
            | Model::Sessions { connection_rate_cps: rate, arrivals, .. } => {
                Some(Arriving { rate: rate.clone(), arrivals: *arrivals })
            }
        };
        Pace { unit: self.model.unit(), arriving, stop: self.stop, warmup_s: self.warmup_s, seed: self.seed }
    }

    /// The mean rate of new connections asked for in a window of `length` after the warm-up, per second; none where
    /// connections are kept or opened as fast as the answers come, and as for [`Pace::mean_rate`].
    #[must_use]
    pub fn asked_cps(&self, length: Nanos) -> Option<f64> {
        let rate = self.pace().mean_rate(length)?;
        match (self.model.unit(), self.conversation.calls) {
            (Unit::Session, _) => Some(rate),
            (Unit::Request, Some(calls)) => Some(rate / calls as f64),
            (Unit::Request, None) => None,
        }
    }

    /// How long connecting or an answer may take.
    #[must_use]
    pub fn timeout(&self) -> Nanos {
        Nanos::from_secs_f64(self.timeout_s)
    }

    /// Checks every number of the plan before anything is started.
    ///
    /// # Errors
    /// When a number is out of its range, with the number and the range.
    pub fn validate(&self) -> Result<(), InvalidPlan> {
        let refuse = |text: String| Err(InvalidPlan(text));
        let connections = self.model.connections();
        if connections == 0 {
            return refuse("a load needs at least 1 connection".into());
        }
        if self.threads == 0 || self.threads > connections {
            return refuse(format!(
                "{} threads cannot share {connections} connections: give 1 to {connections} threads",
                self.threads
            ));
        }
        validate_timeout(self.timeout_s)?;
        self.pace().validate()?;
        self.requests.validate()?;
        self.validate_conversation()?;
        match self.stop {
            Stop::RequestsTotal(_) if matches!(self.model, Model::Sessions { .. }) => {
                refuse("sessions end after a number of connections or a duration, not after requests".into())
            }
            Stop::ConnectionsTotal(_) if !matches!(self.model, Model::Sessions { .. }) => {
                refuse("only sessions end after a number of connections".into())
            }
            _ => Ok(()),
        }
    }

    fn validate_conversation(&self) -> Result<(), InvalidPlan> {
        let Conversation { pipeline, calls, think_s } = self.conversation;
        let refuse = |text: String| Err(InvalidPlan(text));
        if !(1..=MOST_PIPELINED).contains(&pipeline) {
            return refuse(format!(
                "a pipeline of {pipeline} is not between 1 and {MOST_PIPELINED} requests"
            ));
        }
        if calls == Some(0) {
            return refuse("a connection makes at least 1 call".into());
        }
        if !(0.0..=86_400.0).contains(&think_s) {
            return refuse(format!("thinking for {think_s} s is not between 0 and 86400 s"));
        }
        match self.model {
            Model::Open { .. } if think_s > 0.0 => {
                refuse("in an open loop requests come on a schedule, whatever a client thinks".into())
            }
            Model::Closed { .. } if think_s > 0.0 && pipeline > 1 => refuse(
                "a client that thinks after each answer has one request under way: give no pipeline".into(),
            ),
            Model::Sessions { .. } if calls.is_none() => {
                refuse("a session needs a number of calls, after which it closes".into())
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Conversation, HttpVersion, IoChoice, LoadPlan, Model, Rate, Stop};
    use crate::{Arrivals, Body, Pick, Request, Requests};

    fn plan() -> LoadPlan {
        LoadPlan {
            address: "127.0.0.1:80".parse().unwrap(),
            authority: "localhost".into(),
            http: HttpVersion::Http11,
            requests: Requests::Given(vec![request(1.0)]),
            model: Model::Closed { connections: 2 },
            conversation: Conversation::default(),
            pick: Pick::InOrder,
            stop: Stop::DurationS(1.0),
            warmup_s: 0.0,
            timeout_s: 1.0,
            seed: 0,
            threads: 1,
            cpus: vec![],
            io: IoChoice::Auto,
        }
    }

    fn request(weight: f64) -> Request {
        Request {
            method: "GET".into(),
            target: "/".into(),
            headers: vec![],
            body: Body::Empty,
            expected_body_bytes: None,
            weight,
        }
    }

    #[test]
    fn a_sound_plan_is_accepted() {
        assert_eq!(plan().validate(), Ok(()));
    }

    #[test]
    fn every_number_out_of_range_is_refused_with_the_number() {
        let conversation = |pipeline, calls, think_s| Conversation { pipeline, calls, think_s };
        let sessions = Model::Sessions {
            connection_rate_cps: Rate::Constant(10.0),
            arrivals: Arrivals::Constant,
            connections: 1,
        };
        let given = |weights: &[f64]| Requests::Given(weights.iter().copied().map(request).collect());
        let broken: [(LoadPlan, &str); 15] = [
            (LoadPlan { model: Model::Closed { connections: 0 }, ..plan() }, "1 connection"),
            (LoadPlan { threads: 3, ..plan() }, "3 threads"),
            (LoadPlan { timeout_s: 0.0, ..plan() }, "timeout of 0"),
            (LoadPlan { warmup_s: -1.0, ..plan() }, "warm-up of -1"),
            (LoadPlan { stop: Stop::DurationS(f64::NAN), ..plan() }, "duration of NaN"),
            (LoadPlan { stop: Stop::RequestsTotal(0), ..plan() }, "0 requests"),
            (LoadPlan { stop: Stop::ConnectionsTotal(5), ..plan() }, "only sessions"),
            (LoadPlan { conversation: conversation(0, None, 0.0), ..plan() }, "pipeline of 0"),
            (LoadPlan { conversation: conversation(1, Some(0), 0.0), ..plan() }, "1 call"),
            (LoadPlan { conversation: conversation(1, None, -1.0), ..plan() }, "-1 s"),
            (LoadPlan { conversation: conversation(2, None, 1.0), ..plan() }, "no pipeline"),
            (LoadPlan { model: sessions, ..plan() }, "number of calls"),
            (LoadPlan { requests: given(&[]), ..plan() }, "at least one request"),
            (LoadPlan { requests: given(&[1.0, -1.0]), ..plan() }, "weight of -1"),
            (LoadPlan { requests: given(&[0.0, 0.0]), ..plan() }, "weight above 0"),
        ];
        for (plan, part) in broken {
            let refusal = plan.validate().unwrap_err().to_string();
            assert!(refusal.contains(part), "{refusal:?} does not say {part:?}");
        }
    }
}
