//! Poisson arrivals at a server that takes one request after the other: what each of them waits is known beforehand.
//!
//! Over one backend alone: that both time alike is held by the comparisons in `times` and `agreement`.

use std::sync::Mutex;

use loadcurve_plan::{Arrivals, HttpLoad, Model, Nanos, Rate, Stop};

use crate::support::{Reply, Server, compare_times, ok, open};

#[path = "../../src/worker_tests/md1.rs"]
mod md1;

use md1::{Md1, poisson_arrivals, waits};

const SERVICE_TIME: Nanos = Nanos::from_millis(5);
/// 140 requests per second for 5 ms each keep the server busy for 0.7 of the time.
const RATE_RPS: f64 = 140.0;
const UTILIZATION: f64 = 0.7;
const REQUESTS: usize = 400;
const SEED: u64 = 7;

/// A figure of a distribution: the quantile of this share, or the mean where there is none.
type Figure = (&'static str, Option<f64>);

const FIGURES: [Figure; 6] = [
    ("mean", None),
    ("p50", Some(0.5)),
    ("p75", Some(0.75)),
    ("p90", Some(0.9)),
    ("p95", Some(0.95)),
    ("p99", Some(0.99)),
];

/// A server that takes the requests of all connections one after the other.
///
/// A request is done at a time on the clock, so that a write which is late does not delay the next.
fn one_at_a_time() -> Server {
    let free_at = Mutex::new(Nanos::ZERO);
    Server::scripted(move |asked| {
        let mut free_at = free_at.lock().unwrap();
        *free_at = free_at.max(asked.arrived) + SERVICE_TIME;
        Reply::answer(ok("hello")).at(*free_at)
    })
}

/// What the requests of a load with this seed wait, the shortest first.
fn sorted_waits(seed: u64) -> Vec<Nanos> {
    let mut waits: Vec<Nanos> =
        waits(poisson_arrivals(RATE_RPS, seed), SERVICE_TIME).take(REQUESTS).collect();
    waits.sort_unstable();
    waits
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rank is a small whole number")]
fn figure_ms(sorted: &[Nanos], (_, share): Figure) -> f64 {
    match share {
        None => sorted.iter().map(|wait| wait.as_millis_f64()).sum::<f64>() / sorted.len() as f64,
        Some(share) => sorted[(share * sorted.len() as f64).ceil() as usize - 1].as_millis_f64(),
    }
}

fn steady_state_ms(queue: &Md1, (_, share): Figure) -> f64 {
    share.map_or(queue.mean_wait(), |share| queue.wait_quantile(share)) * SERVICE_TIME.as_millis_f64()
}

/// Between which values 999 of 1000 loads of this length find the figure, by four thousand simulated ones.
fn central_range_ms(samples: &[Vec<Nanos>], figure: Figure) -> (f64, f64) {
    let mut found: Vec<f64> = samples.iter().map(|sorted| figure_ms(sorted, figure)).collect();
    found.sort_unstable_by(f64::total_cmp);
    let outside = samples.len() / 2_000;
    (found[outside], found[samples.len() - 1 - outside])
}

#[test]
fn waiting_times_in_front_of_a_server_for_one_at_a_time_are_those_of_its_queue() {
    let samples: Vec<Vec<Nanos>> = (1_000..5_000).map(sorted_waits).collect();
    let queue = Md1::new(UTILIZATION);
    let expected = sorted_waits(SEED);
    compare_times(|comparison| {
        let server = one_at_a_time();
        let model =
            Model::Open { connections: 50, rate_rps: Rate::Constant(RATE_RPS), arrivals: Arrivals::Poisson };
        let stop = Stop::RequestsTotal(REQUESTS as u64);
        let plan = HttpLoad { model, seed: SEED, ..open(server.address, 50, RATE_RPS, stop) };
        let (measured, _) = comparison.measure(plan, server);
        for figure in FIGURES {
            let (name, service_ms) = (figure.0, SERVICE_TIME.as_millis_f64());
            // The load's own arrivals give its latencies without any error of sampling.
            comparison.distribution(
                &measured,
                "latency_ms",
                &[(name, figure_ms(&expected, figure) + service_ms)],
            );
            // What is found and what holds in the steady state differ by no more than loads of this length do.
            let (least_ms, most_ms) = central_range_ms(&samples, figure);
            let (found_ms, steady_ms) = (
                measured.number(&format!("/latency_ms/{name}")) - service_ms,
                steady_state_ms(&queue, figure),
            );
            for wait_ms in [found_ms, steady_ms] {
                comparison.require((least_ms..=most_ms).contains(&wait_ms), || {
                    format!("{name} of the waits: {wait_ms} ms is not between {least_ms} and {most_ms} ms")
                });
            }
        }
    });
}
