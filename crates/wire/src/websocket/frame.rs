//! Frames (RFC 6455 §5.2): their headers from any split of the bytes, and those of a client with their mask.

use crate::error::WebSocketError;

/// The longest header of a server's frame, which has no mask.
const HEADER_BYTES_MAX: usize = 10;
/// The same of a client's.
const MASKED_HEADER_BYTES_MAX: usize = HEADER_BYTES_MAX + 4;
/// The longest body of a control frame.
pub const CONTROL_BYTES_MAX: usize = 125;

const FIN: u8 = 0x80;
const RESERVED: u8 = 0x70;
/// The first frame of a compressed message has it (RFC 7692 §6).
const COMPRESSED: u8 = 0x40;
const MASKED: u8 = 0x80;
/// In place of a length: it follows in two bytes, or in eight.
const LENGTH_IN_2: u8 = 126;
const LENGTH_IN_8: u8 = 127;

/// What a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opcode {
    Continuation,
    Text,
    Binary,
    Close,
    Ping,
    Pong,
}

impl Opcode {
    fn of(byte: u8) -> Result<Self, WebSocketError> {
        Ok(match byte & 0x0f {
            0 => Self::Continuation,
            1 => Self::Text,
            2 => Self::Binary,
            8 => Self::Close,
            9 => Self::Ping,
            10 => Self::Pong,
            opcode => return Err(WebSocketError::Opcode { opcode }),
        })
    }

    const fn number(self) -> u8 {
        match self {
            Self::Continuation => 0,
            Self::Text => 1,
            Self::Binary => 2,
            Self::Close => 8,
            Self::Ping => 9,
            Self::Pong => 10,
        }
    }

    const fn is_control(self) -> bool {
        matches!(self, Self::Close | Self::Ping | Self::Pong)
    }
}

/// The header of a server's frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) is_last: bool,
    pub(super) opcode: Opcode,
    /// Whether it is the first one of a compressed message.
    pub(super) is_compressed: bool,
    pub(super) body_bytes: u64,
    /// Its own length.
    pub(super) bytes: u64,
}

/// Reads headers, of which earlier slices may have brought a part.
#[derive(Debug, Default)]
pub(super) struct HeaderReader {
    bytes: [u8; HEADER_BYTES_MAX],
    have: usize,
    /// Whether messages may be compressed.
    pub(super) takes_compressed: bool,
}

impl HeaderReader {
    /// Makes ready for a new connection.
    pub(super) fn reset(&mut self) {
        self.have = 0;
        self.takes_compressed = false;
    }

    /// Reads on, up to the end of a header at most; gives the bytes consumed, and the header where that is whole.
    #[inline]
    pub(super) fn read(&mut self, bytes: &[u8]) -> Result<(usize, Option<Header>), WebSocketError> {
        let mut consumed = 0;
        loop {
            let wanted = if self.have < 2 { 2 } else { header_bytes(self.bytes[1]) };
            let taken = (wanted - self.have).min(bytes.len() - consumed);
            self.bytes[self.have..self.have + taken].copy_from_slice(&bytes[consumed..consumed + taken]);
            self.have += taken;
            consumed += taken;
            if self.have < wanted {
                return Ok((consumed, None));
            }
            // What may be in no frame is refused before its length has come.
            let (is_last, opcode) = begun(self.bytes[0], self.bytes[1], self.takes_compressed)?;
            if self.have == header_bytes(self.bytes[1]) {
                let body_bytes = body_bytes(&self.bytes[1..self.have])?;
                let bytes = std::mem::take(&mut self.have) as u64;
                let is_compressed = self.bytes[0] & COMPRESSED != 0;
                return Ok((consumed, Some(Header { is_last, opcode, is_compressed, body_bytes, bytes })));
            }
        }
    }
}

/// How long a header is with this second byte.
const fn header_bytes(second: u8) -> usize {
    match second & !MASKED {
        LENGTH_IN_8 => HEADER_BYTES_MAX,
        LENGTH_IN_2 => 4,
        _ => 2,
    }
}

/// What the first two bytes say, but for the length.
#[inline]
fn begun(first: u8, second: u8, takes_compressed: bool) -> Result<(bool, Opcode), WebSocketError> {
    let reserved = first & RESERVED;
    if reserved != 0 && !(takes_compressed && reserved == COMPRESSED) {
        return Err(WebSocketError::ReservedBits);
    }
    let (is_last, opcode) = (first & FIN != 0, Opcode::of(first)?);
    if reserved != 0 && !matches!(opcode, Opcode::Text | Opcode::Binary) {
        return Err(WebSocketError::ReservedBits);
    }
    if second & MASKED != 0 {
        return Err(WebSocketError::Masked);
    }
    if opcode.is_control() {
        if !is_last {
            return Err(WebSocketError::FragmentedControl);
        }
        if usize::from(second) > CONTROL_BYTES_MAX {
            return Err(WebSocketError::LongControl);
        }
    }
    Ok((is_last, opcode))
}

/// The length that the bytes of a header from the second one on say, in the shortest of its forms.
#[inline]
fn body_bytes(from_second: &[u8]) -> Result<u64, WebSocketError> {
    let [short, long @ ..] = from_second else { return Err(WebSocketError::Length) };
    let length = long.iter().fold(0, |length, byte| length << 8 | u64::from(*byte));
    let shortest = match *short {
        LENGTH_IN_2 => u64::from(LENGTH_IN_2),
        LENGTH_IN_8 => 1 << 16,
        short => return Ok(u64::from(short)),
    };
    if length >= shortest && i64::try_from(length).is_ok() { Ok(length) } else { Err(WebSocketError::Length) }
}

/// Appends the header of a whole message, or of a control frame, whose body is masked with this key.
#[inline]
pub(super) fn write_header(opcode: Opcode, body_bytes: u64, key: [u8; 4], to: &mut Vec<u8>) {
    write_first_bits(opcode.number(), body_bytes, key, to);
}

/// The same of a message that is compressed.
#[inline]
pub(super) fn write_compressed_header(opcode: Opcode, body_bytes: u64, key: [u8; 4], to: &mut Vec<u8>) {
    write_first_bits(COMPRESSED | opcode.number(), body_bytes, key, to);
}

#[inline]
fn write_first_bits(first: u8, body_bytes: u64, key: [u8; 4], to: &mut Vec<u8>) {
    let mut header = [0; MASKED_HEADER_BYTES_MAX];
    header[0] = FIN | first;
    let length = body_bytes.to_be_bytes();
    let end = if body_bytes < u64::from(LENGTH_IN_2) {
        header[1] = MASKED | length[7];
        2
    } else if body_bytes < 1 << 16 {
        header[1] = MASKED | LENGTH_IN_2;
        header[2..4].copy_from_slice(&length[6..]);
        4
    } else {
        header[1] = MASKED | LENGTH_IN_8;
        header[2..10].copy_from_slice(&length);
        10
    };
    header[end..end + 4].copy_from_slice(&key);
    to.extend_from_slice(&header[..end + 4]);
}

/// Appends a control frame, whose body has [`CONTROL_BYTES_MAX`] at most.
pub(super) fn write_control(opcode: Opcode, body: &[u8], key: [u8; 4], to: &mut Vec<u8>) {
    write_header(opcode, body.len() as u64, key, to);
    let begin = to.len();
    to.extend_from_slice(body);
    mask(&mut to[begin..], key, 0);
}

/// Masks bytes where they lie, or takes their mask off; the first of them is that many bytes behind the beginning of its body.
#[inline]
pub fn mask(bytes: &mut [u8], mut key: [u8; 4], offset: u64) {
    // As many bytes at once as the compiler makes a few instructions of.
    const AT_ONCE: usize = 32;
    key.rotate_left((offset % 4) as usize);
    let keys: [u8; AT_ONCE] = std::array::from_fn(|place| key[place % 4]);
    let mut chunks = bytes.chunks_exact_mut(AT_ONCE);
    for chunk in &mut chunks {
        for (byte, key) in chunk.iter_mut().zip(&keys) {
            *byte ^= key;
        }
    }
    for (byte, key) in chunks.into_remainder().iter_mut().zip(&keys) {
        *byte ^= key;
    }
}

#[cfg(test)]
mod tests {
    use super::mask;

    #[test]
    fn a_body_is_masked_byte_by_byte_with_the_four_of_its_key_wherever_a_part_of_it_begins() {
        let key = [0x37, 0xfa, 0x21, 0x3d];
        for length in 0..100_usize {
            let body: Vec<u8> = (0..=255).cycle().take(length).collect();
            let expected: Vec<u8> =
                body.iter().zip(key.iter().cycle()).map(|(byte, key)| byte ^ key).collect();
            for cut in 0..=length {
                let mut masked = body.clone();
                let (first, second) = masked.split_at_mut(cut);
                mask(first, key, 0);
                mask(second, key, cut as u64);
                assert_eq!(masked, expected, "{length} bytes cut at {cut}");
            }
        }
    }
}
