//! The slowest requests show what their connections had to send again.

use loadcurve_plan::HttpLoad;
use serde_json::Value;

use crate::support::{Measured, Reply, Server, closed, measure, ok, sessions, start};

/// The kernel counts a second in ticks of at most 10 ms.
const TICK_MS: f64 = 10.0;

fn slowest(measured: &Measured) -> &Vec<Value> {
    measured.value("/slowest").as_array().unwrap()
}

fn count(slow: &Value, name: &str) -> u64 {
    slow[name].as_u64().unwrap_or_else(|| panic!("{name} is not a count: {slow}"))
}

/// The first SYN waits a second for its answer and no later one waits less (RFC 6298, section 2), so one that was sent
/// again n times has waited n seconds.
fn assert_syn_retransmits_fit(slow: &Value, connecting_ms: f64) {
    let syn_retransmits = count(slow, "syn_retransmits");
    assert!(1000.0 * syn_retransmits as f64 <= connecting_ms + TICK_MS, "{slow}");
}

#[test]
fn requests_on_connections_without_a_loss_show_that_nothing_was_sent_again() {
    let server = Server::replying(Reply::answer(ok("hello")));
    let measured = measure(closed(server.address, 4, 100));
    server.finish();
    assert_eq!(slowest(&measured).len(), 10);
    for slow in slowest(&measured) {
        assert_eq!((count(slow, "syn_retransmits"), count(slow, "retransmits")), (0, 0), "{slow}");
        assert_eq!((&slow["error"], &slow["connect_ms"]), (&Value::Null, &Value::Null));
    }
}

#[test]
fn connections_that_a_full_listen_queue_turned_away_show_how_often_they_sent_their_syn_again() {
    // Five find room in the queue. It is awaited that the others have sent their SYN a second time; when the queue is
    // empty again there is room for all of them at once.
    const CONNECTIONS: usize = 9;
    let server = Server::busy(5, Reply::answer(ok("hello")));
    let load = start(sessions(server.address, 1_000.0, CONNECTIONS));
    let listed = server.wait_for_connections(|listed| {
        let mut turned_away = listed.iter().filter(|connection| connection.is_connecting).peekable();
        listed.len() == CONNECTIONS
            && turned_away.peek().is_some()
            && turned_away.all(|connection| connection.retransmits > 0)
    });
    let turned_away: Vec<_> = listed.iter().filter(|connection| connection.is_connecting).collect();
    server.accept_connections();
    let measured = Measured::from(&load.finish());
    let seen = server.finish();

    assert_eq!((measured.requests("due"), measured.requests("answered"), seen.answered), (9, 9, 9));
    assert_eq!(measured.count("/connections/opened"), seen.accepted);
    let slowest = slowest(&measured);
    assert_eq!(slowest.len(), CONNECTIONS);
    for slow in slowest {
        assert_syn_retransmits_fit(slow, slow["connect_ms"].as_f64().unwrap());
    }
    let repeated = slowest.iter().filter(|slow| count(slow, "syn_retransmits") > 0).count();
    assert_eq!(repeated, turned_away.len(), "{slowest:?}");
    // The kernel lists what it has sent again until now, and counts what anyone on this machine sends again.
    let shown: u64 = slowest.iter().map(|slow| count(slow, "syn_retransmits")).sum();
    let at_least: u64 = turned_away.iter().map(|connection| u64::from(connection.retransmits)).sum();
    assert!((at_least..=measured.count("/kernel/syn_retransmits")).contains(&shown), "{slowest:?}");
}

#[test]
fn requests_that_timed_out_are_the_slowest_and_show_whether_their_connection_was_turned_away() {
    let server = Server::busy(1, Reply::answer(ok("hello")));
    let measured = measure(HttpLoad { timeout_s: 1.5, ..sessions(server.address, 1_000.0, 3) });
    server.accept_connections();
    server.finish();
    // The first connection was established in the queue, where nobody read its request; another was turned away.
    assert_eq!((measured.requests("due"), measured.requests("failed")), (3, 3));
    assert_eq!(
        measured.errors().iter().map(|(class, _)| *class).collect::<Vec<_>>(),
        ["connect_timeout", "timeout"]
    );
    for slow in slowest(&measured) {
        let latency_ms = slow["latency_ms"].as_f64().unwrap();
        assert!(latency_ms >= 1500.0, "{slow}");
        assert_eq!(slow["first_byte_ms"], Value::Null);
        if slow["error"] == "timeout" {
            assert_eq!(count(slow, "syn_retransmits"), 0, "{slow}");
        } else {
            assert_eq!((&slow["error"], &slow["connect_ms"]), (&"connect_timeout".into(), &Value::Null));
            assert!(count(slow, "syn_retransmits") > 0, "{slow}");
            assert_syn_retransmits_fit(slow, latency_ms);
        }
    }
}
