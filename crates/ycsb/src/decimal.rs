//! Decimal digits, two at a time: half as many divisions, which take most of the time.

/// The two digits of each number below 100.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[b'0'; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number as usize] = [b'0' + number / 10, b'0' + number % 10];
        number += 1;
    }
    pairs
};

/// Hands the digits of a number to `prepend` from the last ones to the first: in pairs, and the first alone where their
/// count is odd.
#[inline]
pub(crate) fn digits_from_the_last(number: u64, mut prepend: impl FnMut(&[u8])) {
    let mut rest = number;
    while rest >= 10 {
        prepend(&PAIRS[(rest % 100) as usize]);
        rest /= 100;
    }
    if rest > 0 || number == 0 {
        prepend(&[b'0' + (rest % 10) as u8]);
    }
}
