//! Why requests fail: a row for each class.

use serde::Serialize;

use crate::classes::Counts;
use crate::table;

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
        happened: "got an answer that cannot be read",
        happened_to_operations: Some("got an answer that the driver cannot read"),
        remark: Some("it breaks the rules of HTTP or gRPC, is longer than what is read of a header, or switches protocols"),
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
    H3Fault {
        code: "h3_fault", origin: Origin::Answer,
        happened: "were on a connection or a stream on which the server broke the rules of HTTP/3",
        remark: Some("such as a frame where it may not be, a stream closed that has to stay open, or a reference to no field; \
        the messages of the result name it"),
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
        remark: Some("it answered with another status than 101, or over HTTP/2 than 2xx, or takes none there"),
    }
    WebsocketFault {
        code: "websocket_fault", origin: Origin::Answer,
        happened: "got an answer that breaks the rules of WebSocket",
        remark: Some("a wrong Sec-WebSocket-Accept is one, and a frame or a text that may not be"),
    }
    AnswerIdWrong {
        code: "answer_id_wrong", origin: Origin::Answer,
        happened: "were under way on a WebSocket with an answer whose id no message under way has",
        remark: Some("with `answer_id`; it has none, an unknown one, or that of an earlier answer"),
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
    PartlyDelivered {
        code: "partly_delivered", origin: Origin::Server,
        happened: "did not reach all of their subscribers within the timeout",
        remark: Some("of a fan-out; the deliveries that came count"),
    }
    Undelivered {
        code: "undelivered", origin: Origin::Server,
        happened: "reached no subscriber within the timeout",
        remark: Some("of a fan-out"),
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

    /// Whether the server has said what it may not say, so that nothing more is believed of the connection.
    #[must_use]
    pub fn is_fault(self) -> bool {
        matches!(
            self,
            Self::Malformed | Self::Unasked | Self::WebsocketFault | Self::AnswerIdWrong | Self::H3Fault
        )
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
