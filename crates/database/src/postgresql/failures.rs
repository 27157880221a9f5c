//! What the driver's errors mean.

use std::error::Error as _;
use std::io;

use loadcurve_record::Failure;
use tokio_postgres::Error;
use tokio_postgres::error::{DbError, SqlState};

use super::encryption::ROOT_CERTIFICATE;
use crate::database::Failed;
use crate::network;

/// The class of an error of the driver, and its explanation.
pub(super) fn failed(error: &Error) -> Failed {
    if let Some(answer) = error.as_db_error() {
        return Failed::new(refusal(answer.code()), said(answer));
    }
    let cause = error.source();
    if let Some(error) = cause.and_then(|cause| cause.downcast_ref::<io::Error>()) {
        return network::failed(error, ROOT_CERTIFICATE);
    }
    if is_of_handshake(error) {
        // The server has answered that it does not.
        return Failed::new(
            Failure::ConnectRefused,
            "the server does not support TLS, which the address requires (sslmode)",
        );
    }
    if error.is_closed() {
        return Failed::new(Failure::ClosedEarly, "the server closed the connection");
    }
    // What is left are an answer that the driver cannot read, and a password that it lacks: the configuration has been
    // read before.
    let text = cause.map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"));
    let failure = if is_about_passwords(&text) { Failure::AccessDenied } else { Failure::Malformed };
    Failed::new(failure, text)
}

/// Whether a connection was not made because of TLS, which the driver only says in words.
pub(super) fn is_of_handshake(error: &Error) -> bool {
    error.to_string() == "error performing TLS handshake"
}

/// The class of an answer with an error, by its code.
fn refusal(code: &SqlState) -> Failure {
    const INVALID_AUTHORIZATION: &str = "28";
    if code.code().starts_with(INVALID_AUTHORIZATION) || *code == SqlState::INSUFFICIENT_PRIVILEGE {
        Failure::AccessDenied
    } else if *code == SqlState::ADMIN_SHUTDOWN || *code == SqlState::CRASH_SHUTDOWN {
        // The server's last words on this connection.
        Failure::ClosedEarly
    } else {
        Failure::Rejected
    }
}

/// The server's words. Its details name keys and values, and are left out.
fn said(answer: &DbError) -> String {
    format!("{} ({})", answer.message(), answer.code().code())
}

/// Whether the driver was asked for a password that it does not have, which it only says in words.
fn is_about_passwords(text: &str) -> bool {
    text.contains("password missing")
        || text.contains("authentication error")
        || text.contains("user missing")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_not_is_denied_access_and_other_answers_are_rejections() {
        assert_eq!(refusal(&SqlState::INVALID_PASSWORD), Failure::AccessDenied);
        assert_eq!(refusal(&SqlState::INVALID_AUTHORIZATION_SPECIFICATION), Failure::AccessDenied);
        assert_eq!(refusal(&SqlState::INSUFFICIENT_PRIVILEGE), Failure::AccessDenied);
        assert_eq!(refusal(&SqlState::UNIQUE_VIOLATION), Failure::Rejected);
        assert_eq!(refusal(&SqlState::TOO_MANY_CONNECTIONS), Failure::Rejected);
        assert_eq!(refusal(&SqlState::ADMIN_SHUTDOWN), Failure::ClosedEarly);
    }
}
