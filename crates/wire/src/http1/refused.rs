//! What a peer has sent that cannot be read, for the person who looks for the reason.

use crate::error::Malformed;
use crate::request::RequestKind;
use crate::response::ResponseParser;

/// How much of it is shown.
const SHOWN_BYTES: usize = 60;

/// Why bytes were refused, and an example of them.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) malformed: Malformed,
    /// The line at fault, or the first one of what is no answer, with its odd bytes escaped; none where it is not known.
    pub(super) example: Option<String>,
}

impl Refused {
    /// What `parser` has refused; `whole` is all of it, where the answer has begun in these bytes.
    pub(super) fn new(malformed: Malformed, parser: &ResponseParser, whole: Option<&[u8]>) -> Self {
        let line = match (malformed, whole) {
            (Malformed::TooLarge { .. }, _) => Vec::new(),
            (
                Malformed::NotHttp1
                | Malformed::Http2InsteadOfHttp1
                | Malformed::TlsInsteadOfHttp1
                | Malformed::Unasked,
                Some(bytes),
            ) => bytes.to_vec(),
            (_, Some(bytes)) => line_at_fault(bytes),
            (_, None) => parser.partial().to_vec(),
        };
        Self { malformed, example: shown(&line) }
    }
}

/// The line at which these bytes are refused: read one by one, it is the one under way.
fn line_at_fault(bytes: &[u8]) -> Vec<u8> {
    let mut parser = ResponseParser::default();
    let is_refused = |byte: &u8| parser.feed(&[*byte], RequestKind::Other).is_err();
    let fault = bytes.iter().position(is_refused);
    fault.map_or_else(Vec::new, |_| parser.partial().to_vec())
}

/// The first line of these bytes, or its start; none where it is empty.
fn shown(bytes: &[u8]) -> Option<String> {
    let line = bytes.split(|byte| *byte == b'\n').next()?;
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let begin = &line[..line.len().min(SHOWN_BYTES)];
    let dots = if begin.len() < line.len() { "…" } else { "" };
    (!line.is_empty()).then(|| format!("{}{dots}", begin.escape_ascii()))
}
