//! Figures whose reading delays the server itself, or requires a file of each process: proportional memory, open files, and
//! what was read from disks.
//!
//! While the kernel adds up the memory of a process, that process may have to wait to change its memory map.

use std::fs;
use std::io;

use rustix::io::Errno;
use serde::Serialize;

use crate::file::Buffer;
use crate::parse::process::{disk_read_bytes, proportional_bytes};

/// The sums over all processes; each is absent where the kernel does not tell it of every one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Footprint {
    proportional_memory_bytes: Option<u64>,
    open_files: Option<u64>,
    /// Since the start of each process.
    disk_read_bytes: Option<u64>,
}

impl Footprint {
    /// The sums over no process.
    pub(crate) fn empty() -> Self {
        let zero_where_there_is = |file| fs::exists(file).unwrap_or(false).then_some(0);
        Self {
            proportional_memory_bytes: zero_where_there_is("/proc/self/smaps_rollup"),
            open_files: Some(0),
            disk_read_bytes: zero_where_there_is("/proc/self/io"),
        }
    }

    /// Adds a process; one that is no more adds nothing.
    pub(crate) fn visit(&mut self, pid: u32, buffer: &mut Buffer) {
        let mut read = |file: &str, parse: fn(&[u8]) -> Option<u64>| {
            let bytes = buffer.read_path(format!("/proc/{pid}/{file}"))?;
            parse(bytes).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
        };
        add(&mut self.proportional_memory_bytes, read("smaps_rollup", proportional_bytes));
        add(&mut self.disk_read_bytes, read("io", disk_read_bytes));
        add(&mut self.open_files, open_files(pid));
    }
}

/// How many files a process has open.
fn open_files(pid: u32) -> io::Result<u64> {
    let folder = format!("/proc/{pid}/fd");
    // Since Linux 6.2 the size of the folder is their number, and before it is zero.
    let size = fs::metadata(&folder)?.len();
    if size > 0 { Ok(size) } else { Ok(fs::read_dir(&folder)?.count() as u64) }
}

fn add(sum: &mut Option<u64>, figure: io::Result<u64>) {
    match figure {
        Ok(part) => *sum = sum.map(|sum| sum.saturating_add(part)),
        Err(error) if is_no_more(&error) => {}
        Err(_) => *sum = None,
    }
}

/// Whether an error says that the process has ended.
fn is_no_more(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(Errno::SRCH.raw_os_error())
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::{Footprint, add};
    use crate::file::Buffer;

    #[test]
    fn a_process_that_is_no_more_adds_nothing() {
        let mut footprint = Footprint::empty();
        // No process can have this id: the kernel's largest is 2^22.
        footprint.visit(u32::MAX, &mut Buffer::new());
        assert_eq!(footprint, Footprint::empty());
    }

    #[test]
    fn a_sum_of_which_a_part_may_not_be_known_is_not_known() {
        let mut sum = Some(5);
        add(&mut sum, Err(io::Error::from(io::ErrorKind::PermissionDenied)));
        add(&mut sum, Ok(3));
        assert_eq!(sum, None);
    }
}
