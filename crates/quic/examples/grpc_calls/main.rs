//! A client that makes calls of gRPC as it is asked to, as suites of cases want one.
//!
//! Each line of standard input is a call in JSON, and each line of standard output what became of it. `benches/grpc_conformance.py`
//! translates between these and a suite. The exchange of a load judges what comes; of the fields of answers it keeps none, so
//! another implementation of header compression reads these from the same bytes.

#![expect(clippy::disallowed_methods, reason = "a client by itself reads the clock")]

use std::borrow::Cow;
use std::error::Error;
use std::io::{BufRead as _, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use loadcurve_wire::{
    AnswerError, Body, BodyPart, ErrorCode, Event, Exchange as _, Grpc, GrpcAnswer, GrpcCalls, GrpcError,
    GrpcMessages, GrpcSettings, GrpcStatus, HttpExchange as _, Malformed, Method, Readiness, Received,
    Refusal, Request, Response, Target, Version,
};
use serde_json::{Value, json};

type Failure = Box<dyn Error>;

/// How often the clock is looked at while nothing comes.
const TICK: Duration = Duration::from_millis(2);
/// How long a server may say nothing.
const SILENCE_MAX: Duration = Duration::from_secs(20);
const WRITE_BYTES: usize = 1 << 16;

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

    /// Makes the call on a connection of its own.
    fn made(&self) -> Result<Value, Failure> {
        let mut answer = Answer::default();
        let outcome = self.outcome(&mut answer)?;
        Ok(
            json!({"outcome": outcome, "heads": answer.fields.blocks, "body": hex(&answer.body), "said": answer.said}),
        )
    }

    fn outcome(&self, answer: &mut Answer) -> Result<Value, Failure> {
        let mut talk = Talk::new(self)?;
        let mut buffer = vec![0; WRITE_BYTES];
        loop {
            if talk.begin()? {
                // Every message of a kept call has its answer, and the rest is for the server to say.
                return talk.ended(answer, &mut buffer);
            }
            talk.write()?;
            if let Some(end) = talk.given_up(answer)? {
                return Ok(end);
            }
            if let Some(end) = talk.read(answer, &mut buffer)? {
                return Ok(end);
            }
        }
    }

    fn is_each(&self) -> bool {
        self.answer == GrpcAnswer::Each
    }

    fn template(&self, body: &[u8]) -> Result<<Grpc as loadcurve_wire::Exchange>::Template, Failure> {
        Ok(Grpc::template(&Request {
            version: Version::Http11,
            method: Method::POST,
            target: Target::Fixed(self.path),
            authority: self.address,
            headers: &self.headers,
            body: Body::Bytes(body),
            is_chunked: false,
        })?)
    }
}

/// A call under way.
struct Talk<'a> {
    call: &'a Call<'a>,
    exchange: Grpc,
    stream: TcpStream,
    /// What is sent at once: all messages, or each behind the answer to the one before.
    bodies: Vec<Vec<u8>>,
    next: usize,
    is_under_way: bool,
    output: Vec<u8>,
    started: Instant,
    last_byte: Instant,
}

impl<'a> Talk<'a> {
    fn new(call: &'a Call<'a>) -> Result<Self, Failure> {
        let started = Instant::now();
        let stream = TcpStream::connect(call.address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TICK))?;
        let settings = GrpcSettings {
            calls: GrpcCalls { answer: call.answer, takes_compressed: call.takes_compressed },
            ..GrpcSettings::default()
        };
        let mut exchange = Grpc::new(1, &settings);
        exchange.open();
        let bodies = if call.is_each() { call.messages.clone() } else { vec![call.messages.concat()] };
        let (next, is_under_way, output) = (0, false, Vec::new());
        Ok(Self { call, exchange, stream, bodies, next, is_under_way, output, started, last_byte: started })
    }

    /// Begins what is next where it can; says whether nothing is left.
    fn begin(&mut self) -> Result<bool, Failure> {
        if self.is_under_way || self.exchange.readiness() != Readiness::Ready {
            return Ok(false);
        }
        let Some(body) = self.bodies.get(self.next) else { return Ok(true) };
        let template = self.call.template(body)?;
        self.exchange.begin(0, &template, None, &mut self.output);
        (self.is_under_way, self.next) = (true, self.next + 1);
        Ok(false)
    }

    fn write(&mut self) -> Result<(), Failure> {
        while self.exchange.can_write_body() {
            let body = &self.bodies[self.next - 1];
            let mut read = |part: BodyPart, to: &mut Vec<u8>| {
                let offset = usize::try_from(part.offset)?;
                to.extend_from_slice(&body[offset..][..part.bytes]);
                Ok::<_, Failure>(())
            };
            self.exchange.write_body(WRITE_BYTES, &mut read, &mut self.output)?;
        }
        self.exchange.write_output(&mut self.output);
        // Where the server has closed the connection, that shows in what is read.
        let _ = self.stream.write_all(&self.output);
        self.output.clear();
        Ok(())
    }

    /// Gives the call up where its time is over, or as it is asked for.
    fn given_up(&mut self, answer: &Answer) -> Result<Option<Value>, Failure> {
        let passed = self.started.elapsed();
        if self.call.timeout.is_some_and(|timeout| passed >= timeout) {
            return Ok(Some(json!("timeout")));
        }
        let is_time = |after| self.is_under_way && !self.call.is_each() && passed >= after;
        let is_cancelled = self.call.cancel_after.is_some_and(is_time)
            || self.call.cancel_after_messages.is_some_and(|most| answer.messages >= most);
        if !is_cancelled {
            return Ok(None);
        }
        self.exchange.cancel(0);
        self.write()?;
        Ok(Some(json!("cancelled")))
    }

    fn read(&mut self, answer: &mut Answer, buffer: &mut [u8]) -> Result<Option<Value>, Failure> {
        let read = match self.stream.read(buffer) {
            Ok(read) => read,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                if self.last_byte.elapsed() > SILENCE_MAX {
                    return Err("the server says nothing".into());
                }
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        self.last_byte = Instant::now();
        answer.fields.read(&buffer[..read]);
        if read == 0 {
            let event = self.exchange.end_of_input();
            let ended = || json!({"failed": "the connection ended"});
            return Ok(Some(event.map_or_else(ended, |event| self.end(answer, &event))));
        }
        let mut bytes = &buffer[..read];
        while !bytes.is_empty() || self.exchange.has_input() {
            let mut take = |_, status, part: &[u8]| answer.take(status, part);
            let Received { consumed, event } = match self.exchange.receive_with(bytes, &mut take) {
                Ok(received) => received,
                Err(malformed) => return Ok(Some(fault(malformed))),
            };
            bytes = &bytes[consumed..];
            match event {
                None | Some(Event::Begun(_)) => {}
                Some(Event::Answered(..)) if self.call.is_each() => self.is_under_way = false,
                Some(event) => return Ok(Some(self.end(answer, &event))),
            }
        }
        Ok(None)
    }

    fn end(&self, answer: &mut Answer, event: &Event) -> Value {
        answer.said = self.exchange.said().map(Cow::into_owned);
        // A server gives up at the deadline as well, with this code (gRPC over HTTP/2, "Errors").
        let is_given_up = matches!(event, Event::Refused(_, Refusal::Reset(ErrorCode::Cancel)));
        let is_late = self.call.timeout.is_some_and(|timeout| self.started.elapsed() >= timeout);
        if is_given_up && is_late { json!("timeout") } else { outcome_of(event) }
    }

    /// Ends a kept call, and awaits what the server says of that.
    fn ended(&mut self, answer: &mut Answer, buffer: &mut [u8]) -> Result<Value, Failure> {
        if self.call.cancel_after.is_some() {
            return Ok(json!("cancelled"));
        }
        self.exchange.end(&mut self.output);
        self.write()?;
        self.stream.set_read_timeout(Some(SILENCE_MAX))?;
        while answer.fields.blocks.len() < 2 {
            match self.stream.read(buffer)? {
                0 => return Err("the server has closed the connection without trailers".into()),
                read => answer.fields.read(&buffer[..read]),
            }
        }
        Ok(json!({"answered": 0}))
    }
}

fn outcome_of(event: &Event) -> Value {
    match event {
        Event::Answered(_, Response { status, grpc_status, .. }) => {
            json!({"answered": grpc_status.map(GrpcStatus::code), "status": status})
        }
        Event::Refused(_, Refusal::Reset(code)) => json!({"reset": u32::from(*code)}),
        Event::Refused(_, Refusal::Malformed(malformed)) => fault(*malformed),
        Event::Refused(_, Refusal::Ended(status)) => {
            json!({"answered": status.map(GrpcStatus::code), "status": 200})
        }
        other => json!({"failed": format!("{other:?}")}),
    }
}

fn fault(malformed: Malformed) -> Value {
    let about = match malformed {
        Malformed::Grpc(GrpcError::Count { .. }) => "messages",
        Malformed::Answer(AnswerError::Status) => "status",
        _ => "other",
    };
    json!({"malformed": malformed.to_string(), "about": about})
}

/// What has come of an answer.
#[derive(Default)]
struct Answer {
    body: Vec<u8>,
    divided: GrpcMessages,
    messages: u64,
    said: Option<String>,
    fields: Fields,
}

impl Answer {
    fn take(&mut self, status: u16, mut part: &[u8]) {
        if status != 200 {
            return;
        }
        self.body.extend_from_slice(part);
        while !part.is_empty() {
            let (read, is_whole) = self.divided.read_one(part, &mut |_| ());
            self.messages += u64::from(is_whole);
            part = &part[read..];
        }
    }
}

/// The header blocks of a connection with one stream.
#[derive(Default)]
struct Fields {
    frames: Vec<u8>,
    block: Vec<u8>,
    blocks: Vec<Vec<(String, String)>>,
    decoder: Option<fluke_hpack::Decoder<'static>>,
}

impl Fields {
    fn read(&mut self, bytes: &[u8]) {
        const HEADERS: u8 = 1;
        const CONTINUATION: u8 = 9;
        const END_HEADERS: u8 = 4;
        self.frames.extend_from_slice(bytes);
        while let Some([high, middle, low, kind, flags, ..]) = self.frames.get(..9) {
            let (kind, flags) = (*kind, *flags);
            let length = usize::from(*high) << 16 | usize::from(*middle) << 8 | usize::from(*low);
            if self.frames.len() < 9 + length {
                return;
            }
            let frame: Vec<u8> = self.frames.drain(..9 + length).skip(9).collect();
            if kind == HEADERS || kind == CONTINUATION {
                self.block.extend_from_slice(fragment(&frame, if kind == HEADERS { flags } else { 0 }));
                if flags & END_HEADERS != 0 {
                    let block = std::mem::take(&mut self.block);
                    self.decode(&block);
                }
            }
        }
    }

    fn decode(&mut self, block: &[u8]) {
        let decoder = self.decoder.get_or_insert_with(fluke_hpack::Decoder::new);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if let Ok(fields) = decoder.decode(block) {
            self.blocks.push(fields.iter().map(|(name, value)| (text(name), text(value))).collect());
        }
    }
}

/// A frame of HEADERS without padding and priority (RFC 9113 §6.2).
fn fragment(frame: &[u8], flags: u8) -> &[u8] {
    const PADDED: u8 = 8;
    const PRIORITY: u8 = 32;
    let (mut first, mut end) = (0, frame.len());
    if flags & PADDED != 0 && !frame.is_empty() {
        (first, end) = (1, end.saturating_sub(usize::from(frame[0])));
    }
    if flags & PRIORITY != 0 {
        first += 5;
    }
    frame.get(first..end).unwrap_or_default()
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
