//! HTTP/3 on one connection (RFC 9114), as a server that answers from memory, on the streams of any QUIC.
//!
//! The owner hands on what comes on streams, in any split of the bytes, and a [`Sink`] takes what is answered. A request that is
//! whole leaves no trace but for its answer, as far as the sink has no room for that or its time is to come. A field section that
//! equals the last one is not read again. No dynamic table is offered, so that no request waits for one.
//!
//! What a client can make a connection keep is bounded: a field section by [`HEADER_BYTES_MAX`] for each request under way, whose
//! number QUIC bounds, an answer by a reference to its body. Data is counted and skipped.

mod answer;
mod hearing;
mod request;

use std::time::Duration;

use bytes::Bytes;
use loadcurve_wire::h3::{Http3Settings, Incoming, IncomingStreams, integer};
use loadcurve_wire::{Http3Code, Http3Error};

use crate::reply::Ending;
use crate::service::{Repeats, Service};

use answer::Answer;
use hearing::Hearing;
use request::{HeadReader, Request, Taken};

/// The longest field section, before its compression is undone.
pub const HEADER_BYTES_MAX: usize = 16 * 1024;
/// The settings that a client receives: no dynamic table, so that nothing waits for one.
const SETTINGS: Http3Settings =
    Http3Settings { header_bytes: HEADER_BYTES_MAX, table_bytes: 0, blocked_streams: 0, calls: None };

/// The streams of requests, as they take answers.
pub trait Sink {
    /// Takes bytes for a stream as far as it has room: what is taken is in the chunks no longer.
    fn write(&mut self, stream: u64, chunks: &mut [Bytes]);

    /// A stream ends behind what was written.
    fn finish(&mut self, stream: u64);

    /// A stream is given up in both directions, with this code; no more of it is handed on.
    fn give_up(&mut self, stream: u64, code: Http3Code);
}

/// An answer that is not all with the sink.
#[derive(Debug)]
struct UnderWay {
    stream: u64,
    /// When it may be sent, where that is to come.
    due: Option<Duration>,
    answer: Answer,
    /// Of a stream of events: what follows the answer, which is its head or an event.
    events: Option<Repeats>,
}

/// One connection's end of HTTP/3.
#[derive(Debug)]
pub struct Connection {
    incoming: IncomingStreams,
    hearing: Hearing,
    heads: HeadReader,
    requests: Vec<Request>,
    answers: Vec<UnderWay>,
    /// What is to be written on the control stream.
    control: Vec<u8>,
    /// The newest stream on which a request has come.
    newest: Option<u64>,
    /// The last stream that is answered, once that is decided.
    last_answered: Option<u64>,
}

impl Default for Connection {
    fn default() -> Self {
        let mut control = Vec::new();
        SETTINGS.write_control_stream(&mut control);
        Self {
            incoming: IncomingStreams::default(),
            hearing: Hearing::default(),
            heads: HeadReader::default(),
            requests: Vec::new(),
            answers: Vec::new(),
            control,
            newest: None,
            last_answered: None,
        }
    }
}

impl Connection {
    /// What is to be written on this side's control stream, a unidirectional one: the owner takes it away.
    pub fn control_output(&mut self) -> &mut Vec<u8> {
        &mut self.control
    }

    /// Takes bytes of a request's stream, and answers the request when all of it is there; `is_end` says that the stream ends behind
    /// them.
    ///
    /// # Errors
    /// The client breaks the protocol. The connection is of no more use, and ends with [`Http3Error::code`].
    pub fn receive(
        &mut self,
        stream: u64,
        bytes: &[u8],
        is_end: bool,
        service: &mut impl Service,
        sink: &mut impl Sink,
    ) -> Result<(), Http3Error> {
        let place = self.requests.iter().position(|request| request.stream == stream);
        if place.is_none() {
            if self.last_answered.is_some_and(|last| stream > last) {
                sink.give_up(stream, Http3Code::REQUEST_REJECTED);
                return Ok(());
            }
            self.newest = self.newest.max(Some(stream));
            if is_end && let Some(section) = request::only_section(bytes) {
                match self.heads.read(section, &mut self.hearing.decoder, stream, service)? {
                    Ok(()) if self.heads.last_content_length.is_none_or(|length| length == 0) => {
                        let answer = self.heads.last.clone();
                        self.answer(stream, answer, service, sink);
                    }
                    _ => sink.give_up(stream, Http3Code::MESSAGE_ERROR),
                }
                return Ok(());
            }
        }
        let mut request = match place {
            Some(place) => self.requests.swap_remove(place),
            None => Request::new(stream),
        };
        match request.receive(bytes, is_end, &mut self.heads, &mut self.hearing, service)? {
            Taken::Continues => self.requests.push(request),
            Taken::Whole(answer) => self.answer(stream, answer, service, sink),
            Taken::Refused(code) => sink.give_up(stream, code),
        }
        Ok(())
    }

    /// Takes bytes of a unidirectional stream that the client has opened, as [`receive`](Self::receive) does.
    ///
    /// # Errors
    /// As for [`receive`](Self::receive).
    pub fn receive_incoming(
        &mut self,
        stream: u64,
        bytes: &[u8],
        is_end: bool,
    ) -> Result<Incoming, Http3Error> {
        self.incoming.receive(stream, bytes, is_end, &mut self.hearing)
    }

    /// The client has reset a unidirectional stream.
    ///
    /// # Errors
    /// It is one that may not be closed.
    pub fn incoming_reset(&mut self, stream: u64) -> Result<(), Http3Error> {
        self.incoming.was_reset(stream)
    }

    /// The client sends no more of a request, or wants no answer: nothing is left of it.
    pub fn forget(&mut self, stream: u64) {
        self.requests.retain(|request| request.stream != stream);
        self.answers.retain(|answer| answer.stream != stream);
    }

    fn answer(&mut self, stream: u64, answer: Answer, service: &mut impl Service, sink: &mut impl Sink) {
        self.hearing.unproductive = 0;
        let fate = service.fate();
        if let Some(last) = fate.last {
            self.last_answered.get_or_insert(stream);
            if last.is_announced {
                self.go_away();
            }
        }
        let answer = answer.with_outcome(fate.outcome);
        let events = fate.events.filter(|_| answer.reply.is_file());
        let answer = if events.is_some() { Answer::head_of_events(answer.reply) } else { answer };
        let mut under_way = UnderWay { stream, due: fate.due, answer, events };
        if fate.due.is_some() || !under_way.send(sink) {
            self.answers.push(under_way);
        }
    }

    /// A stream has room again.
    pub fn go_on(&mut self, stream: u64, sink: &mut impl Sink) {
        let Some(place) = self.answers.iter().position(|one| one.stream == stream) else { return };
        let answer = &mut self.answers[place];
        if answer.due.is_none() && answer.send(sink) {
            self.answers.swap_remove(place);
        }
    }

    /// Lets the answers go whose time has come.
    pub fn release(&mut self, now: Duration, sink: &mut impl Sink) {
        self.answers.retain_mut(|answer| {
            if answer.due.is_none_or(|due| due > now) {
                return true;
            }
            answer.due = None;
            !answer.send(sink)
        });
    }

    /// When the next answer may be sent of those whose time is to come.
    #[must_use]
    pub fn next_due(&self) -> Option<Duration> {
        self.answers.iter().filter_map(|answer| answer.due).min()
    }

    /// Announces that no further request is answered.
    pub fn go_away(&mut self) {
        let last = *self.last_answered.get_or_insert(self.newest.unwrap_or(0));
        // The first stream that is not answered; a connection without a request answers none.
        let first = if self.newest.is_some() { last + 4 } else { 0 };
        let mut payload = Vec::new();
        integer::write(first, &mut payload);
        loadcurve_wire::h3::frame::write(
            loadcurve_wire::h3::frame::kind::GOAWAY,
            &payload,
            &mut self.control,
        );
    }

    /// Whether nothing is under way.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.requests.is_empty() && self.answers.is_empty()
    }

    /// Whether nothing will be answered any more.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.last_answered.is_some() && self.is_idle()
    }
}

impl UnderWay {
    /// Sends what the sink takes; says whether that was the last of it.
    fn send(&mut self, sink: &mut impl Sink) -> bool {
        let Answer { chunks, reply } = &mut self.answer;
        if reply.ending != Ending::Reset {
            sink.write(self.stream, chunks);
            if chunks.iter().any(|chunk| !chunk.is_empty()) {
                return false;
            }
        }
        if let Some(events) = self.events {
            // The next one goes when its time has come, and the stream ends with the last one.
            self.due = Some(events.next);
            self.answer = Answer::event(reply.clone());
            self.events = events.after_next();
            return false;
        }
        match reply.ending {
            Ending::Whole => sink.finish(self.stream),
            Ending::Truncated | Ending::Reset => sink.give_up(self.stream, Http3Code::INTERNAL_ERROR),
        }
        true
    }
}
