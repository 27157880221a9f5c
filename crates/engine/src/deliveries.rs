//! What the result of a load has whose messages go to subscribers.

use loadcurve_plan::{HttpLoad, Nanos};
use loadcurve_record::{Distribution, FailureCounts, Recorder, Step};
use serde::Serialize;

/// The deliveries of a load: those of the measured messages, but for what came in a second.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)] // The fields are the figures of their names.
pub struct DeliveriesSummary {
    pub subscribers: SubscribersSummary,
    /// Of each message that was sent, the subscribers that were open then.
    pub expected: u64,
    pub delivered: u64,
    /// Delivered ÷ expected; absent where nothing was expected.
    pub reach: Option<f64>,
    /// Absent if the window has no length.
    pub delivered_per_s: Option<f64>,
    pub delivered_bytes: u64,
    /// From due to the last byte at a subscriber, of each delivery.
    pub latency_ms: Distribution,
    /// What came beside: deliveries of messages that had been given up, messages that the subscriber had, that were published
    /// before it was there, that are of other loads, that carry no marker, and what came to publishers.
    pub late: u64,
    pub duplicates: u64,
    pub earlier: u64,
    pub of_other_loads: u64,
    pub unmarked: u64,
    pub to_publishers: u64,
    /// Absent with fewer than two subscribers that have received anything.
    pub step: Option<StepSummary>,
}

/// The subscribers of the whole load, warm-up included.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct SubscribersSummary {
    pub asked: u64,
    pub opened: u64,
    /// By why they could not be opened.
    pub refused: FailureCounts,
    /// By how their connection has ended before the load did.
    pub closed: FailureCounts,
}

/// Where subscribers that receive messages early and such that receive them late are furthest apart, by the mean time from the
/// first delivery of a message to theirs.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs)]
pub struct StepSummary {
    pub ahead: u64,
    pub behind: u64,
    pub step_ms: f64,
    /// From the first one to the last one.
    pub spread_ms: f64,
}

impl From<Step> for StepSummary {
    fn from(step: Step) -> Self {
        let Step { ahead, behind, step, spread } = step;
        Self { ahead, behind, step_ms: step.as_millis_f64(), spread_ms: spread.as_millis_f64() }
    }
}

/// The deliveries of a recording, where the plan has subscribers.
pub(crate) fn summary(plan: &HttpLoad, recorder: &Recorder, length: Nanos) -> Option<Box<DeliveriesSummary>> {
    let asked = plan.work.subscribers()? as u64;
    let deliveries = &*recorder.deliveries;
    let subscribers = &deliveries.subscribers;
    let share = deliveries.delivered as f64 / deliveries.expected as f64;
    let per_s = deliveries.delivered_within as f64 / length.as_secs_f64();
    Some(Box::new(DeliveriesSummary {
        subscribers: SubscribersSummary {
            asked,
            opened: subscribers.opened,
            refused: subscribers.refused,
            closed: subscribers.closed,
        },
        expected: deliveries.expected,
        delivered: deliveries.delivered,
        reach: share.is_finite().then_some(share),
        delivered_per_s: per_s.is_finite().then_some(per_s),
        delivered_bytes: deliveries.body_bytes_within,
        latency_ms: (&deliveries.latency).into(),
        late: deliveries.late,
        duplicates: deliveries.duplicates,
        earlier: deliveries.earlier,
        of_other_loads: deliveries.of_other_loads,
        unmarked: deliveries.unmarked,
        to_publishers: deliveries.to_publishers,
        step: deliveries.step.map(StepSummary::from),
    }))
}
