//! The processor time of each program of the server: of all processes that run it, by the name that the kernel has.
//!
//! A process is read again and again, and what it has used since the reading before counts for the program that it runs
//! now. What it used between its last reading and its end is nobody's, so programs together have at most the whole.

use std::collections::BTreeMap;

use crate::parse::process::ProgramName;

/// More programs than these are not told apart: a server that starts others without end must not fill the output.
const MOST: usize = 16;

/// The time of each program since the first reading of its processes, in any unit.
#[derive(Debug, Default)]
pub(crate) struct Programs {
    used: BTreeMap<ProgramName, u64>,
}

impl Programs {
    /// A process that runs a program has used something.
    pub(crate) fn add(&mut self, name: ProgramName, used: u64) {
        if let Some(sum) = self.used.get_mut(&name) {
            *sum = sum.saturating_add(used);
        } else if self.used.len() < MOST {
            self.used.insert(name, used);
        }
    }

    /// What each program has used, where there are several.
    pub(crate) fn used(&self) -> Option<impl Iterator<Item = (&ProgramName, u64)>> {
        (self.used.len() > 1).then(|| self.used.iter().map(|(name, used)| (name, *used)))
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
    fn each_program_has_the_sum_of_its_processes() {
        let mut programs = Programs::default();
        for (name, used) in [("node", 3), ("postgres", 1), ("postgres", 5), ("node", 4)] {
            programs.add(named(name), used);
        }
        let used: Vec<(String, u64)> =
            programs.used().expect("two programs").map(|(name, used)| (name.to_string(), used)).collect();
        assert_eq!(used, [("node".to_owned(), 7), ("postgres".to_owned(), 6)]);
    }

    #[test]
    fn one_program_alone_is_not_told_apart() {
        let mut programs = Programs::default();
        programs.add(named("nginx"), 3);
        assert!(programs.used().is_none());
    }

    #[test]
    fn there_is_an_end_of_programs_that_are_told_apart() {
        let mut programs = Programs::default();
        for number in 0..1000 {
            programs.add(named(&format!("program-{number}")), 1);
        }
        assert_eq!(programs.used().expect("several").count(), MOST);
    }
}
