//! Answers by their single statuses, with an example of what a server says beside those that are not right.

use serde::{Deserialize, Serialize};

use crate::classes::{StatusClass, StatusCounts};

/// Of how many statuses one recording keeps the start of a body.
const MOST_BODIES: usize = 16;
/// How much of a body is kept.
const BODY_BYTES_MAX: usize = 1024;

/// The answers of one status.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct OfStatus {
    /// The status, 200 to 599.
    pub status: u16,
    /// How many there were.
    pub answered: u64,
    /// How many of them are not what was asked for: an error, or another status than the expected one.
    pub wrong: u64,
    /// How the body of one of these begins, as far as it is text: that of one of the first.
    pub body: Option<String>,
}

/// The answers of each status that came, of which there are few: one that came before is found at once.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Statuses(Vec<OfStatus>);

impl Statuses {
    /// Counts an answer.
    #[inline]
    pub fn add(&mut self, status: u16, is_right: bool) {
        let of_status = self.of(status);
        of_status.answered += 1;
        of_status.wrong += u64::from(!is_right);
    }

    /// Whether a body of this status would be kept.
    #[must_use]
    pub fn lacks_body(&self, status: u16) -> bool {
        let kept = self.0.iter().filter(|one| one.body.is_some());
        kept.clone().all(|one| one.status != status) && kept.count() < MOST_BODIES
    }

    /// Keeps the start of a body, where none is kept of its status.
    pub(crate) fn note_body(&mut self, status: u16, bytes: &[u8]) {
        if self.lacks_body(status) {
            let start = &bytes[..bytes.len().min(BODY_BYTES_MAX)];
            self.of(status).body = Some(String::from_utf8_lossy(start).into_owned());
        }
    }

    /// Adds what another recording has counted. Of two bodies the lesser is kept, so that the order of merging is of no
    /// matter.
    pub(crate) fn merge(&mut self, other: &Self) {
        let before = self.total() + other.total();
        for OfStatus { status, answered, wrong, body } in &other.0 {
            let of_status = self.of(*status);
            of_status.answered += answered;
            of_status.wrong += wrong;
            let bodies = [of_status.body.take(), body.clone()];
            of_status.body = bodies.into_iter().flatten().min();
        }
        self.0.sort_unstable();
        debug_assert_eq!(self.total(), before, "answers were lost in merging");
    }

    /// How many there were of each class.
    #[must_use]
    pub fn answered(&self) -> StatusCounts {
        self.by_class(|one| one.answered)
    }

    /// How many of each class are not what was asked for.
    #[must_use]
    pub fn wrong(&self) -> StatusCounts {
        self.by_class(|one| one.wrong)
    }

    /// Each status that came, the least first.
    #[must_use]
    pub fn in_order(&self) -> Vec<OfStatus> {
        let mut all = self.0.clone();
        all.sort_unstable();
        all
    }

    fn total(&self) -> u64 {
        self.0.iter().map(|one| one.answered).sum()
    }

    fn by_class(&self, count: impl Fn(&OfStatus) -> u64) -> StatusCounts {
        let mut counts = StatusCounts::default();
        for one in &self.0 {
            counts[StatusClass::of(one.status)] += count(one);
        }
        counts
    }

    #[inline]
    fn of(&mut self, status: u16) -> &mut OfStatus {
        // Nearly all answers of a load have the status of the first.
        let place = self.0.iter().position(|one| one.status == status).unwrap_or_else(|| {
            self.0.push(OfStatus { status, answered: 0, wrong: 0, body: None });
            self.0.len() - 1
        });
        &mut self.0[place]
    }
}

#[cfg(test)]
mod tests {
    use super::{BODY_BYTES_MAX, MOST_BODIES, OfStatus, Statuses};
    use crate::StatusClass::{ClientError, Success};

    fn counted(answers: &[(u16, bool)]) -> Statuses {
        let mut statuses = Statuses::default();
        for (status, is_right) in answers {
            statuses.add(*status, *is_right);
        }
        statuses
    }

    #[test]
    fn answers_are_counted_by_status_and_class_in_whatever_order_recordings_merge() {
        let answers = [(200, true), (415, false), (200, true), (404, true), (415, false), (201, false)];
        for split in 0..=answers.len() {
            let mut both = counted(&answers[..split]);
            both.merge(&counted(&answers[split..]));
            let found: Vec<_> =
                both.in_order().iter().map(|one| (one.status, one.answered, one.wrong)).collect();
            assert_eq!(found, [(200, 2, 0), (201, 1, 1), (404, 1, 0), (415, 2, 2)]);
            assert_eq!((both.answered()[Success], both.answered()[ClientError]), (3, 3));
            assert_eq!((both.wrong()[Success], both.wrong()[ClientError]), (1, 2));
        }
    }

    #[test]
    fn the_first_body_of_each_status_is_kept_and_no_more_of_it_than_is_read() {
        let mut statuses = counted(&[(415, false), (500, false)]);
        statuses.note_body(415, b"wants JSON");
        statuses.note_body(415, b"another one");
        statuses.note_body(500, &[b'x'; 2 * BODY_BYTES_MAX]);
        let bodies: Vec<_> = statuses.in_order().into_iter().map(|one| one.body.unwrap()).collect();
        assert_eq!(bodies, ["wants JSON".to_owned(), "x".repeat(BODY_BYTES_MAX)]);
    }

    #[test]
    fn a_server_that_answers_with_every_status_does_not_fill_the_memory_with_bodies() {
        let mut statuses = Statuses::default();
        for status in 400..600 {
            statuses.add(status, false);
            statuses.note_body(status, b"no");
        }
        let kept = statuses.in_order().iter().filter(|one| one.body.is_some()).count();
        assert_eq!((kept, statuses.in_order().len()), (MOST_BODIES, 200));
        assert!(!statuses.lacks_body(599));
    }

    #[test]
    fn bodies_of_two_recordings_come_to_the_same_in_either_order() {
        let with = |body: &[u8]| {
            let mut statuses = counted(&[(500, false)]);
            statuses.note_body(500, body);
            statuses
        };
        for (first, second) in [("a", "b"), ("b", "a")] {
            let mut both = with(first.as_bytes());
            both.merge(&with(second.as_bytes()));
            let of_500 = OfStatus { status: 500, answered: 2, wrong: 2, body: Some("a".into()) };
            assert_eq!(both.in_order(), [of_500]);
        }
    }
}
