//! Recordings of several workers as one.

use super::Recorder;

impl Recorder {
    /// Adds another worker's recording of the same load, which has the same operations. Whatever the order in which
    /// recordings are merged, what they come to is the same.
    pub fn merge(&mut self, other: &Self) {
        self.requests.due += other.requests.due;
        self.requests.sent += other.requests.sent;
        self.requests.answered += other.requests.answered;
        self.requests.failed += other.requests.failed;
        self.requests.unanswered += other.requests.unanswered;
        self.requests.never_sent += other.requests.never_sent;
        self.requests.moved += other.requests.moved;
        self.warm_up.begun += other.warm_up.begun;
        self.warm_up.answered += other.warm_up.answered;
        self.warm_up.failed += other.warm_up.failed;
        self.warm_up.unanswered += other.warm_up.unanswered;
        self.never_sent_while_free += other.never_sent_while_free;
        self.merge_connections(other);
        self.disruptions.merge(&other.disruptions);
        let places = [self.redirected_to.take(), other.redirected_to.clone()];
        self.redirected_to = places.into_iter().flatten().min();
        self.statuses.merge(&other.statuses);
        self.expected_statuses += other.expected_statuses;
        self.failures.merge(&other.failures);
        self.explanations.merge(&other.explanations);
        for (operation, more) in self.operations.iter_mut().zip(&other.operations) {
            operation.merge(more);
        }
        self.service_time.merge(&other.service_time);
        self.connect.merge(&other.connect);
        self.handshake.merge(&other.handshake);
        self.handshakes_within.merge(&other.handshakes_within);
        self.agreements.merge(&other.agreements);
        self.multiplexing.merge(&other.multiplexing);
        self.quic.merge(&other.quic);
        self.merge_messages(other);
        self.endings.merge(&other.endings);
        self.lifetime.merge(&other.lifetime);
        self.first_byte.merge(&other.first_byte);
        self.transfer.merge(&other.transfer);
        self.lateness.merge(&other.lateness);
        self.slowest.merge(&other.slowest);
        self.sent_within += other.sent_within;
        self.replies += other.replies;
        self.answered_within += other.answered_within;
        self.bytes_sent += other.bytes_sent;
        self.header_bytes += other.header_bytes;
        self.body_bytes += other.body_bytes;
        self.framing_bytes += other.framing_bytes;
        self.last_due = self.last_due.max(other.last_due);
        self.last_outcome = self.last_outcome.max(other.last_outcome);
        self.last_answer = self.last_answer.max(other.last_answer);
        self.last_without_answer = self.last_without_answer.max(other.last_without_answer);
        self.series.merge(&other.series);
        self.answered_slots.merge(&other.answered_slots);
        self.edges.merge(&other.edges);
        self.lost = match (self.lost, other.lost) {
            (Some(ours), Some(theirs)) => Some(ours.and(theirs)),
            (ours, theirs) => ours.or(theirs),
        };
    }

    fn merge_connections(&mut self, other: &Self) {
        self.connections.opened += other.connections.opened;
        self.connections.failed += other.connections.failed;
        self.connections.reused += other.connections.reused;
        self.connections.open += other.connections.open;
        // The workers' peaks need not fall together, so their sum is an upper bound.
        self.connections.concurrent_max += other.connections.concurrent_max;
        self.idle_ends.merge(&other.idle_ends);
        self.connect_failures.merge(&other.connect_failures);
    }

    fn merge_messages(&mut self, other: &Self) {
        self.messages.merge(&other.messages);
        self.compression.merge(&other.compression);
        self.deliveries.merge(&other.deliveries);
    }
}
