//! The processor time of a tree of processes, of which some come and some go.
//!
//! A process that ends is added to its parent's times of children when the parent waits for it. Own and children's
//! times of all that exist, those included that wait to be reaped, are therefore what all have ever used, also those
//! that came and went between two readings. Two kinds of ends break this: a process whose parent ignores SIGCHLD is
//! added to nothing, and one that outlives its parent may be waited for by another one outside the tree. Of these, what
//! was last seen is kept here; what they used since, and those that were never seen, are lost.

use std::collections::HashMap;
use std::ops::{Add, AddAssign};

/// Processor time in the kernel's ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ticks {
    pub(crate) user: u64,
    pub(crate) system: u64,
}

impl Add for Ticks {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { user: self.user.saturating_add(other.user), system: self.system.saturating_add(other.system) }
    }
}

impl AddAssign for Ticks {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Ticks {
    /// What these exceed others by, each part for itself.
    fn beyond(self, other: Self) -> Self {
        Self { user: self.user.saturating_sub(other.user), system: self.system.saturating_sub(other.system) }
    }
}

/// One process at one reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) own: Ticks,
    /// Of the children that it has waited for, and of theirs.
    pub(crate) children: Ticks,
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
    lost: Ticks,
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
    pub(crate) fn total(&mut self) -> Ticks {
        // Whoever waited for those that are gone, perhaps an ancestor further up, has them among its children's times.
        let (mut missing, mut inherited) = (Ticks::default(), Ticks::default());
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
