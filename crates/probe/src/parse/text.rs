//! What all of these files are made of: lines, fields and whole numbers.

use memchr::memchr;

/// The whole number that these digits write; none for anything else, and for one too large.
pub(crate) fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |value, digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })
}

/// The whole number that these hexadecimal digits write.
pub(crate) fn hexadecimal(digits: &[u8]) -> Option<u64> {
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// The parts between blanks.
pub(crate) fn fields(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty())
}

/// The lines without their ends, the last one with or without.
pub(crate) fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let (line, behind) = split_at(rest, b'\n').unwrap_or((rest, &[]));
        let some_are_left = !rest.is_empty();
        rest = behind;
        some_are_left.then_some(line)
    })
}

/// What follows `key` on the line that begins with it.
pub(crate) fn after<'a>(bytes: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    lines(bytes).find_map(|line| line.strip_prefix(key))
}

/// The number behind `key` in a file of lines such as `key 12` or `Key:   12 kB`.
pub(crate) fn number_after(bytes: &[u8], key: &[u8]) -> Option<u64> {
    number(fields(after(bytes, key)?).next()?)
}

/// The part before the first `separator` and the part behind it.
pub(crate) fn split_at(bytes: &[u8], separator: u8) -> Option<(&[u8], &[u8])> {
    let place = memchr(separator, bytes)?;
    Some((&bytes[..place], &bytes[place + 1..]))
}
