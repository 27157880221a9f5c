//! The scripted faults of `limit`, as a client meets them and as the kernel counts them.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use loadcurve_plan::{Purpose, Random};

use crate::clock::timed;
use crate::folder::{FILES, LARGE, bytes_of};
use crate::process::{Server, eventually};
use crate::response::Response;

const GET: &str = "GET /a.txt HTTP/1.1\r\nHost: a\r\n\r\n";
const GET_AND_CLOSE: &str = "GET /a.txt HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
const MIB: u64 = 1 << 20;

fn limit(options: &[&str]) -> Server {
    Server::start("limit", options)
}

/// The files whose names a request may have as they are.
fn plain_names() -> impl Iterator<Item = &'static str> + Clone {
    FILES.iter().map(|(name, _)| *name).filter(|name| !name.contains(' '))
}

fn get(name: &str) -> String {
    format!("GET /{name} HTTP/1.1\r\nHost: a\r\n\r\n")
}

fn milliseconds(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// What one client is answered on its own connection: all bytes up to the end, `None` if it is reset.
fn whole_answer(server: &Server) -> Option<Vec<u8>> {
    let mut client = server.send(GET_AND_CLOSE);
    let mut bytes = Vec::new();
    match client.stream.read_to_end(&mut bytes) {
        Ok(_) => Some(bytes),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::ConnectionReset);
            None
        }
    }
}

/// A number from a file under `/proc/PID` of the server, behind this word.
fn figure(server: &Server, file: &str, word: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{}/{file}", server.pid())).unwrap();
    let rest = &text[text.find(word).unwrap() + word.len()..];
    rest.split_whitespace().next().unwrap().parse().unwrap()
}

/// By the kernel's tables of pages: its quick figure is off by some pages for each CPU.
fn resident_bytes(server: &Server) -> u64 {
    figure(server, "smaps_rollup", "Rss:") * 1024
}

fn processor_time(server: &Server) -> Duration {
    Duration::from_nanos(figure(server, "schedstat", ""))
}

/// How often this machine's listen queues were too short.
fn listen_overflows() -> u64 {
    let text = fs::read_to_string("/proc/net/netstat").unwrap();
    let mut lines = text.lines().filter(|line| line.starts_with("TcpExt:"));
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    let place = names.split(' ').position(|name| name == "ListenOverflows").unwrap();
    values.split(' ').nth(place).unwrap().parse().unwrap()
}

/// Fails where a count of `total` independent draws is further from what is expected than five standard deviations,
/// which happens once in some two million times.
#[track_caller]
fn assert_binomial(count: usize, total: usize, share: f64) {
    let (count, total) = (f64::from(u32::try_from(count).unwrap()), f64::from(u32::try_from(total).unwrap()));
    let deviation = (total * share * (1.0 - share)).sqrt();
    let expected = total * share;
    assert!((count - expected).abs() <= 5.0 * deviation, "{count} of {total}, expected {expected}");
}

#[test]
fn without_faults_every_file_is_answered() {
    let server = limit(&[]);
    for name in plain_names().chain([LARGE]) {
        let response = server.send(get(name)).next(false);
        assert_eq!(response.status, 200, "{name}");
        assert!(response.body == bytes_of(name), "{name}");
    }
}

#[test]
fn a_delayed_answer_never_comes_before_its_time() {
    let server = limit(&["--delay", "20ms"]);
    let mut client = server.connect();
    for _ in 0..10 {
        let (waited, response) = timed(|| {
            client.stream.write_all(GET.as_bytes()).unwrap();
            client.next(false)
        });
        assert_eq!(response.body, b"abc");
        assert!(waited >= milliseconds(20), "{waited:?}");
    }
}

#[test]
fn delays_of_different_clients_pass_side_by_side() {
    let server = limit(&["--delay", "300ms"]);
    let (took, ()) = timed(|| {
        let mut clients: Vec<_> = (0..50).map(|_| server.send(GET)).collect();
        for client in &mut clients {
            assert_eq!(client.next(false).body, b"abc");
        }
    });
    // One after another they would take fifteen seconds.
    assert!((milliseconds(300)..milliseconds(10_000)).contains(&took), "{took:?}");
}

#[test]
fn answers_in_a_burst_keep_their_order_where_only_a_share_of_them_is_delayed() {
    let server = limit(&["--delay", "5ms", "--delay-share", "0.3"]);
    let names = || plain_names().cycle().take(40);
    let mut client = server.send(names().map(get).collect::<String>());
    for name in names() {
        assert!(client.next(false).body == bytes_of(name), "{name}");
    }
}

#[test]
fn the_delayed_answers_are_those_that_the_seed_draws() {
    let server = limit(&["--delay", "250ms", "--delay-share", "0.2", "--seed", "7"]);
    let mut client = server.connect();
    let draws = Random::new(7, Purpose::Delays);
    let (mut late_as_drawn, mut late_otherwise) = (0, 0);
    for number in 0..40 {
        let (waited, _) = timed(|| {
            client.stream.write_all(GET.as_bytes()).unwrap();
            client.next(false)
        });
        let is_late = waited >= milliseconds(250);
        if draws.unit_at(number) <= 0.2 {
            assert!(is_late, "request {number}: {waited:?}");
            late_as_drawn += 1;
        } else {
            late_otherwise += u32::from(is_late);
        }
    }
    assert_binomial(late_as_drawn, 40, 0.2);
    // The machine may be busy now and then.
    assert!(late_otherwise <= 5, "{late_otherwise}");
}

#[test]
fn a_client_that_ends_its_requests_still_gets_the_answer_that_is_delayed() {
    let server = limit(&["--delay", "800ms", "--idle-timeout-s", "0.4"]);
    let mut client = server.send(GET);
    client.stream.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(client.next(false).body, b"abc");
    assert!(client.is_at_end());
}

#[test]
fn in_a_stall_nothing_is_answered_and_nothing_accepted() {
    let [every, length] = [300, 150].map(milliseconds);
    let server = limit(&["--stall-every", "300ms", "--stall-for", "150ms"]);
    let (mut total, mut longest, mut long) = (Duration::ZERO, Duration::ZERO, 0_u32);
    while total < 10 * every {
        let (waited, _) = timed(|| whole_answer(&server));
        total += waited;
        longest = longest.max(waited);
        long += u32::from(waited >= length / 2);
    }
    // A client that is late itself when a stall begins misses the beginning of that one; not of most of them.
    assert!(longest >= length.mul_f64(0.9), "{longest:?}");
    assert!(long >= 6, "{long} long waits in ten periods");
}

#[test]
fn each_outcome_has_its_share_and_the_same_seed_has_the_same_script() {
    const REQUESTS: usize = 400;
    let script_of = |seed| {
        let shares = ["--reset-share", "0.1", "--error-share", "0.2", "--truncated-share", "0.15"];
        let others = ["--wrong-length-share", "0.25", "--seed", seed];
        let server = limit(&[shares.as_slice(), others.as_slice()].concat());
        let right = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc";
        let error = "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        let longer = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nabc ";
        let outcome = |_| match whole_answer(&server) {
            None => 'r',
            Some(answer) if answer == error.as_bytes() => 'e',
            Some(answer) if answer == right.as_bytes()[..right.len() - 1] => 't',
            Some(answer) if answer == longer.as_bytes() => 'w',
            Some(answer) => {
                assert_eq!(answer.escape_ascii().to_string(), right.escape_default().to_string());
                '.'
            }
        };
        (0..REQUESTS).map(outcome).collect::<String>()
    };
    let script = script_of("7");
    for (outcome, share) in [('r', 0.1), ('e', 0.2), ('t', 0.15), ('w', 0.25), ('.', 0.3)] {
        assert_binomial(script.matches(outcome).count(), REQUESTS, share);
    }
    assert_eq!(script, script_of("7"));
    assert_ne!(script, script_of("8"));
}

#[test]
fn the_first_requests_may_be_spared() {
    let server = limit(&["--error-share", "1", "--delay", "1h", "--spared-requests", "3"]);
    for _ in 0..3 {
        assert_eq!(server.send(GET).next(false).status, 200);
    }
    let server = limit(&["--error-share", "1", "--spared-requests", "3"]);
    let mut client = server.send(GET.repeat(6));
    let statuses = [(); 6].map(|()| client.next(false).status);
    assert_eq!(statuses, [200, 200, 200, 500, 500, 500]);
}

#[test]
fn a_connection_ends_after_a_number_of_answers_and_says_so_or_not() {
    for (announces, field) in [("true", Some("close")), ("false", None)] {
        let server = limit(&["--keepalive-requests", "3", "--announce-close", announces]);
        // The fourth request of the burst is not answered.
        let mut client = server.send(GET.repeat(4));
        let fields: Vec<Response> = (0..3).map(|_| client.next(false)).collect();
        let fields: Vec<_> = fields.iter().map(|response| response.field("Connection")).collect();
        assert_eq!(fields, [None, None, field]);
        assert!(client.is_at_end());
    }
}

#[test]
fn a_silent_client_is_closed_after_its_time_and_not_before() {
    let server = limit(&["--idle-timeout-s", "0.5"]);
    let mut clients = [server.connect(), server.connect()];
    let (silent, ()) = timed(|| {
        for client in &mut clients {
            client.stream.write_all(GET.as_bytes()).unwrap();
            client.next(false);
        }
        assert!(clients[0].is_at_end());
        assert!(clients[1].is_at_end());
    });
    assert!(silent >= milliseconds(500), "{silent:?}");
}

#[test]
fn a_listen_queue_that_nobody_empties_overflows_behind_its_backlog() {
    let server = limit(&["--backlog", "3", "--accept-every", "1h"]);
    let before = listen_overflows();
    // Linux holds one more than asked for.
    let _clients: Vec<_> = (0..4).map(|_| server.connect()).collect();
    let refused = TcpStream::connect_timeout(&server.address, milliseconds(200)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::TimedOut);
    assert!(listen_overflows() > before);
}

#[test]
fn a_slow_acceptor_takes_one_client_in_each_period() {
    let server = limit(&["--accept-every", "50ms"]);
    let (took, ()) = timed(|| {
        let mut clients: Vec<_> = (0..5).map(|_| server.send(GET)).collect();
        for client in &mut clients {
            assert_eq!(client.next(false).status, 200);
        }
    });
    // The first may come at once, the others not before a period each.
    assert!(took >= milliseconds(200), "{took:?}");
}

#[test]
fn each_request_uses_the_processor_time_that_was_asked_for() {
    let server = limit(&["--work", "5ms"]);
    let before = processor_time(&server);
    let mut client = server.send(GET.repeat(20));
    for _ in 0..20 {
        assert_eq!(client.next(false).status, 200);
    }
    let used = processor_time(&server).saturating_sub(before);
    // Answering without work takes microseconds; what is beyond it is the kernel's.
    assert!((milliseconds(100)..milliseconds(200)).contains(&used), "{used:?}");
}

#[test]
fn memory_is_in_use_for_each_connection_and_given_back() {
    let server = limit(&["--connection-memory", "1MiB"]);
    let before = resident_bytes(&server);
    let clients: Vec<_> = (0..20).map(|_| server.connect()).collect();
    eventually("20 MiB are in use", || resident_bytes(&server) >= before + 20 * MIB);
    assert!(resident_bytes(&server) < before + 25 * MIB);
    drop(clients);
    eventually("most is given back", || resident_bytes(&server) < before + 5 * MIB);
}

#[test]
fn a_leak_loses_memory_with_each_request_for_good() {
    let server = limit(&["--leak", "100KiB"]);
    let before = resident_bytes(&server);
    for _ in 0..200 {
        assert!(whole_answer(&server).is_some());
    }
    let lost = resident_bytes(&server) - before;
    assert!((200 * 100 * 1024..250 * 100 * 1024).contains(&lost), "{lost}");
}

#[test]
fn a_thread_begins_with_every_nth_connection_and_not_earlier() {
    let server = limit(&["--connections-per-thread", "5"]);
    let mut clients = Vec::new();
    for (connections, threads) in [(4, 1), (5, 2), (14, 3)] {
        while clients.len() < connections {
            let mut client = server.send(GET);
            client.next(false);
            clients.push(client);
        }
        assert_eq!(figure(&server, "status", "Threads:"), threads, "{connections} connections");
    }
}

#[test]
fn a_file_is_a_stream_of_events_that_are_so_far_apart_and_ends_after_so_many() {
    let server = limit(&["--event-every", "20ms", "--events", "3"]);
    let file = bytes_of("a.txt");
    let chunk = [format!("{:x}\r\n", file.len()).as_bytes(), &file, b"\r\n"].concat();
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    let expected = [head, &chunk.repeat(3)[..], b"0\r\n\r\n"].concat();
    let mut answers = vec![0; 2 * expected.len()];
    let (took, ()) = timed(|| server.send(GET.repeat(2)).stream.read_exact(&mut answers).unwrap());
    // The second stream begins behind the first one; its events are due as if it had not waited.
    assert!(took >= milliseconds(3 * 20), "{took:?}");
    assert_eq!(answers, expected.repeat(2));
    // What is no file in HTTP/1.1 is answered as ever.
    assert!(whole_answer(&server).unwrap().starts_with(b"HTTP/1.1 200 OK\r\nContent-Length: "));
}
