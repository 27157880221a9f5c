//! Answers that have begun, and that their server leaves behind while it answers others on the same connection.

/// How many times the longest answers of all streams together pass one that is starved: where a server is fair, twice at most.
const TIMES: u64 = 8;
/// Shorter bodies count as this long: what ends them may have been lost, and comes a few round trips later.
const BODY_BYTES_MIN: u64 = 16 * 1024;

/// The bodies that were answered on one connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AnsweredBodies {
    bytes: u64,
    longest: u64,
}

impl AnsweredBodies {
    /// One more was answered.
    #[inline]
    pub(crate) fn add(&mut self, bytes: u64) {
        self.bytes += bytes;
        self.longest = self.longest.max(bytes);
    }

    /// All of them, in bytes.
    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether an answer was starved that had begun when `before` bytes had been answered, with at most `at_once` requests under way. A
    /// server that divides the connection evenly, or answers in order, lets at most two answers of each other stream pass: the one
    /// that it was sending, and the next.
    #[inline]
    pub(crate) fn have_passed(&self, before: u64, at_once: usize) -> bool {
        at_once > 1 && self.bytes - before >= TIMES * at_once as u64 * self.longest.max(BODY_BYTES_MIN)
    }
}

#[cfg(test)]
mod tests {
    use super::AnsweredBodies;

    #[test]
    fn an_answer_is_starved_where_eight_times_the_longest_answers_of_all_streams_pass_it() {
        let mut bodies = AnsweredBodies::default();
        bodies.add(1_000);
        let before = bodies.bytes();
        // Four streams, bodies of 20 KiB.
        for _ in 1..8 * 4 {
            bodies.add(20 << 10);
            assert!(!bodies.have_passed(before, 4));
        }
        bodies.add(20 << 10);
        assert!(bodies.have_passed(before, 4));
        assert!(!bodies.have_passed(before, 5));
        // Without others there is nothing to be divided.
        assert!(!bodies.have_passed(0, 1));
    }

    #[test]
    fn short_answers_behind_long_ones_that_are_sent_in_order_are_not_starved() {
        let mut bodies = AnsweredBodies::default();
        for _ in 0..63 {
            bodies.add(8 << 20);
        }
        assert!(!bodies.have_passed(0, 64));
    }

    #[test]
    fn short_bodies_count_as_sixteen_kibibytes_long() {
        let mut bodies = AnsweredBodies::default();
        for _ in 1..8 * 2 * 16 {
            bodies.add(1 << 10);
            assert!(!bodies.have_passed(0, 2));
        }
        bodies.add(1 << 10);
        assert!(bodies.have_passed(0, 2));
    }
}
