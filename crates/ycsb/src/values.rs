//! The fields that an operation writes.

use std::mem;
use std::ops::Range;

/// One field that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value<'a> {
    /// The index of the field.
    pub field: usize,
    /// What it is to hold.
    pub text: &'a str,
}

/// The fields that an operation writes. They are made again in the same place, and together: to make ten texts at once
/// costs little more than to make one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Values {
    /// The texts of all fields, one behind the other.
    text: String,
    parts: Vec<Part>,
}

/// One field and the place of its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) field: usize,
    pub(crate) place: Range<usize>,
}

impl Values {
    /// Each field with its text.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Value<'_>> {
        self.parts.iter().map(|part| Value { field: part.field, text: &self.text[part.place.clone()] })
    }

    /// None from now on.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.parts.clear();
    }

    /// These fields from now on, each with the length of its text, which is to be written.
    pub(crate) fn lay_out(&mut self, fields: impl Iterator<Item = (usize, usize)>) {
        let mut start = 0;
        self.parts.clear();
        self.parts.extend(fields.map(|(field, length)| {
            let place = start..start + length;
            start = place.end;
            Part { field, place }
        }));
    }

    /// Lets `write` make the texts, all of ASCII, one behind the other.
    pub(crate) fn write(&mut self, write: impl FnOnce(&mut Vec<u8>, &[Part])) {
        let mut text = mem::take(&mut self.text).into_bytes();
        write(&mut text, &self.parts);
        self.text = String::from_utf8(text).expect("every byte is ASCII");
    }
}

impl<'a> FromIterator<(usize, &'a str)> for Values {
    fn from_iter<I: IntoIterator<Item = (usize, &'a str)>>(fields: I) -> Self {
        let mut values = Self::default();
        for (field, text) in fields {
            let start = values.text.len();
            values.text.push_str(text);
            values.parts.push(Part { field, place: start..values.text.len() });
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use super::{Value, Values};

    #[test]
    fn each_field_has_its_part_of_the_text() {
        let mut values = Values::default();
        values.lay_out([(3, 2), (0, 0), (1, 4)].into_iter());
        values.write(|text, parts| {
            assert_eq!(parts.len(), 3);
            text.extend_from_slice(b"abcdef");
        });
        let made: Vec<_> = values.iter().collect();
        let expected = [(3, "ab"), (0, ""), (1, "cdef")].map(|(field, text)| Value { field, text });
        assert_eq!(made, expected);
        assert_eq!(values, expected.iter().map(|value| (value.field, value.text)).collect());
    }

    #[test]
    fn values_that_are_cleared_keep_their_memory() {
        let mut values = Values::from_iter([(3, "a text")]);
        let place = values.text.as_ptr();
        values.clear();
        assert_eq!((values.iter().len(), &values), (0, &Values::default()));
        assert_eq!(values.text.as_ptr(), place);
    }
}
