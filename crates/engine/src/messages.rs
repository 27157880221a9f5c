//! What the result of a load has whose answers are streams of messages.

use loadcurve_plan::{HttpLoad, Nanos};
use loadcurve_record::{Distribution, Recorder};
use serde::Serialize;

/// The messages of a load. Those of the window are counted whenever their requests were due; first messages and what was
/// delivered are those of the measured requests.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)] // The fields are the figures of their names.
pub struct MessagesSummary {
    pub kind: &'static str,
    /// From due, and from sent, to the first message of an answer.
    pub first_event_ms: Distribution,
    pub first_event_from_sent_ms: Distribution,
    /// From one message of a stream to the next.
    pub gap_ms: Distribution,
    pub received: u64,
    /// Absent if the window has no length.
    pub received_per_s: Option<f64>,
    pub data_bytes: u64,
    /// How many arrived together with the one before.
    pub together: u64,
    pub delivered: u64,
    /// Absent where nobody says how many an answer has.
    pub expected: Option<u64>,
    /// Streams that the client has ended, as it was asked to.
    pub ended_by_client: u64,
    /// Requests by which clients have opened their streams again, and how many of these said the id of the last event. Absent
    /// where clients do not do so.
    pub reconnects: Option<u64>,
    pub reconnects_with_id: Option<u64>,
}

/// The messages of a recording, where the plan asks for streams of them.
pub(crate) fn summary(plan: &HttpLoad, recorder: &Recorder, length: Nanos) -> Option<Box<MessagesSummary>> {
    let asked = plan.work.messages.as_ref()?;
    let events = asked.events()?;
    let messages = &recorder.messages;
    let per_s = messages.received as f64 / length.as_secs_f64();
    Some(Box::new(MessagesSummary {
        kind: if asked.grpc().is_some() { "grpc" } else { "events" },
        first_event_ms: (&messages.first_from_due).into(),
        first_event_from_sent_ms: (&messages.first_from_sent).into(),
        gap_ms: (&messages.gap).into(),
        received: messages.received,
        received_per_s: per_s.is_finite().then_some(per_s),
        data_bytes: messages.data_bytes,
        together: messages.together,
        delivered: messages.delivered,
        expected: events.events_expected.map(|each| each * recorder.requests.due),
        ended_by_client: messages.ended_by_client,
        reconnects: events.reconnect_after_s.map(|_| messages.reconnects),
        reconnects_with_id: events.reconnect_after_s.map(|_| messages.reconnects_with_id),
    }))
}
