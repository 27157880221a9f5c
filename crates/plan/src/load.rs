//! The one type of a load: everything that decides what is asked, when, and until when, whatever is asked.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::limits::TIMEOUT_S_MAX;
use crate::{Arrivals, Arriving, Nanos, Pace, RateProfile, RateStretch, Recording, Replay, Unit};

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
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Model {
    /// Each client sends its next request when the previous one is answered.
    Closed {
        /// How many connections, or clients of a database, are kept open.
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
    /// Requests fall due when they were recorded, whatever the server does: each request of the list at its own moment.
    Recorded {
        /// How many connections the requests are spread over.
        connections: usize,
        /// How many times as fast as recorded.
        speed: f64,
        /// The moments. A plan that is read from a text has none: they are those of its list of requests
        /// ([`Load::replaying`]).
        #[serde(skip)]
        recording: Recording,
    },
    /// Connections arrive on a schedule; each makes its calls and closes.
    Sessions {
        /// How many connections arrive, over all threads.
        connection_rate_cps: Rate,
        /// How the connections are spread in time.
        arrivals: Arrivals,
        /// How many may be open at once; one that arrives while this many are open waits, and its wait is latency.
        connections: usize,
    },
}

impl Model {
    /// What arrives.
    #[must_use]
    pub fn unit(&self) -> Unit {
        match self {
            Self::Closed { .. } | Self::Open { .. } | Self::Recorded { .. } => Unit::Request,
            Self::Sessions { .. } => Unit::Session,
        }
    }

    /// How many connections may be open at once.
    #[must_use]
    pub fn connections(&self) -> usize {
        match self {
            Self::Closed { connections }
            | Self::Open { connections, .. }
            | Self::Recorded { connections, .. }
            | Self::Sessions { connections, .. } => *connections,
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
    /// With the last request of a recording.
    Recording,
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

/// How a thread waits for answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Waiting {
    /// Without sleeping, where it has a processor to itself: on one machine the server's processor pays for waking it.
    #[default]
    Auto,
    /// Asleep, so that the processor is free for others and uses less power.
    Sleep,
}

/// The plan of one load: when it asks is the same for every kind of work, what it asks is the work's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load<W> {
    /// The load model.
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
    /// How many threads of the generator the connections share.
    pub threads: usize,
    /// The processors that the threads are bound to in turn; empty leaves them unbound.
    #[serde(default)]
    pub cpus: Vec<usize>,
    /// How the bytes travel between the engine and the kernel.
    #[serde(default)]
    pub io: IoChoice,
    /// How a thread waits for answers.
    #[serde(default)]
    pub waiting: Waiting,
    /// What is asked, and of which server.
    pub work: W,
}

/// What a kind of work says of the loads that it can be.
pub trait Work: Sized {
    /// What is opened and asks: one of them, in words.
    const CLIENT: &'static str;

    /// Checks what only this kind of work can judge.
    ///
    /// # Errors
    /// If the load is contradictory, with the numbers at fault.
    fn validate(&self, load: &Load<Self>) -> Result<(), InvalidPlan>;
}

/// Why a plan cannot be run: a sentence for the person who asked for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidPlan(pub String);

impl fmt::Display for InvalidPlan {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl<W: Work> Load<W> {
    /// Checks every number of the plan before anything is started.
    ///
    /// # Errors
    /// When a number is out of its range, with the number and the range.
    pub fn validate(&self) -> Result<(), InvalidPlan> {
        let refuse = |text: String| Err(InvalidPlan(text));
        let (threads, clients) = (self.threads, self.model.connections());
        if clients == 0 {
            return refuse(format!("a load requires at least 1 {}", W::CLIENT));
        }
        if threads == 0 || threads > clients {
            return refuse(format!(
                "{threads} threads cannot share {clients} {}s: use 1 to {clients} threads",
                W::CLIENT
            ));
        }
        if !(self.timeout_s > 0.0 && self.timeout_s <= TIMEOUT_S_MAX) {
            return refuse(format!(
                "a timeout of {} s is not between 0 and {TIMEOUT_S_MAX} s",
                self.timeout_s
            ));
        }
        self.pace().validate()?;
        self.work.validate(self)
    }
}

impl<W> Load<W> {
    /// The same load with a change to its work.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut W)) -> Self {
        change(&mut self.work);
        self
    }

    /// The same load with the moments of its requests, where it replays them. It ends with the last request where that is
    /// due before its duration is over, so that no time without a request counts.
    #[must_use]
    pub fn replaying(mut self, moments: Recording) -> Self {
        if let Model::Recorded { speed, recording, .. } = &mut self.model {
            *recording = moments;
            let last_due = Replay::new(recording.clone(), *speed).length();
            if let Stop::DurationS(seconds) = self.stop
                && last_due < Nanos::from_secs_f64(self.warmup_s) + Nanos::from_secs_f64(seconds)
            {
                self.stop = Stop::Recording;
            }
        }
        self
    }

    /// When its requests or sessions arrive, and when it ends.
    #[must_use]
    pub fn pace(&self) -> Pace {
        let arriving = match &self.model {
            Model::Closed { .. } => None,
            Model::Open { rate_rps: rate, arrivals, .. }
            | Model::Sessions { connection_rate_cps: rate, arrivals, .. } => {
                Some(Arriving::Rated { rate: rate.clone(), arrivals: *arrivals })
            }
            Model::Recorded { speed, recording, .. } => {
                Some(Arriving::Recorded(Replay::new(recording.clone(), *speed)))
            }
        };
        Pace { unit: self.model.unit(), arriving, stop: self.stop, warmup_s: self.warmup_s, seed: self.seed }
    }

    /// How long connecting or an answer may take.
    #[must_use]
    pub fn timeout(&self) -> Nanos {
        Nanos::from_secs_f64(self.timeout_s)
    }
}
