//! The classes that results count by, one table for each, and counts by class.
//!
//! A class is one row here. Results, messages, the Python side, the schemas and METHODOLOGY's tables are made of the
//! rows.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Where the cause of a failure lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// On the way to the server, or in it: no complete answer came.
    Server,
    /// In the server's answer.
    Answer,
    /// In the machine that sends the load.
    Generator,
}

/// The row of a class of failures.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct FailureRow {
    /// What results call it.
    pub code: &'static str,
    /// Where its cause lies.
    pub origin: Origin,
    /// What became of the requests, behind their number.
    pub happened: &'static str,
    /// The same of operations of a database, where that has other words.
    pub happened_to_operations: Option<&'static str>,
    /// What else there is to know about when it counts.
    pub remark: Option<&'static str>,
}

impl FailureRow {
    const BLANK: Self =
        Self { code: "", origin: Origin::Server, happened: "", happened_to_operations: None, remark: None };
}

/// The row of a class of statuses.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct StatusRow {
    /// What results call it.
    pub code: &'static str,
    /// What an answer of such a status says.
    pub meaning: &'static str,
    /// Whether it counts as one without a right answer.
    pub is_error: bool,
}

impl StatusRow {
    const BLANK: Self = Self { code: "", meaning: "", is_error: false };
}

/// One of the classes of a table, which has `COUNT` of them.
pub trait Class<const COUNT: usize>: Copy + 'static {
    /// All classes, in the order of results.
    const ALL: [Self; COUNT];

    /// What results call it.
    fn code(self) -> &'static str;

    /// Its place among all.
    fn place(self) -> usize;
}

/// An enumeration whose variants are the rows of a table.
#[macro_export]
macro_rules! table {
    (
        $(#[$about:meta])*
        $name:ident: $row:ident
        $($variant:ident { code: $code:literal, $($field:ident: $value:expr),* $(,)? })*
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name {
            $(#[doc = concat!("`", $code, "`")] $variant,)*
        }

        impl $name {
            /// The rows of the table.
            #[allow(clippy::needless_update, reason = "the rows of some tables have no field to leave out")]
            pub const ROWS: &[$row] = &[$($row { code: $code, $($field: $value,)* ..$row::BLANK }),*];

            /// Its row.
            #[must_use]
            pub fn row(self) -> &'static $row {
                &Self::ROWS[self as usize]
            }
        }

        impl $crate::Class<{ $name::ROWS.len() }> for $name {
            const ALL: [Self; $name::ROWS.len()] = [$(Self::$variant),*];

            fn code(self) -> &'static str {
                self.row().code
            }

            fn place(self) -> usize {
                self as usize
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.row().code)
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                use $crate::Class;
                let code = <String as ::serde::Deserialize>::deserialize(deserializer)?;
                let found = Self::ALL.into_iter().find(|one| one.code() == code);
                found.ok_or_else(|| ::serde::de::Error::custom(format_args!("unknown code {code:?}")))
            }
        }
    };
}

table! {
    /// Why a request failed: the error classes of the result.
    Failure: FailureRow
    ConnectRefused {
        code: "connect_refused", origin: Origin::Server,
        happened: "had their connection refused",
        remark: Some("or the address could not be reached"),
    }
    ConnectTimeout {
        code: "connect_timeout", origin: Origin::Server,
        happened: "were not connected within the timeout",
    }
    TlsFailed {
        code: "tls_failed", origin: Origin::Server,
        happened: "failed in the TLS handshake, or by a corrupt TLS record",
        remark: Some("or the server negotiated something other than requested"),
    }
    Timeout {
        code: "timeout", origin: Origin::Server,
        happened: "were not answered within the timeout",
        remark: Some("their connections are replaced, over HTTP/2 only their streams; a later answer does \
        not count"),
    }
    Reset {
        code: "reset", origin: Origin::Server,
        happened: "had their connection reset",
    }
    ClosedEarly {
        code: "closed_early", origin: Origin::Server,
        happened: "had their connection closed",
        remark: Some("before the answer was complete"),
    }
    Malformed {
        code: "malformed", origin: Origin::Answer,
        happened: "got an answer that cannot be read as HTTP",
        happened_to_operations: Some("got an answer that the driver cannot read"),
        remark: Some("it breaks the rules of HTTP, is longer than what is read of a header, or switches protocols"),
    }
    Unasked {
        code: "unasked", origin: Origin::Answer,
        happened: "found data on their connection that no request had asked for",
        remark: Some("over HTTP/1.x; an answer by which the server ends an idle connection is no failure"),
    }
    Mismatch {
        code: "mismatch", origin: Origin::Answer,
        happened: "got an answer whose length differs from the verified one",
        happened_to_operations: Some("got a value other than the one expected"),
    }
    CheckFailed {
        code: "check_failed", origin: Origin::Answer,
        happened: "got an answer that a check of the load generator found wrong",
        remark: Some("of another load generator, such as an assertion of JMeter; answers with an error status are \
        counted by that"),
    }
    FdUnavailable {
        code: "fd_unavailable", origin: Origin::Generator,
        happened: "found no free file descriptor for a connection",
    }
    AddressUnavailable {
        code: "address_unavailable", origin: Origin::Generator,
        happened: "found no free local port for a connection",
        remark: Some("or no local address"),
    }
    FileUnavailable {
        code: "file_unavailable", origin: Origin::Generator,
        happened: "use a file that has changed or can no longer be read",
    }
    AccessDenied {
        code: "access_denied", origin: Origin::Answer,
        happened: "were denied access",
        remark: Some("a database requires another user or password, or the user lacks the \
        permission"),
    }
    Rejected {
        code: "rejected", origin: Origin::Answer,
        happened: "were answered with an error",
        remark: Some("of a database; over HTTP an error is an answer with a status"),
    }
    StreamRefused {
        code: "stream_refused", origin: Origin::Server,
        happened: "were refused twice by the server without being processed",
        remark: Some("over HTTP/2; a request that is refused once is sent again and counts as moved"),
    }
    StreamProtocolError {
        code: "stream_protocol_error", origin: Origin::Server,
        happened: "were ended by the server with a protocol error",
        remark: Some("over HTTP/2, with an error code of frames, windows or header compression"),
    }
    StreamInternalError {
        code: "stream_internal_error", origin: Origin::Server,
        happened: "were ended by the server because of an internal error",
        remark: Some("over HTTP/2, with the code INTERNAL_ERROR"),
    }
    StreamCancelled {
        code: "stream_cancelled", origin: Origin::Server,
        happened: "were cancelled by the server",
        remark: Some("over HTTP/2, with the code CANCEL"),
    }
    StreamExcessive {
        code: "stream_excessive", origin: Origin::Server,
        happened: "were ended by the server because it found the load excessive",
        remark: Some("over HTTP/2, with the code ENHANCE_YOUR_CALM"),
    }
    StreamReset {
        code: "stream_reset", origin: Origin::Server,
        happened: "were ended by the server with another error code",
        remark: Some("over HTTP/2"),
    }
    H3RequestRejected {
        code: "h3_request_rejected", origin: Origin::Server,
        happened: "were rejected twice by the server without being processed",
        remark: Some("over HTTP/3, by H3_REQUEST_REJECTED or a GOAWAY; one that is rejected once is sent again and \
        counts as moved"),
    }
    H3RequestCancelled {
        code: "h3_request_cancelled", origin: Origin::Server,
        happened: "had their stream reset with H3_REQUEST_CANCELLED",
        remark: Some("over HTTP/3"),
    }
    H3RequestIncomplete {
        code: "h3_request_incomplete", origin: Origin::Server,
        happened: "had their stream reset with H3_REQUEST_INCOMPLETE",
        remark: Some("over HTTP/3"),
    }
    H3InternalError {
        code: "h3_internal_error", origin: Origin::Server,
        happened: "had their stream reset with H3_INTERNAL_ERROR",
        remark: Some("over HTTP/3"),
    }
    H3ExcessiveLoad {
        code: "h3_excessive_load", origin: Origin::Server,
        happened: "had their stream reset with H3_EXCESSIVE_LOAD",
        remark: Some("over HTTP/3"),
    }
    H3MessageError {
        code: "h3_message_error", origin: Origin::Server,
        happened: "had their stream reset with H3_MESSAGE_ERROR",
        remark: Some("over HTTP/3"),
    }
    H3StreamError {
        code: "h3_stream_error", origin: Origin::Server,
        happened: "had their stream reset with another code of HTTP/3",
        remark: Some("the messages of the result name the code"),
    }
    H3ConnectionError {
        code: "h3_connection_error", origin: Origin::Server,
        happened: "had their connection closed with an error code of HTTP/3",
        remark: Some("the messages of the result name the code"),
    }
    QuicRefused {
        code: "quic_refused", origin: Origin::Server,
        happened: "had their connection refused with QUIC's CONNECTION_REFUSED",
        remark: Some("over HTTP/3; the server's UDP port is open"),
    }
    QuicError {
        code: "quic_error", origin: Origin::Server,
        happened: "had their connection closed with another error code of QUIC",
        remark: Some("over HTTP/3, by either side; the messages of the result name the code. An alert of TLS is \
        `tls_failed`"),
    }
    QuicIdleTimeout {
        code: "quic_idle_timeout", origin: Origin::Server,
        happened: "were on a connection on which nothing came until QUIC's idle timeout",
        remark: Some("over HTTP/3"),
    }
    QuicStatelessReset {
        code: "quic_stateless_reset", origin: Origin::Server,
        happened: "were on a connection that the server no longer knew",
        remark: Some("over HTTP/3, by a stateless reset"),
    }
    QuicVersion {
        code: "quic_version", origin: Origin::Server,
        happened: "met a server that does not speak version 1 of QUIC",
        remark: Some("over HTTP/3"),
    }
    NotFound {
        code: "not_found", origin: Origin::Answer,
        happened: "asked for a record that does not exist",
        remark: Some("of a database"),
    }
    GrpcOk {
        code: "grpc_ok", origin: Origin::Answer,
        happened: "were answered with the gRPC status OK",
        remark: Some("although another one is expected"),
    }
    GrpcCancelled {
        code: "grpc_cancelled", origin: Origin::Answer,
        happened: "were answered with the gRPC status CANCELLED",
    }
    GrpcUnknown {
        code: "grpc_unknown", origin: Origin::Answer,
        happened: "were answered with the gRPC status UNKNOWN",
        remark: Some("also for a number that is no status"),
    }
    GrpcInvalidArgument {
        code: "grpc_invalid_argument", origin: Origin::Answer,
        happened: "were answered with the gRPC status INVALID_ARGUMENT",
    }
    GrpcDeadlineExceeded {
        code: "grpc_deadline_exceeded", origin: Origin::Answer,
        happened: "were answered with the gRPC status DEADLINE_EXCEEDED",
        remark: Some("said by the server; what this client waits for in vain is `timeout`"),
    }
    GrpcNotFound {
        code: "grpc_not_found", origin: Origin::Answer,
        happened: "were answered with the gRPC status NOT_FOUND",
    }
    GrpcAlreadyExists {
        code: "grpc_already_exists", origin: Origin::Answer,
        happened: "were answered with the gRPC status ALREADY_EXISTS",
    }
    GrpcPermissionDenied {
        code: "grpc_permission_denied", origin: Origin::Answer,
        happened: "were answered with the gRPC status PERMISSION_DENIED",
    }
    GrpcResourceExhausted {
        code: "grpc_resource_exhausted", origin: Origin::Answer,
        happened: "were answered with the gRPC status RESOURCE_EXHAUSTED",
    }
    GrpcFailedPrecondition {
        code: "grpc_failed_precondition", origin: Origin::Answer,
        happened: "were answered with the gRPC status FAILED_PRECONDITION",
    }
    GrpcAborted {
        code: "grpc_aborted", origin: Origin::Answer,
        happened: "were answered with the gRPC status ABORTED",
    }
    GrpcOutOfRange {
        code: "grpc_out_of_range", origin: Origin::Answer,
        happened: "were answered with the gRPC status OUT_OF_RANGE",
    }
    GrpcUnimplemented {
        code: "grpc_unimplemented", origin: Origin::Answer,
        happened: "were answered with the gRPC status UNIMPLEMENTED",
        remark: Some("the server has no such method"),
    }
    GrpcInternal {
        code: "grpc_internal", origin: Origin::Answer,
        happened: "were answered with the gRPC status INTERNAL",
    }
    GrpcUnavailable {
        code: "grpc_unavailable", origin: Origin::Answer,
        happened: "were answered with the gRPC status UNAVAILABLE",
    }
    GrpcDataLoss {
        code: "grpc_data_loss", origin: Origin::Answer,
        happened: "were answered with the gRPC status DATA_LOSS",
    }
    GrpcUnauthenticated {
        code: "grpc_unauthenticated", origin: Origin::Answer,
        happened: "were answered with the gRPC status UNAUTHENTICATED",
    }
    GrpcNoStatus {
        code: "grpc_no_status", origin: Origin::Answer,
        happened: "were answered with status 200 of HTTP and no status of gRPC",
        remark: Some("something that speaks no gRPC has answered, or the answer was cut off before its trailers"),
    }
    UpgradeRefused {
        code: "upgrade_refused", origin: Origin::Answer,
        happened: "got no WebSocket, because the server refused the upgrade",
        remark: Some("it answered with another status than 101"),
    }
    WebsocketFault {
        code: "websocket_fault", origin: Origin::Answer,
        happened: "got an answer that breaks the rules of WebSocket",
        remark: Some("a wrong Sec-WebSocket-Accept is one, and a frame or a text that may not be"),
    }
    ClosedNormally {
        code: "closed_normally", origin: Origin::Server,
        happened: "had their WebSocket closed by the server without an error",
        remark: Some("with code 1000, or without one, before the answer was complete"),
    }
    ClosedGoingAway {
        code: "closed_going_away", origin: Origin::Server,
        happened: "had their WebSocket closed by a server that goes away",
        remark: Some("with code 1001 or 1012"),
    }
    ClosedProtocolError {
        code: "closed_protocol_error", origin: Origin::Server,
        happened: "had their WebSocket closed by the server because of what they sent",
        remark: Some("with code 1002, 1003, 1007 or 1010"),
    }
    ClosedPolicy {
        code: "closed_policy", origin: Origin::Server,
        happened: "had their WebSocket closed by a policy of the server",
        remark: Some("with code 1008"),
    }
    ClosedTooBig {
        code: "closed_too_big", origin: Origin::Server,
        happened: "had their WebSocket closed because a message was too big for the server",
        remark: Some("with code 1009"),
    }
    ClosedInternalError {
        code: "closed_internal_error", origin: Origin::Server,
        happened: "had their WebSocket closed because of an error in the server",
        remark: Some("with code 1011, 1013 or 1014"),
    }
    ClosedOther {
        code: "closed_other", origin: Origin::Server,
        happened: "had their WebSocket closed by the server with another code",
        remark: Some("the result's explanations name it"),
    }
}

/// How many requests failed of each class.
pub type FailureCounts = Counts<Failure, { Failure::ROWS.len() }>;

impl Failure {
    /// Whether the connection was broken off, and with it all that was under way on it.
    #[must_use]
    pub fn is_broken_off(self) -> bool {
        matches!(self, Self::ClosedEarly | Self::Reset) || self.has_ended_quic()
    }

    /// Whether a connection of QUIC has ended with more to say of it than that it was closed.
    #[must_use]
    pub fn has_ended_quic(self) -> bool {
        matches!(
            self,
            Self::H3ConnectionError
                | Self::QuicRefused
                | Self::QuicError
                | Self::QuicIdleTimeout
                | Self::QuicStatelessReset
                | Self::QuicVersion
        )
    }

    /// What became of the requests of a load over HTTP, behind their number.
    #[must_use]
    pub fn happened(self) -> &'static str {
        self.row().happened
    }

    /// What became of the operations of a load on a database, behind their number.
    #[must_use]
    pub fn happened_to_operations(self) -> &'static str {
        self.row().happened_to_operations.unwrap_or(self.happened())
    }
}

table! {
    /// The classes of HTTP's status codes, from 100 to 599.
    StatusClass: StatusRow
    Informational { code: "1xx", meaning: "interim response", is_error: false }
    Success { code: "2xx", meaning: "success", is_error: false }
    Redirection { code: "3xx", meaning: "redirected, or not modified", is_error: false }
    ClientError { code: "4xx", meaning: "refused: the error is in the request", is_error: true }
    ServerError { code: "5xx", meaning: "failed: the error is in the server", is_error: true }
}

/// How many answers there were of each class.
pub type StatusCounts = Counts<StatusClass, { StatusClass::ROWS.len() }>;

impl StatusClass {
    /// The class of a status; the parser lets none outside 100 to 599 through.
    #[must_use]
    pub fn of(status: u16) -> Self {
        Self::ALL[usize::from(status / 100).clamp(1, Self::ALL.len()) - 1]
    }
}

/// How many there were of each class of a table; as JSON an object of all classes, in the table's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts<C, const COUNT: usize> {
    counts: [u64; COUNT],
    of: PhantomData<C>,
}

impl<C, const COUNT: usize> Default for Counts<C, COUNT> {
    fn default() -> Self {
        Self { counts: [0; COUNT], of: PhantomData }
    }
}

impl<C: Class<COUNT>, const COUNT: usize> Counts<C, COUNT> {
    /// Counts one of a class.
    pub fn add(&mut self, class: C) {
        self[class] += 1;
    }

    /// Every class with its count, in the order of the table.
    pub fn iter(&self) -> impl Iterator<Item = (C, u64)> {
        C::ALL.into_iter().zip(self.counts)
    }

    /// All classes together.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Adds the counts of another recording.
    pub fn merge(&mut self, other: &Self) {
        for (count, others) in self.counts.iter_mut().zip(other.counts) {
            *count += others;
        }
    }
}

impl StatusCounts {
    /// Answers that are not errors.
    #[must_use]
    pub fn ok(&self) -> u64 {
        self.iter().filter(|(class, _)| !class.row().is_error).map(|(_, count)| count).sum()
    }
}

impl<C: Class<COUNT>, const COUNT: usize, const LENGTH: usize> From<[(C, u64); LENGTH]> for Counts<C, COUNT> {
    /// Those of the given classes, and none of any other.
    fn from(given: [(C, u64); LENGTH]) -> Self {
        let mut counts = Self::default();
        for (class, count) in given {
            counts[class] += count;
        }
        counts
    }
}

impl<C: Class<COUNT>, const COUNT: usize> Index<C> for Counts<C, COUNT> {
    type Output = u64;

    fn index(&self, class: C) -> &u64 {
        &self.counts[class.place()]
    }
}

impl<C: Class<COUNT>, const COUNT: usize> IndexMut<C> for Counts<C, COUNT> {
    fn index_mut(&mut self, class: C) -> &mut u64 {
        &mut self.counts[class.place()]
    }
}

impl<C: Class<COUNT>, const COUNT: usize> Serialize for Counts<C, COUNT> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(COUNT))?;
        for (class, count) in self.iter() {
            map.serialize_entry(class.code(), &count)?;
        }
        map.end()
    }
}

impl<'de, C: Class<COUNT> + Deserialize<'de> + Ord, const COUNT: usize> Deserialize<'de>
    for Counts<C, COUNT>
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut counts = Self::default();
        for (class, count) in BTreeMap::<C, u64>::deserialize(deserializer)? {
            counts[class] = count;
        }
        Ok(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::{Class, Failure, FailureCounts, StatusClass, StatusCounts};

    #[test]
    fn every_class_has_the_row_of_its_place_and_a_code_of_its_own() {
        for (place, failure) in Failure::ALL.into_iter().enumerate() {
            assert_eq!((failure.place(), failure.code()), (place, Failure::ROWS[place].code));
        }
        let mut codes: Vec<_> = Failure::ROWS.iter().map(|row| row.code).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), Failure::ROWS.len());
    }

    #[test]
    fn counts_of_two_recordings_add_up_class_by_class() {
        let mut counts = FailureCounts::from([(Failure::Reset, 2), (Failure::NotFound, 1)]);
        counts.add(Failure::Timeout);
        counts.merge(&FailureCounts::from([(Failure::Reset, 3)]));
        let counted: Vec<_> = counts.iter().filter(|(_, count)| *count > 0).collect();
        assert_eq!(counted, [(Failure::Timeout, 1), (Failure::Reset, 5), (Failure::NotFound, 1)]);
        assert_eq!(counts.total(), 7);
    }

    #[test]
    fn a_status_belongs_to_the_class_of_its_hundred_and_is_right_below_400() {
        let mut counts = StatusCounts::default();
        for status in [100, 199, 200, 304, 399, 400, 499, 500, 599] {
            counts.add(StatusClass::of(status));
        }
        let counted: Vec<_> = counts.iter().map(|(class, count)| (class.code(), count)).collect();
        assert_eq!(counted, [("1xx", 2), ("2xx", 1), ("3xx", 2), ("4xx", 2), ("5xx", 2)]);
        assert_eq!(counts.ok(), 5);
    }
}
