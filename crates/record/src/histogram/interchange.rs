//! Reading the interchange format of histograms, which may come from anybody: the memory that it takes is bounded
//! before anything that the bytes declare is believed.
//!
//! The format is that of `HdrHistogram`'s versions for all languages: a cookie, six numbers, and then a number for each
//! counter, or for a row of counters that are zero, in variable length with the sign in the lowest bit.

use std::io::Read;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::read::ZlibDecoder;

const COOKIE: u32 = 0x1c84_9313;
const COMPRESSED_COOKIE: u32 = 0x1c84_9314;
/// Three times what a counter of nine bytes for each bucket of a [`super::TimeHistogram`] takes.
const INFLATED_BYTES_MAX: u64 = 1 << 20;
/// The most significant digits that the format knows.
const DIGITS_MAX: u32 = 5;

/// The counts of a histogram that are not zero: the time in the middle of the bucket, and how often it was counted.
pub(super) fn counts(text: &str) -> Result<Vec<(u64, u64)>, &'static str> {
    let bytes = BASE64.decode(text.trim()).map_err(|_| "it is not base64")?;
    let mut outer = bytes.as_slice();
    let inflated = match number(&mut outer)? {
        COMPRESSED_COOKIE => {
            number(&mut outer)?;
            inflate(outer)?
        }
        COOKIE => bytes,
        _ => return Err("it does not begin with the format's cookie"),
    };
    let (buckets, mut counters) = header(&inflated)?;
    let mut found = Vec::new();
    let mut index = 0_u64;
    while !counters.is_empty() {
        let value = variable_length(&mut counters)?;
        let (half, is_row_of_zeros) = (value >> 1, value & 1 == 1);
        if !is_row_of_zeros && half > 0 {
            let time = buckets.middle_of(index).ok_or("it has more counters than times")?;
            found.push((time, half));
        }
        let step = if is_row_of_zeros { half + 1 } else { 1 };
        index = index.checked_add(step).ok_or("it has more counters than times")?;
    }
    Ok(found)
}

/// Which times the counters are of, and the bytes of these.
fn header(mut rest: &[u8]) -> Result<(Buckets, &[u8]), &'static str> {
    if number(&mut rest)? != COOKIE {
        return Err("it does not begin with the format's cookie");
    }
    let length = number(&mut rest)?;
    let offset = number(&mut rest)?;
    let digits = number(&mut rest)?;
    let lowest = long_number(&mut rest)?;
    let _highest = long_number(&mut rest)?;
    let ratio = long_number(&mut rest)?;
    if offset != 0 || ratio != 1.0_f64.to_bits() {
        return Err("its counters are shifted or scaled, which is not supported");
    }
    if digits > DIGITS_MAX || lowest == 0 {
        return Err("its precision or its range is invalid");
    }
    let counters = usize::try_from(length).ok().and_then(|length| rest.get(..length));
    Ok((Buckets::of(lowest, digits), counters.ok_or("it is truncated")?))
}

fn inflate(compressed: &[u8]) -> Result<Vec<u8>, &'static str> {
    let mut bytes = Vec::new();
    let read = ZlibDecoder::new(compressed).take(INFLATED_BYTES_MAX + 1).read_to_end(&mut bytes);
    match read {
        Err(_) => Err("it cannot be decompressed"),
        Ok(length) if length as u64 > INFLATED_BYTES_MAX => Err("it is larger than a histogram of times"),
        Ok(_) => Ok(bytes),
    }
}

fn number(bytes: &mut &[u8]) -> Result<u32, &'static str> {
    let (first, rest) = bytes.split_first_chunk().ok_or("it is truncated")?;
    *bytes = rest;
    Ok(u32::from_be_bytes(*first))
}

fn long_number(bytes: &mut &[u8]) -> Result<u64, &'static str> {
    Ok(u64::from(number(bytes)?) << 32 | u64::from(number(bytes)?))
}

/// Seven bits of each byte, the lowest first, and all eight of the ninth. The lowest bit of the whole is the sign: a
/// count is twice itself, and a row of n zeros 2n - 1.
fn variable_length(bytes: &mut &[u8]) -> Result<u64, &'static str> {
    let mut value = 0;
    for place in 0..9 {
        let (byte, rest) = bytes.split_first().ok_or("it is truncated")?;
        *bytes = rest;
        let is_last = place == 8;
        let bits = if is_last { *byte } else { byte & 0x7f };
        value |= u64::from(bits) << (7 * place);
        if is_last || byte & 0x80 == 0 {
            break;
        }
    }
    Ok(value)
}

/// Which times share a counter.
struct Buckets {
    /// The binary logarithm of the smallest width of a bucket.
    unit: u32,
    /// The binary logarithm of the number of counters for each doubling.
    per_doubling: u32,
}

impl Buckets {
    fn of(lowest: u64, digits: u32) -> Self {
        let resolved = 2 * 10_u32.pow(digits);
        Self { unit: lowest.ilog2(), per_doubling: resolved.next_power_of_two().ilog2() - 1 }
    }

    /// The time in the middle of a counter's bucket; `None` beyond all times.
    fn middle_of(&self, index: u64) -> Option<u64> {
        let doublings = (index >> self.per_doubling).saturating_sub(1);
        let within = index - (doublings << self.per_doubling);
        let shift = u32::try_from(doublings).ok()?.checked_add(self.unit)?;
        let lowest = u128::from(within).checked_shl(shift).filter(|_| shift < u64::BITS)?;
        u64::try_from(lowest + (1 << shift >> 1)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::{Serializer, V2DeflateSerializer, V2Serializer};
    use proptest::prelude::*;

    /// A header with these fields, and counters behind it.
    fn plain(length: u32, offset: u32, digits: u32, lowest: u64, counters: &[u8]) -> String {
        let mut bytes = Vec::new();
        for field in [COOKIE, length, offset, digits] {
            bytes.extend(field.to_be_bytes());
        }
        for field in [lowest, u64::MAX >> 1, 1.0_f64.to_bits()] {
            bytes.extend(field.to_be_bytes());
        }
        bytes.extend(counters);
        BASE64.encode(bytes)
    }

    #[test]
    fn a_length_that_the_bytes_do_not_have_is_not_believed() {
        assert_eq!(counts(&plain(u32::MAX, 0, 3, 1, &[2])), Err("it is truncated"));
        assert_eq!(counts(&plain(1, 0, 3, 1, &[2])), Ok(vec![(0, 1)]));
    }

    #[test]
    fn rows_of_zeros_beyond_all_times_are_refused() {
        let longest = [0xff; 9];
        assert_eq!(
            counts(&plain(18, 0, 3, 1, &[longest, longest].concat())),
            Err("it has more counters than times")
        );
        assert_eq!(
            counts(&plain(10, 0, 3, 1, &[&longest[..], &[2]].concat())),
            Err("it has more counters than times")
        );
        assert_eq!(counts(&plain(2, 0, 3, u64::MAX, &[0, 2])), Ok(vec![(3 << 62, 1)]));
        assert_eq!(counts(&plain(3, 0, 3, u64::MAX, &[0, 0, 2])), Err("it has more counters than times"));
    }

    #[test]
    fn what_inflates_to_more_than_any_histogram_is_refused() {
        use std::io::Write;
        let mut deflate = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        deflate.write_all(&vec![0; 64 << 20]).unwrap();
        let bomb = deflate.finish().unwrap();
        let bytes = [&COMPRESSED_COOKIE.to_be_bytes()[..], &[0; 4], &bomb].concat();
        assert_eq!(counts(&BASE64.encode(bytes)), Err("it is larger than a histogram of times"));
    }

    #[test]
    fn shifted_counters_and_impossible_precisions_are_refused() {
        assert!(counts(&plain(0, 1, 3, 1, &[])).is_err());
        assert!(counts(&plain(0, 0, 6, 1, &[])).is_err());
        assert!(counts(&plain(0, 0, 3, 0, &[])).is_err());
    }

    proptest! {
        #[test]
        fn counts_are_those_that_another_implementation_reads(
            times in prop::collection::vec((0_u64..1 << 40, 1_u64..1_000_000), 0..200),
            digits in 0_u8..=3, lowest in 1_u64..5_000,
        ) {
            let mut histogram = Histogram::<u64>::new_with_bounds(lowest, 1 << 41, digits).unwrap();
            for (time, count) in times {
                histogram.record_n(time, count).unwrap();
            }
            let expected: Vec<(u64, u64)> = histogram.iter_recorded()
                .map(|step| (histogram.median_equivalent(step.value_iterated_to()), step.count_at_value()))
                .collect();
            let (mut compressed, mut simple) = (Vec::new(), Vec::new());
            V2DeflateSerializer::new().serialize(&histogram, &mut compressed).unwrap();
            V2Serializer::new().serialize(&histogram, &mut simple).unwrap();
            prop_assert_eq!(counts(&BASE64.encode(compressed)).unwrap(), expected.clone());
            prop_assert_eq!(counts(&BASE64.encode(simple)).unwrap(), expected);
        }

        #[test]
        fn whatever_the_bytes_are_reading_them_ends(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = counts(&BASE64.encode([&COOKIE.to_be_bytes()[..], &bytes].concat()));
            let _ = counts(&plain(u32::try_from(bytes.len()).unwrap(), 0, 3, 1, &bytes));
        }
    }
}
