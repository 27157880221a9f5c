//! Ids by which answers are matched: each message carries one, and its answer has it in a field of JSON.

use std::collections::VecDeque;

use crate::error::WebSocketError;
use crate::exchange::Tag;

/// The digits of an id. Numbers of 16 are exact in JavaScript, too, and none begins with a zero.
pub(super) const ID_BYTES: usize = 16;
const FIRST: u64 = 1_000_000_000_000_000;
/// In a body, the place of the id.
pub const ID_PLACE: &[u8] = b"{id}";

/// The name of the field of an answer that has the id of its message, as it is in JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerId {
    /// With its quotation marks.
    name: Vec<u8>,
}

impl AnswerId {
    /// The id is in the field of this name, which has no quotation mark and no backslash; nothing where it has one, or is empty.
    #[must_use]
    pub fn new(name: &str) -> Option<Self> {
        let is_plain = !name.is_empty() && !name.contains(['"', '\\']) && !name.contains(char::is_control);
        is_plain.then(|| Self { name: format!("\"{name}\"").into_bytes() })
    }
}

/// The number of an id, written as JSON has numbers.
pub(super) fn written(number: u64) -> [u8; ID_BYTES] {
    let mut digits = [b'0'; ID_BYTES];
    let mut rest = FIRST + number;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    digits
}

/// The ids of one connection: each is in one message.
#[derive(Debug)]
pub(super) struct Ids {
    name: AnswerId,
    reader: IdReader,
    /// The number of the last message with each tag.
    numbers: Vec<u64>,
    /// How many messages had an id.
    count: u64,
}

impl Ids {
    /// Those of a connection with this number of places.
    pub(super) fn new(name: AnswerId, most: usize) -> Self {
        Self { name, reader: IdReader::default(), numbers: vec![0; most.max(1)], count: 0 }
    }

    /// Makes ready for a new connection, on which no id of an earlier one is used again.
    pub(super) fn reset(&mut self) {
        self.reader = IdReader::default();
    }

    /// The id of the next message, which has this tag.
    pub(super) fn next(&mut self, tag: Tag) -> [u8; ID_BYTES] {
        // The number says the tag.
        let number = self.count * self.numbers.len() as u64 + tag as u64;
        self.count += 1;
        self.numbers[tag] = number;
        written(number)
    }

    /// Reads on in a message of the peer.
    #[inline]
    pub(super) fn read(&mut self, part: &[u8]) {
        self.reader.read(&self.name, part);
    }

    /// The message is complete: gives the tag of the one that it answers, which is no more among those that wait.
    pub(super) fn answered(&mut self, awaited: &mut VecDeque<Tag>) -> Result<Tag, WebSocketError> {
        let number = self.reader.take().ok_or(WebSocketError::NoAnswerId)?;
        let places = self.numbers.len() as u64;
        let tag = usize::try_from(number % places).unwrap_or(usize::MAX);
        let place = awaited.iter().position(|one| *one == tag).filter(|_| self.numbers[tag] == number);
        match place {
            Some(place) => {
                awaited.remove(place);
                Ok(tag)
            }
            None if number / places < self.count => Err(WebSocketError::RepeatedAnswerId),
            None => Err(WebSocketError::UnknownAnswerId),
        }
    }
}

/// Reads the id of one message after the other, from parts of any length; nothing of them is kept.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct IdReader {
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// This number of bytes of the name has come.
    Name(usize),
    /// Behind the name.
    Colon,
    /// Behind the colon, or behind the quotation mark that begins a text.
    Value {
        in_quotes: bool,
    },
    Digits {
        count: usize,
        value: u64,
    },
    /// What was looked for has come.
    Read(u64),
}

impl Default for State {
    fn default() -> Self {
        Self::Name(0)
    }
}

impl IdReader {
    /// Reads on in a message.
    #[inline]
    pub(super) fn read(&mut self, id: &AnswerId, bytes: &[u8]) {
        for byte in bytes {
            if matches!(self.state, State::Read(_)) {
                return;
            }
            self.state = self.next(&id.name, *byte);
        }
    }

    fn next(self, name: &[u8], byte: u8) -> State {
        // A quotation mark may begin the name wherever it was not expected.
        let again = if byte == b'"' { State::Name(1) } else { State::Name(0) };
        let is_space = byte.is_ascii_whitespace();
        match self.state {
            State::Name(matched) if name[matched] == byte => {
                if matched + 1 == name.len() {
                    State::Colon
                } else {
                    State::Name(matched + 1)
                }
            }
            State::Colon if is_space => State::Colon,
            State::Colon if byte == b':' => State::Value { in_quotes: false },
            State::Value { in_quotes: false } if is_space => self.state,
            State::Value { in_quotes: false } if byte == b'"' => State::Value { in_quotes: true },
            State::Value { .. } if byte.is_ascii_digit() => {
                State::Digits { count: 1, value: u64::from(byte - b'0') }
            }
            State::Digits { count, value } if byte.is_ascii_digit() && count < ID_BYTES => {
                State::Digits { count: count + 1, value: 10 * value + u64::from(byte - b'0') }
            }
            State::Digits { count: ID_BYTES, value } if !byte.is_ascii_digit() && value >= FIRST => {
                State::Read(value - FIRST)
            }
            _ => again,
        }
    }

    /// The message is complete: gives the number of its id, and makes ready for the next one.
    pub(super) fn take(&mut self) -> Option<u64> {
        match std::mem::take(&mut self.state) {
            State::Read(number) => Some(number),
            // A number at the very end.
            State::Digits { count: ID_BYTES, value } if value >= FIRST => Some(value - FIRST),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{AnswerId, IdReader, written};

    fn read(name: &str, message: &[u8], at_once: usize) -> Option<u64> {
        let (id, mut reader) = (AnswerId::new(name).unwrap(), IdReader::default());
        message.chunks(at_once).for_each(|part| reader.read(&id, part));
        reader.take()
    }

    #[test]
    fn an_id_is_a_number_of_sixteen_digits_that_javascript_has_exactly() {
        assert_eq!(&written(0), b"1000000000000000");
        assert_eq!(&written(42), b"1000000000000042");
        // 2⁵³ − 1, the greatest that is exact (ECMA-262, Number.MAX_SAFE_INTEGER).
        assert_eq!(&written(8_007_199_254_740_991), b"9007199254740991");
    }

    #[test]
    fn it_is_found_in_the_field_of_its_name_as_a_number_or_in_quotation_marks() {
        for (message, number) in [
            (r#"{"id": 1000000000000007, "x": 1}"#, Some(7)),
            (r#"{"x":{"id":"1000000000000007"}}"#, Some(7)),
            ("{\"id\"\n:\t1000000000000007}", Some(7)),
            // JSON-RPC's answers have their id behind other fields.
            (r#"{"jsonrpc":"2.0","result":"id","id":1000000000000007}"#, Some(7)),
            (r#"{"text": "\"id\": 1000000000000001", "id": 1000000000000002}"#, Some(2)),
            (r#"{"id": null, "data": {"id": 1000000000000003}}"#, Some(3)),
            // With nothing behind it.
            (r#""id":1000000000000007"#, Some(7)),
            (r#"{"id": 5}"#, None),
            (r#"{"id": 10000000000000071}"#, None),
            (r#"{"id": 0000000000000007}"#, None),
            (r#"{"ids": 1000000000000007, "xid": 1000000000000007}"#, None),
            ("", None),
        ] {
            for at_once in [1, 2, 5, 1000] {
                assert_eq!(read("id", message.as_bytes(), at_once), number, "{message} by {at_once}");
            }
        }
    }

    #[test]
    fn a_name_that_json_would_write_otherwise_is_none() {
        for name in ["", "a\"b", "a\\b", "a\nb"] {
            assert_eq!(AnswerId::new(name), None);
        }
    }

    proptest! {
        #[test]
        fn what_was_written_is_read_whatever_is_around_it(
            number in 0_u64..1_000_000_000_000,
            before in "[a-z{},:0-9 ]{0,40}",
            behind in "[a-z\"{},: ]{0,40}",
            at_once in 1_usize..40,
        ) {
            let id = written(number);
            let message = [before.as_bytes(), b"\"key\":", &id, b",", behind.as_bytes()].concat();
            prop_assert_eq!(read("key", &message, at_once), Some(number));
        }
    }
}
