//! Frames (RFC 9114 §7), from any split of a stream's bytes.

use super::integer;
use crate::chunked::shorter;

/// The types of frames.
pub mod kind {
    /// A part of a body.
    pub const DATA: u64 = 0x0;
    /// A field section.
    pub const HEADERS: u64 = 0x1;
    /// A push is not wanted, or not made.
    pub const CANCEL_PUSH: u64 = 0x3;
    /// What one side asks of the other.
    pub const SETTINGS: u64 = 0x4;
    /// An answer that nobody has asked for.
    pub const PUSH_PROMISE: u64 = 0x5;
    /// Which requests are answered at the end of a connection.
    pub const GOAWAY: u64 = 0x7;
    /// How many pushes a client allows.
    pub const MAX_PUSH_ID: u64 = 0xd;
    /// What a client changes of the priority of a request (RFC 9218 §7.2).
    pub const PRIORITY_UPDATE: u64 = 0xf_0700;
    /// The same of a push.
    pub const PRIORITY_UPDATE_OF_PUSH: u64 = 0xf_0701;
}

/// Where a server may send frames of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// On the streams of requests.
    Requests,
    /// On its control stream.
    Control,
    /// Only clients send them.
    FromClients,
    /// They are about pushes, which this client does not allow.
    Pushes,
    /// They were of HTTP/2 and may be nowhere (RFC 9114 §7.2.8).
    Nowhere,
    /// Their type is unknown, so that they are skipped (RFC 9114 §9).
    Anywhere,
}

impl Place {
    /// Where a server may send frames of this type.
    #[must_use]
    pub const fn of(kind: u64) -> Self {
        match kind {
            kind::DATA | kind::HEADERS => Self::Requests,
            kind::SETTINGS | kind::GOAWAY => Self::Control,
            kind::CANCEL_PUSH | kind::PUSH_PROMISE => Self::Pushes,
            kind::MAX_PUSH_ID | kind::PRIORITY_UPDATE | kind::PRIORITY_UPDATE_OF_PUSH => Self::FromClients,
            // PRIORITY, PING, WINDOW_UPDATE and CONTINUATION.
            0x2 | 0x6 | 0x8 | 0x9 => Self::Nowhere,
            _ => Self::Anywhere,
        }
    }
}

/// What precedes the payload of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHeader {
    /// The type of the frame.
    pub kind: u64,
    /// The length of the payload.
    pub length: u64,
}

impl FrameHeader {
    /// The header that the bytes begin with, and its length; nothing where they do not hold all of it.
    #[inline]
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<(Self, usize)> {
        let (kind, kind_bytes) = integer::read(bytes)?;
        let (length, length_bytes) = integer::read(&bytes[kind_bytes..])?;
        Some((Self { kind, length }, kind_bytes + length_bytes))
    }

    /// Appends it.
    #[inline]
    pub fn write(self, to: &mut Vec<u8>) {
        integer::write(self.kind, to);
        integer::write(self.length, to);
    }
}

/// Appends a frame.
pub fn write(kind: u64, payload: &[u8], to: &mut Vec<u8>) {
    FrameHeader { kind, length: payload.len() as u64 }.write(to);
    to.extend_from_slice(payload);
}

/// Appends a `PRIORITY_UPDATE` of the request on a stream, for the control stream; `priority` is such as `u=1, i`.
pub fn write_priority_update(stream: u64, priority: &str, to: &mut Vec<u8>) {
    let mut payload = Vec::new();
    integer::write(stream, &mut payload);
    payload.extend_from_slice(priority.as_bytes());
    write(kind::PRIORITY_UPDATE, &payload, to);
}

/// What comes next of a stream of frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'a> {
    /// The header of a frame, and how many bytes it has. What follows of the frame is skipped unless
    /// [`FrameReader::keep`] or [`FrameReader::pass`] is called now.
    Header(FrameHeader, usize),
    /// The payload of a frame that is kept, all of it.
    Whole(FrameHeader, &'a [u8]),
    /// A part of the payload of a frame that is passed on.
    Data(&'a [u8]),
}

/// What is done with the frame under way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    /// Its header is not complete.
    #[default]
    Header,
    Kept(FrameHeader),
    Passed {
        remaining_bytes: u64,
    },
    Skipped {
        remaining_bytes: u64,
    },
}

/// Reads the frames of one stream. It holds a header, or a payload that was asked for; memory is kept from frame to frame.
#[derive(Debug, Default)]
pub struct FrameReader {
    state: State,
    /// A header or a payload of which earlier slices brought a part.
    partial: Vec<u8>,
    /// Whether what is in `partial` was handed on.
    is_used: bool,
}

impl FrameReader {
    /// Makes ready for another stream. The memory is kept.
    pub fn reset(&mut self) {
        self.state = State::Header;
        self.partial.clear();
        self.is_used = false;
    }

    /// Whether a stream that ends here ends between two frames.
    #[must_use]
    pub fn is_between_frames(&self) -> bool {
        self.state == State::Header && (self.partial.is_empty() || self.is_used)
    }

    /// The payload of the frame whose header has just been read is needed as a whole.
    pub fn keep(&mut self, header: FrameHeader) {
        self.state = State::Kept(header);
    }

    /// The payload of the frame whose header has just been read is handed on as it comes.
    #[inline]
    pub fn pass(&mut self, header: FrameHeader) {
        self.state = State::Passed { remaining_bytes: header.length };
    }

    /// Reads bytes up to the next part; gives how many, and the part. Without one all of them are read.
    #[inline]
    pub fn next<'a>(&'a mut self, bytes: &'a [u8]) -> (usize, Option<Part<'a>>) {
        if self.is_used {
            self.partial.clear();
            self.is_used = false;
        }
        match self.state {
            State::Header => self.header(bytes, 0),
            State::Kept(header) => self.kept(header, bytes),
            State::Passed { remaining_bytes: 0 } | State::Skipped { remaining_bytes: 0 } => {
                self.state = State::Header;
                self.header(bytes, 0)
            }
            State::Passed { remaining_bytes } => {
                let taken = shorter(bytes.len(), remaining_bytes);
                self.state = State::Passed { remaining_bytes: remaining_bytes - taken as u64 };
                (taken, (taken > 0).then_some(Part::Data(&bytes[..taken])))
            }
            State::Skipped { remaining_bytes } => {
                let taken = shorter(bytes.len(), remaining_bytes);
                let remaining_bytes = remaining_bytes - taken as u64;
                self.state = State::Skipped { remaining_bytes };
                if remaining_bytes > 0 {
                    return (taken, None);
                }
                self.state = State::Header;
                self.header(&bytes[taken..], taken)
            }
        }
    }

    /// Reads a header, behind bytes that were skipped.
    #[inline]
    fn header(&mut self, bytes: &[u8], skipped: usize) -> (usize, Option<Part<'static>>) {
        if self.partial.is_empty()
            && let Some((header, length)) = FrameHeader::parse(bytes)
        {
            self.state = State::Skipped { remaining_bytes: header.length };
            return (skipped + length, Some(Part::Header(header, length)));
        }
        // At most 16 bytes, and few frames are cut there.
        for (at, &byte) in bytes.iter().enumerate() {
            self.partial.push(byte);
            if let Some((header, length)) = FrameHeader::parse(&self.partial) {
                self.partial.clear();
                self.state = State::Skipped { remaining_bytes: header.length };
                return (skipped + at + 1, Some(Part::Header(header, length)));
            }
        }
        (skipped + bytes.len(), None)
    }

    #[inline]
    fn kept<'a>(&'a mut self, header: FrameHeader, bytes: &'a [u8]) -> (usize, Option<Part<'a>>) {
        let missing = shorter(bytes.len(), header.length - self.partial.len() as u64);
        let is_whole = (self.partial.len() + missing) as u64 == header.length;
        if is_whole {
            self.state = State::Header;
            if self.partial.is_empty() {
                return (missing, Some(Part::Whole(header, &bytes[..missing])));
            }
        }
        self.partial.extend_from_slice(&bytes[..missing]);
        self.is_used = is_whole;
        (missing, is_whole.then_some(Part::Whole(header, &self.partial)))
    }
}
