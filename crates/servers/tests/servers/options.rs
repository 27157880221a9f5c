//! Command lines that cannot be obeyed.

use std::net::TcpListener;
use std::process::Output;

use crate::process::program;

fn run(arguments: &[&str]) -> Output {
    program().args(arguments).output().unwrap()
}

#[track_caller]
fn assert_refused(arguments: &[&str], exit_code: i32, complaint: &str) {
    let output = run(arguments);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains(complaint), "{arguments:?}: {said}");
    assert_eq!(output.status.code(), Some(exit_code), "{arguments:?}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
}

#[test]
fn a_mistaken_option_is_named_with_what_is_expected() {
    let with = |option: &'static str, value: &'static str| {
        ["simple", "--listen", "127.0.0.1:0", "--root", ".", option, value]
    };
    assert_refused(&[], 2, "missing KIND");
    assert_refused(&["simple", "--root", "."], 2, "missing --listen");
    assert_refused(&["simple", "--listen", "127.0.0.1:0"], 2, "missing --root");
    assert_refused(&with("--idle-timeout-s", "0"), 2, "expected a number of seconds above 0");
    assert_refused(&with("--idle-timeout-s", "soon"), 2, "expected a number of seconds");
    assert_refused(&with("--buffer-bytes", "0"), 2, "\"0\"");
    assert_refused(&with("--colour", "red"), 2, "--colour");
}

#[test]
fn an_unknown_kind_is_named_with_those_that_there_are() {
    let arguments = ["nginx", "--listen", "127.0.0.1:0", "--root", "."];
    assert_refused(&arguments, 2, "unknown kind \"nginx\"; expected limit, simple, persistent or pipelined");
}

#[test]
fn an_option_of_another_kind_is_refused_and_not_ignored() {
    let with = |kind: &'static str, option: &'static str, value: &'static str| {
        [kind, "--listen", "127.0.0.1:0", "--root", ".", option, value]
    };
    assert_refused(&with("limit", "--buffer-bytes", "100"), 2, "limit has no option --buffer-bytes");
    assert_refused(&with("simple", "--delay", "5ms"), 2, "simple has no option --delay; only limit has it");
    assert_refused(&with("simple", "--retry", "true"), 2, "simple has no option --retry; only limit has it");
    assert_refused(&with("limit", "--early-data", "0.5"), 2, "are for HTTP/3: set --http3 true as well");
    assert_refused(&with("limit", "--announce-http3-s", "60"), 2, "are for HTTP/3: set --http3 true as well");
}

#[test]
fn a_mistaken_fault_is_named_with_its_value_and_what_is_expected() {
    let cases = [
        ("--delay", "soon", "a duration such as 500ms, 1.5s or 1m, or a number of seconds"),
        ("--work", "-5us", "a duration such as 500ms, 1.5s or 1m, or a number of seconds"),
        ("--leak", "much", "a size such as 512B, 10kB or 1KiB, or a whole number of bytes"),
        ("--reset-share", "5%", "a share, from 0 to 1"),
        ("--keepalive-requests", "-1", "a whole number"),
        ("--announce-close", "no", "true or false"),
    ];
    for (option, value, expected) in cases {
        let arguments = ["limit", "--listen", "127.0.0.1:0", "--root", ".", option, value];
        assert_refused(&arguments, 2, &format!("{option} is {value:?}: expected {expected}\n"));
    }
}

#[test]
fn faults_that_contradict_each_other_are_named() {
    let with = |faults: [&'static str; 4]| {
        [&["limit", "--listen", "127.0.0.1:0", "--root", "."], &faults[..]].concat()
    };
    let stalls = with(["--stall-every", "1s", "--stall-for", "1s"]);
    assert_refused(&stalls, 2, "--stall-for is 1s: expected less than --stall-every, which is 1s");
    let shares = with(["--reset-share", "0.6", "--error-share", "0.5"]);
    assert_refused(&shares, 2, "are 0.6, 0.5, 0 and 0: expected at most 1 together");
}

#[test]
fn a_missing_folder_and_a_taken_port_are_named() {
    assert_refused(&["simple", "--listen", "127.0.0.1:0", "--root", "/no/such/folder"], 1, "/no/such/folder");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    assert_refused(&["simple", "--listen", &address, "--root", "."], 1, "Address already in use");
}
