//! What a verdict consists of.

use serde::Serialize;

use super::codes::{Code, Kind, Status};

/// One reason against a result, or one note on it, with its evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// What it is about.
    pub code: Code,
    /// A sentence with the numbers, and with what to do.
    pub text: String,
}

/// The verdict on one load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// The worst that any reason says.
    pub status: Status,
    /// The reasons, none for a valid result.
    pub reasons: Vec<Reason>,
    /// What a reader should know, although it is no reason for doubt.
    pub notes: Vec<Reason>,
}

impl Verdict {
    pub(super) fn add(&mut self, status: Status, code: Code, text: String) {
        debug_assert!(code.row().may_give(status), "{code:?} makes no load {status:?}");
        self.status = self.status.max(status);
        self.reasons.push(Reason { code, text });
    }

    pub(super) fn note(&mut self, code: Code, text: String) {
        debug_assert_eq!(code.row().kind, Kind::Note);
        self.notes.push(Reason { code, text });
    }
}
