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
fn an_option_that_limit_does_not_know_is_refused_and_not_ignored() {
    let arguments = ["limit", "--listen", "127.0.0.1:0", "--root", ".", "--buffer-bytes", "100"];
    assert_refused(&arguments, 2, "limit knows neither --idle-timeout-s nor --buffer-bytes");
}

#[test]
fn a_missing_folder_and_a_taken_port_are_named() {
    assert_refused(&["simple", "--listen", "127.0.0.1:0", "--root", "/no/such/folder"], 1, "/no/such/folder");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    assert_refused(&["simple", "--listen", &address, "--root", "."], 1, "Address already in use");
}
