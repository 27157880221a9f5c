//! What a message of a fan-out carries, so that each of its receivers knows from the bytes alone which message it is and when it
//! was due: `loadcurve:<run>-<number>:<due>`.
//!
//! All its parts are of fixed length, so that all messages of a load are. It has no character that JSON or HTML would escape, and
//! a server may put whatever it likes around it.

/// The length of a marker.
pub const MARKER_BYTES: usize = 51;

const PREFIX: &[u8; 10] = b"loadcurve:";
const RUN: usize = PREFIX.len();
const DASH: usize = RUN + 8;
const NUMBER: usize = DASH + 1;
const COLON: usize = NUMBER + 12;
const DUE: usize = COLON + 1;
/// The first number that has too many digits.
const NUMBER_END: u64 = 1_000_000_000_000;

/// Which message of which load it is, and when it was due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marker {
    /// Distinguishes the messages of a load from those of others.
    pub run: u32,
    /// Which message of the load it is; of a larger number than 10^12 − 1 the last twelve digits.
    pub number: u64,
    /// When it was due, in nanoseconds of the clock by which the load counts.
    pub due_ns: u64,
}

impl Marker {
    /// As it is sent.
    #[must_use]
    pub fn write(&self) -> [u8; MARKER_BYTES] {
        let mut bytes = [b'0'; MARKER_BYTES];
        bytes[..RUN].copy_from_slice(PREFIX);
        for (place, byte) in bytes[RUN..DASH].iter_mut().enumerate() {
            *byte = b"0123456789abcdef"[(self.run >> (28 - 4 * place) & 0xf) as usize];
        }
        bytes[DASH] = b'-';
        write_decimal(self.number % NUMBER_END, &mut bytes[NUMBER..COLON]);
        bytes[COLON] = b':';
        write_decimal(self.due_ns, &mut bytes[DUE..]);
        bytes
    }
}

/// Writes a number into digits that are zeros.
fn write_decimal(mut number: u64, digits: &mut [u8]) {
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

/// Finds the first marker of a message, in whatever parts the message comes.
#[derive(Debug, Clone)]
pub struct MarkerReader {
    /// What has come of it.
    bytes: [u8; MARKER_BYTES],
    have: usize,
}

impl Default for MarkerReader {
    fn default() -> Self {
        Self { bytes: [0; MARKER_BYTES], have: 0 }
    }
}

impl MarkerReader {
    /// Takes the next part of the message; behind its marker nothing is looked at.
    #[inline]
    pub fn read(&mut self, mut part: &[u8]) {
        while self.have < MARKER_BYTES {
            if self.have == 0 {
                let Some(begin) = memchr::memchr(PREFIX[0], part) else { return };
                part = &part[begin..];
            }
            let Some((byte, rest)) = part.split_first() else { return };
            if may_be_at(*byte, self.have) {
                self.bytes[self.have] = *byte;
                self.have += 1;
                part = rest;
            } else {
                // The first byte of a marker is nowhere else in one: what has come begins no other one, but for
                // this byte, which is looked at again.
                part = if self.have == 0 { rest } else { part };
                self.have = 0;
            }
        }
    }

    /// The message is complete: gives its marker, and makes ready for the next one. None for a message without one.
    #[inline]
    pub fn take(&mut self) -> Option<Marker> {
        let is_whole = std::mem::take(&mut self.have) == MARKER_BYTES;
        is_whole.then_some(())?;
        let due_ns = read_number(&self.bytes[DUE..], 10)?;
        let run = read_number(&self.bytes[RUN..DASH], 16)?;
        let number = read_number(&self.bytes[NUMBER..COLON], 10)?;
        Some(Marker { run: u32::try_from(run).ok()?, number, due_ns })
    }
}

/// Whether a marker can have this byte there.
#[inline]
fn may_be_at(byte: u8, place: usize) -> bool {
    match place {
        0..RUN => byte == PREFIX[place],
        RUN..DASH => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        DASH => byte == b'-',
        COLON => byte == b':',
        _ => byte.is_ascii_digit(),
    }
}

/// `None` where it is more than fits.
#[inline]
fn read_number(digits: &[u8], base: u64) -> Option<u64> {
    digits.iter().try_fold(0_u64, |number, digit| {
        let digit = if digit.is_ascii_digit() { digit - b'0' } else { digit - b'a' + 10 };
        number.checked_mul(base)?.checked_add(u64::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{MARKER_BYTES, Marker, MarkerReader, NUMBER_END};

    fn marker() -> impl Strategy<Value = Marker> {
        (any::<u32>(), 0..NUMBER_END, 0..10_u64.pow(19)).prop_map(|(run, number, due_ns)| Marker {
            run,
            number,
            due_ns,
        })
    }

    /// Reads a message in these parts.
    fn read(message: &[u8], cuts: &[prop::sample::Index]) -> Option<Marker> {
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(message.len() + 1)).collect();
        places.extend([0, message.len()]);
        places.sort_unstable();
        let mut reader = MarkerReader::default();
        places.windows(2).for_each(|two| reader.read(&message[two[0]..two[1]]));
        reader.take()
    }

    #[test]
    fn a_marker_is_written_in_words_that_a_person_can_read() {
        let marker = Marker { run: 0xbeef, number: 17, due_ns: 5_000_000_001 };
        let written = marker.write();
        assert_eq!(
            std::str::from_utf8(&written).unwrap(),
            "loadcurve:0000beef-000000000017:0000000005000000001"
        );
        assert_eq!(read(&written, &[]), Some(marker));
    }

    #[test]
    fn what_is_no_marker_is_none_and_what_begins_like_one_does_not_hide_it() {
        let marker = Marker { run: 1, number: 2, due_ns: 3 };
        let written = marker.write();
        for before in ["l", "loadcurve:", "loadloadcurve", "loadcurve:0000beef-0000", "llll"] {
            assert_eq!(read(&[before.as_bytes(), &written].concat(), &[]), Some(marker), "{before}");
        }
        for length in 0..MARKER_BYTES {
            assert_eq!(read(&written[..length], &[]), None, "{length}");
        }
        assert_eq!(read(b"LOADCURVE:0000beef-000000000017:0000000005000000001", &[]), None);
        assert_eq!(read(b"loadcurve:0000BEEF-000000000017:0000000005000000001", &[]), None);
    }

    proptest! {
        #[test]
        fn what_was_written_is_read_however_it_is_wrapped_and_split(
            marker in marker(),
            before in "[a-z{}\":0-9-]{0,80}",
            behind in "[a-z{}\":0-9-]{0,80}",
            cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..8),
        ) {
            let message = [before.as_bytes(), &marker.write(), behind.as_bytes()].concat();
            prop_assert_eq!(read(&message, &cuts), Some(marker));
        }

        #[test]
        fn any_bytes_give_the_same_in_whatever_parts(
            message in "(loadcurve:|[0-9a-f]{8}|-|[0-9]{12}|:|[0-9]{19}|l){0,12}",
            cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..8),
        ) {
            prop_assert_eq!(read(message.as_bytes(), &cuts), read(message.as_bytes(), &[]));
        }

        #[test]
        fn a_reader_that_was_used_is_as_new(first in any::<Vec<u8>>(), marker in marker()) {
            let mut reader = MarkerReader::default();
            reader.read(&first);
            reader.take();
            reader.read(&marker.write());
            prop_assert_eq!(reader.take(), Some(marker));
        }
    }
}
