//! The time of day, for the date of an answer.

use std::time::SystemTime;

#[expect(clippy::disallowed_methods, reason = "this module is where the servers read the clock")]
pub(crate) fn now() -> SystemTime {
    SystemTime::now()
}
