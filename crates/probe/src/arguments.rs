//! The command line.

use std::net::SocketAddr;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::time::Duration;

use lexopt::prelude::*;

use crate::members::{Known, Marks};

pub(crate) const USAGE: &str = "\
Usage: loadcurve-probe (--session SID | --pid PID | --cgroup FOLDER) [--mark NAME=VALUE]
                       [--program NAME …] [--listen ADDRESS:PORT] [--cpus 0,1] [--interval 100ms]

Writes one JSON object per line: a header, then a sample at every interval, until standard input is closed. A line on
standard input requests an immediate sample of all processes and of the machine, whatever it costs.

The server's processes (one option is enough):
  --session SID      all processes of this session
  --pid PID          this process and its descendants; may be repeated
  --mark NAME=VALUE  all processes started with this environment variable
  --cgroup FOLDER    all processes of this control group (version 2), which must contain no others: its CPU time is exact

Options:
  --program NAME         the processes of the options behind it, up to the next --program, are this program of the
                         server, whatever they execute; not with --cgroup
  --listen ADDRESS:PORT  where the server listens: its listen queue is sampled
  --cpus LIST        the server's CPUs, such as 0,1: a thread on them detects their pauses
  --interval TIME    the interval between samples, from 1ms to 10s (default 100ms)
  --version          the version
";

const INTERVALS: std::ops::RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(10);

/// What is to be sampled, and how often.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Arguments {
    pub(crate) known: Vec<Known>,
    /// Where the server listens.
    pub(crate) listen: Option<SocketAddr>,
    pub(crate) interval: Duration,
    /// The CPUs whose pauses are looked for; `None` if they are not given.
    pub(crate) cpus: Option<Vec<usize>>,
}

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// To sample.
    Probe(Arguments),
    /// To print this.
    Print(String),
}

/// Reads the command line.
pub(crate) fn parse(mut parser: lexopt::Parser) -> Result<Asked, lexopt::Error> {
    let (mut known, mut listen, mut cpus) = (vec![Known::default()], None, None);
    let mut interval = Duration::from_millis(100);
    while let Some(argument) = parser.next()? {
        match argument {
            Long("program") => known.push(Known::program(&parser.value()?.into_vec())),
            Long("session") => last(&mut known).session = Some(parser.value()?.parse()?),
            Long("pid") => last(&mut known).pids.push(parser.value()?.parse()?),
            Long("mark") => last(&mut known).variable = Some(parser.value()?.into_vec()),
            Long("cgroup") => last(&mut known).group = Some(PathBuf::from(parser.value()?)),
            Long("listen") => listen = Some(parser.value()?.parse()?),
            Long("cpus") => cpus = Some(parser.value()?.parse_with(numbers)?),
            Long("interval") => interval = parser.value()?.parse_with(length)?,
            Long("help") | Short('h') => return Ok(Asked::Print(USAGE.into())),
            Long("version") => {
                return Ok(Asked::Print(format!("loadcurve-probe {}\n", env!("CARGO_PKG_VERSION"))));
            }
            other => return Err(other.unexpected()),
        }
    }
    // Before the first program there may be nothing.
    known.retain(|one| one.program.is_some() || one.marks != Marks::default());
    if known.is_empty() || known.iter().any(|one| one.marks == Marks::default()) {
        return Err("no process selected: expected --session, --pid, --mark or --cgroup".into());
    }
    if known.len() > 1 && known.iter().any(|one| one.marks.group.is_some()) {
        return Err("--cgroup: not with --program, as the group holds all of the server".into());
    }
    Ok(Asked::Probe(Arguments { known, listen, interval, cpus }))
}

/// The marks that options add to: those of the program that was named last, or of none.
fn last(known: &mut [Known]) -> &mut Marks {
    let place = known.len() - 1;
    &mut known[place].marks
}

/// A list such as `0,1`.
fn numbers(text: &str) -> Result<Vec<usize>, String> {
    let numbers: Result<_, _> = text.split(',').map(str::parse).collect();
    numbers.map_err(|_| format!("expected numbers of CPUs such as 0,1, not {text:?}"))
}

/// A length such as `100ms` or `1s`.
fn length(text: &str) -> Result<Duration, String> {
    let (digits, unit) =
        text.split_at(text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len()));
    let number = || digits.parse::<u64>().ok();
    let length = match unit {
        "ms" => number().map(Duration::from_millis),
        "s" => number().map(Duration::from_secs),
        _ => None,
    };
    length
        .filter(|length| INTERVALS.contains(length))
        .ok_or_else(|| format!("expected a whole number with ms or s, between 1ms and 10s, not {text:?}"))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::time::Duration;

    use super::{Arguments, Asked, length, parse};
    use crate::members::{Known, Marks};
    use crate::parse::process::program_name;

    fn parsed(words: &[&str]) -> Result<Asked, String> {
        parse(lexopt::Parser::from_args(words)).map_err(|error| error.to_string())
    }

    #[test]
    fn all_marks_can_be_given_together() {
        let marks = Marks {
            session: Some(7),
            pids: vec![8, 9],
            variable: Some(b"MARK=abc".to_vec()),
            group: Some(PathBuf::from("/sys/fs/cgroup/a")),
        };
        let words =
            ["--session=7", "--pid", "8", "--pid", "9", "--mark", "MARK=abc", "--cgroup", "/sys/fs/cgroup/a"];
        let known = vec![Known { program: None, marks }];
        let expected =
            Asked::Probe(Arguments { known, listen: None, interval: Duration::from_millis(100), cpus: None });
        assert_eq!(parsed(&words), Ok(expected));
    }

    #[test]
    fn marks_behind_a_program_are_those_of_its_processes() {
        let words = ["--program", "app", "--session=7", "--program", "proxy", "--pid=8", "--mark=MARK=b"];
        let Ok(Asked::Probe(Arguments { known, .. })) = parsed(&words) else { panic!("not to be sampled") };
        let app = Marks { session: Some(7), ..Marks::default() };
        let proxy = Marks { pids: vec![8], variable: Some(b"MARK=b".to_vec()), ..Marks::default() };
        let named = |name: &[u8], marks| Known { program: Some(program_name(name)), marks };
        assert_eq!(known, [named(b"app", app), named(b"proxy", proxy)]);
        assert!(parsed(&["--program", "app", "--program", "b", "--pid", "1"]).is_err());
        assert!(parsed(&["--program", "app", "--pid=1", "--program", "b", "--cgroup", "/a"]).is_err());
    }

    #[test]
    fn where_the_server_listens_is_a_numeric_address_of_either_family_with_a_port() {
        let listen = |text| match parsed(&["--pid", "8", "--listen", text]) {
            Ok(Asked::Probe(arguments)) => arguments.listen,
            _ => None,
        };
        assert_eq!(listen("127.0.0.1:80"), Some(([127, 0, 0, 1], 80).into()));
        assert_eq!(listen("[::1]:8080"), Some((std::net::Ipv6Addr::LOCALHOST, 8080).into()));
        assert_eq!(listen("localhost:80"), None);
        assert_eq!(listen("127.0.0.1"), None);
    }

    #[test]
    fn cpus_are_numbers_with_commas() {
        let cpus = |text| match parsed(&["--pid", "8", "--cpus", text]) {
            Ok(Asked::Probe(arguments)) => arguments.cpus,
            _ => None,
        };
        assert_eq!(cpus("0,12"), Some(vec![0, 12]));
        assert_eq!(cpus("0-3"), None);
        assert_eq!(cpus(""), None);
    }

    #[test]
    fn without_any_mark_there_is_nothing_to_sample() {
        assert!(parsed(&["--interval", "1s"]).unwrap_err().contains("no process selected"));
    }

    #[test]
    fn an_interval_has_a_unit_and_bounds() {
        assert_eq!(length("1ms"), Ok(Duration::from_millis(1)));
        assert_eq!(length("10s"), Ok(Duration::from_secs(10)));
        for wrong in ["", "100", "ms", "0ms", "11s", "1 s", "-1s", "1.5s", "99999999999999999999s"] {
            assert!(length(wrong).is_err(), "{wrong}");
        }
    }
}
