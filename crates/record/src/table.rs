//! Tables of one line for each request, as other load generators write them: the values of some columns.
//!
//! Only what is plain is read: lines of exactly as many fields as there are columns, numbers in digits, quotes around
//! a whole field or none. Whatever else is in a block is for readers that are slower and know more.

use std::collections::HashMap;

const QUOTE: u8 = b'"';
/// Any number of as many digits fits in 64 bits.
const DIGITS_MAX: usize = 18;
/// Whole numbers up to 2^53 and powers of ten up to 22 are exact as floats, so that one division rounds once.
const EXACT_MAX: u64 = 1 << 53;
/// A column of more different texts in a block is not one of names.
const TEXTS_MAX: usize = 1_000;

/// What is in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// It is not read.
    Unused,
    /// Whole numbers, as `i64`.
    Whole,
    /// Numbers with or without decimals, as `f64`.
    Decimal,
    /// `true` or `false`, as a byte of 1 or 0.
    Flag,
    /// Texts of which many are alike, as the place (`u32`) of each in the list of those that differ.
    Text,
}

impl ColumnKind {
    /// How many bytes a value takes.
    const fn width(self) -> usize {
        match self {
            Self::Unused => 0,
            Self::Whole | Self::Decimal => 8,
            Self::Flag => 1,
            Self::Text => 4,
        }
    }
}

/// The values of a column.
#[derive(Debug, Default)]
pub struct ColumnValues {
    /// Behind each other, in the order of bytes of the machine.
    pub bytes: Vec<u8>,
    /// The texts that differ.
    pub texts: Vec<String>,
    places: HashMap<Vec<u8>, u32>,
    /// The text before, which is the next one as well mostly.
    last: (Vec<u8>, u32),
}

/// The values of the used columns of all lines of a block; `None` where a line is not plain.
#[must_use]
pub fn table_columns(block: &[u8], separator: u8, kinds: &[ColumnKind]) -> Option<Vec<ColumnValues>> {
    let used = kinds.iter().filter(|kind| **kind != ColumnKind::Unused).count();
    let lines = block.len() / (block.iter().position(|byte| *byte == b'\n')? + 1);
    let mut columns: Vec<ColumnValues> = std::iter::repeat_with(ColumnValues::default).take(used).collect();
    for (column, kind) in columns.iter_mut().zip(kinds.iter().filter(|kind| **kind != ColumnKind::Unused)) {
        // Lines are of similar lengths, and room for a few more saves copying all of them.
        column.bytes.reserve((lines + lines / 8) * kind.width());
    }
    let mut fields = Fields::of(block, separator);
    let (last, others) = kinds.split_last()?;
    while !fields.rest.is_empty() {
        let mut free = columns.iter_mut();
        for kind in others {
            let field = fields.next(separator)?;
            if *kind != ColumnKind::Unused {
                free.next()?.add(*kind, field)?;
            }
        }
        let field = fields.next(b'\n')?;
        if *last != ColumnKind::Unused {
            free.next()?.add(*last, field)?;
        }
    }
    Some(columns)
}

/// How often a byte occurs in a block.
#[must_use]
pub fn count_of(byte: u8, block: &[u8]) -> usize {
    // Counters of a byte, of which many are added at once.
    let counts = block.chunks(usize::from(u8::MAX));
    counts.map(|some| usize::from(some.iter().fold(0_u8, |count, one| count + u8::from(*one == byte)))).sum()
}

/// The fields of a block, one after the other.
struct Fields<'a> {
    rest: &'a [u8],
    /// Whether a byte ends a field that is not in quotes, or may not be in one.
    is_end: [bool; 256],
}

impl<'a> Fields<'a> {
    fn of(block: &'a [u8], separator: u8) -> Self {
        let mut is_end = [false; 256];
        for byte in [separator, b'\n', b'\r', QUOTE] {
            is_end[usize::from(byte)] = true;
        }
        Self { rest: block, is_end }
    }

    /// The next field, if this byte is behind it.
    fn next(&mut self, end: u8) -> Option<&'a [u8]> {
        let (field, behind) = match self.rest {
            [QUOTE, quoted @ ..] => {
                let length = quoted.iter().position(|byte| matches!(*byte, QUOTE | b'\n' | b'\r'))?;
                let (field, behind) = quoted.split_at(length);
                (field, behind.strip_prefix(&[QUOTE])?)
            }
            plain => plain.split_at(plain.iter().position(|byte| self.is_end[usize::from(*byte)])?),
        };
        self.rest = behind.strip_prefix(&[end])?;
        Some(field)
    }
}

impl ColumnValues {
    fn add(&mut self, kind: ColumnKind, field: &[u8]) -> Option<()> {
        match kind {
            ColumnKind::Unused => {}
            ColumnKind::Whole => self.bytes.extend_from_slice(&whole(field)?.to_ne_bytes()),
            ColumnKind::Decimal => self.bytes.extend_from_slice(&decimal(field)?.to_ne_bytes()),
            ColumnKind::Flag => self.bytes.push(match field {
                b"true" => 1,
                b"false" => 0,
                _ => return None,
            }),
            ColumnKind::Text => {
                let place = self.place(field)?;
                self.bytes.extend_from_slice(&place.to_ne_bytes());
            }
        }
        Some(())
    }

    fn place(&mut self, text: &[u8]) -> Option<u32> {
        if !self.texts.is_empty() && self.last.0 == text {
            return Some(self.last.1);
        }
        let place = match self.places.get(text) {
            Some(place) => *place,
            None => self.new_place(text)?,
        };
        self.last.0.clear();
        self.last.0.extend_from_slice(text);
        self.last.1 = place;
        Some(place)
    }

    fn new_place(&mut self, text: &[u8]) -> Option<u32> {
        if self.texts.len() == TEXTS_MAX {
            return None;
        }
        let place = u32::try_from(self.texts.len()).ok()?;
        self.texts.push(std::str::from_utf8(text).ok()?.to_owned());
        self.places.insert(text.to_vec(), place);
        Some(place)
    }
}

/// The sign, and what is behind it.
fn signed(field: &[u8]) -> (bool, &[u8]) {
    field.strip_prefix(b"-").map_or((false, field), |digits| (true, digits))
}

/// A number of 1 to 18 digits.
fn digits(field: &[u8]) -> Option<u64> {
    if field.is_empty() || field.len() > DIGITS_MAX {
        return None;
    }
    appended(0, field)
}

fn appended(number: u64, more: &[u8]) -> Option<u64> {
    more.iter().try_fold(number, |number, byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit < 10).then(|| number * 10 + u64::from(digit))
    })
}

fn whole(field: &[u8]) -> Option<i64> {
    let (is_negative, field) = signed(field);
    let (most, last) = field.split_at_checked(DIGITS_MAX).unwrap_or((field, b""));
    if last.len() > 1 {
        return None;
    }
    // With one more digit, as moments in nanoseconds have, it may be too great.
    let number = i64::try_from(appended(digits(most)?, last)?).ok()?;
    Some(if is_negative { -number } else { number })
}

fn decimal(field: &[u8]) -> Option<f64> {
    let (is_negative, field) = signed(field);
    let point = field.iter().position(|byte| *byte == b'.');
    let (number, decimals) = match point {
        None => (digits(field)?, 0),
        Some(point) => {
            let (before, behind) = (&field[..point], &field[point + 1..]);
            if behind.is_empty() || before.len() + behind.len() > DIGITS_MAX {
                return None;
            }
            (appended(digits(before)?, behind)?, behind.len())
        }
    };
    if number > EXACT_MAX {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "it is below 2^53")]
    let number = number as f64 / POWERS_OF_TEN[decimals];
    Some(if is_negative { -number } else { number })
}

const POWERS_OF_TEN: [f64; DIGITS_MAX + 1] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: [ColumnKind; 5] =
        [ColumnKind::Whole, ColumnKind::Decimal, ColumnKind::Unused, ColumnKind::Flag, ColumnKind::Text];

    fn wholes(column: &ColumnValues) -> Vec<i64> {
        column.bytes.chunks(8).map(|one| i64::from_ne_bytes(one.try_into().unwrap())).collect()
    }

    fn texts(column: &ColumnValues) -> Vec<&str> {
        let places = column.bytes.chunks(4).map(|one| u32::from_ne_bytes(one.try_into().unwrap()));
        places.map(|place| column.texts[place as usize].as_str()).collect()
    }

    #[test]
    fn values_are_read_by_the_kind_of_their_column() {
        let block = b"-1,0.25,x,true,a\n22,-3,,false,\"b c\"\n9223372036854775807,1.50,\"y\",true,a\n";
        let columns = table_columns(block, b',', &ALL).unwrap();
        assert_eq!(wholes(&columns[0]), [-1, 22, i64::MAX]);
        let decimals: Vec<f64> =
            columns[1].bytes.chunks(8).map(|one| f64::from_ne_bytes(one.try_into().unwrap())).collect();
        assert_eq!(decimals, [0.25, -3.0, 1.5]);
        assert_eq!(columns[2].bytes, [1, 0, 1]);
        assert_eq!(texts(&columns[3]), ["a", "b c", "a"]);
        assert_eq!(columns[3].texts, ["a", "b c"]);
    }

    #[test]
    fn what_is_not_plain_is_not_read() {
        let plain = "1,2,3,true,a\n";
        assert!(table_columns(plain.as_bytes(), b',', &ALL).is_some());
        for line in [
            "1,2,3,true\n",
            "1,2,3,true,a,b\n",
            "1,2,3,true,a",
            "\n",
            ",2,3,true,a\n",
            "+1,2,3,true,a\n",
            "1 ,2,3,true,a\n",
            "9223372036854775808,2,3,true,a\n",
            "12345678901234567890,2,3,true,a\n",
            "1,.5,3,true,a\n",
            "1,5.,3,true,a\n",
            "1,1e3,3,true,a\n",
            "1,9007199254740993,3,true,a\n",
            "1,2,3,True,a\n",
            "1,2,3,true,a\"b\"\n",
            "1,2,3,true,\"a\"\"b\"\n",
            "1,2,3,true,\"a\nb\"\n",
            "1,2,3,true,\"a\"b\n",
            "1,2,3,true,a\r\n",
        ] {
            let block = format!("{plain}{line}{plain}");
            assert!(table_columns(block.as_bytes(), b',', &ALL).is_none(), "{line:?}");
        }
        assert!(table_columns(b"1,2,3,true,\xff\n", b',', &ALL).is_none());
    }

    #[test]
    fn a_column_of_too_many_different_texts_is_not_one_of_names() {
        let lines = |count: usize| {
            (0..count).flat_map(|number| [number.to_string(), "\n".into()]).collect::<String>()
        };
        assert!(table_columns(lines(TEXTS_MAX).as_bytes(), b',', &[ColumnKind::Text]).is_some());
        assert!(table_columns(lines(TEXTS_MAX + 1).as_bytes(), b',', &[ColumnKind::Text]).is_none());
    }

    #[test]
    fn bytes_are_counted_however_frequent_they_are() {
        assert_eq!(count_of(b'a', &[b'a'; 1_000]), 1_000);
        assert_eq!(count_of(b'b', &[b'a'; 1_000]), 0);
        assert_eq!(count_of(b'\n', b"a\nb\n\n"), 3);
    }

    proptest! {
        #[test]
        fn whole_numbers_are_those_of_the_standard_library(number in -i64::MAX..=i64::MAX) {
            let text = format!("{number}");
            prop_assert_eq!(whole(text.as_bytes()), Some(number));
        }

        #[test]
        fn decimal_numbers_are_those_of_the_standard_library(
            number in -(1_i64 << 52)..1 << 52,
            decimals in 0_usize..10,
        ) {
            let sign = if number < 0 { "-" } else { "" };
            let padded = format!("{:0>width$}", number.unsigned_abs(), width = decimals + 1);
            let (before, behind) = padded.split_at(padded.len() - decimals);
            let text = if decimals == 0 { format!("{sign}{before}") } else { format!("{sign}{before}.{behind}") };
            if before.len() + behind.len() <= DIGITS_MAX {
                prop_assert_eq!(decimal(text.as_bytes()), text.parse().ok());
            }
        }

        #[test]
        fn any_bytes_are_read_or_not(block in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = table_columns(&block, b',', &ALL);
        }
    }
}
