//! The bodies of compressed messages (RFC 7692 §7.2).

use miniz_oxide::deflate::core::{
    CompressorOxide, TDEFLFlush, compress_to_output, create_comp_flags_from_zip_params,
};
use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::TINFL_FLAG_HAS_MORE_INPUT;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};

use crate::error::DeflateError;
use crate::permessage_deflate::WINDOW_BITS_MAX;

/// A message that is longer when it is inflated is an error: nobody has to read without end what a few bytes stand for.
pub const INFLATED_BYTES_MAX: u64 = 64 << 20;

/// What a sender leaves out at the end of each message (RFC 7692 §7.2.1), and its receiver puts there: an empty block.
const TAIL: [u8; 4] = [0x00, 0x00, 0xff, 0xff];
/// The last block of a stream, and empty. It is understood behind whole blocks alone.
const LAST_BLOCK: [u8; 2] = [0x03, 0x00];
const WINDOW_BYTES: usize = 1 << WINDOW_BITS_MAX;
/// As fast and as dense as zlib is by default.
const LEVEL: i32 = 6;
/// In place of the bits of a window: no header is in front of the blocks.
const RAW: i32 = 0;
/// What a stored block has in front of its bytes (RFC 1951 §3.2.4).
pub(super) const STORED_HEADER_BYTES: usize = 5;

/// Inflates the messages of one peer. Each may refer to the last 32 KiB of those before. Nothing else is kept of them.
pub(super) struct Inflater {
    state: DecompressorOxide,
    /// What came last, around.
    window: Box<[u8]>,
    at: usize,
}

impl std::fmt::Debug for Inflater {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Inflater").field("at", &self.at).finish_non_exhaustive()
    }
}

impl Default for Inflater {
    fn default() -> Self {
        Self { state: DecompressorOxide::new(), window: vec![0; WINDOW_BYTES].into(), at: 0 }
    }
}

impl Inflater {
    /// Makes ready for a new connection.
    pub(super) fn reset(&mut self) {
        self.state.init();
        self.window.fill(0);
        self.at = 0;
    }

    /// Hands what the next part of a message inflates to to `take`, in parts of at most 32 KiB.
    ///
    /// # Errors
    /// It is not DEFLATE, or `take` says so.
    pub(super) fn read<F: From<DeflateError>>(
        &mut self,
        mut bytes: &[u8],
        take: &mut impl FnMut(&[u8]) -> Result<(), F>,
    ) -> Result<(), F> {
        loop {
            let (status, read, written) =
                decompress(&mut self.state, bytes, &mut self.window, self.at, TINFL_FLAG_HAS_MORE_INPUT);
            bytes = &bytes[read..];
            if written > 0 {
                take(&self.window[self.at..self.at + written])?;
                self.at = (self.at + written) % WINDOW_BYTES;
            }
            match status {
                TINFLStatus::HasMoreOutput => {}
                TINFLStatus::NeedsMoreInput if bytes.is_empty() => return Ok(()),
                // Another stream may follow the last block of one, with the same window (§7.2.3.4).
                TINFLStatus::Done => {
                    self.state.init();
                    if bytes.is_empty() {
                        return Ok(());
                    }
                }
                _ => return Err(DeflateError::Data.into()),
            }
        }
    }

    /// A message is complete.
    ///
    /// # Errors
    /// It ends within a block.
    pub(super) fn end<F: From<DeflateError>>(
        &mut self,
        take: &mut impl FnMut(&[u8]) -> Result<(), F>,
    ) -> Result<(), F> {
        self.read(&TAIL, take)?;
        let (status, read, written) =
            decompress(&mut self.state, &LAST_BLOCK, &mut self.window, self.at, TINFL_FLAG_HAS_MORE_INPUT);
        self.state.init();
        if (status, read, written) == (TINFLStatus::Done, LAST_BLOCK.len(), 0) {
            Ok(())
        } else {
            Err(DeflateError::Data.into())
        }
    }
}

/// A message in the form in which it is sent where compression was agreed on: compressed by itself, so that it is the same on every
/// connection.
#[derive(Debug)]
pub(super) struct Deflated {
    /// Of the window that it needs, as a power of two.
    pub(super) window_bits: u8,
    pub(super) bytes: Vec<u8>,
    /// Where something else may be put, as a stored block.
    pub(super) open_at: usize,
}

impl Deflated {
    /// Compresses the two parts of a message between which something else is put.
    pub(super) fn around(before: &[u8], behind: &[u8], window_bits: u8) -> Self {
        let mut bytes = Vec::new();
        if !before.is_empty() {
            append_blocks(before, window_bits, &mut bytes);
        }
        let open_at = bytes.len();
        append_blocks(behind, window_bits, &mut bytes);
        bytes.truncate(bytes.len() - TAIL.len());
        Self { window_bits, bytes, open_at }
    }
}

/// Appends the header of a stored block of so few bytes.
pub(super) fn stored_header(length: u16) -> [u8; STORED_HEADER_BYTES] {
    let ([low, high], [not_low, not_high]) = (length.to_le_bytes(), (!length).to_le_bytes());
    [0, low, high, not_low, not_high]
}

/// Appends blocks that are whole bytes, the last of which is empty, and refer to nothing outside of them.
///
/// The library has one window, that of 32 KiB. A lesser one is kept by compressing as many bytes at a time.
fn append_blocks(bytes: &[u8], window_bits: u8, to: &mut Vec<u8>) {
    let most = if window_bits < WINDOW_BITS_MAX { 1 << window_bits } else { usize::MAX };
    let mut compressor = Box::new(CompressorOxide::new(create_comp_flags_from_zip_params(LEVEL, RAW, 0)));
    if bytes.is_empty() {
        to.push(0);
        to.extend(TAIL);
    }
    for part in bytes.chunks(most) {
        compressor.reset();
        compress_to_output(&mut compressor, part, TDEFLFlush::Sync, |compressed| {
            to.extend_from_slice(compressed);
            true
        });
    }
}

#[cfg(test)]
mod tests {
    use std::iter;

    use proptest::prelude::*;

    use super::{DeflateError, Deflated, Inflater, stored_header};

    fn inflate(inflater: &mut Inflater, message: &[u8], at_once: usize) -> Result<Vec<u8>, DeflateError> {
        let mut text = Vec::new();
        let mut take = |part: &[u8]| {
            text.extend_from_slice(part);
            Ok::<_, DeflateError>(())
        };
        for part in message.chunks(at_once) {
            inflater.read(part, &mut take)?;
        }
        inflater.end(&mut take)?;
        Ok(text)
    }

    /// RFC 7692 §7.2.3.1 to §7.2.3.6.
    const HELLO: [&[u8]; 4] = [
        &[0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00],
        &[0x00, 0x05, 0x00, 0xfa, 0xff, 0x48, 0x65, 0x6c, 0x6c, 0x6f, 0x00],
        &[0xf3, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00, 0x00],
        &[0xf2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xff, 0xff, 0xca, 0xc9, 0xc9, 0x07, 0x00],
    ];

    #[test]
    fn the_examples_of_rfc_7692_are_read_in_any_parts_and_with_the_window_of_those_before() {
        for at_once in 1..=13 {
            let mut inflater = Inflater::default();
            for message in HELLO {
                assert_eq!(
                    inflate(&mut inflater, message, at_once).unwrap(),
                    b"Hello",
                    "{message:x?} by {at_once}"
                );
                // The second message of §7.2.3.2 refers to the first, whatever that was.
                let again = inflate(&mut inflater, &[0xf2, 0x00, 0x11, 0x00, 0x00], at_once);
                assert_eq!(again.unwrap(), b"Hello", "behind {message:x?} by {at_once}");
                assert_eq!(inflate(&mut inflater, &[0x00], at_once).unwrap(), b"");
            }
        }
    }

    #[test]
    fn hello_is_compressed_to_the_bytes_of_rfc_7692_and_nothing_to_its_one_byte() {
        assert_eq!(Deflated::around(b"", b"Hello", 15).bytes, HELLO[0]);
        assert_eq!(Deflated::around(b"", b"", 15).bytes, [0x00]);
    }

    #[test]
    fn what_is_not_deflate_or_ends_within_a_block_is_an_error() {
        for message in [
            // A block of type 3, a length that does not match its complement, and Hello without its end.
            &[0x06][..],
            &[0x00, 0x05, 0x00, 0x00, 0x00, 0x48],
            &[0xf2, 0x48, 0xcd],
            &[0x00, 0x06, 0x00, 0xf9, 0xff, 0x48],
            &[],
        ] {
            for at_once in 1..=3 {
                let found = inflate(&mut Inflater::default(), message, at_once);
                assert_eq!(found, Err(DeflateError::Data), "{message:x?} by {at_once}");
            }
        }
    }

    #[test]
    fn a_connection_knows_nothing_of_the_one_before() {
        let mut inflater = Inflater::default();
        inflate(&mut inflater, HELLO[0], 9).unwrap();
        inflater.reset();
        assert_ne!(
            inflate(&mut inflater, &[0xf2, 0x00, 0x11, 0x00, 0x00], 9).ok().unwrap_or_default(),
            b"Hello"
        );
        inflater.reset();
        // Five bytes from as far back as any may be, which is where the first message was put: a block of fixed codes with the
        // length 259 and the distance 29, whose 13 further bits are all set, and its end (RFC 1951 §3.2.5 and §3.2.6).
        let bits = "010".to_owned() + "0000011" + "11101" + &"1".repeat(13) + "0000000" + "000";
        let bytes = bits
            .as_bytes()
            .chunks(8)
            .map(|eight| eight.iter().rev().fold(0, |byte, bit| byte << 1 | u8::from(*bit == b'1')));
        let text = inflate(&mut inflater, &bytes.collect::<Vec<u8>>(), 9).unwrap();
        assert_eq!(text, [0; 5]);
    }

    #[test]
    fn nothing_refers_further_back_than_the_window() {
        // No part of it is there twice (a linear congruential generator; Knuth, TAOCP 3.3.4, the constants of MMIX).
        let bytes = iter::successors(Some(1_u64), |last| {
            Some(last.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407))
        });
        let once: Vec<u8> = bytes.take(600).map(|number| number.to_be_bytes()[0]).collect();
        let twice = once.repeat(2);
        let length = |window_bits| Deflated::around(b"", &twice, window_bits).bytes.len();
        // 600 bytes back are within a window of 1,024 bytes or more, and not within one of 512.
        assert!(length(9) > twice.len(), "{}", length(9));
        assert!(length(15) < once.len() + 100, "{}", length(15));
    }

    proptest! {
        #[test]
        fn what_was_compressed_is_inflated_again_with_something_put_in_or_nothing(
            before in "[ab]{0,600}",
            behind in "[ab]{0,600}",
            open in "[a-z]{1,60}",
            window_bits in 8_u8..=15,
            at_once in 1_usize..64,
        ) {
            let deflated = Deflated::around(before.as_bytes(), behind.as_bytes(), window_bits);
            let mut inflater = Inflater::default();
            let whole = inflate(&mut inflater, &deflated.bytes, at_once).unwrap();
            prop_assert_eq!(whole, [before.as_bytes(), behind.as_bytes()].concat());
            let (first, second) = deflated.bytes.split_at(deflated.open_at);
            let header = stored_header(u16::try_from(open.len()).unwrap());
            let with = [first, &header, open.as_bytes(), second].concat();
            let whole = inflate(&mut inflater, &with, at_once).unwrap();
            prop_assert_eq!(whole, [before.as_bytes(), open.as_bytes(), behind.as_bytes()].concat());
        }
    }
}
