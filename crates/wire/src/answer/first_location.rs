//! Where answers have led.

use super::Meaning;
use crate::framing::redirects;

/// The value of the first Location of all answers that redirect.
#[derive(Debug, Default)]
pub(crate) struct FirstLocation(Option<Box<[u8]>>);

impl FirstLocation {
    /// Keeps the value of a field with this meaning in an answer with this status, if it is the first one that redirects.
    #[inline]
    pub(crate) fn take(&mut self, status: Option<u16>, meaning: Meaning, value: &[u8]) {
        if meaning == Meaning::Location && self.0.is_none() && status.is_some_and(redirects) {
            self.0 = Some(value.into());
        }
    }

    pub(crate) fn get(&self) -> Option<&[u8]> {
        self.0.as_deref()
    }
}
