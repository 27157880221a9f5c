//! The periods of a table with one line for each request, as other load generators write them.

use loadcurve_plan::Nanos;

use crate::histogram::LONGEST;

/// What is summed up of the answers in each period of a window.
#[derive(Debug)]
pub struct PeriodSums {
    width: Nanos,
    digits: u8,
    periods: Vec<PeriodSum>,
}

/// The answers in one period.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PeriodSum {
    /// How many there were.
    pub answered: u64,
    /// The shortest and the longest time, in ns; none without an answer.
    pub extremes_ns: Option<(i64, i64)>,
    /// The sum of their times in ns.
    pub sum_ns: i128,
    /// The sum of the lengths of their bodies.
    pub body_bytes: i64,
    /// The counters of the histogram of their times, without those of 0 behind the last one that is not.
    pub counters: Vec<u64>,
}

impl PeriodSums {
    /// Begin with none in periods of this width, counted with as many significant decimal digits.
    ///
    /// # Panics
    ///
    /// If there is no period, or it has no width.
    #[must_use]
    pub fn new(periods: usize, width: Nanos, digits: u8) -> Self {
        assert!(periods > 0 && width.0 > 0, "a window has periods of some width");
        Self { width, digits, periods: vec![PeriodSum::default(); periods] }
    }

    /// Add an answer that was done at a moment of the window; before it and behind it are in its first and last period.
    pub fn add(&mut self, done_ns: i64, time_ns: i64, body_bytes: i64) {
        let place = u64::try_from(done_ns).unwrap_or(0) / self.width.0;
        let last = self.periods.len() - 1;
        let period = &mut self.periods[usize::try_from(place).unwrap_or(last).min(last)];
        period.answered += 1;
        let (shortest, longest) = period.extremes_ns.unwrap_or((time_ns, time_ns));
        period.extremes_ns = Some((shortest.min(time_ns), longest.max(time_ns)));
        period.sum_ns += i128::from(time_ns);
        period.body_bytes = period.body_bytes.saturating_add(body_bytes);
        let counter = counter_of(u64::try_from(time_ns).unwrap_or(0).min(LONGEST.0), self.digits);
        if counter >= period.counters.len() {
            period.counters.resize(counter + 1, 0);
        }
        period.counters[counter] += 1;
    }

    /// The periods, in their order.
    #[must_use]
    pub fn periods(&self) -> &[PeriodSum] {
        &self.periods
    }
}

/// The index of the counter of a time in an `HdrHistogram` whose smallest bucket is 1 wide.
fn counter_of(time: u64, digits: u8) -> usize {
    let resolved: u64 = 2 * 10_u64.pow(u32::from(digits));
    let bits = u64::BITS - (resolved - 1).leading_zeros() - 1;
    let doublings = (u64::BITS - time.leading_zeros()).saturating_sub(bits + 1);
    let counter = (u64::from(doublings) << bits) + (time >> doublings);
    usize::try_from(counter).expect("an hour has few counters")
}

/// Counters as the interchange format of `HdrHistogram` (V2) has them: `(index, count)` in rising order of the indices.
///
/// A count of 0 is left out.
#[must_use]
pub fn encoded_counters(counters: impl IntoIterator<Item = (u64, u64)>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut expected = 0;
    for (index, count) in counters {
        if count == 0 {
            continue;
        }
        match index.saturating_sub(expected) {
            0 => {}
            // A row of n zeros is the number -n, and a single one 0.
            1 => bytes.push(0),
            gap => push_number(&mut bytes, 2 * gap - 1),
        }
        push_number(&mut bytes, 2 * count);
        expected = index + 1;
    }
    bytes
}

/// Append a number in groups of seven bits, the lowest first.
fn push_number(bytes: &mut Vec<u8>, mut number: u64) {
    while let Some(more) = std::num::NonZeroU64::new(number >> 7) {
        bytes.push(number.to_le_bytes()[0] | 0x80);
        number = more.get();
    }
    bytes.push(number.to_le_bytes()[0]);
}

#[cfg(test)]
mod tests {
    use hdrhistogram::Histogram;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn answers_are_in_the_period_in_which_they_were_done() {
        let mut sums = PeriodSums::new(3, Nanos(10), 2);
        for (done, time) in [(-1, 5), (0, 7), (9, 6), (10, 300), (29, 1), (30, 2), (i64::MAX, 3)] {
            sums.add(done, time, 100);
        }
        let [first, second, third] = sums.periods() else { panic!("three periods") };
        assert_eq!(
            (first.answered, first.extremes_ns, first.sum_ns, first.body_bytes),
            (3, Some((5, 7)), 18, 300)
        );
        assert_eq!((second.answered, second.extremes_ns), (1, Some((300, 300))));
        assert_eq!((third.answered, third.sum_ns), (3, 6));
        assert_eq!(third.counters, [0, 1, 1, 1]);
    }

    #[test]
    fn nothing_is_known_of_a_period_without_answers() {
        assert_eq!(PeriodSums::new(2, Nanos(1), 2).periods(), [PeriodSum::default(), PeriodSum::default()]);
    }

    #[test]
    fn a_time_beyond_an_hour_is_counted_as_one() {
        let mut sums = PeriodSums::new(1, Nanos(1), 2);
        sums.add(0, i64::MAX, 0);
        let [period] = sums.periods() else { panic!("one period") };
        assert_eq!(period.extremes_ns, Some((i64::MAX, i64::MAX)));
        assert_eq!(period.counters.len(), counter_of(LONGEST.0, 2) + 1);
    }

    #[test]
    fn rows_of_zeros_are_one_number() {
        // By the format's description: zigzag numbers, of which negative ones are rows of zeros.
        assert_eq!(encoded_counters([(0, 1), (1, 2), (3, 3), (6, 100), (9, 0)]), [2, 4, 0, 6, 3, 0xc8, 1]);
        assert_eq!(encoded_counters([]), []);
    }

    proptest! {
        #[test]
        fn counters_are_those_of_hdrhistogram(time in 0_u64..=LONGEST.0, digits in 2_u8..=3) {
            // Of two times with one counter there it has both or none.
            let peer = Histogram::<u64>::new_with_bounds(1, LONGEST.0, digits).unwrap();
            let counter = counter_of(time, digits);
            prop_assert_eq!(counter_of(peer.lowest_equivalent(time), digits), counter);
            prop_assert_eq!(counter_of(peer.highest_equivalent(time), digits), counter);
            prop_assert_eq!(counter_of(peer.highest_equivalent(time) + 1, digits), counter + 1);
        }
    }
}
