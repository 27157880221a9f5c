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
    /// Which request of the load it was, in the order of the whole plan.
    pub number: u64,
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
            number: answer.number,
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
        if self.0.len() == KEPT {
            self.0.pop();
        }
        self.0.push(Reverse(request));
    }
}
