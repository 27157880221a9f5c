//! HTTP/3 on a connection of QUIC, as an exchange.

mod answers;
mod counting;
mod early;
mod events;
mod uploads;

use std::borrow::Cow;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

use loadcurve_tls::{Client, Look};
use loadcurve_wire::{
    self as wire, Agreement, BodyPart, DatagramBytes, Datagrams, Event, Exchange, GrpcCalls, Http3Code,
    Http3Counts, Http3Settings, Http3Template, HttpExchange, InvalidRequest, Malformed, Moment, QuicEnd,
    Readiness, Received, Request, Response, Tag, WrittenBody,
};

use crate::connection::{Connection, Dial, Direction, Lost, Socket, Then, Windows};
use crate::connection_ids::Numbers;
use crate::tags::Tags;
use answers::Answers;
use early::Early;
use uploads::Uploads;

/// The largest table of header fields that a server is offered.
pub const TABLE_BYTES: usize = 4096;

/// What the exchanges of one thread share.
#[derive(Clone)]
pub struct Settings {
    client: Arc<Client>,
    dial: Arc<Dial>,
    http3: Http3Settings,
    /// The moment zero.
    base: Instant,
    /// The numbers of exchanges whose connections share sockets; `None` where each connection has one.
    numbers: Option<Numbers>,
}

impl Settings {
    /// By the handshakes of `client`, in which all is full that has no ticket; moments are counted from `base`.
    #[must_use]
    pub fn new(client: Arc<Client>, windows: &Windows, base: Instant) -> Self {
        let dial = Arc::new(Dial::new(Arc::clone(&client), false, windows));
        let http3 = Http3Settings { table_bytes: TABLE_BYTES, ..Http3Settings::default() };
        Self { client, dial, http3, base, numbers: None }
    }

    /// The same for connections that share sockets of UDP, and are distinguished by [their IDs](crate::connection_ids).
    #[must_use]
    pub fn sharing_sockets(self) -> Self {
        Self { numbers: Some(Numbers::default()), ..self }
    }

    /// The same for calls of gRPC, of whose answers this is expected.
    #[must_use]
    pub fn calling(mut self, calls: GrpcCalls) -> Self {
        self.http3.calls = Some(calls);
        self
    }

    /// The same for a connection that leaves no ticket behind, and shares no socket.
    #[must_use]
    pub fn looking(&self, windows: &Windows) -> Self {
        let dial = Arc::new(Dial::new(Arc::clone(&self.client), true, windows));
        Self { dial, numbers: None, ..self.clone() }
    }
}

/// One connection's end of HTTP/3.
pub struct Http3 {
    settings: Settings,
    socket: Socket,
    /// None before the first connection, and where one could not be begun.
    connection: Option<Connection>,
    http3: wire::Http3,
    now: Moment,
    /// How what arrives next is divided.
    arriving: DatagramBytes,
    tags: Tags,
    /// How many requests are under way.
    under_way: usize,
    /// The stream of the next request; none while the server takes no more.
    next_stream: Option<u64>,
    decoder_stream: Option<u64>,
    answers: Answers,
    uploads: Uploads,
    early: Early,
    look: Option<Look>,
    lost: Option<Lost>,
    complaint: Option<String>,
    /// Whether something may be to be sent.
    may_transmit: bool,
    /// Whether something may have happened that was not asked for.
    may_have_events: bool,
    deadline: Option<Moment>,
    counts: counting::Counting,
}

impl Exchange for Http3 {
    type Template = Http3Template;
    type Carrier = Datagrams;
    type Answer = Response;
    type Settings = Settings;

    const MAY_BEGIN_EARLY: bool = true;

    fn new(most: usize, settings: &Settings) -> Self {
        Self {
            settings: settings.clone(),
            socket: Socket::client(settings.base, settings.numbers.as_ref().map(Numbers::next)),
            connection: None,
            http3: wire::Http3::new(most, &settings.http3),
            now: Moment::ZERO,
            arriving: DatagramBytes::default(),
            tags: Tags::default(),
            under_way: 0,
            next_stream: None,
            decoder_stream: None,
            answers: Answers::default(),
            uploads: Uploads::new(most),
            early: Early::default(),
            look: None,
            lost: None,
            complaint: None,
            may_transmit: false,
            may_have_events: false,
            deadline: None,
            counts: counting::Counting::default(),
        }
    }

    fn open(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.socket.forget(&connection);
        }
        self.http3.open();
        self.tags.clear();
        self.under_way = 0;
        self.next_stream = None;
        self.decoder_stream = None;
        self.answers.clear();
        self.uploads.clear();
        self.early.clear();
        self.look = None;
        self.lost = None;
        self.complaint = None;
        self.may_transmit = true;
        self.may_have_events = false;
        self.counts = counting::Counting::begun(self.now);
        match self.socket.connect(self.now, &self.settings.dial) {
            Ok(connection) => {
                let sends_early = connection.sends_early();
                self.connection = Some(connection);
                if sends_early {
                    self.open_streams();
                }
            }
            Err(text) => self.complaint = Some(text),
        }
        self.note_deadline();
    }

    fn readiness(&self) -> Readiness {
        if self.lost.is_some() || self.connection.is_none() {
            Readiness::Closed
        } else if self.look.is_none() {
            Readiness::Handshaking
        } else if self.http3.is_leaving() {
            if self.under_way == 0 { Readiness::Closed } else { Readiness::Busy }
        } else if self.next_stream.is_some() {
            Readiness::Ready
        } else if self.under_way == 0 {
            // The server has more to say before anything can begin.
            Readiness::Handshaking
        } else {
            Readiness::Busy
        }
    }

    #[inline]
    fn begins_early(&self) -> bool {
        self.look.is_none() && self.next_stream.is_some()
    }

    #[inline]
    fn advance(&mut self, now: Moment) {
        self.now = now;
    }

    #[inline]
    fn divided(&mut self, cut: DatagramBytes) {
        self.arriving = cut;
    }

    #[inline]
    fn wake_at(&self) -> Option<Moment> {
        self.deadline
    }

    fn timed_out(&mut self) {
        if let Some(connection) = &mut self.connection {
            connection.timeout(&mut self.socket, self.now);
            self.may_transmit = true;
            self.may_have_events = true;
            self.note_deadline();
        }
    }

    fn agreement(&self) -> Option<Agreement> {
        self.look.as_ref().map(|look| look.agreement)
    }

    fn ended_by(&self) -> Option<QuicEnd> {
        self.lost.as_ref().and_then(counting::end)
    }

    fn complaint(&self) -> Option<Cow<'_, str>> {
        self.complaint.as_deref().map(Cow::Borrowed)
    }

    fn said(&self) -> Option<Cow<'_, str>> {
        self.http3.end_of_call()
    }

    fn limit(&self) -> Option<usize> {
        (self.look.is_some() && self.next_stream.is_none() && !self.http3.is_leaving())
            .then_some(self.under_way)
    }

    fn has_output(&self) -> bool {
        self.may_transmit
    }

    fn begin(&mut self, tag: Tag, template: &Http3Template, target: Option<&[u8]>, to: &mut Vec<u8>) {
        self.reopen(tag, template, target, &[], to);
    }

    fn can_write_body(&self) -> bool {
        self.uploads.can_go_on()
    }

    fn is_writing_body(&self, tag: Tag) -> bool {
        self.uploads.is_under_way(tag)
    }

    fn write_body<F>(
        &mut self,
        most_bytes: usize,
        read: &mut impl FnMut(BodyPart, &mut Vec<u8>) -> Result<(), F>,
        to: &mut Vec<u8>,
    ) -> Result<Option<WrittenBody>, F> {
        let Some(connection) = &mut self.connection else { return Ok(None) };
        self.may_transmit = true;
        self.uploads.write(connection, most_bytes, read, to)
    }

    /// What was appended is in the streams of QUIC already.
    fn protect(&mut self, bytes: &mut Vec<u8>) -> DatagramBytes {
        bytes.clear();
        let Some(connection) = &mut self.connection else {
            self.may_transmit = false;
            return DatagramBytes::default();
        };
        if self.http3.has_decoder_output() {
            self.decoder_stream = self.decoder_stream.or_else(|| connection.open(Direction::Out));
            if let Some(stream) = self.decoder_stream {
                let mut output = Vec::new();
                self.http3.write_decoder_stream(&mut output);
                self.uploads.write_own(connection, stream, &output);
            }
        }
        let cut = connection.transmit(self.now, bytes);
        self.may_transmit = cut.is_some();
        if cut.is_none() {
            self.note_deadline();
        }
        cut.unwrap_or_default()
    }

    fn has_further_write(&self) -> bool {
        self.may_transmit
    }

    fn receive_with(
        &mut self,
        bytes: &[u8],
        take_body: &mut impl FnMut(Tag, u16, &[u8]),
    ) -> Result<Received, Malformed> {
        let Some(connection) = &mut self.connection else {
            return Ok(Received { consumed: bytes.len(), event: None });
        };
        let each = self.arriving.0.map_or(bytes.len(), NonZeroUsize::get).max(1);
        for datagram in bytes.chunks(each) {
            self.may_transmit |= connection.datagram(&mut self.socket, self.now, datagram);
        }
        let event = self.next_event(take_body).inspect_err(|malformed| {
            // What can be said of it on the wire goes with what is sent last.
            if let Some(connection) = &mut self.connection {
                connection.close(self.now, malformed.http3_code().0);
                self.may_transmit = true;
            }
            self.complaint.get_or_insert_with(|| malformed.to_string());
        })?;
        self.may_have_events = event.is_some();
        if event.is_none() {
            self.note_deadline();
        }
        Ok(Received { consumed: bytes.len(), event })
    }

    fn has_input(&self) -> bool {
        self.may_have_events
    }

    fn end_of_input(&mut self) -> Option<Event> {
        None
    }

    fn end(&mut self, to: &mut Vec<u8>) {
        if let Some(connection) = self.connection.as_mut().filter(|_| self.lost.is_none()) {
            connection.close(self.now, Http3Code::NO_ERROR.0);
            // All of it is one datagram.
            let _ = connection.transmit(self.now, to);
        }
    }

    fn cancel(&mut self, tag: Tag) -> bool {
        if let Some(stream) = self.http3.cancel(tag) {
            self.ended(tag, stream, Some(Http3Code::REQUEST_CANCELLED));
            self.may_transmit = true;
        }
        true
    }
}

impl HttpExchange for Http3 {
    const IS_HTTP3: bool = true;

    fn template(request: &Request<'_>) -> Result<Http3Template, InvalidRequest> {
        Http3Template::new(request)
    }

    fn reopen(
        &mut self,
        tag: Tag,
        template: &Http3Template,
        target: Option<&[u8]>,
        last_id: &[u8],
        to: &mut Vec<u8>,
    ) {
        let (Some(connection), Some(stream)) = (&mut self.connection, self.next_stream.take()) else {
            return;
        };
        let before = to.len();
        let following = self.http3.reopen((tag, stream), template, target, last_id, to);
        let bytes = &to[before..];
        let then = if following == 0 { Then::End } else { Then::More };
        let taken = connection.write(stream, bytes, then);
        self.uploads.begin(tag, stream, following, &bytes[taken..]);
        if self.look.is_none() {
            self.early.keep(tag, bytes);
        }
        self.tags.insert(stream / 4, tag);
        self.under_way += 1;
        self.next_stream = connection.open(Direction::Both);
        if self.next_stream.is_none() {
            self.counts.met_stream_limit();
        }
        self.may_transmit = true;
    }

    fn first_location(&self) -> Option<&[u8]> {
        self.http3.first_location()
    }

    fn take_http3_counts(&mut self) -> Option<Http3Counts> {
        let connection = self.connection.as_ref()?;
        Some(self.counts.take(connection, &mut self.http3))
    }
}

impl Http3 {
    /// What the server has shown of itself in the handshake, once that is over.
    #[must_use]
    pub fn look(&self) -> Option<&Look> {
        self.look.as_ref()
    }

    /// Takes what was read on the streams of answers.
    #[cfg(feature = "observe")]
    pub fn take_observed(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.answers.observed)
    }

    fn note_deadline(&mut self) {
        self.deadline = self.connection.as_mut().and_then(Connection::deadline);
    }
}
