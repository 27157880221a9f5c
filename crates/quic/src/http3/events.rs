//! What happens on a connection, as what happens to its requests.

use std::collections::VecDeque;

use bytes::Bytes;
use loadcurve_tls::alert_in_words;
use loadcurve_wire::{self as wire, Event, Http3Code, Malformed, QuicCode, Tag};

use super::Http3;
use crate::connection::{Connection, Direction, Event as QuicEvent, Lost, ReadTo, Then};

impl Http3 {
    /// The next thing that has happened to a request.
    pub(super) fn next_event(
        &mut self,
        take_body: &mut impl FnMut(Tag, u16, &[u8]),
    ) -> Result<Option<Event>, Malformed> {
        loop {
            if let Some(event) = self.read_on(take_body)? {
                return Ok(Some(event));
            }
            if let Some(tag) = self.http3.next_unblocked()
                && let Some(connection) = &mut self.connection
            {
                self.answers.go_on(tag, connection);
                continue;
            }
            if self.http3.is_leaving()
                && let Some((tag, stream)) = self.moved()
            {
                self.ended(tag, stream, Some(Http3Code::REQUEST_CANCELLED));
                self.counts.rejected();
                return Ok(Some(Event::Moved(tag)));
            }
            let Some(event) = self.connection.as_mut().and_then(Connection::event) else { return Ok(None) };
            self.happened(event)?;
        }
    }

    /// A request that the server has not looked at, and says so.
    fn moved(&mut self) -> Option<(Tag, u64)> {
        let tag = self.http3.next_moved()?;
        Some((tag, self.uploads.stream(tag)))
    }

    /// Reads on in the stream that is being read.
    fn read_on(&mut self, take_body: &mut impl FnMut(Tag, u16, &[u8])) -> Result<Option<Event>, Malformed> {
        let Some(tag) = self.answers.tag() else { return Ok(None) };
        let event = self.answers.read(&mut self.http3, &mut |status, part| take_body(tag, status, part))?;
        match event {
            None | Some(Event::Begun(_)) => {}
            Some(Event::Refused(tag, wire::Refusal::Malformed(malformed))) => {
                let code = malformed.http3_code();
                self.ended(tag, self.uploads.stream(tag), Some(code));
            }
            Some(event) => {
                if matches!(event, Event::Moved(_)) {
                    self.counts.rejected();
                }
                let tag = event.tag();
                let unwanted = self.uploads.is_under_way(tag).then_some(Http3Code::REQUEST_CANCELLED);
                self.ended(tag, self.uploads.stream(tag), unwanted);
            }
        }
        Ok(event)
    }

    /// A request is over; what is left of its stream is given up with this code.
    pub(super) fn ended(&mut self, tag: Tag, stream: u64, code: Option<Http3Code>) {
        self.under_way -= 1;
        self.uploads.end(tag);
        self.answers.end(tag);
        if self.early.forget(tag) && self.look.is_some() {
            // It has waited for a stream on which it would be sent again.
            return;
        }
        self.tags.remove(stream / 4);
        if let (Some(code), Some(connection)) = (code, &mut self.connection) {
            connection.abandon(stream, code.0);
        }
    }

    fn happened(&mut self, event: QuicEvent) -> Result<(), Malformed> {
        let Some(connection) = &mut self.connection else { return Ok(()) };
        match event {
            QuicEvent::Connected => self.connected(),
            QuicEvent::Available => self.send_again(),
            QuicEvent::Writable(stream) => {
                self.uploads.go_on(connection, stream, self.tags.get(stream / 4));
                self.may_transmit = true;
            }
            // One that the client has opened, both ways.
            QuicEvent::Readable(stream) if stream.is_multiple_of(4) => {
                if let Some(tag) = self.tags.get(stream / 4) {
                    self.answers.begin(tag, stream, connection);
                }
            }
            QuicEvent::Readable(stream) => self.incoming(stream)?,
            // What is written on goes nowhere, and the answer says the rest.
            QuicEvent::Stopped(_) => {}
            QuicEvent::Lost(lost) => return self.was_lost(lost),
        }
        Ok(())
    }

    fn connected(&mut self) {
        let Some(connection) = &mut self.connection else { return };
        let outcome = connection.outcome();
        if let Some(outcome) = &outcome {
            self.counts.connected(self.now, connection, outcome, self.early.was_sent());
        }
        self.look = outcome.and_then(|outcome| outcome.look);
        if connection.early() == Some(true) {
            self.early.were_taken();
            self.send_again();
        } else {
            // What streams there were is forgotten with all that they carried.
            self.tags.clear();
            self.uploads.clear();
            self.open_streams();
        }
        self.may_transmit = true;
    }

    /// Opens the control stream, and streams for requests.
    pub(super) fn open_streams(&mut self) {
        let Some(connection) = &mut self.connection else { return };
        if let Some(stream) = connection.open(Direction::Out) {
            let mut output = Vec::new();
            self.http3.write_control_stream(&mut output);
            self.uploads.write_own(connection, stream, &output);
        }
        self.next_stream = None;
        self.send_again();
    }

    /// Gives the requests that the server has not taken early further streams, as far as it allows some, and then the next one.
    fn send_again(&mut self) {
        let Some(connection) = &mut self.connection else { return };
        while self.next_stream.is_none() {
            let Some(stream) = connection.open(Direction::Both) else { return };
            let Some((tag, bytes)) = self.early.next() else {
                self.next_stream = Some(stream);
                return;
            };
            let taken = connection.write(stream, &bytes, Then::End);
            self.uploads.begin(tag, stream, 0, &bytes[taken..]);
            self.tags.insert(stream / 4, tag);
            self.http3.begin_again(tag, stream);
        }
    }

    /// Something has come on a stream that the server has opened.
    fn incoming(&mut self, stream: u64) -> Result<(), Malformed> {
        let Some(connection) = &mut self.connection else { return Ok(()) };
        let mut chunks: VecDeque<Bytes> = VecDeque::new();
        let read_to = connection.read(stream, &mut chunks);
        if let ReadTo::Reset(_) = read_to {
            return self.http3.incoming_reset(stream);
        }
        let is_end = read_to == ReadTo::End;
        loop {
            let chunk = chunks.pop_front().unwrap_or_default();
            let is_last = chunks.is_empty();
            let wanted = self.http3.receive_incoming(stream, &chunk, is_end && is_last)?;
            if wanted == wire::h3::Incoming::Unwanted {
                connection.abandon(stream, Http3Code::STREAM_CREATION_ERROR.0);
                return Ok(());
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// There is no connection any more; that is an error of the protection where TLS has ended it.
    fn was_lost(&mut self, lost: Lost) -> Result<(), Malformed> {
        let own =
            self.connection.as_ref().and_then(Connection::outcome).and_then(|outcome| outcome.complaint);
        let is_of_tls = match &lost {
            Lost::Transport(code, _) | Lost::Broken(code, _) => QuicCode(*code).is_alert(),
            _ => false,
        };
        self.complaint = Some(match (&lost, own) {
            (_, Some(own)) => self.settings.client.with_refused(&own),
            (Lost::Transport(code, _), None) if is_of_tls => alert_in_words(*code).unwrap_or_default(),
            (lost, None) => in_words(lost),
        });
        self.counts.lost(&lost);
        self.lost = Some(lost);
        if is_of_tls { Err(Malformed::Protection) } else { Ok(()) }
    }
}

/// Why there is no connection any more, as a sentence's part.
fn in_words(lost: &Lost) -> String {
    let said = |text: &str| {
        let text: String = text.chars().filter(|one| !one.is_control()).take(120).collect();
        if text.is_empty() { String::new() } else { format!(" (\"{text}\")") }
    };
    match lost {
        Lost::Application(code, text) => {
            format!("the server ended the connection with {}{}", Http3Code(*code), said(text))
        }
        Lost::Transport(code, text) => {
            format!("the server ended the connection with QUIC's {}{}", QuicCode(*code), said(text))
        }
        Lost::Broken(code, text) => {
            format!("the server broke the rules of QUIC: {}{}", QuicCode(*code), said(text))
        }
        Lost::Reset => "the server no longer knew the connection (stateless reset)".into(),
        Lost::Idle => "nothing came from the server until the idle timeout of QUIC".into(),
        Lost::Version => "the server does not speak version 1 of QUIC".into(),
        Lost::Closed => "the connection was closed".into(),
    }
}
