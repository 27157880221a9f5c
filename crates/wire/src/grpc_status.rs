//! How a call has ended.

use std::borrow::Cow;

/// The status of a call, as `grpc-status` says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs, reason = "the names are the definitions")]
pub enum GrpcStatus {
    Ok,
    Cancelled,
    Unknown,
    InvalidArgument,
    DeadlineExceeded,
    NotFound,
    AlreadyExists,
    PermissionDenied,
    ResourceExhausted,
    FailedPrecondition,
    Aborted,
    OutOfRange,
    Unimplemented,
    Internal,
    Unavailable,
    DataLoss,
    Unauthenticated,
}

/// How the messages of an answer are compressed that say that they are (`grpc-encoding`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum GrpcCoding {
    /// In no way that a client here can have asked for.
    #[default]
    Other,
    Gzip,
}

impl GrpcCoding {
    pub(crate) fn of_field(value: &[u8]) -> Self {
        if value == b"gzip" { Self::Gzip } else { Self::Other }
    }
}

impl GrpcStatus {
    /// All of them, each in the place of its number.
    pub const ALL: [Self; 17] = [
        Self::Ok,
        Self::Cancelled,
        Self::Unknown,
        Self::InvalidArgument,
        Self::DeadlineExceeded,
        Self::NotFound,
        Self::AlreadyExists,
        Self::PermissionDenied,
        Self::ResourceExhausted,
        Self::FailedPrecondition,
        Self::Aborted,
        Self::OutOfRange,
        Self::Unimplemented,
        Self::Internal,
        Self::Unavailable,
        Self::DataLoss,
        Self::Unauthenticated,
    ];

    /// Its number.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// What the definition of gRPC calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::Cancelled => "CANCELLED",
            Self::Unknown => "UNKNOWN",
            Self::InvalidArgument => "INVALID_ARGUMENT",
            Self::DeadlineExceeded => "DEADLINE_EXCEEDED",
            Self::NotFound => "NOT_FOUND",
            Self::AlreadyExists => "ALREADY_EXISTS",
            Self::PermissionDenied => "PERMISSION_DENIED",
            Self::ResourceExhausted => "RESOURCE_EXHAUSTED",
            Self::FailedPrecondition => "FAILED_PRECONDITION",
            Self::Aborted => "ABORTED",
            Self::OutOfRange => "OUT_OF_RANGE",
            Self::Unimplemented => "UNIMPLEMENTED",
            Self::Internal => "INTERNAL",
            Self::Unavailable => "UNAVAILABLE",
            Self::DataLoss => "DATA_LOSS",
            Self::Unauthenticated => "UNAUTHENTICATED",
        }
    }

    /// The status that the value of the field says; a number without a meaning, and what is no number, is UNKNOWN.
    pub(crate) fn of_field(value: &[u8]) -> Self {
        let code = match *value {
            [one @ b'0'..=b'9'] => one - b'0',
            [b'1', one @ b'0'..=b'6'] => 10 + one - b'0',
            _ => return Self::Unknown,
        };
        Self::ALL[usize::from(code)]
    }
}

/// What a server says of a status, whose percent-encoding is undone; nothing where it says nothing.
pub(crate) fn in_words(encoded: &[u8]) -> Option<Cow<'_, str>> {
    if encoded.is_empty() {
        return None;
    }
    if !encoded.contains(&b'%') {
        return Some(String::from_utf8_lossy(encoded));
    }
    let mut decoded = Vec::with_capacity(encoded.len());
    let mut rest = encoded;
    while let Some((&byte, behind)) = rest.split_first() {
        let digits = behind.first_chunk::<2>().filter(|_| byte == b'%');
        let decoded_byte = digits.and_then(|[high, low]| Some(16 * digit(*high)? + digit(*low)?));
        // What is no encoding is kept as it is.
        decoded.push(decoded_byte.unwrap_or(byte));
        rest = if decoded_byte.is_some() { &behind[2..] } else { behind };
    }
    Some(String::from_utf8_lossy(&decoded).into_owned().into())
}

fn digit(byte: u8) -> Option<u8> {
    u8::try_from(char::from(byte).to_digit(16)?).ok()
}

#[cfg(test)]
mod tests {
    use super::{GrpcStatus, in_words};

    #[test]
    fn every_status_is_in_the_place_of_its_number_and_read_back_from_it() {
        for (place, status) in GrpcStatus::ALL.into_iter().enumerate() {
            assert_eq!(usize::from(status.code()), place);
            assert_eq!(GrpcStatus::of_field(place.to_string().as_bytes()), status);
        }
    }

    #[test]
    fn a_value_that_is_no_status_is_unknown() {
        for value in ["", "17", "-1", "00", "1 ", "abc", "100", "4294967296"] {
            assert_eq!(GrpcStatus::of_field(value.as_bytes()), GrpcStatus::Unknown, "{value}");
        }
    }

    #[test]
    fn a_message_is_decoded_and_what_is_no_encoding_is_kept() {
        for (encoded, decoded) in [
            ("plain", "plain"),
            ("a%20b%0A", "a b\n"),
            ("%e2%82%AC", "\u{20ac}"),
            ("100%", "100%"),
            ("%4", "%4"),
            ("%zz%41", "%zzA"),
            ("%ff", "\u{fffd}"),
        ] {
            assert_eq!(in_words(encoded.as_bytes()).unwrap(), decoded, "{encoded}");
        }
        assert_eq!(in_words(b""), None);
    }
}
