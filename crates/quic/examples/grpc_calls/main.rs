//! A client that makes calls of gRPC as it is asked to, as suites of cases want one.
//!
//! Each line of standard input is a call in JSON, and each line of standard output what became of it. `benches/grpc_conformance.py`
//! translates between these and a suite. The exchange of a load judges what comes. Of the fields of answers it keeps nothing:
//! over HTTP/2 another implementation of header compression reads them from the same bytes, over HTTP/3 ours from what the
//! exchange has read.

mod http2;
mod http3;
mod talk;

use std::error::Error;
use std::io::{BufRead as _, Write as _};
use std::time::Duration;

use loadcurve_wire::{GrpcAnswer, GrpcCalls};
use serde_json::{Value, json};

use crate::http2::Tcp;
use crate::http3::Udp;

type Failure = Box<dyn Error>;

fn main() -> Result<(), Failure> {
    let mut output = std::io::stdout();
    for line in std::io::stdin().lock().lines() {
        let asked: Value = serde_json::from_str(&line?)?;
        let found =
            Call::of(&asked)?.made().unwrap_or_else(|failure| json!({"failure": failure.to_string()}));
        writeln!(output, "{found}")?;
        output.flush()?;
    }
    Ok(())
}

/// What is asked for.
struct Call<'a> {
    is_http3: bool,
    address: &'a str,
    path: &'a str,
    headers: Vec<(&'a str, &'a str)>,
    /// Each behind its five bytes.
    messages: Vec<Vec<u8>>,
    answer: GrpcAnswer,
    takes_compressed: bool,
    /// How long before its end is the client's.
    timeout: Option<Duration>,
    cancel_after: Option<Duration>,
    cancel_after_messages: Option<u64>,
}

impl<'a> Call<'a> {
    fn of(asked: &'a Value) -> Result<Self, Failure> {
        let text = |name: &str| asked[name].as_str().ok_or_else(|| format!("{name} is missing"));
        let millis = |name: &str| asked[name].as_u64().map(Duration::from_millis);
        let headers = asked["headers"].as_array().ok_or("headers are missing")?;
        let messages = asked["messages"].as_array().ok_or("messages are missing")?;
        Ok(Self {
            is_http3: asked["http3"] == true,
            address: text("address")?,
            path: text("path")?,
            headers: headers.iter().filter_map(|pair| Some((pair[0].as_str()?, pair[1].as_str()?))).collect(),
            messages: messages
                .iter()
                .map(|message| bytes_of(message.as_str().unwrap_or_default()))
                .collect::<Result<_, _>>()?,
            answer: match text("answer")? {
                "one" => GrpcAnswer::One,
                "stream" => GrpcAnswer::Stream,
                _ => GrpcAnswer::Each,
            },
            takes_compressed: asked["takes_compressed"] == true,
            timeout: millis("timeout_ms"),
            cancel_after: millis("cancel_after_ms"),
            cancel_after_messages: asked["cancel_after_messages"].as_u64(),
        })
    }

    /// Makes the call on one connection.
    fn made(&self) -> Result<Value, Failure> {
        let calls = GrpcCalls { answer: self.answer, takes_compressed: self.takes_compressed };
        if self.is_http3 { Udp::talk(self, calls)?.made() } else { Tcp::talk(self, calls)?.made() }
    }

    fn is_each(&self) -> bool {
        self.answer == GrpcAnswer::Each
    }
}

fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(value.into(), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn bytes_of(hex: &str) -> Result<Vec<u8>, Failure> {
    (0..hex.len())
        .step_by(2)
        .map(|place| Ok(u8::from_str_radix(hex.get(place..place + 2).ok_or("half a byte")?, 16)?))
        .collect()
}
