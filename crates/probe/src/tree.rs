//! The server's processes: their files, kept open, and what they say together.

use std::fs::File;
use std::io;

use rustix::io::Errno;

use crate::family::{Account, Family, Ticks};
use crate::file::{Buffer, Optional};
use crate::parse::process::{Scheduled, Stat, resident_pages, scheduled, stat};

/// A process that has not run is read again after this many readings at the latest: its memory may have been taken.
const MOST_SKIPPED: u32 = 49;

/// What the processes say together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Together {
    pub(crate) used: Ticks,
    pub(crate) resident_pages: u64,
    /// Those that have not ended.
    pub(crate) processes: u64,
    pub(crate) threads: u64,
}

/// One process, with the files that are read at every sample.
struct Watched {
    pid: u32,
    stat: File,
    /// Tells the memory more precisely than `stat`, where the kernel adds up only roughly what each CPU has counted.
    statm: File,
    schedstat: Optional,
    scheduled: Option<Scheduled>,
    skipped: u32,
    last: Stat,
    resident_pages: u64,
}

/// The processes of the server.
#[derive(Default)]
pub(crate) struct Tree {
    watched: Vec<Watched>,
    family: Family,
}

impl Tree {
    /// Adds a process; nothing happens where it is no more.
    ///
    /// # Errors
    /// When this process may open no more files.
    pub(crate) fn add(&mut self, pid: u32, buffer: &mut Buffer) -> io::Result<()> {
        match Watched::open(pid, buffer) {
            Ok(process) => {
                self.family.seen(pid, process.account());
                self.watched.push(process);
                Ok(())
            }
            Err(error) if is_out_of_files(&error) => Err(error),
            Err(_) => Ok(()),
        }
    }

    /// Whether a process of this id is among them.
    pub(crate) fn has(&self, pid: u32) -> bool {
        self.family.has(pid)
    }

    /// The ids of the processes.
    pub(crate) fn pids(&self) -> impl Iterator<Item = u32> {
        self.watched.iter().map(|process| process.pid)
    }

    /// The ids of the processes, and how many threads each of them has.
    pub(crate) fn thread_counts(&self) -> impl Iterator<Item = (u32, u64)> {
        self.watched.iter().map(|process| (process.pid, process.last.threads))
    }

    /// Reads every process that has run; says, too, how many were found to be no more.
    pub(crate) fn read(&mut self, buffer: &mut Buffer) -> (Together, usize) {
        let before = self.watched.len();
        let family = &mut self.family;
        self.watched.retain_mut(|process| {
            let exists = process.update(buffer).is_ok();
            if exists {
                family.seen(process.pid, process.account());
            } else {
                family.gone(process.pid);
            }
            exists
        });
        let mut together = Together { used: self.family.total(), ..Together::default() };
        for process in self.watched.iter().filter(|process| !process.last.ended) {
            together.resident_pages += process.resident_pages;
            together.processes += 1;
            together.threads += process.last.threads;
        }
        (together, before - self.watched.len())
    }
}

impl Watched {
    fn open(pid: u32, buffer: &mut Buffer) -> io::Result<Self> {
        let folder = format!("/proc/{pid}");
        let file = File::open(format!("{folder}/stat"))?;
        let statm = File::open(format!("{folder}/statm"))?;
        let schedstat = Optional::open(format!("{folder}/schedstat"));
        let scheduled = schedstat.read(buffer, scheduled);
        let last = stat(buffer.read(&file)?).ok_or_else(unreadable)?;
        let resident_pages = resident_pages(buffer.read(&statm)?).ok_or_else(unreadable)?;
        Ok(Self { pid, stat: file, statm, schedstat, scheduled, skipped: 0, last, resident_pages })
    }

    /// Reads the process again if it has run.
    fn update(&mut self, buffer: &mut Buffer) -> io::Result<()> {
        // Only the first thread's time is told so cheaply.
        if self.last.threads == 1 && self.skipped < MOST_SKIPPED {
            let scheduled = self.schedstat.read(buffer, scheduled);
            if scheduled.is_some() && scheduled == self.scheduled {
                self.skipped += 1;
                return Ok(());
            }
            self.scheduled = scheduled;
        }
        self.skipped = 0;
        self.last = stat(buffer.read(&self.stat)?).ok_or_else(unreadable)?;
        self.resident_pages = resident_pages(buffer.read(&self.statm)?).ok_or_else(unreadable)?;
        Ok(())
    }

    fn account(&self) -> Account {
        let Stat { user_ticks, system_ticks, children_user_ticks, children_system_ticks, .. } = self.last;
        Account {
            own: Ticks { user: user_ticks, system: system_ticks },
            children: Ticks { user: children_user_ticks, system: children_system_ticks },
        }
    }
}

/// Whether an error says that no more files may be opened, by this process or on this machine.
pub(crate) fn is_out_of_files(error: &io::Error) -> bool {
    let codes = [Errno::MFILE, Errno::NFILE].map(Errno::raw_os_error);
    error.raw_os_error().is_some_and(|code| codes.contains(&code))
}

fn unreadable() -> io::Error {
    io::Error::from(io::ErrorKind::InvalidData)
}
