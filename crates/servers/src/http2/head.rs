//! What the header blocks of requests say (RFC 9113 §8.2 and §8.3).

use loadcurve_wire::h2::hpack::{DEFAULT_TABLE_BYTES, Decoder, Field, HpackError};

use crate::http::Status;
use crate::reply::Reply;

use super::Service;
use super::answer::Answer;

/// A longer block is not remembered.
const LONGEST_REMEMBERED: usize = 1024;
/// Fields whose names and values have more bytes than this, once their compression is undone, are no request.
const LIST_BYTES_MAX: usize = 64 * 1024;

/// A request as far as its header tells.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) answer: Answer,
    pub(super) content_length: Option<u64>,
}

/// The header breaks the rules, which ends its stream and not the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

/// Reads the blocks of a connection. Many are equal to the one before; where that has changed no table, and nothing has
/// since, this one says the same.
#[derive(Debug)]
pub(super) struct HeadReader {
    decoder: Decoder,
    /// The request that was read last.
    pub(super) last: Head,
    last_block: Vec<u8>,
    /// The state of the table in which the last block was read, if it is to be remembered.
    last_changes: Option<u64>,
    fields: Fields,
}

impl Default for HeadReader {
    fn default() -> Self {
        Self {
            decoder: Decoder::new(DEFAULT_TABLE_BYTES),
            last: Head { answer: Answer::new(Reply::plain(Status::BadRequest)), content_length: None },
            last_block: Vec::new(),
            last_changes: None,
            fields: Fields::default(),
        }
    }
}

impl HeadReader {
    /// Makes [`Self::last`] the request of a complete block.
    #[inline]
    pub(super) fn read(
        &mut self,
        block: &[u8],
        service: &mut impl Service,
    ) -> Result<Result<(), Malformed>, HpackError> {
        let changes = self.decoder.changes();
        if self.last_changes == Some(changes) && self.last_block == block {
            return Ok(Ok(()));
        }
        self.last_changes = None;
        self.decode(block)?;
        if !self.fields.are_a_request() {
            return Ok(Err(Malformed));
        }
        let Fields { method, path, content_length, .. } = &self.fields;
        self.last =
            Head { answer: Answer::new(service.reply(method, path)), content_length: *content_length };
        if self.decoder.changes() == changes && block.len() <= LONGEST_REMEMBERED {
            self.last_block.clear();
            self.last_block.extend_from_slice(block);
            self.last_changes = Some(changes);
        }
        Ok(Ok(()))
    }

    /// Reads what follows a body.
    pub(super) fn read_trailers(&mut self, block: &[u8]) -> Result<Result<(), Malformed>, HpackError> {
        self.decode(block)?;
        let is_right = self.fields.has_pseudo == [false; 4] && !self.fields.are_malformed;
        Ok(if is_right { Ok(()) } else { Err(Malformed) })
    }

    fn decode(&mut self, block: &[u8]) -> Result<(), HpackError> {
        self.fields.clear();
        self.decoder.decode(block, |field| self.fields.take(field))
    }
}

/// The pseudo-header fields of requests, as places in [`Fields::has_pseudo`].
const METHOD: usize = 0;
const SCHEME: usize = 1;
const PATH: usize = 2;
const AUTHORITY: usize = 3;

/// The fields of one block. Memory is reused.
#[derive(Debug, Default)]
struct Fields {
    method: Vec<u8>,
    path: Vec<u8>,
    content_length: Option<u64>,
    /// Which pseudo-header fields there were.
    has_pseudo: [bool; 4],
    has_regular: bool,
    are_malformed: bool,
    list_bytes: usize,
}

impl Fields {
    fn clear(&mut self) {
        self.method.clear();
        self.path.clear();
        self.content_length = None;
        self.has_pseudo = [false; 4];
        self.has_regular = false;
        self.are_malformed = false;
        self.list_bytes = 0;
    }

    fn take(&mut self, Field { name, value }: Field<'_>) {
        self.list_bytes += name.len() + value.len();
        if self.are_malformed {
            return;
        }
        self.are_malformed = self.list_bytes > LIST_BYTES_MAX
            || match name {
                [b':', name @ ..] => !self.take_pseudo(name, value),
                _ => !self.take_regular(name, value),
            };
    }

    /// Takes a pseudo-header field; says whether it may be here.
    fn take_pseudo(&mut self, name: &[u8], value: &[u8]) -> bool {
        let place = match name {
            b"method" => METHOD,
            b"scheme" => SCHEME,
            b"path" => PATH,
            b"authority" => AUTHORITY,
            _ => return false,
        };
        match place {
            METHOD => self.method.extend_from_slice(value),
            PATH => self.path.extend_from_slice(value),
            _ => {}
        }
        !std::mem::replace(&mut self.has_pseudo[place], true) && !self.has_regular
    }

    /// Takes a field; says whether it may be in a request.
    fn take_regular(&mut self, name: &[u8], value: &[u8]) -> bool {
        self.has_regular = true;
        let is_of_name = |byte: &u8| byte.is_ascii_graphic() && !byte.is_ascii_uppercase() && *byte != b':';
        if name.is_empty() || !name.iter().all(is_of_name) {
            return false;
        }
        if value.iter().any(|byte| matches!(byte, 0 | b'\r' | b'\n')) {
            return false;
        }
        match name {
            b"connection" | b"keep-alive" | b"proxy-connection" | b"transfer-encoding" | b"upgrade" => false,
            b"te" => value == b"trailers",
            b"content-length" => {
                let length = decimal(value);
                let is_other = self.content_length.is_some_and(|earlier| Some(earlier) != length);
                self.content_length = length;
                length.is_some() && !is_other
            }
            _ => true,
        }
    }

    /// Whether this is a request: with all that belongs to one, of which a tunnel needs less.
    fn are_a_request(&self) -> bool {
        let has = self.has_pseudo;
        let has_target = match self.method.as_slice() {
            b"CONNECT" => has[AUTHORITY],
            _ => has[SCHEME] && has[PATH] && !self.path.is_empty(),
        };
        has[METHOD] && has_target && !self.are_malformed
    }
}

fn decimal(text: &[u8]) -> Option<u64> {
    let is_number = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    is_number.then(|| str::from_utf8(text).ok()?.parse().ok())?
}
