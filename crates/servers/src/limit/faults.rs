//! The faults of a script as values, and what follows from them for a request or a time.

use std::num::{NonZeroU64, NonZeroUsize};
use std::time::Duration;

use loadcurve_servers::http2::Repeats;
use loadcurve_servers::reply::Outcome;

/// What the server does besides answering as well as it can: nothing, by default.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Faults {
    /// What every share is drawn from.
    pub(crate) seed: u64,
    pub(crate) delay: Option<Delay>,
    pub(crate) stalls: Option<Stalls>,
    pub(crate) outcomes: OutcomeShares,
    /// This many requests at the beginning are neither delayed nor answered wrongly, so that a server can be
    /// verified.
    pub(crate) spared_requests: u64,
    pub(crate) last_answer: Option<LastAnswer>,
    /// Files are streams of events.
    pub(crate) events: Option<Events>,
    /// The time after which a silent client is closed.
    pub(crate) idle_timeout: Option<Duration>,
    /// One client is taken from the listen queue in each such time, and no more.
    pub(crate) accept_every: Option<Duration>,
    /// Memory in use for each connection.
    pub(crate) connection_memory_bytes: usize,
    /// Memory lost with each request.
    pub(crate) leak_bytes: usize,
    /// Processor time used for each request.
    pub(crate) work: Duration,
    /// How many open connections make one more thread begin.
    pub(crate) connections_per_thread: Option<NonZeroUsize>,
}

/// A share of the answers is sent a fixed time after the request came.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Delay {
    pub(crate) length: Duration,
    pub(crate) share: f64,
}

/// A file is sent as a stream of events: the whole of it again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Events {
    /// From the request to the first one, and from each to the next.
    pub(crate) every: Duration,
    /// After how many of them the stream ends; none for an endless one.
    pub(crate) count: Option<NonZeroU64>,
}

impl Events {
    /// Those of an answer that could be sent at this time.
    pub(super) fn from(self, answered: Duration) -> Repeats {
        Repeats { next: answered.saturating_add(self.every), every: self.every, left: self.count }
    }
}

/// Times in which nothing is answered and nothing accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stalls {
    /// From the beginning of one to that of the next; the first begins the same time after the start.
    pub(crate) every: Duration,
    /// Shorter than `every`.
    pub(crate) length: Duration,
}

impl Stalls {
    /// How long the stall lasts that is under way at this time after the start.
    pub(super) fn left(self, since_start: Duration) -> Option<Duration> {
        let into_ns = since_start.as_nanos().checked_rem(self.every.as_nanos())?;
        let into = Duration::from_nanos(u64::try_from(into_ns).ok()?);
        let left = self.length.saturating_sub(into);
        (since_start >= self.every && !left.is_zero()).then_some(left)
    }
}

/// After how many answers a connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LastAnswer {
    pub(crate) number: NonZeroU64,
    /// Whether the last one says so.
    pub(crate) is_announced: bool,
}

/// The shares of requests that are not answered rightly; together at most 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct OutcomeShares {
    /// The connection is reset; over HTTP/2 the stream alone.
    pub(crate) reset: f64,
    /// The status is 500.
    pub(crate) error: f64,
    /// The last byte of the answer is missing, and the connection is closed; over HTTP/2 the stream is reset.
    pub(crate) truncated: f64,
    /// The body has another length than the right one.
    pub(crate) wrong_length: f64,
}

impl OutcomeShares {
    fn each(self) -> [(f64, Outcome); 4] {
        [
            (self.reset, Outcome::Reset),
            (self.error, Outcome::Error),
            (self.truncated, Outcome::Truncated),
            (self.wrong_length, Outcome::WrongLength),
        ]
    }

    /// The share of all requests that are not answered rightly.
    pub(super) fn sum(self) -> f64 {
        self.each().iter().map(|(share, _)| share).sum()
    }

    /// The outcome that a number above 0 and at most 1 stands for.
    pub(super) fn outcome(self, drawn: f64) -> Outcome {
        let mut bound = 0.0;
        for (share, outcome) in self.each() {
            bound += share;
            if drawn <= bound {
                return outcome;
            }
        }
        Outcome::Right
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use loadcurve_servers::reply::Outcome;

    use super::{OutcomeShares, Stalls};

    #[test]
    fn a_stall_begins_after_each_period_and_not_at_the_start() {
        let [every, length] = [2000, 300].map(Duration::from_millis);
        let expected_ms = [
            (0, None),
            (1999, None),
            (2000, Some(300)),
            (2100, Some(200)),
            (2299, Some(1)),
            (2300, None),
            (3999, None),
            (4000, Some(300)),
        ];
        for (since_start_ms, left_ms) in expected_ms {
            let left = Stalls { every, length }.left(Duration::from_millis(since_start_ms));
            assert_eq!(left, left_ms.map(Duration::from_millis), "{since_start_ms} ms");
        }
    }

    #[test]
    fn each_outcome_has_its_share_of_the_numbers() {
        let shares = OutcomeShares { reset: 0.1, error: 0.2, truncated: 0.3, wrong_length: 0.15 };
        let count_of = |outcome| {
            (1..=1000).filter(|thousandth| shares.outcome(f64::from(*thousandth) / 1000.0) == outcome).count()
        };
        let outcomes =
            [Outcome::Reset, Outcome::Error, Outcome::Truncated, Outcome::WrongLength, Outcome::Right];
        assert_eq!(outcomes.map(count_of), [100, 200, 300, 150, 250]);
        assert_eq!(OutcomeShares::default().outcome(f64::MIN_POSITIVE), Outcome::Right);
    }
}
