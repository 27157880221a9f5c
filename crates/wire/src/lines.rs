//! Lines from any split of the bytes: in place where a line lies in one slice, stashed only where it does not.

use memchr::memchr;

use crate::bytes::is_whitespace;
use crate::error::{Malformed, Section};

/// Finds the lines of one section after another.
#[derive(Debug, Clone)]
pub(crate) struct LineReader {
    limit_bytes: usize,
    /// Length of the complete lines of the section under way.
    section_bytes: usize,
    /// The line under way, as far as earlier slices brought it. Its memory is reused.
    partial: Vec<u8>,
}

impl LineReader {
    pub(crate) const fn new(limit_bytes: usize) -> Self {
        Self { limit_bytes, section_bytes: 0, partial: Vec::new() }
    }

    /// Bytes of the section under way that were consumed, the incomplete line included.
    pub(crate) fn received_bytes(&self) -> usize {
        self.section_bytes + self.partial.len()
    }

    /// The line under way, as far as earlier slices brought it.
    pub(crate) fn partial(&self) -> &[u8] {
        &self.partial
    }

    /// Ends the section under way and gives its length.
    pub(crate) const fn end_section(&mut self) -> usize {
        std::mem::replace(&mut self.section_bytes, 0)
    }

    pub(crate) fn reset(&mut self) {
        self.section_bytes = 0;
        self.partial.clear();
    }

    /// Interprets the line, line end included, that ends in `bytes`; gives the bytes consumed of this slice and what
    /// was understood. `None` means that every byte was consumed and the line continues.
    ///
    /// In a section of fields a folded line (RFC 9112 §5.2) is one line, so the first byte of the next line must be
    /// seen before this one is known to have ended.
    #[inline]
    pub(crate) fn read<T>(
        &mut self,
        bytes: &[u8],
        section: Section,
        interpret: impl FnOnce(&[u8]) -> Result<T, Malformed>,
    ) -> Result<Option<(usize, T)>, Malformed> {
        let Some(end) = line_end(&self.partial, bytes, section) else {
            self.check_limit(bytes.len(), section)?;
            self.partial.extend_from_slice(bytes);
            return Ok(None);
        };
        self.check_limit(end, section)?;
        self.section_bytes += self.partial.len() + end;
        let line = &bytes[..end];
        if self.partial.is_empty() {
            return Ok(Some((end, interpret(line)?)));
        }
        self.partial.extend_from_slice(line);
        let understood = interpret(&self.partial)?;
        self.partial.clear();
        Ok(Some((end, understood)))
    }

    /// Consumes a line that the caller found, unless a line is under way already or the limit forbids it.
    #[inline]
    pub(crate) fn accept(&mut self, line_bytes: usize) -> bool {
        let section_bytes = self.section_bytes + line_bytes;
        let is_accepted = self.partial.is_empty() && section_bytes <= self.limit_bytes;
        if is_accepted {
            self.section_bytes = section_bytes;
        }
        is_accepted
    }

    fn check_limit(&self, more_bytes: usize, section: Section) -> Result<(), Malformed> {
        if self.received_bytes() + more_bytes > self.limit_bytes {
            return Err(Malformed::TooLarge { section, limit_bytes: self.limit_bytes });
        }
        Ok(())
    }
}

/// Where in `bytes` the line ends that begins with `partial`. Only `bytes` are searched, never `partial` again.
#[inline]
fn line_end(partial: &[u8], bytes: &[u8], section: Section) -> Option<usize> {
    let folds = !matches!(section, Section::ChunkSizeLine);
    if partial.last() == Some(&b'\n') && !is_whitespace(*bytes.first()?) {
        return Some(0);
    }
    let mut searched = 0;
    loop {
        let end = searched + memchr(b'\n', &bytes[searched..])? + 1;
        if !folds || is_blank(partial, &bytes[..end]) || !is_whitespace(*bytes.get(end)?) {
            return Some(end);
        }
        searched = end;
    }
}

#[inline]
fn is_blank(partial: &[u8], line: &[u8]) -> bool {
    matches!((partial, line), ([], b"\n" | b"\r\n") | (b"\r", b"\n"))
}
