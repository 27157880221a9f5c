//! WebSockets on the streams of one connection of HTTP/2 (RFC 8441), as a client.
//!
//! Each stream is opened by an extended CONNECT, and is a WebSocket. As many as the connection was made for, or as its peer
//! allows, are opened first: that is the handshake. Then what is under way under a tag is a message; it goes to a WebSocket that
//! waits for nothing, and the next message of that one answers it. Streams of HTTP/2 are known there by their places.
//!
//! A WebSocket that the peer has ended is opened again for the next message; a connection of which all have ended is left. What a
//! peer can make it hold is bounded as in the two protocols alone: for each stream a control frame, and what answers some.

mod streams;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::close::{self, Close};
use super::frame::{Opcode, write_control};
use super::handshake::{VERSION, require_no_own_field};
use super::offer::{EXTENSIONS, Offer};
use super::random::{self, Random};
use super::template::WebSocketTemplate;
use super::tunnel::{State, Tunnel};
use super::{MessageKind, opcode_of};
use crate::compression_counts::CompressionCounts;
use crate::error::Malformed;
use crate::exchange::{
    BodyPart, Event, Exchange, HttpExchange, Readiness, Received, Stream, Tag, WrittenBody,
};
use crate::h2::{Http2, Http2Settings, Http2Template};
use crate::http2_counts::Http2Counts;
use crate::permessage_deflate::PermessageDeflate;
use crate::request::{Body, InvalidRequest, Method, Request};
use crate::response::Response;

use streams::Left;

/// Where a WebSocket is, among the streams of HTTP/2.
type Place = usize;

/// What all exchanges of a load share.
#[derive(Debug, Clone)]
pub struct WebSocketHttp2Settings {
    http2: Http2Settings,
    /// The request for a WebSocket.
    opening: Arc<Http2Template>,
    offer: Arc<Offer>,
    kind: MessageKind,
    /// The seed of the next exchange's masks.
    seed: Arc<AtomicU64>,
}

impl WebSocketHttp2Settings {
    /// With WebSockets at the target of a request, which are asked for with its fields and an offer to compress messages, if any, and
    /// masks of this seed. The method of the request and its body are left out.
    ///
    /// # Errors
    /// A part of the request would break it.
    pub fn new(
        request: &Request<'_>,
        deflate: Option<PermessageDeflate>,
        kind: MessageKind,
        seed: u64,
        http2: Http2Settings,
    ) -> Result<Self, InvalidRequest> {
        require_no_own_field(request)?;
        let extension = deflate.map(|deflate| deflate.to_string());
        let own = extension.iter().map(|extension| (EXTENSIONS, extension.as_str())).chain([VERSION]);
        let headers: Vec<_> = request.headers.iter().copied().chain(own).collect();
        let asked = Request {
            method: Method::GET,
            headers: &headers,
            body: Body::Bytes(&[]),
            is_chunked: false,
            ..*request
        };
        let opening = Arc::new(Http2Template::of_tunnel(&asked, "websocket")?);
        let offer = Arc::new(Offer::of(request, deflate));
        Ok(Self { http2, opening, offer, kind, seed: Arc::new(AtomicU64::new(seed)) })
    }
}

/// One connection's end of HTTP/2 whose streams are WebSockets.
#[derive(Debug)]
pub struct WebSocketHttp2 {
    settings: WebSocketHttp2Settings,
    http2: Http2,
    random: Random,
    tunnels: Box<[Tunnel]>,
    /// The place of the WebSocket that carries the message of a tag, while that is under way.
    by_tag: Box<[Place]>,
    /// The open ones that have nothing under way, the one that has waited longest first.
    idle: VecDeque<Place>,
    /// Where no stream is open.
    free: Vec<Place>,
    /// Those that have something to send, as far as the windows allow.
    ready: VecDeque<Place>,
    stage: Stage,
    /// How many are open, or are being opened.
    live: usize,
    /// How many are being opened before any message is under way.
    opening: usize,
    /// How many were asked for then, and how many of these the peer has opened.
    first: First,
    /// How many the peer has at once: as many as there were when it refused one more without looking at it.
    most_live: usize,
    /// How many have a message under way.
    under_way: usize,
    /// Whether the peer has ended the last one that was open.
    is_left: bool,
    /// What breaks the protocol behind an answer in the same bytes, and is said after it.
    fault_behind: Option<Malformed>,
    /// Why the connection is of no more use, where the peer of WebSocket is the reason.
    refused: Option<Malformed>,
    /// How the peer has closed a WebSocket that was closed last.
    closed: Option<Close>,
    /// What was counted of the compression of WebSockets that have ended, by what they have agreed on.
    compressions: Vec<CompressionCounts>,
    example: Option<String>,
}

/// The WebSockets of a connection that are asked for before any message is under way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct First {
    asked: usize,
    opened: usize,
}

/// How far the connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The peer has not said whether it takes WebSockets, or takes no streams yet.
    Agreeing,
    /// As many WebSockets are to be asked for as may be open.
    Asking,
    /// They were asked for.
    Opening,
    Open,
}

impl Exchange for WebSocketHttp2 {
    type Template = WebSocketTemplate;
    type Carrier = Stream;
    type Answer = Response;
    type Settings = WebSocketHttp2Settings;

    fn new(most: usize, settings: &WebSocketHttp2Settings) -> Self {
        let seed = settings.seed.fetch_add(random::STEP, Ordering::Relaxed);
        let mut http2 = Http2::new(most, &settings.http2);
        http2.carry_tunnels();
        Self {
            settings: settings.clone(),
            http2,
            random: Random::new(seed),
            tunnels: (0..most).map(|_| Tunnel::default()).collect(),
            by_tag: vec![0; most].into(),
            idle: VecDeque::with_capacity(most),
            free: (0..most).rev().collect(),
            ready: VecDeque::with_capacity(most),
            stage: Stage::Agreeing,
            live: 0,
            opening: 0,
            first: First::default(),
            most_live: most,
            under_way: 0,
            is_left: false,
            fault_behind: None,
            refused: None,
            closed: None,
            compressions: Vec::new(),
            example: None,
        }
    }

    fn open(&mut self) {
        self.http2.open();
        for tunnel in &mut self.tunnels {
            tunnel.begin();
            tunnel.state = State::Ended;
            tunnel.is_listed = false;
        }
        self.idle.clear();
        self.free.clear();
        self.free.extend((0..self.tunnels.len()).rev());
        self.ready.clear();
        self.stage = Stage::Agreeing;
        self.live = 0;
        self.opening = 0;
        self.first = First::default();
        self.most_live = self.tunnels.len();
        self.under_way = 0;
        self.is_left = false;
        self.fault_behind = None;
        self.refused = None;
        self.closed = None;
        self.compressions.clear();
        self.example = None;
    }

    fn readiness(&self) -> Readiness {
        let begins_any = self.http2.begins_any();
        if self.refused.is_some() || self.http2.is_over() || (!begins_any && self.under_way == 0) {
            Readiness::Closed
        } else if self.stage != Stage::Open {
            Readiness::Handshaking
        } else if !begins_any {
            Readiness::Busy
        } else if self.is_left {
            Readiness::Closed
        } else if self.can_open() || !self.idle.is_empty() {
            Readiness::Ready
        } else if self.under_way > 0 {
            Readiness::Busy
        } else if self.http2.streams_allowed() == 0 {
            Readiness::Handshaking
        } else {
            // What is left are streams that the peer does not end.
            Readiness::Closed
        }
    }

    fn complaint(&self) -> Option<Cow<'_, str>> {
        if let Some(refused) = self.refused {
            return Some(Cow::Owned(self.refused_in_words(refused)));
        }
        if let Some(complaint) = self.http2.complaint() {
            return Some(complaint);
        }
        let in_words = self.closed.as_ref().map(Close::in_words);
        let in_words = in_words.or_else(|| self.unfinished_refusal().map(|one| self.refused_in_words(one)));
        in_words.or_else(|| self.unopened_in_words()).map(Cow::Owned)
    }

    fn example(&self) -> Option<&str> {
        self.example.as_deref()
    }

    fn limit(&self) -> Option<usize> {
        let of_refusals =
            (self.most_live < self.tunnels.len() && self.http2.begins_any()).then_some(self.most_live);
        let of_settings = self.http2.limit();
        of_refusals.into_iter().chain(of_settings).min()
    }

    fn has_output(&self) -> bool {
        self.http2.has_output() || self.stage == Stage::Asking || !self.ready.is_empty()
    }

    fn write_output(&mut self, to: &mut Vec<u8>) {
        self.http2.write_output(to);
        if self.stage == Stage::Asking {
            self.stage = Stage::Opening;
            while self.can_open() {
                self.ask(to);
                self.opening += 1;
            }
            self.first.asked = self.opening;
            if self.opening == 0 {
                // The peer has taken back that it takes any stream.
                self.stage = Stage::Agreeing;
            }
        }
        while let Some(place) = self.ready.pop_front() {
            self.tunnels[place].is_listed = false;
            self.flush(place, to);
        }
    }

    /// Sends a message, in a WebSocket that is opened for it where there is room for one, and else in the one that has waited
    /// longest.
    #[inline]
    fn begin(&mut self, tag: Tag, template: &WebSocketTemplate, _: Option<&[u8]>, to: &mut Vec<u8>) {
        let (opcode, key) = (opcode_of(self.settings.kind), self.random.mask());
        let idle = if self.can_open() { None } else { self.idle.pop_front() };
        // Whoever begins a message has seen that one can begin.
        let place = idle.unwrap_or_else(|| self.ask(to));
        self.by_tag[tag] = place;
        self.under_way += 1;
        let tunnel = &mut self.tunnels[place];
        tunnel.awaited = Some(tag);
        let is_open = tunnel.state == State::Open && !self.http2.is_sending(place);
        if is_open && template.following_bytes == 0 {
            self.http2.write_in_tunnel(place, false, to, |to| {
                tunnel.compression.write_message(template, None, (opcode, key), to);
            });
            return;
        }
        tunnel.keep(template, opcode, key);
        if is_open {
            self.flush(place, to);
        }
    }

    fn can_write_body(&self) -> bool {
        self.http2.can_write_body()
    }

    fn is_writing_body(&self, tag: Tag) -> bool {
        self.place(tag).is_some_and(|place| self.is_sending(place))
    }

    /// Gives nothing where what was written belongs to no message.
    fn write_body<F>(
        &mut self,
        most_bytes: usize,
        read: &mut impl FnMut(BodyPart, &mut Vec<u8>) -> Result<(), F>,
        to: &mut Vec<u8>,
    ) -> Result<Option<WrittenBody>, F> {
        let tunnels = &self.tunnels;
        let mut read = |part: BodyPart, to: &mut Vec<u8>| tunnels[part.tag].write_part(part, read, to);
        let Some(written) = self.http2.write_body(most_bytes, &mut read, to)? else { return Ok(None) };
        let place = written.tag;
        if !self.http2.is_sending(place) {
            self.list(place);
        }
        Ok(self.tunnels[place].awaited.map(|tag| WrittenBody { tag, ..written }))
    }

    fn receive_with(
        &mut self,
        bytes: &[u8],
        take_body: &mut impl FnMut(Tag, u16, &[u8]),
    ) -> Result<Received, Malformed> {
        if let Some(fault) = self.fault_behind.take() {
            return Err(self.fail(fault));
        }
        let mut consumed = 0;
        loop {
            let mut heard = None;
            let (tunnels, random) = (&mut self.tunnels, &mut self.random);
            // A part of one stream at most, so that each event is reported.
            let received =
                self.http2.receive_with_stops(&bytes[consumed..], &mut |place, status, part| {
                    let tunnel: &mut Tunnel = &mut tunnels[place];
                    heard = Some((place, status, tunnel.take(status, part, random, take_body)));
                })?;
            consumed += received.consumed;
            if self.stage == Stage::Agreeing {
                self.agree()?;
            }
            let heard = match heard {
                Some((place, status, heard)) => self.heard(place, status, heard, received.event)?,
                None => None,
            };
            let ended = match received.event {
                Some(event) => self.ended(event)?,
                None => None,
            };
            // What has begun with the last of its stream is said to have ended.
            let event = heard.filter(|heard| ended.is_none() || !matches!(heard, Event::Begun(_))).or(ended);
            if event.is_some() || consumed == bytes.len() {
                return Ok(Received { consumed, event });
            }
        }
    }

    fn has_input(&self) -> bool {
        self.fault_behind.is_some()
    }

    fn end_of_input(&mut self) -> Option<Event> {
        for place in 0..self.tunnels.len() {
            let tunnel = &self.tunnels[place];
            if tunnel.state == State::Opening && self.http2.status(place).is_some() {
                self.example = tunnel.refusal.shown();
            }
            if tunnel.awaited.is_none() {
                // It has lost nothing.
                self.http2.forget(place);
            }
        }
        self.http2.end_of_input()
    }

    /// Closes what is open, as a client does that has no more to say.
    fn end(&mut self, to: &mut Vec<u8>) {
        for place in 0..self.tunnels.len() {
            if self.tunnels[place].state == State::Open && !self.is_sending(place) {
                let key = self.random.mask();
                self.http2.write_in_tunnel(place, true, to, |to| {
                    write_control(Opcode::Close, &close::NORMAL.to_be_bytes(), key, to);
                });
            }
        }
    }

    /// The next message of the peer would be taken for the answer to another one, so the WebSocket ends with it.
    fn cancel(&mut self, tag: Tag) -> bool {
        if let Some(place) = self.place(tag) {
            self.give_up(place, Left::ByClient);
        }
        true
    }
}

impl HttpExchange for WebSocketHttp2 {
    fn template(request: &Request<'_>) -> Result<WebSocketTemplate, InvalidRequest> {
        Ok(WebSocketTemplate::new(request, false))
    }

    /// A WebSocket has no events.
    fn reopen(
        &mut self,
        tag: Tag,
        template: &WebSocketTemplate,
        target: Option<&[u8]>,
        _: &[u8],
        to: &mut Vec<u8>,
    ) {
        self.begin(tag, template, target, to);
    }

    fn take_counts(&mut self) -> Option<Http2Counts> {
        self.http2.take_counts()
    }

    fn take_compression_counts(&mut self) -> Vec<CompressionCounts> {
        let mut all = std::mem::take(&mut self.compressions);
        for counts in self.tunnels.iter_mut().filter_map(|tunnel| tunnel.compression.take()) {
            counts.add_to(&mut all);
        }
        all
    }
}
