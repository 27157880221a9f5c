//! Which processes are the server's.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::file::Buffer;
use crate::parse::group;
use crate::parse::process::{carries, stat};
use crate::parse::text::number;
use crate::tree::Tree;

/// What the server's processes are known by; any of them is enough.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    /// The session that the server was started in.
    pub(crate) session: Option<u32>,
    /// Processes that belong to it, with all that they start.
    pub(crate) pids: Vec<u32>,
    /// A variable of the environment, as `NAME=value`, that it was started with: some processes leave the session.
    pub(crate) variable: Option<Vec<u8>>,
    /// The folder of a control group of version 2 that holds it and nothing else.
    pub(crate) group: Option<PathBuf>,
}

/// Where new processes of the server are found.
pub(crate) enum Members {
    /// In the list of its control group.
    Group(File),
    /// Among all processes of the machine.
    Machine {
        /// What they are known by.
        marks: Marks,
        /// Processes that were found not to belong to the server.
        strangers: HashSet<u32>,
    },
}

impl Members {
    /// Looks for processes that are known by these marks.
    ///
    /// # Errors
    /// When the list of the control group cannot be opened.
    pub(crate) fn new(marks: Marks) -> io::Result<Self> {
        Ok(match &marks.group {
            Some(folder) => Self::Group(File::open(folder.join("cgroup.procs"))?),
            None => Self::Machine { marks, strangers: HashSet::new() },
        })
    }

    /// Adds the processes that are not in the tree yet.
    ///
    /// # Errors
    /// When the list cannot be read, or no more files may be opened.
    pub(crate) fn add_newcomers(
        &mut self,
        tree: &mut Tree,
        buffer: &mut Buffer,
        now: Duration,
    ) -> io::Result<()> {
        let newcomers = match self {
            Self::Group(list) => {
                group::members(buffer.read_in_goes(list)?).filter(|pid| !tree.has(*pid)).collect()
            }
            Self::Machine { marks, strangers } => newcomers_of_machine(marks, strangers, tree, buffer)?,
        };
        newcomers.into_iter().try_for_each(|pid| tree.add(pid, buffer, now))
    }
}

/// The processes of the machine that are the server's and not in the tree yet; all others become strangers.
fn newcomers_of_machine(
    marks: &Marks,
    strangers: &mut HashSet<u32>,
    tree: &Tree,
    buffer: &mut Buffer,
) -> io::Result<Vec<u32>> {
    let listed: HashSet<u32> = fs::read_dir("/proc")?
        .filter_map(|entry| u32::try_from(number(entry.ok()?.file_name().as_encoded_bytes())?).ok())
        .collect();
    // An id that is not listed may be used again, by whomever.
    strangers.retain(|pid| listed.contains(pid));
    let (mut found, mut others) = (HashSet::new(), Vec::new());
    for pid in listed.into_iter().filter(|pid| !tree.has(*pid) && !strangers.contains(pid)) {
        let Some(stat) = buffer.read_path(format!("/proc/{pid}/stat")).ok().and_then(stat) else { continue };
        if marks.fit(pid, stat.session, buffer) {
            found.insert(pid);
        } else {
            others.push((pid, stat.parent));
        }
    }
    // Children belong to it as well, and a child may come before its parent here, so that one pass is not enough.
    loop {
        let before = others.len();
        others.retain(|(pid, parent)| {
            let is_child = tree.has(*parent) || found.contains(parent);
            if is_child {
                found.insert(*pid);
            }
            !is_child
        });
        if others.len() == before {
            break;
        }
    }
    strangers.extend(others.into_iter().map(|(pid, _)| pid));
    Ok(found.into_iter().collect())
}

impl Marks {
    /// Whether a process is known by any mark; an environment that may not be read has none.
    fn fit(&self, pid: u32, session: u32, buffer: &mut Buffer) -> bool {
        let carries_variable = |variable: &Vec<u8>| {
            let environment = buffer.read_path(format!("/proc/{pid}/environ"));
            environment.is_ok_and(|environment| carries(environment, variable))
        };
        self.pids.contains(&pid)
            || self.session == Some(session)
            || self.variable.as_ref().is_some_and(carries_variable)
    }
}
