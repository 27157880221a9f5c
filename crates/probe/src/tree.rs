//! The server's processes: their files, kept open, and what they say together.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use rustix::io::Errno;

use crate::busiest::{Meter, NS_PER_S, Use, Waited, busiest};
use crate::family::{Account, Counts, Family};
use crate::file::{Buffer, Optional};
use crate::parse::process::{ProgramName, Scheduled, Stat, program_of, resident_pages, scheduled, stat};
use crate::programs::{Programs, Spent};

/// A process that has not run is read again after this many readings at the latest: its memory may have been taken.
const MOST_SKIPPED: u32 = 49;

/// What the processes say together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Together {
    pub(crate) used: Counts,
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
    /// How long its first thread has waited for a CPU, as far as that was counted.
    first_waited_ns: u64,
    skipped: u32,
    last: Stat,
    /// The name that was given to the program that it is, which holds for what it starts, too.
    named: Option<ProgramName>,
    program: ProgramName,
    resident_pages: u64,
    /// Its processor time in ticks.
    process_meter: Meter,
    /// The time of its only thread in nanoseconds; `None` if it has several, or the kernel does not count.
    thread_meter: Option<Meter>,
}

/// The processes of the server.
#[derive(Default)]
pub(crate) struct Tree {
    watched: Vec<Watched>,
    family: Family,
    programs: Programs,
}

impl Tree {
    /// Adds a process; nothing happens where it is no more.
    ///
    /// # Errors
    /// When this process may open no more files.
    pub(crate) fn add(
        &mut self,
        pid: u32,
        named: Option<ProgramName>,
        buffer: &mut Buffer,
        now: Duration,
    ) -> io::Result<()> {
        match Watched::open(pid, named, buffer, now) {
            Ok(mut process) => {
                self.family.seen(pid, process.account());
                self.programs.use_ticks(process.program, own_ticks(&process.last));
                process.count_first_thread(&mut self.programs);
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

    /// The name that was given to the program of a process, if it is among them.
    pub(crate) fn named(&self, pid: u32) -> Option<ProgramName> {
        self.watched.iter().find(|process| process.pid == pid)?.named
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
    pub(crate) fn read(&mut self, buffer: &mut Buffer, now: Duration) -> (Together, usize) {
        let before = self.watched.len();
        let Self { family, programs, .. } = self;
        self.watched.retain_mut(|process| {
            let used = own_ticks(&process.last);
            let exists = process.update(buffer, now).is_ok();
            if exists {
                family.seen(process.pid, process.account());
                programs.use_ticks(process.program, own_ticks(&process.last).saturating_sub(used));
                process.count_first_thread(programs);
            } else {
                family.gone(process.pid);
            }
            exists
        });
        let mut together = Together { used: self.family.total(), ..Together::default() };
        for process in self.running() {
            together.resident_pages += process.resident_pages;
            together.processes += 1;
            together.threads += process.last.threads;
        }
        (together, before - self.watched.len())
    }

    /// Counts how long a thread of a process of several has waited for a CPU.
    pub(crate) fn count_waited(&mut self, Waited { pid, thread, in_all_ns, since_last_ns }: Waited) {
        let Some(process) = self.watched.iter_mut().find(|process| process.pid == pid) else { return };
        let newly_ns = if thread == pid { process.newly_waited_ns(in_all_ns) } else { since_last_ns };
        self.programs.wait_ns(process.program, newly_ns);
    }

    /// What each program has used and waited for.
    pub(crate) fn programs(&self) -> impl Iterator<Item = (&ProgramName, Spent)> {
        self.programs.spent()
    }

    /// The resident pages of each program now.
    pub(crate) fn resident_pages(&self) -> BTreeMap<ProgramName, u64> {
        let mut pages = BTreeMap::new();
        for process in self.running() {
            *pages.entry(process.program).or_default() += process.resident_pages;
        }
        pages
    }

    /// The process that has used the most between its last two readings.
    pub(crate) fn busiest_process(&self, ticks_per_s: f64) -> Option<Use> {
        let uses = self
            .running()
            .map(|process| Use::of(process.pid, process.pid, &process.process_meter, ticks_per_s));
        busiest(uses.flatten())
    }

    /// The same for the threads of those processes that have one only.
    pub(crate) fn busiest_single_thread(&self) -> Option<Use> {
        let uses = self
            .running()
            .map(|process| Use::of(process.pid, process.pid, process.thread_meter.as_ref()?, NS_PER_S));
        busiest(uses.flatten())
    }

    fn running(&self) -> impl Iterator<Item = &Watched> {
        self.watched.iter().filter(|process| !process.last.ended)
    }
}

impl Watched {
    fn open(pid: u32, named: Option<ProgramName>, buffer: &mut Buffer, now: Duration) -> io::Result<Self> {
        let folder = format!("/proc/{pid}");
        let file = File::open(format!("{folder}/stat"))?;
        let statm = File::open(format!("{folder}/statm"))?;
        let schedstat = Optional::open(format!("{folder}/schedstat"));
        let scheduled = schedstat.read(buffer, scheduled);
        let last = stat(buffer.read(&file)?).ok_or_else(unreadable)?;
        let resident_pages = resident_pages(buffer.read(&statm)?).ok_or_else(unreadable)?;
        Ok(Self {
            pid,
            stat: file,
            statm,
            schedstat,
            scheduled,
            first_waited_ns: 0,
            skipped: 0,
            last,
            named,
            program: named.unwrap_or_else(|| program(pid, last.name, buffer)),
            resident_pages,
            process_meter: Meter::new(now, own_ticks(&last)),
            thread_meter: None,
        })
    }

    /// Reads the process again if it has run, and its meters whether it has or not.
    fn update(&mut self, buffer: &mut Buffer, now: Duration) -> io::Result<()> {
        self.read_if_it_has_run(buffer)?;
        self.process_meter.read(now, own_ticks(&self.last));
        let used_ns = self.scheduled.filter(|_| self.last.threads == 1).map(|scheduled| scheduled.run_ns);
        self.thread_meter = match (used_ns, self.thread_meter) {
            (Some(used_ns), Some(mut meter)) => {
                meter.read(now, used_ns);
                Some(meter)
            }
            (used_ns, _) => used_ns.map(|used_ns| Meter::new(now, used_ns)),
        };
        Ok(())
    }

    fn read_if_it_has_run(&mut self, buffer: &mut Buffer) -> io::Result<()> {
        // Only the first thread's time can be read so cheaply.
        let is_single = self.last.threads == 1;
        let scheduled = is_single.then(|| self.schedstat.read(buffer, scheduled)).flatten();
        let has_run = match (&scheduled, &self.scheduled) {
            (Some(now), Some(before)) => now.has_run_since(before),
            _ => true,
        };
        self.scheduled = scheduled;
        if !has_run && self.skipped < MOST_SKIPPED {
            self.skipped += 1;
            return Ok(());
        }
        self.skipped = 0;
        let name = self.last.name;
        self.last = stat(buffer.read(&self.stat)?).ok_or_else(unreadable)?;
        if self.last.name != name && self.named.is_none() {
            self.program = program(self.pid, self.last.name, buffer);
        }
        self.resident_pages = resident_pages(buffer.read(&self.statm)?).ok_or_else(unreadable)?;
        Ok(())
    }

    /// Counts how long the first thread has waited for a CPU since this was counted last, where that was read.
    fn count_first_thread(&mut self, programs: &mut Programs) {
        if let Some(Scheduled { wait_ns, .. }) = self.scheduled {
            let newly_ns = self.newly_waited_ns(wait_ns);
            programs.wait_ns(self.program, newly_ns);
        }
    }

    fn newly_waited_ns(&mut self, first_waited_ns: u64) -> u64 {
        let before_ns = std::mem::replace(&mut self.first_waited_ns, first_waited_ns);
        first_waited_ns.saturating_sub(before_ns)
    }

    fn account(&self) -> Account {
        let Stat { user_ticks, system_ticks, faults, .. } = self.last;
        let Stat { children_user_ticks, children_system_ticks, children_faults, .. } = self.last;
        Account {
            own: Counts { user: user_ticks, system: system_ticks, faults },
            children: Counts {
                user: children_user_ticks,
                system: children_system_ticks,
                faults: children_faults,
            },
        }
    }
}

/// The program that a process of this name runs; of one whose file may not be known, that is its name.
fn program(pid: u32, name: ProgramName, buffer: &mut Buffer) -> ProgramName {
    let Ok(executable) = fs::read_link(format!("/proc/{pid}/exe")) else { return name };
    let arguments = buffer.read_path(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    program_of(name, executable.as_os_str().as_bytes(), arguments)
}

/// What a process has used itself, without its children.
fn own_ticks(stat: &Stat) -> u64 {
    stat.user_ticks.saturating_add(stat.system_ticks)
}

/// Whether an error says that no more files may be opened, by this process or on this machine.
pub(crate) fn is_out_of_files(error: &io::Error) -> bool {
    let codes = [Errno::MFILE, Errno::NFILE].map(Errno::raw_os_error);
    error.raw_os_error().is_some_and(|code| codes.contains(&code))
}

fn unreadable() -> io::Error {
    io::Error::from(io::ErrorKind::InvalidData)
}
