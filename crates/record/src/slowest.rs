//! The slowest requests of a load.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use loadcurve_plan::Nanos;

use crate::Answer;

/// How many of the slowest requests are kept.
const KEPT: usize = 10;

/// One of the slowest requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SlowRequest {
    /// From due to done. First, because it orders the requests.
    pub latency: Nanos,
    /// When it fell due, counted from the start of the measured window.
    pub due: Nanos,
    /// From sent to the first byte of the answer.
    pub first_byte: Nanos,
    /// How long connecting took, where the request had to wait for a connection of its own.
    pub connect: Option<Nanos>,
    /// Which request of the plan's list it was.
    pub operation: usize,
    /// Which connection carried it.
    pub connection: usize,
}

/// The slowest requests seen so far, at most ten.
#[derive(Clone, Debug, Default)]
pub struct Slowest(BinaryHeap<Reverse<SlowRequest>>);

impl Slowest {
    /// Keeps the answer if it is among the slowest.
    pub fn offer(&mut self, answer: &Answer, window_start: Nanos) {
        let latency = answer.done - answer.due;
        if self.0.len() == KEPT && self.0.peek().is_some_and(|Reverse(quickest)| quickest.latency >= latency)
        {
            return;
        }
        self.keep(SlowRequest {
            latency,
            due: answer.due - window_start,
            first_byte: answer.first_byte - answer.sent,
            connect: answer.connect,
            operation: answer.operation,
            connection: answer.connection,
        });
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

    fn keep(&mut self, request: SlowRequest) {
        self.0.push(Reverse(request));
        if self.0.len() > KEPT {
            self.0.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Slowest;
    use crate::Answer;
    use loadcurve_plan::Nanos;

    /// Offers an answer of each of these latencies.
    fn offer(slowest: &mut Slowest, latencies_ns: impl IntoIterator<Item = u64>) {
        for latency in latencies_ns.into_iter().map(Nanos) {
            let answer = Answer {
                operation: 0,
                connection: 0,
                due: Nanos::ZERO,
                sent: Nanos::ZERO,
                first_byte: latency,
                done: latency,
                connect: None,
                status: 200,
                header_bytes: 0,
                body_bytes: 0,
                framing_bytes: 0,
            };
            slowest.offer(&answer, Nanos::ZERO);
        }
    }

    fn latencies_ns(slowest: &Slowest) -> Vec<u64> {
        slowest.in_order().iter().map(|request| request.latency.0).collect()
    }

    #[test]
    fn the_slowest_requests_of_two_workers_are_those_of_one_that_did_all_the_work() {
        // Latencies 1 to 40, dealt to the workers by turns, and the slow half all to one of them.
        for belongs_to_first in [|latency: &u64| latency % 2 == 0, |latency: &u64| *latency > 20] {
            let (mut first, mut second) = (Slowest::default(), Slowest::default());
            offer(&mut first, (1..=40).filter(belongs_to_first));
            offer(&mut second, (1..=40).filter(|latency| !belongs_to_first(latency)));
            first.merge(&second);
            assert_eq!(latencies_ns(&first), (31..=40).rev().collect::<Vec<_>>());
        }
    }
}
