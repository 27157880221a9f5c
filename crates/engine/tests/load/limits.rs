//! What a load may not ask for is said before the first connection.

use loadcurve_engine::{StartError, start};
use loadcurve_plan::{HttpLoad, Request, Requests};
use rustix::process::{Resource, getrlimit};

use crate::support::{Reply, Server, closed, get, measure, ok, refusing_address};

#[expect(clippy::needless_pass_by_value, reason = "tests make plans where they use them")]
fn refusal(plan: HttpLoad) -> StartError {
    start(&plan).err().expect("the load was started")
}

#[test]
fn more_connections_than_open_files_are_refused_with_both_numbers() {
    let (_socket, address) = refusing_address();
    let allowed = getrlimit(Resource::Nofile).maximum.expect("Linux bounds open files by fs.nr_open");
    let connections = usize::try_from(allowed).unwrap();
    let StartError::Machine(text) = refusal(closed(address, connections, 1)) else {
        panic!("the machine's limit was blamed on the plan")
    };
    // The process needs 64 descriptors beside those of the connections.
    let needed = allowed + 64;
    let digits = text.replace(',', "");
    assert!(digits.contains(&allowed.to_string()) && digits.contains(&needed.to_string()), "{text}");
}

#[test]
fn a_processor_that_does_not_exist_is_refused_by_its_number() {
    let (_socket, address) = refusing_address();
    for cpu in [1023, 1_000_000] {
        let StartError::Plan(text) = refusal(HttpLoad { cpus: vec![0, cpu], ..closed(address, 1, 1) }) else {
            panic!("the plan's mistake was blamed on the machine")
        };
        assert!(text.contains(&format!("CPU {cpu}")), "{text}");
    }
}

#[test]
fn a_request_that_cannot_be_written_is_refused() {
    let (_socket, address) = refusing_address();
    let request = Request { headers: vec![("X-Two".into(), "a\r\nb".into())], ..get("/") };
    let StartError::Plan(text) =
        refusal(closed(address, 1, 1).with(|http| http.requests = Requests::Given(vec![request])))
    else {
        panic!("the plan's mistake was blamed on the machine")
    };
    assert!(text.contains("X-Two"), "{text}");
}

#[test]
fn connections_come_from_each_source_address_in_turn_whatever_the_threads() {
    let sources = ["127.0.0.2", "127.0.0.3", "127.0.0.4"].map(|source| source.parse().unwrap());
    for threads in [1, 2] {
        let server = Server::replying(Reply::answer(ok("hello")));
        let plan = HttpLoad { threads, ..closed(server.address, 6, 60) };
        measure(plan.with(|http| http.source_addresses = sources.to_vec()));
        let mut peers = server.finish().peers;
        peers.sort_unstable();
        assert_eq!(peers, sources.map(|source| [source; 2]).concat());
    }
}

#[test]
fn a_source_address_that_this_machine_lacks_is_refused_by_its_name() {
    let (_socket, address) = refusing_address();
    // It is for documents alone (RFC 5737).
    let sources = ["127.0.0.2", "192.0.2.1"].map(|source| source.parse().unwrap());
    let StartError::Machine(text) =
        refusal(closed(address, 2, 2).with(|http| http.source_addresses = sources.to_vec()))
    else {
        panic!("what the machine lacks was blamed on the plan")
    };
    assert!(text.starts_with("192.0.2.1 is not an address of this machine"), "{text}");
}

#[test]
fn a_load_may_be_bound_to_a_processor() {
    let server = Server::replying(Reply::answer(ok("hello")));
    let cpu = (0..1024).find(|cpu| rustix::thread::sched_getaffinity(None).unwrap().is_set(*cpu)).unwrap();
    measure(HttpLoad { cpus: vec![cpu], threads: 2, ..closed(server.address, 2, 20) });
    assert_eq!(server.finish().answered, 20);
}

#[test]
fn a_result_names_the_backend_that_was_asked_for() {
    let server = Server::replying(Reply::answer(ok("hello")));
    let measured = measure(closed(server.address, 1, 1));
    server.finish();
    assert_eq!(measured.value("/generator/io"), &serde_json::to_value(crate::IO).unwrap());
}
