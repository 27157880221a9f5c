//! The plan of one load: everything that decides what is sent, when, and until when.

use std::fmt;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::{Arrivals, Nanos, RateProfile, RateStretch, Schedule, Share};

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
}

impl Model {
    /// What studies and results call the model.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Closed { .. } => "closed",
            Self::Open { .. } => "open",
        }
    }

    /// How many connections the load keeps open.
    #[must_use]
    pub fn connections(&self) -> usize {
        match self {
            Self::Closed { connections } | Self::Open { connections, .. } => *connections,
        }
    }

    /// The rate asked for; a closed loop asks for none.
    #[must_use]
    pub fn rate(&self) -> Option<&Rate> {
        match self {
            Self::Closed { .. } => None,
            Self::Open { rate_rps, .. } => Some(rate_rps),
        }
    }

    /// How the arrivals are spread in time; a closed loop has no arrivals of its own.
    #[must_use]
    pub fn arrivals(&self) -> Option<Arrivals> {
        match self {
            Self::Closed { .. } => None,
            Self::Open { arrivals, .. } => Some(*arrivals),
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
}

/// One request of the list, which the connections take in turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// `GET`, `HEAD`, …
    pub method: String,
    /// The request target: path and query.
    pub target: String,
    /// Header fields beside those that the protocol needs.
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    /// The body, empty for none.
    #[serde(default)]
    pub body: String,
    /// The length that a successful answer's body must have; an answer of another length is a mismatch.
    #[serde(default)]
    pub expected_body_bytes: Option<u64>,
}

impl Request {
    /// The label that every outcome of this request carries.
    #[must_use]
    pub fn label(&self) -> String {
        format!("{} {}", self.method, self.target)
    }
}

/// The plan of one load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadPlan {
    /// Where the connections go.
    pub address: SocketAddr,
    /// The `Host` that the requests name.
    pub authority: String,
    /// The requests, taken in turn.
    pub requests: Vec<Request>,
    /// The load model.
    #[serde(flatten)]
    pub model: Model,
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
    /// The schedule of `share`, or none for a closed loop.
    ///
    /// # Errors
    /// When no schedule holds the rate.
    pub fn schedule(&self, share: Share) -> Result<Option<Schedule>, InvalidPlan> {
        match &self.model {
            Model::Closed { .. } => Ok(None),
            Model::Open { rate_rps, arrivals, .. } => {
                Ok(Some(Schedule::new(rate_rps.profile()?, *arrivals, self.seed, share)))
            }
        }
    }

    /// The mean rate asked for in a window of `length` after the warm-up, in requests per second; none for a closed
    /// loop, an empty window, or a rate that no schedule holds.
    #[must_use]
    pub fn asked_rps(&self, length: Nanos) -> Option<f64> {
        let profile = self.model.rate()?.profile().ok()?;
        let (start_s, length_s) = (self.warmup_s, length.as_secs_f64());
        let arrivals = profile.arrivals_before(start_s + length_s) - profile.arrivals_before(start_s);
        (length_s > 0.0).then(|| arrivals / length_s)
    }

    /// How long connecting or an answer may take.
    #[must_use]
    pub fn timeout(&self) -> Nanos {
        Nanos::from_secs_f64(self.timeout_s)
    }

    /// How long the warm-up lasts.
    #[must_use]
    pub fn warmup(&self) -> Nanos {
        Nanos::from_secs_f64(self.warmup_s)
    }

    /// Checks every number of the plan before anything is started.
    ///
    /// # Errors
    /// When a number is out of its range, with the number and the range.
    pub fn validate(&self) -> Result<(), InvalidPlan> {
        let refuse = |text: String| Err(InvalidPlan(text));
        let connections = self.model.connections();
        if self.requests.is_empty() {
            return refuse("a load needs at least one request".into());
        }
        if connections == 0 {
            return refuse("a load needs at least 1 connection".into());
        }
        if self.threads == 0 || self.threads > connections {
            return refuse(format!(
                "{} threads cannot share {connections} connections: give 1 to {connections} threads",
                self.threads
            ));
        }
        if !(self.timeout_s > 0.0 && self.timeout_s <= 3600.0) {
            return refuse(format!("a timeout of {} s is not between 0 and 3600 s", self.timeout_s));
        }
        if !(self.warmup_s >= 0.0 && self.warmup_s <= 86_400.0) {
            return refuse(format!("a warm-up of {} s is not between 0 and 86400 s", self.warmup_s));
        }
        match self.stop {
            Stop::DurationS(seconds) if !(seconds > 0.0 && seconds <= 1e6) => {
                refuse(format!("a duration of {seconds} s is not between 0 and 1000000 s"))
            }
            Stop::RequestsTotal(0) => refuse("a load of 0 requests measures nothing: give at least 1".into()),
            Stop::DurationS(_) | Stop::RequestsTotal(_) => self.schedule(Share::whole()).map(drop),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LoadPlan, Model, Request, Stop};

    fn plan() -> LoadPlan {
        LoadPlan {
            address: "127.0.0.1:80".parse().unwrap(),
            authority: "localhost".into(),
            requests: vec![Request {
                method: "GET".into(),
                target: "/".into(),
                headers: vec![],
                body: String::new(),
                expected_body_bytes: None,
            }],
            model: Model::Closed { connections: 2 },
            stop: Stop::DurationS(1.0),
            warmup_s: 0.0,
            timeout_s: 1.0,
            seed: 0,
            threads: 1,
            cpus: vec![],
        }
    }

    #[test]
    fn a_sound_plan_is_accepted() {
        assert_eq!(plan().validate(), Ok(()));
    }

    #[test]
    fn every_number_out_of_range_is_refused_with_the_number() {
        let broken: [(LoadPlan, &str); 6] = [
            (LoadPlan { model: Model::Closed { connections: 0 }, ..plan() }, "1 connection"),
            (LoadPlan { threads: 3, ..plan() }, "3 threads"),
            (LoadPlan { timeout_s: 0.0, ..plan() }, "timeout of 0"),
            (LoadPlan { warmup_s: -1.0, ..plan() }, "warm-up of -1"),
            (LoadPlan { stop: Stop::DurationS(f64::NAN), ..plan() }, "duration of NaN"),
            (LoadPlan { stop: Stop::RequestsTotal(0), ..plan() }, "0 requests"),
        ];
        for (plan, part) in broken {
            let refusal = plan.validate().unwrap_err().to_string();
            assert!(refusal.contains(part), "{refusal:?} does not say {part:?}");
        }
    }
}
