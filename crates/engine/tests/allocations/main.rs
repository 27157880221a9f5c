//! A load takes its memory at the start: in the steady state no request costs an allocation, on either backend.

use std::cell::Cell;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use loadcurve_engine::{StartError, start};
use loadcurve_plan::{
    Arrivals, Body, Call, Conversation, Events, Grpc, HttpLoad, HttpVersion, IoChoice, Messages, Model, Rate,
    Request, Requests, Stop, WebSocket,
};

#[path = "../../../wire/tests/support/allocator.rs"]
mod allocator;
#[path = "../load/support/plans.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod plans;
mod servers;

use servers::serve;

/// What the plans ask for, unless a test asks for another.
const IO: IoChoice = IoChoice::Auto;

/// How many requests the shorter of two loads has.
const REQUESTS: u64 = 2_000;
const CONNECTIONS: usize = 8;
/// More than a server that is built for tests can serve, so that the load is over soon.
const RATE_RPS: f64 = 20_000.0;
/// A second of a thread's series that is over is kept in a list that grows to the number of its different latencies,
/// which doubles its room some ten times.
const ALLOCATIONS_PER_SECOND: u64 = 16;
/// Buffers grow to the most that they ever hold, a few for each connection; when they do is a matter of chance.
const ALLOCATIONS_OF_BUFFERS: u64 = 8 * CONNECTIONS as u64;

/// What threads that are not excused have asked the system's allocator for.
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static IS_EXCUSED: Cell<bool> = const { Cell::new(false) };
}

/// From now on the calling thread's allocations do not count.
fn excuse_this_thread() {
    IS_EXCUSED.set(true);
}

fn count_one() {
    // Where the thread is ending, and its variables with it, it has no more requests.
    if !IS_EXCUSED.try_with(Cell::get).unwrap_or(true) {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    }
}

/// Loads whose messages all but one of the connections receive.
fn plans_of_a_fan_out(address: SocketAddr) -> Vec<(&'static str, HttpLoad)> {
    let of_messages = |plan: HttpLoad| {
        let websocket = WebSocket { subscribers: Some(CONNECTIONS / 2), ..WebSocket::default() };
        plan.with(|http| http.messages = Some(Messages::WebSocket(websocket)))
    };
    let closed = plans::closed(address, 1, REQUESTS);
    let open = plans::open(address, 1, RATE_RPS, closed.stop);
    vec![("a fan-out", of_messages(closed)), ("a fan-out at a rate", of_messages(open))]
}

/// Loads of messages by WebSocket, one at a time, each answered by one.
fn plans_of_echoes(address: SocketAddr, http: HttpVersion) -> Vec<(&'static str, HttpLoad)> {
    let plan = plans::closed(address, CONNECTIONS, REQUESTS).with(|web| {
        web.http = http;
        web.requests =
            Requests::Given(vec![Request { body: Body::Text("hello".into()), ..plans::get("/some/path") }]);
        web.messages = Some(Messages::WebSocket(WebSocket::default()));
    });
    vec![("echoes", plan)]
}

/// Loads of gRPC: of calls of one message, and of messages on calls that are kept.
fn plans_of_calls(address: SocketAddr, call: Call) -> Vec<(&'static str, HttpLoad)> {
    let plan = plans::closed(address, CONNECTIONS, REQUESTS).with(|web| {
        // A message without fields, behind its length.
        let body = Body::Text("\0".repeat(5));
        let request = Request { method: "POST".into(), body, ..plans::get("/a.B/C") };
        web.http = HttpVersion::Http2;
        web.requests = Requests::Given(vec![request]);
        web.conversation = Conversation { streams: 10, ..Conversation::default() };
        web.messages = Some(Messages::Grpc(Grpc { call, ..Grpc::default() }));
    });
    vec![(if call == Call::Unary { "calls" } else { "messages on calls" }, plan)]
}

/// Loads whose answers are streams of events, some of which are opened again.
fn plans_of_events(address: SocketAddr) -> Vec<(&'static str, HttpLoad)> {
    let closed = plans::closed(address, CONNECTIONS, REQUESTS);
    let of_events = |reconnect_after_s| {
        let events = Events { reconnect_after_s, events_expected: Some(10), ..Events::default() };
        closed.clone().with(|http| http.messages = Some(Messages::Events(events)))
    };
    vec![("events", of_events(None)), ("events of streams that are opened again", of_events(Some(1.0)))]
}

/// How often the threads of a load allocate, and into how many seconds its series is divided; `None` if this kernel
/// does not offer the backend.
fn allocations_of(plan: &HttpLoad) -> Option<(u64, u64)> {
    let Stop::RequestsTotal(requests) = plan.stop else { panic!("these loads have a number of requests") };
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    let load = match start(plan) {
        Ok(load) => load,
        Err(StartError::Machine(text)) if text.starts_with("io_uring is not available") => {
            eprintln!("skipped: {text}");
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    let result = load.finish();
    assert_eq!(result.requests.answered, requests, "{:?}", result.errors);
    Some((ALLOCATIONS.load(Ordering::Relaxed) - before, result.series.len() as u64))
}

/// Loads over these connections on a server of HTTP/2, which a number of requests ends.
fn plans_of_streams(address: SocketAddr) -> Vec<(&'static str, HttpLoad)> {
    let over_streams = |plan: HttpLoad, streams, method: &str, body: &str| {
        plan.with(|http| {
            let request =
                Request { method: method.into(), body: Body::Text(body.into()), ..plans::get("/some/path") };
            http.http = HttpVersion::Http2;
            http.requests = Requests::Given(vec![request]);
            http.conversation = Conversation { streams, ..Conversation::default() };
        })
    };
    let closed = plans::closed(address, CONNECTIONS, REQUESTS);
    let open = plans::open(address, CONNECTIONS, RATE_RPS, closed.stop);
    vec![
        ("streams", over_streams(closed.clone(), 100, "GET", "")),
        ("one stream after the other", over_streams(closed.clone(), 1, "GET", "")),
        ("streams at a rate", over_streams(open, 10, "GET", "")),
        ("streams with bodies", over_streams(closed, 10, "POST", "hello")),
    ]
}

/// Loads of every model over these connections, which a number of requests ends.
fn plans(address: SocketAddr) -> Vec<(&'static str, HttpLoad)> {
    let closed = plans::closed(address, CONNECTIONS, REQUESTS);
    let conversation =
        |pipeline, calls| Conversation { pipeline, calls, think_s: 0.0, ..Conversation::default() };
    let model = Model::Open {
        connections: CONNECTIONS,
        rate_rps: Rate::Constant(RATE_RPS),
        arrivals: Arrivals::Poisson,
    };
    vec![
        ("closed", closed.clone()),
        ("pipelined", closed.clone().with(|http| http.conversation = conversation(16, None))),
        (
            "a connection for each request",
            closed.clone().with(|http| http.conversation = conversation(1, Some(1))),
        ),
        ("open", HttpLoad { model, threads: 2, ..plans::open(address, CONNECTIONS, RATE_RPS, closed.stop) }),
    ]
}

#[test]
fn twice_the_requests_allocate_no_more_than_their_seconds_need() {
    excuse_this_thread();
    let all = [
        plans(serve(servers::answer_all)),
        plans_of_streams(serve(servers::answer_all_streams)),
        plans_of_events(serve(servers::answer_all_with_events)),
        plans_of_a_fan_out(serve(servers::send_to_others)),
        plans_of_echoes(serve(servers::echo), HttpVersion::Http11),
        plans_of_echoes(serve(servers::echo_on_streams), HttpVersion::Http2),
        plans_of_calls(serve(servers::answer_calls), Call::Unary),
        plans_of_calls(serve(servers::answer_messages), Call::Bidirectional),
    ];
    for io in [IoChoice::Epoll, IoChoice::Uring] {
        for (name, plan) in all.iter().flatten().cloned() {
            let plan = HttpLoad { io, ..plan };
            let threads = plan.threads as u64;
            let twice = HttpLoad { stop: Stop::RequestsTotal(2 * REQUESTS), ..plan.clone() };
            let Some((allocations, _)) = allocations_of(&plan) else { break };
            let Some((allocations_twice, seconds)) = allocations_of(&twice) else { break };
            let bound = allocations + ALLOCATIONS_PER_SECOND * seconds * threads + ALLOCATIONS_OF_BUFFERS;
            assert!(
                allocations_twice <= bound,
                "{name} over {io:?}: {REQUESTS} requests allocate {allocations} times, twice as many in {seconds} s \
                 allocate {allocations_twice} times"
            );
        }
    }
}
