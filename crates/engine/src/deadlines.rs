//! Who has waited too long.

use loadcurve_plan::Nanos;

use crate::io::Slot;

const NOBODY: usize = usize::MAX;

#[derive(Clone, Copy)]
struct Link {
    before: usize,
    after: usize,
    deadline: Option<Nanos>,
}

/// The deadlines of all slots, at most one each, when every wait is equally long.
///
/// Since the waits are equally long, deadlines are set in the order in which they pass: a doubly linked list through
/// an array keeps them sorted, so setting, clearing and finding the first take constant time, and no memory is taken
/// after the start.
pub(crate) struct Deadlines {
    links: Vec<Link>,
    first: usize,
    last: usize,
}

impl Deadlines {
    pub(crate) fn new(slots: usize) -> Self {
        Self {
            links: vec![Link { before: NOBODY, after: NOBODY, deadline: None }; slots],
            first: NOBODY,
            last: NOBODY,
        }
    }

    /// Sets the slot's deadline, which must not be before any other slot's.
    pub(crate) fn set(&mut self, slot: Slot, deadline: Nanos) {
        self.clear(slot);
        debug_assert!(
            self.links.get(self.last).is_none_or(|last| last.deadline <= Some(deadline)),
            "slot {slot} has an earlier deadline than one that was set before"
        );
        self.links[slot] = Link { before: self.last, after: NOBODY, deadline: Some(deadline) };
        match self.last {
            NOBODY => self.first = slot,
            last => self.links[last].after = slot,
        }
        self.last = slot;
    }

    /// Clears the slot's deadline, if it has one.
    pub(crate) fn clear(&mut self, slot: Slot) {
        let Link { before, after, deadline } = self.links[slot];
        if deadline.is_none() {
            return;
        }
        match before {
            NOBODY => self.first = after,
            _ => self.links[before].after = after,
        }
        match after {
            NOBODY => self.last = before,
            _ => self.links[after].before = before,
        }
        self.links[slot].deadline = None;
    }

    /// Whether the slot has a deadline.
    pub(crate) fn is_set(&self, slot: Slot) -> bool {
        self.links[slot].deadline.is_some()
    }

    /// The earliest deadline.
    pub(crate) fn earliest(&self) -> Option<Nanos> {
        self.links.get(self.first).and_then(|link| link.deadline)
    }

    /// Takes one slot whose deadline has passed.
    pub(crate) fn take_passed(&mut self, now: Nanos) -> Option<Slot> {
        let slot = self.first;
        if self.earliest()? > now {
            return None;
        }
        self.clear(slot);
        Some(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::Deadlines;
    use loadcurve_plan::Nanos;

    fn passed(deadlines: &mut Deadlines, now: u64) -> Vec<usize> {
        std::iter::from_fn(|| deadlines.take_passed(Nanos(now))).collect()
    }

    #[test]
    fn slots_pass_in_the_order_of_their_deadlines() {
        let mut deadlines = Deadlines::new(4);
        for (slot, deadline) in [(2, 10), (0, 20), (3, 20), (1, 30)] {
            deadlines.set(slot, Nanos(deadline));
        }
        assert_eq!(deadlines.earliest(), Some(Nanos(10)));
        assert!(passed(&mut deadlines, 9).is_empty());
        assert_eq!(passed(&mut deadlines, 20), [2, 0, 3]);
        assert_eq!(passed(&mut deadlines, 100), [1]);
        assert_eq!(deadlines.earliest(), None);
    }

    #[test]
    fn a_cleared_deadline_does_not_pass_wherever_it_stood() {
        for cleared in 0..3 {
            let mut deadlines = Deadlines::new(3);
            for slot in 0..3 {
                deadlines.set(slot, Nanos(slot as u64));
            }
            deadlines.clear(cleared);
            deadlines.clear(cleared);
            let expected: Vec<usize> = (0..3).filter(|slot| *slot != cleared).collect();
            assert_eq!(passed(&mut deadlines, 10), expected);
        }
    }

    #[test]
    fn setting_a_deadline_again_moves_it_to_the_end() {
        let mut deadlines = Deadlines::new(2);
        deadlines.set(0, Nanos(1));
        deadlines.set(1, Nanos(2));
        deadlines.set(0, Nanos(3));
        assert_eq!(passed(&mut deadlines, 2), [1]);
        assert_eq!(passed(&mut deadlines, 3), [0]);
    }
}
