//! Any exchange over TLS.

use std::borrow::Cow;
use std::sync::Arc;

use loadcurve_wire::{
    Agreement, BodyPart, CompressionCounts, Event, Exchange, Http2Counts, HttpExchange, InvalidRequest,
    Malformed, Moment, Readiness, Received, Request, Stream, Tag, WrittenBody,
};
use rustls::Error;

use crate::client::Client;
use crate::failure;
use crate::session::Session;

/// TLS 1.2, the last version with renegotiation, as IANA numbers it.
const TLS12: u16 = 0x0303;

/// What the exchanges of one thread share.
#[derive(Debug)]
pub struct Settings<S> {
    /// What is asked for in handshakes.
    pub client: Arc<Client>,
    /// Those of the protocol above.
    pub inner: S,
}

// The client is shared, so the protocol's settings alone must be copied.
impl<S: Clone> Clone for Settings<S> {
    fn clone(&self) -> Self {
        Self { client: Arc::clone(&self.client), inner: self.inner.clone() }
    }
}

/// A protocol over TLS. Its requests wait for the end of the handshake.
pub struct Tls<E> {
    client: Arc<Client>,
    /// None before the first connection, and where one could not be begun.
    session: Option<Session>,
    inner: E,
    agreement: Option<Agreement>,
    /// Whether the protocol knows that the peer sends no more.
    is_over: bool,
    complaint: Option<String>,
}

impl<E: Exchange<Carrier = Stream>> Exchange for Tls<E> {
    type Template = E::Template;
    type Carrier = Stream;
    type Answer = E::Answer;
    type Settings = Settings<E::Settings>;

    const FANS_OUT: bool = E::FANS_OUT;

    fn new(most: usize, settings: &Self::Settings) -> Self {
        Self {
            client: Arc::clone(&settings.client),
            session: None,
            inner: E::new(most, &settings.inner),
            agreement: None,
            is_over: false,
            complaint: None,
        }
    }

    fn open(&mut self) {
        self.agreement = None;
        self.is_over = false;
        self.complaint = None;
        let begun = Session::new(self.client.next_config(), self.client.server_name.clone());
        self.session = begun.map_err(|error| self.complaint = Some(error.to_string())).ok();
        self.inner.open();
    }

    fn readiness(&self) -> Readiness {
        match (&self.session, self.agreement) {
            (None, _) => Readiness::Closed,
            (Some(_), None) => Readiness::Handshaking,
            (Some(_), Some(_)) => self.inner.readiness(),
        }
    }

    fn advance(&mut self, now: Moment) {
        self.inner.advance(now);
    }

    fn wake_at(&self) -> Option<Moment> {
        self.inner.wake_at()
    }

    fn timed_out(&mut self) {
        self.inner.timed_out();
    }

    fn agreement(&self) -> Option<Agreement> {
        self.agreement
    }

    fn complaint(&self) -> Option<Cow<'_, str>> {
        self.complaint.as_deref().map(Cow::Borrowed).or_else(|| self.inner.complaint())
    }

    fn example(&self) -> Option<&str> {
        self.inner.example()
    }

    fn said(&self) -> Option<Cow<'_, str>> {
        self.inner.said()
    }

    fn ended_with(&self) -> Option<u16> {
        self.inner.ended_with()
    }

    fn limit(&self) -> Option<usize> {
        self.inner.limit()
    }

    fn has_output(&self) -> bool {
        self.session.as_ref().is_some_and(Session::has_output)
            || (self.agreement.is_some() && self.inner.has_output())
    }

    fn write_output(&mut self, to: &mut Vec<u8>) {
        if self.agreement.is_some() {
            self.inner.write_output(to);
        }
    }

    fn begin(&mut self, tag: Tag, template: &Self::Template, target: Option<&[u8]>, to: &mut Vec<u8>) {
        self.inner.begin(tag, template, target, to);
    }

    fn holds_requests_back(&self) -> bool {
        self.inner.holds_requests_back()
    }

    fn can_write_body(&self) -> bool {
        self.inner.can_write_body()
    }

    fn is_writing_body(&self, tag: Tag) -> bool {
        self.inner.is_writing_body(tag)
    }

    fn write_body<F>(
        &mut self,
        most_bytes: usize,
        read: &mut impl FnMut(BodyPart, &mut Vec<u8>) -> Result<(), F>,
        to: &mut Vec<u8>,
    ) -> Result<Option<WrittenBody>, F> {
        self.inner.write_body(most_bytes, read, to)
    }

    fn protect(&mut self, bytes: &mut Vec<u8>) {
        if let Some(session) = &mut self.session {
            session.protect(bytes);
        }
    }

    fn receive_with(
        &mut self,
        bytes: &[u8],
        take_body: &mut impl FnMut(Tag, u16, &[u8]),
    ) -> Result<Received<E::Answer>, Malformed> {
        if bytes.is_empty() && self.inner.has_input() {
            return self.inner.receive_with(bytes, take_body);
        }
        let Some(session) = &mut self.session else { return Err(Malformed::Protection) };
        let mut consumed = 0;
        if !session.has_arrived() && !bytes.is_empty() {
            consumed = match session.receive(bytes) {
                Ok(consumed) => consumed,
                Err(error) => return Err(self.refuse(&error)),
            };
            self.note_agreement()?;
        }
        let Some(session) = &mut self.session else { return Err(Malformed::Protection) };
        while session.has_arrived() {
            let inner = &mut self.inner;
            let received = session.take(|plain| match inner.receive_with(plain, take_body) {
                Ok(received) => (received.consumed, Ok(received)),
                Err(malformed) => (0, Err(malformed)),
            })?;
            debug_assert!(
                received.event.is_some() || received.consumed > 0,
                "nothing is taken of what arrived"
            );
            if received.event.is_some() {
                return Ok(Received { consumed, event: received.event });
            }
        }
        // The peer has said that this is the end, and may wait for us to close the connection.
        let event = if self.ends_now() { self.end() } else { None };
        Ok(Received { consumed, event })
    }

    fn has_input(&self) -> bool {
        self.session.as_ref().is_some_and(Session::has_arrived) || self.ends_now() || self.inner.has_input()
    }

    /// Without the peer's word that it has ended the connection, an answer that ends with it may have been cut off (RFC
    /// 8446, section 6.1).
    fn end_of_input(&mut self) -> Option<Event<E::Answer>> {
        if self.ends_now() { self.end() } else { None }
    }

    fn end(&mut self, to: &mut Vec<u8>) {
        let Some(session) = &mut self.session else { return };
        let (mut last, mut notice) = (Vec::new(), Vec::new());
        if self.agreement.is_some() {
            self.inner.end(&mut last);
            session.protect(&mut last);
        }
        session.end(&mut notice);
        to.extend([last, notice].concat());
    }

    fn cancel(&mut self, tag: Tag) -> bool {
        self.inner.cancel(tag)
    }
}

impl<E: HttpExchange<Carrier = Stream>> HttpExchange for Tls<E> {
    fn template(request: &Request<'_>) -> Result<Self::Template, InvalidRequest> {
        E::template(request)
    }

    fn reopen(
        &mut self,
        tag: Tag,
        template: &Self::Template,
        target: Option<&[u8]>,
        last_id: &[u8],
        to: &mut Vec<u8>,
    ) {
        self.inner.reopen(tag, template, target, last_id, to);
    }

    fn first_location(&self) -> Option<&[u8]> {
        self.inner.first_location()
    }

    fn take_counts(&mut self) -> Option<Http2Counts> {
        self.inner.take_counts()
    }

    fn take_compression_counts(&mut self) -> Vec<CompressionCounts> {
        self.inner.take_compression_counts()
    }
}

impl<E: Exchange<Carrier = Stream>> Tls<E> {
    /// Whether the peer has ended the connection, which the protocol does not know yet.
    fn ends_now(&self) -> bool {
        !self.is_over && self.session.as_ref().is_some_and(Session::has_ended)
    }

    /// Gives the next event that the end brings; the protocol knows of it when there is no more.
    fn end(&mut self) -> Option<Event<E::Answer>> {
        let event = self.inner.end_of_input();
        self.is_over = event.is_none();
        event
    }

    /// Notes what was agreed on when the handshake is over, and refuses what was not asked for.
    fn note_agreement(&mut self) -> Result<(), Malformed> {
        let Some(session) = self.session.as_ref().filter(|_| self.agreement.is_none()) else { return Ok(()) };
        let Some(agreement) = session.agreement() else { return Ok(()) };
        if let Err(text) = failure::require_protocol(self.client.required_protocol, session.protocol()) {
            self.complaint = Some(text);
            return Err(Malformed::Protection);
        }
        self.agreement = Some(agreement);
        Ok(())
    }

    fn refuse(&mut self, error: &Error) -> Malformed {
        let is_agreed_on_tls12 = self.agreement.is_some_and(|agreement| agreement.version == TLS12);
        self.complaint = Some(match failure::of_renegotiation(error) {
            Some(text) if is_agreed_on_tls12 => text,
            _ => failure::in_words(error),
        });
        Malformed::Protection
    }
}
