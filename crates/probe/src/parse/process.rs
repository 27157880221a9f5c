//! One process: `/proc/PID/stat`, `statm`, `schedstat`, `status`, `smaps_rollup`, `io` and `environ`.

use std::fmt;

use memchr::{memchr, memrchr};
use rustix::process::Signal;

use super::text::{after, fields, hexadecimal, number, number_after};

/// SIGCHLD in a mask of signals, in which the first signal has the lowest bit.
const SIGCHLD_BIT: u64 = 1 << (Signal::CHILD.as_raw() - 1);

/// The longest name of a program, in bytes: the kernel cuts off the rest.
const PROGRAM_NAME_BYTES: usize = 15;

/// The name that the kernel has of the program that a process runs; behind it zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ProgramName([u8; PROGRAM_NAME_BYTES]);

impl fmt::Display for ProgramName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = memchr(0, &self.0).unwrap_or(PROGRAM_NAME_BYTES);
        formatter.write_str(&String::from_utf8_lossy(&self.0[..length]))
    }
}

/// The name of a program as the kernel would have it.
pub(crate) fn program_name(bytes: &[u8]) -> ProgramName {
    let mut name = [0; PROGRAM_NAME_BYTES];
    let length = bytes.len().min(PROGRAM_NAME_BYTES);
    name[..length].copy_from_slice(&bytes[..length]);
    ProgramName(name)
}

/// How many of the first arguments may be the file that was started: after an interpreter and one option of it.
const FIRST_ARGUMENTS: usize = 3;

/// The name of a program by the name of the process, the file that it executes, and its arguments.
///
/// A process that has given itself another name than that of any of these files, as Node.js calls it `MainThread`, runs
/// the program of the file.
pub(crate) fn program_of(process: ProgramName, executable: &[u8], arguments: &[u8]) -> ProgramName {
    let executable = program_name(file_name(executable.strip_suffix(b" (deleted)").unwrap_or(executable)));
    let mut started = arguments.split(|byte| *byte == 0).take(FIRST_ARGUMENTS).map(file_name);
    if process == executable || started.any(|file| program_name(file) == process) {
        return process;
    }
    executable
}

fn file_name(path: &[u8]) -> &[u8] {
    memrchr(b'/', path).map_or(path, |slash| &path[slash + 1..])
}

/// How often a page that was needed was not there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Faults {
    /// It came without reading a disk.
    pub(crate) minor: u64,
    pub(crate) major: u64,
}

/// What `/proc/PID/stat` says; times are in the kernel's ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    /// What the process is called, by a name that it gave itself or by the program that it runs.
    pub(crate) name: ProgramName,
    pub(crate) parent: u32,
    pub(crate) session: u32,
    /// It has ended and waits to be reaped: its times count, and it has no memory and no thread.
    pub(crate) ended: bool,
    pub(crate) faults: Faults,
    pub(crate) user_ticks: u64,
    pub(crate) system_ticks: u64,
    /// Of the children that it has waited for, and of theirs; so are their times.
    pub(crate) children_faults: Faults,
    pub(crate) children_user_ticks: u64,
    pub(crate) children_system_ticks: u64,
    pub(crate) threads: u64,
}

/// Reads `/proc/PID/stat`.
pub(crate) fn stat(bytes: &[u8]) -> Option<Stat> {
    // The second field, the name, is in parentheses and may itself hold blanks and parentheses.
    let (begin, end) = (memchr(b'(', bytes)? + 1, memrchr(b')', bytes)?);
    let name = program_name(bytes.get(begin..end)?);
    let mut fields = fields(&bytes[end + 1..]);
    let state = fields.next()?;
    let mut next = |skipped: usize| fields.nth(skipped);
    let parent = number(next(0)?)?;
    let session = number(next(1)?)?;
    let minor = number(next(3)?)?;
    let children_minor = number(next(0)?)?;
    let major = number(next(0)?)?;
    let children_major = number(next(0)?)?;
    let user_ticks = number(next(0)?)?;
    let system_ticks = number(next(0)?)?;
    let children_user_ticks = number(next(0)?)?;
    let children_system_ticks = number(next(0)?)?;
    let threads = number(next(2)?)?;
    Some(Stat {
        name,
        parent: u32::try_from(parent).ok()?,
        session: u32::try_from(session).ok()?,
        ended: matches!(state, b"Z" | b"X"),
        faults: Faults { minor, major },
        children_faults: Faults { minor: children_minor, major: children_major },
        user_ticks,
        system_ticks,
        children_user_ticks,
        children_system_ticks,
        threads,
    })
}

/// The resident pages in `/proc/PID/statm`.
pub(crate) fn resident_pages(bytes: &[u8]) -> Option<u64> {
    number(fields(bytes).nth(1)?)
}

/// How much a thread has run and waited, for a process its first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scheduled {
    pub(crate) run_ns: u64,
    /// For how long it could run and waited for a CPU.
    pub(crate) wait_ns: u64,
    slices: u64,
}

impl Scheduled {
    /// Whether it has run since an earlier reading.
    pub(crate) fn has_run_since(&self, earlier: &Self) -> bool {
        (self.run_ns, self.slices) != (earlier.run_ns, earlier.slices)
    }
}

/// Reads `schedstat` of a process or a thread; `None` if the kernel does not count, which it writes as zeros.
pub(crate) fn scheduled(bytes: &[u8]) -> Option<Scheduled> {
    let mut fields = fields(bytes);
    let mut next = || number(fields.next()?);
    let (run_ns, wait_ns, slices) = (next()?, next()?, next()?);
    (slices > 0).then_some(Scheduled { run_ns, wait_ns, slices })
}

/// How often a thread gave up its CPU by itself, and how often it was taken from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Switches {
    pub(crate) voluntary: u64,
    pub(crate) involuntary: u64,
}

/// The context switches in the `status` file of one thread.
pub(crate) fn switches(bytes: &[u8]) -> Option<Switches> {
    Some(Switches {
        voluntary: number_after(bytes, b"voluntary_ctxt_switches:")?,
        involuntary: number_after(bytes, b"nonvoluntary_ctxt_switches:")?,
    })
}

/// Whether the process ignores SIGCHLD, by its `status` file: the kernel then adds its children's times to nothing.
pub(crate) fn ignores_sigchld(bytes: &[u8]) -> Option<bool> {
    let mask = hexadecimal(fields(after(bytes, b"SigIgn:")?).next()?)?;
    Some(mask & SIGCHLD_BIT != 0)
}

/// The proportional memory in `/proc/PID/smaps_rollup`, in bytes: each page divided by the processes that share it.
pub(crate) fn proportional_bytes(bytes: &[u8]) -> Option<u64> {
    number_after(bytes, b"Pss:")?.checked_mul(1024)
}

/// How much was read from disks for a process, by its `io` file, in bytes; what children read that it has waited for is
/// included.
pub(crate) fn disk_read_bytes(bytes: &[u8]) -> Option<u64> {
    number_after(bytes, b"read_bytes:")
}

/// Whether an environment, `/proc/PID/environ`, has this variable, given as `NAME=value`.
pub(crate) fn carries(environment: &[u8], variable: &[u8]) -> bool {
    environment.split(|byte| *byte == 0).any(|entry| entry == variable)
}
