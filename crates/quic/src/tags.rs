//! Which request a stream carries.

use std::collections::VecDeque;

use loadcurve_wire::Tag;

/// No request.
const NONE: u32 = u32::MAX;

/// The tags of the streams under way, whose numbers grow by one. It takes the memory between the oldest stream under way and
/// the newest.
#[derive(Debug, Default)]
pub(crate) struct Tags {
    /// The place of the first stream that is kept.
    first: u64,
    tags: VecDeque<u32>,
}

impl Tags {
    pub(crate) fn clear(&mut self) {
        self.first = 0;
        self.tags.clear();
    }

    /// Notes the tag of the stream in this place among all, which is a later one than any before.
    pub(crate) fn insert(&mut self, place: u64, tag: Tag) {
        if self.tags.is_empty() {
            self.first = place;
        }
        while self.first + (self.tags.len() as u64) < place {
            self.tags.push_back(NONE);
        }
        self.tags.push_back(u32::try_from(tag).unwrap_or(NONE));
    }

    fn index(&self, place: u64) -> Option<usize> {
        usize::try_from(place.checked_sub(self.first)?).ok()
    }

    pub(crate) fn get(&self, place: u64) -> Option<Tag> {
        let tag = *self.tags.get(self.index(place)?)?;
        (tag != NONE).then_some(tag as Tag)
    }

    pub(crate) fn remove(&mut self, place: u64) {
        let Some(index) = self.index(place) else { return };
        if let Some(tag) = self.tags.get_mut(index) {
            *tag = NONE;
        }
        while self.tags.front() == Some(&NONE) {
            self.tags.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Tags;

    #[test]
    fn streams_that_end_in_any_order_are_found_until_they_do_and_leave_nothing_behind() {
        let mut tags = Tags::default();
        for (place, tag) in (0..5).zip(10..) {
            tags.insert(place, tag);
        }
        for ended in [3, 0, 1] {
            tags.remove(ended);
            assert_eq!(tags.get(ended), None);
        }
        assert_eq!((tags.get(2), tags.get(4), tags.tags.len()), (Some(12), Some(14), 3));
        tags.remove(2);
        tags.insert(7, 1);
        assert_eq!((tags.get(4), tags.get(6), tags.get(7), tags.get(8)), (Some(14), None, Some(1), None));
        tags.remove(4);
        tags.remove(7);
        assert!(tags.tags.is_empty());
        tags.insert(9, 2);
        assert_eq!(tags.get(9), Some(2));
    }
}
