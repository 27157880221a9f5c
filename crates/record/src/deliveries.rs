//! What became of messages that one client publishes and many others receive.

use loadcurve_plan::Nanos;
use serde::{Deserialize, Serialize};

use crate::{FailureCounts, Recorder, TimeHistogram};

/// The deliveries of a fan-out. A message is measured if it was due in the window.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Deliveries {
    /// From when a measured message was due to its last byte at a subscriber, for each of its deliveries.
    pub latency: TimeHistogram,
    /// Deliveries that measured messages were to have: of each that was sent, the subscribers that were open then.
    pub expected: u64,
    /// Those that came, each within the timeout of its message.
    pub delivered: u64,
    /// Deliveries within the window, whenever the message was due.
    pub delivered_within: u64,
    /// The bytes of the bodies of these.
    pub body_bytes_within: u64,
    /// Deliveries that came when the message had been given up.
    pub late: u64,
    /// Messages that came to a subscriber that had them.
    pub duplicates: u64,
    /// Messages that were published before the subscriber was there.
    pub earlier: u64,
    /// Messages that carry the marker of another load.
    pub of_other_loads: u64,
    /// Messages without a marker.
    pub unmarked: u64,
    /// What came to publishers, who are no subscribers.
    pub to_publishers: u64,
    /// What became of subscribers.
    pub subscribers: Subscribers,
    /// Where the subscribers that receive messages early and those that receive them late are furthest apart.
    pub step: Option<Step>,
}

/// A step in the order of subscribers by their mean time from the first delivery of a message to theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// How many are ahead of it.
    pub ahead: u64,
    /// How many are behind it.
    pub behind: u64,
    /// How far apart the two sides are.
    pub step: Nanos,
    /// From the first subscriber to the last one.
    pub spread: Nanos,
}

impl Step {
    /// The largest step between these times; none for fewer than two.
    #[must_use]
    pub fn largest(mut times: Vec<Nanos>) -> Option<Self> {
        times.sort_unstable();
        let spread = *times.last()? - *times.first()?;
        let steps = times.windows(2).enumerate();
        let (before, step) =
            steps.map(|(before, two)| (before, two[1] - two[0])).max_by_key(|(_, step)| *step)?;
        let ahead = before as u64 + 1;
        Some(Self { ahead, behind: times.len() as u64 - ahead, step, spread })
    }
}

/// The subscribers of a whole load, warm-up included.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Subscribers {
    /// Those whose connection was opened.
    pub opened: u64,
    /// Those whose connection could not be opened, by why.
    pub refused: FailureCounts,
    /// Those whose connection has ended before the load did, by how.
    pub closed: FailureCounts,
}

impl Deliveries {
    /// Adds what another one has counted.
    pub fn merge(&mut self, other: &Self) {
        self.latency.merge(&other.latency);
        self.expected += other.expected;
        self.delivered += other.delivered;
        self.delivered_within += other.delivered_within;
        self.body_bytes_within += other.body_bytes_within;
        self.late += other.late;
        self.duplicates += other.duplicates;
        self.earlier += other.earlier;
        self.of_other_loads += other.of_other_loads;
        self.unmarked += other.unmarked;
        self.to_publishers += other.to_publishers;
        self.subscribers.opened += other.subscribers.opened;
        self.subscribers.refused.merge(&other.subscribers.refused);
        self.subscribers.closed.merge(&other.subscribers.closed);
        self.step = [self.step, other.step].into_iter().flatten().max_by_key(|step| step.step);
    }
}

impl Recorder {
    /// A message due then was published, and is to reach this many subscribers.
    pub fn published(&mut self, due: Nanos, subscribers: u64) {
        if self.window.measures(due) {
            self.deliveries.expected += subscribers;
        }
    }

    /// A message due then has come to one of the subscribers that were to receive it, for the first time; says whether it is a
    /// measured one.
    #[inline]
    pub fn delivered(&mut self, due: Nanos, now: Nanos, body_bytes: u64) -> bool {
        if self.window.contains(now) {
            self.deliveries.delivered_within += 1;
            self.deliveries.body_bytes_within += body_bytes;
        }
        let is_measured = self.window.measures(due);
        if is_measured {
            self.deliveries.delivered += 1;
            self.deliveries.latency.record(now - due);
        }
        is_measured
    }

    /// The same of one that comes too late, as it was given up.
    pub fn delivered_late(&mut self, due: Nanos) {
        self.deliveries.late += u64::from(self.window.measures(due));
    }

    /// A message due then has come to a subscriber once more.
    pub fn delivered_again(&mut self, due: Nanos) {
        self.deliveries.duplicates += u64::from(self.window.measures(due));
    }
}

#[cfg(test)]
mod tests {
    use loadcurve_plan::Nanos;

    use super::{Deliveries, Step};
    use crate::{Distribution, Failure, FailureCounts, Recorder, Window};

    const BEGIN: Nanos = Nanos::from_millis(100);

    fn recorder() -> Recorder {
        let mut recorder = Recorder::new(1);
        recorder.open_window(Window { start: BEGIN, end: Nanos::from_millis(1000) });
        recorder
    }

    #[test]
    fn deliveries_belong_to_the_window_in_which_their_message_was_due_and_their_rate_to_that_in_which_they_came()
     {
        let mut recorder = recorder();
        let (before, within) = (Nanos::from_millis(90), Nanos::from_millis(900));
        for due in [before, within] {
            recorder.published(due, 2);
        }
        recorder.delivered(before, Nanos::from_millis(150), 7);
        recorder.delivered(within, Nanos::from_millis(910), 7);
        recorder.delivered(within, Nanos::from_millis(1020), 7);
        recorder.delivered_late(before);
        recorder.delivered_late(within);
        recorder.delivered_again(within);
        let found = &recorder.deliveries;
        assert_eq!((found.expected, found.delivered, found.late, found.duplicates), (2, 2, 1, 1));
        assert_eq!((found.delivered_within, found.body_bytes_within), (2, 14));
        let latency = Distribution::from(&found.latency);
        assert_eq!((latency.min, latency.max), (Some(10.0), Some(120.0)));
    }

    #[test]
    fn the_largest_step_divides_those_ahead_from_those_behind() {
        let step = |times: &[u64]| Step::largest(times.iter().copied().map(Nanos::from_millis).collect());
        assert_eq!(step(&[]), None);
        assert_eq!(step(&[7]), None);
        let (step_length, spread) = (Nanos::from_millis(50), Nanos::from_millis(53));
        assert_eq!(step(&[52, 1, 2, 54]), Some(Step { ahead: 2, behind: 2, step: step_length, spread }));
    }

    #[test]
    fn recordings_merge_to_what_one_would_have_recorded() {
        let one = |seed: u64| {
            let mut one = Deliveries {
                expected: seed,
                delivered: seed + 1,
                delivered_within: seed + 2,
                body_bytes_within: seed + 3,
                late: seed + 4,
                duplicates: seed + 5,
                earlier: seed + 6,
                of_other_loads: seed + 7,
                unmarked: seed + 8,
                to_publishers: seed + 9,
                ..Deliveries::default()
            };
            one.latency.record(Nanos::from_millis(seed));
            one.subscribers.opened = seed + 10;
            one.subscribers.refused = FailureCounts::from([(Failure::UpgradeRefused, seed)]);
            one.subscribers.closed = FailureCounts::from([(Failure::ClosedPolicy, seed)]);
            one
        };
        let mut merged = one(10);
        merged.merge(&one(20));
        assert_eq!(merged.latency.count(), 2);
        assert_eq!(
            (merged.expected, merged.delivered, merged.delivered_within, merged.body_bytes_within),
            (30, 32, 34, 36)
        );
        assert_eq!((merged.late, merged.duplicates, merged.earlier), (38, 40, 42));
        assert_eq!((merged.of_other_loads, merged.unmarked, merged.to_publishers), (44, 46, 48));
        assert_eq!(merged.subscribers.opened, 50);
        assert_eq!(merged.subscribers.refused[Failure::UpgradeRefused], 30);
        assert_eq!(merged.subscribers.closed[Failure::ClosedPolicy], 30);
    }
}
