//! The processor time of each program of the server, and how long it waited for a CPU: of all processes that run it, by the
//! name that the kernel has.
//!
//! A process is read again and again, and what it has used since the reading before counts for the program that it runs
//! now. What it used between its last reading and its end is nobody's, so programs together have at most the whole.

use std::collections::BTreeMap;

use crate::parse::process::ProgramName;

/// More programs than these are not told apart: a server that starts others without end must not fill the output.
const MOST: usize = 16;

/// What a program has used and waited for since the first reading of its processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    /// Processor time in ticks.
    pub(crate) ticks: u64,
    /// How long its threads could run and waited for a CPU, all together; `None` if the kernel does not count.
    pub(crate) waited_ns: Option<u64>,
}

/// What each program has spent.
#[derive(Debug, Default)]
pub(crate) struct Programs {
    spent: BTreeMap<ProgramName, Spent>,
}

impl Programs {
    /// A process that runs a program has used processor time.
    pub(crate) fn use_ticks(&mut self, name: ProgramName, ticks: u64) {
        if let Some(spent) = self.of(name) {
            spent.ticks = spent.ticks.saturating_add(ticks);
        }
    }

    /// Threads of a process that runs a program have waited for a CPU.
    pub(crate) fn wait_ns(&mut self, name: ProgramName, waited_ns: u64) {
        if let Some(spent) = self.of(name) {
            spent.waited_ns = Some(spent.waited_ns.unwrap_or(0).saturating_add(waited_ns));
        }
    }

    /// What each program has spent.
    pub(crate) fn spent(&self) -> impl Iterator<Item = (&ProgramName, Spent)> {
        self.spent.iter().map(|(name, spent)| (name, *spent))
    }

    fn of(&mut self, name: ProgramName) -> Option<&mut Spent> {
        let is_told_apart = self.spent.len() < MOST || self.spent.contains_key(&name);
        is_told_apart.then(|| self.spent.entry(name).or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::process::program_name;

    fn named(name: &str) -> ProgramName {
        program_name(name.as_bytes())
    }

    #[test]
    fn each_program_has_the_sums_of_its_processes() {
        let mut programs = Programs::default();
        for (name, ticks) in [("node", 3), ("postgres", 1), ("postgres", 5), ("node", 4)] {
            programs.use_ticks(named(name), ticks);
        }
        programs.wait_ns(named("node"), 20);
        programs.wait_ns(named("node"), 10);
        let spent: Vec<(String, Spent)> =
            programs.spent().map(|(name, spent)| (name.to_string(), spent)).collect();
        let expected = [
            ("node".to_owned(), Spent { ticks: 7, waited_ns: Some(30) }),
            ("postgres".to_owned(), Spent { ticks: 6, waited_ns: None }),
        ];
        assert_eq!(spent, expected);
    }

    #[test]
    fn there_is_an_end_of_programs_that_are_told_apart() {
        let mut programs = Programs::default();
        for number in 0..1000 {
            programs.use_ticks(named(&format!("program-{number}")), 1);
        }
        assert_eq!(programs.spent().count(), MOST);
    }
}
