//! A folder to serve, with what must not be served beside it.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, mknodat};

/// The content of the file beside the folder.
pub(crate) const SECRET: &str = "outside of the folder";
/// The files of the folder; a large one is there as well.
pub(crate) const FILES: [(&str, &str); 6] = [
    ("a.txt", "abc"),
    ("deep/b c.txt", "a space in the name"),
    ("deep/index.html", "<p>deep</p>"),
    ("empty.txt", ""),
    ("index.html", "<p>index</p>"),
    ("picture.PNG", "no picture"),
];
/// A file that no socket takes at once.
pub(crate) const LARGE: &str = "large.bin";
const LARGE_BYTES: usize = 1 << 20;

/// The folder `site` in a separate folder; all is removed in the end.
pub(crate) struct Folder {
    around: PathBuf,
}

impl Folder {
    /// Makes the folder anew.
    pub(crate) fn at(around: PathBuf) -> io::Result<Self> {
        let _ = fs::remove_dir_all(&around);
        let root = around.join("site");
        fs::create_dir_all(root.join("deep"))?;
        let secret = around.join("secret.txt");
        fs::write(&secret, SECRET)?;
        for (name, text) in FILES {
            fs::write(root.join(name), text)?;
        }
        fs::write(root.join(LARGE), large())?;
        symlink("a.txt", root.join("link-inside"))?;
        symlink("../a.txt", root.join("deep/link-upwards"))?;
        symlink("../secret.txt", root.join("link-outside"))?;
        symlink(&secret, root.join("link-absolute"))?;
        symlink("..", root.join("link-to-outer-folder"))?;
        symlink("link-to-itself", root.join("link-to-itself"))?;
        mknodat(CWD, root.join("pipe"), FileType::Fifo, Mode::RUSR, 0)?;
        Ok(Self { around })
    }

    /// The folder that is served.
    pub(crate) fn root(&self) -> PathBuf {
        self.around.join("site")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.around);
    }
}

/// The bytes of the large file: no stretch of them is the same as the one before.
pub(crate) fn large() -> Vec<u8> {
    (0..LARGE_BYTES / 4).flat_map(|word| u32::try_from(word).unwrap_or_default().to_le_bytes()).collect()
}

/// The bytes of a file of the folder.
pub(crate) fn bytes_of(name: &str) -> Vec<u8> {
    let known = FILES.iter().find(|(file, _)| *file == name);
    known.map_or_else(large, |(_, text)| text.as_bytes().to_vec())
}

/// A place for a folder that no other test uses.
pub(crate) fn unused_place(parent: &Path) -> PathBuf {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static USED: AtomicUsize = AtomicUsize::new(0);
    parent.join(format!("{}-{}", std::process::id(), USED.fetch_add(1, Ordering::Relaxed)))
}
