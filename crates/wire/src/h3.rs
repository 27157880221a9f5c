//! HTTP/3 on the streams of one connection (RFC 9114), as a client; a server uses its frames, fields and [`IncomingStreams`].
//!
//! QUIC is somebody else's: [`Http3`] says what is written on a stream and reads what has come on one, in any split of the
//! bytes. What a server can make it hold is bounded: a field section by [`Http3Settings::header_bytes`] for each request
//! under way, the dynamic table by [`Http3Settings::table_bytes`], its own streams and their frames by constants; data is
//! counted and skipped, not kept. Of a stream whose field section waits for the table no more is read until that has come, so
//! that QUIC's windows bound the rest. Unknown frames, settings and streams are skipped, interim responses and trailers
//! read; no push is allowed, and making one is an error.
//!
//! Requests are encoded once ([`Http3Template`]) and refer to the static table alone; a request is a copy of its bytes.
//!
//! # Examples
//!
//! ```
//! use loadcurve_wire::{Body, Event, Http3, Http3Settings, Http3Template, Method, Request, Target, Version};
//!
//! let template = Http3Template::new(&Request {
//!     version: Version::Http11,
//!     method: Method::GET,
//!     target: Target::Fixed("/1k.txt"),
//!     authority: "localhost",
//!     headers: &[],
//!     body: Body::Bytes(b""),
//!     is_chunked: false,
//! })
//! .unwrap();
//! let mut http3 = Http3::new(1, &Http3Settings::default());
//! let mut written = Vec::new();
//! assert_eq!(http3.begin(0, 0, &template, None, &mut written), 0);
//!
//! // HEADERS with `:status: 200` from the static table, and DATA.
//! let received = http3.receive(0, &[1, 3, 0, 0, 0xd9, 0, 2, b'o', b'k'], true).unwrap();
//! let Some(Event::Answered(tag, response)) = received.event else { panic!("all of it has come") };
//! assert_eq!((tag, response.status, response.body_bytes), (0, 200, 2));
//! ```

mod answers;
mod fields;
pub mod frame;
mod incoming;
pub mod integer;
pub mod qpack;
mod settings;
mod template;

use std::borrow::Cow;

use crate::error::Malformed;
use crate::exchange::{Event, Received, Refusal, Tag};
use crate::grpc::CallAnswers;
use crate::request::RequestKind;

use answers::{Answer, AnswerPlace, Shared, Step};
use fields::HeadReader;
use qpack::QpackCounts;

pub use crate::error::{CriticalStream, Http3Code, Http3Error};
pub use incoming::{Hearer, Incoming, IncomingStreams, one_integer, stream_kind};
pub use settings::{Http3Settings, PeerSettings};
pub use template::Http3Template;

/// One connection's end of HTTP/3.
#[derive(Debug)]
pub struct Http3 {
    settings: Http3Settings,
    shared: Shared,
    incoming: IncomingStreams,
    by_tag: Box<[AnswerPlace]>,
    /// Where the requests are calls of gRPC, what has come of their answers.
    calls: Option<CallAnswers>,
    has_decoder_stream: bool,
}

impl Http3 {
    /// For connections that carry at most `most` requests at once.
    #[must_use]
    pub fn new(most: usize, settings: &Http3Settings) -> Self {
        Self {
            settings: *settings,
            shared: Shared {
                heads: HeadReader::new(settings.table_bytes, settings.header_bytes),
                limit_bytes: settings.header_bytes,
                most_blocked: settings.blocked_streams,
                blocked: 0,
                is_leaving: false,
                first_unanswered: None,
                unproductive: 0,
            },
            incoming: IncomingStreams::default(),
            by_tag: (0..most).map(|_| AnswerPlace::default()).collect(),
            calls: settings.calls.map(|calls| CallAnswers::new(most, calls)),
            has_decoder_stream: false,
        }
    }

    /// A new connection is established: what was said on another one is forgotten. The memory is kept.
    pub fn open(&mut self) {
        self.shared.heads.reset();
        self.shared.blocked = 0;
        self.shared.is_leaving = false;
        self.shared.first_unanswered = None;
        self.shared.unproductive = 0;
        self.incoming.reset();
        for place in &mut self.by_tag {
            place.answer = None;
        }
        self.has_decoder_stream = false;
    }

    /// Appends what the client's control stream begins with: its type and the settings. The stream stays open.
    pub fn write_control_stream(&self, to: &mut Vec<u8>) {
        self.settings.write_control_stream(to);
    }

    /// Whether there is something to be written on the client's QPACK decoder stream, which need not be opened before.
    #[must_use]
    pub fn has_decoder_output(&self) -> bool {
        self.shared.heads.decoder().has_output()
    }

    /// Appends that, with the type of the stream the first time.
    pub fn write_decoder_stream(&mut self, to: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.has_decoder_stream, true) {
            integer::write(stream_kind::QPACK_DECODER, to);
        }
        self.shared.heads.decoder_mut().write_output(to);
    }

    /// What the server's settings are, once they have come; requests need not wait for them.
    #[must_use]
    pub fn peer_settings(&self) -> Option<PeerSettings> {
        self.incoming.settings()
    }

    /// What a server says of the end of a call of gRPC, in the last field section that came.
    #[must_use]
    pub fn end_of_call(&self) -> Option<Cow<'_, str>> {
        self.shared.heads.grpc_message().in_words()
    }

    /// Whether the server has announced that it answers no new requests.
    #[must_use]
    pub fn is_leaving(&self) -> bool {
        self.shared.is_leaving
    }

    /// Begins a request under a tag that is not in use, on a new bidirectional stream, and appends its bytes; `target` is
    /// given where the template leaves it open. Gives how many bytes of a body have to follow that the template does not keep;
    /// behind the last byte the stream is finished.
    ///
    /// # Panics
    /// The tag is not below the most requests at once.
    pub fn begin(
        &mut self,
        tag: Tag,
        stream: u64,
        template: &Http3Template,
        target: Option<&[u8]>,
        to: &mut Vec<u8>,
    ) -> u64 {
        self.reopen((tag, stream), template, target, &[], to)
    }

    /// The same of a request under a tag and on a stream that opens a stream of events again, behind the one with this id.
    ///
    /// # Panics
    /// As [`begin`](Self::begin).
    pub fn reopen(
        &mut self,
        (tag, stream): (Tag, u64),
        template: &Http3Template,
        target: Option<&[u8]>,
        last_id: &[u8],
        to: &mut Vec<u8>,
    ) -> u64 {
        if let Some(calls) = &mut self.calls {
            calls.begin(tag);
        }
        self.by_tag[tag].open(Answer::new(stream, template.kind == RequestKind::Head));
        template.write(target, last_id, to)
    }

    /// Reads bytes of the answer to the request with this tag, as [`receive_with`](Self::receive_with); its body is counted and
    /// not kept.
    ///
    /// # Errors
    /// As for [`receive_with`](Self::receive_with).
    pub fn receive(&mut self, tag: Tag, bytes: &[u8], is_end: bool) -> Result<Received, Malformed> {
        self.receive_with(tag, bytes, is_end, &mut |_, _| ())
    }

    /// Reads bytes of the answer to the request with this tag, up to the next event at most, and hands the parts of its body
    /// to `take_body`, with its status; `is_end` says that the stream ends behind them. Where not all of them are consumed and there is no
    /// event, the answer waits for the table: the rest is given again when [`next_unblocked`](Self::next_unblocked) gives the
    /// tag. Of a tag that is not in use all bytes are consumed.
    ///
    /// A request that is refused because its answer is malformed ends its stream with [`Malformed::http3_code`].
    ///
    /// # Errors
    /// The server breaks the protocol. The connection is of no more use, and ends with [`Malformed::http3_code`].
    pub fn receive_with(
        &mut self,
        tag: Tag,
        bytes: &[u8],
        is_end: bool,
        take_body: &mut impl FnMut(u16, &[u8]),
    ) -> Result<Received, Malformed> {
        let Some(place) = self.by_tag.get_mut(tag) else {
            return Ok(Received { consumed: bytes.len(), event: None });
        };
        let calls = &mut self.calls;
        let (consumed, step) = place.receive(bytes, is_end, &mut self.shared, &mut |status, part| {
            if let Some(calls) = calls {
                calls.read(tag, part);
            }
            take_body(status, part);
        })?;
        let event = match step {
            Step::Waits => None,
            Step::Begun => Some(Event::Begun(tag)),
            Step::Answered(response) => {
                let coding = place.end(&mut self.shared).map(|answer| answer.grpc_coding).unwrap_or_default();
                let event = Event::Answered(tag, response);
                Some(self.calls.as_ref().map_or(event, |calls| calls.judged(event, |_| coding)))
            }
            Step::Refused(problem) => {
                self.cancel(tag);
                Some(Event::Refused(tag, Refusal::Malformed(problem)))
            }
        };
        Ok(Received { consumed, event })
    }

    /// A request whose answer has waited for the table, and does so no longer: what was not consumed of its stream is given
    /// again, even if that is nothing but its end. The same one is given until then.
    #[must_use]
    pub fn next_unblocked(&self) -> Option<Tag> {
        if self.shared.blocked == 0 {
            return None;
        }
        let entries = self.shared.heads.decoder().entries();
        self.by_tag.iter().position(|place| place.answer.is_some_and(|answer| answer.is_ready(entries)))
    }

    /// Reads bytes of a unidirectional stream that the server has opened, all of them; `is_end` says that the stream ends
    /// behind them.
    ///
    /// # Errors
    /// The server breaks the protocol. The connection is of no more use, and ends with [`Malformed::http3_code`].
    pub fn receive_incoming(
        &mut self,
        stream: u64,
        bytes: &[u8],
        is_end: bool,
    ) -> Result<Incoming, Malformed> {
        Ok(self.incoming.receive(stream, bytes, is_end, &mut self.shared)?)
    }

    /// The server has reset a unidirectional stream.
    ///
    /// # Errors
    /// It is one that may not be closed. The connection is of no more use.
    pub fn incoming_reset(&mut self, stream: u64) -> Result<(), Malformed> {
        Ok(self.incoming.was_reset(stream)?)
    }

    /// A request that the server has not looked at, by what it has announced of the end of the connection; its tag is free.
    pub fn next_moved(&mut self) -> Option<Tag> {
        let first = self.shared.first_unanswered?;
        let is_moved = |place: &AnswerPlace| place.answer.is_some_and(|answer| answer.stream >= first);
        let tag = self.by_tag.iter().position(is_moved)?;
        self.cancel(tag);
        Some(tag)
    }

    /// A request of whose answer nothing has come is written once more, on another stream.
    ///
    /// # Panics
    /// The tag is not below the most requests at once.
    pub fn begin_again(&mut self, tag: Tag, stream: u64) {
        if let Some(answer) = &mut self.by_tag[tag].answer {
            answer.stream = stream;
        }
    }

    /// The server has reset the stream of a request; what that means for it. Its tag is free.
    pub fn reset(&mut self, tag: Tag, code: Http3Code) -> Option<Event> {
        self.cancel(tag)?;
        Some(match code {
            Http3Code::REQUEST_REJECTED => Event::Moved(tag),
            code => Event::Refused(tag, Refusal::ResetHttp3(code)),
        })
    }

    /// Gives a request up, whose tag is free afterwards; gives its stream, which is not read any further.
    pub fn cancel(&mut self, tag: Tag) -> Option<u64> {
        let answer = self.by_tag.get_mut(tag)?.end(&mut self.shared)?;
        self.shared.heads.decoder_mut().cancel(answer.stream);
        Some(answer.stream)
    }

    /// Where the first redirection has led, on any of its connections.
    #[must_use]
    pub fn first_location(&self) -> Option<&[u8]> {
        self.shared.heads.first_location()
    }

    /// Takes what was counted of the dynamic table since the connection was opened, or since this was last taken.
    pub fn take_counts(&mut self) -> QpackCounts {
        self.shared.heads.take_counts()
    }
}
