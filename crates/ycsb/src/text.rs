//! What fields hold.

use std::fmt::Write;
use std::mem;

use loadcurve_plan::Random;

/// Fills a text with so many random characters of `0` to `~`: 64 different ones, none of which JSON or SQL would escape.
pub(crate) fn fill(text: &mut String, length: usize, random: &mut Random) {
    /// The six lowest bits of each of eight bytes.
    const SIX_BITS: u64 = 0x3f3f_3f3f_3f3f_3f3f;
    const LOWEST: u64 = u64::from_ne_bytes([b'0'; 8]);

    let mut bytes = mem::take(text).into_bytes();
    bytes.resize(length, 0);
    // No byte of the sum is above 0x6f, so nothing is carried over to the next.
    let mut draw = || ((random.next_u64() & SIX_BITS) + LOWEST).to_le_bytes();
    let mut eights = bytes.chunks_exact_mut(8);
    for eight in &mut eights {
        eight.copy_from_slice(&draw());
    }
    let rest = eights.into_remainder();
    rest.copy_from_slice(&draw()[..rest.len()]);
    for byte in &mut bytes {
        *byte = if *byte == b'\\' { b'~' } else { *byte };
    }
    *text = String::from_utf8(bytes).expect("every byte is ASCII");
}

/// Fills a text with the so many characters that the field of the record of this key holds where values are verified.
///
/// They are those of YCSB's `dataintegrity`: the key and the name, and then over and over, behind a colon, the hash of all
/// characters before it, as Java hashes texts, until there are enough.
pub(crate) fn fill_expected(text: &mut String, length: usize, key: &str, name: &str) {
    text.clear();
    // The last hash may reach behind the end before it is cut off: with room for it, no later text needs more.
    text.reserve(length + "-2147483648".len());
    let mut hash = JavaHash(0);
    for part in [key, ":", name] {
        hash.add(part);
        text.push_str(part);
    }
    while text.len() < length {
        hash.add(":");
        text.push(':');
        let start = text.len();
        write!(text, "{}", hash.0).expect("a text takes any characters");
        hash.add(&text[start..]);
    }
    text.truncate(length);
}

/// The hash of a text of ASCII characters in Java: s₁·31ⁿ⁻¹ + s₂·31ⁿ⁻² + … + sₙ in 32 bits.
struct JavaHash(i32);

impl JavaHash {
    fn add(&mut self, part: &str) {
        for byte in part.bytes() {
            self.0 = self.0.wrapping_mul(31).wrapping_add(i32::from(byte));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{JavaHash, fill, fill_expected};
    use loadcurve_plan::{Purpose, Random};
    use std::collections::BTreeMap;

    #[test]
    fn hashes_are_those_of_the_java_language() {
        // Known values: "Aa" and "BB" are the textbook's collision, and the last one is the textbook's smallest hash.
        for (text, hash) in [("", 0), ("a", 97), ("Aa", 2112), ("BB", 2112), ("polygenelubricants", i32::MIN)]
        {
            let mut java = JavaHash(0);
            java.add(text);
            assert_eq!(java.0, hash, "{text}");
        }
    }

    #[test]
    fn a_random_text_has_its_length_and_characters_that_nothing_escapes() {
        let mut random = Random::new(1, Purpose::Operations);
        let mut text = String::new();
        for length in [100, 0, 1, 7, 8, 9, 1000] {
            fill(&mut text, length, &mut random);
            assert_eq!(text.len(), length);
            assert!(text.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"'\\".contains(&byte)), "{text}");
        }
    }

    #[test]
    fn each_of_64_characters_is_as_likely() {
        let mut random = Random::new(2, Purpose::Operations);
        let mut text = String::new();
        fill(&mut text, 640_003, &mut random);
        let mut counts = BTreeMap::new();
        text.bytes().for_each(|byte| *counts.entry(byte).or_insert(0) += 1);
        assert_eq!(counts.len(), 64);
        // Each count is binomial with mean 10,000 and deviation 99; five of them are allowed.
        assert!(counts.values().all(|count: &i32| (count - 10_000).abs() < 500), "{counts:?}");
    }

    #[test]
    fn a_text_that_is_shorter_than_its_key_is_cut_off() {
        let mut text = String::from("of another record");
        fill_expected(&mut text, 7, "user1234", "field0");
        assert_eq!(text, "user123");
    }
}
