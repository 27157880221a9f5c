//! Classes of bytes in HTTP messages (RFC 9110 §5.5 and §5.6).

static TOKEN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 128_u8 {
        table[byte as usize] = byte.is_ascii_alphanumeric();
        byte += 1;
    }
    let symbols = b"!#$%&'*+-.^_`|~";
    let mut index = 0;
    while index < symbols.len() {
        table[symbols[index] as usize] = true;
        index += 1;
    }
    table
};

/// The length of the longest prefix made of token characters (`tchar`, RFC 9110 §5.6.2). It is searched in steps of
/// eight bytes, because the compiler unrolls a loop of known length.
#[inline]
pub(crate) fn token_prefix(bytes: &[u8]) -> usize {
    let is_other = |&byte: &u8| !TOKEN[usize::from(byte)];
    let mut length = 0;
    while let Some(chunk) = bytes[length..].first_chunk::<8>() {
        if let Some(index) = chunk.iter().position(is_other) {
            return length + index;
        }
        length += chunk.len();
    }
    length + bytes[length..].iter().position(is_other).unwrap_or(bytes.len() - length)
}

/// Whether this is a token: one `tchar` or more.
pub(crate) fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty() && token_prefix(bytes) == bytes.len()
}

/// The length of the longest prefix made of bytes that may be in a field value or a reason phrase: tabs, spaces,
/// visible characters and obs-text.
#[inline]
pub(crate) fn text_prefix(bytes: &[u8]) -> usize {
    let mut length = 0;
    while let Some(&word) = bytes[length..].first_chunk() {
        let forbidden = forbidden_in_text(u64::from_le_bytes(word));
        if forbidden != 0 {
            return length + (forbidden.trailing_zeros() / 8) as usize;
        }
        length += 8;
    }
    let is_forbidden = |&byte: &u8| byte.is_ascii_control() && byte != b'\t';
    length + bytes[length..].iter().position(is_forbidden).unwrap_or(bytes.len() - length)
}

/// Whether this is text: every byte may be in a field value.
#[inline]
pub(crate) fn is_text(bytes: &[u8]) -> bool {
    text_prefix(bytes) == bytes.len()
}

/// The high bit of every byte of the word that is a control character other than a tab. No sum carries into the next
/// byte, because its addends are at most 0x7f and 0x7f.
#[inline]
const fn forbidden_in_text(word: u64) -> u64 {
    const EACH: u64 = u64::from_le_bytes([1; 8]);
    let low = word & (0x7f * EACH);
    let above_controls = low + 0x60 * EACH;
    let other_than_tab = (low ^ (0x09 * EACH)) + 0x7f * EACH;
    let delete = low + EACH;
    ((!above_controls & other_than_tab) | delete) & !word & (0x80 * EACH)
}

/// Whether this byte is optional whitespace (`OWS`): a space or a tab.
pub(crate) const fn is_whitespace(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}
