//! Every way to frame an answer, in any split of its bytes.

use loadcurve_plan::{Body, Request, Requests};

use crate::support::{Reply, Server, Then, chunked, closed, get, measure, ok};

const LARGE_BYTES: u64 = 5_000_000;

fn large() -> String {
    "x".repeat(5_000_000)
}

#[test]
fn an_answer_is_the_same_however_its_bytes_are_split() {
    let body = "the quick brown fox";
    for response in [ok(body), chunked(body, 5), format!("HTTP/1.1 103 Early Hints\r\n\r\n{}", ok(body))] {
        for piece_bytes in [1, 7, 13, usize::MAX] {
            let server = Server::replying(Reply::answer(response.as_str()).in_pieces_of(piece_bytes));
            let measured = measure(closed(server.address, 2, 20));
            let seen = server.finish();
            assert_eq!((measured.requests("ok"), seen.answered), (20, 20), "{response:?} by {piece_bytes}");
            assert_eq!(seen.accepted, 2);
            assert_eq!(measured.count("/bytes/body"), 20 * body.len() as u64);
            assert_eq!(measured.count("/bytes/received"), 20 * response.len() as u64);
        }
    }
}

#[test]
fn a_connection_that_the_server_announces_to_close_carries_no_further_request() {
    let response = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello";
    let server = Server::replying(Reply::answer(response).then(Then::Close));
    let measured = measure(closed(server.address, 3, 30));
    let seen = server.finish();
    assert_eq!((measured.requests("ok"), seen.answered), (30, 30));
    // The three connections that were opened before the load carry the first three requests.
    assert_eq!((measured.count("/connections/opened"), seen.accepted), (30, 30));
    assert_eq!(measured.count("/connections/reused"), 3);
    assert_eq!(measured.count("/connections/concurrent_max"), 3);
    assert!(measured.errors().is_empty());
}

#[test]
fn a_body_without_a_length_lasts_until_the_close() {
    let response = "HTTP/1.0 200 OK\r\n\r\nhello";
    let server = Server::replying(Reply::answer(response).in_pieces_of(9).then(Then::Close));
    let measured = measure(closed(server.address, 2, 20));
    let seen = server.finish();
    assert_eq!((measured.requests("ok"), seen.answered), (20, 20));
    assert_eq!((measured.count("/connections/opened"), seen.accepted), (20, 20));
    assert_eq!(measured.count("/bytes/body"), 20 * 5);
}

#[test]
fn an_answer_to_head_has_no_body_whatever_its_length_says() {
    let server = Server::replying(Reply::answer("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"));
    let request = Request { method: "HEAD".into(), expected_body_bytes: Some(1000), ..get("/1k.txt") };
    let measured =
        measure(closed(server.address, 2, 20).with(|http| http.requests = Requests::Given(vec![request])));
    let seen = server.finish();
    assert_eq!((measured.requests("ok"), seen.answered, seen.accepted), (20, 20, 2));
    assert_eq!(measured.count("/bytes/body"), 0);
    assert!(seen.requests.iter().all(|request| request == "HEAD /1k.txt"));
}

#[test]
fn large_answers_arrive_whole() {
    for response in [ok(&large()), chunked(&large(), 100_000)] {
        let server = Server::replying(Reply::answer(response));
        let measured = measure(closed(server.address, 2, 6));
        let seen = server.finish();
        assert_eq!((measured.requests("ok"), seen.answered, seen.accepted), (6, 6, 2));
        assert_eq!(measured.count("/bytes/body"), 6 * LARGE_BYTES);
    }
}

#[test]
fn large_requests_that_need_many_writes_arrive_whole() {
    let server = Server::replying(Reply::answer(ok("stored")));
    let request = Request { method: "POST".into(), body: Body::Text(large()), ..get("/store") };
    let measured =
        measure(closed(server.address, 2, 6).with(|http| http.requests = Requests::Given(vec![request])));
    let seen = server.finish();
    assert_eq!((measured.requests("ok"), seen.answered, seen.accepted), (6, 6, 2));
    assert_eq!(seen.body_bytes, 6 * LARGE_BYTES);
    assert!(measured.count("/bytes/sent") > 6 * LARGE_BYTES);
}

#[test]
fn a_request_follows_the_one_before_it_even_where_that_was_answered_before_it_was_written_whole() {
    // The server answers after one to three quarters of a body and reads the rest afterwards; every fourth body is
    // read first, the last one among them.
    let server = Server::scripted(|asked| {
        Reply::answer(ok("enough")).after_body_bytes(LARGE_BYTES * (asked.number as u64 % 4 + 1) / 4)
    });
    let request = Request { method: "POST".into(), body: Body::Text(large()), ..get("/store") };
    let measured =
        measure(closed(server.address, 1, 24).with(|http| http.requests = Requests::Given(vec![request])));
    let seen = server.finish();
    assert_eq!((measured.requests("ok"), seen.answered, seen.accepted), (24, 24, 1));
    assert_eq!(seen.requests, ["POST /store"; 24]);
    assert_eq!(seen.body_bytes, 24 * LARGE_BYTES);
}
