//! The slowest requests of a load.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use loadcurve_plan::Nanos;
use serde::{Deserialize, Serialize};

use crate::{Answer, FailedRequest, Failure};

/// How many of the slowest requests are kept.
const KEPT: usize = 10;

/// The segments that a connection has sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Retransmits {
    /// Until it was established: its SYN.
    pub syn: u32,
    /// Since then.
    pub established: u32,
}

/// One of the slowest requests, answered or failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlowRequest {
    /// From due to done, or to its failure.
    pub latency: Nanos,
    /// When it fell due, counted from the start of the measured window.
    pub due: Nanos,
    /// From sent to done, or to its failure; `None` if it was not sent.
    pub service_time: Option<Nanos>,
    /// From sent to the first byte of the answer; `None` if none came.
    pub first_byte: Option<Nanos>,
    /// How long connecting took, where the request had to wait for its own connection and got it.
    pub connect: Option<Nanos>,
    /// Why it failed; `None` if it was answered.
    pub failure: Option<Failure>,
    /// What its connection had sent again when it ended; `None` if that is not known.
    pub retransmits: Option<Retransmits>,
    /// Which request of the load it was, in the order of the whole plan.
    pub number: u64,
    /// Which connection carried it, or was to.
    pub connection: usize,
    /// Which operation it was.
    pub operation: usize,
}

impl Ord for SlowRequest {
    /// By latency. Of equally slow ones the earlier is kept, as by a worker that meets them one after the other.
    fn cmp(&self, other: &Self) -> Ordering {
        let order = |it: &Self| (it.latency, Reverse((it.due, it.number, it.connection, it.operation)));
        let details = |it: &Self| (it.failure, it.connect, it.service_time, it.first_byte, it.retransmits);
        order(self).cmp(&order(other)).then_with(|| details(self).cmp(&details(other)))
    }
}

impl PartialOrd for SlowRequest {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl SlowRequest {
    pub(crate) fn answered(answer: &Answer, window_start: Nanos) -> Self {
        Self {
            latency: answer.done - answer.due,
            due: answer.due - window_start,
            service_time: Some(answer.done - answer.sent),
            first_byte: answer.shown.map(|shown| shown.first_byte - answer.sent),
            connect: answer.connect,
            failure: None,
            retransmits: None,
            number: answer.number,
            connection: answer.connection,
            operation: answer.operation,
        }
    }

    pub(crate) fn failed(request: &FailedRequest, window_start: Nanos) -> Self {
        Self {
            latency: request.failed - request.due,
            due: request.due - window_start,
            service_time: request.sent.map(|sent| request.failed - sent),
            first_byte: request.first_byte.zip(request.sent).map(|(first_byte, sent)| first_byte - sent),
            connect: request.connect,
            failure: Some(request.failure),
            retransmits: None,
            number: request.number,
            connection: request.connection,
            operation: request.operation,
        }
    }
}

/// The slowest requests seen so far, at most ten.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(into = "Vec<SlowRequest>", from = "Vec<SlowRequest>")]
pub struct Slowest(BinaryHeap<Reverse<SlowRequest>>);

impl From<Slowest> for Vec<SlowRequest> {
    fn from(slowest: Slowest) -> Self {
        slowest.in_order()
    }
}

impl From<Vec<SlowRequest>> for Slowest {
    fn from(requests: Vec<SlowRequest>) -> Self {
        let mut slowest = Self::default();
        for request in requests {
            slowest.keep(request);
        }
        slowest
    }
}

impl Slowest {
    /// Whether a request of this latency is among the slowest so far.
    #[must_use]
    pub fn admits(&self, latency: Nanos) -> bool {
        self.0.len() < KEPT || self.0.peek().is_some_and(|Reverse(quickest)| quickest.latency < latency)
    }

    /// Keeps the request if it is among the slowest.
    pub fn keep(&mut self, request: SlowRequest) {
        self.0.push(Reverse(request));
        if self.0.len() > KEPT {
            self.0.pop();
        }
    }

    /// Adds the requests of another recording.
    pub fn merge(&mut self, other: &Self) {
        for Reverse(request) in &other.0 {
            self.keep(*request);
        }
    }

    /// The slowest requests, slowest first.
    #[must_use]
    pub fn in_order(&self) -> Vec<SlowRequest> {
        let mut requests: Vec<SlowRequest> = self.0.iter().map(|Reverse(request)| *request).collect();
        requests.sort_unstable_by(|left, right| right.cmp(left));
        requests
    }
}

#[cfg(test)]
mod tests {
    use super::{SlowRequest, Slowest};
    use loadcurve_plan::Nanos;

    /// Offers a request of each of these latencies.
    fn offer(slowest: &mut Slowest, latencies_ns: impl IntoIterator<Item = u64>) {
        for latency in latencies_ns.into_iter().map(Nanos) {
            if slowest.admits(latency) {
                slowest.keep(SlowRequest {
                    latency,
                    due: Nanos::ZERO,
                    service_time: Some(latency),
                    first_byte: Some(latency),
                    connect: None,
                    failure: None,
                    retransmits: None,
                    number: 0,
                    connection: 0,
                    operation: 0,
                });
            }
        }
    }

    fn latencies_ns(slowest: &Slowest) -> Vec<u64> {
        slowest.in_order().iter().map(|request| request.latency.0).collect()
    }

    #[test]
    fn the_ten_slowest_requests_are_kept_slowest_first() {
        let mut slowest = Slowest::default();
        offer(&mut slowest, [5, 90, 15, 20, 60, 30, 25, 70, 40, 35, 80, 50]);
        assert_eq!(latencies_ns(&slowest), [90, 80, 70, 60, 50, 40, 35, 30, 25, 20]);
    }

    #[test]
    fn a_request_no_slower_than_the_ten_is_not_admitted() {
        let mut slowest = Slowest::default();
        offer(&mut slowest, [7; 10]);
        assert!(!slowest.admits(Nanos(7)));
        assert!(slowest.admits(Nanos(8)));
    }

    #[test]
    fn the_slowest_requests_of_two_workers_are_those_of_one_that_did_all_the_work() {
        // Latencies 1 to 40, dealt to the workers by turns, and the slow half all to one of them.
        for belongs_to_first in [|latency: &u64| latency.is_multiple_of(2), |latency: &u64| *latency > 20] {
            let (mut first, mut second) = (Slowest::default(), Slowest::default());
            offer(&mut first, (1..=40).filter(belongs_to_first));
            offer(&mut second, (1..=40).filter(|latency| !belongs_to_first(latency)));
            first.merge(&second);
            assert_eq!(latencies_ns(&first), (31..=40).rev().collect::<Vec<_>>());
        }
    }
}
