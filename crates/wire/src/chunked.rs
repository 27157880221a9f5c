//! The chunked transfer coding (RFC 9112 §7.1): sizes are read, data is handed on, trailers are checked.

use crate::bytes::is_text;
use crate::error::{Malformed, Section};
use crate::head::is_end_of_trailers;
use crate::lines::LineReader;

/// Where in a chunked body the next byte is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ChunkedDecoder {
    SizeLine,
    Data {
        remaining_bytes: u64,
    },
    /// Before the CRLF after the data.
    DataEnd,
    /// Between the CR and the LF after the data.
    DataEndLf,
    Trailers,
}

/// What one slice brought.
#[derive(Debug, Default)]
pub(crate) struct ChunkedProgress {
    pub(crate) consumed: usize,
    /// The part of `consumed` that is payload.
    pub(crate) data_bytes: usize,
    pub(crate) ended: bool,
}

impl ChunkedDecoder {
    /// Consumes bytes up to the end of the body at most.
    pub(crate) fn feed(
        &mut self,
        bytes: &[u8],
        lines: &mut LineReader,
        take_body: &mut impl FnMut(&[u8]),
    ) -> Result<ChunkedProgress, Malformed> {
        let mut progress = ChunkedProgress::default();
        while !progress.ended {
            let rest = &bytes[progress.consumed..];
            if rest.is_empty() {
                break;
            }
            progress.consumed += match *self {
                Self::SizeLine => self.feed_size_line(rest, lines)?,
                Self::Data { remaining_bytes } => {
                    let data_bytes = shorter(rest.len(), remaining_bytes);
                    take_body(&rest[..data_bytes]);
                    let remaining_bytes = remaining_bytes - data_bytes as u64;
                    *self = if remaining_bytes == 0 { Self::DataEnd } else { Self::Data { remaining_bytes } };
                    progress.data_bytes += data_bytes;
                    data_bytes
                }
                Self::DataEnd => self.expect(rest[0], b'\r', Self::DataEndLf)?,
                Self::DataEndLf => self.expect(rest[0], b'\n', Self::SizeLine)?,
                Self::Trailers => match lines.read(rest, Section::TrailerSection, is_end_of_trailers)? {
                    Some((consumed, ended)) => {
                        progress.ended = ended;
                        consumed
                    }
                    None => rest.len(),
                },
            };
        }
        if progress.ended {
            lines.end_section();
        }
        Ok(progress)
    }

    fn feed_size_line(&mut self, bytes: &[u8], lines: &mut LineReader) -> Result<usize, Malformed> {
        let Some((consumed, size)) = lines.read(bytes, Section::ChunkSizeLine, parse_size_line)? else {
            return Ok(bytes.len());
        };
        lines.end_section();
        *self = if size == 0 { Self::Trailers } else { Self::Data { remaining_bytes: size } };
        Ok(consumed)
    }

    fn expect(&mut self, byte: u8, expected: u8, next: Self) -> Result<usize, Malformed> {
        if byte != expected {
            return Err(Malformed::ChunkDataEnd);
        }
        *self = next;
        Ok(1)
    }
}

/// The smaller of a length in memory and a length on the wire.
pub(crate) fn shorter(available: usize, stated_bytes: u64) -> usize {
    usize::try_from(stated_bytes).map_or(available, |stated| stated.min(available))
}

/// Reads the size. The line must end in CRLF, because the leniency for a single LF covers the status line and fields
/// only. Spaces after the size are accepted without an extension too: some servers pad their sizes.
fn parse_size_line(line: &[u8]) -> Result<u64, Malformed> {
    let line = line.strip_suffix(b"\r\n").ok_or(Malformed::ChunkSizeLineEnd)?;
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    if digits == 0 {
        return Err(Malformed::ChunkSize);
    }
    let (digits, rest) = line.split_at(digits);
    if !is_text(rest) || !matches!(rest.trim_ascii(), [] | [b';', ..]) {
        return Err(Malformed::ChunkExtension);
    }
    digits
        .iter()
        .try_fold(0_u64, |size, &digit| size.checked_mul(16)?.checked_add(hexadecimal_value(digit)))
        .ok_or(Malformed::ChunkSizeOverflow)
}

fn hexadecimal_value(digit: u8) -> u64 {
    u64::from(match digit {
        b'0'..=b'9' => digit - b'0',
        _ => digit.to_ascii_lowercase() - b'a' + 10,
    })
}
