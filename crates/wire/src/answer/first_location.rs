//! Where answers have led.

use super::Meaning;

/// The value of the first Location of all answers.
#[derive(Debug, Default)]
pub(crate) struct FirstLocation(Option<Box<[u8]>>);

impl FirstLocation {
    /// Keeps the value of a field with this meaning, if it is the first one.
    #[inline]
    pub(crate) fn take(&mut self, meaning: Meaning, value: &[u8]) {
        if meaning == Meaning::Location && self.0.is_none() {
            self.0 = Some(value.into());
        }
    }

    pub(crate) fn get(&self) -> Option<&[u8]> {
        self.0.as_deref()
    }
}
