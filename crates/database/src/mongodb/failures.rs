//! What the driver's errors mean.

use loadcurve_record::Failure;
use mongodb::error::{Error, ErrorKind, WriteFailure};

use super::options::CA_FILE;
use crate::database::Failed;
use crate::network;

/// The server's codes for one who may not do this, or has not said who he is.
const UNAUTHORIZED: i32 = 13;
const AUTHENTICATION_FAILED: i32 = 18;
/// The server's code for a key that is there already.
const DUPLICATE_KEY: i32 = 11000;

/// The class of an error of the driver, and its explanation.
pub(super) fn failed(error: &Error) -> Failed {
    match &*error.kind {
        ErrorKind::Io(error) => network::failed(error, CA_FILE),
        ErrorKind::Authentication { message, .. } => Failed::new(Failure::AccessDenied, message),
        ErrorKind::Command(refusal) => refused(refusal.code, &refusal.code_name, &refusal.message),
        ErrorKind::Write(WriteFailure::WriteError(refusal)) => {
            refused(refusal.code, refusal.code_name.as_deref().unwrap_or_default(), &refusal.message)
        }
        ErrorKind::Write(WriteFailure::WriteConcernError(refusal)) => {
            refused(refusal.code, &refusal.code_name, &refusal.message)
        }
        ErrorKind::InsertMany(refusals) => {
            let first = refusals.write_errors.as_ref().and_then(|refusals| refusals.first());
            let concern = refusals.write_concern_error.as_ref();
            match (first, concern) {
                (Some(one), _) => {
                    refused(one.code, one.code_name.as_deref().unwrap_or_default(), &one.message)
                }
                (None, Some(one)) => refused(one.code, &one.code_name, &one.message),
                (None, None) => {
                    Failed::new(Failure::Rejected, "the server refused the insert and gave no reason")
                }
            }
        }
        ErrorKind::InvalidResponse { message, .. } => Failed::new(Failure::Malformed, message),
        ErrorKind::Bson(error) => Failed::new(Failure::Malformed, error.to_string()),
        ErrorKind::ConnectionPoolCleared { .. } => {
            Failed::new(Failure::Reset, "the driver closed its connections because another one failed")
        }
        ErrorKind::DnsResolve { message, .. } | ErrorKind::InvalidTlsConfig { message, .. } => {
            Failed::new(Failure::ConnectRefused, message)
        }
        other => Failed::new(Failure::Rejected, other.to_string()),
    }
}

/// The failure to look up what only an address with `mongodb+srv` leaves to be looked up.
pub(super) fn of_lookup(failed: &Failed) -> Failed {
    let text = format!(
        "mongodb+srv:// looks the servers up in DNS, and the lookup failed ({}); to name the servers in the \
        address, use mongodb://",
        failed.text
    );
    Failed::new(failed.failure, text)
}

/// The failure of a first question, which may be that only one side speaks TLS: servers of this protocol do not say so,
/// but close the connection, say what cannot be read, or wait for the rest of what they cannot read.
pub(super) fn in_sight_of_tls(failed: Failed, is_encrypted: bool) -> Failed {
    let hint = match failed.failure {
        Failure::Reset | Failure::ClosedEarly | Failure::Malformed | Failure::ConnectTimeout
            if is_encrypted =>
        {
            "the address requires TLS; the server may not support it, or may require a client certificate \
            (tlsCertificateKeyFile)"
        }
        Failure::Reset | Failure::ClosedEarly | Failure::Malformed => {
            "the server may require TLS: add tls=true to the address"
        }
        _ => return failed,
    };
    Failed::new(failed.failure, format!("{}; {hint}", failed.text))
}

fn refused(code: i32, name: &str, message: &str) -> Failed {
    let failure = match code {
        UNAUTHORIZED | AUTHENTICATION_FAILED => Failure::AccessDenied,
        _ => Failure::Rejected,
    };
    // What follows is the key, which differs from record to record.
    let message = match code {
        DUPLICATE_KEY => message.split(" dup key").next().unwrap_or(message),
        _ => message,
    };
    let name = if name.is_empty() { String::new() } else { format!("{name}, ") };
    Failed::new(failure, format!("{message} ({name}{code})"))
}

#[cfg(test)]
mod tests {
    use std::io;

    use mongodb::bson::{deserialize_from_document, doc};
    use mongodb::error::{CommandError, InsertManyError, WriteError};

    use super::*;

    fn of(kind: ErrorKind) -> Failed {
        failed(&Error::from(kind))
    }

    fn answer(code: i32, name: &str, message: &str) -> Failed {
        let answer = doc! { "code": code, "codeName": name, "errmsg": message };
        of(ErrorKind::Command(deserialize_from_document::<CommandError>(answer).unwrap()))
    }

    #[test]
    fn who_may_not_is_denied_access() {
        let denied = answer(13, "Unauthorized", "command find requires authentication");
        assert_eq!(denied.failure, Failure::AccessDenied);
        assert_eq!(denied.text, "command find requires authentication (Unauthorized, 13)");
        assert_eq!(
            answer(18, "AuthenticationFailed", "Authentication failed.").failure,
            Failure::AccessDenied
        );
    }

    #[test]
    fn an_answer_with_an_error_is_a_rejection_in_the_servers_words() {
        let refused = answer(50, "MaxTimeMSExpired", "operation exceeded\n  time limit");
        assert_eq!(refused.failure, Failure::Rejected);
        assert_eq!(refused.text, "operation exceeded time limit (MaxTimeMSExpired, 50)");
    }

    #[test]
    fn duplicates_of_different_keys_count_together() {
        let text = |key: &str| {
            let message =
                format!(r#"E11000 duplicate key error collection: l.usertable dup key: {{ _id: "{key}" }}"#);
            let single =
                deserialize_from_document::<WriteError>(doc! { "code": 11000, "errmsg": &message }).unwrap();
            let many = doc! { "writeErrors": [{ "index": 0, "code": 11000, "errmsg": message }] };
            let many = deserialize_from_document::<InsertManyError>(many).unwrap();
            let single = of(ErrorKind::Write(WriteFailure::WriteError(single)));
            assert_eq!(single.failure, Failure::Rejected);
            assert_eq!(single, of(ErrorKind::InsertMany(many)));
            single.text
        };
        assert_eq!(text("user1"), "E11000 duplicate key error collection: l.usertable (11000)");
        assert_eq!(text("user1"), text("user2"));
    }

    #[test]
    fn a_lost_connection_keeps_its_cause() {
        let lost = |kind: io::ErrorKind| of(ErrorKind::from(io::Error::from(kind))).failure;
        assert_eq!(lost(io::ErrorKind::ConnectionReset), Failure::Reset);
        assert_eq!(lost(io::ErrorKind::UnexpectedEof), Failure::ClosedEarly);
        assert_eq!(lost(io::ErrorKind::ConnectionRefused), Failure::ConnectRefused);
        assert_eq!(lost(io::ErrorKind::TimedOut), Failure::ConnectTimeout);
    }
}
