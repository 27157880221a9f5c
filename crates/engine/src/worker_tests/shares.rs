//! The workers of a plan do together what one alone would do.

use loadcurve_plan::{
    Arrivals, Conversation, HttpLoad, Model, Nanos, Pick, Rate, RateStretch, Recording, Requests, Share, Stop,
};
use proptest::prelude::*;

use super::simulated::{START, Sent, Simulation};
use super::{closed, get, ms, open, plan, taking};
use crate::gathered::Gathered;
use crate::kernel::TcpCounters;
use crate::load::result_of;
use crate::part::Finished;
use crate::transport::numbers;

/// What all workers send, and when since the start, in order of time.
fn sent_by_all_workers(plan: &HttpLoad) -> Vec<Sent> {
    sent_by(plan, &shares_of(Share::whole(), plan.threads))
}

/// The parts of a share that this number of workers have.
fn shares_of(share: Share, workers: usize) -> Vec<Share> {
    (0..workers).map(|index| share.part(index, workers)).collect()
}

/// What the workers of these shares send.
fn sent_by(plan: &HttpLoad, shares: &[Share]) -> Vec<Sent> {
    let simulation = Simulation::of(plan);
    for share in shares {
        let (_, epoch) = simulation.run_share(*share, taking(Nanos(100)));
        assert_eq!(epoch, START);
    }
    simulation.sent_since_start()
}

#[test]
fn three_workers_together_send_the_undivided_schedule() {
    let plan = HttpLoad { threads: 3, ..open(9, 997.0, Stop::DurationS(0.5)) };
    let sent = sent_by_all_workers(&plan);
    // Request k is due after k/997 s; 498 such intervals end before 0.5 s, so requests 0 to 498 are due.
    assert_eq!(sent.len(), 499);
    for (number, (time, _)) in sent.iter().enumerate() {
        assert!((time.as_secs_f64() - number as f64 / 997.0).abs() < 2e-9, "request {number} at {time:?}");
    }
}

#[test]
fn three_workers_together_send_the_first_requests_after_the_warm_up() {
    // Due every 100 ms: 0 … 300 ms are of the warm-up of 0.4 s, and the five measured ones follow without a gap.
    let plan = HttpLoad { threads: 3, warmup_s: 0.4, ..open(9, 10.0, Stop::RequestsTotal(5)) };
    assert_eq!(sent_by_all_workers(&plan), (0..9).map(|k| (ms(100 * k), 0)).collect::<Vec<_>>());
}

/// Constant rates, steps and ramps.
fn rates() -> impl Strategy<Value = Rate> {
    let rate_rps = || 50.0_f64..2_000.0;
    let stretch = (0.01_f64..0.2, rate_rps(), rate_rps(), any::<bool>());
    let stretch = stretch.prop_map(|(length_s, from_rps, to_rps, is_step)| RateStretch {
        length_s,
        from_rps,
        to_rps: if is_step { from_rps } else { to_rps },
    });
    prop_oneof![
        rate_rps().prop_map(Rate::Constant),
        prop::collection::vec(stretch, 1..4).prop_map(Rate::Changing)
    ]
}

fn arrivals() -> impl Strategy<Value = Arrivals> {
    prop_oneof![Just(Arrivals::Constant), Just(Arrivals::Poisson)]
}

/// Every way to take requests, from a list of up to six, each with its own weight.
fn picking(plan: HttpLoad) -> impl Strategy<Value = HttpLoad> {
    let picks = prop_oneof![Just(Pick::InOrder), Just(Pick::Random), Just(Pick::Weighted)];
    (picks, prop::collection::vec(0.1_f64..5.0, 1..7), any::<u64>()).prop_map(move |(pick, weights, seed)| {
        // The simulated server tells requests of one length apart by their targets.
        let request =
            |(index, weight)| loadcurve_plan::Request { target: format!("/{index}"), weight, ..get() };
        let requests = Requests::Given(weights.into_iter().enumerate().map(request).collect());
        HttpLoad {
            seed,
            ..plan.clone().with(|http| {
                http.requests = requests;
                http.pick = pick;
            })
        }
    })
}

/// Enough connections that each of sixteen workers always has one free for a server that is quick.
const CONNECTIONS: usize = 16 * 8;

/// Requests that fall due on a schedule, which a number of them or a time ends.
fn open_plans() -> impl Strategy<Value = HttpLoad> {
    let stops =
        prop_oneof![(1_u64..300).prop_map(Stop::RequestsTotal), (0.01_f64..0.4).prop_map(Stop::DurationS)];
    (rates(), arrivals(), stops, 0.0_f64..0.2).prop_flat_map(|(rate_rps, arrivals, stop, warmup_s)| {
        let model = Model::Open { connections: CONNECTIONS, rate_rps, arrivals };
        picking(HttpLoad { warmup_s, ..plan(model, stop) })
    })
}

/// Requests that were recorded, no two of them so close together that a quick server still has the first one.
fn replay_plans() -> impl Strategy<Value = HttpLoad> {
    let stops = prop_oneof![
        Just(Stop::Recording),
        (1_u64..300).prop_map(Stop::RequestsTotal),
        (0.01_f64..0.4).prop_map(Stop::DurationS)
    ];
    let gaps = prop::collection::vec(1_000_u64..5_000_000, 1..150);
    (gaps, 0.5_f64..4.0, stops, 0.0_f64..0.1).prop_flat_map(|(gaps, speed, stop, warmup_s)| {
        let moments = gaps.into_iter().scan(0, |moment, gap| {
            *moment += gap;
            Some(Nanos(*moment))
        });
        let recording = Recording::new(moments.collect::<Vec<_>>()).unwrap();
        let model = Model::Recorded { connections: CONNECTIONS, speed, recording: Recording::default() };
        let load = HttpLoad { warmup_s, ..plan(model, stop) }.replaying(recording);
        picking(load).prop_map(|load| load.with(|http| http.pick = Pick::InOrder))
    })
}

/// Connections that arrive on a schedule and make one call each.
fn session_plans() -> impl Strategy<Value = HttpLoad> {
    let stops =
        prop_oneof![(1_u64..300).prop_map(Stop::ConnectionsTotal), (0.01_f64..0.4).prop_map(Stop::DurationS)];
    (rates(), arrivals(), stops, 0.0_f64..0.2).prop_flat_map(
        |(connection_rate_cps, arrivals, stop, warmup_s)| {
            let model = Model::Sessions { connections: CONNECTIONS, connection_rate_cps, arrivals };
            let conversation = Conversation { calls: Some(1), ..Conversation::default() };
            picking(HttpLoad { warmup_s, ..plan(model, stop).with(|http| http.conversation = conversation) })
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_number_of_workers_send_the_same_requests_at_the_same_times_as_one(
        plan in prop_oneof![open_plans(), replay_plans(), session_plans()], workers in 1_usize..17,
    ) {
        let undivided = sent_by_all_workers(&plan);
        prop_assert_eq!(sent_by_all_workers(&HttpLoad { threads: workers, ..plan }), undivided);
    }

    #[test]
    fn any_number_of_machines_each_with_threads_of_its_own_send_the_same_requests_at_the_same_times_as_one(
        plan in prop_oneof![open_plans(), replay_plans(), session_plans()],
        threads in prop::collection::vec(1_usize..4, 1..6),
    ) {
        let machine = |index| Share::new(index, threads.len());
        let shares: Vec<Share> =
            threads.iter().enumerate().flat_map(|(index, threads)| shares_of(machine(index), *threads)).collect();
        prop_assert_eq!(sent_by(&plan, &shares), sent_by_all_workers(&plan));
    }

    #[test]
    fn any_number_of_workers_of_a_closed_loop_send_the_same_requests_as_one(
        plan in picking(closed(40, Stop::RequestsTotal(1))), total in 1_u64..500, workers in 1_usize..17,
    ) {
        let operations = |threads| {
            let sent = sent_by_all_workers(&HttpLoad { threads, stop: Stop::RequestsTotal(total), ..plan.clone() });
            let mut operations: Vec<usize> = sent.iter().map(|(_, operation)| *operation).collect();
            operations.sort_unstable();
            operations
        };
        let undivided = operations(1);
        prop_assert_eq!(undivided.len() as u64, total);
        prop_assert_eq!(operations(workers), undivided);
    }

    #[test]
    fn the_connections_of_any_number_of_workers_are_each_connection_once(
        connections in 1_usize..200, workers in 1_usize..17,
    ) {
        let threads = workers.min(connections);
        let plan = HttpLoad { threads, ..closed(connections, Stop::RequestsTotal(1)) };
        let shares = shares_of(Share::whole(), threads);
        let mut union: Vec<usize> = shares.into_iter().flat_map(|share| numbers(&plan, share)).collect();
        union.sort_unstable();
        prop_assert_eq!(union, (0..connections).collect::<Vec<_>>());
    }
}

/// A server whose time for a request depends on when it arrives, so that latencies differ and everybody meets the same.
fn changing_service() -> impl FnMut(Nanos) -> Option<Nanos> {
    |arrival| Some(arrival + Nanos(50_000 + (arrival - START).0 % 7_919_000 / 10))
}

/// What a load comes to whose shares were carried out one by one, each in a process that reports it in writing.
fn result_of_parts(plan: &HttpLoad, machines: usize) -> serde_json::Value {
    let travelled: Gathered = shares_of(Share::whole(), machines)
        .into_iter()
        .enumerate()
        .map(|(index, share)| {
            let (part, epoch) = Simulation::of(plan).run_share(share, changing_service());
            // Their clocks are seconds apart, and the load began at one reading of ours.
            let there = Nanos::from_millis(40_000 * index as u64);
            let finished = Finished::of(vec![part], TcpCounters::default(), false);
            let elsewhere = Finished::decode(&finished.encode(epoch), there).unwrap();
            Finished::decode(&elsewhere.encode(there), START).unwrap()
        })
        .collect();
    let mut result = serde_json::to_value(result_of(plan, travelled).unwrap()).unwrap();
    // What sixteen generators differ in from one is their number, their own most connections at once, and which of the
    // connections that are free a request takes.
    result["generator"]["threads"].take();
    result["connections"]["concurrent_max"].take();
    result["slowest"].as_array_mut().unwrap().iter_mut().for_each(|slow| slow["connection"] = 0.into());
    result
}

/// Requests of a closed loop that go round in step, and requests that fall due on a schedule.
fn measured_plans() -> impl Strategy<Value = HttpLoad> {
    let rounds = (1_u64..20).prop_map(|rounds| Stop::RequestsTotal(rounds * CONNECTIONS as u64));
    let closed = rounds.prop_flat_map(|stop| picking(closed(CONNECTIONS, stop)));
    prop_oneof![closed, open_plans(), replay_plans()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_merge_of_sixteen_parts_is_the_result_of_one_generator_in_every_figure(plan in measured_plans()) {
        prop_assert_eq!(result_of_parts(&plan, 16), result_of_parts(&plan, 1));
    }
}
