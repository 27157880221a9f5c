//! Whatever the files of `/proc` and of control groups hold, and whatever the kernel answers: no parser of the probe
//! panics, and what they find is in the bytes.
//!
//! What follows the last byte that no text can hold is the second file, where a parser reads two.

#![cfg_attr(fuzzing, no_main)]

use loadcurve_fuzz::target;

use crate::parse::{group, inet_diag, machine, network, process, text};

// The probe is a program, which has no library to take them from.
#[expect(dead_code, reason = "what asks the kernel is of no use here")]
#[path = "../../crates/probe/src/parse/mod.rs"]
mod parse;

const SEPARATOR: u8 = 0xff;

target!(|input: &[u8]| {
    let mut parts = input.rsplitn(2, |byte| *byte == SEPARATOR);
    let (last, first) = (parts.next().unwrap_or_default(), parts.next());
    check_text(input);
    check_process(input);
    check_machine(input);
    check_answers(input);
    check_groups(first.unwrap_or(last), last);
});

fn check_text(input: &[u8]) {
    let digits = str::from_utf8(input).ok().filter(|_| input.iter().all(u8::is_ascii_digit));
    assert_eq!(text::number(input), digits.and_then(|digits| digits.parse().ok()));
    let whole: Vec<u8> = text::lines(input).flat_map(|line| [line, b"\n"].concat()).collect();
    assert!(whole == input || whole == [input, b"\n"].concat());
}

fn check_process(input: &[u8]) {
    if let Some(stat) = process::stat(input) {
        assert!(stat.name.to_string().len() <= 3 * input.len());
    }
    let _ = process::resident_pages(input);
    let _ = process::scheduled(input);
    let _ = process::disk_read_bytes(input);
    let _ = process::switches(input);
    let _ = process::ignores_sigchld(input);
    assert!(process::proportional_bytes(input).is_none_or(|bytes| bytes % 1024 == 0));
    let variables = input.split(|byte| *byte == 0);
    assert!(variables.clone().all(|variable| process::carries(input, variable)));
}

fn check_machine(input: &[u8]) {
    assert!(machine::cpus(input).len() <= input.len());
    let _ = machine::forks(input);
    let _ = machine::stalled(input);
    assert!(machine::page_cache_bytes(input).is_none_or(|bytes| bytes % 1024 == 0));
    let _ = machine::refaulted_pages(input);
    let _ = network::named(input, b"Tcp:", ["RetransSegs", "OutRsts"]);
    let _ = network::paired(input, b"TCP:", ["tw", "orphan"]);
}

fn check_answers(input: &[u8]) {
    let mut told = 0;
    let end = inet_diag::states(input, |_| told += 1);
    // A message is longer than its header.
    assert!(told <= input.len() / 16);
    assert!(told > 0 || input.len() < 16 || end != inet_diag::End::Open);
    let _ = inet_diag::queue(input);
}

fn check_groups(membership: &[u8], mounts: &[u8]) {
    let _ = group::usage(mounts);
    let _ = group::throttled(mounts);
    assert!(group::members(membership).count() <= membership.len());
    let _ = group::limiting_folders(membership, mounts);
}
