//! The options of a script.

use std::num::{NonZeroU64, NonZeroUsize};
use std::time::Duration;

use crate::quantities::{DURATION, SHARE, SIZE_BYTES, TRUTH, count, value_of};

use super::faults::{Delay, Events, Faults, LastAnswer, OutcomeShares, Stalls};

pub(crate) const USAGE: &str = "
Faults of limit, all off by default (0):
  --delay TIME                how long after its request an answer is sent: 5ms
  --delay-share SHARE         the share of the answers that is delayed (default 1)
  --stall-every TIME          the interval after which the server stalls, repeatedly: 2s
  --stall-for TIME            how long each stall lasts: 300ms
  --reset-share SHARE         the share of requests whose connection is reset
  --error-share SHARE         the share of answers with the status 500; of calls of gRPC with INTERNAL
  --truncated-share SHARE     the share of answers that lack their last byte and end the connection
  --wrong-length-share SHARE  the share of answers whose body is one byte too long
  --seed N                    the seed from which the shares are drawn (default 1)
  --spared-requests N         how many of the first requests are answered correctly and at once
  --keepalive-requests N      after how many answers a connection is closed
  --announce-close BOOLEAN    whether the last answer announces the close (default true)
  --accept-every TIME         one client is accepted per such interval: 5ms
  --work TIME                 CPU time of the single thread per request: 50us
  --connection-memory SIZE    memory used per connection: 64KiB
  --leak SIZE                 memory leaked per request: 100B
  --connections-per-thread N  one more idle thread is started per N concurrent connections
  --event-every TIME          how far apart events are: a file is answered as a stream, which is its bytes again and again, the
                              first time so long after the request (not over HTTP/1.0): 1s
  --events N                  after how many of them a stream ends (default 0: never)
Over HTTP/2 and HTTP/3 the faults concern the same requests: a delayed answer delays no other one of its connection, a reset or
truncation ends one stream and not its connection, and GOAWAY announces the last answer of a connection.
";

/// What the command line says of the faults.
#[derive(Debug)]
pub(crate) struct FaultOptions {
    faults: Faults,
    delay: Delay,
    stalls: Stalls,
    event_every: Duration,
    events: u64,
    keepalive_requests: u64,
    announces_close: bool,
}

impl Default for FaultOptions {
    fn default() -> Self {
        Self {
            faults: Faults { seed: 1, ..Faults::default() },
            delay: Delay { length: Duration::ZERO, share: 1.0 },
            stalls: Stalls { every: Duration::ZERO, length: Duration::ZERO },
            event_every: Duration::ZERO,
            events: 0,
            keepalive_requests: 0,
            announces_close: true,
        }
    }
}

impl FaultOptions {
    /// Reads the value of an option; false where the option does not belong to a script.
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
            "event-every" => self.event_every = value_of(parser, option, &DURATION)?,
            "events" => self.events = value_of(parser, option, &count())?,
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
        let Self { faults, delay, stalls, event_every, events, keepalive_requests, announces_close } = self;
        if events > 0 && event_every.is_zero() {
            return Err(format!("--events is {events} without --event-every: expected both, or neither"));
        }
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
            events: some(event_every).map(|every| Events { every, count: NonZeroU64::new(events) }),
            idle_timeout: idle_timeout.and_then(some),
            ..faults
        })
    }
}

/// A time above zero.
fn some(time: Duration) -> Option<Duration> {
    (!time.is_zero()).then_some(time)
}
