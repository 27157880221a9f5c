//! Which processes are the server's.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::file::Buffer;
use crate::parse::group;
use crate::parse::process::{ProgramName, carries, program_name, stat};
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

/// What the server's processes are known by, or those of one of its programs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Known {
    /// The name that distinguishes the server's programs; `None` if it is that of what they execute.
    pub(crate) program: Option<ProgramName>,
    pub(crate) marks: Marks,
}

impl Known {
    /// A program of this name, whose marks are yet to come.
    pub(crate) fn program(name: &[u8]) -> Self {
        Self { program: Some(program_name(name)), marks: Marks::default() }
    }
}

/// Where new processes of the server are found.
pub(crate) enum Members {
    /// In the list of its control group.
    Group(File),
    /// Among all processes of the machine.
    Machine {
        /// What they are known by.
        known: Vec<Known>,
        /// Processes that were found not to belong to the server.
        strangers: HashSet<u32>,
    },
}

impl Members {
    /// Looks for processes that are known by these marks.
    ///
    /// # Errors
    /// When the list of the control group cannot be opened.
    pub(crate) fn new(known: Vec<Known>) -> io::Result<Self> {
        Ok(match known.iter().find_map(|one| one.marks.group.as_ref()) {
            Some(folder) => Self::Group(File::open(folder.join("cgroup.procs"))?),
            None => Self::Machine { known, strangers: HashSet::new() },
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
                let pids = group::members(buffer.read_in_goes(list)?).filter(|pid| !tree.has(*pid));
                pids.map(|pid| (pid, None)).collect()
            }
            Self::Machine { known, strangers } => newcomers_of_machine(known, strangers, tree, buffer)?,
        };
        newcomers.into_iter().try_for_each(|(pid, program)| tree.add(pid, program, buffer, now))
    }
}

/// A process, and the program that it is, where that has been given a name.
type Newcomer = (u32, Option<ProgramName>);

/// The processes of the machine that are the server's and not in the tree yet; all others become strangers.
fn newcomers_of_machine(
    known: &[Known],
    strangers: &mut HashSet<u32>,
    tree: &Tree,
    buffer: &mut Buffer,
) -> io::Result<Vec<Newcomer>> {
    let listed: HashSet<u32> = fs::read_dir("/proc")?
        .filter_map(|entry| u32::try_from(number(entry.ok()?.file_name().as_encoded_bytes())?).ok())
        .collect();
    // An id that is not listed may be used again, by whomever.
    strangers.retain(|pid| listed.contains(pid));
    let (mut found, mut others) = (HashMap::new(), Vec::new());
    for pid in listed.into_iter().filter(|pid| !tree.has(*pid) && !strangers.contains(pid)) {
        let Some(stat) = buffer.read_path(format!("/proc/{pid}/stat")).ok().and_then(stat) else { continue };
        if let Some(one) = known.iter().find(|one| one.marks.fit(pid, stat.session, buffer)) {
            found.insert(pid, one.program);
        } else {
            others.push((pid, stat.parent));
        }
    }
    // Children belong to it as well, and a child may come before its parent here, so that one pass is not enough.
    loop {
        let before = others.len();
        others.retain(|(pid, parent)| {
            let is_child = tree.has(*parent) || found.contains_key(parent);
            if is_child {
                let of_newcomer = found.get(parent).copied().flatten();
                found.insert(*pid, tree.named(*parent).or(of_newcomer));
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
