//! The load second by second.

use loadcurve_plan::Nanos;

use crate::TimeHistogram;
use crate::histogram::CompactHistogram;

const SECOND: Nanos = Nanos::from_millis(1000);

/// What was completed within one second of the measured window.
#[derive(Clone, Debug, Default)]
pub struct Second {
    /// Requests answered.
    pub answered: u64,
    /// Requests failed.
    pub failed: u64,
    /// Bytes of bodies received.
    pub body_bytes: u64,
    /// Latency of the requests answered.
    pub latency: CompactHistogram,
}

impl Second {
    fn merge(&mut self, other: &Self) {
        self.answered += other.answered;
        self.failed += other.failed;
        self.body_bytes += other.body_bytes;
        self.latency.merge(&other.latency);
    }
}

/// Completions by the second in which they happened, counted from the start of the measured window.
#[derive(Clone, Debug, Default)]
pub(crate) struct Series {
    past: Vec<Second>,
    current: Second,
    current_latency: TimeHistogram,
}

impl Series {
    /// Counts an answer that was completed `since_start`.
    pub(crate) fn answered(&mut self, since_start: Nanos, latency: Nanos, body_bytes: u64) {
        self.advance_to(since_start);
        self.current.answered += 1;
        self.current.body_bytes += body_bytes;
        self.current_latency.record(latency);
    }

    /// Counts a failure that happened `since_start`.
    pub(crate) fn failed(&mut self, since_start: Nanos) {
        self.advance_to(since_start);
        self.current.failed += 1;
    }

    /// All seconds that have begun before `length` after the start, the ones without an event included.
    #[must_use]
    pub(crate) fn seconds(mut self, length: Nanos) -> Vec<Second> {
        self.advance_to(Nanos(length.0.saturating_sub(1)));
        self.put_current_away();
        self.past
    }

    /// Adds the seconds of another worker to this one's.
    pub(crate) fn merge(&mut self, other: &Self) {
        let mut theirs = other.clone();
        let begun = self.past.len().max(theirs.past.len()) as u64;
        self.advance_to(Nanos(SECOND.0 * begun));
        theirs.advance_to(Nanos(SECOND.0 * begun));
        for (second, more) in self.past.iter_mut().zip(&theirs.past) {
            second.merge(more);
        }
        self.current.merge(&theirs.current);
        self.current_latency.merge(&theirs.current_latency);
    }

    fn advance_to(&mut self, since_start: Nanos) {
        while since_start.0 >= SECOND.0 * (self.past.len() as u64 + 1) {
            self.put_current_away();
        }
    }

    fn put_current_away(&mut self) {
        let mut second = std::mem::take(&mut self.current);
        second.latency = self.current_latency.take_compact();
        self.past.push(second);
    }
}

#[cfg(test)]
mod tests {
    use super::Series;
    use loadcurve_plan::Nanos;

    fn counts(series: Series, length_ms: u64) -> Vec<(u64, u64)> {
        let seconds = series.seconds(Nanos::from_millis(length_ms));
        seconds.iter().map(|second| (second.answered, second.failed)).collect()
    }

    #[test]
    fn each_event_lies_in_its_second_and_empty_seconds_are_filled_in() {
        let mut series = Series::default();
        series.answered(Nanos::from_millis(0), Nanos(5), 1);
        series.answered(Nanos::from_millis(999), Nanos(5), 1);
        series.failed(Nanos::from_millis(1000));
        series.answered(Nanos::from_millis(3500), Nanos(5), 1);
        assert_eq!(counts(series, 5000), [(2, 0), (0, 1), (0, 0), (1, 0), (0, 0)]);
    }

    #[test]
    fn a_window_that_ends_within_a_second_keeps_the_part_that_was_measured() {
        assert_eq!(counts(Series::default(), 2500).len(), 3);
        assert_eq!(counts(Series::default(), 2000).len(), 2);
    }

    #[test]
    fn merging_adds_second_by_second() {
        let mut left = Series::default();
        left.answered(Nanos::from_millis(100), Nanos(5), 10);
        let mut right = Series::default();
        right.answered(Nanos::from_millis(200), Nanos(7), 20);
        right.failed(Nanos::from_millis(1200));
        left.merge(&right);
        let merged = left.seconds(Nanos::from_millis(1900));
        assert_eq!(merged.len(), 2);
        assert_eq!((merged[0].answered, merged[0].body_bytes), (2, 30));
        assert_eq!(merged[0].latency.expand().count(), 2);
        assert_eq!(merged[1].failed, 1);
    }
}
