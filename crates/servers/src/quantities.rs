//! Quantities as people write them on the command line, in the words of the studies: `500ms`, `1.5s`, `64KiB`.

use std::num::NonZeroUsize;
use std::str::FromStr;
use std::time::Duration;

use lexopt::ValueExt;

/// How the text of a value is read, and what is expected where it cannot be.
pub(crate) struct Quantity<T> {
    pub(crate) read: fn(&str) -> Option<T>,
    pub(crate) expected: &'static str,
}

/// The value of an option.
///
/// # Errors
/// Says which option has which value, and what is expected.
pub(crate) fn value_of<T>(
    parser: &mut lexopt::Parser,
    option: &str,
    quantity: &Quantity<T>,
) -> Result<T, lexopt::Error> {
    let text = parser.value()?.string()?;
    let value = (quantity.read)(&text);
    value.ok_or_else(|| format!("--{option} is {text:?}: expected {}", quantity.expected).into())
}

/// A length of time; a number without a unit is in seconds.
pub(crate) const DURATION: Quantity<Duration> = Quantity {
    read: |text| Duration::try_from_secs_f64(in_units(text, &SECONDS_PER_UNIT)?).ok(),
    expected: "a duration such as 500ms, 1.5s or 1m, or a number of seconds",
};

/// A size in bytes; a number without a unit is in bytes.
pub(crate) const SIZE_BYTES: Quantity<usize> = Quantity {
    read: |text| whole_bytes(in_units(text, &BYTES_PER_UNIT)?),
    expected: "a size such as 512B, 10kB or 1KiB, or a whole number of bytes",
};

/// A part of a whole.
pub(crate) const SHARE: Quantity<f64> = Quantity {
    read: |text| text.parse().ok().filter(|share| (0.0..=1.0).contains(share)),
    expected: "a share, from 0 to 1",
};

/// A number of seconds, as [`DURATION`] without units.
pub(crate) const SECONDS: Quantity<Duration> = Quantity {
    read: |text| Duration::try_from_secs_f64(text.parse().ok()?).ok(),
    expected: "a number of seconds, 0 or more",
};

/// How many there are of something.
pub(crate) const fn count<T: FromStr>() -> Quantity<T> {
    Quantity { read: parsed, expected: "a whole number" }
}

/// How many there are of something of which there is at least one.
pub(crate) const COUNT_ABOVE_ZERO: Quantity<NonZeroUsize> =
    Quantity { read: parsed, expected: "a whole number above 0" };

/// Whether something is so.
pub(crate) const TRUTH: Quantity<bool> = Quantity { read: parsed, expected: "true or false" };

const SECONDS_PER_UNIT: [(&str, f64); 6] =
    [("us", 1e-6), ("ms", 1e-3), ("s", 1.0), ("", 1.0), ("m", 60.0), ("h", 3600.0)];

const BYTES_PER_UNIT: [(&str, f64); 8] = [
    ("B", 1.0),
    ("", 1.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("KiB", 1024.0),
    ("MiB", 1024.0 * 1024.0),
    ("GiB", 1024.0 * 1024.0 * 1024.0),
];

/// The most bytes that are a whole number for certain, in a floating-point number.
const MOST_BYTES: f64 = 9_007_199_254_740_992.0;

pub(crate) fn parsed<T: FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

/// A number with one of these units behind it, in the unit whose factor is 1.
fn in_units(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let is_of_number = |letter: char| letter.is_ascii_digit() || letter == '.';
    let (number, unit) = text.split_at(text.find(|letter| !is_of_number(letter)).unwrap_or(text.len()));
    let unit = unit.strip_prefix(' ').unwrap_or(unit);
    let (_, factor) = units.iter().find(|(name, _)| *name == unit)?;
    Some(number.parse::<f64>().ok()? * factor)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the number is whole and in the range of a size"
)]
fn whole_bytes(bytes: f64) -> Option<usize> {
    (bytes.fract() == 0.0 && bytes <= MOST_BYTES).then_some(bytes as usize)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{DURATION, SHARE, SIZE_BYTES};

    #[test]
    fn a_duration_is_read_with_its_unit_and_in_seconds_without_one() {
        let expected_us = [
            ("0", 0),
            ("2", 2_000_000),
            ("50us", 50),
            ("5 ms", 5_000),
            ("1.5s", 1_500_000),
            ("1m", 60_000_000),
            ("0.5h", 1_800_000_000),
        ];
        for (text, microseconds) in expected_us {
            assert_eq!((DURATION.read)(text), Some(Duration::from_micros(microseconds)), "{text}");
        }
        for wrong in ["", "ms", "-1s", "1e3s", "1 fortnight", "1..5s", "inf", "NaN", "1s2"] {
            assert_eq!((DURATION.read)(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_size_is_a_whole_number_of_bytes() {
        for (text, bytes) in [("0", 0), ("512B", 512), ("10kB", 10_000), ("1.5KiB", 1536), ("1GiB", 1 << 30)]
        {
            assert_eq!((SIZE_BYTES.read)(text), Some(bytes), "{text}");
        }
        for wrong in ["", "1.5B", "1KB", "1 elephant", "-1", "99999999999999999999"] {
            assert_eq!((SIZE_BYTES.read)(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_share_lies_between_none_and_all() {
        for (text, share) in [("0", 0.0), ("0.01", 0.01), ("1", 1.0)] {
            assert_eq!((SHARE.read)(text), Some(share), "{text}");
        }
        for wrong in ["", "1%", "-0.1", "1.1", "NaN", "all"] {
            assert_eq!((SHARE.read)(wrong), None, "{wrong}");
        }
    }
}
