//! The dynamic table of a decoder (RFC 7541 §2.3.2 and §4, RFC 9204 §3.2).

use std::collections::VecDeque;
use std::ops::Range;

use super::ENTRY_OVERHEAD_BYTES;
use crate::answer::Meaning;

/// The fields that the peer has added, the newest first. Their texts lie one behind the other in one buffer, whose dead
/// front is dropped when it is as long as the table may be.
#[derive(Debug)]
pub(crate) struct DynamicTable {
    entries: VecDeque<Entry>,
    texts: Vec<u8>,
    /// Where the buffer begins, in bytes ever added.
    texts_from: usize,
    size_bytes: usize,
    most_bytes: usize,
    /// How often the table has changed.
    changes: u64,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    /// In bytes ever added.
    at: usize,
    name_length: usize,
    value_length: usize,
    meaning: Meaning,
}

impl Entry {
    fn size_bytes(&self) -> usize {
        self.name_length + self.value_length + ENTRY_OVERHEAD_BYTES
    }
}

impl DynamicTable {
    pub(crate) fn new(most_bytes: usize) -> Self {
        Self {
            entries: VecDeque::new(),
            texts: Vec::new(),
            texts_from: 0,
            size_bytes: 0,
            most_bytes,
            changes: 0,
        }
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.texts.clear();
        self.texts_from = 0;
        self.size_bytes = 0;
        self.changes += 1;
    }

    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// The entry that was added `index` entries before the newest.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<(&[u8], &[u8], Meaning)> {
        let entry = self.entries.get(index)?;
        let (name, value) = self.texts[self.range(entry)].split_at(entry.name_length);
        Some((name, value, entry.meaning))
    }

    /// What all entries count together.
    pub(crate) fn size_bytes(&self) -> usize {
        self.size_bytes
    }

    /// How many entries there are.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// What the entries may count together.
    pub(crate) fn most_bytes(&self) -> usize {
        self.most_bytes
    }

    fn range(&self, entry: &Entry) -> Range<usize> {
        let start = entry.at - self.texts_from;
        start..start + entry.name_length + entry.value_length
    }

    pub(crate) fn resize(&mut self, most_bytes: usize) {
        self.most_bytes = most_bytes;
        self.make_room(0);
        self.changes += 1;
    }

    pub(crate) fn insert(&mut self, name: &[u8], value: &[u8], meaning: Meaning) {
        if self.make_room(name.len() + value.len() + ENTRY_OVERHEAD_BYTES) {
            self.compact();
            let at = self.texts_from + self.texts.len();
            self.texts.extend_from_slice(name);
            self.add(at, name.len(), value, meaning);
        }
    }

    /// Adds a field with the name of an entry, which may have to make room for it.
    pub(crate) fn insert_with_name_of(&mut self, index: usize, value: &[u8], meaning: Meaning) {
        let Some(entry) = self.entries.get(index) else { return };
        let (name_at, name_length) = (entry.at, entry.name_length);
        if self.make_room(name_length + value.len() + ENTRY_OVERHEAD_BYTES) {
            // Texts of entries that are no more stay where they are until the buffer is compacted.
            let at = self.texts_from + self.texts.len();
            let start = name_at - self.texts_from;
            self.texts.extend_from_within(start..start + name_length);
            self.add(at, name_length, value, meaning);
            self.compact();
        }
    }

    /// Adds an entry once more, which may have to make room for that.
    pub(crate) fn duplicate(&mut self, index: usize) {
        let Some(entry) = self.entries.get(index).copied() else { return };
        if self.make_room(entry.size_bytes()) {
            let at = self.texts_from + self.texts.len();
            let start = entry.at - self.texts_from;
            self.texts.extend_from_within(start..start + entry.name_length + entry.value_length);
            self.size_bytes += entry.size_bytes();
            self.entries.push_front(Entry { at, ..entry });
            self.compact();
        }
    }

    fn add(&mut self, at: usize, name_length: usize, value: &[u8], meaning: Meaning) {
        self.texts.extend_from_slice(value);
        let entry = Entry { at, name_length, value_length: value.len(), meaning };
        self.size_bytes += entry.size_bytes();
        self.entries.push_front(entry);
    }

    /// Drops the oldest entries until there is room for this number of bytes; false where there can be none.
    fn make_room(&mut self, bytes: usize) -> bool {
        self.changes += 1;
        while self.size_bytes + bytes > self.most_bytes {
            let Some(oldest) = self.entries.pop_back() else { return false };
            self.size_bytes -= oldest.size_bytes();
        }
        true
    }

    fn compact(&mut self) {
        let live_from = self.entries.back().map_or(self.texts_from + self.texts.len(), |oldest| oldest.at);
        let dead_bytes = live_from - self.texts_from;
        if dead_bytes >= self.most_bytes {
            self.texts.drain(..dead_bytes);
            self.texts_from = live_from;
        }
    }
}
