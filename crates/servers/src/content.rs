//! The files that a server answers with.

use std::fs;
use std::io;
use std::path::Path;

use loadcurve_servers::reply::Content;

/// Reads every regular file under `root`, those that a link leads to included; nothing else is waited for or followed.
pub(crate) fn read(root: &Path) -> io::Result<Content> {
    let mut content = Content::new();
    add_folder(root, "", &mut content)?;
    Ok(content)
}

fn add_folder(folder: &Path, prefix: &str, content: &mut Content) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = format!("{prefix}/{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            add_folder(&entry.path(), &path, content)?;
        } else if fs::metadata(entry.path()).is_ok_and(|found| found.is_file()) {
            content.insert(path, fs::read(entry.path())?.into());
        }
    }
    Ok(())
}
