//! The load over time: period by period.

use loadcurve_plan::Nanos;
use loadcurve_plan::limits::SERIES_PERIODS_MAX;
use serde::{Deserialize, Serialize};

use crate::{CoarseHistogram, CompactHistogram};

/// How wide the periods of a short load are.
const NARROWEST: Nanos = Nanos::from_millis(1000);

/// What was completed within one period of the measured window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Period {
    /// When it begins, counted from the start of the window.
    pub start: Nanos,
    /// How long it lasts: as long as all others, but for the last one, which ends with the window.
    pub width: Nanos,
    /// Requests answered.
    pub answered: u64,
    /// Requests failed.
    pub failed: u64,
    /// Bytes of bodies received.
    pub body_bytes: u64,
    /// Latency of the requests answered.
    pub latency: CompactHistogram,
}

impl Period {
    fn new(start: Nanos, width: Nanos) -> Self {
        Self { start, width, answered: 0, failed: 0, body_bytes: 0, latency: CompactHistogram::default() }
    }

    /// Adds what was completed in another period, and leaves start and width as they are.
    fn add(&mut self, other: &Self) {
        self.answered += other.answered;
        self.failed += other.failed;
        self.body_bytes += other.body_bytes;
        self.latency.merge(&other.latency);
    }
}

/// Completions by the period in which they happened, counted from the start of the measured window.
///
/// All periods are equally wide: a second, until there would be more than [`SERIES_PERIODS_MAX`] of them. Then
/// neighbours become one, and the width doubles. So the memory depends on neither the length of the load nor its
/// requests.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(into = "StoredSeries", try_from = "StoredSeries")]
pub(crate) struct Series {
    width: Nanos,
    /// All periods that have begun. Time does not go back, so events belong to the last one.
    periods: Vec<Period>,
    /// Latencies of the last period that are not in its own histogram yet, where counting them would need memory.
    latest: CoarseHistogram,
}

/// As a [`Series`] is stored.
#[derive(Serialize, Deserialize)]
struct StoredSeries {
    width_ns: Nanos,
    periods: Vec<StoredPeriod>,
}

/// A period, which begins where the one before it ends.
#[derive(Serialize, Deserialize)]
struct StoredPeriod {
    answered: u64,
    failed: u64,
    body_bytes: u64,
    latency: CoarseHistogram,
}

impl From<Series> for StoredSeries {
    fn from(mut series: Series) -> Self {
        series.settle();
        let stored = |period: Period| {
            let Period { answered, failed, body_bytes, latency, .. } = period;
            StoredPeriod { answered, failed, body_bytes, latency: latency.expand() }
        };
        Self { width_ns: series.width, periods: series.periods.into_iter().map(stored).collect() }
    }
}

impl TryFrom<StoredSeries> for Series {
    type Error = &'static str;

    fn try_from(stored: StoredSeries) -> Result<Self, &'static str> {
        let width = stored.width_ns;
        let is_width = width.0.is_multiple_of(NARROWEST.0) && (width.0 / NARROWEST.0).is_power_of_two();
        if !is_width || stored.periods.len() > SERIES_PERIODS_MAX {
            return Err("a series has too many periods, or their width is not a possible one");
        }
        let mut series = Self { width, ..Self::default() };
        for StoredPeriod { answered, failed, body_bytes, mut latency } in stored.periods {
            let period = Period::new(series.end(), width);
            let latency = latency.take_compact();
            series.periods.push(Period { answered, failed, body_bytes, latency, ..period });
        }
        Ok(series)
    }
}

impl Default for Series {
    fn default() -> Self {
        Self { width: NARROWEST, periods: Vec::new(), latest: CoarseHistogram::default() }
    }
}

impl Series {
    /// Counts an answer that was completed `since_start`.
    pub(crate) fn answered(&mut self, since_start: Nanos, latency: Nanos, body_bytes: u64) {
        let period = self.period_at(since_start);
        period.answered += 1;
        period.body_bytes += body_bytes;
        self.latest.record(latency);
    }

    /// Counts a failure that happened `since_start`.
    pub(crate) fn failed(&mut self, since_start: Nanos) {
        self.period_at(since_start).failed += 1;
    }

    /// All periods of a window of this length, the ones without an event included.
    #[must_use]
    pub(crate) fn periods(mut self, length: Nanos) -> Vec<Period> {
        self.settle();
        if length > Nanos::ZERO {
            self.begin_until(length - Nanos(1));
        }
        // What was completed in the very moment at which the window ends belongs to the period that ends there.
        while let [.., before, last] = self.periods.as_mut_slice() {
            if last.start < length {
                break;
            }
            before.add(last);
            self.periods.pop();
        }
        if let Some(last) = self.periods.last_mut() {
            last.width = length - last.start;
        }
        self.periods
    }

    /// Adds the periods of another worker to this one's, in the width of the wider ones.
    pub(crate) fn merge(&mut self, other: &Self) {
        let mut other = other.clone();
        self.settle();
        other.settle();
        while self.width < other.width {
            self.coarsen();
        }
        while other.width < self.width {
            other.coarsen();
        }
        for (period, more) in self.periods.iter_mut().zip(&other.periods) {
            debug_assert_eq!(
                (period.start, period.width),
                (more.start, more.width),
                "these are not one period"
            );
            period.add(more);
        }
        let begun = self.periods.len();
        self.periods.extend(other.periods.into_iter().skip(begun));
    }

    fn period_at(&mut self, since_start: Nanos) -> &mut Period {
        if self.end() <= since_start {
            self.settle();
            self.begin_until(since_start);
        }
        let last = self.periods.last_mut().expect("the period of this moment has begun");
        debug_assert!(last.start <= since_start, "time went back into an earlier period");
        last
    }

    /// The end of the last period that has begun.
    fn end(&self) -> Nanos {
        Nanos(self.width.0 * self.periods.len() as u64)
    }

    /// Begins periods until there is one for the moment `since_start`.
    fn begin_until(&mut self, since_start: Nanos) {
        while self.end() <= since_start {
            if self.periods.len() == SERIES_PERIODS_MAX {
                self.coarsen();
            }
            self.periods.push(Period::new(self.end(), self.width));
        }
    }

    /// Puts the latest latencies into their period.
    fn settle(&mut self) {
        if let Some(last) = self.periods.last_mut() {
            last.latency.merge(&self.latest.take_compact());
        }
    }

    /// Makes one period of each two neighbours.
    fn coarsen(&mut self) {
        let width = Nanos(2 * self.width.0);
        self.width = width;
        self.periods.dedup_by(|later, earlier| {
            let is_part = later.start < earlier.start + width;
            if is_part {
                earlier.add(later);
            }
            is_part
        });
        for period in &mut self.periods {
            period.width = width;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{NARROWEST, Period, Series};
    use crate::CoarseHistogram;
    use loadcurve_plan::Nanos;
    use loadcurve_plan::limits::SERIES_PERIODS_MAX;
    use proptest::prelude::*;

    /// An answer, or a failure where there is no latency, at a time since the start.
    #[derive(Clone, Copy, Debug)]
    struct Event {
        time: Nanos,
        latency: Option<Nanos>,
    }

    const DAY_S: u64 = 24 * 3600;
    /// The buckets of a histogram from 1 ns to an hour with two digits: 256, and 128 for each of 34 doublings.
    const BUCKETS: usize = 256 + 34 * 128;

    fn series_of(events: &[Event]) -> Series {
        let mut series = Series::default();
        for event in events {
            match event.latency {
                Some(latency) => series.answered(event.time, latency, 100),
                None => series.failed(event.time),
            }
        }
        series
    }

    fn merged(series: &[Series]) -> Series {
        let mut all = Series::default();
        for one in series {
            all.merge(one);
        }
        all
    }

    fn counts(series: Series, length_ms: u64) -> Vec<(u64, u64)> {
        let periods = series.periods(Nanos::from_millis(length_ms));
        periods.iter().map(|period| (period.answered, period.failed)).collect()
    }

    fn spans_ms(series: Series, length_ms: u64) -> Vec<(u64, u64)> {
        let periods = series.periods(Nanos::from_millis(length_ms));
        periods.iter().map(|period| (period.start.0 / 1_000_000, period.width.0 / 1_000_000)).collect()
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
    fn a_window_that_ends_within_a_second_ends_its_last_period() {
        assert_eq!(spans_ms(Series::default(), 2500), [(0, 1000), (1000, 1000), (2000, 500)]);
        assert_eq!(spans_ms(Series::default(), 2000), [(0, 1000), (1000, 1000)]);
        assert_eq!(spans_ms(Series::default(), 0), []);
    }

    #[test]
    fn what_is_completed_at_the_very_end_is_part_of_the_last_period() {
        let mut series = Series::default();
        series.answered(Nanos::from_millis(500), Nanos(5), 1);
        series.answered(Nanos::from_millis(2000), Nanos(5), 1);
        assert_eq!(counts(series.clone(), 2000), [(1, 0), (1, 0)]);
        assert_eq!(counts(series, 2001), [(1, 0), (0, 0), (1, 0)]);
    }

    #[test]
    fn ten_minutes_are_kept_in_seconds_and_anything_longer_in_twice_that() {
        let spans = spans_ms(Series::default(), 600_000);
        assert_eq!((spans.len(), spans[599]), (600, (599_000, 1000)));
        let spans = spans_ms(Series::default(), 600_001);
        assert_eq!((spans.len(), spans[0], spans[300]), (301, (0, 2000), (600_000, 1)));
    }

    #[test]
    fn merging_adds_period_by_period() {
        let mut left = Series::default();
        left.answered(Nanos::from_millis(100), Nanos(5), 10);
        let mut right = Series::default();
        right.answered(Nanos::from_millis(200), Nanos(7), 20);
        right.failed(Nanos::from_millis(1200));
        left.merge(&right);
        let merged = left.periods(Nanos::from_millis(1900));
        assert_eq!(merged.len(), 2);
        assert_eq!((merged[0].answered, merged[0].body_bytes), (2, 30));
        assert_eq!(merged[0].latency.expand().extremes(), Some((Nanos(5), Nanos(7))));
        assert_eq!(merged[1].failed, 1);
    }

    #[test]
    fn an_hour_merged_with_a_second_is_in_the_periods_of_the_hour() {
        let mut short = Series::default();
        short.failed(Nanos::from_millis(900));
        let mut long = Series::default();
        long.failed(Nanos::from_millis(3_599_999));
        short.merge(&long);
        let periods = short.periods(Nanos::from_millis(3_600_000));
        // 3600 s in 8 s each are 450; in 4 s each they would be 900.
        assert_eq!((periods.len(), periods[449].width), (450, Nanos::from_millis(8000)));
        assert_eq!((periods[0].failed, periods[449].failed), (1, 1));
    }

    #[test]
    fn a_load_of_ten_days_takes_no_more_memory_than_one_of_ten_minutes() {
        let mut series = Series::default();
        for second in 0..10 * DAY_S {
            // All latencies from nanoseconds to hours, in turn.
            series.answered(Nanos::from_millis(1000 * second), Nanos(1 << (second % 43)), 1);
            assert!(series.periods.len() <= SERIES_PERIODS_MAX);
        }
        let periods = series.periods(Nanos::from_millis(1000 * 10 * DAY_S));
        assert_eq!(periods.iter().map(|period| period.answered).sum::<u64>(), 10 * DAY_S);
        assert!(periods.iter().all(|period| period.latency.capacity() <= BUCKETS));
        // 864,000 s are 422 periods of 2,048 s; of 1,024 s there would be 844.
        assert_eq!((periods.len(), periods[0].width), (422, Nanos::from_millis(2_048_000)));
    }

    /// Events in their order, some close together, some days apart.
    fn events() -> impl Strategy<Value = Vec<Event>> {
        let step_ms = prop_oneof![8 => 0_u64..3_000, 4 => 0_u64..200_000, 1 => 0_u64..2 * 1000 * DAY_S];
        let latency_ns = prop::option::weighted(0.9, (0_u32..=43, 1_u64..1_000));
        prop::collection::vec((step_ms, latency_ns), 0..30).prop_map(|steps| {
            let mut time = Nanos::ZERO;
            let mut event = |(step_ms, latency_ns): (u64, Option<(u32, u64)>)| {
                time = time + Nanos::from_millis(step_ms);
                Event { time, latency: latency_ns.map(|(shift, latency)| Nanos(latency << shift)) }
            };
            steps.into_iter().map(&mut event).collect()
        })
    }

    fn length_of(events: &[Event]) -> Nanos {
        events.iter().map(|event| event.time + Nanos(1)).max().unwrap_or_default()
    }

    /// What the periods must hold, from all events at once: the narrowest width that needs no more periods than may
    /// be, and the events of each.
    fn expected(events: &[Event], length: Nanos) -> Vec<Period> {
        let mut widths = std::iter::successors(Some(NARROWEST.0), |width| Some(2 * width));
        let width = widths.find(|width| length.0.div_ceil(*width) <= SERIES_PERIODS_MAX as u64).unwrap();
        let mut latency = CoarseHistogram::default();
        (0..length.0.div_ceil(width))
            .map(|index| {
                let (start, end) = (width * index, (width * (index + 1)).min(length.0));
                let within = events.iter().filter(|event| (start..end).contains(&event.time.0));
                let latencies: Vec<Nanos> = within.clone().filter_map(|event| event.latency).collect();
                for time in &latencies {
                    latency.record(*time);
                }
                let answered = latencies.len() as u64;
                Period {
                    start: Nanos(start),
                    width: Nanos(end - start),
                    answered,
                    failed: within.count() as u64 - answered,
                    body_bytes: 100 * answered,
                    latency: latency.take_compact(),
                }
            })
            .collect()
    }

    proptest! {
        #[test]
        fn the_periods_hold_what_happened_in_them_whenever_they_were_widened(events in events()) {
            let length = length_of(&events);
            prop_assert_eq!(series_of(&events).periods(length), expected(&events, length));
        }

        #[test]
        fn workers_merge_to_the_same_periods_in_any_order(
            workers in prop::collection::vec(events(), 4),
            order in Just(vec![0, 1, 2, 3]).prop_shuffle(),
            first_group in 0_usize..=4,
        ) {
            let mut all = workers.concat();
            all.sort_by_key(|event| event.time);
            let length = length_of(&all);
            let expected = expected(&all, length);
            let series: Vec<Series> = order.iter().map(|worker| series_of(&workers[*worker])).collect();
            prop_assert_eq!(&merged(&series).periods(length), &expected);
            let (some, others) = series.split_at(first_group);
            prop_assert_eq!(&merged(&[merged(others), merged(some)]).periods(length), &expected);
        }
    }
}
