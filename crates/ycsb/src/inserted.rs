//! Which records a run has added and deleted: what threads share of a workload.

#[cfg(not(loom))]
use std::sync::OnceLock;
#[cfg(not(loom))]
use std::sync::atomic::{AtomicU64, Ordering};

#[cfg(loom)]
use loom::sync::atomic::{AtomicU64, Ordering};

use loadcurve_plan::Share;

#[cfg(loom)]
use crate::once_lock::OnceLock;
use crate::workload::Workload;

/// How many levels of words there can be; the last one alone would have room for more numbers than 64 bits have.
const LEVELS: usize = if cfg!(loom) { 2 } else { 54 };
/// The base-two logarithm of how many words the first level has: 65,536 records. A model tries every order of accesses,
/// and has one word.
const FIRST_LEVEL_BITS: u32 = if cfg!(loom) { 0 } else { 10 };
const WORD_BITS: u64 = 64;

/// The sequence of records that a run adds: who inserts takes the next number, and who reads asks only for numbers whose
/// insert was acknowledged, and which nobody deletes.
///
/// Threads share it without locks and never wait for one another: an insert that is under way for long, or has failed,
/// leaves a hole that reads step over, as a deleted record does. It takes a bit for each record that was added, and from
/// the first delete on for each other one.
///
/// Machines that share a run have one each, for a share of the numbers. The numbers of the others are holes: what another
/// machine has added is known to that machine alone.
#[derive(Debug)]
pub struct InsertedKeys {
    /// The number of the first record that is added; all below it are there from the beginning.
    first: u64,
    /// The numbers that inserts take here, counted from `first`.
    share: Share,
    /// How many of them inserts have taken.
    taken: AtomicU64,
    /// One past the newest acknowledged number, or `first`.
    end: AtomicU64,
    /// The numbers that were acknowledged and not deleted, from `first` on.
    acknowledged: Bits,
    /// The numbers below `first` that were deleted.
    deleted: Bits,
}

impl InsertedKeys {
    /// Nothing added yet to the records of this workload, to which inserts here add those of `share`.
    #[must_use]
    pub fn new(workload: &Workload, share: Share) -> Self {
        Self {
            first: workload.records,
            share,
            taken: AtomicU64::new(0),
            end: AtomicU64::new(workload.records),
            acknowledged: Bits::default(),
            deleted: Bits::default(),
        }
    }

    /// Tells that the database has added this record: from now on operations may ask for it.
    pub fn acknowledge(&self, record: u64) {
        let Some(place) = record.checked_sub(self.first) else { return };
        self.acknowledged.set(place);
        self.end.fetch_max(record + 1, Ordering::Release);
    }

    /// Whether nobody has deleted this record, or is about to.
    #[must_use]
    pub fn is_there(&self, record: u64) -> bool {
        match record.checked_sub(self.first) {
            Some(place) => self.acknowledged.is_set(place),
            None => !self.deleted.is_set(record),
        }
    }

    /// One past the newest record that was acknowledged; without any, one past the records from the beginning.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.end.load(Ordering::Acquire)
    }

    /// How many records inserts have taken a number for, acknowledged or not.
    #[must_use]
    pub fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// The number of the record to add next: everyone gets another.
    pub(crate) fn take(&self) -> u64 {
        self.first + self.share.position(self.taken.fetch_add(1, Ordering::Relaxed))
    }

    /// Tells that this record is about to be deleted: from now on no operation begins to ask for it.
    pub(crate) fn delete(&self, record: u64) {
        match record.checked_sub(self.first) {
            Some(place) => self.acknowledged.clear(place),
            None => self.deleted.set(record),
        }
    }

    /// How many records may have been added, holes included.
    pub(crate) fn added(&self) -> u64 {
        self.end() - self.first
    }

    /// This record, or the nearest below it that is there, or else the newest one; itself where none is left.
    pub(crate) fn nearest(&self, record: u64) -> u64 {
        self.at_or_below(record).or_else(|| self.at_or_below(self.end().checked_sub(1)?)).unwrap_or(record)
    }

    fn at_or_below(&self, record: u64) -> Option<u64> {
        let added = record.checked_sub(self.first).and_then(|place| self.acknowledged.last_set(place));
        match added {
            Some(place) => Some(self.first + place),
            None => self.deleted.last_clear(record.min(self.first.checked_sub(1)?)),
        }
    }
}

/// A bit for each of any number of places, clear at first.
///
/// Each level has twice the words of the one before it, and is made when a bit of its range is first set, so that words
/// never move.
#[derive(Debug)]
struct Bits([OnceLock<Box<[AtomicU64]>>; LEVELS]);

impl Default for Bits {
    fn default() -> Self {
        Self(std::array::from_fn(|_| OnceLock::new()))
    }
}

impl Bits {
    fn set(&self, place: u64) {
        let (level, word) = level_and_word(place / WORD_BITS);
        let words = self.0[level].get_or_init(|| {
            (0..1_usize << (FIRST_LEVEL_BITS as usize + level)).map(|_| AtomicU64::new(0)).collect()
        });
        words[word].fetch_or(1 << (place % WORD_BITS), Ordering::Release);
    }

    fn clear(&self, place: u64) {
        let (level, word) = level_and_word(place / WORD_BITS);
        if let Some(words) = self.0[level].get() {
            words[word].fetch_and(!(1 << (place % WORD_BITS)), Ordering::Release);
        }
    }

    fn is_set(&self, place: u64) -> bool {
        self.word(place / WORD_BITS) >> (place % WORD_BITS) & 1 == 1
    }

    /// This place, or the nearest below it whose bit is set.
    fn last_set(&self, place: u64) -> Option<u64> {
        last(place, |number| self.word(number))
    }

    /// This place, or the nearest below it whose bit is clear.
    fn last_clear(&self, place: u64) -> Option<u64> {
        last(place, |number| !self.word(number))
    }

    fn word(&self, number: u64) -> u64 {
        let (level, word) = level_and_word(number);
        self.0[level].get().map_or(0, |words| words[word].load(Ordering::Acquire))
    }
}

/// The last place up to this one whose bit is set in the words of these numbers.
fn last(place: u64, word_of: impl Fn(u64) -> u64) -> Option<u64> {
    let mut word = place / WORD_BITS;
    // The bits of the place and of those below it.
    let mut bits = word_of(word) & (u64::MAX >> (WORD_BITS - 1 - place % WORD_BITS));
    while bits == 0 {
        word = word.checked_sub(1)?;
        bits = word_of(word);
    }
    Some(word * WORD_BITS + u64::from(bits.ilog2()))
}

/// In which level the word of this number is, and where there.
#[allow(clippy::cast_possible_truncation)] // Memory ends long before the platform's numbers.
fn level_and_word(number: u64) -> (usize, usize) {
    let position = number + (1 << FIRST_LEVEL_BITS);
    let bits = position.ilog2();
    ((bits - FIRST_LEVEL_BITS) as usize, (position - (1 << bits)) as usize)
}

#[cfg(test)]
mod tests {
    use super::InsertedKeys;
    use loadcurve_plan::Share;

    use crate::workload::Workload;
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use std::thread;

    fn after(records: u64) -> InsertedKeys {
        InsertedKeys::new(&Workload { records, ..Workload::default() }, Share::whole())
    }

    #[test]
    fn every_thread_gets_numbers_of_its_own() {
        let inserted = after(100);
        let taken: Vec<Vec<u64>> = thread::scope(|scope| {
            let threads: Vec<_> =
                (0..4).map(|_| scope.spawn(|| (0..10_000).map(|_| inserted.take()).collect())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let all: BTreeSet<u64> = taken.into_iter().flatten().collect();
        assert!(all.into_iter().eq(100..40_100));
    }

    #[test]
    fn what_threads_acknowledge_at_once_is_all_there() {
        let inserted = after(7);
        thread::scope(|scope| {
            for index in 0..4 {
                let inserted = &inserted;
                scope.spawn(move || {
                    (7 + index..400_007).step_by(4).for_each(|record| inserted.acknowledge(record));
                });
            }
        });
        assert_eq!(inserted.end(), 400_007);
        assert!((0..400_007).all(|record| inserted.nearest(record) == record));
    }

    #[test]
    fn an_insert_that_never_ends_holds_nobody_up() {
        let inserted = after(10);
        // Far more than the 2^20 numbers that YCSB's window has room for.
        (11..3_000_000).for_each(|record| inserted.acknowledge(record));
        assert_eq!(inserted.end(), 3_000_000);
        assert_eq!(inserted.nearest(10), 9);
        assert_eq!(inserted.nearest(11), 11);
    }

    #[test]
    fn a_record_that_is_deleted_is_asked_for_no_more_until_none_is_left() {
        let inserted = after(200);
        inserted.take();
        inserted.acknowledge(200);
        // From the newest of the beginning down, over several words.
        for record in (70..200).rev() {
            inserted.delete(record);
        }
        assert!(inserted.is_there(69) && !inserted.is_there(70));
        assert_eq!([199, 70, 69].map(|record| inserted.nearest(record)), [69; 3]);
        inserted.delete(0);
        assert_eq!(inserted.nearest(0), 200, "with none below, the newest");
        inserted.delete(200);
        assert_eq!((inserted.is_there(200), inserted.nearest(200)), (false, 69));
        (1..70).for_each(|record| inserted.delete(record));
        assert_eq!(inserted.nearest(33), 33, "none is left");
    }

    proptest! {
        #[test]
        fn only_records_that_are_there_are_asked_for(
            first in 1_u64..200,
            acknowledged in prop::collection::btree_set(0_u64..200_000, 0..60),
            asked in prop::collection::vec(0_u64..200_200, 1..60),
        ) {
            let inserted = after(first);
            for place in &acknowledged {
                inserted.acknowledge(first + place);
            }
            for record in asked {
                let there = acknowledged.iter().map(|place| first + place).chain(0..first);
                let expected = there.filter(|there| *there <= record).max();
                prop_assert_eq!(Some(inserted.nearest(record)), expected);
            }
            let newest = acknowledged.last().map_or(first, |place| first + place + 1);
            prop_assert_eq!(inserted.end(), newest);
        }
    }
}

/// What holds in every order in which threads may get on, and for every value that the memory model lets them read.
#[cfg(all(test, loom))]
mod models {
    use std::sync::Arc;

    use loadcurve_plan::Share;
    use loom::sync::atomic::{AtomicBool, Ordering};
    use loom::thread;

    use super::{InsertedKeys, WORD_BITS};
    use crate::workload::Workload;

    /// The records from the beginning.
    const FIRST: u64 = 1;
    /// The first record of the second level.
    const NEXT_LEVEL: u64 = FIRST + WORD_BITS;

    fn inserted() -> Arc<InsertedKeys> {
        Arc::new(InsertedKeys::new(&Workload { records: FIRST, ..Workload::default() }, Share::whole()))
    }

    #[test]
    fn what_is_asked_for_was_inserted_before() {
        // Making a level orders accesses, too, so that the bits themselves are tried only where it was made before.
        for is_level_made in [false, true] {
            loom::model(move || {
                let inserted = inserted();
                if is_level_made {
                    inserted.acknowledge(NEXT_LEVEL + 1);
                }
                let database = Arc::new(AtomicBool::new(false));
                let writer = {
                    let (inserted, database) = (Arc::clone(&inserted), Arc::clone(&database));
                    thread::spawn(move || {
                        database.store(true, Ordering::Relaxed);
                        inserted.acknowledge(NEXT_LEVEL);
                    })
                };
                if inserted.is_there(NEXT_LEVEL) {
                    assert!(database.load(Ordering::Relaxed));
                }
                writer.join().unwrap();
                assert_eq!(inserted.nearest(NEXT_LEVEL), NEXT_LEVEL);
            });
        }
    }

    #[test]
    fn the_newest_record_below_the_end_is_there() {
        loom::model(|| {
            let inserted = inserted();
            let writer = {
                let inserted = Arc::clone(&inserted);
                thread::spawn(move || inserted.acknowledge(NEXT_LEVEL))
            };
            let end = inserted.end();
            assert!(end == FIRST || (end == NEXT_LEVEL + 1 && inserted.is_there(NEXT_LEVEL)));
            writer.join().unwrap();
        });
    }

    #[test]
    fn threads_that_make_a_level_at_once_lose_nothing() {
        loom::model(|| {
            let inserted = inserted();
            let threads = [NEXT_LEVEL, NEXT_LEVEL + 1].map(|record| {
                let inserted = Arc::clone(&inserted);
                thread::spawn(move || inserted.acknowledge(record))
            });
            for thread in threads {
                thread.join().unwrap();
            }
            assert!(inserted.is_there(NEXT_LEVEL) && inserted.is_there(NEXT_LEVEL + 1));
            assert_eq!(inserted.end(), NEXT_LEVEL + 2);
        });
    }

    #[test]
    fn every_insert_takes_another_number() {
        loom::model(|| {
            let inserted = inserted();
            let threads = [(); 2].map(|()| {
                let inserted = Arc::clone(&inserted);
                thread::spawn(move || inserted.take())
            });
            let taken = threads.map(|thread| thread.join().unwrap());
            assert!(taken == [FIRST, FIRST + 1] || taken == [FIRST + 1, FIRST]);
        });
    }

    #[test]
    fn a_record_that_the_database_has_deleted_is_asked_for_no_more() {
        loom::model(|| {
            let inserted = inserted();
            inserted.acknowledge(FIRST);
            let is_deleted = Arc::new(AtomicBool::new(false));
            let deleter = {
                let (inserted, is_deleted) = (Arc::clone(&inserted), Arc::clone(&is_deleted));
                thread::spawn(move || {
                    inserted.delete(FIRST);
                    is_deleted.store(true, Ordering::Release);
                })
            };
            assert!(!(is_deleted.load(Ordering::Acquire) && inserted.is_there(FIRST)));
            deleter.join().unwrap();
            assert_eq!(inserted.nearest(FIRST), FIRST - 1);
        });
    }
}
