//! Whatever a list of requests holds: opening it does not panic, it is taken or refused as a plain reading of its lines
//! says, every problem names the file, and what is picked of it is in it.

#![cfg_attr(fuzzing, no_main)]

use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use loadcurve_engine::{RequestList, sample_targets};
use loadcurve_fuzz::target;
use rustix::fs::{MemfdFlags, memfd_create};

/// How many requests of a list are picked.
const PICKED: u64 = 100;
/// The most requests that are known line by line.
const SHORT_MAX: usize = 100;

target!(|input: &[u8]| {
    let file = File::from(memfd_create("list", MemfdFlags::CLOEXEC).expect("memory for a file"));
    (&file).write_all(input).expect("memory for a file");
    let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    let expected = requests_in(input);
    match RequestList::open(&path) {
        Err(problems) => {
            let name = path.display().to_string();
            assert!(!problems.is_empty() && problems.iter().all(|problem| problem.starts_with(&name)));
            assert!(expected.is_none_or(|requests| !can_be_picked(&requests)), "{problems:?}");
        }
        Ok(list) => {
            let expected = expected.expect("every line is of the form");
            assert!(can_be_picked(&expected));
            check_recording(&path, &list, &expected);
            check(list, &expected);
        }
    }
});

/// Holds the moments of a list against those of its lines.
fn check_recording(path: &Path, list: &RequestList, expected: &[Listed]) {
    let last_ns = expected.last().and_then(|request| request.moment_ns);
    assert_eq!(list.recorded_length().map(|last| last.0), last_ns);
    match RequestList::recording(path) {
        Ok(recording) => {
            assert_eq!(recording.count(), expected.len() as u64);
            assert_eq!(Some(recording.length().0), last_ns);
        }
        Err(_) => assert_eq!(last_ns, None),
    }
}

fn check(list: RequestList, expected: &[Listed]) {
    assert_eq!(list.count(), expected.len() as u64);
    assert_eq!(list.has_weights(), expected.iter().any(|request| request.weight.is_some()));
    assert_eq!(list.short().is_some(), expected.len() <= SHORT_MAX);
    let short = list.short().unwrap_or_default().iter();
    let short = short.map(|request| (&request.target, request.weight, request.line));
    let same = expected.iter().map(|request| (&request.target, request.weight, request.line));
    assert!(short.clone().eq(same.take(short.len())));
    let picked = sample_targets(&Arc::new(list), PICKED, 1).expect("the list has not changed");
    assert_eq!(picked.len() as u64, PICKED);
    assert!(picked.iter().all(|target| expected.iter().any(|request| request.target == *target)));
}

/// A request as a plain reading of its line finds it.
struct Listed {
    target: String,
    weight: Option<f64>,
    moment_ns: Option<u64>,
    line: u64,
}

/// The requests of a list; none if a line is not of the form.
fn requests_in(input: &[u8]) -> Option<Vec<Listed>> {
    let input = input.strip_prefix("\u{feff}".as_bytes()).unwrap_or(input);
    let mut requests = Vec::new();
    for (line, number) in input.split(|byte| *byte == b'\n').zip(1..) {
        let words: Vec<&[u8]> = line
            .split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty())
            .take_while(|word| word[0] != b'#')
            .collect();
        let (target, weight, moment_ns) = match words[..] {
            [] => continue,
            [target] => (target, None, None),
            [target, [b'@', time @ ..]] => (target, None, Some(moment_ns(str::from_utf8(time).ok()?)?)),
            [target, weight] => (target, Some(str::from_utf8(weight).ok()?.parse::<f64>().ok()?), None),
            _ => return None,
        };
        let is_path =
            target[0] == b'/' && target.iter().all(|byte| (b'!'..=b'~').contains(byte) && *byte != b'#');
        if !is_path || weight.is_some_and(|weight| !(weight >= 0.0 && weight.is_finite())) {
            return None;
        }
        let target = str::from_utf8(target).ok()?.to_owned();
        requests.push(Listed { target, weight, moment_ns, line: number });
    }
    let have_times = |one: &Listed, next: &Listed| match (one.moment_ns, next.moment_ns) {
        (Some(one), Some(next)) => one <= next,
        (None, None) => true,
        _ => false,
    };
    requests.windows(2).all(|pair| have_times(&pair[0], &pair[1])).then_some(requests)
}

/// The nanoseconds of a number of seconds with up to nine digits before and behind its point.
fn moment_ns(text: &str) -> Option<u64> {
    let (seconds, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let are_digits =
        |digits: &str| (1..=9).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    (are_digits(seconds) && are_digits(decimals)).then_some(())?;
    Some(seconds.parse::<u64>().ok()? * 1_000_000_000 + format!("{decimals:0<9}").parse::<u64>().ok()?)
}

/// Whether there is a request to take, by weights that add up to a number.
fn can_be_picked(requests: &[Listed]) -> bool {
    let sum: f64 = requests.iter().map(|request| request.weight.unwrap_or(1.0)).sum();
    !requests.is_empty() && sum > 0.0 && sum.is_finite()
}
