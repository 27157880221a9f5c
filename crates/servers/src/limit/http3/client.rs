//! One client of HTTP/3.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use loadcurve_quic::connection::{Connection, Direction, Event, ReadTo, Then};
use loadcurve_servers::http3::{self, Sink};
use loadcurve_wire::h3::Incoming;
use loadcurve_wire::{Http3Code, Http3Error};

use super::super::http2::{Replies, Streams};
use super::super::script::{Played, Script};

/// Streams that never end, so that the peer may always lack something of them: the control stream.
const ENDLESS_STREAMS: usize = 1;

/// What a client is served with.
pub(super) struct Turn<'a> {
    pub(super) now: Duration,
    pub(super) replies: Replies<'a>,
    pub(super) script: Option<&'a mut Script>,
}

pub(super) struct Client {
    pub(super) quic: Connection,
    http3: http3::Connection,
    /// This side's control stream, once it is open.
    control: Option<u64>,
    pub(super) is_heard: bool,
    /// The earliest moment at which somebody looks after it.
    pub(super) wake_at: Option<Duration>,
    is_closed: bool,
    /// Used by scripts alone, as is what follows: how many answers the connection was given.
    answers: u64,
    /// When the client was last heard or answered.
    last_active: Duration,
    idle_timeout: Option<Duration>,
    /// Memory that is only to be in use as long as the connection is.
    _ballast: Vec<u8>,
    chunks: VecDeque<Bytes>,
}

/// The streams as QUIC takes what is written on them.
struct Written<'a>(&'a mut Connection);

impl Sink for Written<'_> {
    #[inline]
    fn write(&mut self, stream: u64, chunks: &mut [Bytes]) {
        self.0.write_pieces(stream, chunks);
    }

    #[inline]
    fn finish(&mut self, stream: u64) {
        self.0.finish(stream);
    }

    fn give_up(&mut self, stream: u64, code: Http3Code) {
        self.0.abandon(stream, code.0);
    }
}

impl Client {
    pub(super) fn new(quic: Connection, now: Duration, ballast_bytes: usize) -> Self {
        Self {
            quic,
            http3: http3::Connection::default(),
            control: None,
            is_heard: false,
            wake_at: None,
            is_closed: false,
            answers: 0,
            last_active: now,
            idle_timeout: None,
            // Any number but 0 has each page written, so that it is in use.
            _ballast: vec![1; ballast_bytes],
            chunks: VecDeque::new(),
        }
    }

    /// Does what has become possible; what is to be sent is then with QUIC.
    pub(super) fn serve(&mut self, turn: &mut Turn<'_>) {
        while let Some(event) = self.quic.event() {
            if let Err(error) = self.happened(&event, turn) {
                self.close(turn.now, error.code());
            }
        }
        if self.is_closed {
            return;
        }
        if let Some(script) = &turn.script {
            self.idle_timeout = script.faults().idle_timeout;
            if self.http3.next_due().is_some_and(|due| due <= turn.now) {
                self.last_active = turn.now;
                self.http3.release(turn.now, &mut Written(&mut self.quic));
            }
            let is_silent = self.silent_at().is_some_and(|at| at <= turn.now) && self.http3.is_idle();
            if is_silent {
                self.http3.go_away();
            }
        }
        self.write_control();
        if self.http3.is_over() && self.quic.streams_unacknowledged() <= ENDLESS_STREAMS {
            self.close(turn.now, Http3Code::NO_ERROR);
        }
    }

    fn silent_at(&self) -> Option<Duration> {
        Some(self.last_active.saturating_add(self.idle_timeout?))
    }

    /// When to look after it although nothing has come.
    pub(super) fn next_wake(&mut self) -> Duration {
        let silent_at = self.silent_at().filter(|_| !self.is_closed && self.http3.is_idle());
        let wakes = [self.quic.deadline(), self.http3.next_due(), silent_at];
        wakes.into_iter().flatten().min().unwrap_or(Duration::MAX)
    }

    fn close(&mut self, now: Duration, code: Http3Code) {
        if !std::mem::replace(&mut self.is_closed, true) {
            self.quic.close(now, code.0);
        }
    }

    fn happened(&mut self, event: &Event, turn: &mut Turn<'_>) -> Result<(), Http3Error> {
        match *event {
            Event::Connected => {
                self.control = self.quic.open(Direction::Out);
                self.write_control();
            }
            // One that the client has opened, both ways.
            Event::Readable(stream) if stream.is_multiple_of(4) => return self.request(stream, turn),
            Event::Readable(stream) => return self.incoming(stream),
            Event::Writable(stream) if self.control == Some(stream) => self.write_control(),
            Event::Writable(stream) => self.http3.go_on(stream, &mut Written(&mut self.quic)),
            Event::Stopped(stream) => {
                self.http3.forget(stream);
                self.quic.abandon(stream, Http3Code::REQUEST_CANCELLED.0);
            }
            Event::Available => {}
            Event::Lost(_) => {
                self.is_closed = true;
                self.http3 = http3::Connection::default();
            }
        }
        Ok(())
    }

    fn write_control(&mut self) {
        let Some(control) = self.control else { return };
        let output = self.http3.control_output();
        if !output.is_empty() {
            let taken = self.quic.write(control, output, Then::More);
            output.drain(..taken);
        }
    }

    fn request(&mut self, stream: u64, turn: &mut Turn<'_>) -> Result<(), Http3Error> {
        if turn.script.is_some() {
            self.last_active = turn.now;
        }
        let read_to = self.quic.read(stream, &mut self.chunks);
        if let ReadTo::Reset(_) = read_to {
            self.chunks.clear();
            self.http3.forget(stream);
            self.quic.abandon(stream, Http3Code::REQUEST_CANCELLED.0);
            return Ok(());
        }
        let played =
            turn.script.as_mut().map(|script| Played { script, answers: &mut self.answers, came: turn.now });
        let mut service = Streams { replies: turn.replies, played };
        let is_end = read_to == ReadTo::End;
        loop {
            let chunk = self.chunks.pop_front().unwrap_or_default();
            let is_last = self.chunks.is_empty();
            if !chunk.is_empty() || (is_end && is_last) {
                let sink = &mut Written(&mut self.quic);
                let taken = self.http3.receive(stream, &chunk, is_end && is_last, &mut service, sink);
                if taken.is_err() {
                    self.chunks.clear();
                    return taken;
                }
            }
            if is_last {
                return Ok(());
            }
        }
    }

    fn incoming(&mut self, stream: u64) -> Result<(), Http3Error> {
        let mut chunks = VecDeque::new();
        let read_to = self.quic.read(stream, &mut chunks);
        if let ReadTo::Reset(_) = read_to {
            return self.http3.incoming_reset(stream);
        }
        loop {
            let chunk = chunks.pop_front().unwrap_or_default();
            let is_last = chunks.is_empty();
            let is_end = is_last && read_to == ReadTo::End;
            if self.http3.receive_incoming(stream, &chunk, is_end)? == Incoming::Unwanted {
                self.quic.abandon(stream, Http3Code::STREAM_CREATION_ERROR.0);
                return Ok(());
            }
            if is_last {
                return Ok(());
            }
        }
    }
}
