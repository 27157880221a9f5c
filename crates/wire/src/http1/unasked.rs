//! What a peer sends while no request is under way.
//!
//! It is never an answer (RFC 9112 §9.2). Servers say in this way that they end an idle connection: Apache, cheroot and
//! others with the status 408 and `Connection: close`.

use crate::error::Malformed;
use crate::request::RequestKind;
use crate::response::ResponseParser;

/// With this status a server says that it ends the connection, even where it does not say so in words (RFC 9110 §15.5.9).
pub(super) const REQUEST_TIMEOUT: u16 = 408;

/// Whether an answer begins so by which a server says that it has waited for a request in vain.
pub(super) fn says_timeout(bytes: &[u8]) -> bool {
    bytes.starts_with(b"HTTP/1.1 408") || bytes.starts_with(b"HTTP/1.0 408")
}

/// How many bytes are line ends, which may be between two answers.
#[inline]
pub(super) fn line_ends(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count()
}

/// Reads bytes of an answer by which the peer ends the connection; gives its status when it is complete.
///
/// # Errors
/// They are no answer, or one after which the connection would persist.
pub(super) fn read(parser: &mut ResponseParser, bytes: &[u8]) -> Result<Option<u16>, Malformed> {
    let progress = parser.feed(bytes, RequestKind::Other).map_err(|_| Malformed::Unasked)?;
    let is_complete = progress.response.is_some();
    let Some(response) = progress.response.or_else(|| parser.begun()) else { return Ok(None) };
    if response.keep_alive && response.status != REQUEST_TIMEOUT {
        return Err(Malformed::Unasked);
    }
    Ok(is_complete.then_some(response.status))
}

/// Looks at what follows the answer to the last request, in the same bytes.
///
/// # Errors
/// As [`read`]: it is not the answer alone, so the answer cannot be trusted either.
#[cold]
pub(super) fn check_behind_answer(bytes: &[u8]) -> Result<(), Malformed> {
    let bytes = &bytes[line_ends(bytes)..];
    read(&mut ResponseParser::default(), bytes).map(|_| ())
}
