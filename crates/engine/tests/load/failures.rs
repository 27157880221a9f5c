//! Every way in which a server fails has its class, and every failure is counted once.

use loadcurve_plan::{Body, Conversation, HttpLoad, Nanos, Request, Requests, Stop};

use crate::support::{Measured, Reply, Seen, Server, Then, closed, get, measure, ok, refusing_address};

/// Both sides agree on requests, answers and connections, where every request that is sent is read.
fn assert_agreement(measured: &Measured, seen: &Seen) {
    assert_eq!(measured.requests("sent"), seen.requests.len() as u64, "requests");
    assert_eq!(measured.requests("answered"), seen.answered, "answers");
    assert_eq!(measured.count("/connections/opened"), seen.accepted, "connections");
}

/// Runs `total` requests over 4 connections to a server that fails every tenth.
fn fail_every_tenth(failing: Reply, total: u64) -> (Measured, Seen) {
    let server = Server::scripted(move |asked| match asked.on_connection {
        9 => failing.clone(),
        _ => Reply::answer(ok("hello")),
    });
    let measured = measure(closed(server.address, 4, total));
    let seen = server.finish();
    assert_agreement(&measured, &seen);
    (measured, seen)
}

#[test]
fn requests_that_the_server_resets_are_counted_as_reset() {
    let (measured, seen) = fail_every_tenth(Reply::part([]).then(Then::Reset), 400);
    assert!(seen.resets > 0);
    assert_eq!(measured.errors(), [("reset", seen.resets)]);
    assert_eq!(measured.requests("answered"), 400 - seen.resets);
}

#[test]
fn garbage_is_malformed() {
    let (measured, seen) = fail_every_tenth(Reply::part("SSH-2.0-OpenSSH_9.9\r\n"), 100);
    assert_eq!(measured.errors(), [("malformed", 100 - seen.answered)]);
}

#[test]
fn an_answer_with_more_behind_it_than_was_asked_for_has_failed() {
    let server = Server::scripted(|asked| {
        Reply::answer(if asked.number % 10 == 3 { ok("hello") + "excess" } else { ok("hello") })
    });
    let measured = measure(closed(server.address, 1, 40));
    server.finish();
    assert_eq!((measured.requests("answered"), measured.errors()), (36, vec![("unasked", 4)]));
}

#[test]
fn what_comes_between_two_answers_fails_the_next_request() {
    // What nobody asked for comes behind each answer, in the middle of the time in which the client thinks.
    let one = ok("hello");
    let bytes = one.len();
    let reply = Reply::answer(one.repeat(2)).in_pieces_of(bytes).with_pauses_of(Nanos::from_millis(500));
    let server = Server::scripted(move |asked| reply.clone().at(asked.arrived));
    // So long that a server which other work holds up is in time, and does not send both at once.
    let thinking = Conversation { think_s: 1.0, ..Conversation::default() };
    let measured = measure(closed(server.address, 1, 6).with(|http| http.conversation = thinking));
    let seen = server.finish();
    // Every second request finds the connection of the one before it spoiled, and is not sent.
    assert_eq!((measured.requests("answered"), measured.errors()), (3, vec![("unasked", 3)]));
    assert_eq!((measured.requests("sent"), seen.requests.len()), (3, 3));
}

#[test]
fn a_server_that_closes_silently_after_nine_answers_loses_at_most_every_tenth_request() {
    let server = Server::scripted(|asked| {
        let then = if asked.on_connection == 8 { Then::Close } else { Then::ReadOn };
        Reply::answer(ok("hello")).then(then)
    });
    let measured = measure(closed(server.address, 1, 100));
    let seen = server.finish();
    // Each connection answers nine requests. Where its end is seen with the ninth answer, the tenth goes to a new
    // connection; otherwise it is written, and meets the end of input or a reset.
    let (answered, failed) = (measured.requests("answered"), measured.requests("failed"));
    assert_eq!((answered, answered + failed), (seen.answered, 100));
    assert!(failed <= 10, "{failed} failed");
    assert!(measured.errors().iter().all(|(class, _)| ["closed_early", "reset"].contains(class)));
    assert_eq!(measured.count("/connections/opened"), seen.accepted);
    let ended = |of: &str| measured.count(&format!("/connections/ended_by_server/answers/{of}"));
    assert_eq!((ended("min"), ended("max"), measured.count("/connections/lasting")), (9, 9, 0));
}

#[test]
fn an_answer_of_another_length_than_expected_is_a_mismatch() {
    let server = Server::scripted(|asked| {
        Reply::answer(ok(if asked.number % 4 == 3 { "shorter" } else { "as verified" }))
    });
    let request = Request { expected_body_bytes: Some(11), ..get("/") };
    let measured =
        measure(closed(server.address, 1, 40).with(|http| http.requests = Requests::Given(vec![request])));
    let seen = server.finish();
    assert_eq!(measured.errors(), [("mismatch", 10)]);
    assert_eq!((measured.requests("answered"), seen.answered), (30, 40));
    assert_eq!(measured.count("/connections/opened"), seen.accepted);
}

#[test]
fn a_mismatch_fails_its_own_request_alone_and_not_those_behind_it_in_the_pipeline() {
    let server = Server::scripted(|asked| {
        Reply::answer(ok(if asked.number % 10 == 3 { "shorter" } else { "as verified" }))
    });
    let request = Request { expected_body_bytes: Some(11), ..get("/a.txt") };
    let conversation = Conversation { pipeline: 5, ..Conversation::default() };
    let plan = closed(server.address, 1, 40).with(|http| {
        http.requests = Requests::Given(vec![request]);
        http.conversation = conversation;
    });
    let measured = measure(plan);
    let seen = server.finish();
    assert_eq!(measured.errors(), [("mismatch", 4)]);
    assert_eq!((measured.requests("answered"), seen.answered, seen.accepted), (36, 40, 1));
    let reason = measured.reason("mismatch").expect("a mismatch is reported");
    assert!(reason.contains("7 instead of 11 bytes for GET /a.txt"), "{reason}");
}

#[test]
fn answers_that_differ_in_length_cast_doubt_where_no_length_was_verified() {
    let server =
        Server::scripted(|asked| Reply::answer(ok(if asked.number % 2 == 0 { "even" } else { "not even" })));
    let measured = measure(closed(server.address, 2, 100));
    server.finish();
    assert_eq!(measured.requests("answered"), 100);
    let reason = measured.reason("lengths_differ").expect("different lengths are reported");
    assert!(reason.contains("from 4 to 8 bytes for GET /"), "{reason}");
}

#[test]
fn answers_that_differ_in_length_cast_no_doubt_where_the_plan_says_that_they_vary() {
    let server =
        Server::scripted(|asked| Reply::answer(ok(if asked.number % 2 == 0 { "even" } else { "not even" })));
    let request = Request { body_varies: true, ..get("/") };
    let measured =
        measure(closed(server.address, 2, 20).with(|http| http.requests = Requests::Given(vec![request])));
    server.finish();
    assert_eq!(measured.requests("ok"), 20);
    assert_eq!(measured.reason("lengths_differ"), None);
}

#[test]
fn an_error_status_is_an_answer_that_is_not_ok_whatever_its_length() {
    let server =
        Server::replying(Reply::answer("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nbusy"));
    let request = Request { expected_body_bytes: Some(11), ..get("/") };
    let measured =
        measure(closed(server.address, 2, 20).with(|http| http.requests = Requests::Given(vec![request])));
    assert_agreement(&measured, &server.finish());
    assert_eq!((measured.requests("answered"), measured.requests("ok")), (20, 0));
    assert_eq!(measured.count("/status/5xx"), 20);
    assert!(measured.errors().is_empty());
    assert_eq!(measured.value("/verdict/status"), "invalid");
}

#[test]
fn requests_that_are_never_answered_time_out() {
    let server = Server::replying(Reply::silence());
    let measured = measure(HttpLoad { timeout_s: 0.1, ..closed(server.address, 3, 6) });
    assert_agreement(&measured, &server.finish());
    assert_eq!(measured.errors(), [("timeout", 6)]);
    // Each of the three connections waits twice for a tenth of a second.
    let duration_s = measured.number("/duration_s");
    assert!((0.2..10.0).contains(&duration_s), "{duration_s}");
}

#[test]
fn a_server_that_stops_reading_does_not_hold_up_the_load() {
    let server = Server::deaf();
    // More than the sockets of both sides hold, so the request cannot be written to its end.
    let request = Request { method: "POST".into(), body: Body::Text("x".repeat(32 << 20)), ..get("/") };
    let plan = HttpLoad {
        timeout_s: 0.1,
        ..closed(server.address, 1, 2).with(|http| http.requests = Requests::Given(vec![request]))
    };
    let measured = measure(plan);
    let seen = server.finish();
    assert_eq!(measured.errors(), [("timeout", 2)]);
    assert_eq!(measured.count("/connections/opened"), seen.accepted);
    assert!(measured.number("/duration_s") < 10.0);
}

#[test]
fn refused_connections_are_tried_again_ever_more_rarely() {
    let (_socket, address) = refusing_address();
    let plan = HttpLoad { stop: Stop::DurationS(0.5), ..closed(address, 1, 1) };
    let measured = measure(plan);
    let refused = measured.requests("failed");
    // One attempt before the load, then at 0, 20, 60, 140 and 300 ms at the earliest: rests of 20 ms and doubled.
    assert!((1..=5).contains(&refused), "{refused} attempts");
    assert_eq!(measured.errors(), [("connect_refused", refused)]);
    assert_eq!(measured.count("/connections/failed"), refused + 1);
    assert_eq!((measured.count("/connections/opened"), measured.requests("sent")), (0, 0));
    assert_eq!(measured.value("/latency_ms/mean"), &serde_json::Value::Null);
}
