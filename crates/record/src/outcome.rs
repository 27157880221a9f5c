//! The ways a request can end.

use loadcurve_plan::Nanos;
use serde::Serialize;

/// What an answer over HTTP tells beside its times.
#[derive(Clone, Copy, Debug)]
pub struct HttpAnswer {
    /// When its first byte was read.
    pub first_byte: Nanos,
    /// The status code.
    pub status: u16,
    /// Bytes of the status line and the header.
    pub header_bytes: u64,
    /// Bytes of the body, decoded.
    pub body_bytes: u64,
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
    /// How long connecting took, where this request had to wait for a connection of its own.
    pub connect: Option<Nanos>,
    /// What it tells beside its times; none where a driver hides it.
    pub http: Option<HttpAnswer>,
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
    /// How long connecting took, where this request had to wait for a connection of its own and got it.
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
            first_byte: self.http.map(|http| http.first_byte),
            failed: self.done,
            connect: self.connect,
            failure,
        }
    }
}

impl FailedRequest {
    /// Whether the server answered it, though not as it should have.
    pub(crate) fn was_answered(&self) -> bool {
        self.sent.is_some() && self.failure.is_answer()
    }
}

/// Why a request failed: the error classes of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// The connection was refused, or its address cannot be reached.
    ConnectRefused,
    /// Connecting took longer than the timeout.
    ConnectTimeout,
    /// The answer took longer than the timeout.
    Timeout,
    /// The peer reset the connection.
    Reset,
    /// The peer closed the connection before the answer was complete.
    ClosedEarly,
    /// The answer is not HTTP.
    Malformed,
    /// The answer's body does not have the length that was verified.
    Mismatch,
    /// The process has no file descriptor left.
    FdUnavailable,
    /// The machine has no local address or port left.
    AddressUnavailable,
    /// A file that the request is made from cannot be read any more, or is not what it was.
    FileUnavailable,
    /// The server wants a user and a password, others than were given, or this user may not do that.
    AccessDenied,
    /// The server answered with an error.
    Rejected,
    /// There is no such record.
    NotFound,
}

impl Failure {
    /// Whether it is an answer of the server to a request that reached it.
    fn is_answer(self) -> bool {
        match self {
            Self::Malformed | Self::Mismatch | Self::AccessDenied | Self::Rejected | Self::NotFound => true,
            Self::ConnectRefused
            | Self::ConnectTimeout
            | Self::Timeout
            | Self::Reset
            | Self::ClosedEarly
            | Self::FdUnavailable
            | Self::AddressUnavailable
            | Self::FileUnavailable => false,
        }
    }
}

/// Failed requests by class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs)] // Each field is the count of the failure of its name.
pub struct FailureCounts {
    pub connect_refused: u64,
    pub connect_timeout: u64,
    pub timeout: u64,
    pub reset: u64,
    pub closed_early: u64,
    pub malformed: u64,
    pub mismatch: u64,
    pub fd_unavailable: u64,
    pub address_unavailable: u64,
    pub file_unavailable: u64,
    pub access_denied: u64,
    pub rejected: u64,
    pub not_found: u64,
}

impl FailureCounts {
    /// Counts one failure.
    pub fn add(&mut self, failure: Failure) {
        *match failure {
            Failure::ConnectRefused => &mut self.connect_refused,
            Failure::ConnectTimeout => &mut self.connect_timeout,
            Failure::Timeout => &mut self.timeout,
            Failure::Reset => &mut self.reset,
            Failure::ClosedEarly => &mut self.closed_early,
            Failure::Malformed => &mut self.malformed,
            Failure::Mismatch => &mut self.mismatch,
            Failure::FdUnavailable => &mut self.fd_unavailable,
            Failure::AddressUnavailable => &mut self.address_unavailable,
            Failure::FileUnavailable => &mut self.file_unavailable,
            Failure::AccessDenied => &mut self.access_denied,
            Failure::Rejected => &mut self.rejected,
            Failure::NotFound => &mut self.not_found,
        } += 1;
    }

    /// Every class with its name, in the order of the result.
    #[must_use]
    pub fn by_class(&self) -> [(&'static str, u64); 13] {
        [
            ("connect_refused", self.connect_refused),
            ("connect_timeout", self.connect_timeout),
            ("timeout", self.timeout),
            ("reset", self.reset),
            ("closed_early", self.closed_early),
            ("malformed", self.malformed),
            ("mismatch", self.mismatch),
            ("fd_unavailable", self.fd_unavailable),
            ("address_unavailable", self.address_unavailable),
            ("file_unavailable", self.file_unavailable),
            ("access_denied", self.access_denied),
            ("rejected", self.rejected),
            ("not_found", self.not_found),
        ]
    }

    /// All failures together.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.by_class().iter().map(|(_, count)| count).sum()
    }

    /// Adds the counts of another recording.
    pub fn merge(&mut self, other: &Self) {
        self.connect_refused += other.connect_refused;
        self.connect_timeout += other.connect_timeout;
        self.timeout += other.timeout;
        self.reset += other.reset;
        self.closed_early += other.closed_early;
        self.malformed += other.malformed;
        self.mismatch += other.mismatch;
        self.fd_unavailable += other.fd_unavailable;
        self.address_unavailable += other.address_unavailable;
        self.file_unavailable += other.file_unavailable;
        self.access_denied += other.access_denied;
        self.rejected += other.rejected;
        self.not_found += other.not_found;
    }
}

/// Answers by the class of their status code, from 1xx to 5xx.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs)] // Each field is the count of the status class of its name.
pub struct StatusCounts {
    #[serde(rename = "1xx")]
    pub informational: u64,
    #[serde(rename = "2xx")]
    pub success: u64,
    #[serde(rename = "3xx")]
    pub redirection: u64,
    #[serde(rename = "4xx")]
    pub client_error: u64,
    #[serde(rename = "5xx")]
    pub server_error: u64,
}

impl StatusCounts {
    /// Counts one answer; the parser lets no status outside 100 to 599 through.
    pub fn add(&mut self, status: u16) {
        *match status / 100 {
            1 => &mut self.informational,
            2 => &mut self.success,
            3 => &mut self.redirection,
            4 => &mut self.client_error,
            _ => &mut self.server_error,
        } += 1;
    }

    /// Answers that are not errors.
    #[must_use]
    pub fn ok(&self) -> u64 {
        self.informational + self.success + self.redirection
    }

    /// Adds the counts of another recording.
    pub fn merge(&mut self, other: &Self) {
        self.informational += other.informational;
        self.success += other.success;
        self.redirection += other.redirection;
        self.client_error += other.client_error;
        self.server_error += other.server_error;
    }
}
