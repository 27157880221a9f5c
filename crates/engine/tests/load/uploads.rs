//! Requests whose bodies are read from a file while they are sent.

use std::path::Path;

use loadcurve_engine::{StartError, start};
use loadcurve_plan::{Body, Conversation, HttpLoad, Request, Requests};

use crate::support::{Reply, Server, TemporaryFile, Then, closed, get, measure, ok, refusing_address};

/// More than the sockets of both sides hold by far.
const LONG_BYTES: usize = 32 << 20;

/// Bytes that repeat nowhere in step with a chunk.
fn unlike_chunks(length: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    };
    (0..length).map(|_| next()).collect()
}

fn post(body: Body) -> Request {
    Request { method: "POST".into(), body, ..get("/store") }
}

fn post_file(path: &Path) -> Request {
    post(Body::File(path.to_owned()))
}

#[test]
fn a_body_arrives_byte_for_byte() {
    for length in [1, 64 * 1024, 3_000_001] {
        let bytes = unlike_chunks(length);
        let file = TemporaryFile::holding(&bytes);
        let server = Server::replying(Reply::answer(ok("stored")).keeping_the_body());
        let plan = closed(server.address, 2, 6);
        let measured =
            measure(plan.with(|http| http.requests = Requests::Given(vec![post_file(file.path())])));
        let seen = server.finish();
        assert_eq!((measured.requests("ok"), seen.answered, seen.accepted), (6, 6, 2));
        assert_eq!(seen.bodies.len(), 6);
        assert!(seen.bodies.iter().all(|body| *body == bytes), "a body of {length} bytes has changed");
    }
}

#[test]
fn a_body_of_a_file_is_sent_as_the_same_body_given_as_text_is() {
    let text = "x".repeat(200_000);
    let file = TemporaryFile::holding(text.as_bytes());
    let of_request = |request: Request| {
        let server = Server::replying(Reply::answer(ok("stored")).keeping_the_body());
        let measured =
            measure(closed(server.address, 1, 3).with(|http| http.requests = Requests::Given(vec![request])));
        (measured.count("/bytes/sent"), measured.requests("sent"), server.finish())
    };
    assert_eq!(of_request(post_file(file.path())), of_request(post(Body::Text(text))));
}

#[test]
fn an_empty_file_is_no_body() {
    let file = TemporaryFile::holding(b"");
    let server = Server::replying(Reply::answer(ok("stored")).keeping_the_body());
    let plan = closed(server.address, 1, 3);
    let measured = measure(plan.with(|http| http.requests = Requests::Given(vec![post_file(file.path())])));
    let seen = server.finish();
    assert_eq!((measured.requests("ok"), seen.bodies), (3, vec![vec![]; 3]));
}

#[test]
fn pipelined_requests_wait_for_the_body_in_front_of_them() {
    let bytes = unlike_chunks(1_000_000);
    let file = TemporaryFile::holding(&bytes);
    let server = Server::replying(Reply::answer(ok("hello")).keeping_the_body());
    let measured = measure(closed(server.address, 1, 40).with(|http| {
        http.requests =
            Requests::Given(vec![get("/a"), post_file(file.path()), get("/b"), post_file(file.path())]);
        http.conversation = Conversation { pipeline: 3, ..Conversation::default() };
    }));
    let seen = server.finish();
    assert_eq!((measured.requests("ok"), seen.answered, seen.accepted), (40, 40, 1));
    assert_eq!(seen.requests, ["GET /a", "POST /store", "GET /b", "POST /store"].repeat(10));
    assert!(seen.bodies.iter().all(|body| body.is_empty() || *body == bytes));
}

#[test]
fn a_body_that_is_refused_while_it_is_sent_is_an_answer_and_costs_the_connection() {
    let file = TemporaryFile::holding(&vec![b'x'; LONG_BYTES]);
    let refusal = "HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    let server = Server::replying(Reply::answer(refusal).after_body_bytes(100_000).then(Then::Close));
    let plan = closed(server.address, 2, 10);
    let measured = measure(plan.with(|http| http.requests = Requests::Given(vec![post_file(file.path())])));
    let seen = server.finish();
    assert_eq!((measured.requests("answered"), measured.count("/status/4xx"), seen.answered), (10, 10, 10));
    assert_eq!((measured.count("/connections/opened"), seen.accepted), (10, 10));
    assert!(measured.errors().is_empty(), "{:?}", measured.errors());
    assert!(measured.count("/bytes/sent") < 10 * LONG_BYTES as u64);
}

#[test]
fn a_server_that_reads_no_further_after_its_answer_does_not_hold_up_the_load() {
    // The first answer keeps the connection, and the rest of its body is never read: the next request waits behind it,
    // until the timeout replaces the connection. It and the third have no body, so that the third is soon over.
    let file = TemporaryFile::holding(&vec![b'x'; LONG_BYTES]);
    let server = Server::scripted(|asked| match asked.number {
        0 => Reply::answer(ok("enough")).after_body_bytes(10).then(Then::Hold),
        _ => Reply::answer(ok("hello")),
    });
    let plan = HttpLoad { timeout_s: 1.0, ..closed(server.address, 1, 3) };
    let requests = vec![post_file(file.path()), get("/"), get("/")];
    let measured = measure(plan.with(|http| http.requests = Requests::Given(requests)));
    server.finish();
    assert_eq!((measured.requests("ok"), measured.errors()), (2, vec![("timeout", 1)]));
    assert_eq!(measured.count("/connections/opened"), 2);
}

#[test]
fn a_server_that_stops_reading_a_body_does_not_hold_up_the_load() {
    let file = TemporaryFile::holding(&vec![b'x'; LONG_BYTES]);
    let server = Server::deaf();
    let plan = HttpLoad { timeout_s: 0.1, ..closed(server.address, 1, 2) };
    let measured = measure(plan.with(|http| http.requests = Requests::Given(vec![post_file(file.path())])));
    let seen = server.finish();
    assert_eq!(measured.errors(), [("timeout", 2)]);
    assert_eq!(measured.count("/connections/opened"), seen.accepted);
}

#[test]
fn a_file_that_shrinks_fails_its_requests_and_costs_their_connections() {
    let file = TemporaryFile::holding(&vec![b'x'; LONG_BYTES]);
    let path = file.path().to_owned();
    let server = Server::scripted(move |_| {
        file.set_length(1000);
        Reply::answer(ok("stored"))
    });
    let measured = measure(
        closed(server.address, 1, 3).with(|http| http.requests = Requests::Given(vec![post_file(&path)])),
    );
    let seen = server.finish();
    assert_eq!(measured.errors(), [("file_unavailable", 3)]);
    assert_eq!((measured.count("/connections/opened"), seen.accepted), (3, 3));
    assert_eq!((seen.answered, seen.body_bytes), (0, 0));
}

#[test]
fn a_file_that_is_no_body_is_refused_by_its_name_before_the_first_connection() {
    let (_socket, address) = refusing_address();
    let folder = std::env::temp_dir();
    for (path, reason) in [
        (folder.join("no-such-body"), "there is no such file"),
        (folder.clone(), "this is a folder; expected a file with the body"),
        ("/dev/zero".into(), "this is a pipe or a device; expected a file with the body"),
    ] {
        let plan = closed(address, 1, 1).with(|http| http.requests = Requests::Given(vec![post_file(&path)]));
        let Err(StartError::Plan(text)) = start(&plan) else { panic!("{} is accepted", path.display()) };
        assert!(text.starts_with(&path.display().to_string()) && text.contains(reason), "{text}");
    }
}
