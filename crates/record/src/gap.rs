//! When nothing was answered: the longest stretches of the window without an answer.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use loadcurve_plan::Nanos;
use serde::{Deserialize, Serialize};

/// How exactly the moments of a short load are kept.
const FINEST: Nanos = Nanos::from_millis(1);
/// The most slots that are kept: nearly nine minutes of the finest, in 64 KiB.
const MOST_SLOTS: usize = 1 << 19;
const SLOTS_PER_WORD: usize = u64::BITS as usize;
/// How many gaps are reported.
pub const GAPS_MAX: usize = 10;

/// A stretch of time without an answer, which lasted at most two slots longer than its `length` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// When it begins, counted from the start of the measured window.
    pub start: Nanos,
    /// How long it lasts.
    pub length: Nanos,
}

/// In which slots of time anything was answered: one bit for each.
///
/// Whether *nothing* was answered is a question about all workers at once: it cannot be determined from each one's
/// longest gaps. Slots can be merged, by `or`, in any order. All are equally wide: a millisecond, until there would be
/// more than [`MOST_SLOTS`] of them. Then neighbours become one, and the width doubles.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(into = "StoredSlots", try_from = "StoredSlots")]
pub(crate) struct Answered {
    width: Nanos,
    /// The end of the slot that was marked last: most answers fall into it, and cost a comparison.
    marked_until: Nanos,
    words: Box<[u64]>,
}

/// As [`Answered`] is stored: the bytes of its words up to the last one in use, the lowest first, in base64.
#[derive(Serialize, Deserialize)]
struct StoredSlots {
    width_ns: Nanos,
    slots: String,
}

impl From<Answered> for StoredSlots {
    fn from(answered: Answered) -> Self {
        let in_use = answered.words.iter().rposition(|word| *word != 0).map_or(0, |last| last + 1);
        let bytes: Vec<u8> = answered.words[..in_use].iter().flat_map(|word| word.to_le_bytes()).collect();
        Self { width_ns: answered.width, slots: BASE64.encode(bytes) }
    }
}

impl TryFrom<StoredSlots> for Answered {
    type Error = &'static str;

    fn try_from(stored: StoredSlots) -> Result<Self, &'static str> {
        let bytes = BASE64.decode(stored.slots).map_err(|_| "slots of time are not base64")?;
        let is_width =
            stored.width_ns.0.is_multiple_of(FINEST.0) && (stored.width_ns.0 / FINEST.0).is_power_of_two();
        if !is_width || bytes.len() > MOST_SLOTS / 8 || bytes.len() % 8 != 0 {
            return Err("there are too many slots of time, or their width is not a possible one");
        }
        let mut answered = Self { width: stored.width_ns, ..Self::default() };
        for (word, bytes) in answered.words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        }
        Ok(answered)
    }
}

impl Default for Answered {
    fn default() -> Self {
        // Zeroed memory is taken from the kernel only where it is written.
        let words = vec![0; MOST_SLOTS / SLOTS_PER_WORD].into_boxed_slice();
        Self { width: FINEST, marked_until: Nanos::ZERO, words }
    }
}

impl Answered {
    /// Notes an answer `since_start`; time does not go back.
    pub(crate) fn mark(&mut self, since_start: Nanos) {
        if since_start < self.marked_until {
            return;
        }
        while self.slot_of(since_start) >= MOST_SLOTS {
            self.coarsen();
        }
        let slot = self.slot_of(since_start);
        self.words[slot / SLOTS_PER_WORD] |= 1 << (slot % SLOTS_PER_WORD);
        self.marked_until = Nanos(self.width.0 * (slot as u64 + 1));
    }

    /// Adds the answers of another worker.
    pub(crate) fn merge(&mut self, other: &Self) {
        while self.width < other.width {
            self.coarsen();
        }
        if other.width < self.width {
            let mut other = other.clone();
            while other.width < self.width {
                other.coarsen();
            }
            return self.merge(&other);
        }
        for (word, more) in self.words.iter_mut().zip(&other.words) {
            *word |= more;
        }
        self.marked_until = self.marked_until.max(other.marked_until);
    }

    /// The longest gaps within a window of this length, the longest first.
    pub(crate) fn gaps(&self, length: Nanos) -> Vec<Gap> {
        let mut found = Vec::new();
        let mut silent_from = Nanos::ZERO;
        for slot in self.marked_slots() {
            let start = Nanos(self.width.0 * slot as u64);
            if start >= length {
                break;
            }
            push_gap(&mut found, silent_from, start);
            silent_from = start + self.width;
        }
        push_gap(&mut found, silent_from, length);
        found.sort_by_key(|gap| (std::cmp::Reverse(gap.length), gap.start));
        found.truncate(GAPS_MAX);
        found
    }

    fn marked_slots(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(index, word)| {
            let is_marked = move |bit: &usize| word >> bit & 1 == 1;
            let bits = if *word == 0 { 0..0 } else { 0..SLOTS_PER_WORD };
            bits.filter(is_marked).map(move |bit| index * SLOTS_PER_WORD + bit)
        })
    }

    fn slot_of(&self, since_start: Nanos) -> usize {
        usize::try_from(since_start.0 / self.width.0).unwrap_or(usize::MAX)
    }

    /// Makes one slot of each two neighbours.
    fn coarsen(&mut self) {
        let marked: Vec<usize> = self.marked_slots().collect();
        self.words.fill(0);
        self.width = Nanos(2 * self.width.0);
        for slot in marked {
            let slot = slot / 2;
            self.words[slot / SLOTS_PER_WORD] |= 1 << (slot % SLOTS_PER_WORD);
        }
        self.marked_until = Nanos::ZERO;
    }
}

/// Adds the stretch of time, unless it is empty.
fn push_gap(found: &mut Vec<Gap>, start: Nanos, end: Nanos) {
    if start < end {
        found.push(Gap { start, length: end - start });
    }
}

#[cfg(test)]
mod tests {
    use loadcurve_plan::Nanos;
    use proptest::prelude::*;

    use super::{Answered, FINEST, GAPS_MAX, Gap, MOST_SLOTS};

    fn answered_at_ms(times_ms: &[u64]) -> Answered {
        let mut answered = Answered::default();
        for time_ms in times_ms {
            answered.mark(Nanos::from_millis(*time_ms));
        }
        answered
    }

    fn gap_ms(start_ms: u64, length_ms: u64) -> Gap {
        Gap { start: Nanos::from_millis(start_ms), length: Nanos::from_millis(length_ms) }
    }

    #[test]
    fn the_longest_silence_comes_first_and_the_ends_of_the_window_count() {
        let answered = answered_at_ms(&[5, 6, 300, 301, 400]);
        let expected = [gap_ms(7, 293), gap_ms(302, 98), gap_ms(401, 9), gap_ms(0, 5)];
        assert_eq!(answered.gaps(Nanos::from_millis(410)), expected);
    }

    #[test]
    fn a_window_without_an_answer_is_one_silence_and_an_empty_one_has_none() {
        assert_eq!(Answered::default().gaps(Nanos::from_millis(50)), [gap_ms(0, 50)]);
        assert_eq!(Answered::default().gaps(Nanos::ZERO), []);
    }

    #[test]
    fn one_worker_that_goes_on_answering_breaks_the_silence_of_the_others() {
        let mut all = answered_at_ms(&[0, 900]);
        assert_eq!(all.gaps(Nanos::from_millis(901)), [gap_ms(1, 899)]);
        all.merge(&answered_at_ms(&[450]));
        assert_eq!(all.gaps(Nanos::from_millis(901)), [gap_ms(1, 449), gap_ms(451, 449)]);
    }

    #[test]
    fn an_answer_after_the_window_ends_no_silence_in_it() {
        let answered = answered_at_ms(&[10, 700]);
        assert_eq!(answered.gaps(Nanos::from_millis(500))[0], gap_ms(11, 489));
    }

    #[test]
    fn no_more_than_ten_silences_are_reported() {
        let every_second_ms: Vec<u64> = (0..100).map(|index| 2 * index).collect();
        let gaps = answered_at_ms(&every_second_ms).gaps(Nanos::from_millis(200));
        assert_eq!(gaps, (0..GAPS_MAX as u64).map(|index| gap_ms(2 * index + 1, 1)).collect::<Vec<_>>());
    }

    #[test]
    fn a_longer_load_is_kept_in_wider_slots_and_merges_with_a_shorter_one() {
        let last_ms = 4 * MOST_SLOTS as u64 - 1;
        let mut short = answered_at_ms(&[3]);
        short.merge(&answered_at_ms(&[100_000, last_ms]));
        // Slots of 4 ms: the answers at 3 ms and at 100,000 ms are in those from 0 and from 100,000 on.
        let gaps = short.gaps(Nanos::from_millis(last_ms));
        assert_eq!(gaps[0], gap_ms(100_004, last_ms - 3 - 100_004));
        assert_eq!(gaps[1], gap_ms(4, 99_996));
    }

    proptest! {
        #[test]
        fn silences_are_those_between_the_answers_of_all_workers(
            workers in prop::collection::vec(prop::collection::vec(0_u64..5_000_000_000, 0..20), 1..4),
        ) {
            let length = Nanos::from_millis(5_000);
            let mut all = Answered::default();
            for times in &workers {
                let mut times = times.clone();
                times.sort_unstable();
                let mut one = Answered::default();
                for time in &times {
                    one.mark(Nanos(*time));
                }
                all.merge(&one);
            }
            let mut times = workers.concat();
            times.extend([0, length.0]);
            times.sort_unstable();
            let longest = times.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
            let reported = all.gaps(length).first().map_or(0, |gap| gap.length.0);
            prop_assert!(reported <= longest);
            prop_assert!(longest - reported <= 2 * FINEST.0);
        }
    }
}
