//! `loadcurve-probe`: samples a server's processes and the kernel's counters, as one JSON object a line.

use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::arguments::{Arguments, Asked, USAGE, parse};
use crate::clock::Input;
use crate::sample::{Header, Sample};
use crate::sampler::Sampler;

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

/// Writes samples until the standard input is closed, and a last one then.
fn probe(Arguments { marks, listen, interval }: Arguments) -> Result<(), String> {
    allow_as_many_files_as_possible();
    let mut sampler = Sampler::new(marks, listen, interval).map_err(|error| in_words(&error))?;
    if sampler.is_without_processes() {
        return Err(
            "no process of the server was found: it has ended, or it is not known by what was given".into()
        );
    }
    write_line(&Header { format: "loadcurve-probe/1", interval_s: interval.as_secs_f64() })?;
    let mut next_sample = || -> Result<Sample, String> { sampler.sample().map_err(|error| in_words(&error)) };
    let mut due = clock::now();
    loop {
        write_line(&next_sample()?)?;
        let now = clock::now();
        while due <= now {
            due += interval;
        }
        if is_closed_before(due) {
            return write_line(&next_sample()?);
        }
    }
}

/// Waits until a moment; whether the standard input is closed before.
fn is_closed_before(moment: Duration) -> bool {
    let mut ignored = [0; 512];
    loop {
        match clock::wait_for_input(moment) {
            Input::Quiet => return false,
            Input::Ready if matches!(io::stdin().read(&mut ignored), Ok(0) | Err(_)) => return true,
            Input::Ready => {}
        }
    }
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
    // Where the kernel refuses, the limit is told when it is met.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}

fn in_words(error: &io::Error) -> String {
    if tree::is_out_of_files(error) {
        return "the server has more processes than this process may open files for (three each): raise the limit \
                (ulimit -Hn, or LimitNOFILE= of a service)"
            .into();
    }
    format!("what the kernel tells of processes cannot be read: {error}")
}
