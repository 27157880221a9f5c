use super::Operations;
use crate::check::Check;
use crate::goodness::assert_fits;
use crate::inserted::InsertedKeys;
use crate::operation::{InsertOrder, Kind, Operation, Selection};
use crate::workload::{LengthDistribution, Mix, RequestDistribution, Workload};
use loadcurve_plan::Share;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread;

fn preset(name: &str) -> Workload {
    Workload::preset(name).unwrap()
}

fn run(workload: &Workload, seed: u64) -> Operations {
    Operations::run(workload, seed, Arc::new(InsertedKeys::new(workload, Share::whole()))).unwrap()
}

/// Operations of these numbers, each in its own place.
fn made(operations: &mut Operations, numbers: impl Iterator<Item = u64>) -> Vec<Operation> {
    let make = |number| {
        let mut operation = Operation::default();
        operations.make(number, &mut operation);
        operation
    };
    numbers.map(make).collect()
}

#[test]
fn the_load_phase_inserts_each_record_once_with_every_field() {
    let workload = Workload { records: 50, insert_start: 10, insert_count: Some(30), ..Workload::default() };
    let mut operations = Operations::load(&workload, 1).unwrap();
    for (number, operation) in (10..40).zip(made(&mut operations, 0..workload.load_records())) {
        assert_eq!((operation.kind, operation.record), (Kind::Insert, number));
        assert_eq!(operation.key, workload.key(number));
        let fields: Vec<(usize, usize)> =
            operation.values.iter().map(|value| (value.field, value.text.len())).collect();
        assert_eq!(fields, (0..10).map(|field| (field, 100)).collect::<Vec<_>>());
    }
}

#[test]
fn kinds_come_in_the_shares_of_the_mix() {
    let mix = Mix { read: 3.0, update: 1.0, insert: 2.0, scan: 0.0, read_modify_write: 1.5, delete: 2.5 };
    let mut operations = run(&Workload { mix, ..Workload::default() }, 3);
    let mut counts = [0; Kind::ALL.len()];
    for operation in made(&mut operations, 0..50_000) {
        counts[Kind::ALL.iter().position(|kind| *kind == operation.kind).unwrap()] += 1;
    }
    assert_eq!(counts[3], 0, "nobody asked for scans");
    let counts = [counts[0], counts[1], counts[2], counts[4], counts[5]];
    assert_fits(&counts, &[0.3, 0.1, 0.2, 0.15, 0.25]);
}

#[test]
fn a_kind_without_a_share_never_comes_even_at_the_ends_of_the_numbers() {
    let kinds = super::Kinds::new(&Mix { update: 0.1, scan: 0.7, ..Mix::default() });
    assert_eq!(kinds.at(f64::MIN_POSITIVE), Kind::Update);
    assert_eq!(kinds.at(1.0), Kind::Scan);
}

#[test]
fn no_operation_asks_for_a_record_that_one_before_it_deletes() {
    let mix = Mix { read: 1.0, delete: 1.0, ..Mix::default() };
    let workload = Workload { mix, records: 200, ..Workload::default() };
    let mut deleted = BTreeSet::new();
    // About 150 of the 200 records are deleted.
    for operation in made(&mut run(&workload, 7), 0..300) {
        assert!(!deleted.contains(&operation.record), "{}", operation.record);
        if operation.kind == Kind::Delete {
            deleted.insert(operation.record);
        }
    }
    assert!(deleted.len() > 100, "{}", deleted.len());
}

#[test]
fn each_kind_reads_and_writes_what_it_should() {
    let mix = Mix { read: 1.0, update: 1.0, insert: 1.0, scan: 1.0, read_modify_write: 1.0, delete: 1.0 };
    for (reads_all, writes_all) in [(true, false), (false, true)] {
        let workload =
            Workload { mix, read_all_fields: reads_all, write_all_fields: writes_all, ..Workload::default() };
        for operation in made(&mut run(&workload, 4), 0..500) {
            let written = match operation.kind {
                Kind::Insert => 10,
                Kind::Update | Kind::ReadModifyWrite => {
                    if writes_all {
                        10
                    } else {
                        1
                    }
                }
                Kind::Read | Kind::Scan | Kind::Delete => 0,
            };
            assert_eq!(operation.values.iter().len(), written, "{operation:?}");
            let reads = matches!(operation.kind, Kind::Read | Kind::Scan | Kind::ReadModifyWrite);
            assert_eq!(operation.selection == Selection::All, reads_all || !reads, "{operation:?}");
            let is_scan = operation.kind == Kind::Scan;
            assert_eq!((1..=1000).contains(&operation.scan_records), is_scan, "{operation:?}");
        }
    }
}

#[test]
fn the_one_field_that_is_read_or_written_is_each_as_often() {
    let mix = Mix { read: 1.0, update: 1.0, ..Mix::default() };
    let workload = Workload { mix, read_all_fields: false, ..Workload::default() };
    let mut counts = [vec![0; 10], vec![0; 10]];
    for operation in made(&mut run(&workload, 5), 0..40_000) {
        match (operation.selection, operation.values.iter().next()) {
            (Selection::One(field), None) => counts[0][field] += 1,
            (Selection::All, Some(value)) => counts[1][value.field] += 1,
            _ => panic!("{operation:?}"),
        }
    }
    for counts in counts {
        assert_fits(&counts, &[0.1; 10]);
    }
}

#[test]
fn lengths_are_drawn_between_the_shortest_and_the_longest() {
    let workload = |distribution| Workload {
        field_count: 1,
        field_bytes: 8,
        field_bytes_min: 5,
        field_bytes_distribution: distribution,
        ..Workload::default()
    };
    let counts = |distribution| {
        let mut counts = [0; 4];
        let mut operations = Operations::load(&workload(distribution), 6).unwrap();
        for operation in made(&mut operations, 0..20_000) {
            counts[operation.values.iter().map(|value| value.text.len()).sum::<usize>() - 5] += 1;
        }
        counts
    };
    assert_eq!(counts(LengthDistribution::Constant), [0, 0, 0, 20_000]);
    assert_fits(&counts(LengthDistribution::Uniform), &[0.25; 4]);
    // Of four items the first two have their true shares; the third's and fourth's together are then true as well.
    let [first, second, third, fourth] = counts(LengthDistribution::ZIPFIAN);
    let weights = [1.0, 2.0_f64.powf(-0.99), 3.0_f64.powf(-0.99) + 4.0_f64.powf(-0.99)];
    let total: f64 = weights.iter().sum();
    assert_fits(&[first, second, third + fourth], &weights.map(|weight| weight / total));
}

#[test]
fn scans_ask_for_every_count_of_records_alike() {
    let workload = Workload { scan_records_min: 3, scan_records_max: 22, ..preset("e") };
    let mut counts = [0; 20];
    for operation in
        made(&mut run(&workload, 7), 0..20_000).iter().filter(|operation| operation.kind == Kind::Scan)
    {
        counts[operation.scan_records - 3] += 1;
    }
    assert_fits(&counts, &[0.05; 20]);
}

#[test]
fn inserts_of_all_threads_add_each_number_once_from_the_last_record_on() {
    let workload = preset("d");
    let inserted = Arc::new(InsertedKeys::new(&workload, Share::whole()));
    let added: Vec<u64> = thread::scope(|scope| {
        let insert = |index| {
            let mut operations = Operations::run(&workload, 8, Arc::clone(&inserted)).unwrap();
            let share = Share::new(index, 3);
            let numbers = (0..share.count(30_000)).map(move |own| share.position(own));
            let all = made(&mut operations, numbers);
            all.into_iter()
                .filter(|operation| operation.kind == Kind::Insert)
                .map(|operation| operation.record)
        };
        let threads: Vec<_> =
            (0..3).map(|index| scope.spawn(move || insert(index).collect::<Vec<_>>())).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let distinct: BTreeSet<u64> = added.iter().copied().collect();
    assert_eq!(distinct.len(), added.len());
    assert!(distinct.into_iter().eq(1000..1000 + added.len() as u64));
    assert_eq!(inserted.taken(), added.len() as u64);
}

#[test]
fn machines_add_records_of_their_own_numbers_and_ask_for_no_other_machine_s() {
    let mix = Mix { read: 0.5, insert: 0.5, ..Mix::default() };
    let latest = RequestDistribution::Latest;
    let workload = Workload { mix, records: 10, request_distribution: latest, ..Workload::default() };
    let of_machine = |index| {
        let share = Share::new(index, 3);
        let inserted = Arc::new(InsertedKeys::new(&workload, share));
        let mut operations = Operations::run(&workload, 8, Arc::clone(&inserted)).unwrap();
        let (mut operation, mut added) = (Operation::default(), BTreeSet::new());
        for own in 0..3_000 {
            operations.make(share.position(own), &mut operation);
            if operation.kind == Kind::Insert {
                inserted.acknowledge(operation.record);
                assert!(added.insert(operation.record));
            } else {
                assert!(operation.record < 10 || added.contains(&operation.record));
            }
        }
        added
    };
    for (index, added) in (0..3).map(of_machine).enumerate() {
        // Number `own` of machine `index` of three is record 10 + 3 · own + index.
        assert!(added.iter().copied().eq((10 + index as u64..).step_by(3).take(added.len())));
    }
}

#[test]
fn what_an_insert_added_is_asked_for_once_it_is_acknowledged() {
    for distribution in [RequestDistribution::Latest, RequestDistribution::ZIPFIAN] {
        let mix = Mix { read: 0.5, insert: 0.5, ..Mix::default() };
        let workload =
            Workload { mix, records: 10, request_distribution: distribution, ..Workload::default() };
        let inserted = Arc::new(InsertedKeys::new(&workload, Share::whole()));
        let mut operations = Operations::run(&workload, 9, Arc::clone(&inserted)).unwrap();
        let mut operation = Operation::default();
        let mut there: BTreeSet<u64> = (0..10).collect();
        let mut read = BTreeSet::new();
        for number in 0..20_000 {
            operations.make(number, &mut operation);
            if operation.kind == Kind::Read {
                assert!(there.contains(&operation.record), "{} is not there", operation.record);
                read.insert(operation.record);
            } else if operation.record % 3 != 0 {
                // Every third insert fails.
                inserted.acknowledge(operation.record);
                there.insert(operation.record);
            }
        }
        assert!(read.last().is_some_and(|newest| *newest > 9_000), "{read:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_operations_and_another_seed_others() {
    let operations = |seed| made(&mut run(&preset("a"), seed), 0..100);
    assert_eq!(operations(1), operations(1));
    assert_ne!(operations(1), operations(2));
    let inserts = |seed| made(&mut Operations::load(&preset("a"), seed).unwrap(), 0..10);
    assert_eq!(inserts(1), inserts(1));
    assert_ne!(inserts(1), inserts(2));
}

#[test]
fn values_that_are_verified_are_the_same_whoever_writes_them() {
    for insert_order in [InsertOrder::Hashed, InsertOrder::Ordered] {
        let workload = Workload { verify_values: true, insert_order, ..preset("f") };
        let mut check = Check::new(&workload).unwrap();
        let names = workload.field_names();
        let mut written = made(&mut Operations::load(&workload, 1).unwrap(), 0..20);
        written.extend(made(&mut run(&workload, 2), 0..200));
        for operation in written {
            for value in operation.values.iter() {
                assert!(
                    check.field(operation.key.as_str(), &names[value.field], value.text),
                    "{operation:?}"
                );
            }
        }
    }
}

#[test]
fn operations_made_in_one_place_keep_its_memory() {
    for (name, verify_values) in [("a", false), ("d", false), ("f", true)] {
        let workload = Workload { verify_values, ..preset(name) };
        let mut operations = run(&workload, 10);
        let mut operation = Operation::default();
        let places = |operation: &Operation| {
            (operation.key.as_str().as_ptr(), operation.values.iter().next().map(|value| value.text.as_ptr()))
        };
        // The first ones take what memory they need.
        (0..1000).for_each(|number| operations.make(number, &mut operation));
        let key = places(&operation).0;
        let mut texts = BTreeSet::new();
        for number in 1000..5000 {
            operations.make(number, &mut operation);
            let (this, text) = places(&operation);
            assert_eq!(this, key);
            texts.extend(text);
        }
        assert_eq!(texts.len(), 1);
    }
}

#[test]
fn a_workload_that_is_not_valid_makes_no_operations() {
    let invalid = Workload { field_count: 0, ..Workload::default() };
    assert!(Operations::load(&invalid, 0).is_err());
    assert!(Operations::run(&invalid, 0, Arc::new(InsertedKeys::new(&invalid, Share::whole()))).is_err());
}

proptest! {
    #[test]
    fn the_shares_of_all_threads_are_the_undivided_phase(
        name in prop::sample::select(vec!["a", "b", "c", "f"]),
        verify_values: bool,
        seed: u64,
        threads in 1_usize..9,
        total in 0_u64..200,
    ) {
        let workload = Workload { verify_values, ..preset(name) };
        let undivided = made(&mut run(&workload, seed), 0..total);
        for index in 0..threads {
            let share = Share::new(index, threads);
            // Backwards, as the order of the operations of a thread is of no matter either.
            let numbers = (0..share.count(total)).rev().map(|own| share.position(own));
            for (number, operation) in numbers.clone().zip(made(&mut run(&workload, seed), numbers)) {
                prop_assert_eq!(&operation, &undivided[usize::try_from(number).unwrap()]);
            }
        }
    }
}
