//! Bodies that are read from a file while they are sent, so that a long one is held nowhere.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use loadcurve_record::Failure;

use crate::requests::file::open_regular;

/// The length in bytes of a file that is to be the body of requests.
///
/// # Errors
/// The file cannot be one: it cannot be read, or has no fixed length. The text names it.
pub fn body_length(path: &Path) -> Result<u64, String> {
    BodyFile::open(path).map(|body| body.length())
}

/// The body of a request in a file that stays open: it is what the file held when the load started, as far as nobody
/// writes into it.
pub(crate) struct BodyFile {
    file: File,
    length: u64,
}

impl BodyFile {
    /// Opens the file of a body.
    ///
    /// # Errors
    /// The file cannot be read, or is none whose length is known; the text names it.
    pub(crate) fn open(path: &Path) -> Result<Self, String> {
        let (file, length) = open_regular(path, "a file with the body of the requests")?;
        Ok(Self { file, length })
    }

    /// All of it.
    ///
    /// # Errors
    /// It cannot be read any more.
    pub(crate) fn whole(&self) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        self.append(0, usize::MAX, &mut bytes)
            .map_err(|_| "the file with the body of the requests was cut off".to_owned())?;
        Ok(bytes)
    }

    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Appends to `to` what follows `offset`, `most` bytes or up to the end of the body; says how many they are.
    ///
    /// # Errors
    /// The file is shorter than it was, or cannot be read any more.
    pub(crate) fn append(&self, offset: u64, most: usize, to: &mut Vec<u8>) -> Result<usize, Failure> {
        let rest = usize::try_from(self.length - offset).unwrap_or(usize::MAX);
        let start = to.len();
        to.resize(start + most.min(rest), 0);
        self.file.read_exact_at(&mut to[start..], offset).map_err(|_| Failure::FileUnavailable)?;
        Ok(to.len() - start)
    }
}

#[cfg(test)]
mod tests {
    use super::BodyFile;
    use crate::temporary_file::TemporaryFile;
    use loadcurve_record::Failure;

    #[test]
    fn the_parts_of_a_body_are_those_of_the_file_and_no_more() {
        let file = TemporaryFile::holding(b"0123456789");
        let body = BodyFile::open(file.path()).unwrap();
        let mut parts = b"head".to_vec();
        assert_eq!(body.append(0, 0, &mut parts), Ok(0));
        assert_eq!(body.append(0, 4, &mut parts), Ok(4));
        // The file grows after it was opened: what comes later is no part of the body.
        file.set_length(100);
        assert_eq!(body.append(4, 100, &mut parts), Ok(6));
        assert_eq!(parts, b"head0123456789");
        file.set_length(9);
        assert_eq!(body.append(4, 100, &mut parts), Err(Failure::FileUnavailable));
    }
}
