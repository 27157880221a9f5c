//! Both backends send the same plan, count the same, and time the same.

use loadcurve_plan::{Arrivals, HttpLoad, IoChoice, Model, Nanos, Pick, Rate, Request, Requests, Stop};

use crate::support::{Comparison, Measured, Reply, Server, Then, compare_times, get, ok, open};

/// The requests of the plan, by their weights.
const TARGETS: [(&str, f64); 4] = [("/quick", 5.0), ("/slow", 3.0), ("/missing", 1.0), ("/reset", 1.0)];
/// How long the first two of them take.
const SERVICE_TIMES: [Nanos; 2] = [Nanos::from_millis(2), Nanos::from_millis(15)];

/// Some 1.5 s of random arrivals of requests that are picked by weight, all from one seed.
fn seeded(io: IoChoice, server: &Server) -> HttpLoad {
    let (connections, rate_rps) = (40, 400.0);
    let requests = TARGETS.map(|(target, weight)| Request { weight, ..get(target) });
    HttpLoad {
        model: Model::Open { connections, rate_rps: Rate::Constant(rate_rps), arrivals: Arrivals::Poisson },
        seed: 11,
        threads: 2,
        io,
        ..open(server.address, connections, rate_rps, Stop::RequestsTotal(600)).with(|http| {
            http.requests = Requests::Given(requests.to_vec());
            http.pick = Pick::Weighted;
        })
    }
}

/// Measures over one backend, and holds the result against what the server has seen.
fn measure_over(io: IoChoice, comparison: &mut Comparison) -> Measured {
    let [quick, slow] = SERVICE_TIMES;
    let server = Server::scripted(move |asked| match asked.label {
        "GET /quick" => Reply::answer(ok("hello")).at(asked.arrived + quick),
        "GET /slow" => Reply::answer(ok("after some time")).at(asked.arrived + slow),
        "GET /missing" => Reply::answer("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"),
        _ => Reply::part(&ok("hello")[..10]).then(Then::Reset),
    });
    let plan = seeded(io, &server);
    let (measured, seen) = comparison.measure(plan, server);
    assert_eq!(measured.requests("due"), seen.requests.len() as u64);
    assert_eq!(measured.requests("answered"), seen.answered);
    assert_eq!(measured.errors(), [("reset", seen.resets)]);
    for (index, (target, _)) in TARGETS.iter().enumerate() {
        let count = |end| measured.count(&format!("/operations/{index}/{end}"));
        let asked = seen.requests.iter().filter(|label| label.trim_start_matches("GET ") == *target).count();
        assert_eq!(count("answered") + count("failed"), asked as u64, "{target}");
    }
    for (index, service_time) in SERVICE_TIMES.iter().enumerate() {
        let figures = ["mean", "p50", "p75", "p90"].map(|figure| (figure, service_time.as_millis_f64()));
        comparison.distribution(&measured, &format!("operations/{index}/latency_ms"), &figures);
    }
    measured
}

#[test]
fn the_same_seeded_plan_has_the_same_counts_and_the_same_times_over_both_backends() {
    compare_times(|comparison| {
        let [epoll, uring] = [IoChoice::Epoll, IoChoice::Uring].map(|io| measure_over(io, comparison));
        for path in ["/requests", "/errors", "/status", "/bytes"] {
            assert_eq!(epoll.value(path), uring.value(path), "{path}");
        }
        for index in 0..TARGETS.len() {
            for end in ["answered", "failed"] {
                let path = format!("/operations/{index}/{end}");
                assert_eq!(epoll.value(&path), uring.value(&path), "{path}");
            }
        }
    });
}
