//! HTTP/2 on one connection (RFC 9113), as a client.
//!
//! [`Http2`] carries many requests at once, each on a separate stream. What a server can make it hold is bounded: a
//! header block by [`Http2Settings::header_bytes`], a frame by 16 KiB, the dynamic table by 4 KiB, what it answers by
//! itself by a number of frames; data is counted and skipped, not kept. Padding, PRIORITY, CONTINUATION, interim responses
//! and trailers are read; pushes are refused, and promising one is an error.
//!
//! The requests' header blocks are encoded once ([`Http2Template`]); in the steady state a request is a copy of its block
//! behind a header of nine bytes.

mod counts;
mod data;
mod endings;
mod fields;
pub mod frame;
pub mod hpack;
mod kept;
mod receive;
mod send;
mod settings;
mod streams;
mod template;
mod tunnels;
mod window;

use std::borrow::Cow;
use std::collections::VecDeque;

use crate::error::Malformed;
use crate::exchange::{
    BodyPart, Event, Exchange, HttpExchange, Readiness, Received, Stream, Tag, WrittenBody,
};
use crate::grpc_status::GrpcCoding;
use crate::http2_counts::Http2Counts;
use crate::request::{InvalidRequest, Request};
use crate::response::Response;

use counts::Run;
use data::DataUnderWay;
use fields::HeadReader;
use frame::DEFAULT_WINDOW_BYTES;
use hpack::Encoder;
use receive::BlockUnderWay;
use settings::{DEFAULT_TABLE_BYTES, PeerSettings};
use streams::Streams;
use tunnels::Tunnels;
use window::ReceiveWindow;

pub use crate::error::{ErrorCode, Http2Error};
pub use settings::{Hpack, Http2Settings, Scheme};
pub use template::Http2Template;

/// Up to where bytes are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stops {
    AtEvents,
    /// Also behind each frame of data, for who has to know what a frame has brought.
    BehindData,
}

/// One connection's end of HTTP/2.
#[derive(Debug)]
pub struct Http2 {
    settings: Http2Settings,
    most: usize,
    streams: Streams,
    peer: PeerSettings,
    /// Whether the peer's settings have come, which are what it says first.
    has_peer_settings: bool,
    /// The last stream that the peer answers, once it has said so.
    last_answered: Option<u32>,
    /// How messages of gRPC were compressed that were, in the answer that was complete last.
    last_coding: GrpcCoding,
    /// Whether there are streams behind that one whose requests have not been reported as moved.
    is_moving: bool,
    is_over: bool,
    /// Why the connection is over, where that is the peer's fault.
    complaint: Option<String>,
    /// A frame of which earlier slices brought a part. Its memory is reused.
    partial: Vec<u8>,
    data: Option<DataUnderWay>,
    block: Option<BlockUnderWay>,
    /// The header block under way, where it came in several frames.
    block_bytes: Vec<u8>,
    heads: HeadReader,
    encoder: Encoder,
    /// What the peer may still send, and what may be sent to it, on all streams together.
    receive_window: ReceiveWindow,
    send_window: i64,
    /// How often the protocol has written something.
    writes: u32,
    /// The tags of requests whose bodies are not sent, or not all of them, in turn.
    uploads: VecDeque<Tag>,
    /// What the protocol itself has to send.
    output: Vec<u8>,
    /// Bytes received since the last answer that belong to none.
    framing_bytes: u64,
    /// Frames that had to be answered since anything came that is part of a response.
    unproductive_frames: u32,
    counts: Http2Counts,
    run: Run,
    stops: Stops,
    tunnels: Tunnels,
}

impl Exchange for Http2 {
    type Template = Http2Template;
    type Carrier = Stream;
    type Answer = Response;
    type Settings = Http2Settings;

    fn new(most: usize, settings: &Http2Settings) -> Self {
        let mut exchange = Self {
            settings: *settings,
            most,
            streams: Streams::new(most),
            peer: PeerSettings::default(),
            has_peer_settings: false,
            last_answered: None,
            last_coding: GrpcCoding::default(),
            is_moving: false,
            is_over: false,
            complaint: None,
            partial: Vec::new(),
            data: None,
            block: None,
            block_bytes: Vec::new(),
            heads: HeadReader::new(DEFAULT_TABLE_BYTES, settings.header_bytes),
            encoder: Encoder::new(settings.hpack, settings.scheme),
            receive_window: ReceiveWindow::default(),
            send_window: DEFAULT_WINDOW_BYTES,
            writes: 0,
            uploads: VecDeque::with_capacity(most),
            output: Vec::new(),
            framing_bytes: 0,
            unproductive_frames: 0,
            counts: Http2Counts::default(),
            run: Run::default(),
            stops: Stops::AtEvents,
            tunnels: Tunnels::default(),
        };
        exchange.open();
        exchange
    }

    fn open(&mut self) {
        self.streams.reset();
        self.peer = PeerSettings::default();
        self.has_peer_settings = false;
        self.last_answered = None;
        self.is_moving = false;
        self.is_over = false;
        self.complaint = None;
        self.partial.clear();
        self.data = None;
        self.block = None;
        self.heads.reset();
        self.encoder.reset();
        self.send_window = DEFAULT_WINDOW_BYTES;
        self.uploads.clear();
        self.output.clear();
        self.framing_bytes = 0;
        self.unproductive_frames = 0;
        self.counts = Http2Counts::default();
        self.run = Run::default();
        self.write_preface();
    }

    fn readiness(&self) -> Readiness {
        let most = self.most.min(self.peer.concurrent_streams_max);
        let takes_none_ever = !self.begins_any();
        if self.is_over || (takes_none_ever && self.streams.len() == 0) {
            Readiness::Closed
        } else if !self.has_peer_settings || (most == 0 && self.streams.len() == 0) {
            // A server that takes no streams yet has more to say before anything can begin.
            Readiness::Handshaking
        } else if takes_none_ever || self.streams.len() >= most {
            Readiness::Busy
        } else {
            Readiness::Ready
        }
    }

    fn complaint(&self) -> Option<Cow<'_, str>> {
        self.complaint.as_deref().map(Cow::Borrowed)
    }

    fn limit(&self) -> Option<usize> {
        let most = self.peer.concurrent_streams_max;
        (most < self.most && self.begins_any()).then_some(most)
    }

    fn has_output(&self) -> bool {
        !self.output.is_empty()
    }

    fn write_output(&mut self, to: &mut Vec<u8>) {
        self.writes = self.writes.wrapping_add(u32::from(!self.output.is_empty()));
        to.append(&mut self.output);
    }

    fn begin(&mut self, tag: Tag, template: &Http2Template, target: Option<&[u8]>, to: &mut Vec<u8>) {
        self.write_request(tag, template, (target, &[]), to);
    }

    fn can_write_body(&self) -> bool {
        self.can_upload()
    }

    fn is_writing_body(&self, tag: Tag) -> bool {
        self.streams.is_uploading(tag)
    }

    fn write_body<F>(
        &mut self,
        most_bytes: usize,
        read: &mut impl FnMut(BodyPart, &mut Vec<u8>) -> Result<(), F>,
        to: &mut Vec<u8>,
    ) -> Result<Option<WrittenBody>, F> {
        self.upload(most_bytes, read, to)
    }

    fn receive_with(
        &mut self,
        bytes: &[u8],
        take_body: &mut impl FnMut(Tag, u16, &[u8]),
    ) -> Result<Received, Malformed> {
        self.received(bytes, take_body)
    }

    fn end_of_input(&mut self) -> Option<Event> {
        // Those behind the last one that the peer answers have moved.
        if self.last_answered.is_some() && !self.is_over {
            self.counts.streams_abandoned += self.streams.len() as u64;
        }
        self.is_over = true;
        None
    }

    fn cancel(&mut self, tag: Tag) -> bool {
        self.give_up(tag, ErrorCode::Cancel);
        true
    }
}

impl Http2 {
    fn received(
        &mut self,
        bytes: &[u8],
        take_body: &mut impl FnMut(Tag, u16, &[u8]),
    ) -> Result<Received, Malformed> {
        let received = self.receive_frames(bytes, take_body);
        if let Err(fault) = received {
            self.end_connection(fault);
        }
        received
    }

    /// How messages of gRPC are compressed that are, in the answer under way, or else in the last one.
    pub(crate) fn grpc_coding(&self, tag: Tag) -> GrpcCoding {
        self.streams.get(tag).map_or(self.last_coding, |stream| stream.grpc_coding)
    }

    /// What a server says of the end of a call of gRPC, in the last header block that came.
    pub(crate) fn end_of_call(&self) -> Option<Cow<'_, str>> {
        self.heads.grpc_message().in_words()
    }
}

impl HttpExchange for Http2 {
    fn template(request: &Request<'_>) -> Result<Http2Template, InvalidRequest> {
        Http2Template::new(request)
    }

    fn reopen(
        &mut self,
        tag: Tag,
        template: &Http2Template,
        target: Option<&[u8]>,
        last_id: &[u8],
        to: &mut Vec<u8>,
    ) {
        self.write_request(tag, template, (target, last_id), to);
    }

    fn first_location(&self) -> Option<&[u8]> {
        self.heads.first_location()
    }

    fn take_counts(&mut self) -> Option<Http2Counts> {
        let counts = std::mem::take(&mut self.counts);
        // What the peer allows continues.
        self.count_streams_allowed();
        self.has_peer_settings.then_some(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::{Http2, frame, streams};
    use crate::exchange::{Event, Exchange as _, HttpExchange as _, Readiness};
    use crate::{Body, Method, Request, Target, Version};

    #[test]
    fn when_the_numbers_of_streams_are_used_up_those_under_way_end_and_none_begins() {
        let request = Request {
            version: Version::Http11,
            method: Method::GET,
            target: Target::Fixed("/"),
            authority: "localhost",
            headers: &[],
            body: Body::Bytes(b""),
            is_chunked: false,
        };
        let template = Http2::template(&request).unwrap();
        let mut exchange = Http2::new(10, &super::Http2Settings::default());
        let mut bytes = Vec::new();
        frame::write(frame::kind::SETTINGS, 0, 0, &[], &mut bytes);
        exchange.receive(&bytes).unwrap();
        exchange.streams.skip_to(streams::LAST_ID - 2);
        for tag in 0..2 {
            assert_eq!(exchange.readiness(), Readiness::Ready);
            exchange.begin(tag, &template, None, &mut Vec::new());
        }
        assert_eq!(exchange.readiness(), Readiness::Busy);
        for (tag, id) in [(0, streams::LAST_ID - 2), (1, streams::LAST_ID)] {
            let mut bytes = Vec::new();
            let flags = frame::flag::END_HEADERS | frame::flag::END_STREAM;
            frame::write(frame::kind::HEADERS, flags, id, &[0x88], &mut bytes);
            let event = exchange.receive(&bytes).unwrap().event;
            assert!(matches!(event, Some(Event::Answered(ended, _)) if ended == tag), "{event:?}");
        }
        assert_eq!(exchange.readiness(), Readiness::Closed);
    }
}
