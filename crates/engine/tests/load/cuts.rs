//! Answers that are cut at any of their bytes, and answers that never come: every request is accounted for.

use std::sync::Mutex;

use loadcurve_plan::{Conversation, HttpLoad, Request, Requests, Stop};

use crate::support::{Measured, Reply, Seen, Server, Then, chunked, closed, get, measure, ok, open};

/// How often an answer is cut in each load of these tests, and how many requests there are for one of them.
const CUTS: u64 = 3;
const PERIOD: u64 = 4;
/// How many such loads go on at once.
const AT_A_TIME: usize = 8;

/// Runs a load over one connection at a time of which the last of every few answers is cut after `sent_bytes`.
fn cut(answer: &str, sent_bytes: usize, otherwise: Then, end: Then, request: Request) -> (Measured, Seen) {
    let whole = Reply::answer(answer).then(otherwise);
    let is_whole = sent_bytes == answer.len();
    let cut = Reply { is_complete: is_whole, ..Reply::answer(&answer[..sent_bytes]).then(end) };
    let server = Server::scripted(move |asked| match asked.number as u64 % PERIOD {
        3 => cut.clone(),
        _ => whole.clone(),
    });
    let plan = closed(server.address, 1, CUTS * PERIOD).with(|http| {
        http.conversation = Conversation { calls: Some(PERIOD), ..Conversation::default() };
        http.requests = Requests::Given(vec![request]);
    });
    let measured = measure(plan);
    let seen = server.finish();
    assert_eq!(measured.requests("sent"), seen.requests.len() as u64);
    assert_eq!(measured.count("/connections/opened"), seen.accepted);
    (measured, seen)
}

/// Tries every one of the places at which an answer can be cut, several at a time: what a load does after a failure is
/// mostly to wait.
fn at_each(places: impl Iterator<Item = usize>, try_one: impl Fn(usize) + Sync) {
    let places = Mutex::new(places.collect::<Vec<_>>());
    let next = || places.lock().unwrap().pop();
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| std::iter::from_fn(next).for_each(&try_one));
        }
    });
}

/// What the error class is called of which there was one for each cut.
fn each_a(class: &str) -> Vec<(&str, u64)> {
    vec![(class, CUTS)]
}

#[test]
fn an_answer_that_is_cut_after_any_of_its_bytes_is_one_failure_and_a_whole_one_is_none() {
    for answer in [ok("hello"), chunked("hello", 3)] {
        for (end, class) in [(Then::Reset, "reset"), (Then::Close, "closed_early")] {
            at_each(0..answer.len(), |sent_bytes| {
                let (measured, seen) = cut(&answer, sent_bytes, Then::ReadOn, end, get("/"));
                assert_eq!(measured.errors(), each_a(class), "after {sent_bytes} bytes of {answer:?}");
                assert_eq!(measured.requests("answered"), seen.answered);
            });
            let (measured, seen) = cut(&answer, answer.len(), Then::ReadOn, end, get("/"));
            assert_eq!(
                (measured.requests("ok"), seen.answered),
                (CUTS * PERIOD, CUTS * PERIOD),
                "{answer:?}"
            );
        }
    }
}

#[test]
fn an_answer_that_lasts_until_the_close_is_never_whole_where_the_connection_is_reset_instead() {
    let answer = "HTTP/1.0 200 OK\r\n\r\nhello";
    at_each(0..=answer.len(), |sent_bytes| {
        let (measured, _) = cut(answer, sent_bytes, Then::Close, Then::Reset, get("/"));
        assert_eq!(measured.errors(), each_a("reset"), "after {sent_bytes} bytes");
    });
}

#[test]
fn an_answer_that_lasts_until_the_close_and_is_closed_too_soon_is_recognized_by_its_length() {
    let header = "HTTP/1.0 200 OK\r\n\r\n";
    let answer = format!("{header}hello");
    let request = Request { expected_body_bytes: Some(5), ..get("/") };
    at_each(0..answer.len(), |sent_bytes| {
        let (measured, _) = cut(&answer, sent_bytes, Then::Close, Then::Close, request.clone());
        let class = if sent_bytes < header.len() { "closed_early" } else { "mismatch" };
        assert_eq!(measured.errors(), each_a(class), "after {sent_bytes} bytes");
    });
}

#[test]
fn every_request_is_accounted_for_among_servers_failures_of_all_kinds() {
    let whole = ok("hello");
    let replies = [
        ("GET /whole", Reply::answer(whole.as_str())),
        ("GET /reset", Reply::part(&whole[..9]).then(Then::Reset)),
        ("GET /closed", Reply::part(&whole[..9]).then(Then::Close)),
        ("GET /silent", Reply::silence()),
        ("GET /garbage", Reply::part("220 mail.example.org ESMTP\r\n")),
        ("GET /short", Reply::answer(ok("hell"))),
    ];
    let requests = replies.iter().map(|(label, _)| get(label.trim_start_matches("GET ")));
    let requests = requests.map(|request| Request { expected_body_bytes: Some(5), ..request });
    let requests = Requests::Given(requests.collect());
    let of_each = 30;
    let total = of_each * replies.len() as u64;
    let script = replies.clone();
    let server = Server::scripted(move |asked| {
        script
            .iter()
            .find(|(label, _)| *label == asked.label)
            .expect("no other request was asked for")
            .1
            .clone()
    });
    // A silent connection is lost until the timeout, which no other request comes near; there are 30 of that kind.
    let plan = open(server.address, 60, 600.0, Stop::RequestsTotal(total));
    let measured =
        measure(HttpLoad { timeout_s: 2.0, threads: 2, ..plan.with(|http| http.requests = requests) });
    let seen = server.finish();
    for (label, _) in replies {
        assert_eq!(seen.requests.iter().filter(|asked| *asked == label).count() as u64, of_each, "{label}");
    }
    assert_eq!((measured.requests("due"), measured.requests("sent")), (total, total));
    assert_eq!(measured.requests("answered"), of_each);
    let mut errors = measured.errors();
    errors.sort_unstable();
    let classes = ["closed_early", "malformed", "mismatch", "reset", "timeout"];
    assert_eq!(errors, classes.map(|class| (class, of_each)));
    assert_eq!(measured.count("/connections/opened"), seen.accepted);
}
