//! Random numbers that can be had again.

/// `SplitMix64` (Steele, Lea and Flood 2014): small, fast, and good enough for arrival times and choices.
///
/// The same seed gives the same numbers on every machine, so that a load can be repeated exactly.
#[derive(Clone, Copy, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// A generator for one purpose: different purposes draw from different numbers of the same seed.
    #[must_use]
    pub fn new(seed: u64, purpose: Purpose) -> Self {
        let mut random = Self { state: seed ^ purpose as u64 };
        // One step mixes seeds that differ in few bits apart.
        random.state = random.next_u64();
        random
    }

    /// The next number, evenly distributed.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        mix(self.state)
    }

    /// The next length from the exponential distribution of mean 1.
    pub fn next_exponential(&mut self) -> f64 {
        -unit(self.next_u64()).ln()
    }

    /// The next number above 0 and at most 1, evenly distributed in steps of 2⁻⁵³.
    pub fn next_unit(&mut self) -> f64 {
        unit(self.next_u64())
    }

    /// The next whole number below `bound`, which is above zero. Each is as likely to within `bound` in 2⁶⁴.
    #[allow(clippy::cast_possible_truncation)] // The upper half of the product is below the bound.
    pub fn next_below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// A generator for item `k` alone, so that an item may draw as many numbers as it needs and can be had in any order.
    #[must_use]
    pub fn at(&self, k: u64) -> Self {
        Self { state: mix(self.state.wrapping_add(STEP.wrapping_mul(k.wrapping_add(1)))) }
    }

    /// The number that comes after `k` others, above 0 and at most 1, without drawing those.
    #[must_use]
    pub fn unit_at(&self, k: u64) -> f64 {
        unit(mix(self.state.wrapping_add(STEP.wrapping_mul(k.wrapping_add(1)))))
    }
}

/// What the state grows by from one number to the next.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

fn mix(state: u64) -> u64 {
    let mut mixed = state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// A number above 0 and at most 1, in steps of 2⁻⁵³.
fn unit(number: u64) -> f64 {
    ((number >> 11) + 1) as f64 / (1_u64 << 53) as f64
}

/// What random numbers are drawn for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The times between arrivals.
    Arrivals = 0x6172_7269,
    /// The choice of requests.
    Requests = 0x7265_7175,
    /// What becomes of requests, where a server makes faults.
    Outcomes = 0x6f75_7463,
    /// Which answers a server delays.
    Delays = 0x6465_6c61,
    /// What is asked of a database.
    Operations = 0x6f70_6572,
    /// What values are made of.
    Texts = 0x7465_7874,
}

#[cfg(test)]
mod tests {
    use super::{Purpose, Random, unit};

    #[test]
    fn the_sequence_is_that_of_the_published_reference_implementation() {
        // The reference implementation's first three numbers for the state 1234567.
        let mut random = Random { state: 1_234_567 };
        let numbers: Vec<u64> = (0..3).map(|_| random.next_u64()).collect();
        assert_eq!(
            numbers,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn any_number_can_be_had_without_those_before_it() {
        let start = Random::new(5, Purpose::Requests);
        let mut random = start;
        for k in 0..100 {
            assert_eq!(start.unit_at(k).to_bits(), unit(random.next_u64()).to_bits());
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_numbers_and_another_purpose_gives_others() {
        let numbers = |seed, purpose| {
            let mut random = Random::new(seed, purpose);
            (0..8).map(|_| random.next_u64()).collect::<Vec<_>>()
        };
        assert_eq!(numbers(7, Purpose::Arrivals), numbers(7, Purpose::Arrivals));
        assert_ne!(numbers(7, Purpose::Arrivals), numbers(7, Purpose::Requests));
        assert_ne!(numbers(7, Purpose::Arrivals), numbers(8, Purpose::Arrivals));
    }

    #[test]
    fn whole_numbers_below_a_bound_are_equally_likely() {
        let mut random = Random::new(2, Purpose::Operations);
        let mut counts = [0_i32; 10];
        (0..100_000).for_each(|_| counts[usize::try_from(random.next_below(10)).unwrap()] += 1);
        // Each count is binomial with mean 10,000 and deviation 95; five of them are allowed.
        assert!(counts.iter().all(|count| (count - 10_000).abs() < 475), "{counts:?}");
    }

    #[test]
    fn the_generators_of_neighbouring_items_have_no_number_in_common() {
        let start = Random::new(3, Purpose::Operations);
        let mut numbers: Vec<u64> = (0..1_000)
            .flat_map(|k| {
                let mut random = start.at(k);
                (0..10).map(move |_| random.next_u64()).collect::<Vec<_>>()
            })
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 10_000);
    }

    #[test]
    fn exponential_lengths_have_mean_one_and_variance_one() {
        let mut random = Random::new(1, Purpose::Arrivals);
        let count = 200_000;
        let lengths: Vec<f64> = (0..count).map(|_| random.next_exponential()).collect();
        let mean = lengths.iter().sum::<f64>() / f64::from(count);
        let variance = lengths.iter().map(|length| (length - mean).powi(2)).sum::<f64>() / f64::from(count);
        // The standard errors are 1/√n = 0.0022 and √8/√n = 0.0063; four of them are allowed.
        assert!((mean - 1.0).abs() < 0.009, "{mean}");
        assert!((variance - 1.0).abs() < 0.026, "{variance}");
    }
}
