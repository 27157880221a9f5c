//! What fields hold where values are verified.

use crate::decimal::digits_from_the_last;

/// Appends the `length` bytes that the field of the record of this key holds where values are verified.
///
/// They are those of YCSB's `dataintegrity`: the key and the name, and then over and over, behind a colon, the hash of all
/// characters before it, as Java hashes texts, until there are enough.
pub(crate) fn append_expected(text: &mut Vec<u8>, length: usize, key: &str, name: &str) {
    let start = text.len();
    for part in [key, ":", name] {
        text.extend_from_slice(part.as_bytes());
    }
    let mut hash = JavaHash::of(&text[start..]);
    while text.len() < start + length {
        text.push(b':');
        hash = hash.followed_by(JavaHash::of(b":"));
        hash = hash.followed_by(append_decimal(text, hash.value));
    }
    text.truncate(start + length);
}

/// Appends a number; returns the hash of its characters, which is made from the last to the first as they are, so that none
/// has to be read again.
fn append_decimal(text: &mut Vec<u8>, number: i32) -> JavaHash {
    const BYTES_MAX: usize = "-2147483648".len();
    let (mut buffer, mut start) = ([0; BYTES_MAX], BYTES_MAX);
    let mut hash = JavaHash::EMPTY;
    let mut prepend = |characters: &[u8]| {
        let end = start;
        start -= characters.len();
        buffer[start..end].copy_from_slice(characters);
        hash = JavaHash::of_few(characters).followed_by(hash);
    };
    digits_from_the_last(number.unsigned_abs().into(), &mut prepend);
    if number < 0 {
        prepend(b"-");
    }
    text.extend_from_slice(&buffer[start..]);
    hash
}

/// The hash of a text of ASCII characters in Java: s₁·31ⁿ⁻¹ + s₂·31ⁿ⁻² + … + sₙ in 32 bits.
#[derive(Clone, Copy, Debug)]
struct JavaHash {
    value: i32,
    /// 31ⁿ, which takes what precedes the text to its place.
    power: i32,
}

impl JavaHash {
    const EMPTY: Self = Self { value: 0, power: 1 };

    fn of(text: &[u8]) -> Self {
        // By fours, because each character would have to wait for the one before it.
        let mut fours = text.chunks_exact(4);
        let hash = fours.by_ref().fold(Self::EMPTY, |hash, four| hash.followed_by(Self::of_few(four)));
        hash.followed_by(Self::of_few(fours.remainder()))
    }

    fn of_few(text: &[u8]) -> Self {
        text.iter()
            .fold(Self::EMPTY, |hash, byte| hash.followed_by(Self { value: i32::from(*byte), power: 31 }))
    }

    /// The hash of both texts together.
    fn followed_by(self, next: Self) -> Self {
        Self {
            value: self.value.wrapping_mul(next.power).wrapping_add(next.value),
            power: self.power.wrapping_mul(next.power),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{JavaHash, append_decimal, append_expected};

    #[test]
    fn hashes_are_those_of_the_java_language() {
        // Known values: "Aa" and "BB" are the textbook's collision, and the last one is the textbook's smallest hash.
        for (text, hash) in [("", 0), ("a", 97), ("Aa", 2112), ("BB", 2112), ("polygenelubricants", i32::MIN)]
        {
            assert_eq!(JavaHash::of(text.as_bytes()).value, hash, "{text}");
        }
    }

    #[test]
    fn the_hash_of_a_text_is_that_of_its_parts_however_it_is_divided() {
        let text = b"polygenelubricants";
        for place in 0..=text.len() {
            let (before, behind) = text.split_at(place);
            assert_eq!(JavaHash::of(before).followed_by(JavaHash::of(behind)).value, i32::MIN, "at {place}");
        }
    }

    #[test]
    fn a_number_is_appended_in_decimal_and_its_characters_are_hashed() {
        for number in [0, 7, 10, 99, 100, 1_000_005, -1, -90, i32::MAX, i32::MIN] {
            let mut text = b":".to_vec();
            let hash = append_decimal(&mut text, number);
            assert_eq!(text, format!(":{number}").as_bytes());
            assert_eq!(hash.value, JavaHash::of(&text[1..]).value, "of {number}");
        }
    }

    #[test]
    fn a_text_that_is_shorter_than_its_key_is_cut_off() {
        let mut text = b"before it:".to_vec();
        append_expected(&mut text, 7, "user1234", "field0");
        assert_eq!(text, b"before it:user123");
    }
}
