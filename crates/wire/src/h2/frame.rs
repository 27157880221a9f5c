//! Frames (RFC 9113 §4 and §6).

use crate::error::Http2Error;

pub(super) const HEADER_BYTES: usize = 9;
/// The longest payload where nobody has agreed on another, which is what this client takes.
pub(super) const DEFAULT_FRAME_BYTES: usize = 16_384;
pub(super) const DEFAULT_WINDOW_BYTES: i64 = 65_535;
pub(super) const LARGEST_WINDOW_BYTES: i64 = (1 << 31) - 1;
/// What a client says first.
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The types of frames.
pub(super) mod kind {
    pub(in crate::h2) const DATA: u8 = 0;
    pub(in crate::h2) const HEADERS: u8 = 1;
    pub(in crate::h2) const PRIORITY: u8 = 2;
    pub(in crate::h2) const RST_STREAM: u8 = 3;
    pub(in crate::h2) const SETTINGS: u8 = 4;
    pub(in crate::h2) const PUSH_PROMISE: u8 = 5;
    pub(in crate::h2) const PING: u8 = 6;
    pub(in crate::h2) const GOAWAY: u8 = 7;
    pub(in crate::h2) const WINDOW_UPDATE: u8 = 8;
    pub(in crate::h2) const CONTINUATION: u8 = 9;
}

/// The flags of frames.
pub(super) mod flag {
    pub(in crate::h2) const END_STREAM: u8 = 0x1;
    pub(in crate::h2) const ACK: u8 = 0x1;
    pub(in crate::h2) const END_HEADERS: u8 = 0x4;
    pub(in crate::h2) const PADDED: u8 = 0x8;
    pub(in crate::h2) const PRIORITY: u8 = 0x20;
}

/// The first nine bytes of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrameHeader {
    pub(super) length: usize,
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
}

impl FrameHeader {
    #[inline]
    pub(super) fn parse(bytes: &[u8; HEADER_BYTES]) -> Self {
        let [l0, l1, l2, kind, flags, s0, s1, s2, s3] = *bytes;
        Self {
            length: u32::from_be_bytes([0, l0, l1, l2]) as usize,
            kind,
            flags,
            // The highest bit is reserved, and ignored.
            stream: u32::from_be_bytes([s0, s1, s2, s3]) & 0x7fff_ffff,
        }
    }

    #[inline]
    pub(super) fn bytes(self) -> [u8; HEADER_BYTES] {
        let [.., l0, l1, l2] = self.length.to_be_bytes();
        let [s0, s1, s2, s3] = self.stream.to_be_bytes();
        [l0, l1, l2, self.kind, self.flags, s0, s1, s2, s3]
    }

    #[inline]
    pub(super) fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// How much of the frame, header included, is needed at once. Data is not; an unknown frame is skipped.
    #[inline]
    fn needed_bytes(self) -> usize {
        HEADER_BYTES
            + match self.kind {
                kind::DATA => usize::from(self.has(flag::PADDED)).min(self.length),
                kind::HEADERS..=kind::CONTINUATION => self.length,
                _ => 0,
            }
    }
}

/// Appends a frame.
pub(super) fn write(kind: u8, flags: u8, stream: u32, payload: &[u8], to: &mut Vec<u8>) {
    to.extend_from_slice(&FrameHeader { length: payload.len(), kind, flags, stream }.bytes());
    to.extend_from_slice(payload);
}

/// A frame as far as it is needed at once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame<'a> {
    pub(super) header: FrameHeader,
    pub(super) payload: &'a [u8],
}

impl<'a> Frame<'a> {
    /// The frame that the bytes begin with, or how many of them it needs at least.
    #[inline]
    pub(super) fn find(bytes: &'a [u8]) -> Result<Result<Self, usize>, Http2Error> {
        let Some(header) = bytes.first_chunk() else { return Ok(Err(HEADER_BYTES)) };
        let header = FrameHeader::parse(header);
        if header.length > DEFAULT_FRAME_BYTES {
            return Err(Http2Error::FrameTooLarge { bytes: header.length });
        }
        let needed_bytes = header.needed_bytes();
        Ok(match bytes.get(HEADER_BYTES..needed_bytes) {
            Some(payload) => Ok(Self { header, payload }),
            None => Err(needed_bytes),
        })
    }

    /// How many bytes are in it, header included.
    #[inline]
    pub(super) fn bytes(&self) -> usize {
        HEADER_BYTES + self.payload.len()
    }

    /// The payload of a HEADERS frame without padding and priority.
    pub(super) fn fragment(&self) -> Result<&'a [u8], Http2Error> {
        let mut payload = self.payload;
        let mut padding_bytes = 0;
        if self.header.has(flag::PADDED) {
            let (&padding, rest) = payload.split_first().ok_or(Http2Error::Padding)?;
            (payload, padding_bytes) = (rest, usize::from(padding));
        }
        if self.header.has(flag::PRIORITY) {
            payload = payload.get(5..).ok_or(Http2Error::Padding)?;
        }
        let length = payload.len().checked_sub(padding_bytes).ok_or(Http2Error::Padding)?;
        Ok(&payload[..length])
    }
}
