//! The three fields that decide where a response ends and whether its connection is kept (RFC 9112 §6 and §9), and where the
//! first redirection leads.

use crate::bytes::is_token;
use crate::error::Malformed;

/// What Content-Length, Transfer-Encoding and Connection said so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct FramingFields {
    pub(crate) content_length: Option<u64>,
    pub(crate) transfer_encoding: TransferEncoding,
    /// Connection lists `close`.
    pub(crate) close: bool,
    /// Connection lists `keep-alive`.
    pub(crate) keep_alive: bool,
    /// Whether the status is that of a redirection, and there was no other one before.
    pub(crate) takes_location: bool,
    /// The first Location of all header blocks of redirections.
    pub(crate) first_location: Option<Box<[u8]>>,
}

/// The list of transfer codings, as far as it decides the framing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum TransferEncoding {
    /// There is no such field.
    #[default]
    Absent,
    /// There is one, and `chunked` is not in it.
    Other,
    /// `chunked` is the final coding.
    Chunked,
    /// `chunked` is followed by another coding.
    ChunkedNotFinal,
}

impl FramingFields {
    /// Makes ready for the next header block.
    #[inline]
    pub(crate) fn next(&mut self) {
        *self = Self { first_location: self.first_location.take(), ..Self::default() };
    }

    /// Takes one field. The name was found to be a token, and the value to be free of control characters.
    #[inline]
    pub(crate) fn field(&mut self, name: &[u8], value: &[u8]) -> Result<(), Malformed> {
        match name.len() {
            8 if self.takes_location && name.eq_ignore_ascii_case(b"location") => {
                self.takes_location = false;
                self.first_location = Some(value.trim_ascii().into());
            }
            10 if name.eq_ignore_ascii_case(b"connection") => self.connection(value),
            14 if name.eq_ignore_ascii_case(b"content-length") => self.content_length(value)?,
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => self.transfer_encoding(value)?,
            _ => {}
        }
        Ok(())
    }

    fn connection(&mut self, value: &[u8]) {
        for option in elements(value) {
            self.close |= option.eq_ignore_ascii_case(b"close");
            self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
        }
    }

    /// A list of equal values counts as one value (RFC 9110 §8.6).
    fn content_length(&mut self, value: &[u8]) -> Result<(), Malformed> {
        for element in elements(value) {
            let length = decimal(element)?;
            if self.content_length.is_some_and(|earlier| earlier != length) {
                return Err(Malformed::ContentLengthConflict);
            }
            self.content_length = Some(length);
        }
        Ok(())
    }

    /// Empty elements are ignored (RFC 9110 §5.6.1.2). A quoted comma in a parameter is refused with the rest of its
    /// element, which is no token; no registered coding has such a parameter.
    fn transfer_encoding(&mut self, value: &[u8]) -> Result<(), Malformed> {
        if self.transfer_encoding == TransferEncoding::Absent {
            self.transfer_encoding = TransferEncoding::Other;
        }
        for element in elements(value).filter(|element| !element.is_empty()) {
            let coding = element.split(|&byte| byte == b';').next().unwrap_or(element).trim_ascii();
            let is_chunked = coding.eq_ignore_ascii_case(b"chunked");
            if !is_token(coding) || (is_chunked && coding.len() != element.len()) {
                return Err(Malformed::TransferEncoding);
            }
            self.transfer_encoding = match (self.transfer_encoding, is_chunked) {
                (TransferEncoding::Absent | TransferEncoding::Other, true) => TransferEncoding::Chunked,
                (TransferEncoding::Absent | TransferEncoding::Other, false) => TransferEncoding::Other,
                (TransferEncoding::Chunked | TransferEncoding::ChunkedNotFinal, true) => {
                    return Err(Malformed::ChunkedTwice);
                }
                (TransferEncoding::Chunked | TransferEncoding::ChunkedNotFinal, false) => {
                    TransferEncoding::ChunkedNotFinal
                }
            };
        }
        Ok(())
    }
}

/// Whether an answer with this status leads elsewhere by its Location (RFC 9110 §15.4). That of one which has made something
/// (201) says where this is, and one that says that nothing has changed (304) leads nowhere.
pub(crate) const fn redirects(status: u16) -> bool {
    matches!(status, 300..=303 | 305..=399)
}

/// The elements of a comma-separated list, without the whitespace around them. In a value without control characters
/// ASCII whitespace is spaces and tabs only.
pub(crate) fn elements(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii)
}

fn decimal(digits: &[u8]) -> Result<u64, Malformed> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(Malformed::ContentLength);
    }
    digits
        .iter()
        .try_fold(0_u64, |number, digit| number.checked_mul(10)?.checked_add(u64::from(digit - b'0')))
        .ok_or(Malformed::ContentLengthOverflow)
}
