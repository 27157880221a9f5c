//! `loadcurve-floor`: the least that load generation costs on this machine, for the engine to be compared with.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use lexopt::prelude::*;

use crate::exchange::Exchange;
use crate::fan_out::FanOut;
use crate::frames::Frames;

mod busy;
mod clock;
mod exchange;
mod fan_out;
mod frames;
mod timer;

const USAGE: &str = "\
Usage: loadcurve-floor exchange --address ADDRESS:PORT --request TEXT --answer-bytes N --connections N --duration SECONDS
       loadcurve-floor frames --address ADDRESS:PORT --path PATH --streams N --connections N --duration SECONDS
       loadcurve-floor fan-out --address ADDRESS:PORT --path PATH --message-bytes N --connections N --duration SECONDS
       loadcurve-floor timer --rate N --duration SECONDS

  exchange  keeps the connections busy with one request whose answers all have one length
  frames    keeps streams of HTTP/2 busy on each connection with one request, in clear text
  fan-out   publishes messages of a WebSocket, which as many others read
  timer     wakes N times in a second and does nothing

One JSON object on stdout.
";

enum Asked {
    Exchange { exchange: Exchange, connections: usize, duration: Duration },
    Frames { frames: Frames, connections: usize, duration: Duration },
    FanOut { fan_out: FanOut, subscribers: usize, duration: Duration },
    Timer { rate_rps: f64, duration: Duration },
    Usage,
}

fn main() -> ExitCode {
    let asked = match parse(lexopt::Parser::from_env()) {
        Ok(asked) => asked,
        Err(error) => {
            eprintln!("loadcurve-floor: {error}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match perform(&asked) {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("loadcurve-floor: {error}");
            ExitCode::FAILURE
        }
    }
}

fn perform(asked: &Asked) -> Result<String, String> {
    let json = match asked {
        Asked::Exchange { exchange, connections, duration } => {
            serde_json::to_string(&exchange::run(exchange, *connections, *duration)?)
        }
        Asked::Frames { frames, connections, duration } => {
            serde_json::to_string(&frames::run(frames, *connections, *duration)?)
        }
        Asked::FanOut { fan_out, subscribers, duration } => {
            serde_json::to_string(&fan_out::run(fan_out, *subscribers, *duration)?)
        }
        Asked::Timer { rate_rps, duration } => serde_json::to_string(&timer::run(*rate_rps, *duration)?),
        Asked::Usage => return Ok(USAGE.trim_end().into()),
    };
    json.map_err(|error| error.to_string())
}

fn parse(mut parser: lexopt::Parser) -> Result<Asked, lexopt::Error> {
    let (mut kind, mut address, mut request, mut answer_bytes, mut path, mut streams) =
        (None, None::<SocketAddr>, None, None, None, None);
    let (mut connections, mut rate_rps, mut duration, mut message_bytes) = (None, None, None, None);
    while let Some(argument) = parser.next()? {
        match argument {
            Long("address") => address = Some(parser.value()?.parse()?),
            Long("request") => request = Some(parser.value()?.string()?.into_bytes()),
            Long("answer-bytes") => answer_bytes = Some(parser.value()?.parse()?),
            Long("message-bytes") => message_bytes = Some(parser.value()?.parse_with(short)?),
            Long("path") => path = Some(parser.value()?.string()?),
            Long("streams") => streams = Some(parser.value()?.parse()?),
            Long("connections") => connections = Some(parser.value()?.parse()?),
            Long("rate") => rate_rps = Some(parser.value()?.parse_with(positive)?),
            Long("duration") => duration = Some(parser.value()?.parse_with(seconds)?),
            Long("help") | Short('h') => return Ok(Asked::Usage),
            Value(value) if kind.is_none() => kind = Some(value.string()?),
            other => return Err(other.unexpected()),
        }
    }
    let duration = duration.ok_or("missing --duration");
    match kind.as_deref() {
        Some("exchange") => Ok(Asked::Exchange {
            exchange: Exchange {
                address: address.ok_or("missing --address")?,
                request: request.ok_or("missing --request")?,
                answer_bytes: answer_bytes.ok_or("missing --answer-bytes")?,
            },
            connections: connections.ok_or("missing --connections")?,
            duration: duration?,
        }),
        Some("frames") => Ok(Asked::Frames {
            frames: Frames {
                address: address.ok_or("missing --address")?,
                path: path.ok_or("missing --path")?,
                streams: streams.ok_or("missing --streams")?,
            },
            connections: connections.ok_or("missing --connections")?,
            duration: duration?,
        }),
        Some("fan-out") => Ok(Asked::FanOut {
            fan_out: FanOut {
                address: address.ok_or("missing --address")?,
                path: path.ok_or("missing --path")?,
                message_bytes: message_bytes.ok_or("missing --message-bytes")?,
            },
            subscribers: connections.ok_or("missing --connections")?,
            duration: duration?,
        }),
        Some("timer") => {
            Ok(Asked::Timer { rate_rps: rate_rps.ok_or("missing --rate")?, duration: duration? })
        }
        Some(other) => Err(format!("unknown kind {other:?}; expected {KINDS}").into()),
        None => Err(format!("missing kind; expected {KINDS}").into()),
    }
}

const KINDS: &str = "exchange, frames, fan-out or timer";

fn short(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(bytes) if (1..=fan_out::MESSAGE_BYTES_MAX).contains(&bytes) => Ok(bytes),
        _ => Err(format!("expected 1 to {}", fan_out::MESSAGE_BYTES_MAX)),
    }
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if number > 0.0 && f64::is_finite(number) => Ok(number),
        _ => Err("expected a positive number".into()),
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    Duration::try_from_secs_f64(positive(text)?).map_err(|error| error.to_string())
}
