//! The header block of one response, line by line.

use crate::bytes::{is_text, is_whitespace, text_prefix, token_prefix};
use crate::error::Malformed;
use crate::framing::{FramingFields, TransferEncoding, redirects};
use crate::lines::LineReader;
use crate::request::RequestKind;

pub(crate) const PROTOCOL: &[u8] = b"HTTP/1.";

/// What is known of a header block so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Head {
    status_line: Option<StatusLine>,
    fields: FramingFields,
}

#[derive(Debug, Clone, Copy)]
struct StatusLine {
    status: u16,
    minor_version: u8,
}

/// A complete header block, reduced to what the rest of the response depends on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outline {
    pub(crate) status: u16,
    pub(crate) body: BodyFraming,
    pub(crate) keep_alive: bool,
}

/// Where the body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyFraming {
    Length(u64),
    Chunked,
    UntilClose,
}

impl Head {
    /// Makes ready for the next header block.
    #[inline]
    pub(crate) fn reset(&mut self) {
        self.status_line = None;
        self.fields.next();
    }

    /// The first Location of all header blocks of redirections.
    pub(crate) fn first_location(&self) -> Option<&[u8]> {
        self.fields.first_location.as_deref()
    }

    /// Refuses another protocol at its first wrong byte, because its first line may never end. `partial` is what
    /// earlier calls accepted of the line, and `bytes` go on from there.
    #[inline]
    pub(crate) fn check_protocol(&self, partial: &[u8], bytes: &[u8]) -> Result<(), Malformed> {
        if self.status_line.is_none() {
            let expected = &PROTOCOL[partial.len().min(PROTOCOL.len())..];
            let compared = expected.len().min(bytes.len());
            if bytes[..compared] != expected[..compared] {
                return Err(Malformed::instead_of_http1(*partial.first().unwrap_or(&bytes[0])));
            }
        }
        Ok(())
    }

    /// Takes the plain field lines that `bytes` begin with and gives their length. This is the fast path: whatever is
    /// not plain is left to [`line`](Self::line), which takes every line.
    #[inline]
    pub(crate) fn plain_fields(&mut self, bytes: &[u8], lines: &mut LineReader) -> Result<usize, Malformed> {
        let mut consumed = 0;
        if self.status_line.is_some() {
            while let Some(field) = PlainField::find(&bytes[consumed..]) {
                if !lines.accept(field.line_bytes) {
                    break;
                }
                self.fields.field(field.name, field.value)?;
                consumed += field.line_bytes;
            }
        }
        Ok(consumed)
    }

    /// Takes one line, line end included. The blank line gives the outline and makes ready for the next header block.
    #[inline]
    pub(crate) fn line(&mut self, line: &[u8], request: RequestKind) -> Result<Option<Outline>, Malformed> {
        let line = without_line_end(line);
        let Some(status_line) = self.status_line else {
            let status_line = parse_status_line(line)?;
            self.fields.takes_location =
                redirects(status_line.status) && self.fields.first_location.is_none();
            self.status_line = Some(status_line);
            return Ok(None);
        };
        if line.is_empty() {
            let outline = outline(status_line, &self.fields, request);
            self.reset();
            return Ok(Some(outline));
        }
        parse_field(line, |name, value| self.fields.field(name, value))?;
        Ok(None)
    }
}

/// A valid field line that lies in one slice, ends in CRLF and is not folded.
struct PlainField<'a> {
    name: &'a [u8],
    value: &'a [u8],
    line_bytes: usize,
}

impl<'a> PlainField<'a> {
    /// Finds one at the start of `bytes`. The first byte of the next line must be there, to rule out a folded value.
    #[inline]
    fn find(bytes: &'a [u8]) -> Option<Self> {
        let (name, rest) = split_name(bytes)?;
        let (value, rest) = rest.split_at(text_prefix(rest));
        match *rest {
            [b'\r', b'\n', next, ..] if !is_whitespace(next) => {
                Some(Self { name, value, line_bytes: name.len() + value.len() + ":\r\n".len() })
            }
            _ => None,
        }
    }
}

/// Checks one trailer line, line end included, and says whether it is the blank line that ends the section. A trailer
/// field cannot change the framing (RFC 9110 §6.5.1), so nothing is interpreted.
pub(crate) fn is_end_of_trailers(line: &[u8]) -> Result<bool, Malformed> {
    let line = without_line_end(line);
    if !line.is_empty() {
        parse_field(line, |_, _| Ok(()))?;
    }
    Ok(line.is_empty())
}

/// A single LF is a line end too (RFC 9112 §2.2).
#[inline]
pub(crate) fn without_line_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The reason phrase may be missing, and with it the space before it, as RFC 9112 §4 lets recipients be lenient. A
/// minor version above 1 is read as 1.1 (RFC 9110 §2.5).
#[inline]
fn parse_status_line(line: &[u8]) -> Result<StatusLine, Malformed> {
    let line = line.strip_prefix(PROTOCOL).ok_or(Malformed::NotHttp1)?;
    let [minor @ b'0'..=b'9', b' ', a @ b'0'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9', rest @ ..] = line
    else {
        return Err(Malformed::StatusLine);
    };
    if !matches!(rest, [] | [b' ', ..]) {
        return Err(Malformed::StatusLine);
    }
    if !is_text(rest) {
        let is_folded = rest.contains(&b'\n');
        return Err(if is_folded { Malformed::WhitespaceBeforeFirstField } else { Malformed::ReasonPhrase });
    }
    let status = u16::from(a - b'0') * 100 + u16::from(b - b'0') * 10 + u16::from(c - b'0');
    match status {
        101 => Err(Malformed::UnexpectedUpgrade),
        100..=599 => Ok(StatusLine { status, minor_version: minor - b'0' }),
        _ => Err(Malformed::StatusCode { status }),
    }
}

/// Splits one field line, which may be folded, and hands its name and value on.
#[inline]
pub(crate) fn parse_field(
    line: &[u8],
    mut interpret: impl FnMut(&[u8], &[u8]) -> Result<(), Malformed>,
) -> Result<(), Malformed> {
    let (name, value) = split_name(line).ok_or(Malformed::FieldName)?;
    if is_text(value) {
        return interpret(name, value);
    }
    let unfolded = unfold(value);
    if !is_text(&unfolded) {
        return Err(Malformed::FieldValue);
    }
    interpret(name, &unfolded)
}

/// A field name, and what follows the colon directly after it.
#[inline]
fn split_name(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (name, rest) = bytes.split_at(token_prefix(bytes));
    let rest = rest.strip_prefix(b":")?;
    (!name.is_empty()).then_some((name, rest))
}

/// Replaces every line end of a folded value by spaces, as RFC 9112 §5.2 tells a user agent to do.
#[cold]
fn unfold(value: &[u8]) -> Vec<u8> {
    let mut unfolded = value.to_vec();
    for index in 0..value.len() {
        let is_line_end = value[index..].starts_with(b"\n") || value[index..].starts_with(b"\r\n");
        if is_line_end {
            unfolded[index] = b' ';
        }
    }
    unfolded
}

/// Decides by RFC 9112 §6.3 where the body ends and by §9.3 whether the connection is kept.
fn outline(status_line: StatusLine, fields: &FramingFields, request: RequestKind) -> Outline {
    let StatusLine { status, minor_version } = status_line;
    let has_no_body = request.is_head() || matches!(status, 100..=199 | 204 | 304);
    let body = match (has_no_body, fields.transfer_encoding, fields.content_length) {
        (true, _, _) => BodyFraming::Length(0),
        (false, TransferEncoding::Chunked, _) => BodyFraming::Chunked,
        (false, TransferEncoding::Absent, Some(length)) => BodyFraming::Length(length),
        (false, TransferEncoding::Absent, None)
        | (false, TransferEncoding::Other | TransferEncoding::ChunkedNotFinal, _) => BodyFraming::UntilClose,
    };
    // Transfer-Encoding beside Content-Length, or in HTTP/1.0, is faulty framing: the connection is closed after it
    // (RFC 9112 §6.1).
    let is_faulty = fields.transfer_encoding != TransferEncoding::Absent
        && (fields.content_length.is_some() || minor_version == 0);
    let persists = !fields.close && ((minor_version >= 1 && request.persists()) || fields.keep_alive);
    Outline { status, body, keep_alive: persists && !is_faulty && body != BodyFraming::UntilClose }
}
