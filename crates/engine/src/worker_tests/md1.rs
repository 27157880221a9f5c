//! The queue M/D/1: Poisson arrivals at a server that serves one after the other, and each equally long.
//!
//! Times are counted in service times, unless they are [`Nanos`].

use loadcurve_plan::{Arrivals, Nanos, RateProfile, Schedule, Share};

/// No share beyond this many waiting requests is as large as the rounding of a sum, up to a utilization of 0.9.
const LEVELS: usize = 200;

/// The queue in its steady state.
pub(crate) struct Md1 {
    /// The share of the time in which the server is busy.
    utilization: f64,
    /// For each number from 0 on, the probability that at most this many requests are in the system, served or waiting.
    at_most: Vec<f64>,
}

impl Md1 {
    /// The queue at this utilization, between 0 and 0.9.
    pub(crate) fn new(utilization: f64) -> Self {
        // How likely n requests arrive during a service, and more than n, summed from the small end.
        let exactly: Vec<f64> = poisson(utilization).take(LEVELS).collect();
        let mut more_than = vec![0.0; LEVELS];
        for n in (1..LEVELS).rev() {
            more_than[n - 1] = more_than[n] + exactly[n];
        }
        // What rises from at most n requests in the system to more, from one departure to the next, balances what falls
        // from n + 1 to n (Tijms, A First Course in Stochastic Models, 2003, section 9.2.1). All terms are positive, so
        // nothing cancels.
        let mut shares = vec![1.0 - utilization];
        for n in 0..LEVELS {
            let rising: f64 = (1..=n).map(|k| shares[k] * more_than[n + 1 - k]).sum();
            shares.push((shares[0] * more_than[n] + rising) / exactly[0]);
        }
        let sums = shares.iter().scan(0.0, |sum, share| {
            *sum += share;
            Some(*sum)
        });
        Self { utilization, at_most: sums.collect() }
    }

    /// The mean waiting time: ρ / 2(1 − ρ) (Pollaczek 1930, Khinchine 1932).
    pub(crate) fn mean_wait(&self) -> f64 {
        self.utilization / (2.0 * (1.0 - self.utilization))
    }

    /// The probability that a request waits at most `time`.
    ///
    /// Erlang's sum of 1909 has terms of both signs, which cancel for long times. This one has positive terms alone
    /// (Franx, A simple solution for the M/D/c waiting time distribution, Operations Research Letters 29, 2001). With
    /// k − 1 ≤ time < k, the server takes up k requests from k − time before an arrival to `time` after it; so the
    /// arrival is among them if at most k − 1 wait at the first moment or arrive since.
    pub(crate) fn wait_at_most(&self, time: f64) -> f64 {
        let taken_up = floor(time) + 1;
        let expected = self.utilization * (taken_up as f64 - time);
        // The number that may be in the system at the first moment, one of them served, when 0, 1, 2, … arrive since.
        let may_be_there = self.at_most[1..=taken_up].iter().rev();
        may_be_there.zip(poisson(expected)).map(|(at_most, arrive)| at_most * arrive).sum()
    }

    /// The waiting time that this share of the requests does not exceed, to a millionth of a service.
    pub(crate) fn wait_quantile(&self, quantile: f64) -> f64 {
        let (mut low, mut high) = (0.0, LEVELS as f64 / 2.0);
        while high - low > 1e-6 {
            let middle = f64::midpoint(low, high);
            if self.wait_at_most(middle) < quantile { low = middle } else { high = middle }
        }
        high
    }
}

/// The probabilities of 0, 1, 2, … events where `expected` are expected.
fn poisson(expected: f64) -> impl Iterator<Item = f64> {
    (1_u32..).scan((-expected).exp(), move |next, count| {
        let this = *next;
        *next *= expected / f64::from(count);
        Some(this)
    })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "times are small and not negative"
)]
fn floor(time: f64) -> usize {
    time.floor() as usize
}

/// The due times of Poisson arrivals of this rate.
pub(crate) fn poisson_arrivals(rate_rps: f64, seed: u64) -> impl Iterator<Item = Nanos> {
    let profile = RateProfile::constant(rate_rps).unwrap();
    let mut schedule = Schedule::new(profile, Arrivals::Poisson, seed, Share::whole());
    std::iter::repeat_with(move || {
        let due = schedule.next_due();
        schedule.take();
        due
    })
}

/// How long each request waits for the server: Lindley's recursion (1952), which knows nothing of distributions.
pub(crate) fn waits(
    arrivals: impl Iterator<Item = Nanos>,
    service_time: Nanos,
) -> impl Iterator<Item = Nanos> {
    arrivals.scan(Nanos::ZERO, move |free_at, arrival| {
        let wait = *free_at - arrival;
        *free_at = arrival + wait + service_time;
        Some(wait)
    })
}
