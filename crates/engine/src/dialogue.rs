//! One connection on which one thing is asked, as a load asks it and without a load; whatever the server does, it ends in
//! time.

use std::borrow::Cow;

use loadcurve_plan::Nanos;
use loadcurve_record::{Class as _, Failure};
use loadcurve_wire::{
    self as wire, BodyPart, CutOf, ErrorCode, GrpcStatus, Http3Code, HttpExchange, Malformed, Readiness,
    Received, Refusal, Response,
};

use crate::connection::{failure_of, refused};
use crate::io::{Carries, Event, Notify, Slot};
use crate::requests::quic::{closed, reset_in_words};
use crate::requests::{BodyFile, RequestSource, Template};

const SLOT: Slot = 0;
/// The longest sleep, so that an interruption is noticed soon.
const LONGEST_WAIT: Nanos = Nanos::from_millis(20);
/// How much of a long body is written at once.
const PART_BYTES: usize = 64 * 1024;
/// What moves more slowly than 64 KiB/s, on average, gets no more time for it.
const LEAST_RATE_NS_PER_BYTE: u64 = 1_000_000_000 / (64 * 1024);

/// What moves so much more than twice what was expected has no end, and gets no time for its length.
const SURPLUS_BYTES: u64 = 1024 * 1024;

/// How long something may take: a fixed time, and more for what it moves, so that what is long and not slow comes to its
/// end.
pub(crate) struct Patience<'a> {
    pub(crate) timeout: Nanos,
    /// How many bytes count: an answer without end gets no endless time.
    pub(crate) counted_bytes_max: u64,
    /// Whether the first part of a body is all that is waited for: a stream need not end.
    pub(crate) is_stream: bool,
    /// Whether nobody wants to know any more.
    pub(crate) is_interrupted: &'a dyn Fn() -> bool,
}

/// Why something that was asked has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unanswered {
    /// The class of the failure.
    pub failure: Failure,
    /// What happened, in words that follow "GET / was not answered:".
    pub text: String,
}

/// The state of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Connecting,
    Handshaking,
    Open,
}

/// One connection that is made for one request.
pub(crate) struct Dialogue<'a, I, E> {
    io: I,
    exchange: E,
    patience: Patience<'a>,
    began: Nanos,
    now: Nanos,
    moved_bytes: u64,
    stage: Stage,
    scratch: Vec<u8>,
    /// Whether a part of a body was written that the connection has not taken yet.
    is_writing: bool,
}

impl<'a, I: Carries<E::Carrier>, E: HttpExchange> Dialogue<'a, I, E> {
    /// Connects, and returns when requests can begin.
    ///
    /// # Errors
    /// The connection cannot be opened.
    pub(crate) fn open(
        mut io: I,
        settings: &E::Settings,
        patience: Patience<'a>,
    ) -> Result<Self, Unanswered> {
        let began = io.wait(Nanos::ZERO);
        let mut dialogue = Self {
            io,
            exchange: E::new(1, settings),
            patience,
            began,
            now: began,
            moved_bytes: 0,
            stage: Stage::Connecting,
            scratch: Vec::new(),
            is_writing: false,
        };
        if let Err(failure) = dialogue.io.connect(SLOT) {
            return Err(dialogue.failed(failure, None));
        }
        while dialogue.stage != Stage::Open {
            dialogue.turn(None, &mut |_| ())?;
        }
        Ok(dialogue)
    }

    /// Asks, and hands out the parts of the answer's body as they come; gives the answer with what the server has said of it
    /// in words, where its protocol has a place for that.
    ///
    /// # Errors
    /// There is no answer, or not in time.
    pub(crate) fn ask(
        mut self,
        template: &Template<E>,
        take_body: &mut dyn FnMut(&[u8]),
    ) -> Result<(Response, Option<String>), Unanswered> {
        self.exchange.write_output(&mut self.scratch);
        self.exchange.begin(0, &template.request, None, &mut self.scratch);
        let body = template.body.as_deref();
        self.write(body)?;
        loop {
            if let Some(response) = self.turn(body, take_body)? {
                let said = self.exchange.said().map(Cow::into_owned);
                self.say_goodbye();
                return Ok((response, said));
            }
        }
    }

    /// Ends the connection as a client does that has nothing more to ask.
    pub(crate) fn say_goodbye(mut self) {
        self.scratch.clear();
        self.exchange.end(&mut self.scratch);
        if !self.scratch.is_empty() {
            // It is left either way.
            let _ = self.io.write(SLOT, &self.scratch, CutOf::<E>::default(), Notify::Never);
        }
        self.io.close(SLOT);
    }

    /// Waits for what happens next, and sees to it; gives the answer when it is complete.
    fn turn(
        &mut self,
        body: Option<&BodyFile>,
        take_body: &mut dyn FnMut(&[u8]),
    ) -> Result<Option<Response>, Unanswered> {
        let end = self.end();
        let wake_at = self.wake_at().unwrap_or(Nanos::NEVER);
        self.now = self.io.wait(end.min(self.now + LONGEST_WAIT).min(wake_at));
        self.exchange.advance(self.now.into());
        let mut timer = self.wake_at().filter(|wake_at| *wake_at <= self.now);
        loop {
            let (event, division) = match (self.io.next_divided(), timer) {
                (Some((_, event, division)), _) => (event, division),
                (None, Some(_)) => {
                    timer = None;
                    self.exchange.timed_out();
                    (Event::Received(&[]), CutOf::<E>::default())
                }
                (None, None) => break,
            };
            let outcome = match event {
                Event::Connected => {
                    self.stage = Stage::Handshaking;
                    self.exchange.open();
                    None
                }
                Event::Written => {
                    self.is_writing = false;
                    None
                }
                Event::ConnectFailed(failure) | Event::Broken(failure) => {
                    Some(Outcome::Failed(failure, None))
                }
                Event::Received(bytes) => {
                    let is_stream = self.patience.is_stream;
                    self.exchange.divided(division);
                    hear(&mut self.exchange, &mut self.moved_bytes, is_stream, bytes, take_body)
                }
                Event::Closed => Some(match self.exchange.end_of_input() {
                    Some(wire::Event::Answered(_, response)) => Outcome::Answered(response),
                    _ => Outcome::Failed(Failure::ClosedEarly, None),
                }),
            };
            match outcome {
                Some(Outcome::Answered(response)) => return Ok(Some(response)),
                Some(Outcome::Failed(failure, text)) => return Err(self.failed(failure, text)),
                None => {}
            }
        }
        if self.stage == Stage::Handshaking && self.exchange.readiness() != Readiness::Handshaking {
            self.stage = Stage::Open;
        }
        if self.now >= end || (self.patience.is_interrupted)() {
            let is_late_to_connect = self.stage == Stage::Connecting;
            let failure = if is_late_to_connect { Failure::ConnectTimeout } else { Failure::Timeout };
            return Err(self.failed(failure, None));
        }
        if self.stage != Stage::Connecting {
            self.write(body)?;
        }
        Ok(None)
    }

    /// When the protocol has something to do although nothing arrives.
    fn wake_at(&self) -> Option<Nanos> {
        self.exchange.wake_at().map(Nanos::from)
    }

    /// Writes what the protocol has to say and, where the connection has taken the last part of a body, the next one.
    fn write(&mut self, body: Option<&BodyFile>) -> Result<(), Unanswered> {
        if self.is_writing {
            return Ok(());
        }
        self.exchange.write_output(&mut self.scratch);
        let mut notify = Notify::Never;
        let mut read = |part: BodyPart, to: &mut Vec<u8>| {
            body.map_or(Ok(()), |body| body.append(part.offset, part.bytes, to).map(drop))
        };
        while self.exchange.can_write_body() {
            if self.scratch.len() >= PART_BYTES {
                notify = Notify::WhenWritten;
                self.is_writing = true;
                break;
            }
            let written = self.exchange.write_body(PART_BYTES, &mut read, &mut self.scratch);
            let written = written.map_err(|failure| self.failed(failure, None))?;
            self.moved_bytes += written.map_or(0, |body| body.bytes as u64);
        }
        let sent = self.hand_over(notify);
        self.scratch.clear();
        sent.map_err(|failure| self.failed(failure, None))
    }

    /// Hands over what was put together, in as many writes as the protocol makes of it.
    fn hand_over(&mut self, notify: Notify) -> Result<(), Failure> {
        loop {
            let cut = self.exchange.protect(&mut self.scratch);
            if self.scratch.is_empty() && notify == Notify::Never {
                return Ok(());
            }
            self.io.write(SLOT, &self.scratch, cut, notify)?;
            if !self.exchange.has_further_write() {
                return Ok(());
            }
            self.scratch.clear();
        }
    }

    /// The exchange, for what it has learnt of the server.
    #[cfg(feature = "tls")]
    pub(crate) fn exchange(&self) -> &E {
        &self.exchange
    }

    /// When patience ends.
    fn end(&self) -> Nanos {
        let counted_bytes_max = self.patience.counted_bytes_max;
        let is_without_end =
            self.moved_bytes > counted_bytes_max.saturating_mul(2).saturating_add(SURPLUS_BYTES);
        let counted_bytes = if is_without_end { 0 } else { self.moved_bytes.min(counted_bytes_max) };
        self.began + self.patience.timeout + Nanos(counted_bytes.saturating_mul(LEAST_RATE_NS_PER_BYTE))
    }

    fn failed(&self, failure: Failure, text: Option<String>) -> Unanswered {
        let complaint =
            self.exchange.complaint().map(|complaint| with_example(&complaint, self.exchange.example()));
        let text = text.or(complaint).unwrap_or_else(|| self.in_words(failure));
        Unanswered { failure, text }
    }

    /// What a failure means about which nobody has said more.
    fn in_words(&self, failure: Failure) -> String {
        let allowed_s = (self.end() - self.began).as_secs_f64();
        let is_open = self.stage == Stage::Open;
        match failure {
            Failure::ConnectRefused => "the connection was refused, or the address cannot be reached".into(),
            Failure::ConnectTimeout => format!("no connection within {allowed_s:.3} s"),
            Failure::Timeout if is_open => format!("no complete answer within {allowed_s:.3} s"),
            Failure::Timeout => format!("the handshake did not complete within {allowed_s:.3} s"),
            Failure::Reset if is_open => {
                "the server reset the connection before its answer was complete".into()
            }
            Failure::Reset => "the server reset the connection before the handshake was complete".into(),
            Failure::ClosedEarly if is_open => {
                "the server closed the connection before its answer was complete".into()
            }
            Failure::ClosedEarly => {
                "the server closed the connection before the handshake was complete".into()
            }
            Failure::FileUnavailable => "the file of the body has changed, or can no longer be read".into(),
            Failure::FdUnavailable => "no file descriptor is free: the limit of open files is reached".into(),
            Failure::AddressUnavailable => "no local port is free for the connection".into(),
            other => format!("the request failed ({})", other.code()),
        }
    }
}

/// What became of a request.
enum Outcome {
    Answered(Response),
    /// With what is known beside the class.
    Failed(Failure, Option<String>),
}

/// Reads bytes that arrived, up to the end of the request; of a stream, up to what has begun of its answer.
fn hear<E: HttpExchange>(
    exchange: &mut E,
    moved_bytes: &mut u64,
    is_stream: bool,
    bytes: &[u8],
    take_body: &mut dyn FnMut(&[u8]),
) -> Option<Outcome> {
    let mut begun = None;
    let ended = read(exchange, bytes, &mut |status, part| {
        *moved_bytes += part.len() as u64;
        begun = Some(status).filter(|_| is_stream);
        take_body(part);
    });
    ended.or_else(|| begun.map(|status| Outcome::Answered(unfinished(status, *moved_bytes))))
}

/// Reads bytes that arrived, up to the end of the request.
fn read<E: HttpExchange>(
    exchange: &mut E,
    mut bytes: &[u8],
    take_body: &mut dyn FnMut(u16, &[u8]),
) -> Option<Outcome> {
    loop {
        let Received { consumed, event } =
            match exchange.receive_with(bytes, &mut |_, status, part| take_body(status, part)) {
                Ok(received) => received,
                Err(Malformed::Protection) => return Some(Outcome::Failed(Failure::TlsFailed, None)),
                Err(malformed) => {
                    let text = with_example(&malformed.to_string(), exchange.example());
                    return Some(Outcome::Failed(refused(malformed), Some(text)));
                }
            };
        bytes = &bytes[consumed..];
        match event {
            Some(wire::Event::Answered(_, response)) => return Some(Outcome::Answered(response)),
            Some(event @ (wire::Event::Refused(..) | wire::Event::Moved(_) | wire::Event::Dropped(_))) => {
                return Some(Outcome::Failed(
                    failure_of::<RequestSource<E>>(&event),
                    refusal_in_words(event, exchange.said().as_deref()),
                ));
            }
            Some(wire::Event::Begun(_)) | None => {}
        }
        if exchange.readiness() == Readiness::Closed {
            return Some(Outcome::Failed(closed(exchange.ended_by()), None));
        }
        if bytes.is_empty() && !exchange.has_input() {
            return None;
        }
    }
}

/// What is known of an answer of which this many bytes of its body have come, and which continues.
fn unfinished(status: u16, body_bytes: u64) -> Response {
    Response {
        status,
        header_bytes: 0,
        body_bytes,
        framing_bytes: 0,
        inflated_bytes: None,
        keep_alive: false,
        grpc_status: None,
    }
}

/// What is wrong, with a part of what it is about where there is one.
fn with_example(text: &str, example: Option<&str>) -> String {
    let example = example.map(|example| format!(": \"{example}\"")).unwrap_or_default();
    format!("{text}{example}")
}

/// Why a request alone has failed, with what the server has said of it; `None` where the exchange says it.
fn refusal_in_words(event: wire::Event, said: Option<&str>) -> Option<String> {
    Some(match event {
        wire::Event::Refused(_, Refusal::Ended(status)) => {
            let status = status.map_or("no status", GrpcStatus::name);
            let said = said.map(|said| format!(": \"{said}\"")).unwrap_or_default();
            format!("the server ended the call with {status}{said}")
        }
        wire::Event::Refused(_, Refusal::Closed(_)) => return None,
        wire::Event::Refused(_, Refusal::Malformed(malformed)) => malformed.to_string(),
        wire::Event::Refused(
            _,
            Refusal::Reset(ErrorCode::Http11Required) | Refusal::ResetHttp3(Http3Code::VERSION_FALLBACK),
        ) => "the server requires HTTP/1.1 for this request".into(),
        wire::Event::Refused(_, Refusal::Reset(code)) => {
            format!("the server ended the stream with the error {code:?}")
        }
        wire::Event::Refused(_, Refusal::ResetHttp3(code)) => reset_in_words(code),
        _ => "the server closed the connection without processing the request".into(),
    })
}

#[cfg(test)]
#[path = "dialogue_tests.rs"]
mod tests;
