//! Integers of variable length (RFC 9000 §16).

/// The largest one.
pub const LARGEST: u64 = (1 << 62) - 1;
/// The longest form of one.
pub const LONGEST_BYTES: usize = 8;

/// The integer that the bytes begin with, and its length; nothing where they do not hold all of it.
#[inline]
#[must_use]
pub fn read(bytes: &[u8]) -> Option<(u64, usize)> {
    let &first = bytes.first()?;
    let length = 1 << (first >> 6);
    let (integer, _) = bytes.split_at_checked(length)?;
    let value =
        integer[1..].iter().fold(u64::from(first & 0x3f), |value, byte| value << 8 | u64::from(*byte));
    Some((value, length))
}

/// Appends an integer in its shortest form.
///
/// # Panics
/// It is larger than [`LARGEST`].
#[inline]
pub fn write(value: u64, to: &mut Vec<u8>) {
    assert!(value <= LARGEST, "{value} has no form of variable length");
    let bytes = value.to_be_bytes();
    let (length, form) = match value {
        0..0x40 => (1, 0x00),
        0x40..0x4000 => (2, 0x40),
        0x4000..0x4000_0000 => (4, 0x80),
        _ => (8, 0xc0),
    };
    let start = to.len();
    to.extend_from_slice(&bytes[LONGEST_BYTES - length..]);
    to[start] |= form;
}

#[cfg(test)]
mod tests {
    use super::{LARGEST, read, write};
    use proptest::prelude::*;

    #[test]
    fn the_examples_of_the_rfc_are_read_as_there() {
        // RFC 9000 appendix A.1; 37 also in a form that is longer than it has to be.
        let examples: [(&[u8], u64); 5] = [
            (&[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c], 151_288_809_941_952_652),
            (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333),
            (&[0x7b, 0xbd], 15_293),
            (&[0x25], 37),
            (&[0x40, 0x25], 37),
        ];
        for (bytes, value) in examples {
            assert_eq!(read(bytes), Some((value, bytes.len())));
            assert_eq!(read(&[bytes, b"more"].concat()), Some((value, bytes.len())));
            for cut in 0..bytes.len() {
                assert_eq!(read(&bytes[..cut]), None);
            }
        }
        for (bytes, value) in &examples[..4] {
            let mut written = Vec::new();
            write(*value, &mut written);
            assert_eq!(written, *bytes);
        }
    }

    proptest! {
        #[test]
        fn every_integer_is_read_as_it_was_written(value in 0..=LARGEST, shift in 0_u32..62) {
            let value = value >> shift;
            let mut bytes = Vec::new();
            write(value, &mut bytes);
            prop_assert_eq!(read(&bytes), Some((value, bytes.len())));
        }
    }
}
