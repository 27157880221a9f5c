//! The requests that a connection carries, each in its place.

use loadcurve_plan::Nanos;
use loadcurve_wire::Tag;

use crate::starving::AnsweredBodies;

/// The end of a chain of places.
const NONE: Tag = Tag::MAX;

/// A request that a connection carries, with what its work expects of the answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InFlight<X> {
    /// Which request of the load it is, in the order of the whole plan.
    pub(crate) number: u64,
    pub(crate) operation: usize,
    /// Which figures it counts for.
    pub(crate) tally: usize,
    pub(crate) due: Nanos,
    /// When it was written; until then it waits for its connection.
    pub(crate) sent: Option<Nanos>,
    pub(crate) first_byte: Option<Nanos>,
    /// How much had been answered on its connection then, in bytes.
    pub(crate) answered_before: u64,
    /// How long connecting took, where the request had to wait for it.
    pub(crate) connect: Option<Nanos>,
    /// Whether it found its connection open.
    pub(crate) reused: bool,
    /// When it came back from a server that had not looked at it; none if it was not sent before.
    pub(crate) moved_at: Option<Nanos>,
    /// Since when it waits because the peer takes no more at once, if it does.
    pub(crate) limited_since: Option<Nanos>,
    /// What its answer is expected to have, which is known when it is written.
    pub(crate) expected: Option<X>,
}

#[derive(Clone, Copy, Debug)]
struct Place<X> {
    request: Option<InFlight<X>>,
    /// The next free place behind a free one; the next unwritten request's behind that of an unwritten one.
    next: Tag,
}

/// A place for each request that may be under way; its number is the request's tag. Requests come and go in any order in
/// constant time, and take no memory after the start.
#[derive(Debug)]
pub(crate) struct Places<X> {
    places: Box<[Place<X>]>,
    taken: usize,
    first_free: Tag,
    first_unwritten: Tag,
    last_unwritten: Tag,
    /// The first of the unwritten requests that nobody has seen wait; all behind it are as new.
    first_unseen: Tag,
}

impl<X: Copy> Places<X> {
    /// Places for at most `most` requests.
    pub(crate) fn new(most: usize) -> Self {
        let next = |tag| if tag + 1 < most { tag + 1 } else { NONE };
        Self {
            places: (0..most).map(|tag| Place { request: None, next: next(tag) }).collect(),
            taken: 0,
            first_free: 0,
            first_unwritten: NONE,
            last_unwritten: NONE,
            first_unseen: NONE,
        }
    }

    /// How many requests there are.
    pub(crate) fn len(&self) -> usize {
        self.taken
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.taken == 0
    }

    /// Gives a request a place, for which there must be room; it is unwritten, behind all others.
    pub(crate) fn insert(&mut self, request: InFlight<X>) {
        let tag = self.first_free;
        debug_assert!(self.places[tag].request.is_none(), "place {tag} is taken");
        self.first_free = self.places[tag].next;
        self.places[tag] = Place { request: Some(request), next: NONE };
        match self.last_unwritten {
            NONE => self.first_unwritten = tag,
            last => self.places[last].next = tag,
        }
        self.last_unwritten = tag;
        if self.first_unseen == NONE {
            self.first_unseen = tag;
        }
        self.taken += 1;
    }

    /// Whether a request waits to be written.
    pub(crate) fn has_unwritten(&self) -> bool {
        self.first_unwritten != NONE
    }

    /// Takes a request that was written and is to be written once more. `None` where that was done before, unless it may
    /// be repeated, or there is none.
    pub(crate) fn take_moved(&mut self, tag: Tag, now: Nanos, may_repeat: bool) -> Option<InFlight<X>> {
        if self.get_mut(tag)?.moved_at.is_some() && !may_repeat {
            return None;
        }
        let request = self.take(tag)?;
        let (sent, first_byte, connect, limited_since) = (None, None, None, None);
        let answered_before = AnsweredBodies::NOT_BEGUN;
        Some(InFlight {
            sent,
            first_byte,
            answered_before,
            connect,
            limited_since,
            moved_at: Some(now),
            ..request
        })
    }

    /// Whether the request under a tag was sent before.
    pub(crate) fn was_moved(&self, tag: Tag) -> bool {
        self.places[tag].request.is_some_and(|request| request.moved_at.is_some())
    }

    /// The next of the requests that wait to be written, each of which is given once: however long the queue is, what it
    /// costs does not grow with it.
    pub(crate) fn next_unseen(&mut self) -> Option<(Tag, &mut InFlight<X>)> {
        let tag = self.first_unseen;
        let place = self.places.get_mut(tag)?;
        self.first_unseen = place.next;
        place.request.as_mut().map(|request| (tag, request))
    }

    /// All requests that wait to be written are given once more, because they wait for another connection.
    pub(crate) fn see_anew(&mut self) {
        self.first_unseen = self.first_unwritten;
    }

    /// The tags of the requests that wait to be written, in their order.
    pub(crate) fn unwritten(&self) -> impl Iterator<Item = Tag> {
        let first = Some(self.first_unwritten).filter(|tag| *tag != NONE);
        std::iter::successors(first, |tag| Some(self.places[*tag].next).filter(|next| *next != NONE))
    }

    /// The request that has waited longest to be written, which is written now.
    pub(crate) fn next_unwritten(&mut self) -> Option<(Tag, &mut InFlight<X>)> {
        let tag = self.first_unwritten;
        let place = self.places.get_mut(tag)?;
        self.first_unwritten = place.next;
        if place.next == NONE {
            self.last_unwritten = NONE;
        }
        if self.first_unseen == tag {
            self.first_unseen = place.next;
        }
        place.request.as_mut().map(|request| (tag, request))
    }

    /// The request under a tag.
    pub(crate) fn get_mut(&mut self, tag: Tag) -> Option<&mut InFlight<X>> {
        self.places.get_mut(tag)?.request.as_mut()
    }

    /// Takes a request that was written, and frees its place.
    pub(crate) fn take(&mut self, tag: Tag) -> Option<InFlight<X>> {
        debug_assert!(self.first_unwritten != tag, "request {tag} is still to be written");
        let place = self.places.get_mut(tag)?;
        let request = place.request.take()?;
        place.next = self.first_free;
        self.first_free = tag;
        self.taken -= 1;
        Some(request)
    }

    /// The request under this tag, which waits to be written, is not to be written any more, so that it can be taken.
    pub(crate) fn give_up_writing_one(&mut self, tag: Tag) {
        let Some(before) = self.unwritten().position(|unwritten| unwritten == tag) else { return };
        let before = before.checked_sub(1).and_then(|position| self.unwritten().nth(position));
        let next = self.places[tag].next;
        match before {
            Some(before) => self.places[before].next = next,
            None => self.first_unwritten = next,
        }
        if next == NONE {
            self.last_unwritten = before.unwrap_or(NONE);
        }
        if self.first_unseen == tag {
            self.first_unseen = next;
        }
    }

    /// No request is to be written any more, so that all can be taken.
    pub(crate) fn give_up_writing(&mut self) {
        self.first_unwritten = NONE;
        self.last_unwritten = NONE;
        self.first_unseen = NONE;
    }

    /// All requests, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &InFlight<X>> {
        self.places.iter().filter_map(|place| place.request.as_ref())
    }

    /// As [`Self::iter`].
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut InFlight<X>> {
        self.places.iter_mut().filter_map(|place| place.request.as_mut())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use loadcurve_plan::Nanos;
    use proptest::prelude::*;

    use super::{AnsweredBodies, InFlight, Places};

    fn request(number: u64) -> InFlight<()> {
        let (sent, first_byte, connect) = (None, None, None);
        InFlight {
            number,
            operation: 0,
            tally: 0,
            due: Nanos::ZERO,
            sent,
            first_byte,
            answered_before: AnsweredBodies::NOT_BEGUN,
            connect,
            reused: true,
            moved_at: None,
            limited_since: None,
            expected: None,
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Insert,
        Write,
        Take(prop::sample::Index),
        GiveUp(prop::sample::Index),
        See,
        SeeAnew,
        TakeAll,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            4 => Just(Step::Insert),
            4 => Just(Step::Write),
            3 => any::<prop::sample::Index>().prop_map(Step::Take),
            2 => any::<prop::sample::Index>().prop_map(Step::GiveUp),
            2 => Just(Step::See),
            1 => Just(Step::SeeAnew),
            1 => Just(Step::TakeAll),
        ];
        prop::collection::vec(step, 0..200)
    }

    proptest! {
        #[test]
        fn requests_are_written_in_their_order_and_end_in_any(most in 1_usize..6, steps in steps()) {
            let mut places = Places::new(most);
            let (mut unwritten, mut written) = (VecDeque::new(), Vec::new());
            // The numbers of those that wait and were not given yet.
            let mut unseen = Vec::new();
            for (number, step) in (0_u64..).zip(steps) {
                match step {
                    Step::Insert if places.len() < most => {
                        places.insert(request(number));
                        unwritten.push_back(number);
                        unseen.push(number);
                    }
                    Step::Write => {
                        let next = places.next_unwritten().map(|(tag, request)| (tag, request.number));
                        prop_assert_eq!(next.map(|(_, number)| number), unwritten.pop_front());
                        written.extend(next);
                    }
                    Step::Take(index) if !written.is_empty() => {
                        let (tag, number) = written.swap_remove(index.index(written.len()));
                        prop_assert_eq!(places.take(tag).map(|request| request.number), Some(number));
                        prop_assert!(places.take(tag).is_none());
                    }
                    Step::GiveUp(index) if !unwritten.is_empty() => {
                        let position = index.index(unwritten.len());
                        let tag = places.unwritten().nth(position).unwrap();
                        places.give_up_writing_one(tag);
                        prop_assert_eq!(places.take(tag).map(|request| request.number), unwritten.remove(position));
                    }
                    Step::Insert | Step::Take(_) | Step::GiveUp(_) => {}
                    Step::See => {
                        unseen.retain(|number| unwritten.contains(number));
                        let next = || places.next_unseen().map(|(_, request)| request.number);
                        let seen: Vec<u64> = std::iter::from_fn(next).collect();
                        prop_assert_eq!(&seen, &unseen);
                        unseen.clear();
                    }
                    Step::SeeAnew => {
                        places.see_anew();
                        unseen = unwritten.iter().copied().collect();
                    }
                    Step::TakeAll => {
                        places.give_up_writing();
                        let taken = (0..most).filter_map(|tag| places.take(tag));
                        let mut taken: Vec<u64> = taken.map(|request| request.number).collect();
                        let mut all: Vec<u64> = written.drain(..).map(|(_, number)| number).collect();
                        all.extend(unwritten.drain(..));
                        all.sort_unstable();
                        taken.sort_unstable();
                        prop_assert_eq!(taken, all);
                    }
                }
                prop_assert_eq!(places.len(), unwritten.len() + written.len());
                prop_assert_eq!(places.iter().count(), places.len());
                prop_assert!(written.iter().all(|(tag, _)| *tag < most));
            }
        }
    }
}
