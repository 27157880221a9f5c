//! A call under way, whatever is below it.

#![expect(clippy::disallowed_methods, reason = "a client by itself reads the clock")]

use std::borrow::Cow;
use std::time::{Duration, Instant};

use loadcurve_wire::{
    AnswerError, Body, BodyPart, CutOf, ErrorCode, Event, Exchange as _, GrpcError, GrpcMessages, GrpcStatus,
    Http3Code, HttpExchange, Malformed, Method, Readiness, Received, Refusal, Request, Response, Target,
    Version, call,
};
use serde_json::{Value, json};

use crate::{Call, Failure};

/// How often the clock is looked at while nothing comes.
pub(crate) const TICK: Duration = Duration::from_millis(2);
/// How long a server may say nothing.
const SILENCE_MAX: Duration = Duration::from_secs(20);
const WRITE_BYTES: usize = 1 << 16;

/// The fields of each header block, in their order.
pub(crate) type Blocks = Vec<Vec<(String, String)>>;

/// What has come within a tick: its length, which is 0 at the end of a stream, and how it is divided.
pub(crate) type Arrival<E> = Option<(usize, CutOf<E>)>;

/// What a connection runs over.
pub(crate) trait Transport: Sized {
    type Exchange: HttpExchange;

    fn send(&mut self, bytes: &[u8], cut: CutOf<Self::Exchange>);

    fn receive(&mut self, buffer: &mut [u8]) -> Result<Arrival<Self::Exchange>, Failure>;

    /// Reads the fields of what has come, in these bytes or below the exchange.
    fn read_fields(&mut self, bytes: &[u8], exchange: &mut Self::Exchange);

    fn blocks(&self) -> &Blocks;
}

/// What has come of an answer.
#[derive(Default)]
pub(crate) struct Answer {
    pub(crate) body: Vec<u8>,
    pub(crate) said: Option<String>,
    divided: GrpcMessages,
    messages: u64,
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

/// A call on one connection.
pub(crate) struct Talk<'a, T: Transport> {
    call: &'a Call<'a>,
    exchange: T::Exchange,
    transport: T,
    answer: Answer,
    /// What is sent at once: all messages, or each behind the answer to the one before.
    bodies: Vec<Vec<u8>>,
    next: usize,
    is_under_way: bool,
    output: Vec<u8>,
    started: Instant,
    last_byte: Instant,
}

impl<'a, T: Transport> Talk<'a, T> {
    pub(crate) fn new(call: &'a Call<'a>, transport: T, exchange: T::Exchange, started: Instant) -> Self {
        let bodies = if call.is_each() { call.messages.clone() } else { vec![call.messages.concat()] };
        let mut talk = Self {
            call,
            exchange,
            transport,
            answer: Answer::default(),
            bodies,
            next: 0,
            is_under_way: false,
            output: vec![],
            started,
            last_byte: started,
        };
        talk.exchange.advance(started.elapsed());
        talk.exchange.open();
        talk
    }

    /// Makes the call, and gives what became of it.
    pub(crate) fn made(mut self) -> Result<Value, Failure> {
        let outcome = self.outcome()?;
        self.exchange.end(&mut self.output);
        self.send_output(CutOf::<T::Exchange>::default());
        Ok(json!({
            "outcome": outcome,
            "heads": self.transport.blocks(),
            "body": crate::hex(&self.answer.body),
            "said": self.answer.said,
        }))
    }

    fn outcome(&mut self) -> Result<Value, Failure> {
        let mut buffer = vec![0; WRITE_BYTES];
        loop {
            if self.begin()? {
                // Every message of a kept call has its answer, and the rest is for the server to say.
                return self.ended(&mut buffer);
            }
            self.write()?;
            if let Some(end) = self.given_up()? {
                return Ok(end);
            }
            if let Some(end) = self.read(&mut buffer)? {
                return Ok(end);
            }
        }
    }

    /// Begins what is next where it can; says whether nothing is left.
    fn begin(&mut self) -> Result<bool, Failure> {
        if self.is_under_way || self.exchange.readiness() != Readiness::Ready {
            return Ok(false);
        }
        let Some(body) = self.bodies.get(self.next) else { return Ok(true) };
        let given = Request {
            version: Version::Http11,
            method: Method::POST,
            target: Target::Fixed(self.call.path),
            authority: self.call.address,
            headers: &self.call.headers,
            body: Body::Bytes(body),
            is_chunked: false,
        };
        let mut headers = vec![];
        // Over HTTP/2 the exchange of calls does so.
        let request = if T::Exchange::IS_HTTP3 { call(&given, &mut headers) } else { given };
        let template = T::Exchange::template(&request)?;
        self.exchange.advance(self.started.elapsed());
        self.exchange.begin(0, &template, None, &mut self.output);
        (self.is_under_way, self.next) = (true, self.next + 1);
        Ok(false)
    }

    fn write(&mut self) -> Result<(), Failure> {
        self.exchange.advance(self.started.elapsed());
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
        loop {
            let cut = self.exchange.protect(&mut self.output);
            if self.output.is_empty() {
                return Ok(());
            }
            self.send_output(cut);
            if !self.exchange.has_further_write() {
                return Ok(());
            }
        }
    }

    fn send_output(&mut self, cut: CutOf<T::Exchange>) {
        self.transport.send(&self.output, cut);
        self.output.clear();
    }

    /// Gives the call up where its time is over, or as it is asked for.
    fn given_up(&mut self) -> Result<Option<Value>, Failure> {
        let passed = self.started.elapsed();
        if self.call.timeout.is_some_and(|timeout| passed >= timeout) {
            return Ok(Some(json!("timeout")));
        }
        let is_time = |after| self.is_under_way && !self.call.is_each() && passed >= after;
        let is_cancelled = self.call.cancel_after.is_some_and(is_time)
            || self.call.cancel_after_messages.is_some_and(|most| self.answer.messages >= most);
        if !is_cancelled {
            return Ok(None);
        }
        self.exchange.cancel(0);
        self.write()?;
        Ok(Some(json!("cancelled")))
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<Option<Value>, Failure> {
        let Some((read, cut)) = self.transport.receive(buffer)? else {
            if self.last_byte.elapsed() > SILENCE_MAX {
                return Err("the server says nothing".into());
            }
            let now = self.started.elapsed();
            self.exchange.advance(now);
            if self.exchange.wake_at().is_some_and(|wake_at| wake_at <= now) {
                self.exchange.timed_out();
            }
            return Ok(self.arrived(&[]));
        };
        self.last_byte = Instant::now();
        if read == 0 {
            let event = self.exchange.end_of_input();
            let ended = || json!({"failed": "the connection ended"});
            return Ok(Some(event.map_or_else(ended, |event| self.end(&event))));
        }
        self.exchange.advance(self.started.elapsed());
        self.exchange.divided(cut);
        Ok(self.arrived(&buffer[..read]))
    }

    /// Reads what has come; gives the end of the call, if it has ended.
    fn arrived(&mut self, mut bytes: &[u8]) -> Option<Value> {
        let mut end = None;
        while end.is_none() && (!bytes.is_empty() || self.exchange.has_input()) {
            let answer = &mut self.answer;
            let mut take = |_, status, part: &[u8]| answer.take(status, part);
            let received = self.exchange.receive_with(bytes, &mut take);
            let consumed = received.as_ref().map_or(bytes.len(), |received| received.consumed);
            self.transport.read_fields(&bytes[..consumed], &mut self.exchange);
            bytes = &bytes[consumed..];
            end = match received {
                Err(malformed) => Some(fault(malformed)),
                Ok(Received { event: None | Some(Event::Begun(_)), .. }) => None,
                Ok(Received { event: Some(Event::Answered(..)), .. }) if self.call.is_each() => {
                    self.is_under_way = false;
                    None
                }
                Ok(Received { event: Some(event), .. }) => Some(self.end(&event)),
            };
        }
        // The fields of a block may be in what follows the event that they bring.
        self.transport.read_fields(bytes, &mut self.exchange);
        let is_lost = end.is_none() && self.exchange.readiness() == Readiness::Closed;
        let why = || self.exchange.complaint().map_or_else(|| "the connection ended".into(), Cow::into_owned);
        if is_lost { Some(json!({"failed": why()})) } else { end }
    }

    fn end(&mut self, event: &Event) -> Value {
        self.answer.said = self.exchange.said().map(Cow::into_owned);
        // A server gives up at the deadline as well, with this code (gRPC over HTTP/2, "Errors").
        let is_given_up = matches!(
            event,
            Event::Refused(
                _,
                Refusal::Reset(ErrorCode::Cancel) | Refusal::ResetHttp3(Http3Code::REQUEST_CANCELLED)
            )
        );
        let is_late = self.call.timeout.is_some_and(|timeout| self.started.elapsed() >= timeout);
        if is_given_up && is_late { json!("timeout") } else { outcome_of(event) }
    }

    /// Ends a kept call, and awaits what the server says of that.
    fn ended(&mut self, buffer: &mut [u8]) -> Result<Value, Failure> {
        if self.call.cancel_after.is_some() {
            return Ok(json!("cancelled"));
        }
        self.exchange.end(&mut self.output);
        self.write()?;
        while self.transport.blocks().len() < 2 {
            match self.transport.receive(buffer)? {
                Some((0, _)) => return Err("the server has closed the connection without trailers".into()),
                Some((read, _)) => self.transport.read_fields(&buffer[..read], &mut self.exchange),
                None if self.last_byte.elapsed() > SILENCE_MAX => {
                    return Err("the server says nothing".into());
                }
                None => {}
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
        Event::Refused(_, Refusal::ResetHttp3(code)) => json!({"reset_http3": code.0}),
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
