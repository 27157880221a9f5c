use super::{PowerSums, Zipfian};
use proptest::prelude::*;

const THETAS: [f64; 5] = [0.1, 0.5, 0.9, 0.99, 0.9999];

/// Which part of all numbers is below `item`, by the formula of Gray et al. turned around; from the second item on.
fn share_below(zipfian: &Zipfian, item: u64) -> f64 {
    let part = (item as f64 / zipfian.items as f64).powf(1.0 - zipfian.sums.theta);
    (part - 1.0 + zipfian.eta) / zipfian.eta
}

#[test]
fn sums_are_those_that_adding_up_gives() {
    for theta in THETAS {
        let sums = PowerSums::new(theta);
        let mut added = 0.0;
        for term in 1..=200_000_u64 {
            added += (term as f64).powf(-theta);
            if term < 200 || term % 1000 == 0 {
                let relative = (sums.up_to(term) / added - 1.0).abs();
                assert!(relative < 1e-11, "{theta}: {term} terms are off by {relative}");
            }
        }
    }
}

#[test]
fn the_sum_of_ten_thousand_million_terms_is_ycsbs_constant() {
    // ScrambledZipfianGenerator.ZETAN of YCSB 0.17.0, which took its authors hours to add up.
    let difference = PowerSums::new(0.99).up_to(10_000_000_000) - 26.469_028_201_783_02;
    assert!(difference.abs() < 1e-9, "{difference}");
}

#[test]
fn the_first_two_items_have_exactly_their_shares() {
    for theta in THETAS {
        let zipfian = Zipfian::new(theta, 1000);
        let total: f64 = (1..=1000).map(|item| f64::from(item).powf(-theta)).sum();
        let (first, second) = (1.0 / total, 2.0_f64.powf(-theta) / total);
        for (share, item) in [(first - 1e-9, 0), (first + 1e-9, 1), (first + second - 1e-9, 1)] {
            assert_eq!(zipfian.at(share), item, "{theta}");
        }
        assert!(zipfian.at(first + second + 1e-9) >= 2);
    }
}

#[test]
fn the_other_items_have_the_shares_of_the_published_formula() {
    let zipfian = Zipfian::new(0.99, 1000);
    for item in 3..1000 {
        let share = share_below(&zipfian, item);
        assert_eq!(zipfian.at(share - 1e-12), item - 1);
        assert_eq!(zipfian.at(share + 1e-12), item);
    }
}

#[test]
fn the_formula_is_near_the_true_distribution() {
    // Gray et al. call it an approximation: its distribution function is within 2.5 percentage points of the true one.
    for items in [10_u32, 1000, 100_000] {
        let zipfian = Zipfian::new(0.99, u64::from(items));
        let total: f64 = (1..=items).map(|item| f64::from(item).powf(-0.99)).sum();
        let mut below = 0.0;
        for item in 0..items {
            if item >= 3 {
                let difference = share_below(&zipfian, u64::from(item)) - below;
                assert!(difference.abs() < 0.025, "{items} items, below {item}: {difference}");
            }
            below += f64::from(item + 1).powf(-0.99) / total;
        }
    }
}

#[test]
fn a_count_that_grew_draws_as_one_that_began_so() {
    let mut grown = Zipfian::new(0.99, 1);
    for items in [2, 3, 64, 65, 1000, 1_000_000, 10] {
        grown.set_items(items);
        let fresh = Zipfian::new(0.99, items);
        for share in 0..1000 {
            let share = f64::from(share) / 1000.0;
            assert_eq!(grown.at(share), fresh.at(share));
        }
    }
}

proptest! {
    #[test]
    fn no_number_is_outside_of_the_items_and_greater_shares_give_no_smaller_ones(
        theta in 0.001_f64..0.9999,
        items in prop_oneof![1_u64..10, 1_u64..10_000, 1_u64..1 << 53],
        one in 0.0_f64..1.0,
        other in 0.0_f64..1.0,
    ) {
        let zipfian = Zipfian::new(theta, items);
        let almost_one = 1.0 - f64::EPSILON / 2.0;
        let numbers = [0.0, one.min(other), one.max(other), almost_one].map(|share| zipfian.at(share));
        prop_assert!(numbers.is_sorted(), "{numbers:?}");
        prop_assert!(numbers[3] < items, "{numbers:?}");
        prop_assert_eq!(numbers[0], 0);
    }
}
