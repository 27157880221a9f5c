//! `loadcurve-probe`: samples a server's processes and the kernel's counters, as one JSON object a line.

use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::arguments::{Arguments, Asked, USAGE, parse};
use crate::clock::Input;
use crate::sample::{Header, PauseSample};
use crate::sampler::{Cause, Sampler};
use loadcurve_pauses::{Pause, Period, Side, Watch};

mod arguments;
mod busiest;
mod clock;
mod family;
mod file;
mod footprint;
mod listen_queue;
mod machine;
mod members;
mod pace;
mod parse;
mod programs;
mod round;
mod sample;
mod sampler;
mod sockets;
mod switches;
mod threads;
mod throttle;
mod tree;

fn main() -> ExitCode {
    let arguments = match parse(lexopt::Parser::from_env()) {
        Ok(Asked::Probe(arguments)) => arguments,
        Ok(Asked::Print(text)) => {
            print!("{text}");
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("loadcurve-probe: {error}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match probe(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("loadcurve-probe: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Writes a sample at every interval and, of everything, whenever something comes from the standard input; when that is
/// closed, it writes a last one.
fn probe(Arguments { known, listen, interval, cpus }: Arguments) -> Result<(), String> {
    allow_as_many_files_as_possible();
    let watch = cpus.and_then(|cpus| Watch::start(Side::Server, &cpus, Period::Short));
    let mut sampler = Sampler::new(known, listen, interval).map_err(|error| in_words(&error))?;
    if sampler.is_without_processes() {
        return Err(
            "no process of the server was found: it has ended, or no process matches --session, --pid, \
            --mark or --cgroup"
                .into(),
        );
    }
    write_line(&Header { format: "loadcurve-probe/1", interval_s: interval.as_secs_f64() })?;
    let mut due = clock::now();
    let mut cause = Cause::Due;
    loop {
        let mut sample = sampler.sample(cause).map_err(|error| in_words(&error))?;
        sample.pauses = watch.as_ref().and_then(Watch::take).map(in_seconds);
        write_line(&sample)?;
        if cause == Cause::Ending {
            return Ok(());
        }
        let now = clock::now();
        while due <= now {
            due += interval;
        }
        cause = next_cause(due);
    }
}

/// Waits for the cause of the next sample, which is due at a moment.
fn next_cause(due: Duration) -> Cause {
    match clock::wait_for_input(due) {
        Input::Quiet => Cause::Due,
        Input::Ready if matches!(io::stdin().read(&mut [0; 512]), Ok(0) | Err(_)) => Cause::Ending,
        Input::Ready => Cause::Asked,
    }
}

fn in_seconds(pauses: Vec<Pause>) -> Vec<PauseSample> {
    pauses.into_iter().map(PauseSample::from).collect()
}

fn write_line(line: &impl serde::Serialize) -> Result<(), String> {
    let mut text = serde_json::to_vec(line).map_err(|error| error.to_string())?;
    text.push(b'\n');
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(&text).and_then(|()| stdout.flush());
    written.map_err(|error| format!("a sample cannot be written: {error}"))
}

/// Three files stay open for each process, and servers of hundreds of processes are usual.
fn allow_as_many_files_as_possible() {
    let limit = getrlimit(Resource::Nofile);
    // Where the kernel refuses, the limit is reported when it is met.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}

fn in_words(error: &io::Error) -> String {
    if tree::is_out_of_files(error) {
        return "the limit of open files is too low for the server's processes, each of which requires \
            three: raise it (ulimit -Hn, or LimitNOFILE= of a service)"
            .into();
    }
    format!("the kernel's data of processes (/proc) cannot be read: {error}")
}
