//! Files of the kernel that stay open and are read again and again, always from their start.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Room for most of these files.
const FIRST_BYTES: usize = 16 * 1024;
/// A file of the kernel that is larger than this is not one that is read here.
const MOST_BYTES: usize = 64 * 1024 * 1024;

/// The place that files are read into, one after the other.
pub(crate) struct Buffer(Vec<u8>);

impl Buffer {
    /// A place with room for most files; it grows for a larger one.
    pub(crate) fn new() -> Self {
        Self(vec![0; FIRST_BYTES])
    }

    /// The whole of a file that the kernel writes in one go: one system call.
    ///
    /// # Errors
    /// The kernel's, such as the one for a process that is no more.
    pub(crate) fn read(&mut self, file: &File) -> io::Result<&[u8]> {
        loop {
            let count = file.read_at(&mut self.0, 0)?;
            if count < self.0.len() || self.0.len() >= MOST_BYTES {
                return Ok(&self.0[..count]);
            }
            self.0.resize(2 * count, 0);
        }
    }

    /// The whole of a file that the kernel writes in several goes.
    ///
    /// # Errors
    /// As above.
    pub(crate) fn read_in_goes(&mut self, file: &File) -> io::Result<&[u8]> {
        let mut length = 0;
        loop {
            let count = file.read_at(&mut self.0[length..], length as u64)?;
            length += count;
            if count == 0 || self.0.len() >= MOST_BYTES {
                return Ok(&self.0[..length]);
            }
            if length == self.0.len() {
                self.0.resize(2 * length, 0);
            }
        }
    }

    /// The whole of a file that the kernel writes in one go and that is not kept open.
    ///
    /// # Errors
    /// As above, and those of opening.
    pub(crate) fn read_path(&mut self, path: impl AsRef<Path>) -> io::Result<&[u8]> {
        self.read(&File::open(path)?)
    }
}

/// A file that may be missing on this kernel, and is then read as nothing.
pub(crate) struct Optional(Option<File>);

impl Optional {
    /// Opens the file where it is there and may be read.
    pub(crate) fn open(path: impl AsRef<Path>) -> Self {
        Self(File::open(path).ok())
    }

    /// What `parse` finds in the file; `None` if it is missing or cannot be read.
    pub(crate) fn read<T>(&self, buffer: &mut Buffer, parse: impl FnOnce(&[u8]) -> Option<T>) -> Option<T> {
        parse(buffer.read(self.0.as_ref()?).ok()?)
    }
}
