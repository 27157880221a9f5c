//! The Huffman code of HPACK (RFC 7541 §5.2 and appendix B).
//!
//! The code is canonical: shorter codes come first, and codes of one length are numbered in the order of their symbols.
//! So the lengths of the appendix say everything, and all tables are made of them while compiling.

use crate::error::HpackError;

const SYMBOLS: usize = 257;
const END_OF_STRING: u16 = 256;
const LONGEST: usize = 30;

/// The length in bits of each symbol's code.
#[rustfmt::skip]
const LENGTHS: [u8; SYMBOLS] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7,
    7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21,
    23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24,
    21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
];

/// The symbols in the order of their codes, and where the codes of each length begin.
struct Canonical {
    symbols: [u16; SYMBOLS],
    /// The first code of each length.
    first_code: [u32; LONGEST + 1],
    /// Its place among the symbols.
    first_place: [usize; LONGEST + 2],
}

const CANONICAL: Canonical = {
    let mut canonical =
        Canonical { symbols: [0; SYMBOLS], first_code: [0; LONGEST + 1], first_place: [0; LONGEST + 2] };
    let (mut length, mut place, mut code) = (1, 0, 0);
    while length <= LONGEST {
        code <<= 1;
        canonical.first_code[length] = code;
        canonical.first_place[length] = place;
        let mut symbol = 0;
        while symbol <= END_OF_STRING {
            if LENGTHS[symbol as usize] as usize == length {
                canonical.symbols[place] = symbol;
                place += 1;
                code += 1;
            }
            symbol += 1;
        }
        length += 1;
    }
    canonical.first_place[length] = place;
    canonical
};

/// The code of each byte.
static CODES: [u32; 256] = {
    let mut codes = [0; 256];
    let mut length = 1;
    while length <= LONGEST {
        let (mut place, mut code) = (CANONICAL.first_place[length], CANONICAL.first_code[length]);
        while place < CANONICAL.first_place[length + 1] {
            let symbol = CANONICAL.symbols[place];
            if symbol != END_OF_STRING {
                codes[symbol as usize] = code;
            }
            place += 1;
            code += 1;
        }
        length += 1;
    }
    codes
};

/// Codes of up to this number of bits, which is all of printable ASCII but for a few symbols, are found by one look.
const LOOKED_UP_BITS: u32 = 10;

/// The byte whose code begins so, and its length; a length of 0 where the code is longer.
static SHORT: [(u8, u8); 1 << LOOKED_UP_BITS] = {
    let mut table = [(0, 0); 1 << LOOKED_UP_BITS];
    let mut byte = 0_u8;
    loop {
        let length = LENGTHS[byte as usize];
        if length as u32 <= LOOKED_UP_BITS {
            let free_bits = LOOKED_UP_BITS - length as u32;
            let mut index = (CODES[byte as usize] << free_bits) as usize;
            let end = index + (1 << free_bits);
            while index < end {
                table[index] = (byte, length);
                index += 1;
            }
        }
        if byte == u8::MAX {
            break table;
        }
        byte += 1;
    }
};

/// Appends what a Huffman-coded string stands for.
///
/// # Errors
/// The string has the end-of-string symbol, or its padding is not up to seven ones.
pub fn decode(bytes: &[u8], to: &mut Vec<u8>) -> Result<(), HpackError> {
    // The shortest code has five bits.
    to.reserve(bytes.len() * 8 / 5);
    // The next bits, from the highest down, followed by zeros.
    let mut window = 0_u64;
    let mut available = 0_u32;
    let mut rest = bytes.iter();
    loop {
        while available <= 56 {
            let Some(&byte) = rest.next() else { break };
            window |= u64::from(byte) << (56 - available);
            available += 8;
        }
        let (byte, length) = SHORT[(window >> (64 - LOOKED_UP_BITS)) as usize];
        let (symbol, length) =
            if length > 0 { (u16::from(byte), u32::from(length)) } else { find_long(window) };
        if length > available {
            break;
        }
        let Ok(byte) = u8::try_from(symbol) else { return Err(HpackError::HuffmanEndOfString) };
        to.push(byte);
        window <<= length;
        available -= length;
    }
    // The padding is the start of the end-of-string symbol, which is all ones.
    let is_padding = available < 8 && window.leading_ones() >= available;
    if is_padding { Ok(()) } else { Err(HpackError::HuffmanPadding) }
}

/// The symbol that begins the window and the length of its code, for codes that are not looked up.
#[cold]
fn find_long(window: u64) -> (u16, u32) {
    for length in LOOKED_UP_BITS + 1..=30 {
        let index = length as usize;
        let number = (window >> (64 - length)).wrapping_sub(u64::from(CANONICAL.first_code[index]));
        let symbols = &CANONICAL.symbols[CANONICAL.first_place[index]..CANONICAL.first_place[index + 1]];
        if let Some(symbol) = usize::try_from(number).ok().and_then(|number| symbols.get(number)) {
            return (*symbol, length);
        }
    }
    // Every window begins with a code, because the code is complete.
    (END_OF_STRING, 30)
}

/// The length of a string when it is Huffman-coded.
pub(crate) fn encoded_length(bytes: &[u8]) -> usize {
    let bits: usize = bytes.iter().map(|&byte| usize::from(LENGTHS[usize::from(byte)])).sum();
    bits.div_ceil(8)
}

/// Appends a string Huffman-coded.
pub fn encode(bytes: &[u8], to: &mut Vec<u8>) {
    // What is not written yet, in the low bits.
    let (mut window, mut pending) = (0_u64, 0_u32);
    for &byte in bytes {
        let length = u32::from(LENGTHS[usize::from(byte)]);
        window = window << length | u64::from(CODES[usize::from(byte)]);
        pending += length;
        while pending >= 8 {
            pending -= 8;
            to.push(low_byte(window >> pending));
        }
    }
    if pending > 0 {
        let free_bits = 8 - pending;
        to.push(low_byte(window << free_bits) | ((1 << free_bits) - 1));
    }
}

/// What is above has been written already.
const fn low_byte(window: u64) -> u8 {
    window.to_le_bytes()[0]
}

#[cfg(test)]
mod tests {
    use super::{LENGTHS, decode, encode, encoded_length};
    use crate::error::HpackError;
    use proptest::prelude::*;

    fn encoded(bytes: &[u8]) -> Vec<u8> {
        let mut to = Vec::new();
        encode(bytes, &mut to);
        to
    }

    fn decoded(bytes: &[u8]) -> Result<Vec<u8>, HpackError> {
        let mut to = Vec::new();
        decode(bytes, &mut to).map(|()| to)
    }

    #[test]
    fn the_code_is_complete() {
        // Kraft's sum of a complete prefix code is 1.
        let sum: u64 = LENGTHS.iter().map(|length| 1 << (30 - length)).sum();
        assert_eq!(sum, 1 << 30);
    }

    #[test]
    fn the_examples_of_the_rfc_are_coded_as_there() {
        // RFC 7541 appendix C.4 and C.6.
        let examples: [(&[u8], &[u8]); 3] = [
            (b"www.example.com", b"\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff"),
            (b"no-cache", b"\xa8\xeb\x10\x64\x9c\xbf"),
            (b"302", b"\x64\x02"),
        ];
        for (text, code) in examples {
            assert_eq!(encoded(text), code);
            assert_eq!(decoded(code).unwrap(), text);
        }
    }

    #[test]
    fn padding_is_up_to_seven_ones_and_the_end_of_string_stands_in_no_string() {
        // "0" has the code 00000.
        assert_eq!(decoded(&[0b0000_0111]).unwrap(), b"0");
        assert_eq!(decoded(&[0b0000_0110]), Err(HpackError::HuffmanPadding));
        assert_eq!(decoded(&[0b0000_0111, 0xff]), Err(HpackError::HuffmanPadding));
        assert_eq!(decoded(&[0xff]), Err(HpackError::HuffmanPadding));
        assert_eq!(decoded(&[0xff; 4]), Err(HpackError::HuffmanEndOfString));
        assert_eq!(decoded(&[]).unwrap(), b"");
    }

    proptest! {
        #[test]
        fn every_string_is_read_as_it_was_coded(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let code = encoded(&bytes);
            prop_assert_eq!(code.len(), encoded_length(&bytes));
            prop_assert_eq!(decoded(&code).unwrap(), bytes);
        }
    }
}
