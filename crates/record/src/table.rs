//! Tables of one line for each request, as other load generators write them: the values of some columns.
//!
//! Only what is plain is read: lines of exactly as many fields as there are columns, numbers in digits, quotes around
//! a whole field or none, which are doubled within it. Whatever else is in a block is for readers that are slower and
//! know more.

mod words;

use std::collections::HashMap;

use words::Needle;

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
    /// The text before as it is written, with what is behind it, which is the next one as well mostly.
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
    let steps = steps(kinds, separator);
    while !fields.rest.is_empty() {
        let mut free = columns.iter_mut();
        for step in &steps {
            match *step {
                Step::Skip(count) => fields.skip(count)?,
                Step::End => fields.next(b'\n').map(|_| ())?,
                Step::Read(kind, end) => free.next()?.add(kind, &mut fields, end)?,
            }
        }
    }
    Some(columns)
}

/// What is done with a line, from its start on.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// As many fields with a separator behind each are not read.
    Skip(usize),
    /// Nor is the last one.
    End,
    /// One is read, with this byte behind it.
    Read(ColumnKind, u8),
}

fn steps(kinds: &[ColumnKind], separator: u8) -> Vec<Step> {
    let mut steps = Vec::new();
    for (place, kind) in kinds.iter().enumerate() {
        let is_last = place + 1 == kinds.len();
        match (kind, steps.last_mut()) {
            (ColumnKind::Unused, _) if is_last => steps.push(Step::End),
            (ColumnKind::Unused, Some(Step::Skip(count))) => *count += 1,
            (ColumnKind::Unused, _) => steps.push(Step::Skip(1)),
            _ => steps.push(Step::Read(*kind, if is_last { b'\n' } else { separator })),
        }
    }
    steps
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
    separator: Needle,
    /// What else ends a field that is not in quotes, or may not be in one.
    others: [Needle; 3],
}

impl<'a> Fields<'a> {
    fn of(block: &'a [u8], separator: u8) -> Self {
        Self { rest: block, separator: Needle::of(separator), others: [b'\n', b'\r', QUOTE].map(Needle::of) }
    }

    /// The next field as it is written, without the quotes around it, if this byte is behind it.
    fn next(&mut self, end: u8) -> Option<&'a [u8]> {
        let (field, behind) = match self.rest {
            [QUOTE, quoted @ ..] => {
                let mut length = end_of_text(quoted, 0)?;
                while quoted[length..].starts_with(&[QUOTE, QUOTE]) {
                    // Two of them are one in the text.
                    length = end_of_text(quoted, length + 2)?;
                }
                let (field, behind) = quoted.split_at(length);
                (field, behind.strip_prefix(&[QUOTE])?)
            }
            plain => {
                let [newline, carriage_return, quote] = self.others;
                let ends = [self.separator, newline, carriage_return, quote];
                plain.split_at(words::first_of(ends, plain)?)
            }
        };
        self.rest = behind.strip_prefix(&[end])?;
        Some(field)
    }

    /// Leave out fields that are not the last of their line.
    fn skip(&mut self, count: usize) -> Option<()> {
        if let Some(behind) = words::behind(count, self.separator, self.others, self.rest) {
            self.rest = &self.rest[behind..];
            return Some(());
        }
        // Some are in quotes.
        (0..count).try_for_each(|_| self.next(self.separator.byte()).map(|_| ()))
    }

    /// The next field as a whole number in digits alone, if this byte is behind it; `None` where it may be another one.
    fn digits(&mut self, end: u8) -> Option<i64> {
        let (number, length) = words::digits(self.rest)?;
        let number = i64::try_from(number).ok().filter(|_| length > 0)?;
        self.rest = self.rest[length..].strip_prefix(&[end])?;
        Some(number)
    }

    /// The same of a number with decimals.
    fn decimals(&mut self, end: u8) -> Option<f64> {
        if let Some((number, decimals, length)) = words::short_decimal(self.rest) {
            let number = exact(number, decimals)?;
            self.rest = self.rest[length..].strip_prefix(&[end])?;
            return Some(number);
        }
        let (before, length) = words::digits(self.rest).filter(|(_, length)| *length > 0)?;
        let behind = self.rest[length..].strip_prefix(b".")?;
        let (decimals, count) = words::digits(behind).filter(|(_, count)| *count > 0)?;
        if length + count > DIGITS_MAX {
            return None;
        }
        let number = exact(before * WHOLE_POWERS_OF_TEN[count] + decimals, count)?;
        self.rest = behind[count..].strip_prefix(&[end])?;
        Some(number)
    }
}

/// Where the first quote or end of a line is, behind some bytes.
fn end_of_text(text: &[u8], behind: usize) -> Option<usize> {
    let found = text.get(behind..)?.iter().position(|byte| matches!(*byte, QUOTE | b'\n' | b'\r'))?;
    Some(behind + found)
}

/// What a field says whose quotes are doubled; one without quotes around it has none.
fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut said = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, behind)) = rest.split_first() {
        said.push(*first);
        rest = if *first == QUOTE { &behind[1..] } else { behind };
    }
    said
}

impl ColumnValues {
    /// Add the next field, if this byte is behind it; numbers as most tools write them first, without a look for their end.
    fn add(&mut self, kind: ColumnKind, fields: &mut Fields<'_>, end: u8) -> Option<()> {
        match kind {
            ColumnKind::Unused => fields.next(end).map(|_| ())?,
            ColumnKind::Whole => {
                let number = match fields.digits(end) {
                    Some(number) => number,
                    None => whole(fields.next(end)?)?,
                };
                self.bytes.extend_from_slice(&number.to_ne_bytes());
            }
            ColumnKind::Decimal => {
                let number = match fields.decimals(end) {
                    Some(number) => number,
                    None => decimal(fields.next(end)?)?,
                };
                self.bytes.extend_from_slice(&number.to_ne_bytes());
            }
            ColumnKind::Flag => self.bytes.push(match fields.next(end)? {
                b"true" => 1,
                b"false" => 0,
                _ => return None,
            }),
            ColumnKind::Text => {
                let place = self.text(fields, end)?;
                self.bytes.extend_from_slice(&place.to_ne_bytes());
            }
        }
        Some(())
    }

    fn text(&mut self, fields: &mut Fields<'_>, end: u8) -> Option<u32> {
        let (last, place) = &self.last;
        if !last.is_empty()
            && let Some(rest) = fields.rest.strip_prefix(last.as_slice())
        {
            fields.rest = rest;
            return Some(*place);
        }
        let line = fields.rest;
        let field = fields.next(end)?;
        let place = self.place(field)?;
        self.last.0.clear();
        self.last.0.extend_from_slice(&line[..line.len() - fields.rest.len()]);
        self.last.1 = place;
        Some(place)
    }

    fn place(&mut self, text: &[u8]) -> Option<u32> {
        match self.places.get(text) {
            Some(place) => Some(*place),
            None => self.new_place(text),
        }
    }

    fn new_place(&mut self, text: &[u8]) -> Option<u32> {
        if self.texts.len() == TEXTS_MAX {
            return None;
        }
        let place = u32::try_from(self.texts.len()).ok()?;
        self.texts.push(String::from_utf8(unescaped(text)).ok()?);
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
    let number = exact(number, decimals)?;
    Some(if is_negative { -number } else { number })
}

/// A whole number divided by a power of ten, where that is rounded once.
fn exact(number: u64, decimals: usize) -> Option<f64> {
    if number > EXACT_MAX {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "it is below 2^53")]
    let number = number as f64;
    Some(number / POWERS_OF_TEN[decimals])
}

const POWERS_OF_TEN: [f64; DIGITS_MAX + 1] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18];

const WHOLE_POWERS_OF_TEN: [u64; DIGITS_MAX + 1] = {
    let mut powers = [1; DIGITS_MAX + 1];
    let mut place = 1;
    while place < powers.len() {
        powers[place] = 10 * powers[place - 1];
        place += 1;
    }
    powers
};

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
            "1,2,3,true,\"a\"\"\n",
            "1,2,3,true,\"a\"\"b\n",
            "1,\"2\"\"\",3,true,a\n",
            "1,2,3,true,\"a\n\"b\"\n",
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
    fn a_quote_in_a_text_is_two_of_them_within_quotes() {
        let block = b"1,\"a\"\"b\",\"\"\"\"\n2,\"\",\"\"\"Get \"\"\"\"x\"\"\"\n3,\"a\"\"b\",\"\"\"\"\n";
        let columns =
            table_columns(block, b',', &[ColumnKind::Whole, ColumnKind::Unused, ColumnKind::Text]).unwrap();
        assert_eq!(wholes(&columns[0]), [1, 2, 3]);
        assert_eq!(texts(&columns[1]), ["\"", "\"Get \"\"x\"", "\""]);
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
            let lines = format!("{text},{text}\n\"{text}\",{text}\n");
            let columns = table_columns(lines.as_bytes(), b',', &[ColumnKind::Whole; 2]).unwrap();
            prop_assert_eq!(wholes(&columns[0]), [number; 2]);
            prop_assert_eq!(wholes(&columns[1]), [number; 2]);
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
                let lines = format!("{text},{text}\n");
                let columns = table_columns(lines.as_bytes(), b',', &[ColumnKind::Decimal; 2]).unwrap();
                let bytes = text.parse::<f64>().unwrap().to_ne_bytes();
                prop_assert_eq!(&columns[0].bytes, &bytes);
                prop_assert_eq!(&columns[1].bytes, &bytes);
            }
        }

        #[test]
        fn fields_are_those_between_separators_outside_of_quotes(
            rows in proptest::collection::vec(proptest::collection::vec("[a-c ]{0,12}|[a-c;\"]{0,4}", 5), 1..6),
        ) {
            let written = |field: &String| {
                if field.contains([';', '"']) {
                    format!("\"{}\"", field.replace('"', "\"\""))
                } else {
                    field.clone()
                }
            };
            let lines: String =
                rows.iter().map(|row| row.iter().map(written).collect::<Vec<_>>().join(";") + "\n").collect();
            for used in 0..5 {
                let mut kinds = [ColumnKind::Unused; 5];
                kinds[used] = ColumnKind::Text;
                let columns = table_columns(lines.as_bytes(), b';', &kinds).unwrap();
                let expected: Vec<&str> = rows.iter().map(|row| row[used].as_str()).collect();
                prop_assert_eq!(texts(&columns[0]), expected);
            }
        }

        #[test]
        fn any_bytes_are_read_or_not(block in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = table_columns(&block, b',', &ALL);
        }
    }
}
