//! What is said on one connection, whatever the protocol.

use std::borrow::Cow;
use std::num::NonZeroUsize;
use std::time::Duration;

use crate::compression_counts::CompressionCounts;
use crate::error::{ErrorCode, Http3Code, Malformed};
use crate::grpc_status::GrpcStatus;
use crate::http2_counts::Http2Counts;
use crate::http3_counts::{Http3Counts, QuicEnd};
use crate::request::{InvalidRequest, Request};
use crate::response::Response;

/// What names a request on its connection from its start to its end: a number below the most that may be under way.
pub type Tag = usize;

/// A moment on the clock of who moves the bytes: the time since that clock started, which is the same for all moments.
pub type Moment = Duration;

/// How the bytes of a connection travel.
pub trait Carrier: 'static {
    /// Where what one write hands over, or what arrives at once, is divided.
    type Cut: Copy + std::fmt::Debug + Default;
}

/// As a stream, in which nothing is divided.
#[derive(Debug)]
pub enum Stream {}

impl Carrier for Stream {
    type Cut = ();
}

/// As datagrams, each of which arrives whole or not at all.
#[derive(Debug)]
pub enum Datagrams {}

impl Carrier for Datagrams {
    type Cut = DatagramBytes;
}

/// How long the datagrams of one write are, or those that arrive at once, but for the last one, which may be shorter; the kernel
/// takes such a batch at once. By default all of it is one datagram.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DatagramBytes(pub Option<NonZeroUsize>);

/// One connection's end of a protocol, without I/O: bytes go in, events and bytes come out.
///
/// Requests end in any order that the protocol allows. A value serves one connection after the other; it takes its memory
/// when it is made, or grows to what the first of them need.
pub trait Exchange: Send {
    /// A request in the form from which it is written again and again: what is the same every time, encoded once.
    type Template: Send + Sync;

    /// How its bytes travel.
    type Carrier: Carrier;

    /// What an answer shows when it is complete.
    type Answer: Copy + std::fmt::Debug;

    /// What all exchanges of one thread share: how the protocol is to be spoken.
    type Settings: Clone + Send;

    /// Whether there are connections on which requests [begin before the handshake is over](Self::begins_early).
    const MAY_BEGIN_EARLY: bool = false;

    /// Whether what arrives answers nothing that was sent on its connection: each message is reported as an answer under the
    /// tag 0, and the end of the connection by the peer as a refusal under that.
    const FANS_OUT: bool = false;

    /// An exchange for connections that carry at most `most` requests at once.
    fn new(most: usize, settings: &Self::Settings) -> Self;

    /// A new connection is established: what was said on another one is forgotten.
    fn open(&mut self);

    /// What the connection is good for now.
    fn readiness(&self) -> Readiness;

    /// Whether a request can begin although the handshake is not over. Where the peer does not take it, the protocol sends it
    /// again.
    #[inline]
    fn begins_early(&self) -> bool {
        false
    }

    /// It is `now`, until the next call. This is called before the connection is opened, before bytes are read, before
    /// anything is written, and before [`timed_out`](Self::timed_out).
    #[inline]
    fn advance(&mut self, _now: Moment) {}

    /// When the protocol has something to do although nothing arrives; nothing for one without timers.
    #[inline]
    fn wake_at(&self) -> Option<Moment> {
        None
    }

    /// What arrives next is divided so. This is called before bytes are read.
    #[inline]
    fn divided(&mut self, _cut: CutOf<Self>) {}

    /// The moment of [`wake_at`](Self::wake_at) has passed: [`advance`](Self::advance) has said what time it is. What that
    /// brings is seen as after bytes that arrived: in what is to be sent, in [`readiness`](Self::readiness) and, where
    /// [`has_input`](Self::has_input) says so, in events.
    fn timed_out(&mut self) {}

    /// What both sides have agreed on for the whole connection, once they have; nothing where a protocol leaves no choice.
    fn agreement(&self) -> Option<Agreement> {
        None
    }

    /// Why the last bytes were refused, or what the peer has cut off, where more can be said than that it was so.
    fn complaint(&self) -> Option<Cow<'_, str>> {
        None
    }

    /// A part of the bytes that were refused, as a person can read it, where one helps.
    fn example(&self) -> Option<&str> {
        None
    }

    /// What the peer has said in words of the answer that was reported last, where its protocol has a place for that.
    fn said(&self) -> Option<Cow<'_, str>> {
        None
    }

    /// The status of the answer by which the peer has ended the connection while nothing was under way, if it did.
    fn ended_with(&self) -> Option<u16> {
        None
    }

    /// How a connection of QUIC has ended, where this side has not ended it; nothing for one of another kind.
    fn ended_by(&self) -> Option<QuicEnd> {
        None
    }

    /// How many requests at once the peer takes, where that is fewer than the connection was made for; nothing where a
    /// request would wait for another reason, too, or in vain.
    fn limit(&self) -> Option<usize> {
        None
    }

    /// Whether the protocol itself has bytes to send: a part of a handshake, or an answer to the peer.
    fn has_output(&self) -> bool {
        false
    }

    /// Appends what the protocol itself has to send to what is written next, in front of requests.
    fn write_output(&mut self, _to: &mut Vec<u8>) {}

    /// Begins a request under a tag that is not in use, and appends it to what is written next; `target` is given where
    /// the template leaves it open. A body that is not a part of the template's bytes follows by [`write_body`](Self::write_body).
    fn begin(&mut self, tag: Tag, template: &Self::Template, target: Option<&[u8]>, to: &mut Vec<u8>);

    /// Whether no request can begin before the body under way is written, because it would be in the middle of it.
    fn holds_requests_back(&self) -> bool {
        false
    }

    /// Whether a body can go on: a part of it is not written, and the peer takes more of it now.
    fn can_write_body(&self) -> bool {
        false
    }

    /// Whether a part of the body of the request with this tag is not written. A request may be answered before all of its
    /// body is written; where a protocol continues with it, the tag stands for the body until then.
    fn is_writing_body(&self, _tag: Tag) -> bool {
        false
    }

    /// Appends the next part of a body that can go on, of `most_bytes` at most with its framing, to what is written next.
    /// Bodies that can go on take turns. `read` appends a part of a body that is not kept by the template. None where no
    /// body can go on.
    ///
    /// # Errors
    /// That of `read`: the body cannot be written, and the connection is of no more use.
    fn write_body<F>(
        &mut self,
        _most_bytes: usize,
        _read: &mut impl FnMut(BodyPart, &mut Vec<u8>) -> Result<(), F>,
        _to: &mut Vec<u8>,
    ) -> Result<Option<WrittenBody>, F> {
        Ok(None)
    }

    /// Turns the bytes of one write, which requests and the protocol have appended, into what goes to the connection, and
    /// says how that is divided.
    #[inline]
    fn protect(&mut self, _bytes: &mut Vec<u8>) -> CutOf<Self> {
        CutOf::<Self>::default()
    }

    /// Whether [`protect`](Self::protect) may have more to hand over than it did, for a further write. Where a write takes all
    /// that there is, it never has.
    #[inline]
    fn has_further_write(&self) -> bool {
        false
    }

    /// Reads bytes that arrived, whole datagrams where they travel as such, up to the next event at most. Where they bring
    /// several, the last of them is consumed with the last event. Bodies are counted and not kept.
    ///
    /// # Errors
    /// The peer breaks the protocol, or answers what nobody has asked. The connection is of no more use.
    fn receive(&mut self, bytes: &[u8]) -> Result<Received<Self::Answer>, Malformed> {
        self.receive_with(bytes, &mut |_, _, _| ())
    }

    /// Reads bytes as [`receive`](Self::receive), and hands the parts of bodies to `take_body` as they come, each with the tag
    /// of its request and the status of its answer.
    ///
    /// # Errors
    /// As for [`receive`](Self::receive).
    fn receive_with(
        &mut self,
        bytes: &[u8],
        take_body: &mut impl FnMut(Tag, u16, &[u8]),
    ) -> Result<Received<Self::Answer>, Malformed>;

    /// Whether bytes that were consumed may hold further events, for which `receive` is called with no more bytes.
    fn has_input(&self) -> bool {
        false
    }

    /// The peer sends no more bytes: gives the event that this completes, one at a time.
    fn end_of_input(&mut self) -> Option<Event<Self::Answer>>;

    /// Appends the last that is said on a connection that the client ends, as it goes to the connection; one datagram at
    /// most.
    fn end(&mut self, _to: &mut Vec<u8>) {}

    /// Gives a request up, whose tag is free afterwards; false where the connection is of no more use without its answer.
    fn cancel(&mut self, tag: Tag) -> bool;
}

/// How an exchange says where its writes are divided.
pub type CutOf<E> = <<E as Exchange>::Carrier as Carrier>::Cut;

/// An exchange that says requests of HTTP, in whatever version.
pub trait HttpExchange: Exchange<Answer = Response> {
    /// Whether it is HTTP/3.
    const IS_HTTP3: bool = false;

    /// The template of a request.
    ///
    /// # Errors
    /// The request cannot be said in this protocol.
    fn template(request: &Request<'_>) -> Result<Self::Template, InvalidRequest>;

    /// Begins a request as [`begin`](Exchange::begin) that opens a stream of events again: with the id of the last event in the
    /// field Last-Event-ID (HTML standard, section 9.2.4), where there is one and the protocol has such streams.
    fn reopen(
        &mut self,
        tag: Tag,
        template: &Self::Template,
        target: Option<&[u8]>,
        last_id: &[u8],
        to: &mut Vec<u8>,
    );

    /// Where the first redirection has led, on any of its connections; nothing where that is not looked at.
    fn first_location(&self) -> Option<&[u8]> {
        None
    }

    /// Takes what was counted of the connection since it was opened, or since this was last taken; nothing where a protocol
    /// counts nothing, and before the peer has said how it speaks.
    fn take_counts(&mut self) -> Option<Http2Counts> {
        None
    }

    /// The same of the compression of messages, by what was agreed on; nothing where none was offered, or before that was
    /// answered.
    fn take_compression_counts(&mut self) -> Vec<CompressionCounts> {
        Vec::new()
    }

    /// The same of HTTP/3 and of the QUIC below.
    fn take_http3_counts(&mut self) -> Option<Http3Counts> {
        None
    }
}

/// A part of the body of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyPart {
    /// The tag of the request.
    pub tag: Tag,
    /// Where in the body it begins.
    pub offset: u64,
    /// How long it is.
    pub bytes: usize,
}

/// What was appended of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrittenBody {
    /// The tag of its request.
    pub tag: Tag,
    /// The bytes appended, framing included.
    pub bytes: usize,
}

/// What both sides of a protected connection have agreed on, in the numbers that IANA has registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Agreement {
    /// The version of TLS: 0x0304 is 1.3.
    pub version: u16,
    /// The cipher suite.
    pub suite: u16,
    /// The group of the key exchange; `None` if there was no exchange of keys.
    pub group: Option<u16>,
    /// Whether the client has offered to go on with an earlier session.
    pub is_offered: bool,
    /// Whether an earlier session continues, so that nobody has shown a certificate.
    pub is_resumed: bool,
}

/// What a connection is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    /// Its handshake is not over.
    Handshaking,
    /// Requests can begin.
    Ready,
    /// No request can begin, now or ever again; those in flight complete.
    Busy,
    /// Nothing is under way, and the peer has begun to say that it ends the connection: a request that begins now needs
    /// another one.
    Leaving,
    /// No request can begin, and none that is under way is answered any more.
    Closed,
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<A = Response> {
    /// Its answer has begun, and continues.
    Begun(Tag),
    /// It was answered; its tag is free.
    Answered(Tag, A),
    /// The peer has given it up, or its answer is none, and it alone; its tag is free.
    Refused(Tag, Refusal),
    /// The peer has not looked at it, and would on another connection; its tag is free.
    Moved(Tag),
    /// The peer has ended the connection without a byte of its answer, and to send it once more does no harm; its tag is
    /// free.
    Dropped(Tag),
}

impl<A> Event<A> {
    /// The tag of the request that it is about.
    #[must_use]
    pub fn tag(&self) -> Tag {
        match self {
            Self::Begun(tag)
            | Self::Answered(tag, _)
            | Self::Refused(tag, _)
            | Self::Moved(tag)
            | Self::Dropped(tag) => *tag,
        }
    }
}

/// Why a request alone has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The peer has said so.
    Reset(ErrorCode),
    /// The same over HTTP/3.
    ResetHttp3(Http3Code),
    /// What the peer has answered is no answer.
    Malformed(Malformed),
    /// The peer has ended the call of gRPC that was to answer further messages, with this status or with none.
    Ended(Option<GrpcStatus>),
    /// The peer has closed the WebSocket with this code before the answer was complete (RFC 6455 §7.4).
    Closed(u16),
}

/// What one slice of bytes brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received<A = Response> {
    /// Bytes consumed: all of them, or those up to the event.
    pub consumed: usize,
    /// What happened.
    pub event: Option<Event<A>>,
}
