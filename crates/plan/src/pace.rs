//! When what a load asks for arrives, and when the load ends: the same for every kind of load.

use crate::limits::{DURATION_S_MAX, WARMUP_S_MAX};
use crate::{Arrivals, InvalidPlan, Nanos, Rate, RateProfile, Replay, Schedule, Share, Stop};

/// What arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// One request, for any connection that can take it.
    Request,
    /// A connection with all its calls.
    Session,
}

/// How arrivals fall due on a schedule, whatever is answered.
#[derive(Clone, Debug, PartialEq)]
pub enum Arriving {
    /// At a rate.
    Rated {
        /// How many per second, over all threads.
        rate: Rate,
        /// How they are spread in time.
        arrivals: Arrivals,
    },
    /// At the moments of a recording.
    Recorded(Replay),
}

impl Arriving {
    /// Whether as much falls due at any time of the load as at any other.
    #[must_use]
    pub fn is_even(&self) -> bool {
        matches!(self, Self::Rated { rate: Rate::Constant(_), .. })
    }
}

/// When what a load asks for arrives, and when the load ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Pace {
    /// What arrives.
    pub unit: Unit,
    /// The schedule; none in a closed loop, where a client continues when it has its answer.
    pub arriving: Option<Arriving>,
    /// When the measured window ends.
    pub stop: Stop,
    /// How long requests are sent before the measured window opens.
    pub warmup_s: f64,
    /// Repeats the arrivals that are drawn at random.
    pub seed: u64,
}

impl Pace {
    /// The schedule of `share`, or none for a closed loop.
    ///
    /// # Errors
    /// When no schedule holds the rate.
    pub fn schedule(&self, share: Share) -> Result<Option<Schedule>, InvalidPlan> {
        let schedule = self.arriving.as_ref().map(|arriving| match arriving {
            Arriving::Rated { rate, arrivals } => {
                rate.profile().map(|profile| Schedule::new(profile, *arrivals, self.seed, share))
            }
            Arriving::Recorded(replay) => Ok(Schedule::of_replay(replay.clone(), share)),
        });
        schedule.transpose()
    }

    /// How many requests of a recording are due only after the load has ended; `None` if nothing is replayed.
    #[must_use]
    pub fn cut_off(&self) -> Option<u64> {
        let Some(Arriving::Recorded(replay)) = &self.arriving else { return None };
        let begun = match self.stop {
            Stop::DurationS(seconds) => replay.count_before(self.warmup() + Nanos::from_secs_f64(seconds)),
            Stop::RequestsTotal(total) => replay.count_before(self.warmup()).saturating_add(total),
            Stop::ConnectionsTotal(_) | Stop::Recording => replay.count(),
        };
        Some(replay.count().saturating_sub(begun))
    }

    /// The mean rate asked for in a window of `length` after the warm-up, per second; none in a closed loop, for an
    /// empty window, or for a rate that no schedule holds. That of a replay is up to its last request.
    #[must_use]
    pub fn mean_rate(&self, length: Nanos) -> Option<f64> {
        let (arrivals, length_s) = match self.arriving.as_ref()? {
            Arriving::Rated { rate, .. } => {
                let profile = rate.profile().ok()?;
                let (start_s, length_s) = (self.warmup_s, length.as_secs_f64());
                let arrivals = profile.arrivals_before(start_s + length_s) - profile.arrivals_before(start_s);
                (arrivals, length_s)
            }
            Arriving::Recorded(replay) => {
                let start = self.warmup();
                let arrivals = replay.count_before(start + length) - replay.count_before(start);
                // After the last request there are answers to wait for, and nothing is asked for.
                (arrivals as f64, length.min(replay.length() - start).as_secs_f64())
            }
        };
        (length_s > 0.0).then(|| arrivals / length_s)
    }

    /// The mean rate of requests asked for; `None` if connections are what arrives, and as for [`Self::mean_rate`].
    #[must_use]
    pub fn asked_rps(&self, length: Nanos) -> Option<f64> {
        if self.unit == Unit::Request { self.mean_rate(length) } else { None }
    }

    /// How long the warm-up lasts.
    #[must_use]
    pub fn warmup(&self) -> Nanos {
        Nanos::from_secs_f64(self.warmup_s)
    }

    /// Checks the numbers.
    ///
    /// # Errors
    /// When one is out of its range, with the number and the range.
    pub fn validate(&self) -> Result<(), InvalidPlan> {
        let refuse = |text: String| Err(InvalidPlan(text));
        if !(self.warmup_s >= 0.0 && self.warmup_s <= WARMUP_S_MAX) {
            return refuse(format!("a warm-up of {} s is not between 0 and {WARMUP_S_MAX} s", self.warmup_s));
        }
        match self.stop {
            Stop::DurationS(seconds) if !(seconds > 0.0 && seconds <= DURATION_S_MAX) => {
                refuse(format!("a duration of {seconds} s is not between 0 and {DURATION_S_MAX} s"))
            }
            Stop::RequestsTotal(0) | Stop::ConnectionsTotal(0) => {
                refuse("a load of 0 requests measures nothing: set at least 1".into())
            }
            _ => self.validate_arrivals(),
        }
    }

    fn validate_arrivals(&self) -> Result<(), InvalidPlan> {
        match &self.arriving {
            Some(Arriving::Recorded(replay)) => {
                replay.validate()?;
                let (length, warmup) = (replay.length(), self.warmup());
                if length < warmup {
                    return Err(InvalidPlan(format!(
                        "the last recorded request is due after {:.3} s, within the warm-up of {} s: give a shorter \
                         warm-up, or a lower speed",
                        length.as_secs_f64(),
                        self.warmup_s
                    )));
                }
                Ok(())
            }
            _ if self.stop == Stop::Recording => {
                Err(InvalidPlan("only a replay ends with its recording: give a duration".into()))
            }
            Some(Arriving::Rated { rate, .. }) => self.validate_end(&rate.profile()?),
            None => Ok(()),
        }
    }

    /// Checks that a rate that ends asks for something in the window, which then has an end.
    fn validate_end(&self, profile: &RateProfile) -> Result<(), InvalidPlan> {
        let Some(silent_from_s) = profile.silent_from_s() else { return Ok(()) };
        if silent_from_s <= self.warmup_s {
            return Err(InvalidPlan(format!(
                "the rate is 0 from {silent_from_s} s on, within the warm-up of {} s: give a shorter warm-up",
                self.warmup_s
            )));
        }
        match self.stop {
            Stop::RequestsTotal(total) | Stop::ConnectionsTotal(total) => Err(InvalidPlan(format!(
                "the rate ends at 0, so {total} may never fall due: give a duration"
            ))),
            Stop::DurationS(_) | Stop::Recording => Ok(()),
        }
    }
}
