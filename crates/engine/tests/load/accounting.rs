//! What the engine counts is what the server has seen.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::mpsc;

use loadcurve_plan::{HttpLoad, Requests, Stop};

use crate::support::{Measured, Reply, Seen, Server, closed, get, measure, ok, open, start};

/// A server that serves this many connections at a time, each until its client closes it; returns how many it has
/// answered on when the listener's clients are gone.
fn serving(at_a_time: usize) -> (SocketAddr, mpsc::Receiver<()>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let (served, all_served) = mpsc::channel();
    for _ in 0..at_a_time {
        let (listener, served) = (listener.try_clone().unwrap(), served.clone());
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut bytes = [0; 4096];
            let mut was_answered = false;
            while stream.read(&mut bytes).is_ok_and(|length| length > 0) {
                stream.write_all(ok("hello").as_ref()).unwrap();
                if !std::mem::replace(&mut was_answered, true) {
                    served.send(()).unwrap();
                }
            }
        });
    }
    (address, all_served)
}

#[test]
fn connections_that_a_server_never_serves_are_counted_as_it_counts_them() {
    const CONNECTIONS: usize = 120;
    for at_a_time in [1, 5, 98] {
        let (address, served) = serving(at_a_time);
        let plan = closed(address, CONNECTIONS, 1);
        let plan = HttpLoad { stop: Stop::DurationS(0.4), warmup_s: 0.3, timeout_s: 1.0, threads: 2, ..plan };
        let measured = measure(plan);
        let answered_on = served.iter().count() as u64;
        let waiting = CONNECTIONS as u64 - answered_on;
        assert_eq!(answered_on, at_a_time as u64);
        assert_eq!(measured.count("/connections/served"), answered_on);
        assert_eq!(measured.count("/connections/asked"), CONNECTIONS as u64);
        assert_eq!(measured.count("/waited_through/requests"), waiting);
        assert_eq!(measured.count("/waited_through/connections"), waiting);
        assert!(measured.number("/waited_through/oldest_ms") >= 400.0);
        assert!(measured.reason("never_served").is_some());
    }
}

/// Every request that was sent was read and answered, on connections that both sides count alike.
fn assert_all_answered(measured: &Measured, seen: &Seen, total: u64) {
    for what in ["due", "sent", "answered", "ok"] {
        assert_eq!(measured.requests(what), total, "{what}");
    }
    assert_eq!((seen.requests.len() as u64, seen.answered), (total, total));
    assert_eq!(measured.count("/connections/opened"), seen.accepted);
}

#[test]
fn a_closed_loop_sends_exactly_the_requests_asked_for_over_exactly_the_connections_asked_for() {
    let server = Server::replying(Reply::answer(ok("hello")));
    let measured = measure(closed(server.address, 4, 100));
    let seen = server.finish();
    assert_all_answered(&measured, &seen, 100);
    assert_eq!(seen.accepted, 4);
    assert_eq!(measured.count("/connections/reused"), 100);
    assert_eq!(measured.count("/connections/concurrent_max"), 4);
    assert_eq!(measured.count("/latency_ms/count"), 100);
    assert_eq!(measured.count("/connect_ms/count"), 4);
}

#[test]
fn bytes_are_those_on_the_wire() {
    let answer = ok("hello");
    let answer_bytes = answer.len() as u64;
    let server = Server::replying(Reply::answer(answer));
    let measured = measure(closed(server.address, 2, 30));
    server.finish();
    assert_eq!(measured.count("/bytes/received"), 30 * answer_bytes);
    assert_eq!(measured.count("/bytes/body"), 30 * 5);
    assert_eq!(measured.count("/bytes/header"), 30 * (answer_bytes - 5));
}

#[test]
fn three_threads_share_seven_connections_and_a_hundred_requests_exactly() {
    let server = Server::replying(Reply::answer(ok("hello")));
    let measured = measure(HttpLoad { threads: 3, ..closed(server.address, 7, 100) });
    let seen = server.finish();
    assert_all_answered(&measured, &seen, 100);
    assert_eq!(seen.accepted, 7);
}

#[test]
fn a_thread_without_a_request_of_its_own_is_no_hindrance() {
    let server = Server::replying(Reply::answer(ok("hello")));
    let measured = measure(HttpLoad { threads: 3, ..closed(server.address, 3, 2) });
    let seen = server.finish();
    assert_all_answered(&measured, &seen, 2);
    assert_eq!(seen.accepted, 3);
}

#[test]
fn connections_are_numbered_over_all_threads() {
    let server = Server::replying(Reply::answer(ok("hello")));
    let measured = measure(HttpLoad { threads: 2, ..closed(server.address, 4, 4) });
    server.finish();
    // Each of the four connections carries one of the four requests, all of which are among the ten slowest.
    let slowest = measured.value("/slowest").as_array().unwrap();
    let mut connections: Vec<_> = slowest.iter().map(|slow| slow["connection"].as_u64().unwrap()).collect();
    connections.sort_unstable();
    assert_eq!(connections, [0, 1, 2, 3]);
}

#[test]
fn two_hundred_requests_per_second_for_a_second_are_two_hundred_requests_due() {
    let server = Server::replying(Reply::answer(ok("hello")));
    let plan = open(server.address, 5, 200.0, Stop::DurationS(1.0));
    let measured = measure(HttpLoad { threads: 2, ..plan });
    let seen = server.finish();
    assert_eq!(measured.requests("due"), 200);
    assert_eq!(measured.requests("sent"), seen.requests.len() as u64);
    assert_eq!(measured.requests("answered"), seen.answered);
    assert_eq!(seen.accepted, 5);
    assert!((measured.number("/duration_s") - 1.0).abs() < 1e-9, "{}", measured.number("/duration_s"));
    assert!((measured.number("/rate_rps/asked") - 200.0).abs() < 1e-9);
}

#[test]
fn an_open_loop_ends_after_the_requests_asked_for() {
    let server = Server::replying(Reply::answer(ok("hello")));
    let measured = measure(open(server.address, 5, 1_000.0, Stop::RequestsTotal(100)));
    assert_all_answered(&measured, &server.finish(), 100);
}

#[test]
fn requests_of_the_warm_up_are_sent_and_not_measured() {
    let server = Server::replying(Reply::answer(ok("hello")));
    // Of 1000 requests per second 100 fall into 0.1 s of warm-up; 50 follow. The last of the warm-up may fall
    // behind on a busy machine, but it is still sent before those that follow.
    let plan = open(server.address, 5, 1_000.0, Stop::RequestsTotal(50));
    let measured = measure(HttpLoad { warmup_s: 0.1, threads: 2, ..plan });
    let seen = server.finish();
    assert_eq!((measured.requests("due"), measured.requests("answered")), (50, 50));
    assert_eq!(seen.requests.len(), 150);
}

#[test]
fn the_requests_of_the_list_are_taken_in_turn() {
    let server = Server::replying(Reply::answer(ok("hello")));
    let requests = Requests::Given(vec![get("/a"), get("/b?c=d"), get("/e")]);
    let measured = measure(closed(server.address, 1, 7).with(|http| http.requests = requests));
    let seen = server.finish();
    let in_turn = ["GET /a", "GET /b?c=d", "GET /e", "GET /a", "GET /b?c=d", "GET /e", "GET /a"];
    assert_eq!(seen.requests, in_turn);
    for (index, (operation, answered)) in [("GET /a", 3), ("GET /b?c=d", 2), ("GET /e", 2)].iter().enumerate()
    {
        assert_eq!(measured.value(&format!("/operations/{index}/operation")), operation);
        assert_eq!(measured.count(&format!("/operations/{index}/answered")), *answered);
    }
}

#[test]
fn an_interrupted_closed_loop_says_which_requests_were_never_answered() {
    // The first 20 requests are answered, so each of the 4 connections ends up waiting for a later one.
    let server = Server::scripted(|asked| match asked.number {
        0..20 => Reply::answer(ok("hello")),
        _ => Reply::silence(),
    });
    let load = start(HttpLoad { stop: Stop::DurationS(60.0), ..closed(server.address, 4, 1) });
    server.wait_for_requests(24);
    assert!(!load.is_finished());
    load.stop();
    let measured = Measured::from(&load.finish());
    let seen = server.finish();
    assert_eq!(measured.value("/interrupted"), true);
    assert_eq!((measured.requests("due"), measured.requests("sent")), (24, 24));
    assert_eq!((measured.requests("answered"), measured.requests("unanswered")), (seen.answered, 4));
    assert!(measured.number("/duration_s") < 60.0);
}

#[test]
fn an_interrupted_open_loop_says_which_requests_were_never_sent() {
    let server = Server::replying(Reply::silence());
    let load = start(open(server.address, 2, 500.0, Stop::DurationS(60.0)));
    server.wait_for_requests(2);
    load.stop();
    let measured = Measured::from(&load.finish());
    let seen = server.finish();
    assert_eq!((measured.requests("sent"), measured.requests("unanswered")), (2, 2));
    assert_eq!(seen.requests.len(), 2);
    assert_eq!(measured.requests("never_sent"), measured.requests("due") - 2);
}
