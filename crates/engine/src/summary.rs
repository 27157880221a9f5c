//! From what the threads of a load measured to its result: merged first, summarised once.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use loadcurve_plan::Pace;
use loadcurve_record::{OperationTally, Recorder, SlowRequest};

use crate::gathered::Gathered;
use crate::merged::Merged;
use crate::result::{
    Bytes, ErrorMessage, GapSummary, Histograms, LoadResult, Operation, Requests, SeriesPeriod, Slow,
};
use crate::verdict::{Evidence, KeptUp, Loaded, Verdict};

/// How many explanations of failures a result has.
const MOST_MESSAGES: usize = 20;

/// What a load was to be, as far as its result shows it and its verdict needs it.
pub struct Terms<'a> {
    /// What was under load.
    pub loaded: Loaded,
    /// When it asked, and until when.
    pub pace: Pace,
    /// What it kept up where it was a closed loop.
    pub kept_up: KeptUp,
    /// What results call the backend.
    pub io: Cow<'static, str>,
    /// What each tally is called.
    pub tally_labels: &'a [String],
    /// What one of the slowest requests is called.
    pub label_of: &'a dyn Fn(&SlowRequest) -> String,
}

impl LoadResult {
    /// Summarises once what one or several processes recorded, and judges it.
    ///
    /// # Panics
    /// Without a process, and when the counts of requests do not add up.
    #[must_use]
    pub fn new(terms: Terms<'_>, gathered: Gathered) -> Self {
        Summary::new(terms, gathered).judged()
    }
}

/// A result before its verdict, with what that is reached from.
pub(crate) struct Summary {
    pub(crate) result: LoadResult,
    pub(crate) merged: Merged,
    pub(crate) evidence: Evidence,
}

impl Summary {
    pub(crate) fn new(terms: Terms<'_>, gathered: Gathered) -> Self {
        let Terms { loaded, pace, kept_up, io, tally_labels, label_of } = terms;
        let (whole, slowest_within) = gathered.together();
        let merged = Merged::new(&pace, whole);
        let recorder = &merged.recorder;
        let latency = recorder.latency();
        let shows_answers = loaded.row().shows_answers;
        let slow = |slow: &SlowRequest| Slow::new(slow, label_of(slow));
        let result = LoadResult {
            interrupted: merged.interrupted,
            window_start_monotonic_s: merged.start.as_secs_f64(),
            duration_s: merged.length.as_secs_f64(),
            requests: Requests::new(recorder),
            waited_through: merged.waited_through(),
            rate_rps: merged.rate(&pace),
            latency_ms: (&latency).into(),
            service_time_ms: (&recorder.service_time).into(),
            connect_ms: (&recorder.connect).into(),
            handshake_ms: (&recorder.handshake).into(),
            first_byte_ms: (&recorder.first_byte).into(),
            transfer_ms: (&recorder.transfer).into(),
            connections: merged.connections(shows_answers),
            tls: None,
            http2: None,
            http3: None,
            messages: None,
            deliveries: None,
            compression: None,
            bytes: shows_answers.then(|| Bytes::from(recorder)),
            status: shows_answers.then(|| recorder.statuses.answered()),
            statuses: shows_answers.then(|| recorder.statuses.in_order()),
            unexpected_status: (recorder.expected_statuses > 0).then(|| recorder.statuses.wrong()),
            errors: recorder.failures,
            error_messages: error_messages(recorder, tally_labels),
            broken_off: None,
            redirected_to: None,
            generator: merged.generator(io),
            kernel: merged.kernel,
            operations: operations(recorder, tally_labels),
            slowest: recorder.slowest.in_order().iter().map(slow).collect(),
            silences: recorder.gaps(merged.length).into_iter().map(GapSummary::from).collect(),
            series: recorder.periods(merged.length).iter().map(SeriesPeriod::from).collect(),
            histograms: Histograms::new(recorder, &latency),
            verdict: Verdict::default(),
        };
        let slowest = slowest_within(merged.length);
        let evidence = Evidence::of(&result, loaded, &pace, kept_up, &merged, slowest);
        Self { result, merged, evidence }
    }

    /// The result with the verdict that its evidence gives.
    pub(crate) fn judged(self) -> LoadResult {
        LoadResult { verdict: Verdict::of(&self.evidence), ..self.result }
    }
}

/// The operations by their labels, in the order in which these come first: requests of one label are one operation.
fn operations(recorder: &Recorder, labels: &[String]) -> Vec<Operation> {
    let mut places: HashMap<&String, usize> = HashMap::new();
    let mut found: Vec<(&String, Cow<'_, OperationTally>)> = Vec::new();
    for (tally, label) in recorder.operations.iter().zip(labels) {
        match places.entry(label) {
            Entry::Occupied(place) => found[*place.get()].1.to_mut().merge(tally),
            Entry::Vacant(place) => {
                place.insert(found.len());
                found.push((label, Cow::Borrowed(tally)));
            }
        }
    }
    found
        .into_iter()
        .map(|(label, tally)| Operation {
            operation: label.clone(),
            answered: tally.answered,
            ok: tally.answered - tally.answered_wrongly,
            failed: tally.failed,
            latency_ms: (&tally.latency).into(),
        })
        .collect()
}

fn error_messages(recorder: &Recorder, labels: &[String]) -> Vec<ErrorMessage> {
    let reported = recorder.explanations.most_frequent(MOST_MESSAGES).into_iter();
    reported
        .map(|explanation| ErrorMessage {
            error: explanation.failure,
            operation: labels[explanation.operation].clone(),
            text: explanation.text.clone(),
            example: explanation.example.clone(),
            count: explanation.count,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use loadcurve_plan::Nanos;
    use loadcurve_record::{OperationTally, Recorder};

    use super::operations;

    #[test]
    fn requests_of_one_label_are_one_operation_with_all_their_figures() {
        let mut recorder = Recorder::new(3);
        for (place, (answered, answered_wrongly, latency)) in
            [(2, 0, 1_000), (5, 1, 3_000), (1, 1, 2_000)].into_iter().enumerate()
        {
            let tally = &mut recorder.operations[place];
            *tally = OperationTally { answered, answered_wrongly, failed: 1, ..OperationTally::default() };
            for _ in 0..answered {
                tally.latency.record(Nanos(latency));
            }
        }
        let found = operations(&recorder, &["GET /a", "POST /b", "GET /a"].map(str::to_owned));
        let counts: Vec<_> =
            found.iter().map(|one| (one.operation.as_str(), one.answered, one.ok, one.failed)).collect();
        assert_eq!(counts, [("GET /a", 3, 2, 2), ("POST /b", 5, 4, 1)]);
        assert_eq!((found[0].latency_ms.count, found[1].latency_ms.count), (3, 5));
        assert_eq!(found[0].latency_ms.max, Some(0.002));
    }
}
