//! What every fuzz target needs: to be run by the fuzzer, or by hand on files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

#[cfg(fuzzing)]
pub use libfuzzer_sys;

/// Makes a function of the input's bytes the target: the fuzzer's when `cargo fuzz` builds it, and otherwise a program
/// that calls it with each file of the folders that its arguments name, which needs neither the fuzzer nor its compiler.
#[macro_export]
macro_rules! target {
    (|$input:ident: &[u8]| $body:block) => {
        #[cfg(fuzzing)]
        $crate::libfuzzer_sys::fuzz_target!(|$input: &[u8]| $body);

        #[cfg(not(fuzzing))]
        fn main() -> std::io::Result<()> {
            let inputs = std::env::args_os().skip(1).map(|folder| $crate::files(folder.as_ref()));
            let inputs: Vec<_> = inputs.collect::<std::io::Result<Vec<_>>>()?.concat();
            for path in &inputs {
                // A panic in the target says which input it was about.
                println!("{}", path.display());
                let bytes = std::fs::read(path)?;
                (|$input: &[u8]| $body)(&bytes);
            }
            println!("{} inputs, none of them a fault", inputs.len());
            Ok(())
        }
    };
}

/// The files of a folder, in the order of their names.
///
/// # Errors
/// The folder cannot be read or has no files, which would show nothing.
pub fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    let mut files: Vec<PathBuf> = paths.into_iter().filter(|path| path.is_file()).collect();
    if files.is_empty() {
        return Err(io::Error::new(io::ErrorKind::NotFound, format!("no input in {}", folder.display())));
    }
    files.sort();
    Ok(files)
}
