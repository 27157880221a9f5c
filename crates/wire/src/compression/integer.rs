//! Integers with a prefix (RFC 7541 §5.1).

use crate::error::HpackError;

/// The largest number of QUIC, and so of QPACK (RFC 9204 §4.1.1).
const LARGEST: u64 = (1 << 62) - 1;

/// Reads the integer that begins in the low `prefix_bits` of the first byte; gives it and what follows it.
#[inline]
pub(crate) fn decode(bytes: &[u8], prefix_bits: u32) -> Result<(usize, &[u8]), HpackError> {
    // Five groups of seven bits hold every number of 32 bits; more than that holds none that is of use.
    let (value, rest) = decode_groups::<5>(bytes, prefix_bits)?;
    let value = u32::try_from(value).map_err(|_| HpackError::IntegerOverflow)?;
    Ok((value as usize, rest))
}

/// As [`decode`], of up to 62 bits.
#[inline]
pub(crate) fn decode_long(bytes: &[u8], prefix_bits: u32) -> Result<(u64, &[u8]), HpackError> {
    let (value, rest) = decode_groups::<9>(bytes, prefix_bits)?;
    if value > LARGEST { Err(HpackError::IntegerOverflow) } else { Ok((value, rest)) }
}

#[inline]
fn decode_groups<const GROUPS: u32>(bytes: &[u8], prefix_bits: u32) -> Result<(u64, &[u8]), HpackError> {
    let (&first, mut rest) = bytes.split_first().ok_or(HpackError::Truncated)?;
    let most = u8::MAX >> (u8::BITS - prefix_bits);
    let prefix = first & most;
    if prefix < most {
        return Ok((u64::from(prefix), rest));
    }
    let mut value = u64::from(most);
    for group in 0..GROUPS {
        let (&byte, behind) = rest.split_first().ok_or(HpackError::Truncated)?;
        rest = behind;
        value += u64::from(byte & 0x7f) << (7 * group);
        if byte & 0x80 == 0 {
            return Ok((value, rest));
        }
    }
    Err(HpackError::IntegerOverflow)
}

/// Appends an integer whose first byte has `pattern` in front of its prefix.
#[inline]
pub(crate) fn encode(value: usize, prefix_bits: u32, pattern: u8, to: &mut Vec<u8>) {
    let most = (1_usize << prefix_bits) - 1;
    if value < most {
        to.push(pattern | low_byte(value));
        return;
    }
    to.push(pattern | low_byte(most));
    let mut rest = value - most;
    while rest >= 0x80 {
        to.push(low_byte(rest & 0x7f) | 0x80);
        rest >>= 7;
    }
    to.push(low_byte(rest));
}

/// What is above is zero.
const fn low_byte(value: usize) -> u8 {
    value.to_le_bytes()[0]
}

#[cfg(test)]
mod tests {
    use super::{LARGEST, decode, decode_long, encode};
    use crate::error::HpackError;
    use proptest::prelude::*;

    fn encoded(value: usize, prefix_bits: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode(value, prefix_bits, 0, &mut bytes);
        bytes
    }

    #[test]
    fn the_examples_of_the_rfc_are_written_as_there() {
        // RFC 7541 appendix C.1.
        assert_eq!(encoded(10, 5), [0b01010]);
        assert_eq!(encoded(1337, 5), [0b0001_1111, 0b1001_1010, 0b0000_1010]);
        assert_eq!(encoded(42, 8), [0b0010_1010]);
    }

    #[test]
    fn numbers_that_never_end_or_are_too_large_are_refused() {
        assert_eq!(decode(&[], 5), Err(HpackError::Truncated));
        assert_eq!(decode(&[0x1f, 0x80], 5), Err(HpackError::Truncated));
        assert_eq!(decode(&[0x1f, 0xff, 0xff, 0xff, 0xff, 0xff], 5), Err(HpackError::IntegerOverflow));
        // 2^32 − 1 is the largest.
        assert_eq!(decode(&encoded(0xffff_ffff, 7), 7), Ok((0xffff_ffff, [].as_slice())));
        assert_eq!(decode(&encoded(0x1_0000_0000, 7), 7), Err(HpackError::IntegerOverflow));
        // A zero in many bytes is no reason to go on reading.
        assert_eq!(decode(&[0x1f, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00], 5), Err(HpackError::IntegerOverflow));
    }

    #[test]
    fn long_numbers_have_up_to_62_bits() {
        // RFC 9204 §4.1.1. Nine groups of seven bits hold what is above 127.
        let mut bytes = vec![0x7f];
        let mut rest = LARGEST - 0x7f;
        while rest >= 0x80 {
            bytes.push(0x80 | rest.to_le_bytes()[0] & 0x7f);
            rest >>= 7;
        }
        bytes.push(rest.to_le_bytes()[0]);
        assert_eq!(decode_long(&bytes, 7), Ok((LARGEST, [].as_slice())));
        bytes[1] += 1;
        assert_eq!(decode_long(&bytes, 7), Err(HpackError::IntegerOverflow));
        assert_eq!(
            decode_long(&[&[0x7f][..], &[0x80; 9], &[0]].concat(), 7),
            Err(HpackError::IntegerOverflow)
        );
    }

    proptest! {
        #[test]
        fn every_number_is_read_as_it_was_written(value in any::<u32>(), prefix_bits in 3_u32..=8) {
            let bytes = [encoded(value as usize, prefix_bits), vec![7]].concat();
            prop_assert_eq!(decode(&bytes, prefix_bits), Ok((value as usize, [7].as_slice())));
        }
    }
}
