//! The handshake: a request of HTTP/1.1 for an upgrade, and its answer (RFC 6455 §4).

use memchr::memchr;

use super::accept::{KEY_BYTES, accept_of};
use super::offer::{EXTENSIONS, Offer, SUBPROTOCOL};
use crate::error::{Malformed, Section, WebSocketError};
use crate::framing::elements;
use crate::head::{PROTOCOL, parse_field, without_line_end};
use crate::permessage_deflate::{Extensions, PermessageDeflate};
use crate::request::{Body, InvalidRequest, Method, Request, RequestKind, Version};
use crate::response::{Limits, ResponseParser};
use crate::websocket_choice::{Choice, Subprotocol};

/// The version of WebSocket, which every request for one has.
pub(super) const VERSION: (&str, &str) = ("Sec-WebSocket-Version", "13");
/// What every request for an upgrade has beside its key.
const FIELDS: [(&str, &str); 3] = [("Connection", "Upgrade"), ("Upgrade", "websocket"), VERSION];
/// What is made for each connection, or would promise what this client cannot do.
const OWN_FIELDS: [&str; 3] = ["Sec-WebSocket-Key", "Sec-WebSocket-Accept", EXTENSIONS];
/// How much is kept of the first line of a body that says why the upgrade was refused.
const SHOWN_BYTES: usize = 200;

/// Sees that a request has none of the fields that belong to the handshake.
///
/// # Errors
/// It has one.
pub(super) fn require_no_own_field(request: &Request<'_>) -> Result<(), InvalidRequest> {
    let is_own = |name: &str| {
        OWN_FIELDS.iter().chain(FIELDS.iter().map(|(own, _)| own)).any(|own| name.eq_ignore_ascii_case(own))
    };
    match request.headers.iter().find(|(name, _)| is_own(name)) {
        Some((name, _)) => Err(InvalidRequest::WebSocketField { name: (*name).to_owned() }),
        None => Ok(()),
    }
}

/// A request for an upgrade, without its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handshake {
    head: Vec<u8>,
    pub(super) offer: Offer,
}

impl Handshake {
    /// The request for an upgrade to the target of a request, with its fields. Its method and its body are left out.
    ///
    /// # Errors
    /// A part of the request would break it.
    pub fn new(request: &Request<'_>) -> Result<Self, InvalidRequest> {
        require_no_own_field(request)?;
        let headers = [request.headers, FIELDS.as_slice()].concat();
        let upgrade = Request {
            version: Version::Http11,
            method: Method::GET,
            headers: &headers,
            body: Body::Bytes(&[]),
            is_chunked: false,
            ..*request
        };
        let mut head = upgrade.encode()?;
        // The key goes in front of the blank line.
        head.truncate(head.len() - "\r\n".len());
        Ok(Self { head, offer: Offer::of(request, None) })
    }

    /// The same with an offer to compress messages.
    #[must_use]
    pub fn offering(mut self, deflate: PermessageDeflate) -> Self {
        self.head.extend_from_slice(format!("{EXTENSIONS}: {deflate}\r\n").as_bytes());
        self.offer.deflate = Some(deflate);
        self
    }

    /// Appends the request with this key.
    pub(super) fn write(&self, key: &str, to: &mut Vec<u8>) {
        debug_assert_eq!(key.len(), KEY_BYTES);
        to.extend_from_slice(&self.head);
        for part in ["Sec-WebSocket-Key: ", key, "\r\n\r\n"] {
            to.extend_from_slice(part.as_bytes());
        }
    }
}

/// The answer to the request for an upgrade, as far as it has come.
#[derive(Debug)]
pub(super) struct Upgrading {
    accept: String,
    head: Vec<u8>,
    refused: Option<Refused>,
}

/// An answer that is no upgrade, whose body may say why.
#[derive(Debug)]
struct Refused {
    status: u16,
    parser: ResponseParser,
    body: FirstLine,
}

/// The first line of a body that says why there is no WebSocket, as far as it is shown.
#[derive(Debug, Default)]
pub(super) struct FirstLine(Vec<u8>);

/// How far the answer has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// All of the bytes belong to it, and it continues.
    UnderWay,
    /// It was an upgrade, and ended behind this many of the bytes.
    Upgraded {
        consumed: usize,
        /// How messages are compressed, if they may be.
        deflate: Option<PermessageDeflate>,
    },
}

impl Upgrading {
    /// The answer to a request with this key.
    pub(super) fn to(key: &str) -> Self {
        Self { accept: accept_of(key.as_bytes()), head: Vec::new(), refused: None }
    }

    /// Reads on.
    pub(super) fn receive(&mut self, handshake: &Handshake, bytes: &[u8]) -> Result<Progress, Malformed> {
        if let Some(refused) = &mut self.refused {
            return refused.read(bytes).map(|()| Progress::UnderWay);
        }
        let mut consumed = 0;
        // Interim answers come before the one that counts.
        while let Some(read) = self.read_head(&bytes[consumed..])? {
            consumed += read;
            let head = std::mem::take(&mut self.head);
            match status_of(&head) {
                Some(101) => {
                    let deflate = self.check(handshake, &head)?;
                    return Ok(Progress::Upgraded { consumed, deflate });
                }
                Some(100..200) => {}
                _ => {
                    let mut refused = Refused {
                        status: 0,
                        parser: ResponseParser::new(Limits::default()),
                        body: FirstLine::default(),
                    };
                    refused.read(&head)?;
                    let refused = self.refused.insert(refused);
                    return refused.read(&bytes[consumed..]).map(|()| Progress::UnderWay);
                }
            }
        }
        Ok(Progress::UnderWay)
    }

    /// The status with which the upgrade was refused, if that is known.
    pub(super) fn refused_with(&self) -> Option<u16> {
        self.refused.as_ref().map(|refused| refused.status).filter(|status| *status > 0)
    }

    /// The first line of what the server says about it.
    pub(super) fn reason(&self) -> Option<String> {
        self.refused.as_ref()?.body.shown()
    }

    /// Reads on in a head; gives the bytes that it takes of these where it is whole.
    fn read_head(&mut self, bytes: &[u8]) -> Result<Option<usize>, Malformed> {
        let limit_bytes = Limits::default().header_bytes;
        let before = self.head.len();
        self.head.extend_from_slice(&bytes[..bytes.len().min(limit_bytes + 1 - before.min(limit_bytes))]);
        let compared = self.head.len().min(PROTOCOL.len());
        if self.head[..compared] != PROTOCOL[..compared] {
            return Err(Malformed::instead_of_http1(self.head[0]));
        }
        // A line end that completes the blank line may have begun earlier.
        if let Some(end) = head_end(&self.head, before.saturating_sub(2)) {
            self.head.truncate(end);
            return Ok(Some(end - before));
        }
        if self.head.len() > limit_bytes {
            return Err(Malformed::TooLarge { section: Section::HeaderBlock, limit_bytes });
        }
        Ok(None)
    }

    /// Looks whether a head with status 101 says what it has to (RFC 6455 §4.1); gives the compression that it agrees to.
    fn check(&self, handshake: &Handshake, head: &[u8]) -> Result<Option<PermessageDeflate>, Malformed> {
        let mut choice = Choice::default();
        let (mut upgrades, mut connects, mut accepts) = (false, false, 0);
        for line in head.split_inclusive(|byte| *byte == b'\n').skip(1).map(without_line_end) {
            if line.is_empty() {
                break;
            }
            parse_field(line, |name, value| {
                let is = |other: &str| name.eq_ignore_ascii_case(other.as_bytes());
                let has = |token: &[u8]| elements(value).any(|one| one.eq_ignore_ascii_case(token));
                let value = value.trim_ascii();
                if is("Upgrade") {
                    upgrades |= has(b"websocket");
                } else if is("Connection") {
                    connects |= has(b"upgrade");
                } else if is("Sec-WebSocket-Accept") {
                    accepts += if value == self.accept.as_bytes() { 1 } else { 2 };
                } else if is(EXTENSIONS) {
                    choice.extensions(Extensions::of(value));
                } else if is(SUBPROTOCOL) {
                    choice.subprotocol(Subprotocol::of(value));
                }
                Ok(())
            })?;
        }
        // Of HTTP/1.0 there is no upgrade.
        if !upgrades || !connects || head.starts_with(b"HTTP/1.0") {
            return Err(WebSocketError::Upgrade.into());
        }
        if accepts != 1 {
            return Err(WebSocketError::Accept.into());
        }
        Ok(handshake.offer.answered(choice)?)
    }
}

impl Refused {
    /// Reads on until it is known what the server says.
    fn read(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let Self { status, parser, body } = self;
        let fed = parser.feed_with(bytes, RequestKind::Other, &mut |_, part| {
            body.take(part);
        });
        let progress = match fed {
            // Behind the head a fault is in what nobody waits for: the status says what there is to say.
            Err(_) if *status > 0 => return Err(WebSocketError::Refused { status: *status }.into()),
            fed => fed?,
        };
        let known = progress.response.or_else(|| parser.begun());
        *status = known.map_or(*status, |response| response.status);
        if progress.response.is_some() || body.is_whole() {
            return Err(WebSocketError::Refused { status: *status }.into());
        }
        Ok(())
    }
}

impl FirstLine {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Takes the next part of the body.
    pub(super) fn take(&mut self, part: &[u8]) {
        let room = (SHOWN_BYTES + 1).saturating_sub(self.0.len());
        self.0.extend_from_slice(&part[..part.len().min(room)]);
    }

    /// Whether no more of the body is needed.
    pub(super) fn is_whole(&self) -> bool {
        self.0.len() > SHOWN_BYTES || memchr(b'\n', self.0.trim_ascii_start()).is_some()
    }

    /// As it is shown, with its odd characters replaced; `None` if there is nothing.
    pub(super) fn shown(&self) -> Option<String> {
        let line = self.0.trim_ascii_start().split(|byte| *byte == b'\n').next()?.trim_ascii_end();
        let begin = &line[..line.len().min(SHOWN_BYTES)];
        let dots = if begin.len() < line.len() { "…" } else { "" };
        let text: String = String::from_utf8_lossy(begin).chars().map(shown).collect();
        (!begin.is_empty()).then(|| format!("{text}{dots}"))
    }
}

/// Where a head ends: behind its first blank line, which is not sought before `from`.
fn head_end(head: &[u8], from: usize) -> Option<usize> {
    let mut begin = from;
    while let Some(place) = memchr(b'\n', &head[begin..]) {
        let end = begin + place + 1;
        match head[end..] {
            [b'\n', ..] => return Some(end + 1),
            [b'\r', b'\n', ..] => return Some(end + 2),
            _ => begin = end,
        }
    }
    None
}

/// The status of a head; none where its first line is not that of a response.
fn status_of(head: &[u8]) -> Option<u16> {
    let [_, b' ', digits @ ..] = head.strip_prefix(PROTOCOL)? else { return None };
    let digits = digits.get(..3).filter(|digits| digits.iter().all(u8::is_ascii_digit))?;
    let is_end = digits.len() + PROTOCOL.len() + 2;
    let follows = head.get(is_end).is_none_or(|byte| matches!(byte, b' ' | b'\r' | b'\n'));
    follows.then(|| digits.iter().fold(0, |status, digit| 10 * status + u16::from(digit - b'0')))
}

fn shown(character: char) -> char {
    if character.is_control() { ' ' } else { character }
}
