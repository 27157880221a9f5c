//! Opening the files that a person has named.

use std::fs::{self, File};
use std::io::{Error, ErrorKind};
use std::path::Path;

/// Opens a file that is to be read more than once, and gives its length; `expected` says in the errors what should have
/// been there.
///
/// # Errors
/// The file cannot be opened, or is a folder, a pipe or a device; the text names it.
pub(crate) fn open_regular(path: &Path, expected: &str) -> Result<(File, u64), String> {
    let name = path.display();
    let unreadable = |error: Error| match error.kind() {
        ErrorKind::NotFound => format!("{name}: there is no such file"),
        _ => format!("{name}: cannot be read: {error}"),
    };
    // A pipe would be waited for if it were opened before it is looked at.
    let metadata = fs::metadata(path).map_err(unreadable)?;
    if metadata.is_dir() {
        return Err(format!("{name}: this is a folder; expected {expected}"));
    }
    if !metadata.is_file() {
        return Err(format!(
            "{name}: this is a pipe or a device; expected {expected}, because it is read repeatedly"
        ));
    }
    let file = File::open(path).map_err(unreadable)?;
    let length = file.metadata().map_err(unreadable)?.len();
    Ok((file, length))
}
