//! Whether a text is UTF-8, part by part.

use std::str;

/// The longest character.
const CHARACTER_BYTES_MAX: usize = 4;

/// What has come of a text so far is UTF-8, but for the beginning of a character at its end.
#[derive(Debug, Clone, Copy, Default)]
pub struct Text {
    begun: [u8; CHARACTER_BYTES_MAX],
    have: usize,
}

impl Text {
    /// Reads on; false where no text of UTF-8 continues like this.
    #[inline]
    pub fn read(&mut self, mut bytes: &[u8]) -> bool {
        while self.have > 0 && !bytes.is_empty() {
            self.begun[self.have] = bytes[0];
            self.have += 1;
            bytes = &bytes[1..];
            match left_over(&self.begun[..self.have]) {
                Some([]) => self.have = 0,
                Some(_) => {}
                None => return false,
            }
        }
        let Some(rest) = left_over(bytes) else { return false };
        if !rest.is_empty() {
            self.begun[..rest.len()].copy_from_slice(rest);
            self.have = rest.len();
        }
        true
    }

    /// Whether the text can end here.
    #[must_use]
    pub fn is_whole(self) -> bool {
        self.have == 0
    }
}

/// The beginning of a character at the end of what else is UTF-8; none where something is not.
#[inline]
fn left_over(bytes: &[u8]) -> Option<&[u8]> {
    match str::from_utf8(bytes) {
        Ok(_) => Some(&[]),
        Err(error) if error.error_len().is_none() => Some(&bytes[error.valid_up_to()..]),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::str;

    use super::Text;

    fn is_text<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> bool {
        let mut text = Text::default();
        parts.into_iter().all(|part| text.read(part)) && text.is_whole()
    }

    #[test]
    fn a_text_in_any_two_parts_or_byte_by_byte_is_what_it_is_as_a_whole() {
        for bytes in [
            "κόσμε, 水 and 🦀, ÿ".as_bytes(),
            b"\xce\xba\xe1\xbd\xb9\xf0\x9f\xa6",
            b"a\xff",
            b"\xed\xa0\x80edited",
            b"\xf4\x90\x80\x80",
            b"\xc0\x80",
            b"\xe2\x28\xa1",
            b"",
        ] {
            let expected = str::from_utf8(bytes).is_ok();
            for cut in 0..=bytes.len() {
                assert_eq!(is_text([&bytes[..cut], &bytes[cut..]]), expected, "{bytes:x?} cut at {cut}");
            }
            assert_eq!(is_text(bytes.chunks(1)), expected, "{bytes:x?}");
        }
    }
}
