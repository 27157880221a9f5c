//! Processes of one's own. No safe function forks, and none makes the kernel reap: this is why there is unsafe code here.
#![expect(unsafe_code, reason = "fork(2) and signal(2) have no safe wrapper")]

use std::io;

use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};

/// In which of the two processes a fork has returned.
pub(crate) enum Fork {
    Parent,
    Child,
}

/// Has the kernel reap every child when it ends, so that none is left as a zombie.
pub(crate) fn leave_reaping_to_the_kernel() -> io::Result<()> {
    // SAFETY: an ignored signal has no handler that could run at a bad moment, and nothing in this program waits for a
    // child, which is what would no longer work.
    let previous = unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
    if previous == libc::SIG_ERR { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Makes a copy of this process, which the kernel kills as soon as this one ends, however it ends.
///
/// Only a process of a single thread may be copied.
pub(crate) fn fork() -> io::Result<Fork> {
    let parent = getpid();
    // SAFETY: the servers that fork start no thread, so that no other one can hold a lock, the allocator's for
    // instance, that would stay locked in the child. What both processes go on to use, descriptors and memory, is
    // copied by the kernel.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let is_bound = set_parent_process_death_signal(Some(Signal::KILL)).is_ok();
            // A parent that ended before it was bound to sends no signal any more.
            if !is_bound || getppid() != Some(parent) {
                std::process::exit(1);
            }
            Ok(Fork::Child)
        }
        _ => Ok(Fork::Parent),
    }
}
