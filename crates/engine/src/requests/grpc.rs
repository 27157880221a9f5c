//! Calls of gRPC: what a load adds to them, and what their answers are.

use std::path::Path;

use loadcurve_plan::{Body, Call, Grpc, HttpLoad, Nanos};
use loadcurve_record::Failure;
use loadcurve_wire::{GrpcAnswer, GrpcCalls, GrpcStatus, Response};

use crate::requests::body::BodyFile;

/// The longest message that is read from a file: as messages are held in memory.
const MESSAGE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// The status of an answer of gRPC in HTTP, whatever became of the call.
const OK: u16 = 200;
/// The most a timeout may have of a unit: eight digits.
const TIMEOUT_MAX: u64 = 99_999_999;

/// The name of the field by which a server learns the timeout of a call.
const TIMEOUT_FIELD: &str = "grpc-timeout";

/// Why an answer is not what was asked for, if it is not. One of another status of HTTP than 200 that says no status of
/// gRPC comes from something else on the way, and is judged as an answer of HTTP.
#[inline]
pub(crate) fn failure(grpc: Grpc, response: &Response) -> Option<Failure> {
    match response.grpc_status {
        Some(status) if grpc.is_right(status.code()) => None,
        Some(status) => Some(class(status)),
        None if response.status == OK => Some(Failure::GrpcNoStatus),
        None => None,
    }
}

/// Whether the status of HTTP is right of an answer that has not failed; `None` where nothing but that of gRPC says it.
#[inline]
pub(crate) fn is_http_right(response: &Response) -> Option<bool> {
    (response.grpc_status.is_none() && response.status != OK).then_some(false)
}

/// The class of the messages that were not answered because their call has ended with this status, or with none.
#[cold]
pub(crate) fn ended(status: Option<GrpcStatus>) -> Failure {
    status.map_or(Failure::GrpcNoStatus, class)
}

/// The messages of one call behind each other, as they are sent.
///
/// # Errors
/// A message is too long, or all of them are.
fn messages_of_call(grpc: Grpc, message: &[u8]) -> Result<Vec<u8>, String> {
    let framed = loadcurve_wire::framed(message, grpc.is_gzip).map_err(|invalid| invalid.to_string())?;
    let bytes = (framed.len() as u64).saturating_mul(grpc.messages_per_call);
    if bytes > MESSAGE_BYTES_MAX {
        let most = MESSAGE_BYTES_MAX / (1024 * 1024);
        return Err(format!(
            "{} messages per call of {} bytes each are {bytes} bytes; a call has at most {most} MiB",
            grpc.messages_per_call,
            message.len()
        ));
    }
    Ok(framed.repeat(usize::try_from(grpc.messages_per_call).unwrap_or(usize::MAX)))
}

/// The class of the calls that end with a status which is not right.
#[cold]
fn class(status: GrpcStatus) -> Failure {
    match status {
        GrpcStatus::Ok => Failure::GrpcOk,
        GrpcStatus::Cancelled => Failure::GrpcCancelled,
        GrpcStatus::Unknown => Failure::GrpcUnknown,
        GrpcStatus::InvalidArgument => Failure::GrpcInvalidArgument,
        GrpcStatus::DeadlineExceeded => Failure::GrpcDeadlineExceeded,
        GrpcStatus::NotFound => Failure::GrpcNotFound,
        GrpcStatus::AlreadyExists => Failure::GrpcAlreadyExists,
        GrpcStatus::PermissionDenied => Failure::GrpcPermissionDenied,
        GrpcStatus::ResourceExhausted => Failure::GrpcResourceExhausted,
        GrpcStatus::FailedPrecondition => Failure::GrpcFailedPrecondition,
        GrpcStatus::Aborted => Failure::GrpcAborted,
        GrpcStatus::OutOfRange => Failure::GrpcOutOfRange,
        GrpcStatus::Unimplemented => Failure::GrpcUnimplemented,
        GrpcStatus::Internal => Failure::GrpcInternal,
        GrpcStatus::Unavailable => Failure::GrpcUnavailable,
        GrpcStatus::DataLoss => Failure::GrpcDataLoss,
        GrpcStatus::Unauthenticated => Failure::GrpcUnauthenticated,
    }
}

/// What is expected of the answers to calls.
pub(crate) fn calls_of(grpc: Grpc) -> GrpcCalls {
    GrpcCalls {
        answer: match grpc.call {
            Call::Unary | Call::ClientStream => GrpcAnswer::One,
            Call::ServerStream => GrpcAnswer::Stream,
            Call::Bidirectional => GrpcAnswer::Each,
        },
        takes_compressed: grpc.is_gzip,
    }
}

/// The fields by which calls say that their messages are compressed, and those of answers may be.
const GZIP: [(&str, &str); 2] = [("grpc-encoding", "gzip"), ("grpc-accept-encoding", "gzip")];

/// The fields of a call beside those of its request, given its timeout where it says it.
pub(crate) fn fields(grpc: Grpc, timeout: Option<&str>) -> Vec<(&'static str, &str)> {
    let of_compression = if grpc.is_gzip { &GZIP[..] } else { &[] };
    of_compression.iter().copied().chain(timeout.map(|value| (TIMEOUT_FIELD, value))).collect()
}

/// The timeout of a plan as its field says it, where calls say it.
pub(crate) fn timeout_of(grpc: Grpc, plan: &HttpLoad) -> Option<String> {
    grpc.deadline.then(|| timeout_field(plan.timeout()))
}

/// A timeout as its field says it: in the smallest unit in which eight digits suffice.
fn timeout_field(timeout: Nanos) -> String {
    let units = [("u", 1_000), ("m", 1_000_000), ("S", 1_000_000_000)];
    let fitting = units.iter().find(|(_, nanos)| timeout.0.div_ceil(*nanos) <= TIMEOUT_MAX);
    let (unit, nanos) = fitting.unwrap_or(&units[2]);
    format!("{}{unit}", timeout.0.div_ceil(*nanos).min(TIMEOUT_MAX))
}

/// The messages of a call as they are sent, given what its body is.
///
/// # Errors
/// Its file cannot be read, or it is too long to be held in memory, or it is lines of a file.
pub(crate) fn messages(grpc: Grpc, body: &Body) -> Result<Vec<u8>, String> {
    let of_file;
    let message = match body {
        Body::Empty => &[],
        Body::Text(text) => text.as_bytes(),
        Body::Bytes(bytes) => bytes,
        Body::File(path) => {
            of_file = message_in(path)?;
            &of_file
        }
        Body::Lines { file } => {
            return Err(format!("{}: a message of gRPC is no line of a file", file.display()));
        }
    };
    messages_of_call(grpc, message)
}

/// The message that a file holds.
///
/// # Errors
/// It cannot be read, or is too long to be held in memory; the text names the file.
fn message_in(path: &Path) -> Result<Vec<u8>, String> {
    let file = BodyFile::open(path)?;
    let length = file.length();
    if length > MESSAGE_BYTES_MAX {
        let most = MESSAGE_BYTES_MAX / (1024 * 1024);
        return Err(format!("{}: {length} bytes; a message has at most {most} MiB", path.display()));
    }
    let mut message = Vec::new();
    file.append(0, usize::try_from(length).unwrap_or(usize::MAX), &mut message)
        .map_err(|_| format!("{}: it cannot be read", path.display()))?;
    Ok(message)
}

#[cfg(test)]
mod tests {
    use loadcurve_plan::{Grpc, Nanos};
    use loadcurve_record::{Class as _, Failure};
    use loadcurve_wire::{GrpcStatus, Response};

    use super::{class, failure, is_http_right, messages_of_call, timeout_field};

    fn response(status: u16, grpc_status: Option<GrpcStatus>) -> Response {
        Response {
            status,
            header_bytes: 1,
            body_bytes: 5,
            framing_bytes: 0,
            inflated_bytes: None,
            keep_alive: true,
            grpc_status,
        }
    }

    #[test]
    fn each_status_has_the_class_of_its_name() {
        for status in GrpcStatus::ALL {
            assert_eq!(class(status).code(), format!("grpc_{}", status.name().to_ascii_lowercase()));
        }
    }

    #[test]
    fn an_answer_is_judged_by_the_status_of_grpc_and_without_one_by_that_of_http() {
        let strict = Grpc::default();
        let expecting = Grpc { right_statuses: 1 << 5, ..Grpc::default() };
        for (answer, plain, expected, is_right) in [
            (response(200, Some(GrpcStatus::Ok)), None, Some(Failure::GrpcOk), None),
            (response(200, Some(GrpcStatus::NotFound)), Some(Failure::GrpcNotFound), None, None),
            (response(200, None), Some(Failure::GrpcNoStatus), Some(Failure::GrpcNoStatus), None),
            (response(204, None), None, None, Some(false)),
            (response(502, None), None, None, Some(false)),
            (
                response(503, Some(GrpcStatus::Unavailable)),
                Some(Failure::GrpcUnavailable),
                Some(Failure::GrpcUnavailable),
                None,
            ),
        ] {
            assert_eq!(
                (failure(strict, &answer), failure(expecting, &answer)),
                (plain, expected),
                "{answer:?}"
            );
            assert_eq!(is_http_right(&answer), is_right, "{answer:?}");
        }
    }

    #[test]
    fn the_messages_of_a_call_lie_behind_each_other_and_are_no_more_than_are_held() {
        let calls = Grpc { messages_per_call: 3, ..Grpc::default() };
        assert_eq!(messages_of_call(calls, b"a").unwrap(), b"\0\0\0\0\x01a".repeat(3));
        let many = Grpc { messages_per_call: 20_000_000, ..calls };
        let refused = messages_of_call(many, b"").unwrap_err();
        assert!(refused.contains("100000000 bytes; a call has at most 64 MiB"), "{refused}");
    }

    #[test]
    fn a_timeout_has_at_most_eight_digits_and_is_never_shorter_than_it_was() {
        for (nanos, field) in [
            (1, "1u"),
            (1_500_000, "1500u"),
            (99_999_999_000, "99999999u"),
            (100_000_000_000, "100000m"),
            (99_999_999_000_001, "100000S"),
            (u64::MAX, "99999999S"),
        ] {
            assert_eq!(timeout_field(Nanos(nanos)), field);
        }
    }
}
