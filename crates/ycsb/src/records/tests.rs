use super::{Records, SCATTERED_ITEMS, address, exponential};
use crate::goodness::assert_fits;
use crate::hash::scattered;
use crate::inserted::InsertedKeys;
use crate::workload::{RequestDistribution, Workload};
use loadcurve_plan::{Purpose, Random, Share};
use proptest::prelude::*;
use std::collections::BTreeSet;

const DRAWS: u64 = 200_000;

fn workload(records: u64, request_distribution: RequestDistribution) -> Workload {
    Workload { records, request_distribution, ..Workload::default() }
}

/// How often each record up to the newest is asked for.
fn counts(workload: &Workload, inserted: &InsertedKeys) -> Vec<u64> {
    let mut records = Records::new(workload);
    let start = Random::new(11, Purpose::Operations);
    let mut counts = vec![0; usize::try_from(inserted.end()).unwrap()];
    for number in 0..DRAWS {
        let record = records.choose(number, &mut start.at(number), inserted);
        counts[usize::try_from(record).unwrap()] += 1;
    }
    counts
}

fn counts_at_first(workload: &Workload) -> Vec<u64> {
    counts(workload, &InsertedKeys::new(workload, Share::whole()))
}

/// The probabilities of the items of a Zipfian distribution by the formula of Gray et al., the rest in a last one.
fn zipfian(count: u64, several: u64) -> Vec<f64> {
    let (theta, items) = (0.99, count as f64);
    // By the Euler–Maclaurin expansion where there are too many to add up; the constant is YCSB's.
    let total = if items > 1e9 {
        26.469_028_201_783_02
    } else {
        (1..=count).map(|item| (item as f64).powf(-theta)).sum()
    };
    let first_two = 1.0 + 2.0_f64.powf(-theta);
    let eta = (1.0 - (2.0 / items).powf(1.0 - theta)) / (1.0 - first_two / total);
    let below = |item: u64| match item {
        0 => 0.0,
        1 => 1.0 / total,
        2 => first_two / total,
        // The formula may begin a little below or above what the first two have: that falls to the third.
        _ => (((item as f64 / items).powf(1.0 - theta) - 1.0 + eta) / eta).max(first_two / total),
    };
    let mut probabilities: Vec<f64> = (0..several).map(|item| below(item + 1) - below(item)).collect();
    probabilities.push(1.0 - below(several));
    probabilities
}

#[test]
fn uniform_asks_for_every_record_as_often() {
    assert_fits(&counts_at_first(&workload(1000, RequestDistribution::Uniform)), &[1e-3; 1000]);
}

#[test]
fn operations_ask_for_the_part_of_the_records_that_the_load_phase_inserts() {
    for distribution in [
        RequestDistribution::Uniform,
        RequestDistribution::Sequential,
        RequestDistribution::ZIPFIAN,
        RequestDistribution::hotspot(),
    ] {
        let part = Workload { insert_start: 20, insert_count: Some(50), ..workload(100, distribution) };
        let counts = counts_at_first(&part);
        assert!(counts[20..70].iter().all(|count| *count > 0), "{distribution:?}");
        assert_eq!(counts[..20].iter().chain(&counts[70..]).sum::<u64>(), 0, "{distribution:?}");
    }
}

#[test]
fn a_hotspot_gets_its_share() {
    let counts = counts_at_first(&workload(100, RequestDistribution::hotspot()));
    let mut probabilities = vec![0.8 / 20.0; 20];
    probabilities.extend([0.2 / 80.0; 80]);
    assert_fits(&counts, &probabilities);
}

#[test]
fn a_hotspot_of_no_records_or_of_all_asks_for_all_alike() {
    for records in [0.0, 1.0] {
        let hotspot = RequestDistribution::Hotspot { records, operations: 0.5 };
        assert_fits(&counts_at_first(&workload(100, hotspot)), &[0.01; 100]);
    }
}

#[test]
fn sequential_asks_for_one_record_after_the_other_and_begins_again() {
    let workload = workload(7, RequestDistribution::Sequential);
    let mut records = Records::new(&workload);
    let inserted = InsertedKeys::new(&workload, Share::whole());
    let mut random = Random::new(1, Purpose::Operations);
    let asked: Vec<u64> = (0..15).map(|number| records.choose(number, &mut random, &inserted)).collect();
    assert_eq!(asked, [0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 5, 6, 0]);
}

#[test]
fn zipfian_scatters_items_by_their_hashes() {
    const RECORDS: u64 = 1000;
    const SEVERAL: u64 = 100_000;
    let items = zipfian(SCATTERED_ITEMS, SEVERAL);
    // The items behind the first ones are so many and so rare that each record has its part of them.
    let mut probabilities = vec![items[items.len() - 1] / RECORDS as f64; 1000];
    for item in 0..SEVERAL {
        let record = usize::try_from(scattered(item) % RECORDS).unwrap();
        probabilities[record] += items[usize::try_from(item).unwrap()];
    }
    assert_fits(&counts_at_first(&workload(RECORDS, RequestDistribution::ZIPFIAN)), &probabilities);
}

#[test]
fn latest_asks_for_the_newest_record_most() {
    let workload = workload(900, RequestDistribution::Latest);
    let inserted = InsertedKeys::new(&workload, Share::whole());
    (900..1000).for_each(|record| inserted.acknowledge(record));
    let mut counts = counts(&workload, &inserted);
    counts.reverse();
    let mut probabilities = zipfian(1000, 999);
    // By 999 of 1,000 items nothing is left but the last.
    assert_eq!(probabilities.len(), 1000);
    let sum: f64 = probabilities.iter().sum();
    probabilities[999] += 1.0 - sum;
    assert_fits(&counts, &probabilities);
}

#[test]
fn exponential_falls_as_its_percentile_says() {
    let exponential = RequestDistribution::Exponential { percentile: 90.0, fraction: 0.5 };
    let mut counts = counts_at_first(&workload(200, exponential));
    counts.reverse();
    // Of an exponential distribution of which 90 % are below 100, what is below 200: 99 %.
    let below = |records: i32| (1.0 - 0.1_f64.powf(f64::from(records) / 100.0)) / 0.99;
    let probabilities: Vec<f64> = (0..200).map(|record| below(record + 1) - below(record)).collect();
    assert_fits(&counts, &probabilities);
}

#[test]
fn popular_records_stay_popular_when_records_are_added() {
    // The ten most popular items of 1,000 records, before and after a twentieth more were added.
    let places: Vec<u64> = (0..10).map(|item| address(scattered(item), 1000, 1000)).collect();
    let later: Vec<u64> = (0..10).map(|item| address(scattered(item), 1000, 1050)).collect();
    let moved: Vec<_> = places.iter().zip(&later).filter(|(place, later)| place != later).collect();
    // Only those whose place was split can have moved, and only to the half of it that was added.
    assert!(moved.iter().all(|(place, later)| **place < 50 && **later == **place + 1000), "{moved:?}");
}

proptest! {
    #[test]
    fn one_more_place_takes_items_from_one_place_only(first in 1_u64..50, more in 0_u64..500, hash: u64) {
        let (before, after) = (address(hash, first, first + more), address(hash, first, first + more + 1));
        prop_assert!(before < first + more);
        prop_assert!(after == before || after == first + more, "from {} to {}", before, after);
    }

    #[test]
    fn every_place_is_reached(first in 1_u64..20, more in 0_u64..100) {
        let places = first + more;
        let reached: BTreeSet<u64> = (0..first * 128).map(|hash| address(hash, first, places)).collect();
        prop_assert!(reached.into_iter().eq(0..places));
    }

    #[test]
    fn the_exponential_distribution_is_cut_off_at_its_bound(
        unit in 0.0_f64..=1.0,
        mean in 1e-6_f64..1e12,
        bound in 1_u64..1 << 53,
    ) {
        prop_assert!(exponential(unit.max(f64::MIN_POSITIVE), mean, bound) < bound);
    }

    #[test]
    fn whatever_the_distribution_only_records_that_are_there_are_asked_for(
        records in 1_u64..300,
        added in prop::collection::btree_set(0_u64..300, 0..40),
        distribution in prop_oneof![
            Just(RequestDistribution::Uniform),
            Just(RequestDistribution::ZIPFIAN),
            Just(RequestDistribution::Latest),
            Just(RequestDistribution::hotspot()),
            Just(RequestDistribution::exponential()),
            Just(RequestDistribution::Sequential),
        ],
    ) {
        let workload = workload(records, distribution);
        let inserted = InsertedKeys::new(&workload, Share::whole());
        for place in &added {
            inserted.acknowledge(records + place);
        }
        let mut chosen = Records::new(&workload);
        let mut random = Random::new(5, Purpose::Operations);
        for number in 0..500 {
            let record = chosen.choose(number, &mut random, &inserted);
            prop_assert!(record < records || added.contains(&(record - records)), "record {}", record);
        }
    }
}
