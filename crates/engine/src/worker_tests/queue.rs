//! Poisson arrivals at a server that takes one request after the other, against the theory of that queue.

use loadcurve_plan::{Arrivals, HttpLoad, Model, Nanos, Rate, Stop};
use loadcurve_record::TimeHistogram;

use super::md1::{Md1, poisson_arrivals, waits};
use super::simulated::{START, Simulation};
use super::{assert_close, at_quantile, ms, plan};

const SERVICE_TIME: Nanos = ms(5);
/// 140 requests per second for 5 ms each keep the server busy for 0.7 of the time.
const RATE_RPS: f64 = 140.0;
const UTILIZATION: f64 = 0.7;
const REQUESTS: u64 = 200_000;
/// How many standard errors leave out one in a thousand, on both sides together.
const STANDARD_ERRORS: f64 = 3.29;

fn services(time: Nanos) -> f64 {
    time.0 as f64 / SERVICE_TIME.0 as f64
}

/// Waiting times of a separate series, with another seed than those that are judged.
fn reference_waits() -> Vec<f64> {
    waits(poisson_arrivals(RATE_RPS, 1_909), SERVICE_TIME).take(300_000).map(services).collect()
}

/// By how much the mean of a figure of the waiting times varies from load to load, as one standard error.
///
/// Requests that find the server free divide the series into cycles that are independent of each other, so the sums of
/// what a cycle's figures differ from `mean` have the variance of the mean (Crane and Lemoine, An Introduction to the
/// Regenerative Method, 1977).
fn standard_error(reference_waits: &[f64], mean: f64, figure: impl Fn(f64) -> f64) -> f64 {
    let (mut squares, mut cycle) = (0.0, 0.0);
    for wait in reference_waits {
        if *wait <= 0.0 {
            squares += cycle * cycle;
            cycle = 0.0;
        }
        cycle += figure(*wait) - mean;
    }
    (squares / reference_waits.len() as f64 / REQUESTS as f64).sqrt()
}

#[test]
fn the_waiting_times_of_the_theory_are_erlangs_sum_where_that_does_not_cancel() {
    for utilization in [0.2, 0.7, 0.9] {
        let queue = Md1::new(utilization);
        for quarter in 0..24 {
            let time = f64::from(quarter) / 4.0;
            let mut factorial = 1.0;
            let terms = (0..=quarter / 4).map(|services| {
                factorial *= f64::from(services.max(1));
                let exponent = utilization * (f64::from(services) - time);
                exponent.powi(services) / factorial * (-exponent).exp()
            });
            assert_close(queue.wait_at_most(time), (1.0 - utilization) * terms.sum::<f64>());
        }
    }
}

#[test]
fn the_waiting_times_of_the_theory_have_the_mean_of_pollaczek_and_khinchine() {
    for utilization in [0.2, 0.7, 0.9] {
        let queue = Md1::new(utilization);
        // The mean is the integral of the share that waits longer. Simpson's rule needs a smooth function, and this one
        // is smooth between whole numbers of services.
        let longer = |time: f64| 1.0 - queue.wait_at_most(time);
        let mean: f64 = (0..1_500)
            .map(|tenth| f64::from(tenth) / 10.0)
            .map(|start| (longer(start) + 4.0 * longer(start + 0.05) + longer(start + 0.1)) / 60.0)
            .sum();
        assert!((mean - queue.mean_wait()).abs() < 1e-6, "{mean} instead of {}", queue.mean_wait());
    }
}

/// What a load of Poisson arrivals measures at a server that takes one request after the other.
fn measured_latency(seed: u64) -> TimeHistogram {
    let model =
        Model::Open { connections: 10, rate_rps: Rate::Constant(RATE_RPS), arrivals: Arrivals::Poisson };
    let plan = HttpLoad { seed, ..plan(model, Stop::RequestsTotal(REQUESTS)) };
    let mut free_at = START;
    let (part, _) = Simulation::of(&plan).run(move |arrival| {
        free_at = free_at.max(arrival) + SERVICE_TIME;
        Some(free_at)
    });
    part.recorder.latency()
}

#[test]
fn each_request_waits_for_those_before_it_to_the_nanosecond() {
    let seed = 1;
    let found = measured_latency(seed);
    let mut expected = TimeHistogram::default();
    for wait in waits(poisson_arrivals(RATE_RPS, seed), SERVICE_TIME).take(usize::try_from(REQUESTS).unwrap())
    {
        expected.record(wait + SERVICE_TIME);
    }
    assert_eq!((found.count(), found.extremes()), (REQUESTS, expected.extremes()));
    assert_eq!(found.mean_ns(), expected.mean_ns());
    assert_eq!(found.standard_deviation_ns(), expected.standard_deviation_ns());
}

#[test]
fn waiting_times_have_the_mean_and_the_quantiles_of_the_theory() {
    let (latency, reference) = (measured_latency(2), reference_waits());
    let queue = Md1::new(UTILIZATION);
    let (mean_wait, expected) = (latency.mean_ns().unwrap() / SERVICE_TIME.0 as f64 - 1.0, queue.mean_wait());
    let error = STANDARD_ERRORS * standard_error(&reference, expected, |wait| wait);
    assert!((mean_wait - expected).abs() < error, "{mean_wait} instead of {expected} ± {error}");
    for quantile in [0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999] {
        let limit = queue.wait_quantile(quantile);
        let error =
            STANDARD_ERRORS * standard_error(&reference, quantile, |wait| f64::from(u8::from(wait <= limit)));
        // The histogram gives the latency to a thousandth: which share of the requests waits less, by theory?
        let found = services(at_quantile(&latency, quantile));
        let (least, most) =
            (queue.wait_at_most(found * 0.999 - 1.0), queue.wait_at_most(found * 1.001 - 1.0));
        assert!(
            least < quantile + error && most > quantile - error,
            "the quantile {quantile} ± {error} of the latencies is between those of {least} and {most}"
        );
    }
}
