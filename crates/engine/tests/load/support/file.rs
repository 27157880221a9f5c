//! Files for one test.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A file that is gone at the end.
pub(crate) struct TemporaryFile(PathBuf);

impl TemporaryFile {
    /// A new file that holds this.
    pub(crate) fn holding(bytes: &[u8]) -> Self {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("loadcurve-test-{}-{number}", std::process::id()));
        fs::write(&path, bytes).unwrap();
        Self(path)
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Cuts the file off, or makes it longer with zeros.
    pub(crate) fn set_length(&self, length: u64) {
        OpenOptions::new().write(true).open(&self.0).unwrap().set_len(length).unwrap();
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
