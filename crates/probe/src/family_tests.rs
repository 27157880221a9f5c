//! Trees of processes whose truth is known: scripted ones, and any history at all.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;

use super::{Account, Counts, Family, Faults};

fn user(user: u64) -> Counts {
    Counts { user, ..Counts::default() }
}

fn account(own: u64, children: u64) -> Account {
    Account { own: user(own), children: user(children) }
}

#[test]
fn a_child_that_its_parent_waits_for_counts_once() {
    let mut family = Family::default();
    family.seen(1, account(10, 0));
    family.seen(2, account(5, 0));
    assert_eq!(family.total(), user(15));
    // It ran for 3 more and ended; the parent has all 8 of it.
    family.seen(1, account(10, 8));
    family.gone(2);
    assert_eq!(family.total(), user(18));
}

#[test]
fn a_child_that_came_and_went_between_two_readings_counts() {
    let mut family = Family::default();
    family.seen(1, account(10, 0));
    assert_eq!(family.total(), user(10));
    family.seen(1, account(10, 7));
    assert_eq!(family.total(), user(17));
}

#[test]
fn a_child_whose_parent_ignores_its_end_counts_with_what_was_seen_of_it() {
    let mut family = Family::default();
    family.seen(1, account(10, 0));
    family.seen(2, account(5, 0));
    family.seen(3, account(4, 0));
    assert_eq!(family.total(), user(19));
    family.gone(2);
    assert_eq!(family.total(), user(19));
    family.gone(3);
    family.seen(1, account(11, 0));
    assert_eq!(family.total(), user(20));
}

#[test]
fn a_grandchild_is_inherited_through_a_parent_that_is_gone_as_well() {
    let mut family = Family::default();
    for pid in [1, 2, 3] {
        family.seen(pid, account(10, 0));
    }
    assert_eq!(family.total(), user(30));
    family.gone(2);
    family.gone(3);
    family.seen(1, account(10, 21));
    assert_eq!(family.total(), user(31));
}

#[test]
fn user_time_system_time_and_both_kinds_of_page_faults_are_kept_apart() {
    let mut family = Family::default();
    let counts = |user, system, minor, major| Counts { user, system, faults: Faults { minor, major } };
    family.seen(1, Account { own: counts(10, 20, 30, 40), children: Counts::default() });
    family.seen(2, Account { own: counts(3, 4, 5, 6), children: Counts::default() });
    family.total();
    // The second one took 1 more of each before the first one waited for it.
    family.seen(1, Account { own: counts(10, 20, 30, 40), children: counts(4, 5, 6, 7) });
    family.gone(2);
    assert_eq!(family.total(), counts(14, 25, 36, 47));
}

/// A process of the simulated machine.
#[derive(Clone, Copy, Debug)]
struct Simulated {
    parent: u32,
    own: u64,
    children: u64,
    /// It has ended, and nobody has waited for it yet.
    ended: bool,
}

/// What happens next; numbers choose among the processes that there are.
#[derive(Clone, Copy, Debug)]
enum Event {
    Run(usize, u64),
    Fork(usize),
    /// The process ends; its children belong to the first process now.
    End(usize),
    /// Its parent waits for an ended process.
    Wait(usize),
    /// Its parent ignores the end of an ended process.
    Forget(usize),
    Read,
}

/// A machine with a first process, number 1, that belongs to the tree and never ends.
struct Simulation {
    processes: BTreeMap<u32, Simulated>,
    next: u32,
    /// What all have used.
    truth: u64,
}

impl Simulation {
    fn new() -> Self {
        let first = Simulated { parent: 0, own: 0, children: 0, ended: false };
        Self { processes: BTreeMap::from([(1, first)]), next: 2, truth: 0 }
    }

    fn chosen(&self, number: usize, fits: impl Fn(u32, &Simulated) -> bool) -> Option<u32> {
        let fitting: Vec<u32> =
            self.processes.iter().filter(|(pid, one)| fits(**pid, one)).map(|(pid, _)| *pid).collect();
        (!fitting.is_empty()).then(|| fitting[number % fitting.len()])
    }

    fn apply(&mut self, event: Event, family: &mut Family) {
        match event {
            Event::Run(number, ticks) => {
                let pid = self.chosen(number, |_, one| !one.ended).unwrap();
                self.processes.get_mut(&pid).unwrap().own += ticks;
                self.truth += ticks;
            }
            Event::Fork(number) => {
                let parent = self.chosen(number, |_, one| !one.ended).unwrap();
                self.processes.insert(self.next, Simulated { parent, own: 0, children: 0, ended: false });
                self.next += 1;
            }
            Event::End(number) => {
                let Some(pid) = self.chosen(number, |pid, one| pid != 1 && !one.ended) else { return };
                self.processes.get_mut(&pid).unwrap().ended = true;
                for child in self.processes.values_mut().filter(|child| child.parent == pid) {
                    child.parent = 1;
                }
            }
            Event::Wait(number) => {
                let Some(pid) = self.chosen(number, |_, one| one.ended) else { return };
                let ended = self.processes.remove(&pid).unwrap();
                self.processes.get_mut(&ended.parent).unwrap().children += ended.own + ended.children;
                family.gone(pid);
            }
            Event::Forget(number) => {
                let Some(pid) = self.chosen(number, |_, one| one.ended) else { return };
                self.processes.remove(&pid);
                family.gone(pid);
            }
            Event::Read => {
                for (pid, one) in &self.processes {
                    family.seen(*pid, account(one.own, one.children));
                }
            }
        }
    }

    /// The totals of every reading, each with the truth of its moment.
    fn totals(mut self, events: &[Event]) -> Vec<(u64, u64)> {
        let mut family = Family::default();
        let mut totals = Vec::new();
        for event in events.iter().chain([&Event::Read]) {
            self.apply(*event, &mut family);
            if matches!(event, Event::Read) {
                totals.push((family.total().user, self.truth));
            }
        }
        totals
    }
}

fn events(forgets: bool) -> impl Strategy<Value = Vec<Event>> {
    let number = 0..1000_usize;
    let end = if forgets {
        prop_oneof![number.clone().prop_map(Event::Wait), number.clone().prop_map(Event::Forget)].boxed()
    } else {
        number.clone().prop_map(Event::Wait).boxed()
    };
    let one = prop_oneof![
        4 => (number.clone(), 1..100_u64).prop_map(|(number, ticks)| Event::Run(number, ticks)),
        2 => number.clone().prop_map(Event::Fork),
        2 => number.prop_map(Event::End),
        2 => end,
        2 => Just(Event::Read),
    ];
    vec(one, 0..120)
}

proptest! {
    #[test]
    fn where_every_end_is_waited_for_the_total_is_exact(events in events(false)) {
        for (total, truth) in Simulation::new().totals(&events) {
            prop_assert_eq!(total, truth);
        }
    }

    #[test]
    fn where_ends_are_ignored_the_total_never_falls_and_is_never_too_large(events in events(true)) {
        let mut before = 0;
        for (total, truth) in Simulation::new().totals(&events) {
            prop_assert!(before <= total && total <= truth, "{} then {}, of {}", before, total, truth);
            before = total;
        }
    }
}
