//! Context switches, which the kernel reports for each thread in a separate file.

use std::collections::HashMap;

use serde::Serialize;

use crate::file::Buffer;
use crate::parse::process::{Switches, ignores_sigchld, switches};
use crate::threads::{Visit, Visits};

/// What a round has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct SwitchesFound {
    voluntary: u64,
    involuntary: u64,
    /// Some process ignores SIGCHLD, so that the processor time of its children is lost when they end.
    ignores_sigchld: bool,
}

/// The context switches of every thread that was seen, those that have ended included with what was seen of them.
#[derive(Default)]
pub(crate) struct SwitchCounts {
    seen: HashMap<(u32, u32), Switches>,
    under_way: HashMap<(u32, u32), Switches>,
    ended: Switches,
    ignores_sigchld: bool,
}

impl SwitchCounts {
    /// Visits a process or a thread; one that is no more is passed over.
    pub(crate) fn visit(&mut self, visit: Visit, left: &mut Visits, buffer: &mut Buffer) {
        match visit {
            Visit::Process(pid) => left.extend(Visit::threads_of(pid)),
            Visit::Thread { pid, thread } => {
                // The file of a process is that of its first thread, and is found faster.
                let file = if pid == thread {
                    format!("/proc/{pid}/status")
                } else {
                    format!("/proc/{pid}/task/{thread}/status")
                };
                let Ok(status) = buffer.read_path(file) else { return };
                // Which signals are ignored is a matter of the process: every thread tells the same.
                self.ignores_sigchld |= ignores_sigchld(status).unwrap_or(false);
                if let Some(found) = switches(status) {
                    self.under_way.insert((pid, thread), found);
                }
            }
        }
    }

    /// Ends a round, and returns the sums; they never fall.
    pub(crate) fn end_round(&mut self) -> SwitchesFound {
        let before = std::mem::replace(&mut self.seen, std::mem::take(&mut self.under_way));
        for (thread, before) in before {
            // A count that has fallen is that of another thread, which got the same id.
            let is_same = self.seen.get(&thread).is_some_and(|now| {
                now.voluntary >= before.voluntary && now.involuntary >= before.involuntary
            });
            if !is_same {
                self.ended.voluntary += before.voluntary;
                self.ended.involuntary += before.involuntary;
            }
        }
        let sum = |part: fn(&Switches) -> u64| part(&self.ended) + self.seen.values().map(part).sum::<u64>();
        SwitchesFound {
            voluntary: sum(|switches| switches.voluntary),
            involuntary: sum(|switches| switches.involuntary),
            ignores_sigchld: std::mem::take(&mut self.ignores_sigchld),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{SwitchCounts, SwitchesFound};
    use crate::parse::process::Switches;

    /// A round in which these threads, each with its voluntary switches, were found.
    fn round(counts: &mut SwitchCounts, threads: &[(u32, u64)]) -> u64 {
        let found = threads
            .iter()
            .map(|(thread, voluntary)| ((1, *thread), Switches { voluntary: *voluntary, involuntary: 0 }));
        counts.under_way.extend(found);
        let SwitchesFound { voluntary, .. } = counts.end_round();
        voluntary
    }

    #[test]
    fn a_thread_that_has_ended_keeps_what_was_seen_of_it() {
        let mut counts = SwitchCounts::default();
        assert_eq!(round(&mut counts, &[(1, 10), (2, 20)]), 30);
        assert_eq!(round(&mut counts, &[(1, 11)]), 31);
        assert_eq!(round(&mut counts, &[(1, 11), (3, 5)]), 36);
    }

    #[test]
    fn another_thread_of_the_same_id_is_added_to_the_first() {
        let mut counts = SwitchCounts::default();
        assert_eq!(round(&mut counts, &[(1, 10)]), 10);
        assert_eq!(round(&mut counts, &[(1, 3)]), 13);
    }
}
