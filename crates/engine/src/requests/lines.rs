//! The lines of a file from any place on, through one buffer.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use loadcurve_plan::limits::LIST_LINE_BYTES_MAX;
use memchr::memchr;

/// How much is read at once where the lines are read one after the other.
const PIECE_BYTES: usize = 64 * 1024;

/// A way through the lines of a file. Lines are handed out as places in its buffer, which the next one may overwrite.
pub(crate) struct Lines {
    file: Arc<File>,
    buffer: Box<[u8]>,
    /// What of the buffer has been read and not handed out.
    unread: Range<usize>,
    /// Where in the file the unread bytes end.
    offset: u64,
    /// How much to read next.
    next_piece: usize,
}

impl Lines {
    /// The lines from the beginning of a file on.
    pub(crate) fn of(file: Arc<File>) -> Self {
        let buffer = vec![0; LIST_LINE_BYTES_MAX + PIECE_BYTES].into_boxed_slice();
        Self { file, buffer, unread: 0..0, offset: 0, next_piece: PIECE_BYTES }
    }

    /// Goes to the line that begins at `offset`; `likely` bytes will probably be wanted from there on.
    pub(crate) fn seek(&mut self, offset: u64, likely: u64) {
        self.unread = 0..0;
        self.offset = offset;
        self.next_piece = usize::try_from(likely).unwrap_or(PIECE_BYTES).clamp(1, PIECE_BYTES);
    }

    pub(crate) fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// Where in the file the next line begins.
    pub(crate) fn position(&self) -> u64 {
        self.offset - self.unread.len() as u64
    }

    /// The next line, without its end; none at the end of the file.
    ///
    /// # Errors
    /// The file cannot be read, or the line is too long (`InvalidData`).
    pub(crate) fn next(&mut self) -> io::Result<Option<Range<usize>>> {
        loop {
            if let Some(length) = memchr(b'\n', &self.buffer[self.unread.clone()]) {
                return Ok(Some(self.hand_out(length, 1)));
            }
            if self.unread.len() > LIST_LINE_BYTES_MAX {
                return Err(ErrorKind::InvalidData.into());
            }
            if self.read_on()? == 0 {
                let is_end = self.unread.is_empty();
                return Ok((!is_end).then(|| self.hand_out(self.unread.len(), 0)));
            }
        }
    }

    /// The bytes of a line that was handed out last.
    pub(crate) fn bytes(&self, line: Range<usize>) -> &[u8] {
        &self.buffer[line]
    }

    fn hand_out(&mut self, length: usize, end_length: usize) -> Range<usize> {
        let start = self.unread.start;
        self.unread.start += length + end_length;
        start..start + length
    }

    /// Reads a piece behind the unread bytes, which move to the front.
    fn read_on(&mut self) -> io::Result<usize> {
        self.buffer.copy_within(self.unread.clone(), 0);
        self.unread = 0..self.unread.len();
        let room = self.unread.end..self.buffer.len().min(self.unread.end + self.next_piece);
        let read = loop {
            match self.file.read_at(&mut self.buffer[room.clone()], self.offset) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => break result?,
            }
        };
        self.unread.end += read;
        self.offset += read as u64;
        self.next_piece = PIECE_BYTES;
        Ok(read)
    }
}
