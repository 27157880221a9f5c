//! Requests that are in a file, one on each line.

use std::fmt::Write as _;
use std::path::Path;

use loadcurve_engine::{StartError, start};
use loadcurve_plan::{Body, HttpLoad, ListedRequests, Pick, Request, Requests};

use crate::support::{
    Measured, Reply, Seen, Server, TemporaryFile, closed, get, measure, ok, refusing_address,
};

/// More lines than requests that have their own figures.
const LINES: usize = 150;

/// A list of `lines` lines, with comments between them.
fn list_of(lines: usize) -> TemporaryFile {
    let mut text = String::from("# all paths\n");
    for line in 0..lines {
        writeln!(text, "/{line}{}", if line % 9 == 0 { " # a ninth\n" } else { "" }).unwrap();
    }
    TemporaryFile::holding(text.as_bytes())
}

fn listed(file: &Path) -> ListedRequests {
    ListedRequests {
        file: file.to_owned(),
        method: "GET".into(),
        headers: vec![],
        body: Body::Empty,
        chunked: false,
    }
}

fn lines_of(file: &TemporaryFile) -> Requests {
    Requests::Listed(listed(file.path()))
}

fn run(
    requests: Requests,
    connections: usize,
    total: u64,
    change: impl FnOnce(HttpLoad) -> HttpLoad,
) -> (Measured, Seen) {
    let server = Server::replying(Reply::answer(ok("hello")).keeping_the_body());
    let plan = closed(server.address, connections, total).with(|http| http.requests = requests);
    let measured = measure(change(plan));
    (measured, server.finish())
}

fn name(file: &TemporaryFile) -> String {
    file.path().file_name().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn the_lines_of_a_long_list_are_taken_in_turn_and_from_the_start_again() {
    let file = list_of(LINES);
    let (measured, seen) = run(lines_of(&file), 1, 2 * LINES as u64, |plan| plan);
    let once: Vec<String> = (0..LINES).map(|line| format!("GET /{line}")).collect();
    assert_eq!(seen.requests, [once.clone(), once].concat());
    assert_eq!(measured.requests("ok"), 2 * LINES as u64);
}

/// What a list of this many lines, each with a status, makes of a server that answers 404 for all but the first line.
fn expecting(lines: usize, first: u16, others: u16) -> Measured {
    let mut text = format!("/0 ={first}\n");
    for line in 1..lines {
        writeln!(text, "/{line} ={others}").unwrap();
    }
    let file = TemporaryFile::holding(text.as_bytes());
    let server = Server::scripted(|asked| match asked.label {
        "GET /0" => Reply::answer(ok("hello")),
        _ => Reply::answer("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"),
    });
    measure(closed(server.address, 1, lines as u64).with(|http| http.requests = lines_of(&file)))
}

#[test]
fn an_answer_is_right_that_has_the_status_which_its_line_expects() {
    for lines in [10, LINES] {
        let measured = expecting(lines, 200, 404);
        assert_eq!(measured.requests("ok"), lines as u64);
        assert_eq!(measured.count("/unexpected_status/4xx"), 0);
        assert_eq!(measured.count("/status/4xx"), lines as u64 - 1);
        let wrong = expecting(lines, 404, 200);
        assert_eq!(wrong.requests("ok"), 0);
        assert_eq!(
            (wrong.count("/unexpected_status/2xx"), wrong.count("/unexpected_status/4xx")),
            (1, lines as u64 - 1)
        );
    }
}

#[test]
fn each_status_is_counted_with_how_the_body_of_an_error_begins() {
    let server = Server::scripted(|asked| match asked.label {
        "GET /0" => Reply::answer(ok("hello")),
        "GET /1" => Reply::answer("HTTP/1.1 404 Not Found\r\nContent-Length: 7\r\n\r\nno page"),
        _ => Reply::answer(
            "HTTP/1.1 415 No\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nwants \r\n4\r\nJSON\r\n0\r\n\r\n",
        ),
    });
    let file = TemporaryFile::holding(b"/0\n/1\n/2\n/3\n");
    let measured = measure(closed(server.address, 2, 8).with(|http| http.requests = lines_of(&file)));
    assert_eq!(
        *measured.value("/statuses"),
        serde_json::json!([
            {"status": 200, "answered": 2, "wrong": 0, "body": null},
            {"status": 404, "answered": 2, "wrong": 2, "body": "no page"},
            {"status": 415, "answered": 4, "wrong": 4, "body": "wants JSON"},
        ])
    );
}

#[test]
fn a_list_without_statuses_says_nothing_of_unexpected_ones() {
    let file = list_of(LINES);
    let (measured, _) = run(lines_of(&file), 1, 20, |plan| plan);
    assert!(measured.value("").get("unexpected_status").is_none());
}

#[test]
fn threads_share_a_long_list_and_each_line_is_taken_once() {
    let file = list_of(LINES);
    let (_, mut seen) = run(lines_of(&file), 6, LINES as u64, |plan| HttpLoad { threads: 3, ..plan });
    let mut expected: Vec<String> = (0..LINES).map(|line| format!("GET /{line}")).collect();
    seen.requests.sort_unstable();
    expected.sort_unstable();
    assert_eq!(seen.requests, expected);
}

#[test]
fn the_requests_of_a_long_list_have_one_tally_which_is_called_like_the_file() {
    let file = list_of(LINES);
    let (measured, _) = run(lines_of(&file), 1, 20, |plan| plan);
    assert_eq!(measured.value("/operations").as_array().unwrap().len(), 1);
    assert_eq!(measured.value("/operations/0/operation"), &name(&file));
    assert_eq!(
        (measured.count("/operations/0/answered"), measured.count("/operations/0/latency_ms/count")),
        (20, 20)
    );
}

#[test]
fn the_slowest_requests_of_a_long_list_go_by_their_paths() {
    let file = list_of(LINES);
    let (measured, seen) = run(lines_of(&file), 1, 10, |plan| HttpLoad {
        seed: 3,
        ..plan.with(|http| http.pick = Pick::Random)
    });
    let slowest = measured.value("/slowest").as_array().unwrap();
    let mut labels: Vec<&str> = slowest.iter().map(|slow| slow["operation"].as_str().unwrap()).collect();
    let mut sent = seen.requests;
    labels.sort_unstable();
    sent.sort_unstable();
    assert_eq!(labels, sent);
}

#[test]
fn each_request_of_a_short_list_has_a_tally() {
    let file = list_of(3);
    let (measured, _) = run(lines_of(&file), 1, 5, |plan| plan);
    for (index, (operation, answered)) in [("GET /0", 2), ("GET /1", 2), ("GET /2", 1)].iter().enumerate() {
        assert_eq!(measured.value(&format!("/operations/{index}/operation")), operation);
        assert_eq!(measured.count(&format!("/operations/{index}/answered")), *answered);
    }
}

#[test]
fn more_than_a_hundred_requests_have_one_tally_wherever_they_stand() {
    let given: Vec<_> = (0..LINES).map(|number| get(&format!("/{number}"))).collect();
    let (measured, seen) = run(Requests::Given(given), 1, LINES as u64, |plan| plan);
    assert_eq!(measured.value("/operations/0/operation"), "150 requests");
    assert_eq!(measured.count("/operations/0/answered"), LINES as u64);
    assert_eq!(seen.requests[LINES - 1], format!("GET /{}", LINES - 1));
    assert!(measured.value("/slowest/0/operation").as_str().unwrap().starts_with("GET /"));
}

#[test]
fn requests_of_one_tally_may_have_answers_of_different_lengths_and_a_wrong_one_goes_by_its_name() {
    let codes_and_texts = |verified: fn(usize) -> Option<u64>| {
        let server = Server::scripted(|asked| Reply::answer(ok(asked.label)));
        let given = (0..LINES)
            .map(|number| Request { expected_body_bytes: verified(number), ..get(&format!("/{number}")) });
        let requests = Requests::Given(given.collect());
        let measured = measure(closed(server.address, 1, LINES as u64).with(|http| http.requests = requests));
        server.finish();
        let reasons = measured.value("/verdict/reasons").as_array().unwrap().iter();
        let text = |reason: &serde_json::Value, key: &str| reason[key].as_str().unwrap().to_owned();
        reasons.map(|reason| (text(reason, "code"), text(reason, "text"))).collect::<Vec<_>>()
    };
    let is_of_lengths = |(code, _): &&(String, String)| code == "lengths_differ" || code == "mismatch";
    assert_eq!(codes_and_texts(|_| None).iter().find(is_of_lengths), None);
    // "GET /120" has 8 bytes, and no other answer is verified.
    let reasons = codes_and_texts(|number| (number == 120).then_some(9));
    let (code, text) = reasons.iter().find(is_of_lengths).unwrap();
    assert_eq!(code, "mismatch");
    assert!(text.contains("8 instead of 9 bytes for GET /120"), "{text}");
}

#[test]
fn the_same_seed_takes_the_same_lines_in_the_same_order() {
    let file = list_of(LINES);
    let requests_of = |seed| {
        run(lines_of(&file), 1, 50, |plan| HttpLoad { seed, ..plan.with(|http| http.pick = Pick::Random) })
            .1
            .requests
    };
    assert_eq!(requests_of(1), requests_of(1));
    assert_ne!(requests_of(1), requests_of(2));
}

#[test]
fn lines_of_weight_zero_are_never_taken_and_the_others_by_their_weights() {
    let text = "/never 0\n".repeat(LINES) + "/one\n" + &"/never 0\n".repeat(LINES) + "/three 3\n";
    let file = TemporaryFile::holding(text.as_bytes());
    let (_, seen) = run(lines_of(&file), 4, 4_000, |plan| plan.with(|http| http.pick = Pick::Weighted));
    let ones = seen.requests.iter().filter(|request| *request == "GET /one").count();
    let threes = seen.requests.iter().filter(|request| *request == "GET /three").count();
    assert_eq!(ones + threes, 4_000);
    // Binomial with mean 1000 and deviation 27; four of them are allowed.
    assert!(ones.abs_diff(1_000) < 110, "{ones}");
}

#[test]
fn every_line_is_sent_with_the_method_and_the_body_of_the_list() {
    let body = TemporaryFile::holding(&[b'x'; 1000]);
    for lines in [LINES, 3] {
        let file = list_of(lines);
        for given in [Body::Text("x".repeat(1000)), Body::File(body.path().to_owned())] {
            let requests = ListedRequests { method: "PUT".into(), body: given, ..listed(file.path()) };
            let (measured, seen) = run(Requests::Listed(requests), 1, 3, |plan| plan);
            assert_eq!(measured.requests("ok"), 3);
            assert_eq!(seen.requests, ["PUT /0", "PUT /1", "PUT /2"]);
            assert_eq!(seen.bodies, [[b'x'; 1000]; 3]);
        }
    }
}

#[test]
fn a_list_that_changes_fails_the_requests_that_are_not_found_in_it() {
    let file = list_of(100_000);
    let path = file.path().to_owned();
    let server = Server::scripted(move |_| {
        file.set_length(50);
        Reply::answer(ok("hello"))
    });
    let plan = closed(server.address, 1, 4).with(|http| http.pick = Pick::Random);
    let measured = measure(plan.with(|http| http.requests = Requests::Listed(listed(&path))));
    let seen = server.finish();
    assert_eq!((measured.requests("ok"), seen.answered), (1, 1));
    assert_eq!(measured.errors(), [("file_unavailable", 3)]);
}

#[test]
fn a_bad_line_is_refused_by_its_number_before_the_first_connection() {
    let (_socket, address) = refusing_address();
    let file = TemporaryFile::holding((String::from("/a\n").repeat(5_000) + "a\n").as_bytes());
    let plan = closed(address, 1, 1).with(|http| http.requests = lines_of(&file));
    let Err(StartError::Plan(text)) = start(&plan) else { panic!("the list was accepted") };
    assert!(
        text.starts_with(&format!("{}:5001: found \"a\"; expected a path", file.path().display())),
        "{text}"
    );
}
