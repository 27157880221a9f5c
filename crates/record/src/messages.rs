//! What came on streams of messages: when the first one did, how far apart the others were, and how many there were.

use loadcurve_plan::Nanos;
use serde::{Deserialize, Serialize};

use crate::{Recorder, TimeHistogram};

/// The messages of a load; nothing where an answer is a whole.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Messages {
    /// From when a measured request was due to the first message of its answer.
    pub first_from_due: TimeHistogram,
    /// The same from when it was sent.
    pub first_from_sent: TimeHistogram,
    /// From one message to the next of the same stream, where the second one came within the window. Those that arrived
    /// together are no time apart.
    pub gap: TimeHistogram,
    /// Messages that came within the window, whenever their requests were due.
    pub received: u64,
    /// The bytes of their data.
    pub data_bytes: u64,
    /// How many of them arrived together with the one before.
    pub together: u64,
    /// Messages of measured requests, of each no more than its answer is expected to have.
    pub delivered: u64,
    /// Measured requests whose stream the client has ended, as it was asked to.
    pub ended_by_client: u64,
    /// Measured requests by which clients have opened their streams again.
    pub reconnects: u64,
    /// How many of them said the id of the last event.
    pub reconnects_with_id: u64,
}

/// Messages that arrived together on one stream, at least one.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// When the request of the stream was due, and when it was sent.
    pub due: Nanos,
    /// When it was sent.
    pub sent: Nanos,
    /// When they arrived.
    pub now: Nanos,
    /// When the message before them did; none for the first one of a stream.
    pub before: Option<Nanos>,
    /// How many there are.
    pub count: u64,
    /// How many of them the answer was still expected to have.
    pub expected: u64,
    /// The bytes of data that came since the message before them.
    pub data_bytes: u64,
}

impl Messages {
    /// Adds what another one has counted.
    pub fn merge(&mut self, other: &Self) {
        self.first_from_due.merge(&other.first_from_due);
        self.first_from_sent.merge(&other.first_from_sent);
        self.gap.merge(&other.gap);
        self.received += other.received;
        self.data_bytes += other.data_bytes;
        self.together += other.together;
        self.delivered += other.delivered;
        self.ended_by_client += other.ended_by_client;
        self.reconnects += other.reconnects;
        self.reconnects_with_id += other.reconnects_with_id;
    }
}

impl Recorder {
    /// Messages arrived together.
    pub fn messages_arrived(&mut self, arrival: &Arrival) {
        let Arrival { due, sent, now, before, count, expected, data_bytes } = *arrival;
        if self.window.contains(now) {
            let apart = before.map(|before| now - before);
            let behind = count - u64::from(before.is_none_or(|before| before < now));
            self.messages.received += count;
            self.messages.data_bytes += data_bytes;
            self.messages.together += behind;
            if let Some(apart) = apart.filter(|apart| *apart > Nanos::ZERO) {
                self.messages.gap.record(apart);
            }
            self.messages.gap.record_many(Nanos::ZERO, behind);
        }
        let level = self.level_of(due);
        if level.window.measures(due) {
            level.messages.delivered += expected;
            if before.is_none() {
                level.messages.first_from_due.record(now - due);
                level.messages.first_from_sent.record(now - sent);
            }
        }
    }

    /// The client has ended the stream of a request due then, as it was asked to.
    pub fn ended_by_client(&mut self, due: Nanos) {
        let level = self.level_of(due);
        level.messages.ended_by_client += u64::from(level.window.measures(due));
    }

    /// A client has opened its stream again by a request due then.
    pub fn reconnected(&mut self, due: Nanos, has_id: bool) {
        let level = self.level_of(due);
        let is_measured = level.window.measures(due);
        level.messages.reconnects += u64::from(is_measured);
        level.messages.reconnects_with_id += u64::from(is_measured && has_id);
    }
}

#[cfg(test)]
mod tests {
    use loadcurve_plan::Nanos;

    use super::Arrival;
    use crate::{Distribution, Recorder, Window};

    fn recorder() -> Recorder {
        let mut recorder = Recorder::new(1);
        recorder.open_window(Window { start: Nanos::from_millis(100), end: Nanos::from_millis(1000) });
        recorder
    }

    /// Messages that arrived at this millisecond of the clock, and the ones before them at the second one.
    fn arrival(now: u64, before: Option<u64>, count: u64) -> Arrival {
        Arrival {
            due: Nanos::from_millis(100),
            sent: Nanos::from_millis(104),
            now: Nanos::from_millis(now),
            before: before.map(Nanos::from_millis),
            count,
            expected: count.min(1),
            data_bytes: 10 * count,
        }
    }

    #[test]
    fn the_first_message_counts_from_due_and_sent_and_the_others_from_the_one_before() {
        let mut recorder = recorder();
        recorder.messages_arrived(&arrival(150, None, 1));
        recorder.messages_arrived(&arrival(190, Some(150), 1));
        let messages = &recorder.messages;
        let max = |times| Distribution::from(times).max;
        assert_eq!((max(&messages.first_from_due), max(&messages.first_from_sent)), (Some(50.0), Some(46.0)));
        assert_eq!((messages.gap.count(), max(&messages.gap)), (1, Some(40.0)));
        assert_eq!((messages.received, messages.together, messages.data_bytes), (2, 0, 20));
    }

    #[test]
    fn messages_that_arrive_together_are_no_time_apart_and_each_of_them_is_a_gap() {
        let mut recorder = recorder();
        // Three at once: two gaps of nothing between them. Two more: one gap of 50 ms and one of nothing.
        recorder.messages_arrived(&arrival(150, None, 3));
        recorder.messages_arrived(&arrival(200, Some(150), 2));
        // Another part of what arrived in the same turn.
        recorder.messages_arrived(&arrival(200, Some(200), 1));
        let messages = &recorder.messages;
        assert_eq!((messages.received, messages.together, messages.gap.count()), (6, 4, 5));
        assert_eq!(Distribution::from(&messages.gap).max, Some(50.0));
    }

    #[test]
    fn gaps_belong_to_the_window_and_first_messages_to_the_requests_that_are_measured() {
        let mut recorder = recorder();
        let warm_up = Arrival { due: Nanos::from_millis(50), ..arrival(90, None, 1) };
        recorder.messages_arrived(&warm_up);
        recorder.messages_arrived(&Arrival { before: Some(Nanos::from_millis(90)), ..arrival(120, None, 1) });
        recorder
            .messages_arrived(&Arrival { before: Some(Nanos::from_millis(900)), ..arrival(1200, None, 1) });
        let messages = &recorder.messages;
        assert_eq!((messages.received, messages.gap.count()), (1, 1));
        assert_eq!(messages.first_from_due.count(), 0);
        // Of a measured request, also what came after the window was delivered.
        assert_eq!(messages.delivered, 2);
    }

    /// All figures of a recording, in a form that can be compared.
    fn figures(recorder: &Recorder) -> ([String; 3], [u64; 7]) {
        let messages = &recorder.messages;
        let times = [&messages.first_from_due, &messages.first_from_sent, &messages.gap];
        let counts = [
            messages.received,
            messages.data_bytes,
            messages.together,
            messages.delivered,
            messages.ended_by_client,
            messages.reconnects,
            messages.reconnects_with_id,
        ];
        (times.map(crate::TimeHistogram::encode), counts)
    }

    #[test]
    fn recordings_merge_to_what_one_would_have_recorded() {
        let arrivals = [arrival(150, None, 2), arrival(200, Some(150), 1), arrival(300, Some(200), 3)];
        let mut whole = recorder();
        for one in &arrivals {
            whole.messages_arrived(one);
        }
        whole.ended_by_client(Nanos::from_millis(100));
        whole.reconnected(Nanos::from_millis(100), true);
        whole.reconnected(Nanos::from_millis(200), false);
        for split in 0..=arrivals.len() {
            let (mut first, mut second) = (recorder(), recorder());
            arrivals[..split].iter().for_each(|one| first.messages_arrived(one));
            arrivals[split..].iter().for_each(|one| second.messages_arrived(one));
            second.ended_by_client(Nanos::from_millis(100));
            first.reconnected(Nanos::from_millis(100), true);
            second.reconnected(Nanos::from_millis(200), false);
            // In the warm-up.
            second.reconnected(Nanos::from_millis(50), true);
            first.merge(&second);
            assert_eq!(figures(&first), figures(&whole));
        }
    }
}
