//! Eight bytes at once: where a byte is among them, and which number their digits are.

/// How many bytes a word has.
const BYTES: usize = 8;
const EACH: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x80 * EACH;
const LOW: u64 = !HIGH;
/// More digits do not fit in 64 bits.
const DIGITS_MAX: usize = 19;

/// The first bytes, of which the first is the lowest; behind the end of all are zeros.
fn word(bytes: &[u8]) -> u64 {
    if let Some(whole) = bytes.first_chunk() {
        return u64::from_le_bytes(*whole);
    }
    let mut padded = [0; BYTES];
    padded[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(padded)
}

/// A byte to look for, eight times.
#[derive(Clone, Copy, Debug)]
pub(super) struct Needle(u64);

impl Needle {
    pub(super) const fn of(byte: u8) -> Self {
        Self(byte as u64 * EACH)
    }

    pub(super) const fn byte(self) -> u8 {
        self.0.to_le_bytes()[0]
    }

    /// The highest bit of each byte that is this one.
    const fn found(self, word: u64) -> u64 {
        let differs = word ^ self.0;
        !(((differs & LOW) + LOW) | differs) & HIGH
    }
}

/// Where the first needle is; no needle is 0.
pub(super) fn first_of(needles: [Needle; 4], bytes: &[u8]) -> Option<usize> {
    let mut place = 0;
    while place < bytes.len() {
        let word = word(&bytes[place..]);
        let found = needles.iter().fold(0, |found, needle| found | needle.found(word));
        if found != 0 {
            return Some(place + first_byte(found));
        }
        place += BYTES;
    }
    None
}

/// What is behind the `count`-th of a byte; `None` where one of three others comes before it. None of them is 0.
pub(super) fn behind(count: usize, needle: Needle, others: [Needle; 3], bytes: &[u8]) -> Option<usize> {
    let mut missing = count;
    let mut place = 0;
    while missing > 0 {
        if place >= bytes.len() {
            return None;
        }
        let word = word(&bytes[place..]);
        let other = others.iter().fold(0, |found, other| found | other.found(word));
        // Those below the lowest bit that another one has.
        let mut found = needle.found(word) & other.wrapping_sub(1) & !other;
        while found != 0 {
            missing -= 1;
            if missing == 0 {
                return Some(place + first_byte(found) + 1);
            }
            found &= found - 1;
        }
        if other != 0 {
            return None;
        }
        place += BYTES;
    }
    Some(place)
}

/// The number of the digits with which some bytes begin, and how many there are; `None` where these are more than fit.
pub(super) fn digits(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut number = 0;
    let mut length = 0;
    loop {
        // Digits become their values, and all else more than 9.
        let values = word(bytes.get(length..).unwrap_or_default()) ^ (u64::from(b'0') * EACH);
        let others = (((values & LOW) + (0x80 - 10) * EACH) | values) & HIGH;
        let count = first_byte(others);
        length += count;
        if length > DIGITS_MAX {
            return None;
        }
        if count == 0 {
            return Some((number, length));
        }
        number = number * POWERS_OF_TEN[count] + of_eight(values << (u64::BITS as usize - 8 * count));
        if count < BYTES {
            return Some((number, length));
        }
    }
}

/// The number of the digits before and behind a point, all within a word, with how many are behind it and how many bytes
/// they take; `None` where it is longer, or none.
pub(super) fn short_decimal(bytes: &[u8]) -> Option<(u64, usize, usize)> {
    let values = word(bytes) ^ (u64::from(b'0') * EACH);
    let others = (((values & LOW) + (0x80 - 10) * EACH) | values) & HIGH;
    let before = first_byte(others);
    let length = first_byte(others & others.wrapping_sub(1));
    if before == 0 || length == BYTES || length <= before + 1 || bytes[before] != b'.' {
        return None;
    }
    // The digits behind the point are moved onto it.
    let digits_before = (1 << (8 * before)) - 1;
    let together = (values & digits_before) | ((values >> 8) & !digits_before);
    let number = of_eight(together << (u64::BITS as usize - 8 * (length - 1)));
    Some((number, length - 1 - before, length))
}

/// Powers of ten up to that of a word's digits.
const POWERS_OF_TEN: [u64; BYTES + 1] =
    [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// The number that eight digits are, of which the first is the lowest byte: pairs, then pairs of these.
const fn of_eight(values: u64) -> u64 {
    let pairs = (values * 10 + (values >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    (fours * 10_000 + (fours >> 32)) & 0xffff_ffff
}

/// The place of the first byte with its highest bit set; 8 where none has.
const fn first_byte(found: u64) -> usize {
    found.trailing_zeros() as usize / 8
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ENDS: [u8; 4] = *b",\n\r\"";

    proptest! {
        #[test]
        fn the_first_of_some_bytes_is_where_a_look_at_each_finds_it(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let each = bytes.iter().position(|byte| ENDS.contains(byte));
            prop_assert_eq!(first_of(ENDS.map(Needle::of), &bytes), each);
        }

        #[test]
        fn what_is_behind_some_separators_is_where_a_look_at_each_finds_it(text in "[a,,,\u{ac}\u{2c}\n\"-]{0,40}", count in 0_usize..5) {
            let bytes = text.as_bytes();
            let until = bytes.iter().position(|byte| ENDS[1..].contains(byte)).unwrap_or(bytes.len());
            let places = bytes[..until].iter().enumerate().filter(|(_, byte)| **byte == b',').map(|(place, _)| place + 1);
            let each = if count == 0 { Some(0) } else { places.clone().nth(count - 1) };
            prop_assert_eq!(behind(count, Needle::of(b','), [b'\n', b'\r', b'"'].map(Needle::of), bytes), each);
        }

        #[test]
        fn digits_are_the_number_that_the_standard_library_reads(number in any::<u64>(), zeros in 0_usize..3, behind in "[^0-9].{0,9}") {
            let printed = format!("{}{number}", "0".repeat(zeros));
            let expected = (printed.len() <= DIGITS_MAX).then_some((number, printed.len()));
            prop_assert_eq!(digits(printed.as_bytes()), expected);
            prop_assert_eq!(digits(format!("{printed}{behind}").as_bytes()), expected);
        }

        #[test]
        fn short_decimals_are_those_that_the_standard_library_reads(text in "[0-9]{0,4}(\\.|,|)[0-9]{0,5}[,.\n]") {
            let field = &text[..text.len() - 1];
            let is_one = field.split('.').count() == 2 && !field.contains(',') && !field.starts_with('.') && !field.ends_with('.');
            let found = short_decimal(text.as_bytes());
            if !is_one || field.len() >= BYTES {
                prop_assert_eq!(found, None);
            } else {
                let digits: u64 = field.replace('.', "").parse().unwrap();
                prop_assert_eq!(found, Some((digits, field.len() - field.find('.').unwrap() - 1, field.len())));
            }
        }

        #[test]
        fn bytes_that_are_no_digit_end_a_number(byte in any::<u8>(), number in 0_u64..100_000_000) {
            let printed = number.to_string();
            let text = [printed.as_bytes(), &[byte], b"12345678"].concat();
            if !byte.is_ascii_digit() {
                prop_assert_eq!(digits(&text), Some((number, printed.len())));
            }
        }
    }
}
