//! What fields hold where values are not verified.

use std::sync::Arc;

use loadcurve_plan::{Purpose, Random};

/// Makes random texts of 64 different characters, none of which JSON or SQL would escape.
///
/// To draw every character would take longer than all else that makes an operation. So a pool of random words is drawn once;
/// a text is a slice of it, or several, each changed by a random mask. Of 2⁴⁸ masks two are hardly ever alike anywhere, so
/// that texts have no more in common than chance gives them, and a database that compresses finds nothing.
#[derive(Clone, Debug)]
pub(crate) struct Texts {
    pool: Arc<[u64]>,
}

const WORD_BYTES: usize = 8;
/// In how many places of the pool a slice may begin: few enough for a processor's nearest cache.
const STARTS: usize = 1024;
/// The most words of a slice: a record of YCSB's fits into one.
const SLICE_WORDS: usize = 128;

impl Texts {
    /// For operations of this seed.
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed, Purpose::Texts);
        Self { pool: (0..STARTS + SLICE_WORDS).map(|_| random.next_u64()).collect() }
    }

    /// Fills a text with this many characters, each of them ASCII.
    #[allow(clippy::cast_possible_truncation)] // A place in the pool is below its length.
    pub(crate) fn fill(&self, text: &mut Vec<u8>, length: usize, random: &mut Random) {
        text.resize(length.next_multiple_of(WORD_BYTES), 0);
        for slice in text.chunks_mut(SLICE_WORDS * WORD_BYTES) {
            let start = random.next_below(STARTS as u64) as usize;
            let mask = random.next_u64();
            for (place, word) in slice.chunks_exact_mut(WORD_BYTES).zip(&self.pool[start..]) {
                place.copy_from_slice(&characters(word ^ mask).to_le_bytes());
            }
        }
        text.truncate(length);
    }
}

/// The characters for the six lowest bits of each byte: `<` to `[` and, behind the backslash, `]` to `|`.
fn characters(word: u64) -> u64 {
    const EACH: u64 = u64::from_le_bytes([1; WORD_BYTES]);
    let numbers = word & (EACH * 0b11_1111);
    let upper_half = (word >> 5) & EACH;
    // No byte of the sum is above 0x7c, so nothing is carried over to the next.
    numbers + upper_half + EACH * u64::from(b'<')
}

#[cfg(test)]
mod tests {
    use super::Texts;
    use loadcurve_plan::{Purpose, Random};
    use std::collections::BTreeMap;

    /// This many texts of this length, one behind the other, each from its own random numbers.
    fn texts(count: u64, length: usize) -> Vec<u8> {
        let texts = Texts::new(1);
        let start = Random::new(1, Purpose::Operations);
        let mut text = Vec::new();
        let made = (0..count).flat_map(|number| {
            texts.fill(&mut text, length, &mut start.at(number));
            text.clone()
        });
        made.collect()
    }

    #[test]
    fn a_text_has_its_length_and_characters_that_nothing_escapes() {
        for length in [100, 0, 1, 7, 8, 9, 1023, 1024, 1025, 5000] {
            let text = texts(1, length);
            assert_eq!(text.len(), length);
            assert!(text.iter().all(|byte| byte.is_ascii_graphic() && !b"\"'\\".contains(byte)), "{text:?}");
        }
    }

    #[test]
    fn each_of_64_characters_is_as_likely() {
        let mut counts = BTreeMap::new();
        for byte in texts(6400, 100) {
            *counts.entry(byte).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 64);
        // Each count is binomial with mean 10,000 and deviation 99; five of them are allowed.
        assert!(counts.values().all(|count: &i32| (count - 10_000).abs() < 500), "{counts:?}");
    }

    #[test]
    fn texts_have_no_more_in_common_than_chance_gives_them() {
        // Four characters of one place are those of another with the probability 64⁻⁴.
        let text = texts(2620, 100);
        let mut fours: Vec<&[u8]> = text.windows(4).collect();
        fours.sort_unstable();
        let pairs = |alike: &[&[u8]]| alike.len() * (alike.len() - 1) / 2;
        let found = fours.chunk_by(|one, next| one == next).map(pairs).sum::<usize>() as f64;
        let expected = (fours.len() * (fours.len() - 1) / 2) as f64 / 64_f64.powi(4);
        // About as many as Poisson's distribution would have; five deviations are allowed.
        assert!((found - expected).abs() < 5.0 * expected.sqrt(), "{found} instead of {expected}");
    }
}
