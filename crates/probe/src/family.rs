//! The processor time and the page faults of a tree of processes, of which some come and some go.
//!
//! A process that ends is added to its parent's counts of children when the parent waits for it. Own and children's
//! counts of all that exist, those included that wait to be reaped, are therefore what all have ever used, also those
//! that came and went between two readings. Two kinds of ends break this: a process whose parent ignores SIGCHLD is
//! added to nothing, and one that outlives its parent may be waited for by another one outside the tree. Of these, what
//! was last seen is kept here; what they used since, and those that were never seen, are lost.

use std::collections::HashMap;
use std::ops::{Add, AddAssign};

use crate::parse::process::Faults;

/// What the kernel counts of a process, and hands to the parent that waits for it; times are in the kernel's ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) user: u64,
    pub(crate) system: u64,
    pub(crate) faults: Faults,
}

impl Add for Counts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        self.each(other, u64::saturating_add)
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Counts {
    /// What these exceed others by, each part for itself.
    fn beyond(self, other: Self) -> Self {
        self.each(other, u64::saturating_sub)
    }

    fn each(self, other: Self, joined: fn(u64, u64) -> u64) -> Self {
        Self {
            user: joined(self.user, other.user),
            system: joined(self.system, other.system),
            faults: Faults {
                minor: joined(self.faults.minor, other.faults.minor),
                major: joined(self.faults.major, other.faults.major),
            },
        }
    }
}

/// One process at one reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) own: Counts,
    /// Of the children that it has waited for, and of theirs.
    pub(crate) children: Counts,
}

struct Member {
    at_last_total: Account,
    now: Account,
    gone: bool,
}

/// The processes of a tree by their ids, and what they have used together.
#[derive(Default)]
pub(crate) struct Family {
    members: HashMap<u32, Member>,
    /// What was seen of processes that nobody in the tree has waited for.
    lost: Counts,
}

impl Family {
    /// A process was read, for the first time or again.
    pub(crate) fn seen(&mut self, pid: u32, account: Account) {
        self.members.entry(pid).and_modify(|member| member.now = account).or_insert(Member {
            at_last_total: account,
            now: account,
            gone: false,
        });
    }

    /// Whether a process of this id is one of them.
    pub(crate) fn has(&self, pid: u32) -> bool {
        self.members.contains_key(&pid)
    }

    /// A process is no more; it was reaped.
    pub(crate) fn gone(&mut self, pid: u32) {
        if let Some(member) = self.members.get_mut(&pid) {
            member.gone = true;
        }
    }

    /// What all processes have used, those that are gone included. It never falls and is never too large.
    pub(crate) fn total(&mut self) -> Counts {
        // Whoever waited for those that are gone, perhaps an ancestor further up, has them among its children's counts.
        let (mut missing, mut inherited) = (Counts::default(), Counts::default());
        for member in self.members.values() {
            if member.gone {
                missing += member.at_last_total.own + member.at_last_total.children;
            } else {
                inherited += member.now.children.beyond(member.at_last_total.children);
            }
        }
        self.lost += missing.beyond(inherited);
        self.members.retain(|_, member| !member.gone);
        let mut total = self.lost;
        for member in self.members.values_mut() {
            member.at_last_total = member.now;
            total += member.now.own + member.now.children;
        }
        total
    }
}

#[cfg(test)]
#[path = "family_tests.rs"]
mod tests;
