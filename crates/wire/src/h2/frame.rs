//! Frames (RFC 9113 §4 and §6), as both ends of a connection have them.

use crate::error::Http2Error;

/// The length of what precedes each payload.
pub const HEADER_BYTES: usize = 9;
/// The longest payload where nobody has agreed on another; a longer one is refused here.
pub const DEFAULT_FRAME_BYTES: usize = 16_384;
/// What may be sent on a new connection, and on a new stream where nobody has agreed otherwise.
pub const DEFAULT_WINDOW_BYTES: i64 = 65_535;
/// What no window exceeds.
pub const LARGEST_WINDOW_BYTES: i64 = (1 << 31) - 1;
/// What a client says first.
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The types of frames.
pub mod kind {
    /// A part of a body.
    pub const DATA: u8 = 0;
    /// A header block, or its beginning.
    pub const HEADERS: u8 = 1;
    /// What once were priorities.
    pub const PRIORITY: u8 = 2;
    /// The end of a stream.
    pub const RST_STREAM: u8 = 3;
    /// What one side asks of the other, or that it is agreed to.
    pub const SETTINGS: u8 = 4;
    /// An answer that nobody has asked for.
    pub const PUSH_PROMISE: u8 = 5;
    /// A question whether the other side is there, or the answer.
    pub const PING: u8 = 6;
    /// Which streams are answered at the end of a connection.
    pub const GOAWAY: u8 = 7;
    /// How much more may be sent.
    pub const WINDOW_UPDATE: u8 = 8;
    /// More of a header block.
    pub const CONTINUATION: u8 = 9;
}

/// The flags of frames.
pub mod flag {
    /// Nothing follows on the stream.
    pub const END_STREAM: u8 = 0x1;
    /// It answers a frame of the same type.
    pub const ACK: u8 = 0x1;
    /// The header block is complete.
    pub const END_HEADERS: u8 = 0x4;
    /// There is padding, whose length comes first.
    pub const PADDED: u8 = 0x8;
    /// A priority precedes the block.
    pub const PRIORITY: u8 = 0x20;
}

/// The first nine bytes of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHeader {
    /// The length of the payload.
    pub length: usize,
    /// The type of the frame.
    pub kind: u8,
    /// Its flags.
    pub flags: u8,
    /// Its stream; 0 where it is about the connection.
    pub stream: u32,
}

impl FrameHeader {
    /// Reads them.
    #[inline]
    #[must_use]
    pub fn parse(bytes: &[u8; HEADER_BYTES]) -> Self {
        let [l0, l1, l2, kind, flags, s0, s1, s2, s3] = *bytes;
        Self {
            length: u32::from_be_bytes([0, l0, l1, l2]) as usize,
            kind,
            flags,
            // The highest bit is reserved, and ignored.
            stream: u32::from_be_bytes([s0, s1, s2, s3]) & 0x7fff_ffff,
        }
    }

    /// Writes them.
    #[inline]
    #[must_use]
    pub fn bytes(self) -> [u8; HEADER_BYTES] {
        let [.., l0, l1, l2] = self.length.to_be_bytes();
        let [s0, s1, s2, s3] = self.stream.to_be_bytes();
        [l0, l1, l2, self.kind, self.flags, s0, s1, s2, s3]
    }

    /// Whether a flag is set.
    #[inline]
    #[must_use]
    pub fn has(self, flag: u8) -> bool {
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
pub fn write(kind: u8, flags: u8, stream: u32, payload: &[u8], to: &mut Vec<u8>) {
    to.extend_from_slice(&FrameHeader { length: payload.len(), kind, flags, stream }.bytes());
    to.extend_from_slice(payload);
}

/// A frame as far as it is needed at once.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// What precedes it.
    pub header: FrameHeader,
    /// Of data no more than the length of the padding, of an unknown frame nothing.
    pub payload: &'a [u8],
}

impl<'a> Frame<'a> {
    /// The frame that the bytes begin with, or how many of them it needs at least.
    ///
    /// # Errors
    /// It is longer than [`DEFAULT_FRAME_BYTES`].
    #[inline]
    pub fn find(bytes: &'a [u8]) -> Result<Result<Self, usize>, Http2Error> {
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
    #[must_use]
    pub fn bytes(&self) -> usize {
        HEADER_BYTES + self.payload.len()
    }

    /// The payload of a HEADERS frame without padding and priority.
    ///
    /// # Errors
    /// They are longer than the frame.
    pub fn fragment(&self) -> Result<&'a [u8], Http2Error> {
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
