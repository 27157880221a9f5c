//! Going through the threads of processes.

use std::collections::VecDeque;
use std::fs;

use crate::parse::text::number;

/// What a round through threads visits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Visit {
    /// A process of several threads: they are listed, and visited next.
    Process(u32),
    /// A thread of a process. The first thread has the id of the process.
    Thread { pid: u32, thread: u32 },
}

/// What is left of a round.
pub(crate) type Visits = VecDeque<Visit>;

impl Visit {
    /// Where the visits to a process with this many threads begin.
    pub(crate) fn of_process(pid: u32, threads: u64) -> Self {
        if threads == 1 { Self::Thread { pid, thread: pid } } else { Self::Process(pid) }
    }

    /// The threads of a process; `None` if it is no more.
    pub(crate) fn threads_of(pid: u32) -> Vec<Self> {
        let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
        threads
            .filter_map(|entry| u32::try_from(number(entry.ok()?.file_name().as_encoded_bytes())?).ok())
            .map(|thread| Self::Thread { pid, thread })
            .collect()
    }
}
