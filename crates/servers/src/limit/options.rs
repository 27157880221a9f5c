//! The options of a script.

use std::num::{NonZeroU64, NonZeroUsize};
use std::time::Duration;

use crate::quantities::{DURATION, SHARE, SIZE_BYTES, TRUTH, count, value_of};

use super::faults::{Delay, Faults, LastAnswer, OutcomeShares, Stalls};

pub(crate) const USAGE: &str = "
Faults of limit, none of which is there by default (0):
  --delay TIME                answers are sent so long after their request came: 5ms
  --delay-share SHARE         only this share of the answers is (default 1)
  --stall-every TIME          again and again after so long the server does nothing at all: 2s
  --stall-for TIME            for so long: 300ms
  --reset-share SHARE         so many requests are answered by a reset of the connection
  --error-share SHARE         so many answers have the status 500
  --truncated-share SHARE     so many answers lack their last byte and end the connection
  --wrong-length-share SHARE  so many answers have a body that is one byte longer
  --seed N                    what all shares are drawn from (default 1)
  --spared-requests N         the first of all requests are answered rightly and at once, whatever the shares say
  --keepalive-requests N      a connection is closed after so many answers
  --announce-close BOOLEAN    whether the last of them says so (default true)
  --accept-every TIME         one client is accepted in each such time: 5ms
  --work TIME                 each request uses so much processor time of the one thread: 50us
  --connection-memory SIZE    memory in use for each connection: 64KiB
  --leak SIZE                 memory lost with each request: 100B
  --connections-per-thread N  one more idle thread begins with each N connections that are open at once
Over HTTP/2 each is about the same requests: a delayed answer holds back no other of its connection, what is reset or
truncated is one stream and not its connection, and the last answer of a connection is announced by GOAWAY.
";

/// What the command line says of the faults.
#[derive(Debug)]
pub(crate) struct FaultOptions {
    faults: Faults,
    delay: Delay,
    stalls: Stalls,
    keepalive_requests: u64,
    announces_close: bool,
}

impl Default for FaultOptions {
    fn default() -> Self {
        Self {
            faults: Faults { seed: 1, ..Faults::default() },
            delay: Delay { length: Duration::ZERO, share: 1.0 },
            stalls: Stalls { every: Duration::ZERO, length: Duration::ZERO },
            keepalive_requests: 0,
            announces_close: true,
        }
    }
}

impl FaultOptions {
    /// Reads the value of an option; false where the option is none of a script.
    pub(crate) fn read(&mut self, option: &str, parser: &mut lexopt::Parser) -> Result<bool, lexopt::Error> {
        let Self { faults, .. } = self;
        let OutcomeShares { reset, error, truncated, wrong_length } = &mut faults.outcomes;
        match option {
            "seed" => faults.seed = value_of(parser, option, &count())?,
            "delay" => self.delay.length = value_of(parser, option, &DURATION)?,
            "delay-share" => self.delay.share = value_of(parser, option, &SHARE)?,
            "stall-every" => self.stalls.every = value_of(parser, option, &DURATION)?,
            "stall-for" => self.stalls.length = value_of(parser, option, &DURATION)?,
            "reset-share" => *reset = value_of(parser, option, &SHARE)?,
            "error-share" => *error = value_of(parser, option, &SHARE)?,
            "truncated-share" => *truncated = value_of(parser, option, &SHARE)?,
            "wrong-length-share" => *wrong_length = value_of(parser, option, &SHARE)?,
            "spared-requests" => faults.spared_requests = value_of(parser, option, &count())?,
            "keepalive-requests" => self.keepalive_requests = value_of(parser, option, &count())?,
            "announce-close" => self.announces_close = value_of(parser, option, &TRUTH)?,
            "accept-every" => faults.accept_every = some(value_of(parser, option, &DURATION)?),
            "work" => faults.work = value_of(parser, option, &DURATION)?,
            "connection-memory" => faults.connection_memory_bytes = value_of(parser, option, &SIZE_BYTES)?,
            "leak" => faults.leak_bytes = value_of(parser, option, &SIZE_BYTES)?,
            "connections-per-thread" => {
                faults.connections_per_thread = NonZeroUsize::new(value_of(parser, option, &count())?);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The faults that were asked for.
    ///
    /// # Errors
    /// When two options contradict each other.
    pub(crate) fn faults(self, idle_timeout: Option<Duration>) -> Result<Faults, String> {
        let Self { faults, delay, stalls, keepalive_requests, announces_close } = self;
        if stalls.length > Duration::ZERO && stalls.length >= stalls.every {
            let Stalls { every, length } = stalls;
            return Err(format!(
                "--stall-for is {length:?}: expected less than --stall-every, which is {every:?}"
            ));
        }
        if faults.outcomes.sum() > 1.0 + f64::EPSILON {
            let OutcomeShares { reset, error, truncated, wrong_length } = faults.outcomes;
            return Err(format!(
                "--reset-share, --error-share, --truncated-share and --wrong-length-share are {reset}, {error}, \
                 {truncated} and {wrong_length}: expected at most 1 together"
            ));
        }
        Ok(Faults {
            delay: (delay.length > Duration::ZERO).then_some(delay),
            stalls: (stalls.length > Duration::ZERO).then_some(stalls),
            last_answer: NonZeroU64::new(keepalive_requests)
                .map(|number| LastAnswer { number, is_announced: announces_close }),
            idle_timeout: idle_timeout.and_then(some),
            ..faults
        })
    }
}

/// A time above zero.
fn some(time: Duration) -> Option<Duration> {
    (!time.is_zero()).then_some(time)
}
