//! The ways a request can end.

use loadcurve_plan::Nanos;

use crate::classes::{Failure, Origin};

/// What an answer shows beside its times, as its work judges it.
#[derive(Clone, Copy, Debug)]
pub struct Shown {
    /// When its first byte was read.
    pub first_byte: Nanos,
    /// Its status.
    pub status: u16,
    /// Whether its status is what was asked for.
    pub is_right: bool,
    /// Whether that status was known before.
    pub was_expected: bool,
    /// Whether its body is what was asked for, whose length says so.
    pub has_content: bool,
    /// Bytes of the status line and the header.
    pub header_bytes: u64,
    /// Bytes of the body, decoded.
    pub body_bytes: u64,
    /// The length of what the body says: its own, unless it was inflated.
    pub content_bytes: u64,
    /// Bytes of chunk framing, trailers and interim answers.
    pub framing_bytes: u64,
}

/// One complete answer, with every time that it passed on the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// Which request of the load it answers, in the order of the whole plan.
    pub number: u64,
    /// Which operation that is.
    pub operation: usize,
    /// Which connection carried it.
    pub connection: usize,
    /// When the request fell due.
    pub due: Nanos,
    /// When it was written.
    pub sent: Nanos,
    /// When the last byte of the answer was read.
    pub done: Nanos,
    /// How long connecting took, where this request had to wait for its own connection.
    pub connect: Option<Nanos>,
    /// What it shows beside its times; `None` if a driver hides it.
    pub shown: Option<Shown>,
}

/// One request that failed, with every time that it passed on the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct FailedRequest {
    /// Which request of the load it was, in the order of the whole plan.
    pub number: u64,
    /// Which operation that is.
    pub operation: usize,
    /// Which connection carried it, or was to.
    pub connection: usize,
    /// When it fell due.
    pub due: Nanos,
    /// When it was written, if it was.
    pub sent: Option<Nanos>,
    /// When the first byte of an answer was read, if one came.
    pub first_byte: Option<Nanos>,
    /// When it failed.
    pub failed: Nanos,
    /// How long connecting took, where this request had to wait for its own connection and got it.
    pub connect: Option<Nanos>,
    /// Why it failed.
    pub failure: Failure,
}

impl Answer {
    /// The same request as one that has failed, because of its answer.
    pub(crate) fn failed(&self, failure: Failure) -> FailedRequest {
        FailedRequest {
            number: self.number,
            operation: self.operation,
            connection: self.connection,
            due: self.due,
            sent: Some(self.sent),
            first_byte: self.shown.map(|shown| shown.first_byte),
            failed: self.done,
            connect: self.connect,
            failure,
        }
    }
}

impl FailedRequest {
    /// Whether the server answered it, though not as it should have.
    pub(crate) fn was_answered(&self) -> bool {
        self.sent.is_some() && self.failure.row().origin == Origin::Answer
    }
}
