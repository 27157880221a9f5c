//! Answers that have begun, and that their server leaves behind while it answers others on the same connection.

/// How many times the longest answers of all streams together pass one that is starved: where a server is fair, twice at most.
const TIMES: u64 = 8;
/// Shorter bodies count as this long: what ends them may have been lost, and comes a few round trips later.
const BODY_BYTES_MIN: u64 = 16 * 1024;

/// The bodies that were answered on one connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnsweredBodies {
    bytes: u64,
    longest: u64,
    at_once: u64,
    /// As much as passes an answer that is starved. A server that divides the connection evenly, or answers in order, lets at most
    /// two answers of each other stream pass: the one that it was sending, and the next.
    enough: u64,
}

impl AnsweredBodies {
    /// Where an answer has not begun, nothing has passed it.
    pub(crate) const NOT_BEGUN: u64 = u64::MAX;

    /// None, with at most `at_once` requests under way.
    pub(crate) fn new(at_once: usize) -> Self {
        let mut none = Self { bytes: 0, longest: 0, at_once: at_once as u64, enough: u64::MAX };
        none.reach(BODY_BYTES_MIN);
        none
    }

    /// One more was answered, which had begun when `before` bytes had been answered; says whether it was starved.
    #[inline]
    pub(crate) fn add(&mut self, before: u64, bytes: u64) -> bool {
        if bytes > self.longest {
            self.reach(bytes);
        }
        let is_starved = self.have_passed(before);
        self.bytes += bytes;
        is_starved
    }

    fn reach(&mut self, longest: u64) {
        self.longest = longest;
        if self.at_once > 1 {
            self.enough = TIMES * self.at_once * longest;
        }
    }

    /// All of them, in bytes.
    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether an answer that is no longer than others was starved, which had begun when `before` bytes had been answered.
    #[inline]
    pub(crate) fn have_passed(&self, before: u64) -> bool {
        self.bytes.saturating_sub(before) >= self.enough
    }
}

#[cfg(test)]
mod tests {
    use super::AnsweredBodies;

    const NOT_BEGUN: u64 = AnsweredBodies::NOT_BEGUN;

    /// The answers of `at_once` streams, after `count` of this length.
    fn answered(at_once: usize, count: usize, bytes: u64) -> AnsweredBodies {
        let mut bodies = AnsweredBodies::new(at_once);
        for _ in 0..count {
            assert!(!bodies.add(NOT_BEGUN, bytes));
        }
        bodies
    }

    #[test]
    fn an_answer_is_starved_where_eight_times_the_longest_answers_of_all_streams_pass_it() {
        let mut bodies = answered(4, 1, 1_000);
        let before = bodies.bytes();
        for _ in 0..8 * 4 {
            assert!(!bodies.have_passed(before));
            assert!(!bodies.add(before, 20 << 10));
        }
        assert!(bodies.add(before, 20 << 10));
    }

    #[test]
    fn without_other_streams_there_is_nothing_to_be_divided() {
        assert!(!answered(1, 1, 1 << 40).have_passed(0));
    }

    #[test]
    fn short_answers_behind_long_ones_that_are_sent_in_order_are_not_starved() {
        assert!(!answered(64, 63, 8 << 20).add(0, 1));
    }

    #[test]
    fn a_long_answer_that_has_its_share_beside_short_ones_is_not_starved() {
        // While its 8 MiB come, each of the other streams gets as much.
        assert!(!answered(64, 63 * 512, 16 << 10).add(0, 8 << 20));
    }

    #[test]
    fn short_bodies_count_as_sixteen_kibibytes_long() {
        assert!(!answered(2, 8 * 2 * 16 - 1, 1 << 10).have_passed(0));
        assert!(answered(2, 8 * 2 * 16, 1 << 10).have_passed(0));
    }
}
